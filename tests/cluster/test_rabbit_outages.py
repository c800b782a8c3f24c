"""A broker that is killed, restarted, paused, emptied, in an alarm, or one of three, while buyers buy and orders wait for payment."""

import collections
import time

from harness.case import short
from harness.checks import AWAITING, EXPIRED
from harness.crowd import Crowd
from harness.rabbit_faults import BROKER, PARKED, PARTITIONS, RabbitScenario
from lib import http


class Restarts(RabbitScenario):
    def test_FS_11_a_broker_restarted_again_and_again_is_used_again_each_time_by_itself(self):
        sale = self.front.sale(total=160)
        crowd = Crowd(self, sale, self.both(), self.buyers(100), threads=6, within=150)
        for down, words in ((0, "killed"), (6, "killed, 6 s down")):
            crowd.wait_for(min(crowd.done + 15, 95), within=90)
            self.cluster.engine(BROKER).kill()
            time.sleep(down)
            self.cluster.start_engine(BROKER)
            self.say(f"{words}: used again {self.wait_broker_used():.1f} s after it was back")
        pairs = crowd.finish()
        self.assertEqual(len(self.admitted(pairs)), 100, self.reasons(pairs))
        self.wait_settled()
        # Nobody buys: nodes sit idle, and must be there when the next buyer comes.
        self.cluster.restart_engine(BROKER, down=20)
        self.say(f"stopped, 20 s down without a buyer: used again {self.wait_broker_used():.1f} s after it was back")
        self.cluster.rabbitmqctl("close_all_connections", "a test")
        self.say(f"connections closed by the operator: used again after {self.wait_broker_used():.1f} s")
        more = self.buy_all(self.buyers(60), sale, through=self.both())
        self.assertEqual(len(self.admitted(more)), 60, self.reasons(more))
        self.wait_ordered(sale, more)
        self.one_subscription_each()
        self.check_at_quiet(sale)

    def one_subscription_each(self):
        """One consumer a partition, with the prefetch that it had."""
        lines = self.cluster.rabbitmqctl("--quiet", "--no-table-headers", "list_consumers", "queue_name", "active",
                                         "prefetch_count").splitlines()
        rows = [line.split() for line in lines if line.startswith("seckill.intents.")]
        self.assertEqual(len(rows), PARTITIONS, rows)
        self.assertEqual(len({name for name, *_ in rows}), PARTITIONS, rows)
        for name, *told in rows:
            self.assertIn("true", told, name)
            self.assertTrue(any(text.isdigit() and 1 <= int(text) <= 32 for text in told), (name, told))

    def test_FS_26_every_queue_keeps_its_messages_over_a_stop_and_a_kill(self):
        sale = self.front.sale(total=60)
        self.empty_parked()
        self.stop_workers()
        pairs = self.buy_all(self.buyers(30), sale, through=self.both())
        with self.hand() as broker:
            # One buyer's intent is put off, and one message was parked.
            queue = min(self.ready())
            for message in broker.look(queue, take=True):
                broker.publish(queue.replace(".intents.", ".retry.10000."), message.body)
            broker.publish(PARKED, b"kept for a person")
        before = self.ready()
        self.cluster.restart_engine(BROKER)
        self.wait_publishing()
        after = self.ready()
        for name, count in before.items():
            self.assertGreaterEqual(after.get(name, 0), count, (before, after))
        pairs += self.buy_all(self.buyers(30), sale, through=self.both())
        self.assertEqual(len(self.admitted(pairs)), 60, self.reasons(pairs))
        self.cluster.engine(BROKER).kill()
        self.cluster.start_engine(BROKER)
        self.wait_publishing()
        self.start_workers()
        self.wait_ordered(sale, pairs)
        self.assertEqual(self.orders(sale), 60)
        self.assertEqual([body for body, _ in self.parked()], [b"kept for a person"])
        self.empty_parked()
        self.check_at_quiet(sale)

    def wait_publishing(self):
        self.assertTrue(http.eventually(
            lambda: all("seckill_publisher_accepting 1" in node.metrics() for node in self.cluster.apis()), within=60))

    def test_a_paused_broker_makes_buyers_wait_and_all_goes_on_when_it_wakes_up(self):
        sale = self.front.sale(total=120)
        crowd = Crowd(self, sale, self.both(), self.buyers(180), threads=12, within=150)
        crowd.wait_for(30)
        broker = self.cluster.engine(BROKER)
        broker.pause()
        try:
            time.sleep(15)
            done = crowd.done
            begun = time.monotonic()
            self.assertTrue(http.eventually(lambda: not any(node.is_ready() for node in self.cluster.apis()), within=60),
                            "a node without a broker says that it is ready")
            self.say(f"told by readiness after {15 + time.monotonic() - begun:.1f} s")
            self.assertEqual(self.front.get(f"/api/v1/sales/{sale}").status, 200)
        finally:
            broker.resume()
        self.say(f"used again {self.wait_broker_used():.1f} s after it woke up; {done} buyers were answered before")
        pairs = crowd.finish()
        reasons = self.reasons(pairs)
        self.assertEqual((len(self.admitted(pairs)), reasons["sold_out"]), (120, 60), reasons)
        self.check_at_quiet(sale)


class Alarm(RabbitScenario):
    def test_FS_27_in_an_alarm_every_buyer_is_answered_and_all_recovers_without_a_restart(self):
        sale = self.front.sale(total=260)
        first = self.buy_all(self.buyers(20), sale, through=self.both())
        self.wait_ordered(sale, first)
        self.cluster.rabbitmqctl("set_vm_memory_high_watermark", "absolute", "1MB")
        waits = []

        def timed(client, buyer):
            begun = time.monotonic()
            answer = client.buy(buyer, sale)
            waits.append(time.monotonic() - begun)
            return answer
        try:
            jobs = [lambda i=i, buyer=buyer: timed(self.both()[i % 2], buyer) for i, buyer in enumerate(self.buyers(200))]
            answers = http.together(jobs, 50)
            for answer in answers:
                self.assertNotIsInstance(answer, Exception, f"a request hung: {answer}")
                self.assertIn(answer.status, (202, 503), answer)
            self.say(f"200 buyers in an alarm: {dict(collections.Counter(a.json['reason'] for a in answers))}, "
                     f"the longest wait {max(waits):.1f} s")
            self.assertTrue(http.eventually(lambda: not any(node.is_ready() for node in self.cluster.apis()), within=30),
                            "nodes say that they are ready in an alarm")
            buyer, answer = first[0]
            self.assertEqual(self.front.outcome(buyer, sale, answer.json["ticket"]).status, 200)
            self.assertEqual(len(self.front.orders(buyer, sale)), 1)
            self.assertEqual(self.front.pay(buyer, answer.json["ticket"]).status, 200)
            self.assertEqual(self.front.show(sale)["id"], sale)
        finally:
            self.cluster.rabbitmqctl("set_vm_memory_high_watermark", "absolute", "1GB")
        self.say(f"used again {self.wait_broker_used():.1f} s after the alarm")
        # Whoever was told busy may hold a unit all the same: everything the sale has goes to somebody, once.
        self.checks.wait_quiet(sale, 90)
        left = self.checks.items(sale)[0]["total"] - self.orders(sale)
        more = self.buy_all(self.buyers(left + 10), sale, through=self.both())
        reasons = self.reasons(more)
        self.assertEqual((len(self.admitted(more)), reasons["sold_out"]), (left, 10), reasons)
        self.check_at_quiet(sale)
        self.assertEqual(self.orders(sale), 260)


class Deadlines(RabbitScenario):
    def wait_bell(self, queue, within=60):
        self.assertTrue(http.eventually(lambda: self.state_of(queue), within=within, every=0.3), f"there is no {queue}")

    def lags(self, sale):
        """How long after its deadline each expired order ended, in seconds."""
        rows = self.cluster.sql(f"SELECT o.ended_at - o.pay_before FROM seckill_order o JOIN sale_item i USING (item_id) "
                                f"WHERE i.sale = '{sale}' AND o.state = {EXPIRED}")
        return [int(row[0]) / 1000 for row in rows]

    def wait_expired(self, sale, count, within):
        self.assertTrue(http.eventually(lambda: self.orders(sale, (EXPIRED,)) == count, within=within, every=0.3),
                        f"{self.orders(sale, (EXPIRED,))} of {count} expired, {self.orders(sale, (AWAITING,))} still wait for payment")
        lags = self.lags(sale)
        self.assertGreaterEqual(min(lags), 0, "an order expired before its deadline")
        self.say(f"{count} orders expired {min(lags):.1f} to {max(lags):.1f} s after their deadline")

    def test_FS_25_unpaid_orders_expire_although_every_timer_was_lost(self):
        short_sale = self.front.sale(total=40, pay_window_ms=40_000)
        long_sale = self.front.sale(total=20, pay_window_ms=80_000)
        kept = self.front.sale(total=10)
        pairs = {sale: self.buy_all(self.buyers(count), sale, through=self.both())
                 for sale, count in ((long_sale, 10), (short_sale, 20), (kept, 5))}
        self.wait_ordered(short_sale, pairs[short_sale][:1])
        buyer, answer = pairs[short_sale][0]
        self.assertEqual(self.front.pay(buyer, answer.json["ticket"]).status, 200)
        for sale, some in pairs.items():
            self.wait_ordered(sale, some)
        for queue in ("seckill.bell.after.40000", "seckill.bell.after.80000"):
            self.wait_bell(queue)
        self.kill_and_empty_broker()
        self.wait_expired(short_sale, 19, within=90)  # the broker is down: the sweep alone
        self.cluster.start_engine(BROKER)
        self.say(f"an emptied broker is used again {self.wait_broker_used():.1f} s after it was back")
        self.wait_expired(long_sale, 10, within=120)
        self.assertEqual(self.orders(kept, (AWAITING,)), 5)
        again = self.buy_all(self.buyers(45), short_sale, through=self.both())
        reasons = self.reasons(again)
        self.assertEqual((len(self.admitted(again)), reasons["sold_out"]), (39, 6), reasons)
        for sale in pairs:
            self.check_at_quiet(sale)

    def test_FS_25_the_bell_rings_and_without_its_queue_the_sweep_does(self):
        sale = self.front.sale(total=30, pay_window_ms=7_000)
        first = self.buy_all(self.buyers(10), sale, through=self.both())
        self.wait_ordered(sale, first)
        self.wait_expired(sale, 10, within=40)
        self.buy_all(self.buyers(10), sale, through=self.both())
        self.wait_bell("seckill.bell.after.7000")
        with self.hand() as broker:
            broker.purge("seckill.bell.after.7000")
        self.wait_expired(sale, 20, within=40)
        with self.hand() as broker:
            broker.delete("seckill.bell.after.7000")  # FS-16: the delay queue
            broker.delete("seckill.bell")
        last = self.buy_all(self.buyers(30), sale, through=self.both())
        self.assertEqual(len(self.admitted(last)), 30, self.reasons(last))
        self.wait_expired(sale, 50, within=60)
        self.wait_bell("seckill.bell", within=90)
        self.check_at_quiet(sale)

    def test_FS_25_windows_that_no_timer_can_keep_are_refused_when_the_sale_is_made(self):
        for window in (0, -1, 999, 60 * 86_400_000, 2**32, 2**63 - 1):
            now = int(time.time() * 1000)
            answer = self.front.admin("POST", "/admin/v1/sales", {
                "id": f"w-{now}", "title": "t", "kind": "goods", "currency": "CNY", "starts_at": now, "ends_at": now + 60_000,
                "items": [{"sku": "sku1", "title": "t", "price_minor": 1, "total": 8, "limit": 1, "pay_window_ms": window}]})
            self.assertIn(answer.status, (400, 422), (window, answer))


class OneOfThree(RabbitScenario):
    own_cluster = {"rabbit_nodes": 3}
    def leaders(self):
        """{node of RabbitMQ: partitions that it leads}."""
        lines = self.cluster.rabbitmqctl("--quiet", "--no-table-headers", "list_queues", "name", "pid").splitlines()
        return collections.Counter(line.split("<")[1].split("@")[0] for line in lines if line.startswith("seckill.intents."))

    def test_one_of_three_brokers_is_lost_for_good_and_buyers_go_on(self):
        sale = self.front.sale(total=200)
        crowd = Crowd(self, sale, self.both(), self.buyers(140), threads=8, within=150)
        crowd.wait_for(30)
        leaders = self.leaders()
        victim = leaders.most_common(1)[0][0].replace("rabbit-", "rabbitmq-")
        other = next(name for name in ("rabbitmq-1", "rabbitmq-2", "rabbitmq-3") if name != victim)
        self.broker = other
        self.cluster.broker_asked = other.replace("rabbitmq-", "rabbit-") + "@localhost"
        begun = time.monotonic()
        self.cluster.engine(victim).kill()
        self.say(f"{victim} led {leaders} and is gone; used again after {self.wait_broker_used():.1f} s")
        pairs = crowd.finish()
        self.assertEqual(len(self.admitted(pairs)), 140, self.reasons(pairs))
        self.wait_ordered(sale, pairs)
        self.say(f"everyone has an order {time.monotonic() - begun:.1f} s after the loss, with two brokers")
        crowd = Crowd(self, sale, self.both(), self.buyers(100), threads=4, within=150)
        crowd.wait_for(10)
        self.cluster.engine(victim).start()  # and comes back in mid-sale
        pairs = crowd.finish()
        reasons = self.reasons(pairs)
        self.assertEqual((len(self.admitted(pairs)), reasons["sold_out"]), (60, 40), reasons)
        self.cluster.start_engine(victim)
        self.wait_broker_used()
        self.check_at_quiet(sale)


class Synchronous(RabbitScenario):
    def switch(self, value, through):
        answer = self.cluster.at(through).admin("PUT", "/admin/v1/switches/synchronous_ordering", {"value": value, "why": "a test"})
        self.assertEqual(answer.status, 200, answer)

    @short
    def test_synchronous_ordering_is_switched_on_after_the_broker_died_and_off_after_it_is_back(self):
        """Also: with it on, buyers are ordered at once while what the dead broker had waits for its return and lands once."""
        sale = self.front.sale(total=200)
        for worker in self.cluster.workers():
            worker.pause()  # so that the broker dies with messages in it
        first = self.buy_all(self.buyers(20), sale, through=self.both())
        self.assertEqual(len(self.admitted(first)), 20, self.reasons(first))
        crowd = Crowd(self, sale, self.both(), self.buyers(230), threads=8, within=150)
        crowd.wait_for(20)
        self.cluster.engine(BROKER).kill()
        for worker in self.cluster.workers():
            worker.resume()
        self.assertTrue(http.eventually(lambda: not any(node.is_ready() for node in self.cluster.apis()), within=30))
        self.switch("on", "api-2")
        begun = time.monotonic()
        self.assertTrue(http.eventually(lambda: all(node.is_ready() for node in self.cluster.apis()), within=30))
        done = crowd.done
        crowd.wait_for(min(done + 60, 200), within=90)
        self.say(f"buyers are served without a broker; {crowd.done - done} of them {time.monotonic() - begun:.1f} s after the switch")
        self.cluster.start_engine(BROKER)
        self.wait_broker_used()
        self.switch("off", "api-1")
        pairs = crowd.finish()
        reasons = self.reasons(pairs)
        self.assertEqual((len(self.admitted(pairs)), reasons["sold_out"]), (180, 50), reasons)
        self.check_at_quiet(sale)
        self.assertEqual(self.orders(sale), 200)
