"""docs/api/openapi.yaml held against the running server, route by route: statuses, content types and bodies by their schema."""

import json
import pathlib
import re
import unittest
import uuid

from lib import http
from lib.case import UNLIMITED, Scenario
from lib.server import OPERATOR

try:
    import jsonschema
    import yaml
except ImportError:  # Debian: python3-yaml, python3-jsonschema
    yaml = None

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "api" / "openapi.yaml"
METHODS = ("get", "post", "put", "patch", "delete")


@unittest.skipIf(yaml is None, "needs python3-yaml and python3-jsonschema")
class Contract(Scenario):
    options = {"extra": {"limits": UNLIMITED}}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.document = yaml.safe_load(DOCUMENT.read_text())
        server = cls.server
        cls.sale = server.sale(total=50, limit=5, order_fields=["receiver"])
        cls.ticket = server.buy("alice", cls.sale, request_id="contract-1", fields={"receiver": "张三"}).json["ticket"]
        cls.paid = server.buy("alice", cls.sale).json["ticket"]
        server.pay("alice", cls.paid)
        cls.covered = set()

    # --- reading the document ---
    def operation(self, method, template):
        item = self.document["paths"].get(template)
        self.assertIsNotNone(item, f"{template} is not in the document")
        operation = item.get(method.lower())
        self.assertIsNotNone(operation, f"{method} {template} is not in the document")
        return operation

    def resolve(self, node):
        while isinstance(node, dict) and "$ref" in node:
            target = self.document
            for part in node["$ref"].removeprefix("#/").split("/"):
                target = target[part.replace("~1", "/")]
            node = target
        return node

    def check(self, method, template, response, name=""):
        """The response's status, type and body are ones that the document lists for the operation."""
        operation = self.operation(method, template)
        self.covered.add((method.lower(), template))
        responses = operation["responses"]
        listed = responses.get(str(response.status)) or responses.get(response.status) or responses.get("default")
        self.assertIsNotNone(listed, f"{method} {template} answered {response.status}, which the document does not list: {response}")
        content = self.resolve(listed).get("content")
        if not content:
            return
        kind = response.headers.get("content-type", "").split(";")[0]
        self.assertIn(kind, content, f"{method} {template} {response.status} {name}")
        schema = content[kind].get("schema")
        if schema and kind.endswith("json"):
            whole = {**schema, "components": self.document.get("components", {})}
            validator = jsonschema.Draft202012Validator(whole)
            errors = [f"{'/'.join(map(str, e.path))}: {e.message}" for e in validator.iter_errors(json.loads(response.body))]
            self.assertEqual(errors, [], f"{method} {template} {response.status} {response.body!r}")

    # --- the routes ---
    def test_buyer_routes(self):
        s, server = self.sale, self.server
        item = f"/api/v1/sales/{s}/items/sku1"
        reads = {
            "/api/v1/time": [("/api/v1/time", None)],
            "/api/v1/sales": [("/api/v1/sales", None)],
            "/api/v1/sales/{sale}": [(f"/api/v1/sales/{s}", None), ("/api/v1/sales/none", None)],
            "/api/v1/sales/{sale}/items/{sku}": [(item, None), (item + "x", None)],
            "/api/v1/sales/{sale}/items/{sku}/stock": [(item + "/stock", None), (item + "x/stock", None)],
            "/api/v1/sales/{sale}/me": [(f"/api/v1/sales/{s}/me", "alice"), (f"/api/v1/sales/{s}/me", None), ("/api/v1/sales/none/me", "alice")],
            "/api/v1/sales/{sale}/items/{sku}/purchases": [(item + "/purchases?request_id=contract-1", "alice"), (item + "/purchases?request_id=never", "alice"),
                                                           (item + "/purchases", "alice"), (item + "/purchases?request_id=contract-1", None)],
            "/api/v1/sales/{sale}/items/{sku}/tickets/{ticket}": [(f"{item}/tickets/{self.ticket}", "alice"), (f"{item}/tickets/{'0' * 26}", "alice")],
            "/api/v1/orders": [("/api/v1/orders", "alice"), (f"/api/v1/orders?sale={s}&limit=1", "alice"), ("/api/v1/orders?limit=x", "alice"), ("/api/v1/orders", None)],
            "/api/v1/orders/{ticket}": [(f"/api/v1/orders/{self.ticket}", "alice"), (f"/api/v1/orders/{self.ticket}", "bob"), (f"/api/v1/orders/{self.ticket}", None)],
        }
        for template, calls in reads.items():
            for path, buyer in calls:
                self.check("GET", template, server.get(path, buyer), path)

    def test_purchases(self):
        template = "/api/v1/sales/{sale}/items/{sku}/purchases"
        server = self.server
        key = str(uuid.uuid4())
        answers = [server.buy("p1", self.sale, request_id=key), server.buy("p1", self.sale, request_id=key),
                   server.buy("p1", self.sale, request_id=key, quantity=2), server.buy("p1", self.sale, quantity=5), server.buy("p1", self.sale, quantity=99),
                   server.buy("p1", server.sale(starts_in=60)), server.buy("p1", "none"),
                   http.once(server.port, "POST", f"/api/v1/sales/{self.sale}/items/sku1/purchases", {"quantity": 1}, {"Idempotency-Key": "x"})]
        self.assertEqual([a.status for a in answers], [202, 200, 422, 409, 400, 409, 404, 401])
        small = server.sale(total=1)
        answers += [server.buy("p2", small), server.buy("p3", small)]
        server.command(small, "pause")
        answers.append(server.buy("p4", small))
        server.command(small, "close")
        answers.append(server.buy("p4", small))
        self.assertEqual([a.json["reason"] for a in answers[-4:]], ["admitted", "sold_out", "paused", "ended"])
        for answer in answers:
            self.check("POST", template, answer)
            if answer.status >= 400 and "tickets" not in answer.json and "ticket" not in answer.json:
                self.assertLessEqual(len(answer.body), 96, answer)

    def test_ends_and_demo(self):
        server = self.server
        for action in ("cancel", "pay"):
            template = f"/api/v1/orders/{{ticket}}/{action}"
            ticket = server.buy_patiently(f"end-{action}", self.sale).json["ticket"]
            path = f"/api/v1/orders/{ticket}/{action}"
            self.check("POST", template, server.post(path, f"end-{action}"))
            self.check("POST", template, server.post(path, f"end-{action}"))
            self.check("POST", template, server.post(path, "stranger"))
            self.check("POST", template, server.post(path))
        self.check("POST", "/api/v1/orders/{ticket}/cancel", server.cancel("alice", self.paid))
        self.check("POST", "/api/v1/demo/logins", http.once(server.port, "POST", "/api/v1/demo/logins", {"buyer": "carol"}))
        self.check("POST", "/api/v1/demo/logins", http.once(server.port, "POST", "/api/v1/demo/logins", {"buyer": ""}))

    def test_operator_routes(self):
        server, s = self.server, self.sale
        admin = server.admin
        draft = {"id": "draft-" + uuid.uuid4().hex[:6], "title": "t", "kind": "goods", "currency": "CNY", "starts_at": "2030-01-01T00:00:00Z",
                 "ends_at": "2030-01-02T00:00:00Z", "items": [{"sku": "a", "title": "t", "price_minor": 1, "total": 80, "reserve": 10, "pay_window": "15m"}]}
        created = admin("POST", "/admin/v1/sales", draft)
        self.assertEqual(created.status, 201)
        self.check("POST", "/admin/v1/sales", created)
        self.check("POST", "/admin/v1/sales", admin("POST", "/admin/v1/sales", draft))
        self.check("POST", "/admin/v1/sales", admin("POST", "/admin/v1/sales", {"id": "!"}))
        one = "/admin/v1/sales/{id}"
        for answer in (admin("GET", f"/admin/v1/sales/{draft['id']}"), admin("GET", "/admin/v1/sales/none"), admin("GET", f"/admin/v1/sales/{s}", token=None)):
            self.check("GET", one, answer)
        for body in ({"version": 1, "title": "new"}, {"version": 1, "title": "stale"}, {"version": 2, "nope": 1}):
            self.check("PATCH", one, admin("PATCH", f"/admin/v1/sales/{draft['id']}", body))
        for command in ("preload", "pause", "resume", "close"):
            self.check("POST", one + "/" + command, admin("POST", f"/admin/v1/sales/{draft['id']}/{command}", b""))
            self.check("POST", one + "/" + command, admin("POST", f"/admin/v1/sales/none/{command}", b""))
        item = f"/admin/v1/sales/{s}/items/sku1"
        self.check("POST", one + "/items/{sku}/top-up", admin("POST", item + "/top-up", {"units": 3, "id": "c1", "from": "new"}))
        self.check("POST", one + "/items/{sku}/top-up", admin("POST", item + "/top-up", {"units": -3, "id": "c1", "from": "new"}))
        self.check("POST", one + "/items/{sku}/reduce", admin("POST", item + "/reduce", {"units": 1, "id": "c2"}))
        # A server by itself has neither lanes elsewhere nor switches, and says so.
        for method, path, template, body in (("GET", item + "/lanes", one + "/items/{sku}/lanes", None),
                                             ("PUT", item + "/lanes", one + "/items/{sku}/lanes", {"wanted": "store", "why": "test"}),
                                             ("GET", "/admin/v1/switches", "/admin/v1/switches", None),
                                             ("PUT", "/admin/v1/switches/synchronous_ordering", "/admin/v1/switches/{name}", {"value": "on", "why": "test"})):
            answer = admin(method, path, body)
            self.assertEqual(answer.status, 409, answer)
            self.check(method, template, answer)
        for path, template in ((f"/admin/v1/orders/{self.ticket}", "/admin/v1/orders/{ticket}"), (f"/admin/v1/orders/{'0' * 26}", "/admin/v1/orders/{ticket}"),
                               (f"/admin/v1/orders?sale={s}&buyer=alice&state=paid&limit=5", "/admin/v1/orders"), ("/admin/v1/sales", "/admin/v1/sales"),
                               (f"/admin/v1/sales/{s}/verdict", one + "/verdict"), (f"/admin/v1/sales/{s}/funnel", one + "/funnel"), ("/admin/v1/audit", "/admin/v1/audit")):
            self.check("GET", template, admin("GET", path), path)
        self.check("POST", "/admin/v1/backup", admin("POST", "/admin/v1/backup", {"path": str(server.folder / f"{uuid.uuid4().hex}.db")}))
        for path in ("/livez", "/readyz", "/metrics"):
            self.check("GET", path, admin("GET", path, token=None), path)

    def test_zz_the_document_names_no_route_that_was_not_tried(self):
        """Runs last by name: the other tests of this class have filled `covered`."""
        listed = {(method, template) for template, item in self.document["paths"].items() for method in METHODS if method in item}
        static = {("get", "/"), ("get", "/assets/{file}"), ("get", "/assets/{path}")}
        if not self.covered:
            self.skipTest("run the whole class")
        self.assertEqual(sorted(listed - self.covered - static), [])

    def test_metrics_are_prometheus_text(self):
        text = self.server.admin("GET", "/metrics", token=None).body.decode()
        self.assertRegex(text, r"(?m)^# TYPE seckill_\w+ (counter|gauge|histogram)$")
        for line in text.splitlines():
            if line and not line.startswith("#"):
                self.assertRegex(line, r"^[a-zA-Z_:][a-zA-Z0-9_:]*(\{[^}]*\})? -?[0-9.eE+-]+(Inf|NaN)?$")
        self.assertIsNone(re.search(r"buyer=|ticket=|order=", text), "labels never name people or orders")
        self.assertTrue(OPERATOR not in text)


if __name__ == "__main__":
    unittest.main()
