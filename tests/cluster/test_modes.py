"""Modes entered and left in mid-sale by an operator: synchronous ordering, admission by database, closed lanes; stock changed on one
node while buyers are on another; a Redis that is not set up for a sale."""

import functools
import pathlib
import subprocess
import time

import jsonschema
import yaml
from harness.case import ClusterScenario, short
from harness.crowd import Crowd
from lib import http


@functools.cache
def validator(schema):
    """Of one schema of the API's document."""
    document = yaml.safe_load((pathlib.Path(__file__).resolve().parents[2] / "docs" / "api" / "openapi.yaml").read_text())
    return jsonschema.Draft202012Validator({"$ref": f"#/components/schemas/{schema}", "components": document["components"]})


class Modes(ClusterScenario):
    def documented(self, answer, schema):
        """The answer is what the API's document says it is."""
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual([error.message for error in validator(schema).iter_errors(answer.json)], [], answer)
        return answer

    def switch(self, name, value, through="api-1"):
        answer = self.cluster.at(through).admin("PUT", f"/admin/v1/switches/{name}", {"value": value, "why": "a test"})
        self.documented(answer, "Switches")
        self.documented(self.cluster.at(through).admin("GET", "/admin/v1/switches"), "Switches")

    def follows(self, value):
        line = 'seckill_switch_on{switch="synchronous_ordering"} ' + ("1" if value == "on" else "0")
        return all(line in node.metrics() for node in (*self.cluster.apis(), *self.cluster.workers()))

    def lanes(self, sale, through="api-1"):
        answer = self.cluster.at(through).admin("GET", f"/admin/v1/sales/{sale}/items/sku1/lanes")
        return self.documented(answer, "ItemLanes").json

    def want(self, sale, wanted, through="api-1"):
        answer = self.cluster.at(through).admin("PUT", f"/admin/v1/sales/{sale}/items/sku1/lanes", {"wanted": wanted, "why": "a test"})
        self.assertEqual(answer.status, 200, answer)
        self.assertTrue(http.eventually(lambda: {lane["state"] for lane in self.lanes(sale)["lanes"]} == {wanted}, within=60, every=0.3),
                        self.lanes(sale))

    @short
    def test_synchronous_ordering_sells_on_without_a_broker_and_is_left_again(self):
        sale = self.front.sale(total=150)
        crowd = Crowd(self, sale, self.both(), self.buyers(200), within=150)
        crowd.wait_for(20)
        self.switch("synchronous_ordering", "on", through="api-2")
        self.assertTrue(http.eventually(lambda: self.follows("on"), within=10), "not every node follows the switch")
        self.cluster.rabbitmqctl("stop_app")
        try:
            done = crowd.done
            crowd.wait_for(min(done + 60, 190), within=90)
            for node in (*self.cluster.apis(), *self.cluster.workers()):
                self.assertTrue(node.is_ready(), f"{node.name} is not ready though it needs no broker")
        finally:
            self.cluster.rabbitmqctl("start_app")
        self.assertTrue(http.eventually(lambda: all("seckill_publisher_accepting 1" in n.metrics() for n in self.cluster.apis()), within=60))
        self.switch("synchronous_ordering", "off")
        pairs = crowd.finish()
        reasons = self.reasons(pairs)
        self.assertEqual((len(self.admitted(pairs)), reasons["sold_out"]), (150, 50), reasons)
        self.assertTrue(http.eventually(lambda: self.follows("off"), within=10))
        self.check_at_quiet(sale)

    @short
    def test_admission_by_database_is_entered_and_left_in_mid_sale(self):
        sale = self.front.sale(total=150)
        crowd = Crowd(self, sale, self.both(), self.buyers(260), within=150)
        crowd.wait_for(20)
        self.want(sale, "store")
        self.assertEqual(self.lanes(sale, "api-2")["wanted"], "store")
        crowd.wait_for(min(crowd.done + 40, 240), within=90)
        self.want(sale, "lane", through="api-2")
        pairs = crowd.finish()
        self.wait_decided(sale, pairs)
        orders = self.cluster.number("SELECT COUNT(*) FROM seckill_order o JOIN sale_item i USING (item_id) "
                                     f"WHERE i.sale = '{sale}' AND o.state <> 2")
        self.assertEqual(orders, 150, self.reasons(pairs))
        self.check_at_quiet(sale)

    def test_admission_by_database_needs_no_redis_at_all(self):
        sale = self.front.sale(total=60)
        first = self.buy_all(self.buyers(20), sale, through=self.both())
        self.assertEqual(len(self.admitted(first)), 20, self.reasons(first))
        self.checks.wait_quiet(sale, 60)
        for other in self.cluster.at("api-1").admin("GET", "/admin/v1/sales").json["sales"]:
            if other["state"] in ("preloaded", "paused"):
                self.cluster.at("api-1").admin("PUT", f"/admin/v1/sales/{other['id']}/items/sku1/lanes", {"wanted": "store", "why": "a test"})
        self.want(sale, "store")
        names = self.cluster.redis_names()
        for name in names:
            self.cluster.engine(name).stop()
        try:
            second = self.buy_all(self.buyers(30), sale, through=self.both())
            self.assertEqual(len(self.admitted(second)), 30, self.reasons(second))
            self.wait_decided(sale, second)
            # No stealing between lanes in this mode: whose lane is empty is told so, and the units are on sale afterwards.
            failed = sum(self.state(buyer, sale, answer.json["ticket"]) == "failed" for buyer, answer in second)
            self.assertLess(failed, 30, "nobody got anything")
        finally:
            for name in names:
                self.cluster.engine(name).start()
            for name in names:
                self.cluster.engine(name).wait(lambda: True)
            self.cluster.wait_redis_whole()
        for other in self.cluster.at("api-1").admin("GET", "/admin/v1/sales").json["sales"]:
            if other["state"] in ("preloaded", "paused"):
                self.cluster.at("api-1").admin("PUT", f"/admin/v1/sales/{other['id']}/items/sku1/lanes", {"wanted": "lane", "why": "a test"})
        self.want(sale, "lane")
        third = self.buy_all(self.buyers(45), sale, through=self.both())
        self.assertEqual(len(self.admitted(third)), 10 + failed, self.reasons(third))
        self.check_at_quiet(sale)

    def test_admission_by_database_is_entered_after_redis_died_in_mid_sale_and_left_when_it_is_back(self):
        """Redis dies with a crowd at the door; an operator lets the database admit; Redis comes back with what it knew."""
        sale = self.front.sale(total=150)
        crowd = Crowd(self, sale, self.both(), self.buyers(280), within=200)
        crowd.wait_for(40)
        names = self.cluster.redis_names()
        killed_at = time.monotonic()
        for name in names:
            self.cluster.engine(name).kill()
        try:
            self.want(sale, "store")
            print(f"the database admits {time.monotonic() - killed_at:.1f} s after Redis died", flush=True)
            done = crowd.done
            crowd.wait_for(min(done + 60, 240), within=120)
        finally:
            for name in names:
                self.cluster.start_engine(name)
            self.cluster.wait_redis_whole()
        back_at = time.monotonic()
        self.want(sale, "lane", through="api-2")
        print(f"lanes admit {time.monotonic() - back_at:.1f} s after Redis was back", flush=True)
        pairs = crowd.finish()
        self.wait_decided(sale, pairs)
        # What the mode refused lane by lane is on sale again; the sale ends sold out to the last unit.
        last = self.buy_all(self.buyers(150), sale, through=self.both())
        self.assertIn("sold_out", self.reasons(last), self.reasons(last))
        self.check_at_quiet(sale, within=120)
        self.assertEqual(self.cluster.number("SELECT SUM(o.units) FROM seckill_order o JOIN sale_item i USING (item_id) "
                                             f"WHERE i.sale = '{sale}' AND o.state <> 2"), 150)

    def wait_decided(self, sale, pairs):
        """Until no ticket is queued any more: each is an order or failed with its reason."""
        for buyer, answer in self.admitted(pairs):
            ticket = answer.json["ticket"]
            self.assertTrue(http.eventually(lambda: self.state(buyer, sale, ticket) in ("ordered", "failed"), within=60, every=0.1),
                            self.front.outcome(buyer, sale, ticket))

    def test_closed_lanes_sell_nothing_until_a_person_wants_them_open(self):
        sale = self.front.sale(total=40)
        self.want(sale, "closed")
        time.sleep(1.5)  # a node acts on a copy of a second ago
        pairs = self.buy_all(self.buyers(8), sale, through=self.both(), patient=False)
        self.assertEqual(set(self.reasons(pairs)), {"busy"}, self.reasons(pairs))
        time.sleep(3)
        self.assertEqual({lane["state"] for lane in self.lanes(sale)["lanes"]}, {"closed"}, "no leader opens it by itself")
        self.want(sale, "lane")
        pairs = self.buy_all(self.buyers(40), sale, through=self.both())
        self.assertEqual(len(self.admitted(pairs)), 40, self.reasons(pairs))
        self.check_at_quiet(sale)
        actions = [entry["action"] for entry in self.cluster.at("api-1").admin("GET", "/admin/v1/audit?limit=20").json["entries"]]
        self.assertGreaterEqual(actions.count("lanes.want"), 2, actions)


class Desk(ClusterScenario):
    """What an operator changes on one node reaches the other with its next copy: until then it may refuse by what it knew."""

    def come_back(self, sale, units, clients, within=20):
        """Other buyers come until so many have a ticket."""
        pairs = []
        end = time.monotonic() + within
        while len(pairs) < units and time.monotonic() < end:
            pairs += self.admitted(self.buy_all(self.buyers(units - len(pairs)), sale, through=clients))
            time.sleep(0.1)
        self.assertEqual(len(pairs), units, f"after {within} s")
        return pairs

    def wait_paused(self, sale, node):
        """Units that a buyer got while the node did not know yet."""
        admitted = []

        def refused():
            buyer = self.buyers(1)[0]
            answer = node.buy(buyer, sale)
            admitted.extend(self.admitted([(buyer, answer)]))
            return answer.json.get("reason") == "paused"
        self.assertTrue(http.eventually(refused, within=20, every=0.5), "the node sells on")
        self.remember(sale, admitted)
        return len(admitted)

    @short
    def test_stock_and_state_changed_on_one_node_are_seen_on_the_other(self):
        sale = self.front.sale(total=40)
        one, other = self.cluster.at("api-1"), self.cluster.at("api-2")
        self.buy_all(self.buyers(40), sale, through=self.both())
        answer = one.admin("POST", f"/admin/v1/sales/{sale}/items/sku1/top-up", {"units": 20, "id": "more", "from": "new"})
        self.assertEqual((answer.status, answer.json["moved"]), (200, 20), answer)
        again = other.admin("POST", f"/admin/v1/sales/{sale}/items/sku1/top-up", {"units": 20, "id": "more", "from": "new"})
        self.assertEqual((again.status, again.json["moved"], again.json["repeated"]), (200, 0, True), again)
        self.come_back(sale, 10, [other])
        answer = other.admin("POST", f"/admin/v1/sales/{sale}/items/sku1/reduce", {"units": 2, "id": "less"})
        self.assertEqual((answer.status, answer.json["taken"]), (200, 2), answer)
        again = one.admin("POST", f"/admin/v1/sales/{sale}/items/sku1/reduce", {"units": 2, "id": "less"})
        self.assertEqual((again.status, again.json["taken"], again.json["repeated"]), (200, 2, True), again)
        self.assertEqual(one.admin("POST", f"/admin/v1/sales/{sale}/pause").status, 200)
        left = 8 - self.wait_paused(sale, other)
        self.assertEqual(other.admin("POST", f"/admin/v1/sales/{sale}/resume").status, 200)
        self.come_back(sale, left, self.both())
        pairs = self.buy_all(self.buyers(10), sale, through=self.both())
        self.assertEqual(set(self.reasons(pairs)), {"sold_out"}, self.reasons(pairs))
        self.check_at_quiet(sale)


class Start(ClusterScenario):
    def test_a_node_refuses_a_redis_that_would_forget(self):
        node = self.cluster.node("api-2")
        node.terminate()
        master = self.cluster.redis_names()[0]
        self.redis_config(master, "appendonly", "no")
        try:
            record = node.process.record
            done = subprocess.run(record["argv"], cwd=record["cwd"], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 1, done)
            self.assertIn("appendonly is \"no\"", done.stderr)
        finally:
            self.redis_config(master, "appendonly", "yes")
        node.start()

    def redis_config(self, name, setting, value):
        port = self.cluster.engine(name).record["port"]
        cli = self.cluster.machine.folder.path / "bin" / "redis-cli"
        done = subprocess.run([cli, "-p", str(port), "CONFIG", "SET", setting, value], capture_output=True, text=True, timeout=10)
        self.assertIn("OK", done.stdout, done)
