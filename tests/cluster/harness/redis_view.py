"""A look into the lanes in Redis, past the product: what stands in the keys is read by the description of the format
(admission/redis/scripts/parts), not by the product's code."""

import struct

from . import paths  # noqa: F401
import redis_servers

ENDED = 2


class RedisView:
    def __init__(self, folder):
        self.folder = folder

    def call(self, key, *words):
        """One command in the slot of `key`, sent to the server that holds it now."""
        port = self._any_port()
        for _ in range(8):
            with redis_servers.Resp(port, redis_servers.password(self.folder)) as redis:
                try:
                    return redis.call(*words)
                except redis_servers.RedisError as error:
                    if not str(error).startswith("MOVED "):
                        raise
                    port = int(str(error).rsplit(":", 1)[1])
        raise AssertionError(f"Redis Cluster sends {key} around in circles")

    def on(self, server, *words):
        """One command at this server itself."""
        with redis_servers.Resp(server.record["port"], redis_servers.password(self.folder)) as redis:
            return redis.call(*words)

    def _any_port(self):
        for server in redis_servers.cluster_servers(self.folder):
            if server.pid:
                return server.record["port"]
        raise AssertionError("no Redis runs")

    def key(self, sale, sku, lane, ending):
        return f"seckill:{{{sale}:{sku}:{lane}}}:{ending}"

    def stock(self, sale, sku, lane):
        """The lane's own numbers, {} when it is not there."""
        key = self.key(sale, sku, lane, "stock")
        flat = self.call(key, "HGETALL", key)
        found = dict(zip(flat[::2], flat[1::2]))
        return {name: int(value) if value.lstrip("-").isdigit() else value for name, value in found.items()}

    def open_intents(self, sale, sku, lane):
        key = self.key(sale, sku, lane, "intents")
        return self.call(key, "ZCARD", key)

    def marks(self, sale, sku, lane):
        """{buyer: [(ticket's bytes, units, end)]}; end: 0 held, 1 sold, 2 ended."""
        key = self.key(sale, sku, lane, "marks")
        flat = self.call(key, "HGETALL", key)
        return {buyer: read_mark(mark.encode("utf-8", "surrogateescape")) for buyer, mark in zip(flat[::2], flat[1::2])}

    def master_of(self, sale, sku, lane):
        """(name of the server that holds the lane now, names of its replicas)."""
        slot = self.call("", "CLUSTER", "KEYSLOT", self.key(sale, sku, lane, "stock"))
        names = {server.record["port"]: server.name for server in redis_servers.cluster_servers(self.folder)}
        for first, last, *nodes in self.call("", "CLUSTER", "SLOTS"):
            if first <= slot <= last:
                ports = [node[1] for node in nodes]
                return names[ports[0]], [names[port] for port in ports[1:]]
        raise AssertionError(f"slot {slot} is served by nobody")


def read_mark(mark):
    records, at = [], 0
    while at < len(mark):
        flags, size = mark[at], mark[at + 1]
        ticket = mark[at + 2:at + 18]
        wide = flags >= 128
        units = struct.unpack(">q", mark[at + 32:at + 40])[0] if wide else mark[at + 32]
        next_at = at + 32 + (8 if wide else 1) + (16 if size == 255 else size)
        if flags & 32:
            next_at += 2
            if flags & 64:
                next_at += 2 + struct.unpack(">H", mark[next_at:next_at + 2])[0]
        records.append((ticket, units, flags % 4))
        at = next_at
    return records
