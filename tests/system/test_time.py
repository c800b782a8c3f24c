"""One instant everywhere, decided by the server. CASES FS-30, FS-42, FS-53, FS-72, FS-73, FS-25 (deadlines)."""

import datetime
import email.utils
import time
import unittest
import uuid

from lib import http
from lib.case import UNLIMITED, Scenario
from lib.server import Server

WIDE = {"extra": {"limits": UNLIMITED}}


class StartAndEnd(Scenario):
    options = WIDE

    def test_FS_42_nobody_buys_before_the_start_or_after_the_end(self):
        sale = self.server.sale(total=800, starts_in=1.5, lasts=1.0)
        shown = self.server.get(f"/api/v1/sales/{sale}").json
        starts_at, ends_at = shown["starts_at"], shown["ends_at"]
        connection = http.Connection(self.server.port)
        early = late = inside = 0
        while True:
            asked = time.time() * 1000
            answer = self.server.buy(f"b{uuid.uuid4().hex}", sale, connection=connection)
            answered = time.time() * 1000
            if answer.status == 202:
                inside += 1
                self.assertGreaterEqual(answered, starts_at)
                self.assertLess(asked, ends_at)
            elif answer.json["reason"] == "not_started":
                early += 1
                self.assertLess(asked, starts_at)
            else:
                self.assert_answer(answer, 409, "ended")
                late += 1
                self.assertGreaterEqual(answered, ends_at)
            if late >= 20:
                break
            time.sleep(0.01)
        self.assertGreater(early, 10)
        self.assertGreater(inside, 10)
        connection.close()
        self.check_at_quiet(sale)

    def test_FS_42_early_clicks_do_not_count_against_the_buyer(self):
        sale = self.server.sale(total=10, starts_in=1.0)
        for _ in range(30):
            self.assert_answer(self.server.buy("keen", sale), 409, "not_started")
        won = http.eventually(lambda: self.server.buy("keen", sale).status == 202, within=5)
        self.assertTrue(won)
        self.check_at_quiet(sale)

    def test_FS_42_server_time_agrees_with_its_date_header(self):
        answer = self.server.get("/api/v1/time")
        now = time.time() * 1000
        self.assertLess(abs(answer.json["now_ms"] - now), 2000)
        if "date" in answer.headers:
            stamp = email.utils.parsedate_to_datetime(answer.headers["date"]).timestamp() * 1000
            self.assertLess(abs(stamp - answer.json["now_ms"]), 2000)

    def test_FS_72_instants_read_back_equal_and_the_interval_is_half_open(self):
        start, end = "2030-01-01T10:00:00.500+08:00", "2030-01-01T23:59:59.999+08:00"
        self.server.create_sale({"id": "exact", "title": "t", "kind": "goods", "currency": "CNY", "starts_at": start, "ends_at": end,
                                 "items": [{"sku": "sku1", "title": "t", "price_minor": 1, "total": 8}]})
        for _ in range(2):
            shown = self.server.show("exact")
            self.assertEqual(shown["starts_at"], int(datetime.datetime.fromisoformat(start).timestamp() * 1000))
            self.assertEqual(shown["ends_at"], int(datetime.datetime.fromisoformat(end).timestamp() * 1000))
            self.assertEqual(shown["ends_at_text"], "2030-01-01T15:59:59.999Z")
            self.server.restart()

    def test_FS_73_a_hold_made_in_time_may_be_paid_after_the_end(self):
        sale = self.server.sale(total=2, starts_in=-1, lasts=2.5, pay_window_ms=4000)
        one = self.server.buy("u1", sale).json["ticket"]
        two = self.server.buy("u2", sale).json["ticket"]
        ended = http.eventually(lambda: self.server.buy("u3", sale).json["reason"] == "ended", within=5)
        self.assertTrue(ended)
        shown = self.server.outcome("u1", sale, one).json
        self.assertGreater(shown["pay_before"], self.server.get(f"/api/v1/sales/{sale}").json["ends_at"])
        self.assertEqual(self.server.pay("u1", one).status, 200)
        expired = http.eventually(lambda: self.server.outcome("u2", sale, two).json["order_state"] == "expired", within=15)
        self.assertTrue(expired)
        order = self.server.get(f"/api/v1/orders/{two}", "u2").json
        self.assertEqual(order["pay_before"], self.server.outcome("u2", sale, two).json.get("pay_before", order["pay_before"]))
        self.assert_answer(self.server.buy("u3", sale), 409, "ended")
        self.assertEqual(self.server.pay("u2", two).status, 409)
        self.check_at_quiet(sale)

    def test_FS_25_none_expires_early_and_all_expire(self):
        sale = self.server.sale(total=20, pay_window_ms=2000)
        held = {f"e{i}": self.server.buy(f"e{i}", sale).json["ticket"] for i in range(20)}
        self.server.restart()
        seen = {}
        end = time.monotonic() + 30
        while len(seen) < 20 and time.monotonic() < end:
            for buyer, ticket in held.items():
                outcome = self.server.outcome(buyer, sale, ticket)
                if buyer not in seen and outcome.json["order_state"] == "expired":
                    seen[buyer] = time.time() * 1000
        self.assertEqual(len(seen), 20)
        for order in self.all_orders(sale):
            self.assertGreaterEqual(order.get("ended_at") or seen[order["buyer"]], order["pay_before"])
        for window in (0, -1, 999, 60 * 86_400_000):
            self.assertIn(self.server.admin("POST", "/admin/v1/sales", {
                "id": "w", "title": "t", "kind": "goods", "currency": "CNY", "starts_at": 2_000_000_000_000, "ends_at": 2_000_000_100_000,
                "items": [{"sku": "sku1", "title": "t", "price_minor": 1, "total": 8, "pay_window_ms": window}]}).status, (400, 422))
        self.check_at_quiet(sale)


class Zones(unittest.TestCase):
    def test_FS_30_one_instant_in_every_zone_and_no_offset_is_refused(self):
        expected = int(datetime.datetime(2030, 3, 10, 7, 30, tzinfo=datetime.timezone.utc).timestamp() * 1000)
        for zone in ("UTC", "Asia/Shanghai", "America/New_York"):
            server = Server(environment={"TZ": zone}).start()
            try:
                for i, text in enumerate(("2030-03-10T07:30:00Z", "2030-03-10T15:30:00+08:00", "2030-03-10T02:30:00-05:00")):
                    shown = server.create_sale(self.body(f"z{i}", text))
                    self.assertEqual((shown["starts_at"], shown["starts_at_text"]), (expected, "2030-03-10T07:30:00.000Z"))
                for text in ("2030-03-10T07:30:00", "2030-03-10", "10/03/2030 07:30", "2030-02-30T00:00:00Z", "2030-03-10T07:30:00.0001Z", "2030-03-10T24:00:00Z", ""):
                    answer = server.admin("POST", "/admin/v1/sales", self.body("bad", text))
                    self.assertIn(answer.status, (400, 422), (text, answer))
                    self.assertIn("starts_at", answer.body.decode())
                sale = server.sale(total=1, starts_in=0.5)
                self.assertTrue(http.eventually(lambda: server.buy("u", sale).status == 202, within=5), zone)
                server.stop()
            finally:
                server.cleanup()

    @staticmethod
    def body(sale, starts_at):
        return {"id": sale, "title": "t", "kind": "goods", "currency": "CNY", "starts_at": starts_at, "ends_at": "2031-01-01T00:00:00Z",
                "items": [{"sku": "sku1", "title": "t", "price_minor": 1, "total": 8}]}


class Edits(Scenario):
    options = WIDE

    def edit(self, sale, **changes):
        version = self.server.show(sale)["version"]
        return self.server.admin("PATCH", f"/admin/v1/sales/{sale}", {"version": version, **changes})

    def test_FS_53_edits_of_a_running_sale_are_seen_and_orders_keep_their_own_terms(self):
        sale = self.server.sale(total=20, limit=1, price=1000)
        before = self.server.buy("u1", sale).json["ticket"]
        self.assert_answer(self.server.buy("u1", sale), 409, "limit_reached")
        self.assertEqual(self.edit(sale, items=[{"sku": "sku1", "price_minor": 2000, "limit": 2, "pay_window_ms": 60_000}]).status, 200)
        after = http.eventually(lambda: (lambda r: r.json["ticket"] if r.status == 202 else None)(self.server.buy("u1", sale)), within=3)
        self.assertTrue(after, "a raised limit is in force within the stated second")
        orders = {o["ticket"]: o for o in self.server.orders("u1", sale)}
        self.assertEqual((orders[before]["price_minor"], orders[after]["price_minor"]), (1000, 2000))
        self.assertGreater(orders[before]["pay_before"] - orders[before]["landed_at"], orders[after]["pay_before"] - orders[after]["landed_at"])
        self.assertTrue(http.eventually(lambda: self.server.get(f"/api/v1/sales/{sale}").json["items"][0]["price_minor"] == 2000, within=3))
        self.check_at_quiet(sale)

    def test_FS_53_pause_resume_close_and_what_is_refused(self):
        sale = self.server.sale(total=20)
        ticket = self.server.buy("holder", sale).json["ticket"]
        self.server.command(sale, "pause")
        self.assertTrue(http.eventually(lambda: self.server.buy("u1", sale).json["reason"] == "paused", within=3))
        self.assertEqual(self.server.pay("holder", ticket).status, 200, "a pause stops buying, not paying")
        self.server.command(sale, "resume")
        self.assertTrue(http.eventually(lambda: self.server.buy("u1", sale).status == 202, within=3))
        started = self.edit(sale, starts_at=int(time.time() * 1000) + 60_000)
        self.assertEqual(started.status, 409, started)
        stale = self.server.admin("PATCH", f"/admin/v1/sales/{sale}", {"version": 1, "title": "old"})
        self.assertEqual(stale.status, 412, stale)
        for body in ({"items": [{"sku": "nope", "limit": 2}]}, {"items": [{"sku": "sku1", "lanes": 3}]}, {"currency": "USD"}, {"items": [{"sku": "sku1", "total": 5}]}):
            self.assertIn(self.edit(sale, **body).status, (400, 409, 422), body)
        self.server.command(sale, "close")
        self.assertTrue(http.eventually(lambda: self.server.buy("u2", sale).json["reason"] == "ended", within=3))
        for command in ("resume", "pause", "preload"):
            self.assertEqual(self.server.admin("POST", f"/admin/v1/sales/{sale}/{command}", b"").status, 409)
        self.check_at_quiet(sale)

    def test_FS_53_end_can_be_extended_and_a_start_pulled_later(self):
        sale = self.server.sale(total=5, starts_in=30, lasts=5)
        now = int(time.time() * 1000)
        self.assertEqual(self.edit(sale, starts_at=now + 700, ends_at=now + 60_000).status, 200)
        self.assert_answer(self.server.buy("u1", sale), 409, "not_started")
        self.assertTrue(http.eventually(lambda: self.server.buy("u1", sale).status == 202, within=5))
        twice = {"id": "twice", "title": "t", "kind": "goods", "currency": "CNY", "starts_at": now + 60_000, "ends_at": now + 90_000,
                 "items": [{"sku": "a", "title": "t", "price_minor": 1, "total": 8}, {"sku": "a", "title": "t", "price_minor": 1, "total": 8}]}
        answer = self.server.admin("POST", "/admin/v1/sales", twice)
        self.assertIn(answer.status, (400, 422))
        self.assertIn("twice", answer.body.decode())
        self.check_at_quiet(sale)

    def test_top_up_and_reduction_are_ledgered_and_idempotent(self):
        sale = self.server.sale(total=10, reserve=2, limit=20)
        item = f"/admin/v1/sales/{sale}/items/sku1"
        self.assertEqual(self.server.buy("u1", sale, quantity=8).status, 202)
        self.assert_answer(self.server.buy("u2", sale), 409, "sold_out")
        for _ in range(2):
            self.assertEqual(self.server.admin("POST", item + "/top-up", {"units": 2, "id": "t1", "from": "reserve"}).status, 200)
        self.assertTrue(http.eventually(lambda: self.server.buy("u2", sale, quantity=2).status == 202, within=3))
        refused = self.server.admin("POST", item + "/top-up", {"units": 1, "id": "t2", "from": "reserve"})
        self.assertEqual(refused.status, 409, refused)
        for _ in range(2):
            self.assertEqual(self.server.admin("POST", item + "/top-up", {"units": 5, "id": "t3", "from": "new"}).status, 200)
        stock = self.server.show(sale)["items"][0]["stock"]
        self.assertEqual(stock["total"], 15)
        taken = self.server.admin("POST", item + "/reduce", {"units": 9, "id": "r1"})
        self.assertEqual((taken.status, taken.json["taken"]), (200, 5))
        self.assertEqual(self.server.show(sale)["items"][0]["stock"]["total"], 10)
        audit = self.server.admin("GET", "/admin/v1/audit?limit=100").json
        self.assertTrue([row for row in audit["entries"] if row["action"] == "item.top_up"])
        self.check_at_quiet(sale)


if __name__ == "__main__":
    unittest.main()
