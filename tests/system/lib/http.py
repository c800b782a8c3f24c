"""A small HTTP/1.1 client over plain sockets: every byte sent is the test's own, and no answer is interpreted kindly."""

import json
import socket
import threading
import time


class Response:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def json(self):
        return json.loads(self.body.decode("utf-8"))

    def __repr__(self):
        return f"<{self.status} {self.body[:200]!r}>"


class Closed(Exception):
    """The server closed the connection before a whole answer came."""


class Connection:
    """One keep-alive connection. Not for use by two threads at once."""

    def __init__(self, port, timeout=20.0, source=None, host="127.0.0.1"):
        self.sock = socket.create_connection((host, port), timeout=timeout, source_address=(source, 0) if source else None)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.pending = b""

    def close(self):
        self.sock.close()

    def send(self, data):
        self.sock.sendall(data)

    def _more(self):
        data = self.sock.recv(65536)
        if not data:
            raise Closed()
        self.pending += data

    def read_response(self, head_only=False):
        while b"\r\n\r\n" not in self.pending:
            self._more()
        head, self.pending = self.pending.split(b"\r\n\r\n", 1)
        lines = head.decode("latin-1").split("\r\n")
        status = int(lines[0].split(" ")[1])
        headers = {}
        for line in lines[1:]:
            name, value = line.split(":", 1)
            headers[name.strip().lower()] = value.strip()
        if status == 100:
            return self.read_response(head_only)
        length = 0 if head_only else int(headers.get("content-length", "0"))
        while len(self.pending) < length:
            self._more()
        body, self.pending = self.pending[:length], self.pending[length:]
        return Response(status, headers, body)

    def at_end(self, within=5.0):
        """True when the server closes (or resets) the connection within the time, without sending anything more."""
        self.sock.settimeout(within)
        try:
            return self.sock.recv(1) == b""
        except (ConnectionResetError, BrokenPipeError):
            return True
        except socket.timeout:
            return False

    def request(self, method, path, body=None, headers=None):
        self.send(render(method, path, body, headers))
        return self.read_response(head_only=method == "HEAD")


def render(method, path, body=None, headers=None):
    headers = dict(headers or {})
    if isinstance(body, (dict, list)):
        body = json.dumps(body, ensure_ascii=False).encode("utf-8")
    elif isinstance(body, str):
        body = body.encode("utf-8")
    if body is not None:
        headers.setdefault("Content-Type", "application/json")
        headers.setdefault("Content-Length", str(len(body)))
    headers.setdefault("Host", "shop.test")
    out = f"{method} {path} HTTP/1.1\r\n".encode("utf-8")
    for name, value in headers.items():
        value = value if isinstance(value, bytes) else str(value).encode("utf-8")
        out += name.encode("ascii") + b": " + value + b"\r\n"
    return out + b"\r\n" + (body or b"")


def once(port, method, path, body=None, headers=None, timeout=20.0):
    connection = Connection(port, timeout=timeout)
    try:
        return connection.request(method, path, body, headers)
    finally:
        connection.close()


def together(jobs, threads=None):
    """Runs callables at the same instant, each in its own thread (at most `threads`), and returns their results in order.

    An exception is returned in place of a result, so one lost connection does not hide the other answers."""
    jobs = list(jobs)
    threads = min(threads or len(jobs), len(jobs)) or 1
    results = [None] * len(jobs)
    barrier = threading.Barrier(threads)

    def work(first):
        barrier.wait()
        for index in range(first, len(jobs), threads):
            try:
                results[index] = jobs[index]()
            except Exception as error:  # noqa: BLE001 - handed to the caller
                results[index] = error

    workers = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return results


def eventually(probe, within=10.0, every=0.05):
    """The first true value of probe(), or its last value when the time is over: waits for a state, never for a duration."""
    end = time.monotonic() + within
    while True:
        value = probe()
        if value or time.monotonic() > end:
            return value
        time.sleep(every)
