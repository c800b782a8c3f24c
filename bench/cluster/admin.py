"""The operator's few calls that cluster benchmarks make."""

import http.client
import json
import time


class Admin:
    def __init__(self, port: int, token: str) -> None:
        self.port = port
        self.token = token

    def call(self, method: str, path: str, body: object = None) -> str:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            text = json.dumps(body) if body is not None else ("" if method == "POST" else None)
            connection.request(method, path, text, {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"})
            answer = connection.getresponse()
            said = answer.read().decode()
            if answer.status not in (200, 201):
                raise RuntimeError(f"{method} {path}: {answer.status} {said}")
            return said
        finally:
            connection.close()

    def open_sale(self, sale: str, units: int, lanes: int) -> None:
        now = int(time.time() * 1000)
        self.call("POST", "/admin/v1/sales", {
            "id": sale, "title": "bench", "kind": "goods", "currency": "CNY", "starts_at": now - 1000, "ends_at": now + 86_400_000,
            "items": [{"sku": "item", "title": "bench", "price_minor": 9900, "total": units, "limit": 1, "pay_window_ms": 86_400_000,
                       "lanes": lanes}]})
        self.call("POST", f"/admin/v1/sales/{sale}/preload")

    def show(self, sale: str) -> dict:
        return json.loads(self.call("GET", f"/admin/v1/sales/{sale}"))

    def lanes_open(self, sale: str) -> int:
        return self.show(sale)["items"][0]["stock"]["live"]["lanes_open"]

    def landed(self, sale: str) -> bool:
        """Do the stock rows have what the lanes have?"""
        stock = self.show(sale)["items"][0]["stock"]
        return all(stock[name] == stock["live"][name] for name in ("available", "held", "sold"))

    def verdict(self, sale: str) -> dict:
        return json.loads(self.call("GET", f"/admin/v1/sales/{sale}/verdict"))

    def metric(self, name: str) -> float:
        """The sum over its labels."""
        found = 0.0
        for line in self.call("GET", "/metrics").splitlines():
            if line.startswith((name + " ", name + "{")):
                found += float(line.rsplit(" ", 1)[1])
        return found
