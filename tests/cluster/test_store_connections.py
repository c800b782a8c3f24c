"""MariaDB that closes connections, dies, or stands still while a sale runs."""

import collections
import time

from harness.case import ClusterScenario, short
from harness.crowd import Crowd
from lib import http

LEASE_MAX_SECONDS = 30  # a node's copy of an item ends within 3 s; what more is waited for is this machine's load


class Connections(ClusterScenario):
    def connections(self):
        return [number for (number,) in self.cluster.sql("SELECT id FROM information_schema.processlist WHERE user = 'seckill'")]

    def kill_connections(self):
        """All of the product's; one that ends by itself meanwhile is no matter."""
        listed = self.connections()
        for number in listed:
            try:
                self.cluster.sql(f"KILL {number}")
            except Exception as error:  # noqa: BLE001
                self.assertIn("Unknown thread", str(error))
        return len(listed)

    def reconnected(self):
        total = 0.0
        for node in (*self.cluster.apis(), *self.cluster.workers()):
            for line in node.metrics().splitlines():
                if line.startswith("seckill_database_reconnected_total "):
                    total += float(line.split()[1])
        return total

    def test_FS_41_the_first_requests_after_a_quiet_night_work(self):
        """The server drops what was idle for two seconds; then buyers come and nobody waits or sees an error."""
        sale = self.front.sale(total=400, lanes=4)  # plenty in each lane: a unit fetched from another may take its time, and is not meant
        night = self.cluster.sql("SELECT @@GLOBAL.wait_timeout")[0][0]
        first = self.buy_all(self.buyers(20), sale, through=self.both())
        self.wait_ordered(sale, first)
        self.cluster.sql("SET GLOBAL wait_timeout = 2")
        try:
            self.kill_connections()  # what is opened from now on follows the new setting
            second = self.buy_all(self.buyers(20), sale, through=self.both())
            self.wait_ordered(sale, second)
            self.checks.wait_quiet(sale, 60)
            idle = self.cluster.sql("SELECT @@GLOBAL.wait_timeout")[0][0]
            self.assertEqual(idle, "2")
            time.sleep(8)
            before = self.reconnected()
            # Each kind of request, once, impatiently: the first one of a cold pool is a buyer's.
            buyer, answer = first[0]
            ticket = answer.json["ticket"]
            firsts = http.together([lambda c=client, f=f: f(c) for client in self.both() for f in (
                lambda c: c.outcome(buyer, sale, ticket), lambda c: c.get("/api/v1/orders", buyer), lambda c: c.get(f"/api/v1/sales/{sale}"),
                lambda c: c.pay(buyer, ticket), lambda c: c.cancel(second[0][0], second[0][1].json["ticket"]))])
            for one in firsts:
                self.assertNotIsInstance(one, Exception, one)
                self.assertIn(one.status, (200, 409), one)
            pairs = self.buy_all(self.buyers(50), sale, through=self.both(), patient=False)
            self.assertEqual(len(self.admitted(pairs)), 50, self.reasons(pairs))
            self.wait_ordered(sale, pairs)
            self.assertGreater(self.reconnected(), before, "no connection had died: the test proves nothing")
        finally:
            self.cluster.sql(f"SET GLOBAL wait_timeout = {night}")
        self.check_at_quiet(sale)

    @short
    def test_FS_41_connections_killed_in_the_middle_of_orders_lose_none_and_the_pools_stay_small(self):
        sale = self.front.sale(total=200)
        crowd = Crowd(self, sale, self.both(), self.buyers(240), threads=12, within=120)
        killed = 0
        for step in range(6):
            crowd.wait_for(30 * (step + 1), within=120)
            killed += self.kill_connections()
        pairs = crowd.finish()
        reasons = self.reasons(pairs)
        self.assertEqual((len(self.admitted(pairs)), reasons["sold_out"]), (200, 40), reasons)
        self.check_at_quiet(sale)
        open_now = len(self.connections())
        print(f"{killed} connections killed, {open_now} open afterwards", flush=True)
        # write_connections 4, read_connections 2, for operating 2: of four nodes.
        self.assertLessEqual(open_now, 4 * (4 + 2 + 2))


class Outages(ClusterScenario):
    def answers_now(self, sale, count=6):
        """One impatient purchase each by new buyers; nobody may hang or see an error that is none of ours."""
        pairs = self.buy_all(self.buyers(count), sale, through=self.both(), patient=False)
        for _, answer in pairs:
            self.assertNotIsInstance(answer, Exception, f"a request hung or was cut off: {answer}")
            self.assertIn((answer.status, answer.json["reason"]), ((202, "admitted"), (503, "busy"), (409, "sold_out")), answer)
        return self.reasons(pairs)

    def outage(self, total, stop, start, down):
        """A crowd buys; the database goes; admissions turn busy; it comes back; all goes on by itself."""
        sale = self.front.sale(total=total)
        crowd = Crowd(self, sale, self.both(), self.buyers(total + 60), threads=12, within=150)
        crowd.wait_for(total // 4)
        stopped_at = time.monotonic()
        stop()
        seen = collections.Counter()

        def all_busy():
            now = self.answers_now(sale)
            seen.update(now)
            return set(now) == {"busy"}
        self.assertTrue(http.eventually(all_busy, within=LEASE_MAX_SECONDS, every=0.2), f"admissions go on without the database: {seen}")
        print(f"busy {time.monotonic() - stopped_at:.1f} s after the database went; before that {dict(seen)}", flush=True)
        while time.monotonic() - stopped_at < down:
            self.assertEqual(set(self.answers_now(sale)), {"busy"})
            time.sleep(0.5)
        for node in self.cluster.apis():
            body = http.once(node.admin_port, "GET", "/readyz", timeout=15)
            self.assertEqual(body.status, 503, body)
            self.assertIn(b"database", body.body)
        start()
        back_at = time.monotonic()
        pairs = crowd.finish()
        print(f"all answered {time.monotonic() - back_at:.1f} s after it came back", flush=True)
        self.assertFalse([pair for pair in pairs if isinstance(pair[1], Exception)], self.reasons(pairs))
        # Those who tried once during the outage may hold units too: the sale as a whole sells out exactly.
        rest = self.buy_all(self.buyers(40), sale, through=self.both())
        self.assertIn("sold_out", self.reasons(rest))
        self.check_at_quiet(sale)
        self.assertEqual(self.cluster.number("SELECT SUM(o.units) FROM seckill_order o JOIN sale_item i USING (item_id) "
                                             f"WHERE i.sale = '{sale}' AND o.state IN (1, 3, 4, 5)"), total)

    def test_FS_41_FS_35_a_killed_database_turns_admissions_busy_and_all_resumes_when_it_is_back(self):
        server = self.cluster.engine("mariadb")
        self.outage(160, server.kill, lambda: self.cluster.start_engine("mariadb"), down=10)

    def test_FS_35_a_database_paused_for_15_s_delays_and_loses_nothing(self):
        server = self.cluster.engine("mariadb")
        try:
            self.outage(160, server.pause, server.resume, down=15)
        finally:
            server.resume()

    def test_P9_questions_while_the_database_stands_still_are_answered_in_bounded_time(self):
        """A page that asks again and again must not wait behind everybody else's question, each of which times out by itself."""
        sale = self.front.sale(total=400, lanes=4)
        pairs = self.buy_all(self.buyers(60), sale, through=self.both())
        self.wait_ordered(sale, pairs)
        client = self.cluster.at("api-1")
        server = self.cluster.engine("mariadb")

        def ask(path, buyer):
            begun = time.monotonic()
            # Two readers give up after some ten seconds each; one behind the other it would be a minute and more.
            connection = http.Connection(client.port, timeout=40)
            try:
                return connection.request("GET", path, None, client.login(buyer)).status, time.monotonic() - begun
            finally:
                connection.close()

        jobs = [lambda b=buyer, t=answer.json["ticket"]: ask(f"/api/v1/sales/{sale}/items/sku1/tickets/{t}", b) for buyer, answer in pairs]
        jobs += [lambda b=buyer: ask("/api/v1/orders", b) for buyer, _ in pairs]
        server.pause()
        try:
            answers = http.together(jobs)
            self.assertFalse([answer for answer in answers if isinstance(answer, Exception)], "a question hung")
            self.assertEqual({answer[0] for answer in answers}, {503}, answers)
            # Behind all of these a purchase still learns at once that it is busy.
            begun = time.monotonic()
            last = self.answers_now(sale, count=10)
            print(f"slowest of {len(jobs)} questions {max(answer[1] for answer in answers):.1f} s, ten purchases after them "
                  f"{time.monotonic() - begun:.1f} s: {dict(last)}", flush=True)
        finally:
            server.resume()
        self.wait_ordered(sale, pairs[:3])
        self.check_at_quiet(sale)
