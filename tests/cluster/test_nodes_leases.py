"""Leases: who leads when the leader dies or stands still, and what a node that stood still may not do."""

import time

from harness.case import ClusterScenario, short
from harness.crowd import Crowd
from lib import http


class Leases(ClusterScenario):
    def leads(self, node):
        try:
            return "seckill_leader 1" in node.metrics().splitlines()
        except (OSError, http.Closed):
            return False

    def leader(self):
        """The worker that leads."""
        found = http.eventually(lambda: next((node for node in self.cluster.workers() if self.leads(node)), None), within=60, every=0.1)
        self.assertTrue(found, "nobody leads")
        return found

    def wait_other_leads(self, old):
        begun = time.monotonic()
        found = http.eventually(lambda: next((node for node in self.cluster.workers() if node.name != old.name and self.leads(node)), None),
                                within=60, every=0.1)
        self.assertTrue(found, f"nobody leads in place of {old.name}")
        print(f"{found.name} leads {time.monotonic() - begun:.1f} s after {old.name} was lost", flush=True)
        return found

    def lose_lanes(self, sale):
        """Each lane's stock key is gone: only a leader brings them back. Returns what their generations were."""
        item = self.checks.items(sale)[0]
        generations = {lane["lane"]: lane["generation"] for lane in self.checks.lane_rows(item)}
        for lane in generations:
            key = self.cluster.redis.key(sale, "sku1", lane, "stock")
            self.cluster.redis.call(key, "DEL", key)
        return item, generations

    def wait_rebuilt(self, item, generations):
        begun = time.monotonic()

        def rebuilt():
            return all(row["generation"] > generations[row["lane"]] and row["state"] == 1 for row in self.checks.lane_rows(item))
        self.assertTrue(http.eventually(rebuilt, within=90, every=0.2), self.checks.lane_rows(item))
        print(f"lanes rebuilt after {time.monotonic() - begun:.1f} s", flush=True)

    @short
    def test_a_leader_killed_in_mid_sale_is_replaced_and_the_next_one_rebuilds(self):
        sale = self.front.sale(total=140)
        crowd = Crowd(self, sale, self.both(), self.buyers(200), threads=12, within=150)
        crowd.wait_for(30)
        old = self.leader()
        old.kill()
        # Lost with the leader: nobody repairs them until another one leads.
        item, generations = self.lose_lanes(sale)
        self.wait_other_leads(old)
        self.wait_rebuilt(item, generations)
        old.start()
        pairs = crowd.finish()
        reasons = self.reasons(pairs)
        self.assertEqual((len(self.admitted(pairs)), reasons["sold_out"]), (140, 60), reasons)
        self.check_at_quiet(sale)

    def test_a_leader_that_stands_still_in_the_middle_of_a_rebuild_is_fenced_when_it_goes_on(self):
        sale = self.front.sale(total=140)
        crowd = Crowd(self, sale, self.both(), self.buyers(200), threads=12, within=150)
        crowd.wait_for(30)
        old = self.leader()
        item, generations = self.lose_lanes(sale)
        # It has closed lanes in the store and waits for the nodes' lease: the middle of its work.
        closed = http.eventually(lambda: any(row["state"] == 3 for row in self.checks.lane_rows(item)), within=30)
        self.assertTrue(closed, "no lane was closed")
        old.pause()
        try:
            new = self.wait_other_leads(old)
            self.wait_rebuilt(item, generations)
        finally:
            old.resume()
        time.sleep(2)
        self.assertTrue(http.eventually(lambda: not self.leads(old) or not self.leads(new), within=30), "two of them lead")
        tokens = self.cluster.sql("SELECT holder, token FROM lease WHERE name = 'leader'")
        self.assertEqual(len(tokens), 1)
        pairs = crowd.finish()
        reasons = self.reasons(pairs)
        self.assertEqual((len(self.admitted(pairs)), reasons["sold_out"]), (140, 60), reasons)
        self.check_at_quiet(sale)

    def test_a_node_that_stood_still_over_a_rebuild_admits_nobody_by_what_it_knew_before(self):
        """Requests lie in the paused node's sockets while its lanes get a new generation and are sold out by the other node."""
        sale = self.front.sale(total=60)
        warm = self.buy_all(self.buyers(10), sale, through=self.both())
        self.assertEqual(len(self.admitted(warm)), 10, self.reasons(warm))
        node = self.cluster.node("api-1")
        paused, other = self.both()
        connections = [http.Connection(paused.port, timeout=90) for _ in range(40)]
        try:
            # A connection that is known to the node: its request is in the node's hands the moment it goes on.
            for connection in connections:
                self.assertEqual(connection.request("GET", f"/api/v1/sales/{sale}").status, 200)
            node.pause()
            stalled = self.buyers(40)
            for connection, buyer in zip(connections, stalled):
                headers = {**paused.login(buyer), "Idempotency-Key": "stalled"}
                connection.send(http.render("POST", f"/api/v1/sales/{sale}/items/sku1/purchases", {"quantity": 1}, headers))
            item, generations = self.lose_lanes(sale)
            self.wait_rebuilt(item, generations)
            sold = self.buy_all(self.buyers(30), sale, through=[other])
            self.assertEqual(len(self.admitted(sold)), 30, self.reasons(sold))
            node.resume()
            late = list(zip(stalled, http.together([lambda c=connection: c.read_response() for connection in connections])))
        finally:
            node.resume()
            for connection in connections:
                connection.close()
        self.assertFalse([pair for pair in late if isinstance(pair[1], Exception)], late)
        print(f"answers of the node that stood still: {dict(self.reasons(late))}", flush=True)
        self.remember(sale, late)
        # Busy, or by the new generation; never more than there is.
        self.assertEqual(set(self.reasons(late)) - {"busy", "admitted", "sold_out"}, set())
        rest = self.buy_all(stalled, sale, through=[paused], request_id="stalled")
        self.assertEqual(len(self.admitted(rest)), 20, self.reasons(rest))
        self.check_at_quiet(sale)
        self.assertEqual(self.cluster.number(f"SELECT SUM(units) FROM seckill_order WHERE item_id = {item['id']} AND state <> 2"), 60)
