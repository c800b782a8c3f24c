"""Starts the real binary on free loopback ports with its own data folder, and ends it in every way that happens."""

import contextlib
import json
import os
import pathlib
import resource
import signal
import socket
import sqlite3
import subprocess
import tempfile
import time
import uuid

from . import http, login

BINARY = os.environ.get("SECKILL_BINARY", "build/dev/seckill")
SECRET = "a-login-secret-for-black-box-tests-0123456789"
OPERATOR = "an-operator-token-for-black-box-tests-0123456789"


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


class Server:
    def __init__(self, folder=None, demo=True, extra=None, environment=None, descriptors=None):
        self._own = tempfile.TemporaryDirectory(prefix="seckill-test-") if folder is None else None
        self.folder = pathlib.Path(folder or self._own.name)
        self.port = free_port()
        self.admin_port = free_port()
        self.demo = demo
        self.extra = extra or {}
        self.environment = environment or {}
        self.descriptors = descriptors
        self.process = None
        self.log = self.folder / "server.log"

    # --- life ---
    def config_file(self):
        """Configuration as JSON, which is YAML too."""
        config = {
            "data_dir": str(self.folder / "data"),
            "demo": self.demo,
            "drain_delay": "100ms",
            "buyer": {"address": "127.0.0.1", "port": self.port, "threads": 2},
            "admin": {"address": "127.0.0.1", "port": self.admin_port, "operator_token": OPERATOR},
            "login": {"alg": "HS256", "secret": SECRET},
        }
        for section, values in self.extra.items():
            if isinstance(values, dict):
                merged = {**config.get(section, {}), **values}
                config[section] = {key: value for key, value in merged.items() if value is not None}
            else:
                config[section] = values
        path = self.folder / "seckill.yaml"
        path.write_text(json.dumps(config))
        return path

    def spawn(self):
        def limit():
            if self.descriptors:
                resource.setrlimit(resource.RLIMIT_NOFILE, (self.descriptors, self.descriptors))

        # A sanitized server keeps freed memory aside to catch late uses; kept small, so that its size says what it holds.
        environment = {"ASAN_OPTIONS": "quarantine_size_mb=8", **os.environ, **self.environment}
        self.process = subprocess.Popen([BINARY, "serve", "--config", str(self.config_file())], stdin=subprocess.DEVNULL,
                                        stdout=open(self.log, "ab"), stderr=subprocess.STDOUT, env=environment, preexec_fn=limit)
        return self

    def start(self, within=60.0):
        self.spawn()
        ready = http.eventually(lambda: self.process.poll() is not None or self.is_ready(), within=within)
        if not ready or self.process.poll() is not None:
            raise AssertionError(f"the server did not become ready:\n{self.log_text()[-4000:]}")
        return self

    def is_ready(self):
        try:
            return http.once(self.admin_port, "GET", "/readyz", timeout=5).status == 200
        except (OSError, http.Closed):
            return False

    def kill(self):
        """kill -9, at any moment."""
        self.process.kill()
        self.process.wait()

    def terminate(self, within=30.0):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=within)

    def restart(self):
        self.kill()
        return self.start()

    def stop(self):
        if self.process and self.process.poll() is None:
            code = self.terminate()
            if code != 0:
                raise AssertionError(f"the server ended with {code}:\n{self.log_text()[-4000:]}")
        self.cleanup()

    def cleanup(self):
        if self.process and self.process.poll() is None:
            self.kill()
        if self._own:
            self._own.cleanup()

    def log_text(self):
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    # --- buyers ---
    def login(self, buyer, **kwargs):
        return {"Authorization": "Bearer " + login.token(SECRET, buyer, **kwargs)}

    def buy(self, buyer, sale, sku="sku1", request_id=None, body=None, headers=None, quantity=1, connection=None, **more):
        request_id = request_id or str(uuid.uuid4())
        body = {"quantity": quantity, **more} if body is None else body
        headers = {**self.login(buyer), "Idempotency-Key": request_id, **(headers or {})}
        path = f"/api/v1/sales/{sale}/items/{sku}/purchases"
        if connection:
            return connection.request("POST", path, body, headers)
        return http.once(self.port, "POST", path, body, headers)

    def buy_patiently(self, buyer, sale, sku="sku1", request_id=None, within=30.0, **more):
        """As an honest page does: waits and repeats with the same request id on busy and rate_limited."""
        request_id = request_id or str(uuid.uuid4())
        end = time.monotonic() + within
        while True:
            answer = self.buy(buyer, sale, sku, request_id, **more)
            if answer.status not in (429, 503) or time.monotonic() > end:
                return answer
            time.sleep(0.2)

    def get(self, path, buyer=None, headers=None):
        return http.once(self.port, "GET", path, headers={**(self.login(buyer) if buyer else {}), **(headers or {})})

    def post(self, path, buyer=None, body=None, headers=None):
        return http.once(self.port, "POST", path, body if body is not None else b"",
                         headers={**(self.login(buyer) if buyer else {}), **(headers or {})})

    def outcome(self, buyer, sale, ticket, sku="sku1"):
        return self.get(f"/api/v1/sales/{sale}/items/{sku}/tickets/{ticket}", buyer)

    def cancel(self, buyer, ticket):
        return self.post(f"/api/v1/orders/{ticket}/cancel", buyer)

    def pay(self, buyer, ticket):
        return self.post(f"/api/v1/orders/{ticket}/pay", buyer)

    def orders(self, buyer, sale=None):
        query = f"?sale={sale}" if sale else ""
        return self.get("/api/v1/orders" + query, buyer).json["orders"]

    # --- the operator ---
    def admin(self, method, path, body=None, token=OPERATOR):
        headers = {"Authorization": "Bearer " + token} if token else {}
        return http.once(self.admin_port, method, path, body, headers)

    def sale(self, total=10, limit=1, price=9900, starts_in=-1.0, lasts=3600.0, preload=True, sale=None, **item):
        """Creates a sale with one item `sku1`, preloads it, and returns its id."""
        sale = sale or "s-" + uuid.uuid4().hex[:12]
        now = time.time()
        self.create_sale({
            "id": sale, "title": "测试活动", "kind": "goods", "currency": "CNY",
            "starts_at": int((now + starts_in) * 1000), "ends_at": int((now + starts_in + lasts) * 1000),
            "items": [{"sku": "sku1", "title": "手机", "price_minor": price, "total": total, "limit": limit,
                       "pay_window_ms": 900_000, **item}]})
        if preload:
            self.command(sale, "preload")
        return sale

    def create_sale(self, body):
        answer = self.admin("POST", "/admin/v1/sales", body)
        if answer.status != 201:
            raise AssertionError(f"creating a sale: {answer}")
        return answer.json

    def command(self, sale, command):
        answer = self.admin("POST", f"/admin/v1/sales/{sale}/{command}", b"")
        if answer.status != 200:
            raise AssertionError(f"{command} of {sale}: {answer}")
        return answer.json

    def show(self, sale):
        return self.admin("GET", f"/admin/v1/sales/{sale}").json

    def verdict(self, sale):
        return self.admin("GET", f"/admin/v1/sales/{sale}/verdict").json

    # --- the truth in the database ---
    @contextlib.contextmanager
    def database(self):
        files = sorted((self.folder / "data").glob("*.db")) + sorted((self.folder / "data").glob("*.sqlite*"))
        base = [file for file in files if not file.name.endswith(("-wal", "-shm"))]
        connection = sqlite3.connect(f"file:{base[0]}?mode=ro", uri=True, timeout=10)
        try:
            yield connection
        finally:
            connection.close()

    def descriptors_open(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def resident_kib(self):
        for line in open(f"/proc/{self.process.pid}/status"):
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
        return 0
