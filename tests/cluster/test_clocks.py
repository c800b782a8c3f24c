"""Clocks that disagree: who may not serve, and whose clock opens a sale."""

import shutil
import subprocess
import time
import unittest
from pathlib import Path

from harness.case import ClusterScenario
from lib import http

SOURCE = Path(__file__).resolve().parent / "harness" / "wrong_clock.c"
COMPILER = next((path for path in map(shutil.which, ("cc", "gcc", "clang", "clang-19")) if path), None)


@unittest.skipUnless(COMPILER, "no C compiler, so no clock can be set wrong")
class Clocks(ClusterScenario):
    def setUp(self):
        super().setUp()
        self.library = self.cluster.home / "wrong_clock.so"
        if not self.library.exists():
            subprocess.run([COMPILER, "-O1", "-shared", "-fPIC", "-o", self.library, SOURCE], check=True, capture_output=True, timeout=60)
            self.library.chmod(0o755)

    def skewed(self, seconds):
        """Environment of a process whose wall clock is wrong; how time passes stays right."""
        return {"LD_PRELOAD": str(self.library), "SECKILL_CLOCK_AHEAD_MS": str(int(seconds * 1000))}

    def set_clock(self, process, seconds):
        """From its next start on. 0: as the machine's."""
        environment = process.record["environment"]
        for name in self.skewed(0):
            environment.pop(name, None)
        if seconds:
            environment.update(self.skewed(seconds))
        self.cluster.machine.folder.save()

    def readiness(self, node):
        answer = http.once(node.admin_port, "GET", "/readyz", timeout=15)
        return answer.status, answer.body.decode()

    def wait_complaint(self, node, *words):
        def complains():
            try:
                status, body = self.readiness(node)
            except (OSError, http.Closed):
                return False
            return status == 503 and all(word in body for word in words)
        self.assertTrue(http.eventually(complains, within=60, every=0.2), f"{node.name} does not say so: {self.readiness(node)}")

    def test_FS_42_a_node_whose_clock_is_wrong_is_not_ready_and_cannot_open_a_sale_early(self):
        node = self.cluster.node("api-2")
        try:
            for seconds in (30, -30):
                node.terminate()
                self.set_clock(node.process, seconds)
                node.start(wait=False)
                self.wait_complaint(node, "the clocks of", "this node", "check NTP")
                for other in (self.cluster.node("api-1"), *self.cluster.workers()):
                    self.assertEqual(self.readiness(other)[0], 200, f"{other.name} is blamed for another's clock")
            # 30 s slow: to it a sale that is open has not begun; 30 s fast: one that begins in a while is open already.
            node.terminate()
            self.set_clock(node.process, 30)
            node.start(wait=False)
            self.wait_complaint(node, "this node")
            sale = self.front.sale(total=20, starts_in=12.0)
            client = self.cluster.at("api-2")
            opens_at = self.cluster.number(f"SELECT starts_at FROM sale WHERE id = '{sale}'") / 1000
            early = 0
            while True:
                sent = time.time()
                answer = client.buy(f"early-{early}", sale)
                # The lane's clock decides, whatever the node believes.
                if time.time() < opens_at - 0.1:
                    self.assertIn(answer.json["reason"], ("not_started", "busy"), f"{opens_at - sent:.2f} s early: {answer}")
                    early += answer.json["reason"] == "not_started"
                if sent > opens_at:
                    break
                time.sleep(0.2)
            self.assertGreater(early, 0, "nobody came before the start: the test proves nothing")
        finally:
            node.terminate()
            self.set_clock(node.process, 0)
            node.start()
        pairs = self.buy_all(self.buyers(30), sale, through=self.both())
        self.assertTrue(self.admitted(pairs), self.reasons(pairs))
        self.assertEqual(self.cluster.number("SELECT COUNT(*) FROM seckill_order o JOIN sale_item i USING (item_id) "
                                             f"WHERE i.sale = '{sale}' AND o.admitted_at < {int(opens_at * 1000)}"), 0)
        self.check_at_quiet(sale)

    def test_FS_42_a_redis_master_whose_clock_is_wrong_makes_nodes_not_ready_until_it_is_right(self):
        sale = self.front.sale(total=60)
        first = self.buy_all(self.buyers(20), sale, through=self.both())
        self.assertEqual(len(self.admitted(first)), 20, self.reasons(first))
        master, replicas = self.cluster.redis.master_of(sale, "sku1", 0)
        wrong = replicas[0]
        try:
            # The replica first, then it takes over as in any maintenance.
            self.restart_redis(wrong, 2)
            self.cluster.wait_redis_whole()
            self.take_over(sale, wrong)
            for node in (*self.cluster.apis(), *self.cluster.workers()):
                self.wait_complaint(node, "the clocks of", "Redis", "check NTP")
        finally:
            self.restart_redis(wrong, 0)  # the other one may be promoted meanwhile, or this one comes back as master
            self.cluster.wait_redis_whole()
        begun = time.monotonic()
        self.cluster.wait_all_ready()
        print(f"ready {time.monotonic() - begun:.1f} s after the clock was right", flush=True)
        second = self.buy_all(self.buyers(50), sale, through=self.both(), within=60)
        self.assertEqual(len(self.admitted(second)), 40, self.reasons(second))
        self.check_at_quiet(sale)

    def restart_redis(self, name, seconds):
        engine = self.cluster.engine(name)
        engine.stop()
        self.set_clock(engine, seconds)
        self.cluster.start_engine(name)

    def take_over(self, sale, replica):
        def is_master():
            try:
                if self.cluster.redis.master_of(sale, "sku1", 0)[0] == replica:
                    return True
                self.cluster.redis.on(self.cluster.engine(replica), "CLUSTER", "FAILOVER")
            except Exception:  # noqa: BLE001 - asked again
                pass
            return False
        self.assertTrue(http.eventually(is_master, within=60, every=1.0), f"{replica} did not take over")
