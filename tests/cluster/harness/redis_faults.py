"""What tests of a Redis in trouble share: faults of one server or all, and the proof that everything is on sale again."""

import contextlib
import shutil
import threading
import time
from pathlib import Path

from . import paths  # noqa: F401
import redis_servers
from folder import ClusterError
from lib import http

from .case import ClusterScenario
from .checks import LIVE_STATES
from .crowd import Crowd

KEYS_A_MOVE = 100
RECOVERY_SECONDS = 120
SLOW_SECONDS = 10
ENDINGS = ("stock", "marks", "tickets", "intents", "ages", "transfers", "spent", "spent_at")


class TimedCrowd(Crowd):
    """A crowd that comes evenly, and notes how long each buyer was kept waiting and every reason that was heard on the way."""

    def __init__(self, scenario, sale, count, threads=12, within=RECOVERY_SECONDS, prefix=None, pause=0.2):
        self.pause = pause  # of a thread between two buyers, so that the crowd lasts while something breaks
        self.waits = []
        self.heard = set()
        self.samples = 0
        self.oversold = []  # samples that a promise does not allow
        super().__init__(scenario, sale, [Listening(client, self) for client in scenario.both()], scenario.buyers(count, prefix),
                         threads=threads, within=within)

    def _buy(self, *arguments):
        time.sleep(self.pause)
        begun = time.monotonic()
        try:
            return super()._buy(*arguments)
        finally:
            self.waits.append((begun, time.monotonic() - begun))

    def run(self):
        sampler = threading.Thread(target=self._sample, daemon=True)
        sampler.start()
        super().run()

    def _sample(self):
        """P1 at any instant: held + sold within the total, nothing available below 0 or above it, in the rows and on the display."""
        while self.is_alive():
            with contextlib.suppress(OSError, http.Closed, ClusterError, IndexError, TypeError, KeyError):
                least, most, taken, total = map(int, self.scenario.cluster.sql(
                    "SELECT MIN(l.available), SUM(l.available), SUM(l.held + l.sold), MAX(i.total) FROM lane_stock l "
                    f"JOIN sale_item i USING (item_id) WHERE i.sale = '{self.sale}'")[0])
                live = self.scenario.front.show(self.sale)["items"][0]["stock"]["live"]
                shown = live["available"] if live else 0
                self.samples += 1
                if least < 0 or most + taken > total or taken > total or not 0 <= shown <= total:
                    self.oversold.append((least, most, taken, total, shown))
            time.sleep(0.5)

    def finish(self, within=240):
        answers = super().finish(within)
        self.scenario.assertEqual(self.oversold, [], "P1: available at least and in all, held and sold, total, displayed")
        self.scenario.assertGreater(self.samples, 0, "nothing was sampled")
        return answers

    def busy_seconds(self, since=0.0):
        """How long the one who waited longest waited for an answer that is not "busy", of those whose wait ended after `since`."""
        return max((begun + waited - max(begun, since) for begun, waited in self.waits if begun + waited > since), default=0.0)


class Listening:
    """A client whose purchases' reasons a crowd gets to hear."""

    def __init__(self, client, crowd):
        self.client = client
        self.crowd = crowd

    def buy(self, *arguments, **more):
        answer = self.client.buy(*arguments, **more)
        self.crowd.heard.add(answer.json.get("reason", str(answer.status)))
        return answer


class RedisScenario(ClusterScenario):
    # --- servers ---
    def ask(self, name, *words):
        return self.cluster.redis.on(self.cluster.engine(name), *words)

    def masters(self):
        """Names of the servers that own slots now."""
        names = {server.record["port"]: server.name for server in redis_servers.cluster_servers(self.cluster.machine.folder)}
        return sorted({names[nodes[0][1]] for _, _, *nodes in self.cluster.redis.call("", "CLUSTER", "SLOTS")})

    def master(self, sale, lane=0):
        """The name of the lane's master, "" while that cannot be told."""
        try:
            return self.cluster.redis.master_of(sale, "sku1", lane)[0]
        except (OSError, AssertionError, ClusterError, KeyError):
            return ""

    def set_everywhere(self, setting, value, names=None):
        for name in names or self.cluster.redis_names():
            self.ask(name, "CONFIG", "SET", setting, value)

    def kill_all(self):
        for name in self.cluster.redis_names():
            self.cluster.engine(name).kill()

    def start_all(self):
        names = self.cluster.redis_names()
        for name in names:
            self.cluster.engine(name).start()
        for name in names:
            self.cluster.start_engine(name)
        self.cluster.wait_redis_whole(RECOVERY_SECONDS)

    def data(self, name):
        """The folder of a server's append-only files."""
        return self.cluster.machine.folder.path / name / "data" / "appendonlydir"

    def copy_data(self, to):
        """What a backup of every server's disk would have read now."""
        for name in self.cluster.redis_names():
            shutil.copytree(self.data(name), Path(to) / name)

    def put_data_back(self, backup):
        """Of servers that do not run. Their place in the cluster stays what it is."""
        for name in self.cluster.redis_names():
            owner = self.data(name).stat()
            shutil.rmtree(self.data(name))
            if backup is None:
                continue
            shutil.copytree(Path(backup) / name, self.data(name))
            for path in (self.data(name), *self.data(name).iterdir()):
                shutil.chown(path, owner.st_uid, owner.st_gid)

    def move_slot(self, slot, source, target):
        """As an operator reshards: key by key, while buyers are served."""
        port = self.cluster.engine(target).record["port"]
        password = redis_servers.password(self.cluster.machine.folder)
        ids = {name: self.ask(name, "CLUSTER", "MYID") for name in (source, target)}
        self.ask(target, "CLUSTER", "SETSLOT", slot, "IMPORTING", ids[source])
        self.ask(source, "CLUSTER", "SETSLOT", slot, "MIGRATING", ids[target])
        moved = 0
        while keys := self.ask(source, "CLUSTER", "GETKEYSINSLOT", slot, KEYS_A_MOVE):
            for key in keys:
                self.ask(source, "MIGRATE", "127.0.0.1", port, "", 0, 5000, "AUTH", password, "KEYS", key)
                moved += 1
                time.sleep(0.1)  # a real move of many keys takes its time
        for name in (target, source, *(other for other in self.masters() if other not in (source, target))):
            self.ask(name, "CLUSTER", "SETSLOT", slot, "NODE", ids[target])
        return moved

    # --- lanes ---
    def lane_count(self, sale):
        return self.checks.items(sale)[0]["lanes"]

    def keys_of(self, sale, lane):
        return [self.cluster.redis.key(sale, "sku1", lane, ending) for ending in ENDINGS]

    def slot_of(self, sale, lane):
        return self.cluster.redis.call("", "CLUSTER", "KEYSLOT", self.cluster.redis.key(sale, "sku1", lane, "stock"))

    def generations(self, sale):
        return {row["lane"]: row["generation"] for row in self.checks.lane_rows(self.checks.items(sale)[0])}

    def dump(self, keys):
        """Each key's content as Redis stores it, as a statement that brings it back."""
        return {key: self.cluster.redis.call(key, "EVAL", RESTORABLE, 1, key) for key in keys}

    def put_back(self, dumped):
        for key, text in dumped.items():
            self.cluster.redis.call(key, "DEL", key)
            if text:
                self.cluster.redis.call(key, "EVAL", PUT_BACK, 1, key, text)

    def wait_open(self, sale, within=RECOVERY_SECONDS):
        """Until every lane is open again in the store and in Redis, under one generation."""
        def open_again():
            try:
                rows = self.checks.lane_rows(self.checks.items(sale)[0])
                return all(self.is_open(sale, row) for row in rows)
            except (OSError, ClusterError, AssertionError):
                return False
        begun = time.monotonic()
        self.assertTrue(http.eventually(open_again, within=within, every=0.3), f"lanes of {sale} did not open again")
        return time.monotonic() - begun

    def is_open(self, sale, row):
        stock = self.cluster.redis.stock(sale, "sku1", row["lane"])
        return row["state"] == 1 and stock.get("phase") == "open" and stock.get("generation") == row["generation"]

    # --- the end of every scenario ---
    def all_units_sell(self, sale, total, more=8):
        """Nothing is under way, everybody who was told "queued" has his order or his failure, and what is left sells to the last unit."""
        self.wait_quiet(sale)
        item = self.checks.items(sale)[0]
        left = sum(row["available"] for row in self.checks.lane_rows(item))
        pairs = self.buy_all(self.buyers(left + more), sale, through=self.both(), threads=16)
        self.assertEqual(len(self.admitted(pairs)), left, self.reasons(pairs))
        self.assertEqual(self.reasons(pairs)["sold_out"], more, self.reasons(pairs))
        self.check_at_quiet(sale, within=RECOVERY_SECONDS)
        self.assertEqual(sum(self.checks.orders_by_buyer(item, LIVE_STATES).values()), total, "not every unit was sold")

    def wait_quiet(self, sale):
        """As the checks do; what took long is told."""
        begun = time.monotonic()
        last = ""
        while time.monotonic() - begun < RECOVERY_SECONDS and (under_way := self.checks.under_way(sale)):
            last = under_way
            time.sleep(0.3)
        if (waited := time.monotonic() - begun) > SLOW_SECONDS:
            self.say(f"quiet only after {waited:.0f} s; last: {last[:300]}")
        self.checks.wait_quiet(sale, 1)

    def say(self, text):
        print(f"     {self._testMethodName}: {text}", flush=True)


# DUMP's bytes do not survive text; hexadecimal digits do.
RESTORABLE = """local d = redis.call('DUMP', KEYS[1]) if not d then return '' end
return (d:gsub('.', function(c) return string.format('%02x', string.byte(c)) end))"""
PUT_BACK = """return redis.call('RESTORE', KEYS[1], 0, (ARGV[1]:gsub('..', function(h) return string.char(tonumber(h, 16)) end)))"""
