"""Nodes of ours killed, paused and restarted in mid-sale."""

import time
import uuid

from harness.case import ClusterScenario, short
from harness.crowd import Crowd
from lib import http


class Nodes(ClusterScenario):
    @short
    def test_FS_03_killed_and_restarted_nodes_keep_the_live_stock(self):
        sale = self.front.sale(total=60)
        other = self.front.sale(total=30)
        self.buy_all(self.buyers(5), other)
        first = self.buy_all(self.buyers(24), sale, through=self.both())
        self.assertEqual(len(self.admitted(first)), 24, self.reasons(first))
        self.cluster.node("api-1").restart()
        for node in (*self.cluster.apis(), *self.cluster.workers()):
            node.kill()
        for node in (*self.cluster.apis(), *self.cluster.workers()):  # all at the same instant
            node.start(wait=False)
        self.cluster.wait_all_ready()
        second = self.buy_all(self.buyers(80), sale, through=self.both())
        reasons = self.reasons(second)
        self.assertEqual((reasons["admitted"], reasons["sold_out"]), (36, 44), reasons)
        self.check_at_quiet(sale)
        self.check_at_quiet(other)
        self.assertEqual(self.cluster.number("SELECT SUM(available) FROM lane_stock l JOIN sale_item i USING (item_id) "
                                             f"WHERE i.sale = '{other}'"), 25)

    @short
    def test_an_api_node_killed_in_mid_sale_loses_nothing_it_promised(self):
        sale = self.front.sale(total=150)
        crowd = Crowd(self, sale, self.both(), self.buyers(260))
        crowd.wait_for(40)
        self.cluster.node("api-1").kill()
        crowd.wait_for(120)
        self.cluster.node("api-1").start()
        pairs = crowd.finish()
        reasons = self.reasons(pairs)
        self.assertEqual(len(self.admitted(pairs)), 150, reasons)
        self.assertEqual(reasons["sold_out"], 110, reasons)
        self.check_at_quiet(sale)

    def test_an_api_node_paused_in_mid_sale_answers_again_and_nothing_doubles(self):
        sale = self.front.sale(total=100)
        crowd = Crowd(self, sale, [self.front], self.buyers(160))
        crowd.wait_for(20)
        self.cluster.node("api-1").pause()
        time.sleep(6)
        self.cluster.node("api-1").resume()
        pairs = crowd.finish()
        self.assertEqual(len(self.admitted(pairs)), 100, self.reasons(pairs))
        self.check_at_quiet(sale)

    @short
    def test_FS_63_the_same_request_on_the_other_node_is_the_same_ticket(self):
        """The proxy does not repeat a purchase; the page does, and any node gives the ticket the first one made."""
        sale = self.front.sale(total=16)
        one, two = self.both()
        for buyer in self.buyers(6):
            request = str(uuid.uuid4())
            first = one.buy_patiently(buyer, sale, request_id=request)
            self.remember(sale, [(buyer, first)])
            again = two.buy_patiently(buyer, sale, request_id=request)
            self.assertEqual((again.status, again.json["ticket"]), (200, first.json["ticket"]), again)
        request = str(uuid.uuid4())
        self.cluster.node("api-1").pause()
        try:
            lost = http.together([lambda: self._lost_answer(one, "stalled", sale, request)])[0]
            self.assertIsInstance(lost, Exception)
            second = two.buy_patiently("stalled", sale, request_id=request)
            self.assertIn(second.status, (200, 202), second)
        finally:
            self.cluster.node("api-1").resume()
        third = one.buy_patiently("stalled", sale, request_id=request)
        self.assertEqual(third.json["ticket"], second.json["ticket"])
        self.remember(sale, [("stalled", second), ("stalled", third)])
        self.check_at_quiet(sale)
        self.assertEqual(self.cluster.number("SELECT COUNT(*) FROM seckill_order o JOIN sale_item i USING (item_id) "
                                             f"WHERE i.sale = '{sale}'"), 7)

    def _lost_answer(self, client, buyer, sale, request):
        """Sent to a node that has stopped: the answer does not come in time, and the work happens later."""
        connection = http.Connection(client.port, timeout=2)
        try:
            return client.buy(buyer, sale, request_id=request, connection=connection)
        finally:
            connection.close()

    def test_FS_63_nginx_does_not_repeat_a_purchase(self):
        """A node that stalls with a purchase in hand: nginx answers busy, and no other node was asked."""
        sale = self.front.sale(total=16)
        paused = self.cluster.node("api-1")
        paused.pause()
        try:
            answers = self.buy_all(self.buyers(12), sale, patient=False)
        finally:
            paused.resume()
        stalled = [(buyer, answer) for buyer, answer in answers if not isinstance(answer, Exception) and answer.status == 503]
        self.assertTrue(stalled, f"no buyer was led to the stalled node: {self.reasons(answers)}")
        for _, answer in stalled:
            self.assertEqual(answer.json["reason"], "busy")
            self.assertIn("retry-after", answer.headers)
        http.eventually(paused.is_ready, within=30)
        self.checks.wait_quiet(sale, 60)
        orders = self.cluster.number(f"SELECT COUNT(*) FROM seckill_order o JOIN sale_item i USING (item_id) WHERE i.sale = '{sale}'")
        self.assertLessEqual(orders, 12, "a purchase was made twice")
        self.check_at_quiet(sale)

    def test_a_node_that_is_told_to_stop_finishes_what_it_took(self):
        sale = self.front.sale(total=80)
        crowd = Crowd(self, sale, self.both(), self.buyers(120))
        crowd.wait_for(20)
        for name in ("api-2", "worker-1"):
            node = self.cluster.node(name)
            node.terminate()
            node.start()
        pairs = crowd.finish()
        self.assertEqual(len(self.admitted(pairs)), 80, self.reasons(pairs))
        self.check_at_quiet(sale)


class Workers(ClusterScenario):
    @short
    def test_FS_10_FS_28_workers_killed_again_and_again_land_every_order_once(self):
        sale = self.front.sale(total=300)
        crowd = Crowd(self, sale, self.both(), self.buyers(300))
        for round_ in range(4):
            crowd.wait_for(30 * (round_ + 1))
            worker = self.cluster.node(f"worker-{round_ % 2 + 1}")
            worker.kill()
            worker.start(wait=False)
        self.cluster.wait_all_ready()
        pairs = crowd.finish()
        self.assertEqual(len(self.admitted(pairs)), 300, self.reasons(pairs))
        self.check_at_quiet(sale)
        self.assertEqual(self.cluster.number("SELECT COUNT(*) FROM seckill_order o JOIN sale_item i USING (item_id) "
                                             f"WHERE i.sale = '{sale}'"), 300)

    def test_FS_28_without_any_worker_tickets_wait_and_land_when_one_comes_back(self):
        sale = self.front.sale(total=60)
        for worker in self.cluster.workers():
            worker.terminate()
        pairs = self.buy_all(self.buyers(60), sale, through=self.both())
        self.assertEqual(len(self.admitted(pairs)), 60, self.reasons(pairs))
        buyer, answer = pairs[0]
        ticket = answer.json["ticket"]  # 503, not "no record", is fine for a moment; then it is told as it is
        self.assertEqual(http.eventually(lambda: self.state(buyer, sale, ticket), within=30), "queued")
        for worker in self.cluster.workers():
            worker.start()
        self.wait_ordered(sale, pairs)
        self.check_at_quiet(sale)

    def test_a_paused_workers_partitions_go_to_another_and_nothing_lands_twice(self):
        sale = self.front.sale(total=80)
        worker = self.cluster.node("worker-1")
        worker.pause()
        try:
            pairs = self.buy_all(self.buyers(80), sale, through=self.both())
            self.assertEqual(len(self.admitted(pairs)), 80, self.reasons(pairs))
            self.wait_ordered(sale, pairs, within=90)
        finally:
            worker.resume()
        self.check_at_quiet(sale)
