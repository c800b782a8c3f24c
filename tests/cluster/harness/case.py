"""The base of every cluster scenario. Tests share one cluster while it stays healthy; a test that fails, or whose class says
`own_cluster`, leaves none behind, and the next one starts afresh."""

import collections
import unittest
import uuid

from . import paths  # noqa: F401
from lib import http

from .checks import Checks
from .cluster import Cluster

_shared: Cluster | None = None
_own: Cluster | None = None  # of the test that runs


def short(test):
    """Marks a test that belongs to the short set, which every change runs."""
    test.is_short = True
    return test


def end_shared():
    global _shared
    if _shared:
        cluster, _shared = _shared, None
        cluster.stop()


def end_all():
    """Also what a test that was interrupted leaves behind."""
    global _own
    if _own:
        cluster, _own = _own, None
        cluster.discard()
    end_shared()


class ClusterScenario(unittest.TestCase):
    own_cluster = None  # a dict: arguments of a Cluster that only this test uses
    allowed_errors = ()  # substrings of error lines that this scenario provokes

    def setUp(self):
        global _shared, _own
        if self.own_cluster is not None:
            end_shared()
            self.cluster = _own = Cluster(**self.own_cluster).start()
        else:
            if _shared is None:
                _shared = Cluster().start()
            self.cluster = _shared
        self.front = self.cluster.front
        self.checks = Checks(self, self.cluster)
        self.accepted = collections.defaultdict(list)  # sale → (buyer, ticket) of every answer admitted or replayed

    def tearDown(self):
        global _shared, _own
        result = self._outcome.result  # the test's own failure is told before tearDown runs
        failed = any(test is self for test, _ in result.failures + result.errors)
        if failed:
            print(self.cluster.last_words(), flush=True)
        if failed or self.own_cluster is not None:
            self.cluster.discard()
            if self.cluster is _shared:
                _shared = None
            if self.cluster is _own:
                _own = None

    # --- what a crowd does ---
    def buy_all(self, buyers, sale, through=None, threads=64, patient=True, sku="sku1", **more):
        """Each buyer buys once, together; (buyer, answer or exception) in order. Accepted tickets are remembered."""
        clients = through or [self.front]

        def job(index, buyer):
            client = clients[index % len(clients)]
            call = client.buy_patiently if patient else client.buy
            return lambda: call(buyer, sale, sku, **more)
        answers = http.together([job(index, buyer) for index, buyer in enumerate(buyers)], threads)
        pairs = list(zip(buyers, answers))
        self.remember(sale, pairs)
        return pairs

    def remember(self, sale, pairs):
        self.accepted[sale] += [(buyer, answer.json["ticket"]) for buyer, answer in pairs
                          if not isinstance(answer, Exception) and answer.status in (200, 202)]

    def reasons(self, pairs):
        return collections.Counter("lost" if isinstance(a, Exception) else a.json.get("reason", a.status) for _, a in pairs)

    def admitted(self, pairs):
        return [(buyer, a) for buyer, a in pairs if not isinstance(a, Exception) and a.status in (200, 202)]

    def both(self):
        """Clients of the two api nodes, past nginx."""
        return [self.cluster.at(name) for name in self.cluster.machine.apis]

    def buyers(self, count, prefix=None):
        prefix = prefix or uuid.uuid4().hex[:6]
        return [f"{prefix}-{number}" for number in range(count)]

    def wait_ordered(self, sale, pairs, within=60):
        """Until every one of these tickets is an order."""
        for buyer, answer in pairs:
            ticket = answer.json["ticket"]
            self.assertTrue(http.eventually(lambda: self.state(buyer, sale, ticket) == "ordered", within=within, every=0.1),
                            f"{ticket} of {buyer} is no order: {self.front.outcome(buyer, sale, ticket)}")

    def state(self, buyer, sale, ticket):
        """queued, ordered, parked or failed; "" when the server cannot tell."""
        return self.front.outcome(buyer, sale, ticket).json.get("state", "")

    def check_at_quiet(self, sale, **more):
        self.checks.at_quiet(sale, self.accepted[sale], allowed_errors=self.allowed_errors, **more)
