"""Engines killed, paused and restarted in mid-sale: buyers are told busy or lose nothing, and all recovers without a hand."""

import time

from harness.case import ClusterScenario, short
from harness.crowd import Crowd
from lib import http


class Redis(ClusterScenario):
    def test_FS_29_a_lost_master_is_followed_to_its_replica_and_its_lanes_are_rebuilt(self):
        sale = self.front.sale(total=160)
        victim, replicas = self.cluster.redis.master_of(sale, "sku1", 0)
        crowd = Crowd(self, sale, self.both(), self.buyers(240), threads=12, within=120)
        crowd.wait_for(40)
        killed_at = time.monotonic()
        self.cluster.engine(victim).kill()
        # A shard whose only replica became master takes no writes until it has a replica again: that is P5's price.
        promoted = http.eventually(lambda: self._master(sale) in replicas, within=60, every=0.2)
        self.assertTrue(promoted, f"{victim} was not replaced by {replicas}")
        print(f"promoted after {time.monotonic() - killed_at:.1f} s", flush=True)
        self.cluster.start_engine(victim)
        self.cluster.wait_redis_whole()
        pairs = crowd.finish()
        print(f"everyone answered after {time.monotonic() - killed_at:.1f} s", flush=True)
        self.assertEqual(len(self.admitted(pairs)), 160, self.reasons(pairs))
        self.check_at_quiet(sale)

    def _master(self, sale):
        try:
            return self.cluster.redis.master_of(sale, "sku1", 0)[0]
        except (OSError, AssertionError):
            return ""

    def test_FS_29_a_paused_master_recovers(self):
        sale = self.front.sale(total=120)
        victim, _ = self.cluster.redis.master_of(sale, "sku1", 0)
        crowd = Crowd(self, sale, self.both(), self.buyers(180), threads=12, within=120)
        crowd.wait_for(30)
        self.cluster.engine(victim).pause()
        time.sleep(8)
        self.cluster.engine(victim).resume()
        self.cluster.wait_redis_whole()
        pairs = crowd.finish()
        self.assertEqual(len(self.admitted(pairs)), 120, self.reasons(pairs))
        self.check_at_quiet(sale)

    def test_FS_07_all_of_redis_restarted_scripts_and_lanes_come_back(self):
        sale = self.front.sale(total=120)
        crowd = Crowd(self, sale, self.both(), self.buyers(180), threads=12, within=150)
        crowd.wait_for(30)
        for name in self.cluster.redis_names():
            self.cluster.engine(name).kill()
        for name in self.cluster.redis_names():
            self.cluster.start_engine(name)
        self.cluster.wait_redis_whole()
        pairs = crowd.finish()
        self.assertEqual(len(self.admitted(pairs)), 120, self.reasons(pairs))
        self.check_at_quiet(sale, within=120)

    def test_FS_07_forgotten_scripts_are_loaded_again(self):
        sale = self.front.sale(total=64)
        self.buy_all(self.buyers(16), sale, through=self.both())
        for name in self.cluster.redis_names():
            server = self.cluster.engine(name)
            self.cluster.redis.on(server, "SCRIPT", "FLUSH", "SYNC")
        pairs = self.buy_all(self.buyers(48), sale, through=self.both())
        self.assertEqual(len(self.admitted(pairs)), 48, self.reasons(pairs))
        self.check_at_quiet(sale)

    def test_FS_45_lost_keys_of_a_lane_never_read_as_no_buyer_yet(self):
        """Marks and stock deleted past the product: the lane is closed and rebuilt from the store, and nobody buys twice."""
        sale = self.front.sale(total=64)
        first = self.buy_all(self.buyers(30, prefix="again"), sale, through=self.both())
        self.assertEqual(len(self.admitted(first)), 30, self.reasons(first))
        self.wait_ordered(sale, first)
        self.checks.wait_quiet(sale, 60)
        for lane in range(self.checks.items(sale)[0]["lanes"]):
            key = self.cluster.redis.key(sale, "sku1", lane, "marks" if lane % 2 else "stock")
            self.cluster.redis.call(key, "DEL", key)
        second = self.buy_all([buyer for buyer, _ in first], sale, through=self.both())
        self.assertEqual(self.reasons(second), {"limit_reached": 30})
        third = self.buy_all(self.buyers(34), sale, through=self.both())
        self.assertEqual(len(self.admitted(third)), 34, self.reasons(third))
        self.check_at_quiet(sale)


class RabbitMq(ClusterScenario):
    @short
    def test_FS_11_FS_26_a_restarted_broker_keeps_what_it_confirmed_and_workers_come_back(self):
        sale = self.front.sale(total=150)
        for worker in self.cluster.workers():
            worker.pause()
        first = self.buy_all(self.buyers(40), sale, through=self.both())
        self.assertEqual(len(self.admitted(first)), 40, self.reasons(first))
        for worker in self.cluster.workers():
            worker.resume()
        crowd = Crowd(self, sale, self.both(), self.buyers(160), threads=12, within=120)
        crowd.wait_for(20)
        self.cluster.engine("rabbitmq-1").kill()
        self.cluster.start_engine("rabbitmq-1")
        pairs = crowd.finish()
        self.assertEqual(len(self.admitted(pairs)), 110, self.reasons(pairs))
        self.check_at_quiet(sale)

    def test_FS_26_purged_queues_are_made_good_from_the_marks(self):
        sale = self.front.sale(total=60)
        for worker in self.cluster.workers():
            worker.terminate()
        pairs = self.buy_all(self.buyers(60), sale, through=self.both())
        self.assertEqual(len(self.admitted(pairs)), 60, self.reasons(pairs))
        purged = 0
        for queue, count in self.cluster.queues().items():
            if ".intents." in queue and count:
                self.cluster.rabbitmqctl("purge_queue", queue)
                purged += count
        self.assertGreater(purged, 0, "nothing was in the queues: the test proves nothing")
        for worker in self.cluster.workers():
            worker.start()
        self.wait_ordered(sale, pairs, within=120)
        self.check_at_quiet(sale)

    def test_FS_27_a_memory_alarm_makes_purchases_busy_and_not_hang(self):
        sale = self.front.sale(total=60)
        self.buy_all(self.buyers(10), sale, through=self.both())
        self.cluster.rabbitmqctl("set_vm_memory_high_watermark", "absolute", "1MB")
        try:
            pairs = self.buy_all(self.buyers(30), sale, through=self.both(), patient=False)
            for _, answer in pairs:
                self.assertNotIsInstance(answer, Exception, "a request hung")
                self.assertIn(answer.status, (202, 503), answer)
        finally:
            self.cluster.rabbitmqctl("set_vm_memory_high_watermark", "absolute", "1GB")
        more = self.buy_all(self.buyers(60), sale, through=self.both())
        units = self.cluster.number(f"SELECT total FROM sale_item WHERE sale = '{sale}'")
        self.assertEqual(units, 60)
        self.assertTrue(self.admitted(more), self.reasons(more))
        self.check_at_quiet(sale)


class MariaDb(ClusterScenario):
    @short
    def test_FS_41_a_killed_database_comes_back_and_every_ticket_lands(self):
        sale = self.front.sale(total=150)
        crowd = Crowd(self, sale, self.both(), self.buyers(220), threads=12, within=120)
        crowd.wait_for(40)
        self.cluster.engine("mariadb").kill()
        time.sleep(4)
        self.cluster.start_engine("mariadb")
        pairs = crowd.finish()
        self.assertEqual(len(self.admitted(pairs)), 150, self.reasons(pairs))
        self.check_at_quiet(sale)

    def test_FS_41_connections_that_the_server_closed_do_not_fail_buyers(self):
        sale = self.front.sale(total=60)
        self.buy_all(self.buyers(10), sale, through=self.both())
        for (connection,) in self.cluster.sql("SELECT id FROM information_schema.processlist WHERE user = 'seckill'"):
            self.cluster.sql(f"KILL {connection}")
        pairs = self.buy_all(self.buyers(50), sale, through=self.both())
        self.assertEqual(len(self.admitted(pairs)), 50, self.reasons(pairs))
        self.check_at_quiet(sale)

    def test_FS_35_a_paused_database_delays_and_loses_nothing(self):
        sale = self.front.sale(total=100)
        crowd = Crowd(self, sale, self.both(), self.buyers(150), threads=12, within=120)
        crowd.wait_for(30)
        self.cluster.engine("mariadb").pause()
        time.sleep(8)
        self.cluster.engine("mariadb").resume()
        pairs = crowd.finish()
        self.assertEqual(len(self.admitted(pairs)), 100, self.reasons(pairs))
        for buyer, answer in self.admitted(pairs)[:20]:
            self.assertTrue(http.eventually(lambda: self.front.orders(buyer, sale), within=30), f"{buyer} sees no order")
        self.check_at_quiet(sale)
