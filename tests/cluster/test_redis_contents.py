"""What Redis remembers is lost, wrong or old in mid-sale: lanes are closed, rebuilt from the rows in MariaDB and from what marks are left,
and nothing that was there before counts again."""

import tempfile
import time

from harness.case import short
from harness.redis_faults import RedisScenario, TimedCrowd
from lib import http

DAY_MS = 86_400_000
BUCKET = {"buyer_bucket_capacity": 3, "buyer_bucket_per_s": 0.2, "buyer_calls_capacity": 100_000, "buyer_calls_per_s": 100_000}


class Scripts(RedisScenario):
    @short
    def test_FS_07_scripts_flushed_and_a_master_restarted_in_mid_sale(self):
        sale = self.front.sale(total=220, lanes=12)
        first = self.buy_all(self.buyers(20), sale, through=self.both())  # a fresh sale's lanes are busy until they are installed
        self.assertEqual(len(self.admitted(first)), 20, self.reasons(first))
        crowd = TimedCrowd(self, sale, 250)
        loads = self.script_loads()
        for done in (10, 30, 50, 70):
            crowd.wait_for(done)
            for name in self.cluster.redis_names():
                self.ask(name, "SCRIPT", "FLUSH", "SYNC" if done % 20 else "ASYNC")
        flushed_at = time.monotonic()
        crowd.wait_for(90)
        self.assertGreater(self.script_loads(), loads, "no script was loaded again: the test proves nothing")
        self.assertFalse(crowd.heard - {"admitted", "replayed", "sold_out"}, f"a flush of scripts was felt by buyers: {crowd.heard}")
        self.say(f"after flushes busy at most {crowd.busy_seconds(flushed_at):.1f} s")
        victim = self.master(sale)
        restarted_at = time.monotonic()
        self.cluster.engine(victim).kill()
        self.cluster.start_engine(victim)
        pairs = crowd.finish()
        self.say(f"master restarted with its data: busy at most {crowd.busy_seconds(restarted_at):.1f} s")
        self.assertEqual(len(self.admitted(pairs)), 200, self.reasons(pairs))
        self.cluster.wait_redis_whole()
        self.all_units_sell(sale, 220)

    def script_loads(self):
        lines = [line for node in self.cluster.apis() for line in node.metrics().splitlines()]
        return sum(float(line.split()[-1]) for line in lines if line.startswith("seckill_redis_script_loads_total"))


class Keys(RedisScenario):
    @short
    def test_FS_45_stock_and_marks_deleted_in_mid_sale_are_rebuilt_from_rows_and_marks(self):
        sale = self.front.sale(total=240, lanes=12)
        earlier = self.buyers(40)
        first = self.buy_all(earlier, sale, through=self.both())
        self.assertEqual(len(self.admitted(first)), 40, self.reasons(first))
        crowd = TimedCrowd(self, sale, 300)
        crowd.wait_for(40)
        before = self.generations(sale)
        logs = {name: self.cluster.node(name).log_size() for name in self.cluster.node_names()}
        lost = ("stock", "marks", "tickets", "intents", "ages", "stock", "marks")
        begun = time.monotonic()
        for lane, ending in enumerate(lost):
            key = self.cluster.redis.key(sale, "sku1", lane, ending)
            self.cluster.redis.call(key, "DEL", key)
        again = self.buy_all(earlier, sale, through=self.both(), within=120.0)  # buyers whose marks may be lost
        self.assertEqual(self.reasons(again), {"limit_reached": 40})
        self.wait_open(sale)
        after = self.generations(sale)
        rebuilt = [lane for lane in range(len(lost)) if after[lane] > before[lane]]
        # "intents" and "ages" are not there while nothing is under way: then nothing was lost.
        for lane in (0, 1, 2, 5, 6):
            self.assertIn(lane, rebuilt, f"lane {lane} lost its {lost[lane]} and was not rebuilt")
        told = "".join(self.cluster.node(name).log_since(offset) for name, offset in logs.items())
        self.assertRegex(told, "is not what its row says|was reported: (missing|closed)")
        pairs = crowd.finish()
        self.say(f"{len(rebuilt)} lanes rebuilt, busy at most {crowd.busy_seconds(begun):.1f} s")
        self.assertEqual(len(self.admitted(pairs)), 200, self.reasons(pairs))
        self.all_units_sell(sale, 240)

    def test_FS_20_keys_of_a_wrong_type_are_busy_and_no_answer_or_log_says_CROSSSLOT(self):
        sale = self.front.sale(total=160, lanes=12)
        self.assertGreater(len({self.master(sale, lane) for lane in range(12)}), 1, "all lanes on one master")
        logs = {name: self.cluster.node(name).log_size() for name in self.cluster.node_names()}
        crowd = TimedCrowd(self, sale, 220)
        crowd.wait_for(40)
        before = self.generations(sale)
        begun = time.monotonic()
        for lane, ending in enumerate(("stock", "marks", "tickets", "transfers")):
            key = self.cluster.redis.key(sale, "sku1", lane, ending)
            self.cluster.redis.call(key, "EVAL", "redis.call('DEL', KEYS[1]) return redis.call('SET', KEYS[1], '1000000')", 1, key)
        self.wait_open(sale)
        after = self.generations(sale)
        for lane in range(4):
            self.assertGreater(after[lane], before[lane], f"lane {lane} was not rebuilt")
        pairs = crowd.finish()
        self.say(f"wrong types: busy at most {crowd.busy_seconds(begun):.1f} s")
        self.assertFalse(crowd.heard - {"admitted", "replayed", "busy", "sold_out"}, crowd.heard)
        buyer, answer = self.admitted(pairs)[0]
        self.wait_ordered(sale, [(buyer, answer)])
        self.assertEqual(self.front.cancel(buyer, answer.json["ticket"]).status, 200)
        self.assertEqual(self.front.outcome(buyer, sale, answer.json["ticket"]).status, 200)
        self.all_units_sell(sale, 160)
        for name, offset in logs.items():
            self.assertNotIn("CROSSSLOT", self.cluster.node(name).log_since(offset), name)
        for name in self.masters():
            self.assertNotIn("CROSSSLOT", self.ask(name, "INFO", "errorstats"), f"{name} was asked for keys of two slots")

    def test_FS_21_marks_outlive_the_sale_and_keys_of_an_older_generation_never_count(self):
        sale = self.front.sale(total=160, lanes=12, lasts=3600.0, pay_window_ms=900_000)
        first = self.buy_all(self.buyers(30), sale, through=self.both())
        self.assertEqual(len(self.admitted(first)), 30, self.reasons(first))
        self.wait_ordered(sale, first)
        self.keys_live_past_the_end(sale)
        lanes = [lane for lane in range(12) if self.master(sale, lane) == self.master(sale, 0)]
        keys = [key for lane in lanes for key in self.keys_of(sale, lane)]
        old = self.dump(keys)

        crowd = TimedCrowd(self, sale, 210)
        crowd.wait_for(50)
        before = self.generations(sale)
        begun = time.monotonic()
        self.ask(self.master(sale, 0), "FLUSHALL", "SYNC")
        rebuilt = http.eventually(lambda: all(self.generations(sale)[lane] > before[lane] for lane in lanes), within=90, every=0.2)
        self.assertTrue(rebuilt, "lanes of the emptied master were not rebuilt")
        self.wait_open(sale)
        self.say(f"FLUSHALL of one master: {len(lanes)} lanes open again after {time.monotonic() - begun:.1f} s")
        between = self.generations(sale)
        self.put_back(old)  # a restored backup of one machine: stock and buyers of a generation ago
        again = self.buy_all([buyer for buyer, _ in first], sale, through=self.both(), within=120.0)
        self.assertEqual(self.reasons(again), {"limit_reached": 30})
        pairs = crowd.finish()
        self.wait_open(sale)
        after = self.generations(sale)
        for lane in lanes:
            self.assertGreater(after[lane], between[lane], f"lane {lane} stood on keys of an older generation")
        self.say(f"old keys put back: busy at most {crowd.busy_seconds(begun):.1f} s over all")
        self.assertEqual(len(self.admitted(pairs)), 130, self.reasons(pairs))
        self.all_units_sell(sale, 160)
        self.keys_live_past_the_end(sale)

        # The next sale of the same SKU has its own stock and knows none of these buyers.
        next_sale = self.front.sale(total=32, lanes=4)
        self.assertEqual(next(item for item in self.front.show(next_sale)["items"])["stock"]["live"]["available"], 32)
        pairs = self.buy_all([buyer for buyer, _ in first], next_sale, through=self.both())
        self.assertEqual(len(self.admitted(pairs)), 30, self.reasons(pairs))
        self.all_units_sell(next_sale, 32)

    def keys_live_past_the_end(self, sale):
        ends_at = self.cluster.number(f"SELECT ends_at FROM sale WHERE id = '{sale}'")
        seen = 0
        for name in self.masters():
            for key in self.ask(name, "KEYS", f"seckill:{{{sale}:*"):
                expires_at = self.ask(name, "PEXPIRETIME", key)
                self.assertGreaterEqual(expires_at, ends_at + 900_000 + 7 * DAY_MS, f"{key} does not outlive its sale")
                self.assertLessEqual(expires_at, ends_at + 900_000 + 8 * DAY_MS, f"{key} stays behind")
                seen += 1
        self.assertGreaterEqual(seen, 30, "stock of twelve lanes, marks and tickets of those with buyers")


class Everything(RedisScenario):
    def test_FS_07_all_of_redis_restarted_emptied_and_put_back_to_an_older_day(self):
        sale = self.front.sale(total=360, lanes=12)
        crowd = TimedCrowd(self, sale, 60)
        with tempfile.TemporaryDirectory(prefix="seckill-backup-") as backup:
            crowd.wait_for(20)
            self.copy_data(backup)
            for fault in (self.restarted, self.emptied_while_it_runs, self.emptied, lambda at: self.older(at, backup)):
                self.join_quietly(crowd)
                crowd = TimedCrowd(self, sale, 60, within=180)
                crowd.wait_for(15)
                begun = time.monotonic()
                what = fault(begun)
                pairs = crowd.finish()
                self.say(f"{what}: busy at most {crowd.busy_seconds(begun):.1f} s")
                self.assertFalse(crowd.heard - {"admitted", "replayed", "busy"}, crowd.heard)
                self.assertEqual(len(self.admitted(pairs)), 60, self.reasons(pairs))
        self.all_units_sell(sale, 360)

    def join_quietly(self, crowd):
        if not crowd.answers:
            crowd.finish()

    def restarted(self, _):
        self.kill_all()
        self.start_all()
        return "all of Redis killed and restarted"

    def emptied_while_it_runs(self, _):
        for name in self.masters():
            self.ask(name, "FLUSHALL", "SYNC")
        return "FLUSHALL everywhere"

    def emptied(self, _):
        self.kill_all()
        self.put_data_back(None)
        self.start_all()
        return "all of Redis killed, its files lost"

    def older(self, _, backup):
        self.kill_all()
        self.put_data_back(backup)
        self.start_all()
        return "all of Redis put back to an older copy of its files"


class Limits(RedisScenario):
    own_cluster = {"config": {"limits": BUCKET}}

    def test_FS_20_a_buyers_rate_is_limited_while_a_master_is_down_and_stock_stays_closed(self):
        sale = self.front.sale(total=96, lanes=12)
        victim = self.master(sale)
        node = self.cluster.at("api-1")
        heard = set()
        self.cluster.engine(victim).pause()
        try:
            for buyer in self.buyers(10):
                begun = time.monotonic()
                answers = http.together([lambda b=buyer: node.buy(b, sale)] * 12, 12)
                self.remember(sale, [(buyer, answer) for answer in answers])
                reasons = [answer.json["reason"] for answer in answers]
                passed = len(reasons) - reasons.count("rate_limited")
                refilled = int((time.monotonic() - begun) * BUCKET["buyer_bucket_per_s"]) + 1
                self.assertTrue(1 <= passed <= BUCKET["buyer_bucket_capacity"] + refilled, reasons)
                self.assertLessEqual(reasons.count("admitted"), 1, "the purchase limit")
                self.assertFalse(set(reasons) - {"admitted", "limit_reached", "busy", "rate_limited"}, reasons)
                heard |= set(reasons)
        finally:
            self.cluster.engine(victim).resume()
        self.assertIn("busy", heard, "no buyer's lane was on the master that is down")
        self.assertIn("admitted", heard, "no buyer's lane was on a master that is up")
        self.cluster.wait_redis_whole()
        self.wait_open(sale)
        self.all_units_sell(sale, 96)
