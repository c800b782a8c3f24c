"""Broker and database killed, paused and restarted in mid-sale: buyers are told busy or lose nothing, and all recovers without a hand."""

import time

from harness.case import ClusterScenario, short
from harness.crowd import Crowd
from lib import http


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

        def full():
            return [queue for queue, count in self.cluster.queues().items() if ".intents." in queue and count]
        # A quorum queue tells its length only every few seconds.
        self.assertTrue(http.eventually(full, within=30), "nothing was in the queues: the test proves nothing")
        for queue in self.cluster.queues():
            if ".intents." in queue:
                self.cluster.rabbitmqctl("purge_queue", queue)
        for worker in self.cluster.workers():
            worker.start()
        self.wait_ordered(sale, pairs, within=120)
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
