"""An api node that loses its cable to all engines in mid-sale, in a network namespace of its own."""

import time
import unittest

from harness import network
from harness.case import ClusterScenario
from harness.crowd import Crowd
from harness.network import Namespace
from lib import http

CANNOT = network.missing()


@unittest.skipIf(CANNOT, CANNOT)
class CutOff(ClusterScenario):
    def test_a_node_cut_off_from_all_engines_admits_nobody_and_comes_back_by_itself(self):
        """While it is cut off its lanes are rebuilt: what it believes of them afterwards is a generation old."""
        space = Namespace().make()
        node = self.cluster.node("api-2")
        argv = node.process.record["argv"]
        try:
            node.terminate()
            engines = [record["port"] for name, record in self.cluster.machine.folder.state["servers"].items()
                       if name.startswith(("redis-", "rabbitmq-", "mariadb"))]
            space.carry_engines(engines)
            space.carry_node([node.port, node.admin_port])
            node.process.record["argv"] = space.inside(*argv)
            node.start()
            self.scenario(space, node)
        finally:
            node.process.kill()
            node.process.record["argv"] = argv
            space.remove()
            node.start()

    def scenario(self, space, node):
        sale = self.front.sale(total=150)
        item = self.checks.items(sale)[0]
        crowd = Crowd(self, sale, self.both(), self.buyers(200), threads=12, within=150)
        crowd.wait_for(40)
        space.cut()
        cut_at = time.monotonic()
        client = self.cluster.at("api-2")
        answers = []

        def busy():
            answers.append(self._ask(client, sale, len(answers)))
            return answers[-1] == "busy" and answers[-2:] == ["busy"] * 2
        self.assertTrue(http.eventually(busy, within=60), answers)
        self.assertNotIn("hangs", answers)
        print(f"cut off: busy after {time.monotonic() - cut_at:.1f} s", flush=True)
        # The cable can be out for longer than every lease; meanwhile each lane gets a new generation.
        generations = {lane["lane"]: lane["generation"] for lane in self.checks.lane_rows(item)}
        for lane in generations:
            key = self.cluster.redis.key(sale, "sku1", lane, "stock")
            self.cluster.redis.call(key, "DEL", key)

        def rebuilt():
            rows = self.checks.lane_rows(item)
            return all(row["generation"] > generations[row["lane"]] and row["state"] == 1 for row in rows)
        self.assertTrue(http.eventually(rebuilt, within=90, every=0.3), self.checks.lane_rows(item))
        self.assertEqual(self._ask(client, sale, "still"), "busy")
        status = http.once(node.admin_port, "GET", "/readyz", timeout=20)
        self.assertEqual(status.status, 503, status)
        self.assertEqual(http.once(self.cluster.node("api-1").admin_port, "GET", "/readyz").status, 200)
        space.mend()
        mended_at = time.monotonic()
        self.assertTrue(http.eventually(node.is_ready, within=90, every=0.2), "the node is not ready though the cable is back")
        print(f"ready {time.monotonic() - mended_at:.1f} s after the cable was back", flush=True)
        again = self.buy_all(self.buyers(10), sale, through=[client])
        self.assertFalse([pair for pair in again if isinstance(pair[1], Exception)])
        pairs = crowd.finish()
        self.assertFalse([pair for pair in pairs if isinstance(pair[1], Exception)], self.reasons(pairs))
        # The units of those who were told busy but had been heard are theirs (unknown is not failed).
        rest = self.buy_all(self.buyers(30), sale, through=self.both())
        self.assertIn("sold_out", self.reasons(rest))
        self.check_at_quiet(sale)
        self.assertEqual(self.cluster.number(f"SELECT SUM(units) FROM seckill_order WHERE item_id = {item['id']} AND state <> 2"), 150)

    def _ask(self, client, sale, number):
        try:
            answer = client.buy(f"cut-{number}", sale)
            return answer.json["reason"]
        except (OSError, http.Closed):
            return "hangs"
