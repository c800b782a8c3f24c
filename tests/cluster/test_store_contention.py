"""The database under everything at once: landings, payments, cancels and expiries on the same rows, and other people's locks."""

import random
import threading
import time
import uuid

from harness.case import ClusterScenario, short
from harness.database import Session, status
from lib import http


class Contention(ClusterScenario):
    @short
    def test_FS_13_FS_59_landings_payments_and_cancels_at_once_show_no_error_to_a_buyer(self):
        """Each fifth purchase is sent twice; half of the orders are paid, cancelled, or both at the same instant."""
        sale = self.front.sale(total=300, limit=1)
        brief = self.front.sale(total=60, limit=1, pay_window_ms=2_000)
        deadlocks = status(self.cluster, "Innodb_deadlocks")["Innodb_deadlocks"]
        clients = self.both()
        ends = []
        lock = threading.Lock()

        def one(index, buyer):
            at = random.Random(buyer)
            request = str(uuid.uuid4())
            answer = clients[index % 2].buy_patiently(buyer, sale, request_id=request, within=90)
            if index % 5 == 0:
                again = clients[(index + 1) % 2].buy_patiently(buyer, sale, request_id=request, within=90)
                self.assertEqual(again.json.get("ticket"), answer.json.get("ticket"), (answer, again))
            if answer.status not in (200, 202) or index % 2:
                return answer
            ticket = answer.json["ticket"]
            if not http.eventually(lambda: self.state(buyer, sale, ticket) == "ordered", within=90, every=0.1):
                raise AssertionError(f"{ticket} is no order: {self.front.outcome(buyer, sale, ticket)}")
            pay = lambda: self._patiently(lambda: clients[index % 2].pay(buyer, ticket))  # noqa: E731
            cancel = lambda: self._patiently(lambda: clients[(index + 1) % 2].cancel(buyer, ticket))  # noqa: E731
            jobs = at.choice(([pay], [cancel], [pay, cancel], [cancel, cancel], [pay, pay]))
            results = http.together(jobs)
            with lock:
                ends.append((ticket, [job is pay for job in jobs], results))
            return answer

        buyers = self.buyers(360)
        short_lived = self.buyers(60)
        jobs = [lambda i=i, b=b: one(i, b) for i, b in enumerate(buyers)]
        jobs += [lambda b=b: clients[0].buy_patiently(b, brief, within=90) for b in short_lived]
        random.Random(13).shuffle(jobs[:360])
        answers = http.together(jobs, 48)
        pairs = list(zip(buyers, answers[:360]))
        self.remember(sale, pairs)
        self.remember(brief, list(zip(short_lived, answers[360:])))
        for _, answer in [*pairs, *zip(short_lived, answers[360:])]:
            self.assertNotIsInstance(answer, Exception, answer)
            self.assertIn(answer.status, (200, 202, 409), answer)
        for ticket, paid, results in ends:
            for answer in results:
                self.assertNotIsInstance(answer, Exception, (ticket, answer))
                self.assertIn(answer.status, (200, 409), (ticket, answer))
            # FS-59: each order has one winner, whatever came together.
            states = {answer.json.get("state") for answer in results if answer.status == 200}
            self.assertEqual(len(states), 1, f"{ticket} was both paid and cancelled, or neither: {paid} {results}")
        found = status(self.cluster, "Innodb_deadlocks")["Innodb_deadlocks"] - deadlocks
        print(f"deadlocks in the database: {found}; transactions tried again: {self.retried():.0f}", flush=True)
        self.check_at_quiet(sale)
        expired = http.eventually(lambda: self.cluster.number("SELECT COUNT(*) FROM seckill_order o JOIN sale_item i USING (item_id) "
                                                              f"WHERE i.sale = '{brief}' AND o.state = 7") == 60, within=60)
        self.assertTrue(expired, "unpaid orders did not expire")
        self.check_at_quiet(brief)

    def retried(self):
        total = 0.0
        for node in (*self.cluster.apis(), *self.cluster.workers()):
            for line in node.metrics().splitlines():
                if line.startswith("seckill_database_retried_total "):
                    total += float(line.split()[1])
        return total

    def _patiently(self, call, within=60):
        end = time.monotonic() + within
        while True:
            answer = call()
            if answer.status not in (429, 503) or time.monotonic() > end:
                return answer
            time.sleep(0.2)

    def test_FS_13_a_foreign_transaction_that_holds_the_key_and_deadlocks_with_the_landing_costs_only_time(self):
        """Step 3 of the case: the unique key is held by a transaction that rolls back, while its landing and 50 others wait."""
        sale = self.front.sale(total=80, limit=2)
        item = self.checks.items(sale)[0]["id"]
        deadlocks = status(self.cluster, "Innodb_deadlocks")["Innodb_deadlocks"]
        before = self.retried()
        request = str(uuid.uuid4())
        with Session(self.cluster) as other:
            # Heavy, so that the database sacrifices the product's transaction and not this one.
            heavy = ", ".join(["('nobody', 'none', REPEAT('x', 200), 1)"] * 500)
            self.assertEqual(other.run(
                f"BEGIN; INSERT INTO audit (actor, action, detail, made_at) VALUES {heavy}; "
                "INSERT INTO seckill_order (ticket, item_id, buyer, request_id, digest, lane, units, price_minor, amount_minor, currency, "
                "state, reason, admitted_at, landed_at, pay_before, ended_at, fields) VALUES "
                f"(REPEAT('x', 16), {item}, 'held', '{request}', 0, 0, 1, 1, 1, 'CNY', 4, 0, 1, 1, 1, 0, '');"), [])
            held = self.front.buy("held", sale, request_id=request)
            self.assertEqual(held.status, 202, held)
            others = self.buy_all(self.buyers(50), sale, through=self.both())
            self.remember(sale, [("held", held)])
            self.assertEqual(len(self.admitted(others)), 50, self.reasons(others))
            self.wait_for_lock()
            # The landing holds its stock row and waits for the key: wanting all stock rows closes the circle.
            told = other.run(f"SELECT lane FROM lane_stock WHERE item_id = {item} ORDER BY lane FOR UPDATE;", 30)
            self.assertFalse([line for line in told if "ERROR" in line], f"the test's own transaction was the victim: {told}")
            other.run("ROLLBACK;")
        self.wait_ordered(sale, [("held", held), *others], within=90)
        found = status(self.cluster, "Innodb_deadlocks")["Innodb_deadlocks"] - deadlocks
        print(f"deadlocks provoked: {found}; transactions tried again: {self.retried() - before:.0f}", flush=True)
        self.assertGreater(found, 0, "no deadlock came about: the test proves nothing")
        self.check_at_quiet(sale)

    def wait_for_lock(self):
        waits = http.eventually(lambda: self.cluster.number("SELECT COUNT(*) FROM information_schema.INNODB_TRX "
                                                            "WHERE trx_state = 'LOCK WAIT'"), within=30)
        self.assertTrue(waits, "no transaction of the product waits for the key")
