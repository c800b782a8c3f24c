"""The main path through every part: nginx, two api nodes, Redis Cluster, RabbitMQ, two workers, MariaDB."""

import subprocess
from pathlib import Path

from harness.case import ClusterScenario, short

ROOT = Path(__file__).resolve().parent.parent.parent


class HappyPath(ClusterScenario):
    @short
    def test_a_purchase_becomes_an_order_and_is_paid(self):
        sale = self.front.sale(total=20, limit=2)
        pairs = self.buy_all(["alice"], sale, quantity=2)
        buyer, answer = pairs[0]
        self.assertEqual((answer.status, answer.json["reason"]), (202, "admitted"), answer)
        self.wait_ordered(sale, pairs)
        ticket = answer.json["ticket"]
        for client in self.both():
            outcome = client.outcome(buyer, sale, ticket)
            self.assertEqual((outcome.status, outcome.json["state"]), (200, "ordered"), outcome)
        self.assertEqual(self.front.pay(buyer, ticket).status, 200)
        self.check_at_quiet(sale)
        self.assertEqual(self.front.orders(buyer, sale)[0]["state"], "paid")

    @short
    def test_a_cancelled_unit_is_sold_again(self):
        sale = self.front.sale(total=3)
        first = self.buy_all(self.buyers(3), sale)
        self.assertEqual(len(self.admitted(first)), 3, self.reasons(first))
        self.wait_ordered(sale, first)
        buyer, answer = first[0]
        self.assertEqual(self.front.cancel(buyer, answer.json["ticket"]).status, 200)
        self.checks.wait_quiet(sale, 60)
        second = self.buy_all(["late-comer"], sale)
        self.assertEqual(len(self.admitted(second)), 1, second)
        self.check_at_quiet(sale)
        again = self.front.buy("one-too-many", sale)
        self.assertEqual((again.status, again.json["reason"]), (409, "sold_out"), again)

    @short
    def test_a_crowd_buys_and_every_promise_holds(self):
        machine = self.cluster.machine
        ran = subprocess.run([machine.binary, "demo", "--running", machine.config, "--port", str(self.front.port), "--admin-port",
                              str(self.front.admin_port), "--buyers", "1500", "--units", "60"], cwd=ROOT, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240, check=False)
        print(ran.stdout)
        self.assertEqual(ran.returncode, 0, ran.stdout)
        self.assertIn("Every promise held.", ran.stdout)
        sale = self.cluster.sql("SELECT id FROM sale WHERE id LIKE 'demo-%' ORDER BY sale_id DESC LIMIT 1")[0][0]
        self.check_at_quiet(sale)

    def test_migrating_twice_changes_nothing(self):
        before = self.cluster.sql("SELECT * FROM schema_version")
        self.cluster.machine.migrate()
        self.assertEqual(self.cluster.sql("SELECT * FROM schema_version"), before)
