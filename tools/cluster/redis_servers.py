"""Redis: one standalone server, and a cluster of three masters with a replica each."""

import socket
import subprocess
import time
from pathlib import Path

from folder import ClusterError, Folder, run_as, template
from server import Server, clean_environment

CLUSTER_NODES = 6
CLUSTER_SECONDS_MAX = 45


class RedisError(ClusterError):
    """The server's own refusal."""


class Resp:
    """A Redis connection of a few lines, for asking and waiting; not for load. Raises RedisError and OSError."""

    def __init__(self, port: int, password: str | None = None, timeout: float = 5) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout)
        self.file = self.socket.makefile("rb")
        if password:
            try:
                self.call("AUTH", password)
            except RedisError:
                self.close()
                raise

    def call(self, *words: object) -> object:
        parts = [str(word).encode() if not isinstance(word, bytes) else word for word in words]
        self.socket.sendall(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts))
        return self.read()

    def read(self) -> object:
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionResetError("Redis closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise RedisError(rest.decode(errors="replace"))
        if kind == b"+":
            return rest.decode()
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2].decode(errors="surrogateescape")
        return None if rest == b"-1" else [self.read() for _ in range(int(rest))]

    def close(self) -> None:
        self.file.close()
        self.socket.close()

    def __enter__(self) -> "Resp":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def password(folder: Folder) -> str | None:
    return folder.state["secrets"].get("redis") if folder.state["facts"].get("redis_password") else None


def define(folder: Folder, name: str, title: str, cluster: bool) -> Server:
    user = run_as("redis")
    data = folder.sub(name, user)
    folder.sub(f"{name}/data", user)
    port = folder.port(name)
    word = password(folder)
    extra = [f"requirepass {word}", f"masterauth {word}"] if word else []
    if cluster:
        extra += ["cluster-enabled yes", "cluster-config-file nodes.conf", f"cluster-port {folder.port(f'{name}-bus')}",
                  "cluster-node-timeout 3000", "cluster-require-full-coverage no", "min-replicas-to-write 1",
                  "min-replicas-max-lag 10", "repl-timeout 10", "repl-ping-replica-period 1"]
    config = folder.write_private(data / "redis.conf", template("redis.conf", {
        "port": port, "folder": data / "data", "extra": "\n".join(extra)}), user)
    return Server(folder, name).define(title, ["redis-server", config], port=port, cwd=data, user=user)


def pings(folder: Folder, server: Server) -> bool:
    with Resp(server.record["port"], password(folder)) as redis:
        return redis.call("PING") == "PONG"


def start_standalone(folder: Folder) -> None:
    server = define(folder, "redis", "Redis", cluster=False)
    server.start()
    server.wait(lambda: pings(folder, server))
    write_client(folder, "redis-cli-standalone", server.record["port"], "")


def cluster_servers(folder: Folder) -> list[Server]:
    return [Server(folder, name) for name in (f"redis-{number}" for number in range(1, CLUSTER_NODES + 1))
            if name in folder.state["servers"]]


def start_cluster(folder: Folder) -> None:
    servers = [define(folder, f"redis-{number}", f"Redis Cluster node {number}", cluster=True)
               for number in range(1, CLUSTER_NODES + 1)]
    for server in servers:
        server.start()
    for server in servers:
        server.wait(lambda server=server: pings(folder, server))
    form(folder, servers)
    servers[0].wait(lambda: whole(folder), CLUSTER_SECONDS_MAX)
    write_client(folder, "redis-cli", servers[0].record["port"], "-c ")


def form(folder: Folder, servers: list[Server]) -> None:
    """Gives each of the first three a third of the slots and a replica, unless they know each other from before."""
    with Resp(servers[0].record["port"], password(folder)) as redis:
        if len(redis.call("CLUSTER", "NODES").splitlines()) == len(servers):
            return
    try:
        ran = subprocess.run(["redis-cli", "--cluster", "create", *(f"127.0.0.1:{server.record['port']}" for server in servers),
                              "--cluster-replicas", "1", "--cluster-yes"], stdin=subprocess.DEVNULL, capture_output=True,
                             text=True, timeout=CLUSTER_SECONDS_MAX, env=client_environment(folder), check=False)
    except subprocess.TimeoutExpired as error:
        raise ClusterError("redis-cli --cluster create did not end.", str(error.output or "")[-1000:]) from error
    if ran.returncode != 0:
        raise ClusterError("Redis Cluster could not be formed.", (ran.stdout + ran.stderr)[-1000:])


def client_environment(folder: Folder) -> dict[str, str]:
    word = password(folder)
    return clean_environment() | ({"REDISCLI_AUTH": word} if word else {})


def whole(folder: Folder) -> bool:
    """Every node sees every slot served, and every master has a replica that follows it."""
    masters = 0
    for server in cluster_servers(folder):
        with Resp(server.record["port"], password(folder)) as redis:
            info = redis.call("CLUSTER", "INFO")
            if "cluster_state:ok" not in info or "cluster_slots_ok:16384" not in info:
                return False
            replication = redis.call("INFO", "replication")
        if "role:master" in replication:
            masters += 1
            if "state=online" not in replication:
                return False
        elif "master_link_status:up" not in replication:
            return False
    return masters == CLUSTER_NODES // 2


def wait_whole(folder: Folder, seconds: float = CLUSTER_SECONDS_MAX) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if whole(folder):
                return
        except (OSError, RedisError):
            pass
        time.sleep(0.2)
    raise ClusterError(f"Redis Cluster is not whole after {seconds:.0f} s.")


def write_client(folder: Folder, name: str, port: int, flags: str) -> Path:
    word = password(folder)
    secret = f"env REDISCLI_AUTH='{word}' " if word else ""
    return folder.write_script(name, f'exec {secret}redis-cli {flags}-p {port} "$@"')
