"""A hand at the broker, past the product: puts messages into queues and looks at what lies in them. AMQP 0-9-1 by hand, as much as
that takes; one connection with one channel."""

import dataclasses
import socket
import struct
import time

from . import paths  # noqa: F401
from rabbit_servers import receive

CHANNEL = 1
METHOD, HEADER, BODY, HEARTBEAT = 1, 2, 3, 8
PERSISTENT = 2
# Of a message's properties, by their bit: the short texts that are read and written here, and how long the others are.
TEXTS = {15: "content_type", 14: "content_encoding", 10: "correlation_id", 9: "reply_to", 8: "expiration", 7: "message_id",
         5: "type", 4: "user_id", 3: "app_id", 2: "cluster_id"}
FIXED = {12: 1, 11: 1, 6: 8}
TABLE = 13


@dataclasses.dataclass
class Message:
    body: bytes
    properties: dict


class Refused(AssertionError):
    """The broker did not take a message, or closed the channel."""


class Broker:
    def __init__(self, cluster, node="rabbitmq-1", user="administrator"):
        folder = cluster.machine.folder
        self.socket = socket.create_connection(("127.0.0.1", cluster.engine(node).record["port"]), 10)
        self.published = 0
        self.socket.sendall(b"AMQP\x00\x00\x09\x01")
        self.expect(10, 10)
        answer = f"\0{user}\0{folder.secret('rabbitmq-' + user)}".encode()
        self.send(0, 10, 11, struct.pack(">I", 0) + short("PLAIN") + struct.pack(">I", len(answer)) + answer + short("en_US"))
        tune = self.expect(10, 30)
        channels, self.frame_bytes, _ = struct.unpack(">HIH", tune[:8])
        self.send(0, 10, 31, struct.pack(">HIH", channels, self.frame_bytes, 0))
        self.send(0, 10, 40, short("/") + short("") + b"\0")
        self.expect(10, 41)
        self.send(CHANNEL, 20, 10, short(""))
        self.expect(20, 11)
        self.send(CHANNEL, 85, 10, b"\0")
        self.expect(85, 11)

    def close(self):
        """Without a word: what was looked at and not taken lies in its queue again."""
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # --- what a test does ---
    def publish(self, queue, body, content_type="application/cloudevents-batch+json", delivery=PERSISTENT):
        """Through the default exchange; returns when the broker has confirmed it."""
        self.send(CHANNEL, 60, 40, b"\0\0" + short("") + short(queue) + b"\1")
        flags = (1 << 15 if content_type else 0) | 1 << 12
        self.frame(HEADER, struct.pack(">HHQH", 60, 0, len(body), flags) + (short(content_type) if content_type else b"") +
                   bytes([delivery]))
        room = self.frame_bytes - 8
        for at in range(0, len(body), room):
            self.frame(BODY, body[at:at + room])
        self.published += 1
        returned = False
        while True:
            method, _ = self.next_method()
            returned = returned or method == (60, 50)
            if method == (60, 80) and not returned:
                return
            if method in ((60, 80), (60, 120)):
                raise Refused(f"{queue}: {'no such queue' if returned else 'refused'}")

    def state(self, queue):
        """(messages ready, consumers); None when there is no such queue."""
        self.send(CHANNEL, 50, 10, b"\0\0" + short(queue) + b"\1" + struct.pack(">I", 0))
        try:
            reply = self.expect(50, 11)
        except Refused:
            self.send(CHANNEL, 20, 41, b"")
            self.send(CHANNEL, 20, 10, short(""))
            self.expect(20, 11)
            self.send(CHANNEL, 85, 10, b"\0")
            self.expect(85, 11)
            return None
        return struct.unpack(">II", reply[1 + reply[0]:])

    def look(self, queue, take=False):
        """Every message that lies in the queue; `take` takes them out, else close() gives them back."""
        ready, _ = self.state(queue)
        found = []
        if not ready:
            return found
        self.send(CHANNEL, 60, 20, b"\0\0" + short(queue) + short("look") + b"\0" + struct.pack(">I", 0))
        self.expect(60, 21)
        while len(found) < ready:
            rest = self.expect(60, 60)
            tag_at = 1 + rest[0]
            found.append(self.content())
            if take:
                self.send(CHANNEL, 60, 80, rest[tag_at:tag_at + 8] + b"\0")
        self.send(CHANNEL, 60, 30, short("look") + b"\0")
        self.expect(60, 31)
        return found

    def declare(self, queue, arguments):
        """A durable queue with these arguments, which are numbers."""
        table = b"".join(short(name) + b"l" + struct.pack(">q", value) for name, value in arguments.items())
        self.send(CHANNEL, 50, 10, b"\0\0" + short(queue) + b"\2" + struct.pack(">I", len(table)) + table)
        self.expect(50, 11)

    def purge(self, queue):
        self.send(CHANNEL, 50, 30, b"\0\0" + short(queue) + b"\0")
        self.expect(50, 31)

    def delete(self, queue):
        self.send(CHANNEL, 50, 40, b"\0\0" + short(queue) + b"\0")
        self.expect(50, 41)

    # --- frames ---
    def frame(self, kind, payload, channel=CHANNEL):
        self.socket.sendall(struct.pack(">BHI", kind, channel, len(payload)) + payload + b"\xce")

    def send(self, channel, klass, method, arguments):
        self.frame(METHOD, struct.pack(">HH", klass, method) + arguments, channel)

    def next_frame(self):
        while True:
            kind, _, size = struct.unpack(">BHI", receive(self.socket, 7))
            payload = receive(self.socket, size + 1)[:-1]
            if kind != HEARTBEAT:
                return kind, payload

    def next_method(self):
        while True:
            kind, payload = self.next_frame()
            if kind != METHOD:
                continue  # the content of what was returned
            method = struct.unpack(">HH", payload[:4])
            if method in ((20, 40), (10, 50)):
                raise Refused(payload[7:7 + payload[6]].decode(errors="replace"))
            return method, payload[4:]

    def expect(self, klass, method):
        end = time.monotonic() + 30
        while time.monotonic() < end:
            got, rest = self.next_method()
            if got == (klass, method):
                return rest
        raise AssertionError(f"the broker does not answer with {klass}.{method}")

    def content(self):
        kind, header = self.next_frame()
        assert kind == HEADER, kind
        size, flags = struct.unpack(">QH", header[4:14])
        properties, at = {}, 14
        for bit in range(15, 1, -1):
            if not flags & 1 << bit:
                continue
            if bit in TEXTS:
                properties[TEXTS[bit]] = header[at + 1:at + 1 + header[at]].decode(errors="replace")
                at += 1 + header[at]
            elif bit == TABLE:
                at += 4 + struct.unpack(">I", header[at:at + 4])[0]
            else:
                at += FIXED[bit]
        body = b""
        while len(body) < size:
            body += self.next_frame()[1]
        return Message(body, properties)


def short(text):
    raw = text.encode()
    return bytes([len(raw)]) + raw
