"""What comes from outside is refused clearly or taken exactly. CASES FS-15, 17, 24, 31, 32, 33, 48, 54."""

import json
import time
import unittest
import uuid

from lib import http, login
from lib.case import UNLIMITED, Scenario
from lib.server import SECRET

WIDE = {"extra": {"limits": UNLIMITED}}
NUMBERS = ["-1", "0", "-0", "0.1", "1.5", "1e2", "1.0", "1E0", '"1"', '" 1"', "true", "null", "[]", "{}", "2147483647", "2147483648",
           "4294967297", "9223372036854775807", "9223372036854775808", "18446744073709551617", "1" * 400, "NaN", "Infinity", "01", "+1",
           "0x10", "١"]


class Identity(Scenario):
    options = WIDE

    def test_FS_15_identity_comes_from_the_token_alone(self):
        sale = self.server.sale(total=10)
        path = f"/api/v1/sales/{sale}/items/sku1/purchases"
        for extra in ({"headers": {"X-User-Id": "u2", "Cookie": "user=u2"}}, {"body": b'{"quantity":1,"buyer":"u2"}'},
                      {"body": b'{"quantity":1,"userId":"u2"}'}):
            self.assertIn(self.server.buy("u1", sale, **extra).status, (202, 400, 409))
        http.once(self.server.port, "POST", path + "?buyer=u2", {"quantity": 1}, {**self.server.login("u1"), "Idempotency-Key": "q1"})
        self.assertEqual(self.server.orders("u2", sale), [])
        self.assertEqual({o["sale"] for o in self.server.orders("u1")}, {sale})
        self.check_at_quiet(sale)

    def test_FS_15_tokens_that_are_not_a_login(self):
        sale = self.server.sale(total=10)
        good = login.token(SECRET, "u1")
        head, body, mac = good.split(".")
        now = int(time.time())
        bad = {
            "none at all": None, "empty": "", "not a token": "abc", "two parts": f"{head}.{body}", "cut": good[:-2], "other key": login.token("x" * 40, "u1"),
            "expired": login.token(SECRET, "u1", expires_in=-3600), "alg none": login.token(SECRET, "u1", header={"alg": "none"}).rsplit(".", 1)[0] + ".",
            "other alg": login.token(SECRET, "u1", header={"alg": "HS512"}), "asymmetric alg": login.token(SECRET, "u1", header={"alg": "RS256"}),
            "no sub": login.token(SECRET, None), "empty sub": login.token(SECRET, ""), "number sub": login.token(SECRET, 7),
            "long sub": login.token(SECRET, "x" * 65), "control sub": login.token(SECRET, "a\nb"), "not yet": login.token(SECRET, "u1", claims={"nbf": now + 3600}),
            "swapped body": f"{head}.{login.b64(json.dumps({'sub': 'u2', 'exp': now + 60}).encode())}.{mac}",
            "bad utf-8": login.sign(SECRET, b'{"alg":"HS256"}', b'{"sub":"\xc3\x28","exp":9999999999}'),
            "not json": login.sign(SECRET, b'{"alg":"HS256"}', b"hello"), "deep": login.sign(SECRET, b'{"alg":"HS256"}', b"[" * 3000),
        }
        for what, text in bad.items():
            headers = {"Authorization": f"Bearer {text}"} if text is not None else {}
            answer = http.once(self.server.port, "POST", f"/api/v1/sales/{sale}/items/sku1/purchases", {"quantity": 1},
                               {**headers, "Idempotency-Key": str(uuid.uuid4())})
            self.assertEqual(answer.status, 401, (what, answer))
        self.assertEqual(http.once(self.server.port, "GET", "/api/v1/orders", headers={"Authorization": "Basic dTE6dTE="}).status, 401)
        self.assertEqual(self.all_orders(sale), [])
        self.check_at_quiet(sale)

    def test_FS_24_foreign_and_unknown_orders_look_the_same(self):
        sale = self.server.sale(total=10)
        ticket = self.server.buy("u1", sale).json["ticket"]
        unknown = ("Z" if ticket[-1] != "Z" else "Y").join([ticket[:-1], ""])
        for path in ("/api/v1/orders/{}", f"/api/v1/sales/{sale}/items/sku1/tickets/{{}}"):
            foreign, none = self.server.get(path.format(ticket), "u2"), self.server.get(path.format(unknown), "u2")
            self.assertEqual((foreign.status, foreign.body), (404, none.body))
            self.assertEqual(none.status, 404)
            self.assertEqual(self.server.get(path.format(ticket)).status, 401)
        for action in ("cancel", "pay"):
            foreign = self.server.post(f"/api/v1/orders/{ticket}/{action}", "u2")
            none = self.server.post(f"/api/v1/orders/{unknown}/{action}", "u2")
            self.assertEqual((foreign.status, foreign.body), (none.status, none.body))
            self.assertEqual(foreign.status, 404)
        self.assertEqual(self.server.outcome("u1", sale, ticket).json["order_state"], "awaiting_payment")
        for path in ("/admin/v1/sales", f"/admin/v1/orders/{ticket}", "/admin/v1/audit"):
            self.assertEqual(self.server.admin("GET", path, token=None).status, 401)
            self.assertEqual(self.server.admin("GET", path, token=login.token(SECRET, "u1")).status, 401)
            self.assertEqual(self.server.get(path, "u1").status, 404, "admin routes do not exist on the buyer port")
        self.check_at_quiet(sale)


class Numbers(Scenario):
    options = WIDE

    def test_FS_17_only_whole_quantities_within_the_limit_pass(self):
        sale = self.server.sale(total=10, limit=2)
        for number in NUMBERS + ["3"]:
            answer = self.server.buy("u1", sale, body=f'{{"quantity":{number}}}'.encode())
            self.assertEqual(answer.status, 400, (number, answer))
        for body in (b"", b"{}", b"null", b"1", b'{"quantity":1,"quantity":100}', b'{"quantity":1}x', b'{"quantity":1', b'{"Quantity":1}'):
            self.assertEqual(self.server.buy("u1", sale, body=body).status, 400, body)
        stock = self.server.show(sale)["items"][0]["stock"]
        self.assertEqual(sum(lane["available"] for lane in stock["lanes"]), 10)
        self.assert_answer(self.server.buy("u1", sale, body=b' { "quantity" : 2 } '), 202, "admitted")
        self.check_at_quiet(sale)

    def test_FS_17_admin_numbers_have_ranges(self):
        now = int(time.time() * 1000)
        for field in ("total", "price_minor", "limit", "pay_window_ms", "tickets_max", "lanes", "reserve"):
            for number in NUMBERS:
                if field in ("price_minor", "reserve", "lanes") and number in ("0", "-0"):
                    continue
                if field == "price_minor" and number in ("2147483647", "2147483648", "4294967297"):
                    continue  # within a thousand million yuan
                body = ('{"id":"n-%s","title":"t","kind":"goods","currency":"CNY","starts_at":%d,"ends_at":%d,"items":[{"sku":"sku1","title":"t",'
                        '"price_minor":1,"total":100,"limit":1,"pay_window_ms":60000,"%s":%s}]}'
                        % (uuid.uuid4().hex[:8], now, now + 60000, field, number))
                body = body.replace('"price_minor":1,', "", 1) if field == "price_minor" else body
                body = body.replace(f'"{field}":', '"__":', 1).replace('"__":' + {"total": "100", "limit": "1", "pay_window_ms": "60000"}.get(field, "\0") + ",", "") \
                    if field in ("total", "limit", "pay_window_ms") else body
                body = body.replace('"__":', f'"{field}":')
                if field == "pay_window_ms" and number in ("2147483647", "2147483648"):
                    continue  # 24.8 days
                answer = self.server.admin("POST", "/admin/v1/sales", body.encode("utf-8"))
                self.assertIn(answer.status, (400, 422), (field, number, answer))

    def test_FS_31_numbers_in_every_place_never_end_the_process(self):
        sale = self.server.sale(total=10)
        ticket = self.server.buy("u1", sale).json["ticket"]
        for text in ("", "abc", "1a", "+1", "9" * 20, "-0", "0x10", "%D9%A1", "-1", "1e3", "99999999999999999999999"):
            for path in (f"/api/v1/sales/{text}", f"/api/v1/sales/{sale}/items/{text}", f"/api/v1/orders?limit={text}", f"/api/v1/orders?before={text}",
                         f"/api/v1/orders/{text}", f"/api/v1/sales/{sale}/items/sku1/tickets/{text}", f"/api/v1/sales/{sale}/items/sku1/purchases?request_id={text}"):
                self.assertIn(self.server.get(path, "u1").status, (200, 400, 404, 405), path)
            for path in (f"/admin/v1/orders?limit={text}", f"/admin/v1/audit?before={text}", f"/admin/v1/sales/{text}"):
                self.assertIn(self.server.admin("GET", path).status, (200, 400, 404, 405, 422), path)
        self.check_at_quiet(sale, [("u1", ticket)])


class Text(Scenario):
    options = WIDE

    def test_FS_32_bytes_that_are_not_utf_8(self):
        sale = self.server.sale(total=50, order_fields=["receiver"])
        for bad in (b"\xc3\x28", b"\xed\xa0\x80", b"\xf0\x9f\x98", b"\xff", b"\xc0\x80"):
            for answer in (
                    self.server.buy("u1", sale, body=b'{"quantity":1,"fields":{"receiver":"' + bad + b'"}}'),
                    self.server.buy("u1", sale, body=b'{"quantity":1,"' + bad + b'":1}'),
                    self.server.buy("u1", sale, headers={"Idempotency-Key": b"r" + bad}),
                    self.server.admin("POST", "/admin/v1/sales", b'{"id":"x","title":"' + bad + b'"}')):
                self.assertIn(answer.status, (400, 422), (bad, answer))
                answer.json  # noqa: B018 - an error answer is valid JSON
            connection = http.Connection(self.server.port)
            connection.send(b"GET /api/v1/sales/" + bad + b" HTTP/1.1\r\nHost: a\r\nUser-Agent: " + bad + b"\r\n\r\n")
            self.assertIn(connection.read_response().status, (400, 404))
            connection.close()
            self.server.get("/api/v1/sales", headers={"User-Agent": bad, "X-Forwarded-For": bad, "Accept-Language": bad})
        self.assertEqual(self.server.get("/api/v1/sales").status, 200)
        self.assertEqual(self.server.admin("GET", "/admin/v1/sales").status, 200)
        self.assertFalse([c for c in self.server.log_text() if ord(c) < 32 and c not in "\n\x1b\t"], "control bytes in the log")
        self.check_at_quiet(sale)

    def test_FS_33_deep_json_is_refused(self):
        sale = self.server.sale(total=10)
        for depth in (9, 100, 1200, 7000):
            for body in (b"[" * depth, b"[" * depth + b"]" * depth, b'{"a":' * min(depth, 2000) + b"1", b'{"quantity":1,"x":' + b"[" * depth + b"]" * depth + b"}"):
                answer = self.server.buy("u1", sale, body=body)
                self.assertIn(answer.status, (400, 413), (depth, answer))
        for depth in (1200, 100_000):
            self.assertIn(self.server.admin("POST", "/admin/v1/sales", b"[" * depth).status, (400, 413, 422))
        connection = http.Connection(self.server.port)
        connection.send(http.render("POST", f"/api/v1/sales/{sale}/items/sku1/purchases", b"", {**self.server.login("u1"), "Idempotency-Key": "d",
                                                                                             "Content-Length": "500000"}))
        self.assertEqual(connection.read_response().status, 413)
        connection.close()
        self.check_at_quiet(sale)

    def test_FS_54_text_comes_back_unchanged_or_is_refused_before_the_hold(self):
        texts = ["张三 😀", "𠮷野家", "e\u0301 combining", "\u202eRTL", "zero\u200bwidth", "汉" * 255, "😀" * 255, "", '"quoted" \\ back', "=1+1"]
        sale = self.server.sale(total=100, limit=100, order_fields=["receiver", "remark"])
        for text in texts:
            answer = self.server.buy("u1", sale, fields={"receiver": text})
            self.assert_answer(answer, 202, "admitted")
            order = self.server.get(f"/api/v1/orders/{answer.json['ticket']}", "u1").json
            self.assertEqual(order["fields"], {"receiver": text})
            if len(self.server.orders("u1", sale)) > 10:
                break
        for fields in ({"receiver": "汉" * 256}, {"receiver": "a\0b"}, {"unknown": "x"}, {"receiver": 1}, {"receiver": None}, "text", []):
            self.assertEqual(self.server.buy("u2", sale, fields=fields).status, 400, fields)
        self.assertEqual(self.server.orders("u2", sale), [])
        title = "闪购 😀 𠮷 \u202e <b>"
        self.server.create_sale({"id": "emoji", "title": title, "kind": "goods", "currency": "CNY", "starts_at": int(time.time() * 1000) + 5000,
                                 "ends_at": int(time.time() * 1000) + 9000, "items": [{"sku": "sku1", "title": title, "price_minor": 1, "total": 8}]})
        self.assertEqual(self.server.show("emoji")["title"], title)
        self.check_at_quiet(sale)


class Paths(Scenario):
    options = WIDE

    def test_FS_48_other_spellings_of_a_path_do_not_exist(self):
        sale = self.server.sale(total=10)
        good = f"/api/v1/sales/{sale}/items/sku1/purchases"
        for path in (good + "/", good.replace("/items", "//items"), "/" + good, "/./" + good[1:], good.replace("/api", "/x/../api"), good.upper(),
                     good.replace("purchases", "%70urchases"), good + ";x=1", good.replace("sku1", "sku1%00"), good.replace("sku1", "+sku1"),
                     good.replace("sku1", "SKU1"), good.replace(sale, "0" + sale), good.replace(sale, " " + sale)):
            connection = http.Connection(self.server.port)
            connection.send(http.render("POST", path, {"quantity": 1}, {**self.server.login("u1"), "Idempotency-Key": str(uuid.uuid4())}))
            answer = connection.read_response()
            self.assertIn(answer.status, (400, 404, 503), (path, answer))
            if answer.status == 503:
                self.assertEqual(answer.json["reason"], "busy")
            connection.close()
        self.assertEqual(self.server.orders("u1"), [])
        with_query = http.once(self.server.port, "POST", good + "?a=1", {"quantity": 1}, {**self.server.login("u1"), "Idempotency-Key": "k1"})
        again = http.once(self.server.port, "POST", good, {"quantity": 1}, {**self.server.login("u1"), "Idempotency-Key": "k2"})
        self.assertEqual((with_query.status in (202, 400, 404), len(self.server.orders("u1", sale)) <= 1), (True, True))
        self.assertEqual(again.status, 409 if with_query.status == 202 else 202)
        self.check_at_quiet(sale)

    def test_methods_and_unknown_routes(self):
        self.assertEqual(self.server.get("/nothing").status, 404)
        self.assertEqual(http.once(self.server.port, "DELETE", "/api/v1/time").status, 405)
        self.assertEqual(http.once(self.server.port, "BREW", "/api/v1/time").status in (405, 501, 400), True)
        self.assertEqual(http.once(self.server.port, "HEAD", "/api/v1/time").body, b"")


if __name__ == "__main__":
    unittest.main()
