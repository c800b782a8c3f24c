"""Redis servers killed, paused, moved and refusing in mid-sale: their lanes are busy for a while, nothing is lost or sold twice, and no
node of ours is restarted for it."""

import contextlib
import shutil
import socket
import threading
import time

from harness.case import short
from harness.checks import EXPIRED, LIVE_STATES, PAID
from harness.redis_faults import RECOVERY_SECONDS, ClusterError, RedisScenario, TimedCrowd
from lib import http


class Failover(RedisScenario):
    @short
    def test_FS_29_a_killed_master_busy_until_its_replica_has_its_lanes(self):
        sale = self.front.sale(total=200, lanes=12)
        crowd = TimedCrowd(self, sale, 260)
        crowd.wait_for(50)
        victim, replicas = self.cluster.redis.master_of(sale, "sku1", 0)
        killed_at = time.monotonic()
        self.cluster.engine(victim).kill()
        promoted = http.eventually(lambda: self.master(sale) in replicas, within=60, every=0.2)
        self.assertTrue(promoted, f"{victim} was not replaced by {replicas}")
        promoted_after = time.monotonic() - killed_at
        self.cluster.start_engine(victim)  # a master without a replica admits nobody: that is what min-replicas-to-write is for
        pairs = crowd.finish()
        self.say(f"promoted after {promoted_after:.1f} s, busy at most {crowd.busy_seconds(killed_at):.1f} s")
        self.assertEqual(len(self.admitted(pairs)), 200, self.reasons(pairs))
        self.all_units_sell(sale, 200)

    def test_FS_29_a_paused_master_that_wakes_up_as_a_replica_or_as_itself(self):
        for seconds in (2.0, 12.0):  # shorter and longer than the cluster waits before it promotes
            sale = self.front.sale(total=120, lanes=12)
            crowd = TimedCrowd(self, sale, 160)
            crowd.wait_for(30)
            victim, _ = self.cluster.redis.master_of(sale, "sku1", 0)
            paused_at = time.monotonic()
            self.cluster.engine(victim).pause()
            time.sleep(seconds)
            self.cluster.engine(victim).resume()
            pairs = crowd.finish()
            after = self.master(sale)
            self.say(f"paused {seconds:.0f} s, {'the same master' if after == victim else 'another master'} afterwards, "
                     f"busy at most {crowd.busy_seconds(paused_at):.1f} s")
            self.assertEqual(len(self.admitted(pairs)), 120, self.reasons(pairs))
            self.cluster.wait_redis_whole()
            self.all_units_sell(sale, 120)

    def test_FS_29_a_replica_that_is_behind_is_made_master_by_hand(self):
        """Marks that the new master never had: their buyers keep their tickets, and cannot buy again."""
        sale = self.front.sale(total=160, lanes=12)
        first = self.buy_all(self.buyers(20), sale, through=self.both())
        self.assertEqual(len(self.admitted(first)), 20, self.reasons(first))
        victim, (replica, *_) = self.cluster.redis.master_of(sale, "sku1", 0)
        lanes = [lane for lane in range(12) if self.master(sale, lane) == victim]
        had = sum(self.cluster.redis.stock(sale, "sku1", lane)["tickets"] for lane in lanes)
        for worker in self.cluster.workers():
            worker.pause()  # what is bought now is in the queue, and in no row
        self.cluster.engine(replica).pause()
        lost = self.buy_all(self.buyers(60), sale, through=self.both(), threads=16)
        self.assertEqual(len(self.admitted(lost)), 60, self.reasons(lost))
        more = sum(self.cluster.redis.stock(sale, "sku1", lane)["tickets"] for lane in lanes) - had
        self.assertGreater(more, 5, "nobody bought on the master that is to be lost")
        self.cluster.engine(victim).kill()
        self.cluster.engine(replica).kill()  # with what it had not read yet
        self.cluster.start_engine(replica)
        killed_at = time.monotonic()
        self.assertTrue(http.eventually(lambda: self.takes_over(sale, replica), within=60, every=0.5), f"{replica} does not take over")
        now = sum(self.cluster.redis.stock(sale, "sku1", lane).get("tickets", 0) for lane in lanes)
        self.assertLess(now, had + more, "the replica was not behind: the test proves nothing")
        for worker in self.cluster.workers():
            worker.resume()
        self.cluster.start_engine(victim)
        again = self.buy_all([buyer for buyer, _ in lost], sale, through=self.both(), threads=16, within=120.0)
        # A rebuild waits for what is in the queue, but not for ever: whoever was quicker than his own ticket has the new one instead.
        self.assertFalse(set(self.reasons(again)) - {"limit_reached", "admitted"}, self.reasons(again))
        self.say(f"a replica {had + more - now} tickets behind made master: {dict(self.reasons(again))}, "
                 f"{time.monotonic() - killed_at:.1f} s until all its buyers were answered")
        self.cluster.wait_redis_whole()
        self.checks.wait_quiet(sale, RECOVERY_SECONDS)
        orders = self.checks.orders_by_buyer(self.checks.items(sale)[0], LIVE_STATES)
        self.assertEqual({buyer: orders.get(buyer) for buyer, _ in lost}, {buyer: 1 for buyer, _ in lost})
        self.all_units_sell(sale, 160)

    def takes_over(self, sale, replica):
        if self.master(sale) == replica:
            return True
        with contextlib.suppress(ClusterError, OSError):
            self.ask(replica, "CLUSTER", "FAILOVER", "TAKEOVER")
        return False

    def test_FS_66_a_lanes_slot_migrates_in_mid_sale_and_its_new_master_is_killed(self):
        sale = self.front.sale(total=240, lanes=12)
        before = self.generations(sale)
        crowd = TimedCrowd(self, sale, 120, pause=0.6)
        crowd.wait_for(30)
        source, _ = self.cluster.redis.master_of(sale, "sku1", 0)
        target = next(name for name in self.masters() if name != source)
        begun = time.monotonic()
        moved = self.move_slot(self.slot_of(sale, 0), source, target)
        self.assertGreaterEqual(moved, 3, "the lane's keys were not there: the test proves nothing")
        self.assertEqual(self.master(sale), target)
        rebuilt = http.eventually(lambda: self.generations(sale)[0] > before[0], within=60, every=0.1)
        self.assertTrue(rebuilt, "the lane that moved was not rebuilt")
        self.wait_open(sale)
        opened_after = time.monotonic() - begun
        pairs = crowd.finish()
        self.say(f"slot migration: {moved} keys, all lanes open {opened_after:.1f} s after it began, "
                 f"busy at most {crowd.busy_seconds(begun):.1f} s")
        self.assertEqual(len(self.admitted(pairs)), 120, self.reasons(pairs))
        crowd = TimedCrowd(self, sale, 200)
        crowd.wait_for(30)
        killed_at = time.monotonic()
        replicas = self.cluster.redis.master_of(sale, "sku1", 0)[1]
        self.cluster.engine(target).kill()
        self.assertTrue(http.eventually(lambda: self.master(sale) in replicas, within=60, every=0.2), f"{target} was not replaced")
        self.cluster.start_engine(target)
        pairs = crowd.finish()
        self.say(f"then its master killed: busy at most {crowd.busy_seconds(killed_at):.1f} s")
        self.assertEqual(len(self.admitted(pairs)), 120, self.reasons(pairs))
        self.assertFalse(crowd.heard - {"admitted", "replayed", "busy", "sold_out"}, crowd.heard)
        self.all_units_sell(sale, 240)


    def test_P5_what_only_replicas_vouched_for_survives_the_loss_of_its_master_and_of_every_node_and_the_broker(self):
        """The broker is silent, so answers rest on WAIT; then whoever remembers the intents in its memory is killed."""
        sale = self.front.sale(total=120, lanes=12)
        rabbit = self.cluster.engine("rabbitmq-1")
        rabbit.pause()
        pairs = self.buy_all(self.buyers(60), sale, through=self.both(), threads=12, patient=False)
        promised = self.admitted(pairs)
        self.say(f"with a silent broker {self.reasons(pairs)}")
        self.assertGreater(len(promised), 12, f"no answer rested on replicas: {self.reasons(pairs)}")
        victim, replicas = self.cluster.redis.master_of(sale, "sku1", 0)
        for node in (*self.cluster.apis(), *self.cluster.workers()):
            node.kill()
        rabbit.kill()
        self.cluster.engine(victim).kill()
        self.assertTrue(http.eventually(lambda: self.master(sale) in replicas, within=60, every=0.2), f"{victim} was not replaced")
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(self.data(victim))  # its disk is lost with it
        self.cluster.start_engine(victim)
        self.cluster.start_engine("rabbitmq-1")
        for node in (*self.cluster.apis(), *self.cluster.workers()):
            node.start(wait=False)
        self.cluster.wait_all_ready()
        begun = time.monotonic()
        self.wait_open(sale)
        self.wait_ordered(sale, promised, within=RECOVERY_SECONDS)
        self.say(f"{len(promised)} promised tickets are orders {time.monotonic() - begun:.1f} s after all nodes are back")
        self.cluster.wait_redis_whole()
        self.all_units_sell(sale, 120)


class Outage(RedisScenario):
    def test_FS_29_all_of_redis_hangs_is_cut_off_and_speaks_garbage_and_no_node_is_restarted(self):
        sale = self.front.sale(total=160, lanes=12)
        first = self.buy_all(self.buyers(20), sale, through=self.both())
        self.assertEqual(len(self.admitted(first)), 20, self.reasons(first))
        before = self.resources()
        names = self.cluster.redis_names()

        for name in names:
            self.cluster.engine(name).pause()
        try:
            slowest = self.refusals(sale, seconds=10)
        finally:
            for name in names:
                self.cluster.engine(name).resume()
        recovered = self.recovery(sale)
        self.say(f"hang of 10 s: slowest refusal {slowest:.2f} s, sells again after {recovered:.1f} s")

        for name in names:
            self.ask(name, "CONFIG", "SET", "timeout", "1")
        time.sleep(3)  # idle connections are closed by the servers
        for name in names:
            self.ask(name, "CONFIG", "SET", "timeout", "0")
            self.ask(name, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        self.say(f"connections cut: sells again after {self.recovery(sale):.1f} s")

        for name in names:
            self.cluster.engine(name).kill()
        try:
            with garbage([self.cluster.engine(name).record["port"] for name in names]) as spoken:
                slowest = self.refusals(sale, seconds=6)
            self.assertGreater(spoken[0], 0, "nobody listened to the garbage")
        finally:
            self.start_all()
        self.say(f"garbage from every server: slowest refusal {slowest:.2f} s, sells again after {self.recovery(sale):.1f} s")

        for name, (descriptors, threads) in self.resources().items():
            self.assertLessEqual(descriptors, before[name][0] + 32, f"descriptors of {name}")
            self.assertLessEqual(threads, before[name][1] + 2, f"threads of {name}")
        self.all_units_sell(sale, 160)

    def resources(self):
        found = {}
        for name in self.cluster.node_names():
            node = self.cluster.node(name)
            with open(f"/proc/{node.pid}/status", encoding="ascii", errors="replace") as status:
                threads = next(int(line.split()[1]) for line in status if line.startswith("Threads:"))
            found[name] = (node.descriptors_open(), threads)
        return found

    def refusals(self, sale, seconds):
        """Buyers who come while no lane can answer: each is told busy, nobody hangs. Returns the slowest answer's seconds."""
        end = time.monotonic() + seconds
        slowest = 0.0
        while time.monotonic() < end:
            def timed(client, buyer):
                begun = time.monotonic()
                answer = client.buy(buyer, sale)
                return answer, time.monotonic() - begun
            buyers = self.buyers(12)
            answers = http.together([lambda i=i, b=b: timed(self.both()[i % 2], b) for i, b in enumerate(buyers)], 12)
            for answer in answers:
                self.assertNotIsInstance(answer, Exception, f"a request got no answer: {answer}")
                self.assertEqual((answer[0].status, answer[0].json["reason"]), (503, "busy"), answer[0])
                slowest = max(slowest, answer[1])
            time.sleep(0.2)
        return slowest

    def recovery(self, sale):
        """Seconds until every lane has admitted somebody again."""
        begun = time.monotonic()
        pairs = self.buy_all(self.buyers(24), sale, through=self.both(), threads=12, within=120.0)
        self.assertEqual(len(self.admitted(pairs)), 24, self.reasons(pairs))
        return time.monotonic() - begun


    def test_FS_29_a_master_lost_with_its_replica_closes_its_own_lanes_only(self):
        sale = self.front.sale(total=240, lanes=12)
        first = self.buy_all(self.buyers(24), sale, through=self.both())
        self.assertEqual(len(self.admitted(first)), 24, self.reasons(first))
        victim, replicas = self.cluster.redis.master_of(sale, "sku1", 0)
        lost = (victim, *replicas)
        for name in lost:
            self.cluster.engine(name).kill()
        time.sleep(8)  # by now the others know that nobody is left to take over
        served, unserved, longest = [], [], 0.0
        for buyer in self.buyers(40):
            begun = time.monotonic()
            answer = self.both()[len(served) % 2].buy(buyer, sale)
            longest = max(longest, time.monotonic() - begun)
            self.remember(sale, [(buyer, answer)])
            (served if answer.status == 202 else unserved).append(buyer)
            self.assertIn(answer.json["reason"], ("admitted", "busy"), answer)
        self.assertGreater(len(served), 8, "lanes of the masters that are there do not sell")
        self.assertGreater(len(unserved), 0, "nobody's lane was on the servers that are lost: the test proves nothing")
        for client in self.both():
            self.assertEqual(http.once(client.admin_port, "GET", "/readyz").status, 200, "a part of the lanes is no reason to turn all away")
        for name in lost:
            self.cluster.start_engine(name)
        self.say(f"{len(served)} of 40 served without one shard, slowest answer {longest:.2f} s; "
                 f"all lanes sell again after {self.recovery(sale):.1f} s")
        self.cluster.wait_redis_whole()
        self.all_units_sell(sale, 240)


    def test_FS_29_orders_that_are_paid_or_expire_while_redis_is_away_are_right_when_it_is_back(self):
        sale = self.front.sale(total=48, lanes=6, pay_window_ms=20_000)
        first = self.buy_all(self.buyers(48), sale, through=self.both())
        self.assertEqual(len(self.admitted(first)), 48, self.reasons(first))
        self.wait_ordered(sale, first)
        self.kill_all()
        paid = first[:12]
        for buyer, answer in paid:
            self.assertEqual(self.front.pay(buyer, answer.json["ticket"]).status, 200, "paying needs no Redis")
        expired = http.eventually(lambda: self.orders_in(sale, EXPIRED) == 36, within=60, every=0.3)
        self.assertTrue(expired, f"{self.orders_in(sale, EXPIRED)} orders expired while Redis was away")
        self.start_all()
        begun = time.monotonic()
        self.wait_open(sale)
        second = self.buy_all(self.buyers(36), sale, through=self.both(), within=120.0)
        self.say(f"36 units that came back meanwhile are sold {time.monotonic() - begun:.1f} s after Redis is back")
        self.assertEqual(len(self.admitted(second)), 36, self.reasons(second))
        for buyer, answer in second:
            ticket = answer.json["ticket"]
            self.assertTrue(http.eventually(lambda b=buyer, t=ticket: self.front.pay(b, t).status == 200, within=30), ticket)
        last = self.front.buy_patiently("one-too-many", sale)
        self.assertEqual(last.json["reason"], "sold_out", last)
        self.check_at_quiet(sale)
        self.assertEqual(self.orders_in(sale, PAID), 48)

    def orders_in(self, sale, state):
        return self.cluster.number("SELECT COUNT(*) FROM seckill_order o JOIN sale_item i USING (item_id) "
                                   f"WHERE i.sale = '{sale}' AND o.state = {state}")


class Refusing(RedisScenario):
    def test_FS_67_masters_that_refuse_writes_make_busy_and_nobody_is_told_sold_out(self):
        sale = self.front.sale(total=220, lanes=12)
        crowd = TimedCrowd(self, sale, 90)
        crowd.wait_for(20)
        masters = self.masters()

        begun = time.monotonic()
        with self.snapshots_that_fail(masters):
            refused = self.buy_all(self.buyers(16), sale, through=self.both(), patient=False)
            self.assertEqual(set(self.reasons(refused)), {"busy"}, self.reasons(refused))
            self.reads_work(sale)
        self.say(f"MISCONF: sells again after {self.first_sale(sale):.1f} s")

        for name in masters:
            self.ask(name, "CONFIG", "SET", "min-replicas-to-write", "3")
        try:
            refused = self.buy_all(self.buyers(16), sale, through=self.both(), patient=False)
            self.assertEqual(set(self.reasons(refused)), {"busy"}, self.reasons(refused))
            self.reads_work(sale)
        finally:
            for name in masters:
                self.ask(name, "CONFIG", "SET", "min-replicas-to-write", "1")
        self.say(f"NOREPLICAS: sells again after {self.first_sale(sale):.1f} s")

        with self.foreign_script(masters):
            refused = self.buy_all(self.buyers(16), sale, through=self.both(), patient=False)
            self.assertEqual(set(self.reasons(refused)), {"busy"}, self.reasons(refused))
            self.reads_work(sale)
        self.say(f"BUSY: sells again after {self.first_sale(sale):.1f} s")

        victim, replicas = self.cluster.redis.master_of(sale, "sku1", 0)
        self.ask(replicas[0], "CLUSTER", "FAILOVER")  # the master becomes a read-only replica, its connections stay
        self.assertTrue(http.eventually(lambda: self.master(sale) == replicas[0], within=30, every=0.1), "no failover")
        self.say(f"READONLY: sells again after {self.first_sale(sale):.1f} s")
        pairs = crowd.finish()
        self.say(f"busy at most {crowd.busy_seconds(begun):.1f} s over all")
        self.assertEqual(len(self.admitted(pairs)), 90, self.reasons(pairs))
        self.assertNotIn("sold_out", crowd.heard)
        self.cluster.wait_redis_whole()
        self.all_units_sell(sale, 220)

    @contextlib.contextmanager
    def foreign_script(self, masters):
        """Somebody's script that does not end: Redis says BUSY to everybody until it is killed."""
        def run(name):
            with contextlib.suppress(ClusterError, OSError):
                self.ask(name, "EVAL", "while true do end", 0)
        for name in masters:
            self.ask(name, "CONFIG", "SET", "busy-reply-threshold", "200")
        scripts = [threading.Thread(target=run, args=(name,), daemon=True) for name in masters]
        for script in scripts:
            script.start()
        time.sleep(1)
        try:
            yield
        finally:
            for name in masters:
                self.ask(name, "SCRIPT", "KILL")
            for script in scripts:
                script.join()
            for name in masters:
                self.ask(name, "CONFIG", "SET", "busy-reply-threshold", "5000")

    @contextlib.contextmanager
    def snapshots_that_fail(self, masters):
        """Background saves end in an error: Redis then refuses every write by itself (MISCONF)."""
        folders = [self.cluster.machine.folder.path / name / "data" / "dump.rdb" / "in the way" for name in masters]
        for folder in folders:
            folder.parent.unlink(missing_ok=True)  # what a replica's first copy left
            folder.mkdir(parents=True)
        try:
            for name in masters:
                self.ask(name, "CONFIG", "SET", "save", "3600 1000000")
                self.ask(name, "BGSAVE")
            for name in masters:
                failed = http.eventually(lambda name=name: "rdb_last_bgsave_status:err" in self.ask(name, "INFO", "persistence"),
                                         within=30)
                self.assertTrue(failed, f"{name} saves although it cannot")
            yield
        finally:
            for folder in folders:
                folder.rmdir()
                folder.parent.rmdir()
            for name in masters:
                self.ask(name, "BGSAVE")
            for name in masters:
                http.eventually(lambda name=name: "rdb_last_bgsave_status:ok" in self.ask(name, "INFO", "persistence"), within=30)
                self.ask(name, "CONFIG", "SET", "save", "")

    def reads_work(self, sale):
        buyer, ticket = self.sold_before(sale)
        self.assertEqual(self.front.outcome(buyer, sale, ticket).status, 200)
        for client in self.both():
            self.assertEqual(client.get(f"/api/v1/sales/{sale}").status, 200)
            self.assertEqual(client.get("/api/v1/orders", buyer).status, 200)

    def sold_before(self, sale):
        """A buyer with an order and its ticket."""
        (buyer, ticket), *_ = self.cluster.sql("SELECT HEX(o.buyer), o.order_id FROM seckill_order o JOIN sale_item i USING (item_id) "
                                               f"WHERE i.sale = '{sale}' LIMIT 1")
        buyer = bytes.fromhex(buyer).decode()
        return buyer, self.front.orders(buyer, sale)[0]["ticket"]

    def first_sale(self, sale):
        """Seconds until buyers in every lane are served."""
        begun = time.monotonic()
        pairs = self.buy_all(self.buyers(16), sale, through=self.both(), within=120.0)
        self.assertEqual(len(self.admitted(pairs)), 16, self.reasons(pairs))
        return time.monotonic() - begun

    def test_FS_57_memory_that_ends_in_mid_sale_takes_no_unit_without_its_buyer(self):
        sale = self.front.sale(total=300, lanes=12, pay_window_ms=900_000)
        first = self.buy_all(self.buyers(30), sale, through=self.both())
        self.assertEqual(len(self.admitted(first)), 30, self.reasons(first))
        self.wait_ordered(sale, first)
        masters = self.masters()
        crowd = None
        try:
            for name in masters:
                used = int(self.info(name, "memory")["used_memory"])
                self.ask(name, "CONFIG", "SET", "maxmemory", used + 30_000)
                self.fill(name)
            crowd = TimedCrowd(self, sale, 80, threads=16)
            self.assertTrue(http.eventually(lambda: "busy" in crowd.heard, within=60), "nobody was told busy: memory did not end")
            for _ in range(20):
                self.whole_lanes(sale)
                time.sleep(0.2)
            refused = self.buy_all(self.buyers(24), sale, through=self.both(), patient=False)
            self.assertTrue(set(self.reasons(refused)) <= {"busy", "admitted"}, self.reasons(refused))
            self.assertGreater(self.reasons(refused)["busy"], 0, "memory did not end")
            counted = [line for node in self.cluster.apis() for line in node.metrics().splitlines()
                       if line.startswith("seckill_purchase_answers_total") and f'"{sale}"' in line and '"busy"' in line]
            self.assertGreater(sum(float(line.split()[-1]) for line in counted), 0, "no metric tells that buyers are turned away")
            # A unit that comes back needs no new memory.
            buyer, answer = first[0]
            self.assertEqual(self.front.cancel(buyer, answer.json["ticket"]).status, 200)
            refused_counts = {name: int(self.info(name, "errorstats").get("errorstat_OOM", "count=0").split("=")[1]) for name in masters}
            self.assertGreater(sum(refused_counts.values()), 0, "no server said OOM: the test proves nothing")
            self.say(f"refused for lack of memory: {refused_counts}")
        finally:
            for name in masters:
                self.ask(name, "CONFIG", "SET", "maxmemory", 0)
            self.drop_junk(masters)
        pairs = crowd.finish()
        self.say(f"busy at most {crowd.busy_seconds():.1f} s")
        self.assertEqual(len(self.admitted(pairs)), 80, self.reasons(pairs))
        self.assertNotIn("sold_out", crowd.heard)
        self.all_units_sell(sale, 300)

    def info(self, name, section):
        lines = self.ask(name, "INFO", section).splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def junk_key(self, name):
        """A key in one of this server's slots."""
        for number in range(1000):
            try:
                self.ask(name, "GET", f"junk:{number}")
                return f"junk:{number}"
            except Exception as error:  # noqa: BLE001
                if "MOVED" not in str(error):
                    raise
        raise AssertionError(f"no key is served by {name}")

    def fill(self, name):
        """Appends until the server refuses."""
        key = self.junk_key(name)
        for _ in range(2000):
            try:
                self.ask(name, "RPUSH", key, "x" * 400)
            except Exception as error:  # noqa: BLE001
                if "OOM" in str(error):
                    return
                raise

    def drop_junk(self, masters):
        for name in masters:
            self.ask(name, "DEL", self.junk_key(name))

    def whole_lanes(self, sale):
        """No counter without its buyer's mark or the reverse, in one look at each lane."""
        for lane in range(self.lane_count(sale)):
            stock, marks = self.cluster.redis.call(
                self.cluster.redis.key(sale, "sku1", lane, "stock"), "EVAL",
                "return {redis.call('HMGET', KEYS[1], 'held', 'sold', 'marks'), redis.call('HLEN', KEYS[2])}", 2,
                *self.keys_of(sale, lane)[:2])
            self.assertEqual(int(stock[2] or 0), marks, f"lane {lane}: {stock}")
            self.assertLessEqual(int(stock[0] or 0) + int(stock[1] or 0), marks, f"lane {lane}: units without a buyer: {stock}")


@contextlib.contextmanager
def garbage(ports):
    """Servers on these ports that answer everything with bytes of no protocol. Yields [how many connections they had]."""
    spoken, stop, threads, listeners = [0], threading.Event(), [], []
    texts = [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"$9999999999\r\n", bytes(range(256)) * 4, b"*-7\r\n+\r\n", b"\r\n" * 50, b"*1000000\r\n"]

    def serve(listener):
        turn = 0
        while not stop.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                continue
            with connection, contextlib.suppress(OSError):
                connection.settimeout(0.5)
                spoken[0] += 1
                connection.recv(4096)
                connection.sendall(texts[turn % len(texts)])
                turn += 1
                connection.recv(4096)
    try:
        for port in ports:
            listener = socket.create_server(("127.0.0.1", port))
            listener.settimeout(0.2)
            listeners.append(listener)
            threads.append(threading.Thread(target=serve, args=(listener,), daemon=True))
            threads[-1].start()
        yield spoken
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        for listener in listeners:
            listener.close()
