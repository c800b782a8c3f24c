"""One admitted request, one ticket; results that only ever move forward. CASES FS-12, FS-36, FS-40, FS-18, FS-60."""

import time
import unittest
import uuid

from lib import http
from lib.case import UNLIMITED, Scenario

WIDE = {"extra": {"limits": UNLIMITED}}


class RequestIds(Scenario):
    options = WIDE

    def test_FS_36_same_id_with_other_content_is_refused_and_changes_nothing(self):
        sale = self.server.sale(total=10, limit=3, order_fields=["remark"])
        key = str(uuid.uuid4())
        first = self.server.buy("u1", sale, request_id=key, quantity=1, fields={"remark": "a"})
        self.assert_answer(first, 202, "admitted")
        self.assert_answer(self.server.buy("u1", sale, request_id=key, quantity=2, fields={"remark": "a"}), 422, "request_conflict")
        self.assert_answer(self.server.buy("u1", sale, request_id=key, quantity=1, fields={"remark": "b"}), 422, "request_conflict")
        self.assert_answer(self.server.buy("u1", sale, request_id=key, quantity=1), 422, "request_conflict")
        again = self.server.buy("u1", sale, request_id=key, quantity=1, fields={"remark": "a"})
        self.assert_answer(again, 200, "replayed")
        self.assertEqual(again.json["ticket"], first.json["ticket"])
        self.check_at_quiet(sale, [("u1", first.json["ticket"])])

    def test_FS_36_ids_belong_to_a_buyer_and_an_item(self):
        one, two = self.server.sale(total=10), self.server.sale(total=10)
        key = str(uuid.uuid4())
        tickets = {self.server.buy(buyer, sale, request_id=key).json["ticket"] for buyer in ("a", "b") for sale in (one, two)}
        self.assertEqual(len(tickets), 4)
        self.check_at_quiet(one)

    def test_FS_36_refusals_are_not_remembered(self):
        sale = self.server.sale(total=1)
        holder = self.server.buy("holder", sale).json["ticket"]
        key = str(uuid.uuid4())
        self.assert_answer(self.server.buy("u1", sale, request_id=key), 409, "sold_out")
        self.server.cancel("holder", holder)
        answer = http.eventually(lambda: (lambda r: r if r.status == 202 else None)(self.server.buy("u1", sale, request_id=key)), within=3)
        self.assertTrue(answer, "the same request id succeeds once stock is back")
        self.check_at_quiet(sale, [("u1", answer.json["ticket"])])

    def test_FS_36_keys_that_are_no_request_ids(self):
        sale = self.server.sale(total=10)
        for key in ("", "a" * 65, "a" * 9000, "käse", "a b", "late:1", "a/b", "a\tb", "%61"):
            answer = self.server.buy("u1", sale, headers={"Idempotency-Key": key})
            self.assertIn(answer.status, (400, 431), key)
        missing = http.once(self.server.port, "POST", f"/api/v1/sales/{sale}/items/sku1/purchases", {"quantity": 1}, self.server.login("u1"))
        self.assertEqual(missing.status, 400)
        self.assertEqual(self.server.orders("u1", sale), [])

    def test_FS_36_replayed_after_restart_and_after_the_end(self):
        sale = self.server.sale(total=10)
        key = str(uuid.uuid4())
        ticket = self.server.buy("u1", sale, request_id=key).json["ticket"]
        self.server.restart()
        again = self.server.buy_patiently("u1", sale, request_id=key)
        self.assert_answer(again, 200, "replayed")
        self.assertEqual(again.json["ticket"], ticket)
        self.server.command(sale, "close")
        self.assert_answer(self.server.buy("stranger", sale), 409, "ended")
        ended = self.server.buy_patiently("u1", sale, request_id=key)
        self.assert_answer(ended, 200, "replayed")
        self.assertEqual(ended.json["ticket"], ticket)

    def test_FS_60_order_numbers_never_repeat(self):
        sale = self.server.sale(total=600)
        jobs = [lambda b=f"n{i}": self.server.buy_patiently(b, sale) for i in range(300)]
        tickets = [r.json["ticket"] for r in http.together(jobs, 32)]
        self.server.restart()
        jobs = [lambda b=f"m{i}": self.server.buy_patiently(b, sale) for i in range(300)]
        tickets += [r.json["ticket"] for r in http.together(jobs, 32)]
        self.assertEqual(len(set(tickets)), 600)
        self.check_at_quiet(sale)


class Outcomes(Scenario):
    options = WIDE

    def test_FS_12_states_only_move_forward_and_unknown_is_no_record(self):
        sale = self.server.sale(total=10)
        key = str(uuid.uuid4())
        ticket = self.server.buy("u1", sale, request_id=key).json["ticket"]
        self.assertEqual(self.server.outcome("u1", sale, ticket).json["state"], "ordered")
        by_request = self.server.get(f"/api/v1/sales/{sale}/items/sku1/purchases?request_id={key}", "u1")
        self.assertEqual(by_request.json["ticket"], ticket)
        unknown = self.server.get(f"/api/v1/sales/{sale}/items/sku1/purchases?request_id=never", "u1")
        self.assert_answer(unknown, 404, "no_record")
        nobody = self.server.get(f"/api/v1/sales/{sale}/items/sku1/purchases?request_id={key}", "u9")
        self.assert_answer(nobody, 404, "no_record")
        self.assertEqual(self.server.pay("u1", ticket).status, 200)
        for _ in range(5):
            self.assertEqual(self.server.outcome("u1", sale, ticket).json["order_state"], "paid")
        self.check_at_quiet(sale, [("u1", ticket)])

    def test_FS_18_paid_orders_are_not_cancelled_and_repeats_are_harmless(self):
        sale = self.server.sale(total=10)
        ticket = self.server.buy("u1", sale).json["ticket"]
        self.assertEqual(self.server.pay("u1", ticket).status, 200)
        self.assertEqual(self.server.pay("u1", ticket).status, 200)
        refused = self.server.cancel("u1", ticket)
        self.assertEqual(refused.status, 409, refused)
        self.assertEqual(self.server.outcome("u1", sale, ticket).json["order_state"], "paid")
        self.assertEqual(self.server.cancel("u1", "0" * 26).status, 404)
        self.check_at_quiet(sale)

    def test_FS_18_of_cancel_and_pay_at_once_exactly_one_wins(self):
        sale = self.server.sale(total=40)
        for i in range(40):
            buyer = f"race{i}"
            ticket = self.server.buy_patiently(buyer, sale).json["ticket"]
            paid, cancelled = http.together([lambda: self.server.pay(buyer, ticket), lambda: self.server.cancel(buyer, ticket)])
            self.assertEqual(sorted((paid.status, cancelled.status)), [200, 409], (paid, cancelled))
            state = self.server.outcome(buyer, sale, ticket).json["order_state"]
            self.assertEqual(state, "paid" if paid.status == 200 else "cancelled")
        self.check_at_quiet(sale)


class BuyAgain(Scenario):
    options = WIDE

    def test_FS_40_buying_again_after_a_cancel_is_allowed_by_default(self):
        sale = self.server.sale(total=5)
        for _ in range(3):
            ticket = self.server.buy_patiently("u1", sale).json["ticket"]
            self.assertEqual(self.server.cancel("u1", ticket).status, 200)
        self.assert_answer(self.server.buy("u1", sale), 202, "admitted")
        self.check_at_quiet(sale)

    def test_FS_40_one_chance_only(self):
        sale = self.server.sale(total=1, tickets_max=1)
        ticket = self.server.buy("u1", sale).json["ticket"]
        self.server.cancel("u1", ticket)
        self.assert_answer(self.server.buy("u1", sale), 409, "limit_reached")
        self.assertTrue(http.eventually(lambda: self.server.buy("u2", sale).status == 202, within=3))
        self.check_at_quiet(sale)

    def test_FS_40_limit_two_counts_units_and_not_history(self):
        sale = self.server.sale(total=5, limit=2)
        one = self.server.buy("u1", sale).json["ticket"]
        self.assert_answer(self.server.buy("u1", sale), 202, "admitted")
        self.assert_answer(self.server.buy("u1", sale), 409, "limit_reached")
        self.server.cancel("u1", one)
        self.assert_answer(self.server.buy("u1", sale), 202, "admitted")
        self.assert_answer(self.server.buy("u1", sale), 409, "limit_reached")
        me = self.server.get(f"/api/v1/sales/{sale}/me", "u1").json["items"][0]
        self.assertEqual((me["units"], me["limit"], me["can_buy"]), (2, 2, False))
        self.check_at_quiet(sale)

    def test_FS_40_an_expired_order_frees_its_buyer_and_its_unit(self):
        sale = self.server.sale(total=1, pay_window_ms=1000)
        ticket = self.server.buy("u1", sale).json["ticket"]
        expired = http.eventually(lambda: self.server.outcome("u1", sale, ticket).json.get("order_state") == "expired", within=15)
        self.assertTrue(expired)
        again = http.eventually(lambda: self.server.buy("u1", sale).status == 202, within=3)
        self.assertTrue(again)
        self.check_at_quiet(sale)


class FreeSales(Scenario):
    options = WIDE

    def test_a_price_of_zero_is_paid_at_landing_and_never_expires(self):
        sale = self.server.sale(total=10, price=0, pay_window_ms=1000)
        ticket = self.server.buy("u1", sale).json["ticket"]
        self.assertEqual(self.server.outcome("u1", sale, ticket).json["order_state"], "paid")
        self.assertEqual(self.server.cancel("u1", ticket).status, 409)
        time.sleep(1.5)
        self.assertEqual(self.server.outcome("u1", sale, ticket).json["order_state"], "paid")
        self.check_at_quiet(sale, [("u1", ticket)])

    def test_another_device_of_the_buyer_finds_the_order(self):
        sale = self.server.sale(total=10)
        ticket = self.server.buy("u2", sale).json["ticket"]
        self.assertEqual([o["ticket"] for o in self.server.orders("u2")], [ticket])
        me = self.server.get(f"/api/v1/sales/{sale}/me", "u2").json
        self.assertEqual(me["items"][0]["tickets"][0]["ticket"], ticket)
        self.assertEqual(self.server.orders("u3"), [])


if __name__ == "__main__":
    unittest.main()
