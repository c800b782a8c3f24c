"""The base of every scenario: one server a class, and the five checks at quiet that each scenario ends with.

1 conservation: total = pool + available + held + sold, in the store and in the lanes; nothing negative
2 limit: no buyer holds or owns more than the limit
3 closure: every answer "accepted" has an order or an explicit failure
4 money: each payment has one paid order
5 alive: the same process, ready, no error in the log
"""

import collections
import unittest

from . import http
from .server import Server


# The buyer's buckets opened wide, for scenarios that are about stock and not about pace.
UNLIMITED = {"buyer_bucket_capacity": 100000, "buyer_bucket_per_s": 100000, "buyer_calls_capacity": 100000, "buyer_calls_per_s": 100000}


class Scenario(unittest.TestCase):
    options = {}
    allowed_errors = ()  # substrings of error-level log lines that this scenario provokes

    @classmethod
    def setUpClass(cls):
        cls.server = Server(**cls.options)
        cls.server.start()

    @classmethod
    def tearDownClass(cls):
        try:
            cls.server.stop()
        finally:
            cls.server.cleanup()

    # --- answers ---
    def assert_answer(self, response, status, reason):
        self.assertNotIsInstance(response, Exception, response)
        self.assertEqual((response.status, response.json["reason"]), (status, reason), response)

    def admitted(self, responses):
        return [r for r in responses if not isinstance(r, Exception) and r.status in (200, 202)]

    def reasons(self, responses):
        return collections.Counter("lost" if isinstance(r, Exception) else r.json.get("reason", r.status) for r in responses)

    # --- the five checks ---
    def check_at_quiet(self, sale, accepted=()):
        """`accepted`: (buyer, ticket) of every answer that said admitted or replayed."""
        server = self.server
        verdict = http.eventually(lambda: self._drained(sale), within=20)
        self.assertTrue(verdict, f"did not drain: {server.verdict(sale)}")
        broken = [p for p in verdict["promises"] if not p["holds"]]
        self.assertEqual(broken, [], "broken promises")
        for item in server.show(sale)["items"]:
            self._check_conservation(item)
        self._check_limits(sale)
        for buyer, ticket in accepted:
            outcome = server.outcome(buyer, sale, ticket)
            self.assertEqual(outcome.status, 200, f"an accepted ticket has no outcome: {ticket} {outcome}")
            self.assertIn(outcome.json["state"], ("ordered", "failed"))
        self.assertIsNone(server.process.poll(), "the server died:\n" + server.log_text()[-3000:])
        self.assertTrue(server.is_ready())
        self.check_log()

    def _drained(self, sale):
        verdict = self.server.verdict(sale)
        return verdict if verdict.get("drained") else None

    def _check_conservation(self, item):
        stock = item["stock"]
        lanes = stock["lanes"]
        moved = sum(lane["available"] + lane["held"] + lane["sold"] for lane in lanes)
        self.assertEqual(stock["total"], stock["pool"] + moved, item)
        for lane in lanes:
            for name in ("available", "held", "sold"):
                self.assertGreaterEqual(lane[name], 0, item)
        for name in ("available", "held", "sold"):
            self.assertEqual(stock["live"][name], sum(lane[name] for lane in lanes), (name, item))

    def _check_limits(self, sale):
        for order, units in self._owned(sale).items():
            self.assertLessEqual(units, self.limits(sale)[order[0]], order)

    def limits(self, sale):
        return {item["sku"]: item["limit"] for item in self.server.show(sale)["items"]}

    def _owned(self, sale):
        owned = collections.Counter()
        for order in self.all_orders(sale):
            if order["state"] in ("parked", "awaiting_payment", "closing", "paid"):
                owned[(order["sku"], order["buyer"])] += order["units"]
        return owned

    def all_orders(self, sale):
        orders, before = [], 0
        while True:
            page = self.server.admin("GET", f"/admin/v1/orders?sale={sale}&limit=1000" + (f"&before={before}" if before else "")).json
            orders += page["orders"]
            before = page["next"]
            if not before:
                return orders

    def check_log(self):
        for line in self.server.log_text().splitlines():
            low = line.lower()
            if ("[error]" in low or "[critical]" in low or '"level":"error"' in low or "addresssanitizer" in low
                    or "runtime error" in low) and not any(text in line for text in self.allowed_errors):
                self.fail("an error in the log: " + line)
