"""What the database is asked while crowds look and buy: counted by the database itself, not timed."""

import secrets
import time
import uuid

from harness.case import ClusterScenario
from harness.database import Counted
from lib import http

SELECTS = ("Com_select",)
ROWS = ("Com_select", "Handler_read_key", "Handler_read_next", "Handler_read_rnd_next", "Handler_read_prev")
MANY = 10_000
QUIET_SECONDS = 4


class Reads(ClusterScenario):
    def each_second(self):
        """What the nodes ask the database by themselves."""
        with Counted(self.cluster, *SELECTS) as counted:
            time.sleep(QUIET_SECONDS)
        return counted.moved["Com_select"] / counted.seconds

    def get_all(self, paths, threads=64):
        """Each path once, on both nodes in turn; statuses and how many selects a look beyond the nodes' own."""
        clients = self.both()
        usual = self.each_second()
        with Counted(self.cluster, *SELECTS) as counted:
            answers = http.together([lambda i=i, path=path: clients[i % 2].get(path) for i, path in enumerate(paths)], threads)
        for answer in answers:
            self.assertNotIsInstance(answer, Exception, f"a look hung: {answer}")
        more = counted.moved["Com_select"] - usual * counted.seconds
        print(f"{len(paths)} looks in {counted.seconds:.1f} s: {more:.0f} statements beyond the nodes' own {usual:.0f} a second", flush=True)
        return [answer.status for answer in answers], more, counted.seconds

    def test_FS_44_cold_nodes_at_the_start_second_ask_a_handful_and_unknown_ids_once(self):
        sale = self.front.sale(total=60)
        for node in self.cluster.apis():
            node.kill()
        for node in self.cluster.apis():
            node.start(wait=False)
        self.cluster.wait_all_ready()
        looks = [f"/api/v1/sales/{sale}", f"/api/v1/sales/{sale}/items/sku1", f"/api/v1/sales/{sale}/items/sku1/stock", "/api/v1/sales"] * 500
        statuses, more, seconds = self.get_all(looks)
        self.assertEqual(set(statuses), {200})
        # A view and a list, each at most once a second and node, of a few statements each; 2000 would be one a look.
        self.assertLess(more, 40 * (seconds + 3), "looks reach the database")

        unknown = f"/api/v1/sales/no-{secrets.token_hex(6)}"
        statuses, more, seconds = self.get_all([unknown, unknown + "/items/x", unknown + "/items/x/stock"] * 400)
        self.assertEqual(set(statuses), {404})
        self.assertLess(more, 20 * (seconds + 3), "a missing sale is looked for again and again")

        # Made-up ids, each new: buyers are served meanwhile, and no pool is used up.
        made_up = [f"/api/v1/sales/x-{secrets.token_hex(8)}" for _ in range(1200)]
        clients = self.both()
        buyers = self.buyers(60)
        jobs = [lambda i=i, path=path: clients[i % 2].get(path) for i, path in enumerate(made_up)]
        bought = []
        for index, buyer in enumerate(buyers):
            jobs.insert(index * 20, lambda i=index, b=buyer: bought.append((b, clients[i % 2].buy_patiently(b, sale))))
        answers = http.together(jobs, 64)
        self.assertFalse([answer for answer in answers if isinstance(answer, Exception)])
        self.assertEqual({answer.status for answer in answers if answer is not None} - {503}, {404})
        self.remember(sale, bought)
        self.assertEqual(len(self.admitted(bought)), 60, self.reasons(bought))
        self.wait_ordered(sale, bought)
        self.check_at_quiet(sale)

    def test_FS_34_ten_thousand_open_orders_make_neither_the_stock_shown_nor_a_purchase_dearer(self):
        """The same work before and after the item got many more open orders: what the database reads must not grow with them."""
        few = 40
        sale = self.front.sale(total=MANY + 2 * few, lanes=1, limit=1)
        before = self.work(sale, few)
        self.add_orders(sale, MANY)
        # The lane is told as after any loss: from its rows.
        key = self.cluster.redis.key(sale, "sku1", 0, "stock")
        self.cluster.redis.call(key, "DEL", key)
        known = http.eventually(lambda: self.cluster.redis.stock(sale, "sku1", 0).get("held", 0) >= MANY, within=90, every=0.5)
        self.assertTrue(known, "the lane was not rebuilt from its rows")
        item = self.checks.items(sale)[0]
        self.assertTrue(http.eventually(lambda: self.checks.lane_rows(item)[0]["state"] == 1, within=60))
        after = self.work(sale, few)
        print(f"with few orders {before}, with {MANY} more {after}", flush=True)
        for name in ("Handler_read_key", "Handler_read_next", "Handler_read_rnd_next", "Handler_read_prev"):
            # A single walk over the item's open orders would read all of them.
            self.assertLess(after[name], before[name] + MANY // 2, f"{name} grows with the number of open orders")
        last = self.buy_all(self.buyers(40), sale, through=self.both())
        self.assertEqual(self.reasons(last), {"sold_out": 40})
        for client in self.both():
            self.assertTrue(http.eventually(lambda: client.get(f"/api/v1/sales/{sale}/items/sku1/stock").json.get("sold_out"), within=15),
                            "the stock shown does not say sold out")
        self.assertEqual(self.cluster.number(f"SELECT COUNT(*) FROM seckill_order WHERE item_id = {item['id']}"), MANY + 2 * few)
        self.check_at_quiet(sale)

    def work(self, sale, few):
        """Purchases, outcomes, and looks at the stock; how far the database's counters moved."""
        with Counted(self.cluster, *ROWS) as counted:
            pairs = self.buy_all(self.buyers(few), sale, through=self.both())
            self.assertEqual(len(self.admitted(pairs)), few, self.reasons(pairs))
            self.wait_ordered(sale, pairs, within=90)
            for client in self.both():
                for _ in range(10):
                    self.assertEqual(client.get(f"/api/v1/sales/{sale}/items/sku1/stock").status, 200)
            for buyer, _ in pairs[:5]:
                self.assertEqual(len(self.front.orders(buyer, sale)), 1)
        return counted.moved

    def add_orders(self, sale, count):
        """Open orders with all that belongs to them, written as a landing would."""
        item = self.checks.items(sale)[0]["id"]
        mark = uuid.uuid4().hex[:8]
        far = int(time.time() * 1000) + 86_400_000
        self.cluster.sql(f"""
            BEGIN;
            SELECT * FROM lane_stock WHERE item_id = {item} FOR UPDATE;
            INSERT INTO seckill_order (ticket, item_id, buyer, request_id, digest, lane, units, price_minor, amount_minor, currency,
              state, reason, admitted_at, landed_at, pay_before, ended_at, fields)
              SELECT UNHEX(CONCAT('00', SUBSTR(SHA1(CONCAT('{mark}', seq)), 1, 30))), {item}, CONCAT('many-{mark}-', seq), '{mark}', seq, 0, 1,
                9900, 9900, 'CNY', 3, 0, {far - 86_400_000}, {far - 86_400_000}, {far}, 0, '' FROM seq_1_to_{count};
            INSERT INTO stock_journal (entry_id, item_id, lane, units, effect, made_at)
              SELECT 2 * order_id, item_id, lane, units, 1, landed_at FROM seckill_order WHERE item_id = {item} AND request_id = '{mark}';
            INSERT INTO buyer_units (item_id, buyer, units, cap)
              SELECT item_id, buyer, 1, 1 FROM seckill_order WHERE item_id = {item} AND request_id = '{mark}';
            UPDATE lane_stock SET available = available - {count}, held = held + {count}, version = version + 1 WHERE item_id = {item};
            COMMIT;""")
