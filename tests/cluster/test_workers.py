"""Workers that die, stall, come and go while orders land: each order lands once, whoever lands it."""

import collections
import random
import time

from harness.crowd import Crowd
from harness.database import Session
from harness.rabbit_faults import PARTITIONS, RabbitScenario
from lib import http

RESIDENT_MORE_MIB_MAX = 64
POOLS = 4 + 2 + 2  # connections of one node: landing and ends, reads, operating


class Workers(RabbitScenario):
    def setUp(self):
        super().setUp()
        self.random = random.Random(20261111)

    def shares(self):
        """How many partitions each connection consumes, largest first."""
        listed = self.cluster.rabbitmqctl("--quiet", "--no-table-headers", "list_channels", "pid", "connection").splitlines()
        connection_of = dict(line.split() for line in listed if line.strip())
        lines = self.cluster.rabbitmqctl("--quiet", "--no-table-headers", "list_consumers", "queue_name", "channel_pid").splitlines()
        pairs = [line.split() for line in lines if line.startswith("seckill.intents.")]
        return sorted(collections.Counter(connection_of.get(channel, channel) for _, channel in pairs).values(), reverse=True)

    def wait_shared(self, connections):
        """Until so many connections have their share of all partitions; how long that took."""
        begun = time.monotonic()

        def shared():
            shares = self.shares()
            return len(shares) == connections and sum(shares) == PARTITIONS and shares[0] - shares[-1] <= 1
        self.assertTrue(http.eventually(shared, within=60, every=0.5), f"{self.shares()} for {connections} connections")
        return time.monotonic() - begun

    def resident_kib(self, node):
        with open(f"/proc/{node.pid}/status", encoding="utf-8") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))

    def landed_by(self, node):
        return int(self.metric(node, "seckill_landing_orders_total"))

    def test_FS_10_FS_28_workers_killed_at_random_moments_of_a_landing_land_each_order_once(self):
        sale = self.front.sale(total=500)
        self.stop_workers()
        pairs = self.buy_all(self.buyers(300), sale, through=self.both())
        self.assertEqual(len(self.admitted(pairs)), 300, self.reasons(pairs))
        crowd = Crowd(self, sale, self.both(), self.buyers(200), threads=4, within=180)
        deaths = 0
        for round_ in range(8):
            worker = self.cluster.node(f"worker-{round_ % 2 + 1}")
            worker.start(wait=False)
            # From 50 to 500 ms after it has begun to take messages, or nothing is left.
            http.eventually(lambda: self.takes(worker) or not self.waiting(), within=30, every=0.02)
            time.sleep(self.random.uniform(0.05, 0.5))
            worker.kill()
            deaths += 1
        self.start_workers()
        more = crowd.finish()
        self.assertEqual(len(self.admitted(more)), 200, self.reasons(more))
        self.wait_settled()
        self.wait_ordered(sale, pairs)
        self.say(f"500 orders, {deaths} deaths")
        self.assertEqual(self.orders(sale), 500)
        self.assertEqual(self.cluster.number(f"SELECT SUM(held) FROM lane_stock JOIN sale_item USING (item_id) WHERE sale = '{sale}'"), 500)
        self.check_at_quiet(sale)

    def takes(self, worker):
        try:
            return self.metric(worker, 'seckill_source_messages_total{kind="received"}') > 0
        except (OSError, http.Closed, AttributeError):
            return False

    def test_FS_28_a_worker_told_to_stop_or_killed_with_messages_in_hand_gives_them_back(self):
        """The database stands still, so that the worker has taken messages and can land none."""
        sale = self.front.sale(total=200)
        self.stop_workers()
        pairs = self.buy_all(self.buyers(200), sale, through=self.both())
        self.assertEqual(len(self.admitted(pairs)), 200, self.reasons(pairs))
        worker = self.cluster.node("worker-1")
        item = self.checks.items(sale)[0]["id"]
        with Session(self.cluster) as session:
            session.run(f"START TRANSACTION; SELECT COUNT(*) FROM lane_stock WHERE item_id = {item} FOR UPDATE;")
            for stop, words in ((worker.terminate, "told to stop"), (worker.kill, "killed")):
                worker.start()
                self.assertTrue(http.eventually(lambda: self.takes(worker), within=30, every=0.1), "the worker takes nothing")
                begun = time.monotonic()
                stop()
                self.say(f"{words} with messages in hand: ended after {time.monotonic() - begun:.1f} s")
                self.assertTrue(http.eventually(lambda: sum(self.ready().values()) == sum(self.waiting().values()) > 0, within=30),
                                f"not given back: {self.ready()} of {self.waiting()}")
            session.run("ROLLBACK;")
        self.start_workers()
        self.wait_ordered(sale, pairs)
        self.assertEqual(self.orders(sale), 200)
        self.check_at_quiet(sale)

    def test_FS_10_a_landing_slower_than_the_brokers_patience_is_delivered_again_and_lands_once(self):
        """Held up for longer than heartbeats and consumer_timeout: the broker takes the messages back, and consumers recover."""
        sale = self.front.sale(total=80)
        self.cluster.rabbitmqctl("eval", "application:set_env(rabbit, consumer_timeout, 6000).")
        self.cluster.rabbitmqctl("eval", "application:set_env(rabbit, channel_tick_interval, 1000).")
        try:
            for worker in self.cluster.workers():
                worker.restart()
            self.wait_broker_used()
            item = self.checks.items(sale)[0]["id"]
            with Session(self.cluster) as session:
                session.run(f"START TRANSACTION; SELECT COUNT(*) FROM lane_stock WHERE item_id = {item} FOR UPDATE;")
                crowd = Crowd(self, sale, self.both(), self.buyers(60), threads=6, within=150)
                crowd.wait_for(40)
                time.sleep(25)
                session.run("ROLLBACK;")
            begun = time.monotonic()
            pairs = crowd.finish()
            self.assertEqual(len(self.admitted(pairs)), 60, self.reasons(pairs))
            self.wait_ordered(sale, pairs)
            self.say(f"all landed {time.monotonic() - begun:.1f} s after the database went on")
        finally:
            self.cluster.rabbitmqctl("eval", "application:set_env(rabbit, consumer_timeout, 1800000).")
            self.cluster.rabbitmqctl("eval", "application:set_env(rabbit, channel_tick_interval, 60000).")
        self.wait_broker_used()
        self.assertEqual(self.orders(sale), 60)
        self.check_at_quiet(sale)

    def test_FS_71_a_backlog_spreads_from_one_worker_to_three_and_back_and_none_takes_it_all_into_memory(self):
        sale = self.front.sale(total=2000)  # no lane runs empty: it would have to ask the database for more
        other = self.cluster.node("worker-2")
        other.terminate()
        self.say(f"two connections have all partitions after {self.wait_shared(2):.1f} s")
        one = self.cluster.node("worker-1")
        self.cluster.machine.define_node("worker-3", "worker")
        third = self.cluster.node("worker-3")
        self.addCleanup(third.kill)
        item = self.checks.items(sale)[0]["id"]
        with Session(self.cluster) as session:
            session.run(f"START TRANSACTION; SELECT COUNT(*) FROM lane_stock WHERE item_id = {item} FOR UPDATE;")
            before, connections = self.resident_kib(one), self.connections()
            pairs = self.buy_all(self.buyers(300), sale, through=self.both())
            self.assertEqual(len(self.admitted(pairs)), 300, self.reasons(pairs))
            time.sleep(3)
            in_hand = sum(self.waiting().values()) - sum(self.ready().values())
            more_mib = (self.resident_kib(one) - before) / 1024
            self.say(f"{in_hand} messages in hand of {sum(self.waiting().values())}; {more_mib:.0f} MiB more")
            self.assertLessEqual(in_hand, 2 * 32 + PARTITIONS, "more than the prefetch")
            self.assertLess(more_mib, RESIDENT_MORE_MIB_MAX)
            session.run("ROLLBACK;")
        other.start()
        third.start()
        self.say(f"six connections share after {self.wait_shared(6):.1f} s")
        more = self.buy_all(self.buyers(200), sale, through=self.both(), threads=8)
        self.assertEqual(len(self.admitted(more)), 200, self.reasons(more))
        self.wait_ordered(sale, pairs + more)
        self.assertLessEqual(self.connections() - connections, 2 * POOLS, "more connections to the database than the pools have")
        landed = {node.name: self.landed_by(node) for node in (one, other, third)}
        self.say(f"orders landed by {landed}")
        self.assertGreater(min(landed["worker-2"], landed["worker-3"]), 0, landed)
        crowd = Crowd(self, sale, self.both(), self.buyers(100), threads=4, within=120)
        crowd.wait_for(20)
        third.terminate()
        other.kill()
        self.say(f"one worker has them all {self.wait_shared(2):.1f} s after the others went")
        more = crowd.finish()
        self.assertEqual(len(self.admitted(more)), 100, self.reasons(more))
        self.wait_ordered(sale, more)
        other.start()
        self.wait_shared(4)
        self.assertEqual(self.orders(sale), 600)
        self.check_at_quiet(sale)

    def connections(self):
        return self.cluster.number("SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'seckill'")

    def test_a_worker_paused_in_mid_landing_keeps_neither_its_partitions_nor_its_rows(self):
        """Stopped with the rows of its lanes locked: the database ends its transaction, another worker lands its orders."""
        sale = self.front.sale(total=2000)  # no lane runs empty
        item = self.checks.items(sale)[0]["id"]
        worker = self.cluster.node("worker-1")
        with Session(self.cluster) as session:
            session.run(f"START TRANSACTION; SELECT COUNT(*) FROM lane_stock WHERE item_id = {item} FOR UPDATE;")
            first = self.buy_all(self.buyers(100), sale, through=self.both(), threads=8)
            self.assertEqual(len(self.admitted(first)), 100, self.reasons(first))
            self.assertTrue(http.eventually(lambda: self.takes(worker), within=30, every=0.1), "the worker takes nothing")
            time.sleep(1)  # both wait for the rows by now
            worker.pause()
            session.run("ROLLBACK;")  # and the stopped one gets its own
        try:
            begun = time.monotonic()
            crowd = Crowd(self, sale, self.both(), self.buyers(100), threads=8, within=120)
            pairs = crowd.finish()
            self.assertEqual(len(self.admitted(pairs)), 100, self.reasons(pairs))
            self.wait_ordered(sale, first + pairs, within=90)
            self.say(f"everyone has an order {time.monotonic() - begun:.1f} s after the pause began")
        finally:
            worker.resume()
        self.wait_shared(4)
        self.assertEqual(self.orders(sale), 200)
        self.check_at_quiet(sale)
