"""What tests of a broker in trouble share: the product's queues by name, brokers that are killed and emptied, nodes that use it again."""

import re
import shutil
import time

from . import paths  # noqa: F401
from folder import ClusterError
from lib import http

from .amqp import Broker
from .case import ClusterScenario

BROKER = "rabbitmq-1"
PARTITIONS = 16
PARKED = "seckill.parked"
RECOVERY_SECONDS = 60  # within which all has to work again by itself


class RabbitScenario(ClusterScenario):
    broker = BROKER  # that is asked

    def say(self, text):
        print(f"     {self._testMethodName}: {text}", flush=True)

    def hand(self):
        return Broker(self.cluster, self.broker)

    def state_of(self, queue):
        """(messages ready, consumers); None when there is no such queue."""
        with self.hand() as broker:
            return broker.state(queue)

    # --- workers ---
    def stop_workers(self):
        for worker in self.cluster.workers():
            worker.terminate()

    def start_workers(self):
        for worker in self.cluster.workers():
            worker.start(wait=False)
        self.cluster.wait_all_ready()

    # --- queues ---
    def intents_queue(self, lane):
        return f"seckill.intents.{lane % PARTITIONS}"

    def waiting(self):
        """Messages of intents, in whatever queue they are: of partitions and put off."""
        return {name: count for name, count in self.cluster.queues().items() if count and re.search(r"\.(intents|retry)\.", name)}

    def ready(self):
        """{queue of a partition: messages that nobody has in hand}."""
        with self.hand() as broker:
            states = {name: broker.state(name) for name in map(self.intents_queue, range(PARTITIONS))}
        return {name: state[0] for name, state in states.items() if state and state[0]}

    def wait_settled(self, within=RECOVERY_SECONDS):
        """Until no message of intents is left; how long that took."""
        begun = time.monotonic()
        self.assertTrue(http.eventually(lambda: not self.waiting(), within=within, every=0.3), f"left in queues: {self.waiting()}")
        return time.monotonic() - begun

    def parked(self):
        """[(what lies in the parked queue, its reason)]; it stays there."""
        with self.hand() as broker:
            return [(message.body, message.properties.get("type", "")) for message in broker.look(PARKED)]

    def empty_parked(self):
        with self.hand() as broker:
            broker.purge(PARKED)

    # --- the broker ---
    def broker_is_used(self):
        """Every api node publishes, and every partition has its consumer."""
        try:
            with self.hand() as broker:
                states = [broker.state(self.intents_queue(partition)) for partition in range(PARTITIONS)]
            return (all(state and state[1] == 1 for state in states) and
                    all("seckill_publisher_accepting 1" in node.metrics() for node in self.cluster.apis()))
        except (OSError, http.Closed, AssertionError):
            return False

    def wait_broker_used(self, within=RECOVERY_SECONDS):
        """Until nodes publish and consume again; how long that took."""
        begun = time.monotonic()
        self.assertTrue(http.eventually(self.broker_is_used, within=within, every=0.2), f"the broker is not used again\n{self.consumers()}")
        return time.monotonic() - begun

    def consumers(self):
        try:
            return self.cluster.rabbitmqctl("--quiet", "list_consumers", "queue_name", "channel_pid", "active", "prefetch_count")
        except ClusterError as error:
            return f"{error} {error.detail}"

    def kill_and_empty_broker(self):
        """kill -9, and its disk is a new one."""
        server = self.cluster.engine(BROKER)
        server.kill()
        shutil.rmtree(self.cluster.machine.folder.path / "rabbitmq" / "1" / "data")

    # --- orders ---
    def orders(self, sale, states=None):
        listed = f" AND o.state IN ({','.join(map(str, states))})" if states else ""
        return self.cluster.number("SELECT COUNT(*) FROM seckill_order o JOIN sale_item i USING (item_id) "
                                   f"WHERE i.sale = '{sale}'{listed}")

    def metric(self, node, line):
        """The value behind `line`, which is a name with its labels; 0 when it is not there."""
        found = re.search("^" + re.escape(line) + r" (\S+)$", node.metrics(), re.MULTILINE)
        return float(found[1]) if found else 0.0
