"""The five checks at quiet, each read where it is the truth: lanes in Redis, rows in MariaDB, answers of the API.

1 conservation: total = pool + available + held + sold, the same in Redis, MariaDB and on the display; nothing negative
2 limit: no buyer holds or owns more than the limit, by Redis' marks, by orders and by buyer_units
3 closure: every answer "accepted" has an order or an explicit failure; nothing is under way in lanes, queues or outbox
4 money: each payment has one paid order, each paid order one payment
5 alive: every node that was not restarted by the test is the same process, all are ready, no unexpected error in a log
"""

import collections
import time

from . import paths  # noqa: F401
from folder import ClusterError
from lib import http

PARKED, FAILED, AWAITING, CLOSING, PAID, CANCELLED, EXPIRED = 1, 2, 3, 4, 5, 6, 7
HELD_STATES = (PARKED, AWAITING, CLOSING)
LIVE_STATES = (*HELD_STATES, PAID)
QUIET_SECONDS_MAX = 90
DESCRIPTORS_MORE_MAX = 64


class Checks:
    """For one test: says what differs. `test` is its unittest case."""

    def __init__(self, test, cluster):
        self.test = test
        self.cluster = cluster
        self.logs = {name: cluster.node(name).log_size() for name in cluster.node_names()}

    def at_quiet(self, sale, accepted=(), within=QUIET_SECONDS_MAX, allowed_errors=()):
        """`accepted`: (buyer, ticket) of every answer that said admitted or replayed."""
        self.wait_quiet(sale, within)
        items = self.items(sale)
        for item in items:
            lanes = self.lane_rows(item)
            self.conservation(sale, item, lanes)
            self.limit(sale, item, lanes)
            self.journal(item)
        self.closure(sale, accepted)
        self.money(sale)
        self.alive(allowed_errors)

    # --- quiet ---
    def wait_quiet(self, sale, within):
        """Until nothing is under way; the last state that was not quiet is told when it lasts too long."""
        end = time.monotonic() + within
        while True:
            under_way = self.under_way(sale)
            if not under_way:
                return
            if time.monotonic() > end:
                self.test.fail(f"not quiet after {within:.0f} s: {under_way}")
            time.sleep(0.3)

    def under_way(self, sale):
        """What is still moving, in words; "" when nothing is."""
        try:
            for name in self.cluster.machine.apis:
                answer = self.cluster.at(name).admin("GET", f"/admin/v1/sales/{sale}/verdict")
                if answer.status != 200:
                    return f"{name} gives no verdict: {answer}"
                if not answer.json.get("drained"):
                    return f"{name} says not drained: {answer.json}"
                if broken := [promise for promise in answer.json["promises"] if not promise["holds"]]:
                    return f"{name} says broken: {broken}"
            for item in self.items(sale):
                for lane in range(item["lanes"]):
                    if count := self.cluster.redis.open_intents(sale, item["sku"], lane):
                        return f"{count} open intents in lane {lane} of {item['sku']}"
            if count := self.cluster.number("SELECT COUNT(*) FROM event_outbox"):
                return f"{count} rows in the outbox"
            busy = {name: count for name, count in self.cluster.queues().items() if count and ".bell" not in name}
            return f"messages in queues: {busy}" if busy else ""
        except (OSError, http.Closed, ClusterError) as error:
            return f"{type(error).__name__}: {error}"

    # --- reading ---
    def items(self, sale):
        rows = self.cluster.sql(f"SELECT item_id, sku, total, pool, limit_units, lanes, price_minor FROM sale_item WHERE sale = '{sale}'")
        names = ("id", "sku", "total", "pool", "limit", "lanes", "price")
        return [{name: value if name == "sku" else int(value) for name, value in zip(names, row)} for row in rows]

    def lane_rows(self, item):
        rows = self.cluster.sql("SELECT lane, available, held, sold, generation, state FROM lane_stock "
                                f"WHERE item_id = {item['id']} ORDER BY lane")
        return [dict(zip(("lane", "available", "held", "sold", "generation", "state"), map(int, row))) for row in rows]

    def orders_by_buyer(self, item, states):
        listed = ",".join(map(str, states))
        rows = self.cluster.sql(f"SELECT HEX(buyer), SUM(units) FROM seckill_order WHERE item_id = {item['id']} AND state IN ({listed}) "
                                "GROUP BY buyer")
        return {bytes.fromhex(buyer).decode(): int(units) for buyer, units in rows}

    # --- 1 ---
    def conservation(self, sale, item, lanes):
        test = self.test
        test.assertEqual(len(lanes), item["lanes"], item)
        moved = sum(lane["available"] + lane["held"] + lane["sold"] for lane in lanes)
        test.assertEqual(item["total"], item["pool"] + moved, f"P2 in MariaDB: {item} {lanes}")
        for lane in lanes:
            stock = self.cluster.redis.stock(sale, item["sku"], lane["lane"])
            test.assertEqual(stock.get("phase"), "open", (item, lane, stock))
            for name in ("available", "held", "sold", "generation"):
                test.assertEqual(stock[name], lane[name], f"{name} of lane {lane['lane']}: Redis {stock}, MariaDB {lane}")
                test.assertGreaterEqual(lane[name], 0, lane)
        for states, name in ((HELD_STATES, "held"), ((PAID,), "sold")):
            test.assertEqual(sum(self.orders_by_buyer(item, states).values()), sum(lane[name] for lane in lanes),
                             f"orders and {name} units of {item}")
        available = sum(lane["available"] for lane in lanes)
        shown = {}

        def displayed_alike():  # the display is up to a second old
            for name in self.cluster.machine.apis:
                shown[name] = next(i for i in self.cluster.at(name).show(sale)["items"] if i["sku"] == item["sku"])["stock"]["live"]
            return all(live["available"] == available for live in shown.values())
        test.assertTrue(http.eventually(displayed_alike, within=15), f"shown {shown}, in the lanes {available}")

    # --- 2 ---
    def limit(self, sale, item, lanes):
        test = self.test
        in_orders = self.orders_by_buyer(item, LIVE_STATES)
        in_marks = collections.Counter()
        for lane in lanes:
            for buyer, records in self.cluster.redis.marks(sale, item["sku"], lane["lane"]).items():
                in_marks[buyer] += sum(units for _, units, end in records if end != 2)
        test.assertEqual({buyer: units for buyer, units in in_marks.items() if units}, in_orders, "live units by marks and by orders")
        for buyer, units in in_orders.items():
            test.assertLessEqual(units, item["limit"], f"P3: {buyer}")
        rows = self.cluster.sql(f"SELECT HEX(buyer), units FROM buyer_units WHERE item_id = {item['id']} AND units > 0")
        test.assertEqual({bytes.fromhex(buyer).decode(): int(units) for buyer, units in rows}, in_orders, "buyer_units and orders")

    def journal(self, item):
        """One hold an order, and the one end that its state says."""
        wrong = self.cluster.sql(f"""
            SELECT o.order_id, o.state, h.effect, e.effect FROM seckill_order o
            LEFT JOIN stock_journal h ON h.entry_id = 2 * o.order_id LEFT JOIN stock_journal e ON e.entry_id = 2 * o.order_id + 1
            WHERE o.item_id = {item['id']} AND o.state <> {FAILED} AND NOT (h.effect <=> 1 AND h.units = o.units AND CASE
              WHEN o.state IN ({PARKED}, {AWAITING}, {CLOSING}) THEN e.effect IS NULL
              WHEN o.state = {PAID} THEN e.effect <=> 2 ELSE e.effect <=> 3 END)""")
        self.test.assertEqual(wrong, [], "orders whose journal says otherwise (order, state, hold, end)")

    # --- 3 ---
    def closure(self, sale, accepted):
        for index, (buyer, ticket) in enumerate(accepted):
            node = self.cluster.machine.apis[index % len(self.cluster.machine.apis)]
            outcome = self.cluster.at(node).outcome(buyer, sale, ticket)
            self.test.assertEqual(outcome.status, 200, f"P5: an accepted ticket has no outcome: {ticket} of {buyer}: {outcome}")
            self.test.assertIn(outcome.json["state"], ("ordered", "failed"), outcome)

    # --- 4 ---
    def money(self, sale):
        wrong = self.cluster.sql(f"""
            SELECT o.order_id, o.state, COUNT(p.payment_id) FROM seckill_order o JOIN sale_item i ON i.item_id = o.item_id
            LEFT JOIN payment p ON p.order_id = o.order_id AND p.state = 2
            WHERE i.sale = '{sale}' AND o.price_minor > 0 GROUP BY o.order_id, o.state HAVING (o.state = {PAID}) <> (COUNT(p.payment_id) = 1)
            OR COUNT(p.payment_id) > 1""")
        self.test.assertEqual(wrong, [], "P7: orders and their applied payments (order, state, payments)")

    # --- 5 ---
    def alive(self, allowed_errors):
        for name in self.cluster.node_names():
            node = self.cluster.node(name)
            self.test.assertEqual(node.pid, self.cluster.born[name], f"{name} died\n{self.cluster.last_words()}")
            self.test.assertTrue(http.eventually(node.is_ready, within=30), f"{name} is not ready")
            for line in node.log_since(self.logs[name]).splitlines():
                low = line.lower()
                if ("[error]" in low or "[critical]" in low or "sanitizer" in low or "runtime error" in low) and not any(
                        text in line for text in allowed_errors):
                    self.test.fail(f"an error in the log of {name}: {line}")
