"""A whole rush in which every backend dies once, with payments arriving throughout: nothing that was promised vanishes from any list."""

import threading
import time
import uuid

from harness.case import ClusterScenario
from lib import http

TOTAL = 480
STEPS_EVERY = 72  # tickets between two kills
THREADS = 14
BUYERS_EACH = 40
BETWEEN_SECONDS = 0.3  # of one thread's buyers: so that the rush outlasts the kills


class Rush(ClusterScenario):
    def test_FS_35_each_backend_killed_once_in_a_rush_and_no_order_or_payment_vanishes(self):
        """What every buyer was told is kept on the buyers' side and compared with each list at the end."""
        sale = self.front.sale(total=TOTAL)
        clients = [*self.both(), self.front]
        told = {}  # buyer → ticket, of each answer "admitted"
        paid = {}  # ticket → state that the buyer was told
        lock = threading.Lock()

        def rush(first):
            """One of the crowd's threads: buyers one after the other, each patient; every second one pays."""
            turn = first
            for number in range(BUYERS_EACH):
                time.sleep(BETWEEN_SECONDS)
                buyer, request = f"rush-{first}-{number}", str(uuid.uuid4())
                answer = self.persist(lambda c: c.buy(buyer, sale, request_id=request), clients, turn)
                turn += 1
                if answer is None or answer.status not in (200, 202):
                    continue
                ticket = answer.json["ticket"]
                with lock:
                    told[buyer] = ticket
                if number % 2:
                    continue
                # As a page does: pay once the order is there.
                outcome = self.persist(lambda c: c.outcome(buyer, sale, ticket), clients, turn, until=lambda a: a.json.get("state") != "queued")
                if outcome is None or outcome.json.get("state") != "ordered":
                    continue
                done = self.persist(lambda c: c.pay(buyer, ticket), clients, turn)
                if done is not None and done.status == 200:
                    with lock:
                        paid[ticket] = done.json["state"]

        threads = [threading.Thread(target=rush, args=(i,), daemon=True) for i in range(THREADS)]
        for thread in threads:
            thread.start()
        master, _ = self.cluster.redis.master_of(sale, "sku1", 0)
        cuts = [("api-1", self.kill_node), ("mariadb", self.kill_engine), ("worker-1", self.kill_node), (master, self.kill_engine),
                ("rabbitmq-1", self.kill_engine), ("api-2", self.kill_node)]
        for number, (name, kill) in enumerate(cuts):
            wanted = STEPS_EVERY // 2 + number * STEPS_EVERY
            http.eventually(lambda: len(told) >= wanted, within=60)
            begun, before = time.monotonic(), len(told)
            kill(name)
            print(f"{name} killed after {before} tickets, back after {time.monotonic() - begun:.1f} s", flush=True)
        for thread in threads:
            thread.join(180)
            self.assertFalse(thread.is_alive(), "the rush hangs")
        self.cluster.wait_all_ready()
        self.accepted[sale] = list(told.items())
        print(f"{len(told)} tickets, {len(paid)} paid", flush=True)
        self.assertGreater(len(told), TOTAL * 3 // 4, "too few were served: the test proves little")
        self.check_at_quiet(sale, within=180)
        self.compare(sale, told, paid)

    def persist(self, call, clients, turn, until=None, within=120):
        """Asks node after node until one answers for good; None when none did."""
        end = time.monotonic() + within
        while time.monotonic() < end:
            try:
                answer = call(clients[turn % len(clients)])
                if answer.status not in (429, 502, 503, 504) and (until is None or until(answer)):
                    return answer
            except (OSError, http.Closed):
                pass
            turn += 1
            time.sleep(0.15)
        return None

    def kill_node(self, name):
        node = self.cluster.node(name)
        node.kill()
        time.sleep(1)
        node.start()

    def kill_engine(self, name):
        self.cluster.engine(name).kill()
        time.sleep(5)  # Redis' replica is promoted meanwhile
        self.cluster.start_engine(name)
        if name.startswith("redis"):
            self.cluster.wait_redis_whole()

    def compare(self, sale, told, paid):
        """Every ticket and payment of the buyers' log in each list: MariaDB, the desk's, the buyer's own, and by ticket."""
        rows = self.cluster.sql("SELECT HEX(o.ticket), o.buyer, o.state FROM seckill_order o JOIN sale_item i USING (item_id) "
                                f"WHERE i.sale = '{sale}'")
        by_buyer = {buyer: int(state) for _, buyer, state in rows}
        listed, before = {}, 0
        while True:
            page = self.cluster.at("api-2").admin("GET", f"/admin/v1/orders?sale={sale}&limit=200" + (f"&before={before}" if before else ""))
            self.assertEqual(page.status, 200, page)
            listed |= {order["ticket"]: order for order in page.json["orders"]}
            before = page.json.get("next", 0)
            if not before:
                break
        lost = {buyer: ticket for buyer, ticket in told.items() if buyer not in by_buyer or ticket not in listed}
        self.assertEqual(lost, {}, "accepted tickets without a row or not on the desk's list")
        for index, (buyer, ticket) in enumerate(told.items()):
            client = self.both()[index % 2]
            mine = client.orders(buyer, sale)
            self.assertEqual([order["ticket"] for order in mine if order["state"] not in ("failed",)], [ticket], f"{buyer}: {mine}")
            one = client.get(f"/api/v1/orders/{ticket}", buyer)
            self.assertEqual((one.status, one.json["ticket"], one.json["state"]), (200, ticket, listed[ticket]["state"]), one)
        for ticket, state in paid.items():
            self.assertEqual((state, listed[ticket]["state"]), ("paid", "paid"), listed[ticket])
        payments = self.cluster.number("SELECT COUNT(*) FROM payment p JOIN seckill_order o USING (order_id) JOIN sale_item i USING (item_id) "
                                       f"WHERE i.sale = '{sale}' AND p.state = 2")
        self.assertEqual(payments, sum(order["state"] == "paid" for order in listed.values()))
        self.assertGreaterEqual(payments, len(paid))
