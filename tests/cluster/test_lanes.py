"""Stock and limits under many buyers at once, on two nodes and lanes of three Redis masters."""

import time
import uuid

from harness.case import ClusterScenario, short
from lib import http


class Stock(ClusterScenario):
    @short
    def test_FS_01_two_nodes_sell_the_last_units_once(self):
        for total, crowd in ((1, 120), (1, 120), (40, 300)):
            sale = self.front.sale(total=total)
            pairs = self.buy_all(self.buyers(crowd), sale, through=self.both())
            reasons = self.reasons(pairs)
            self.assertEqual(reasons["admitted"] + reasons["replayed"], total, reasons)
            self.assertEqual(reasons["sold_out"], crowd - total, reasons)
            self.check_at_quiet(sale)

    def test_FS_20_lanes_on_every_master_serve_their_buyers(self):
        sale = self.front.sale(total=96, lanes=12)
        masters = {self.cluster.redis.master_of(sale, "sku1", lane)[0] for lane in range(12)}
        self.assertGreater(len(masters), 1, "all lanes on one master: the test proves nothing")
        pairs = self.buy_all(self.buyers(200), sale, through=self.both())
        self.assertEqual(len(self.admitted(pairs)), 96, self.reasons(pairs))
        self.check_at_quiet(sale)

    @short
    def test_FS_04_one_buyers_many_clicks_take_one_unit(self):
        sale = self.front.sale(total=50)
        clients = self.both()
        clicks = http.together([lambda i=i: clients[i % 2].buy_patiently("greedy", sale) for i in range(200)], 50)
        self.remember(sale, [("greedy", click) for click in clicks])
        reasons = self.reasons([("greedy", click) for click in clicks])
        self.assertEqual((reasons["admitted"], reasons["limit_reached"]), (1, 199), reasons)
        others = self.buy_all(self.buyers(49), sale, through=clients)
        self.assertEqual(len(self.admitted(others)), 49, self.reasons(others))
        last = self.front.buy_patiently("the-51st", sale)
        self.assertEqual(last.json["reason"], "sold_out", last)
        self.check_at_quiet(sale)

    @short
    def test_FS_05_a_double_click_and_two_tabs_on_two_nodes_make_one_order(self):
        clients = self.both()
        for limit in (1, 2):
            sale = self.front.sale(total=16, limit=limit)
            request = str(uuid.uuid4())
            same = http.together([lambda i=i: clients[i % 2].buy_patiently("twice", sale, request_id=request) for i in range(20)])
            self.remember(sale, [("twice", answer) for answer in same])
            self.assertEqual({answer.json.get("ticket") for answer in same}, {same[0].json["ticket"]}, same)
            other = http.together([lambda i=i: clients[i % 2].buy_patiently("twice", sale) for i in range(20)])
            self.remember(sale, [("twice", answer) for answer in other])
            reasons = self.reasons([("twice", answer) for answer in other])
            self.assertEqual((reasons["admitted"], reasons["limit_reached"]), (limit - 1, 21 - limit), reasons)
            self.check_at_quiet(sale)

    def test_FS_68_names_that_differ_in_case_or_a_space_are_two_buyers(self):
        sale = self.front.sale(total=16)
        names = ["Max", "max", "max ", " max", "MAX"]
        pairs = self.buy_all(names, sale)
        self.assertEqual(len(self.admitted(pairs)), len(names), self.reasons(pairs))
        self.wait_ordered(sale, pairs)
        self.check_at_quiet(sale)

    def test_unpaid_units_return_when_their_window_ends_and_are_sold_again(self):
        sale = self.front.sale(total=8, pay_window_ms=3_000)
        first = self.buy_all(self.buyers(8), sale, through=self.both())
        self.assertEqual(len(self.admitted(first)), 8, self.reasons(first))
        held = [buyer for buyer, _ in first]
        paid, answer = first[0]
        self.wait_ordered(sale, first[:1])
        self.assertEqual(self.front.pay(paid, answer.json["ticket"]).status, 200)
        lanes = self.checks.items(sale)[0]
        free = http.eventually(lambda: sum(lane["available"] for lane in self.checks.lane_rows(lanes)) == 7, within=60, every=0.2)
        self.assertTrue(free, f"units of {held} did not come back")
        self.checks.wait_quiet(sale, 60)
        second = self.buy_all(self.buyers(7), sale, through=self.both())
        self.assertEqual(len(self.admitted(second)), 7, self.reasons(second))
        self.check_at_quiet(sale)

    def test_a_sale_opens_at_its_second_on_both_nodes(self):
        sale = self.front.sale(total=16, starts_in=4.0)
        early = [client.buy("early", sale) for client in self.both()]
        self.assertEqual([answer.json["reason"] for answer in early], ["not_started"] * 2, early)
        opens_at = self.cluster.number(f"SELECT starts_at FROM sale WHERE id = '{sale}'") / 1000
        http.eventually(lambda: time.time() > opens_at, within=10)
        pairs = self.buy_all(self.buyers(16), sale, through=self.both())
        self.assertEqual(len(self.admitted(pairs)), 16, self.reasons(pairs))
        self.check_at_quiet(sale)
