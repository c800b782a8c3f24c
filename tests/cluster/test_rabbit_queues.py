"""Queues that are deleted, purged, full or declared otherwise in mid-sale: nothing acknowledged is lost, and they come back."""

import threading
import time

from harness.case import short
from harness.checks import AWAITING, EXPIRED
from harness.crowd import Crowd
from harness.rabbit_faults import PARTITIONS, RabbitScenario
from lib import http


class Queues(RabbitScenario):
    def each_queue(self, how, holding=1):
        """Deletes or purges every queue of intents with at least so many messages; how many messages were seen in them."""
        seen = 0
        with self.hand() as broker:
            for name in map(self.intents_queue, range(PARTITIONS)):
                state = broker.state(name)
                if state and state[0] >= holding:
                    seen += state[0]
                    getattr(broker, how)(name)
        return seen

    def test_FS_16_queues_deleted_in_mid_sale_come_back_and_nothing_acknowledged_is_lost(self):
        sale = self.front.sale(total=200)
        self.stop_workers()  # so that there are messages to lose
        crowd = Crowd(self, sale, self.both(), self.buyers(260), threads=6, within=150)
        crowd.wait_for(60)
        lost = self.each_queue("delete")
        self.assertGreater(lost, 0, "nothing was in the queues: the test proves nothing")
        self.start_workers()
        crowd.wait_for(120, within=90)
        self.each_queue("delete", holding=0)  # also those that are being consumed
        begun = time.monotonic()
        pairs = crowd.finish()
        reasons = self.reasons(pairs)
        self.assertEqual((len(self.admitted(pairs)), reasons["sold_out"]), (200, 60), reasons)
        self.wait_ordered(sale, self.admitted(pairs), within=120)
        self.say(f"{lost} messages deleted; everyone has an order {time.monotonic() - begun:.1f} s after the last deletion")
        self.wait_broker_used()
        self.check_at_quiet(sale)

    @short
    def test_FS_26_queues_purged_in_mid_sale_are_made_good_from_the_marks(self):
        sale = self.front.sale(total=150)
        other = self.front.sale(total=20)
        self.wait_ordered(other, self.buy_all(self.buyers(10), other, through=self.both()))
        self.stop_workers()
        crowd = Crowd(self, sale, self.both(), self.buyers(150), threads=6, within=150)
        crowd.wait_for(40)
        purged = self.each_queue("purge")
        self.assertGreater(purged, 0, "nothing was in the queues: the test proves nothing")
        begun = time.monotonic()
        self.start_workers()
        pairs = crowd.finish()
        self.assertEqual(len(self.admitted(pairs)), 150, self.reasons(pairs))
        self.wait_ordered(sale, pairs, within=120)
        self.say(f"{purged} messages purged; everyone has an order {time.monotonic() - begun:.1f} s later")
        self.assertEqual(self.orders(sale), 150)
        self.assertEqual(self.orders(other), 10)
        self.check_at_quiet(sale)
        self.check_at_quiet(other)

    def test_FS_58_full_queues_refuse_and_drop_nothing(self):
        sale = self.front.sale(total=160)
        self.stop_workers()
        limit = 3
        refused = self.refused()
        self.cluster.rabbitmqctl("set_policy", "short-queues", r"^seckill\.intents\.", f'{{"max-length":{limit}}}', "--apply-to", "queues")
        longest = []
        stop = threading.Event()

        def watch():
            while not stop.wait(0.3):
                longest.append(sum(self.ready().values()))
        watching = threading.Thread(target=watch, daemon=True)
        watching.start()
        try:
            pairs = self.buy_all(self.buyers(300), sale, through=self.both(), threads=8, patient=False)
            for _, answer in pairs:
                self.assertNotIsInstance(answer, Exception, answer)
                self.assertIn(answer.status, (202, 409, 503), answer)
            reasons = self.reasons(pairs)
            time.sleep(5)  # sweeps publish again all the time, against full queues
            self.assertGreater(self.refused(), refused, f"no queue was full: {reasons}, {longest}")
        finally:
            stop.set()
            watching.join()
            self.cluster.rabbitmqctl("clear_policy", "short-queues")
        self.say(f"{dict(reasons)}; at most {max(longest)} messages in all queues")
        self.assertLessEqual(max(longest), 160, "more messages than units on sale")
        self.start_workers()
        self.wait_ordered(sale, self.admitted(pairs), within=90)
        self.checks.wait_quiet(sale, 90)
        # Whoever was told busy may have a unit all the same; what is left goes to others, and then it is sold out.
        left = 160 - self.orders(sale)
        more = self.buy_all(self.buyers(left + 8), sale, through=self.both())
        reasons = self.reasons(more)
        self.assertEqual((len(self.admitted(more)), reasons["sold_out"]), (left, 8), reasons)
        self.check_at_quiet(sale)

    def refused(self):
        return sum(self.metric(node, 'seckill_publisher_messages_total{outcome="refused"}') for node in self.cluster.apis())

    def test_FS_52_a_changed_pay_window_starts_everywhere_and_old_orders_keep_theirs(self):
        first = self.front.sale(total=20, pay_window_ms=30_000)
        pairs = self.buy_all(self.buyers(10), first, through=self.both())
        self.wait_ordered(first, pairs)
        deadlines = self.deadlines(first)
        for window in (6_000, 30 * 86_400_000, 30_000):
            for node in (*self.cluster.apis(), *self.cluster.workers()):
                node.terminate()
                node.start(wait=False)
            self.cluster.wait_all_ready()
            sale = self.front.sale(total=20, pay_window_ms=window)
            some = self.buy_all(self.buyers(5), sale, through=self.both())
            self.assertEqual(len(self.admitted(some)), 5, self.reasons(some))
            self.wait_ordered(sale, some)
            for given, landed in self.deadlines(sale, "o.landed_at"):
                self.assertEqual(int(given) - int(landed), window)
            if window == 6_000:
                self.assertTrue(http.eventually(lambda: self.orders(sale, (EXPIRED,)) == 5, within=40), "new orders do not expire")
                self.check_at_quiet(sale)
        self.assertEqual(self.deadlines(first), deadlines, "the deadlines of old orders have changed")
        self.assertTrue(http.eventually(lambda: self.orders(first, (EXPIRED,)) == 10, within=60),
                        f"{self.orders(first, (AWAITING,))} old orders have no timer")
        self.check_at_quiet(first)

    def test_FS_52_a_bell_that_is_declared_otherwise_is_done_without(self):
        """Its name is taken by a queue with other settings: nodes start, orders land and expire, and it comes back when that is gone."""
        with self.hand() as broker:
            broker.delete("seckill.bell")
            broker.declare("seckill.bell", {"x-max-length": 7, "x-message-ttl": 1})
        for node in (*self.cluster.apis(), *self.cluster.workers()):
            node.terminate()
            node.start(wait=False)
        self.cluster.wait_all_ready()
        self.wait_broker_used()
        sale = self.front.sale(total=20, pay_window_ms=6_000)
        pairs = self.buy_all(self.buyers(20), sale, through=self.both())
        self.assertEqual(len(self.admitted(pairs)), 20, self.reasons(pairs))
        self.assertTrue(http.eventually(lambda: self.orders(sale, (EXPIRED,)) == 20, within=60), "orders do not expire without a bell")
        self.check_at_quiet(sale)
        with self.hand() as broker:
            broker.delete("seckill.bell")
        self.assertTrue(http.eventually(lambda: self.state_of("seckill.bell"), within=90), "the bell is not declared again")

    def deadlines(self, sale, more="o.ticket"):
        text = "HEX(o.ticket)" if more == "o.ticket" else more
        return self.cluster.sql(f"SELECT o.pay_before, {text} FROM seckill_order o JOIN sale_item i USING (item_id) "
                                f"WHERE i.sale = '{sale}' ORDER BY o.order_id")
