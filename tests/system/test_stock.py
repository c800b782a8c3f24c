"""Who gets the units: crowds, repeats, restarts. CASES FS-01, FS-03, FS-04, FS-05, FS-61."""

import unittest
import uuid

from lib import http
from lib.case import UNLIMITED, Scenario

WIDE = {"extra": {"limits": UNLIMITED}}


class LastUnits(Scenario):
    options = WIDE

    def crowd(self, sale, buyers, threads=64):
        jobs = [lambda b=f"buyer-{i}": (b, self.server.buy_patiently(b, sale)) for i in range(buyers)]
        return http.together(jobs, threads=threads)

    def test_FS_01_distinct_buyers_take_exactly_the_stock(self):
        for total in (1, 1, 1, 20, 100):
            sale = self.server.sale(total=total)
            answers = self.crowd(sale, 300)
            won = [(buyer, r.json["ticket"]) for buyer, r in answers if r.status == 202]
            self.assertEqual(len(won), total, self.reasons([r for _, r in answers]))
            self.assertEqual({r.json["reason"] for _, r in answers}, {"admitted", "sold_out"})
            self.assertEqual(len({ticket for _, ticket in won}), total)
            self.check_at_quiet(sale, won)

    def test_FS_01_quantities_that_do_not_fit_leave_the_rest_for_others(self):
        sale = self.server.sale(total=20, limit=3, lanes=2)
        answers = http.together([lambda b=f"b{i}": (b, self.server.buy_patiently(b, sale, quantity=3)) for i in range(40)], 32)
        self.assertEqual(sum(r.status == 202 for _, r in answers), 6)  # 18 units; 2 are left
        self.assert_answer(self.server.buy("late", sale, quantity=3), 409, "sold_out")
        self.assert_answer(self.server.buy("late", sale, quantity=2), 202, "admitted")
        self.assert_answer(self.server.buy("later", sale, quantity=1), 409, "sold_out")
        self.check_at_quiet(sale)

    def test_P8_a_returned_unit_is_on_sale_again(self):
        sale = self.server.sale(total=16, lanes=2)
        won = [(b, r.json["ticket"]) for b, r in self.crowd(sale, 60) if r.status == 202]
        self.assertEqual(len(won), 16)
        self.assert_answer(self.server.buy("later", sale), 409, "sold_out")
        buyer, ticket = won[0]
        self.assertEqual(self.server.cancel(buyer, ticket).status, 200)
        back = http.eventually(lambda: self.server.buy("later", sale).status == 202, within=3)
        self.assertTrue(back, "a unit that came back is sold within the second that sold_out may be stale")
        self.check_at_quiet(sale)


class Repeats(Scenario):
    options = WIDE

    def test_FS_04_repeats_of_one_buyer_do_not_burn_stock(self):
        sale = self.server.sale(total=100)
        answers = http.together([lambda: self.server.buy("u1", sale) for _ in range(200)], threads=50)
        self.assertEqual(self.reasons(answers), {"admitted": 1, "limit_reached": 199})
        others = http.together([lambda b=f"o{i}": self.server.buy_patiently(b, sale) for i in range(99)], 32)
        self.assertEqual(self.reasons(others), {"admitted": 99})
        self.assert_answer(self.server.buy("one-too-many", sale), 409, "sold_out")
        self.check_at_quiet(sale)

    def test_FS_05_same_request_id_is_one_ticket_and_other_ids_are_refused(self):
        sale = self.server.sale(total=10)
        request_id = str(uuid.uuid4())
        same = http.together([lambda: self.server.buy_patiently("u1", sale, request_id=request_id) for _ in range(20)])
        self.assertEqual({r.json["ticket"] for r in same}, {same[0].json["ticket"]})
        self.assertEqual(self.reasons(same)["admitted"], 1)
        self.assertEqual(self.reasons(same)["replayed"], 19)
        other = http.together([lambda: self.server.buy("u1", sale) for _ in range(20)])
        self.assertEqual(self.reasons(other), {"limit_reached": 20})
        self.assertEqual(other[0].json["tickets"][0]["ticket"], same[0].json["ticket"])
        self.check_at_quiet(sale, [("u1", same[0].json["ticket"])])

    def test_FS_05_limit_two_means_two_units(self):
        sale = self.server.sale(total=10, limit=2)
        answers = http.together([lambda q=q: self.server.buy("u2", sale, quantity=q) for q in (1, 2, 1, 2, 1, 1, 2, 1)])
        units = sum(order["units"] for order in self.server.orders("u2", sale))
        self.assertLessEqual(units, 2)
        self.assertGreaterEqual(units, 1)
        self.assertEqual(self.reasons(answers)["admitted"], len(self.server.orders("u2", sale)))
        self.check_at_quiet(sale)

    def test_FS_61_baskets_and_repeated_fields_are_refused(self):
        sale = self.server.sale(total=5, limit=5)
        bodies = [b'{"quantity":1,"quantity":5}', b'[{"quantity":1},{"quantity":1}]', b'{"items":[{"sku":"sku1","quantity":5}]}',
                  b'{"quantity":[1,1]}', b'{"quantity":{"sku1":1}}', b'{"quantity":1,"fields":{"a":"x","a":"y"}}']
        for body in bodies:
            self.assertEqual(self.server.buy("u3", sale, body=body).status, 400, body)
        self.assertEqual(self.server.show(sale)["items"][0]["stock"]["lanes"][0]["held"], 0)
        self.check_at_quiet(sale)


class Restart(Scenario):
    options = WIDE

    def test_FS_03_a_restart_remembers_what_was_taken(self):
        sale = self.server.sale(total=100)
        other = self.server.sale(total=50)
        self.server.buy_patiently("x", other)
        first = http.together([lambda b=f"a{i}": (b, self.server.buy_patiently(b, sale)) for i in range(40)], 16)
        won = [(b, r.json["ticket"]) for b, r in first if r.status == 202]
        self.assertEqual(len(won), 40)
        self.server.restart()
        self.server.command(sale, "preload")  # preloading again must not add or reset anything
        stock = self.server.show(sale)["items"][0]["stock"]
        self.assertEqual(sum(lane["available"] for lane in stock["lanes"]), 60)
        second = http.together([lambda b=f"b{i}": (b, self.server.buy_patiently(b, sale)) for i in range(200)], 32)
        self.assertEqual(sum(r.status == 202 for _, r in second), 60)
        self.check_at_quiet(sale, won)
        self.check_at_quiet(other)

    def test_FS_21_a_new_run_of_the_same_item_starts_clean(self):
        first = self.server.sale(total=1)
        self.assert_answer(self.server.buy("u1", first), 202, "admitted")
        self.assert_answer(self.server.buy("u2", first), 409, "sold_out")
        self.server.command(first, "close")
        second = self.server.sale(total=1)
        self.assert_answer(self.server.buy("u1", first), 409, "ended")
        self.assert_answer(self.server.buy("u1", second), 202, "admitted")


if __name__ == "__main__":
    unittest.main()
