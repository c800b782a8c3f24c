"""A whole cluster under test: engines, nginx and nodes of the real binary, and what a test does to them.

Buyers speak to nginx (`cluster.front`) or to one node (`cluster.at("api-2")`); both are the black-box suite's own client.
"""

import json
import os
import shutil
import tempfile
import time
from pathlib import Path

from . import paths  # noqa: F401
import engines
import mariadb_server
import rabbit_servers
import redis_servers
from folder import ClusterError, Folder
from lib import http, login
from lib.case import UNLIMITED
from lib.server import BINARY, Server as Client
from nodes import Cluster as Machine
from server import Server as Process

from .redis_view import RedisView

NODES_MAX_SECONDS = 90
LAST_LOG_BYTES = 3000


def missing() -> list[str]:
    """Programs of the engines that are not installed: then there is nothing to test here."""
    nginx = [] if shutil.which("nginx", path=engines.PATH) else ["nginx"]
    return engines.missing_programs(["redis-cluster", "rabbitmq", "mariadb"]) + nginx


class Front(Client):
    """The black-box suite's client, pointed at a running node or at nginx, with this cluster's secrets."""

    def __init__(self, port, admin_port, login_secret, operator_token):  # noqa: super's starts a server of its own
        self.port = port
        self.admin_port = admin_port
        self.login_secret = login_secret
        self.operator_token = operator_token

    def login(self, buyer, **kwargs):
        return {"Authorization": "Bearer " + login.token(self.login_secret, buyer, **kwargs)}

    def admin(self, method, path, body=None, token=None):
        return super().admin(method, path, body, token or self.operator_token)


class Node:
    """One process of ours. A restart is remembered, so that the check for surprise deaths knows of it."""

    def __init__(self, cluster, name):
        self.cluster = cluster
        self.name = name
        self.process = Process(cluster.machine.folder, name)

    @property
    def pid(self):
        return self.process.pid

    @property
    def port(self):
        return self.process.record["port"]

    @property
    def admin_port(self):
        return self.process.record["admin_port"]

    def kill(self):
        """kill -9, at any moment."""
        self.process.kill()

    def terminate(self, seconds=40):
        """SIGTERM, and the end of the process."""
        self.process.stop(seconds)

    def pause(self):
        self.process.pause()

    def resume(self):
        self.process.resume()

    def start(self, wait=True):
        self.process.start()
        self.cluster.born[self.name] = self.pid
        if wait:
            self.cluster.machine.wait_ready(self.name, NODES_MAX_SECONDS)

    def restart(self, wait=True):
        self.kill()
        self.start(wait)

    def is_ready(self):
        try:
            return http.once(self.admin_port, "GET", "/readyz", timeout=5).status == 200
        except (OSError, http.Closed):
            return False

    def metrics(self):
        return http.once(self.admin_port, "GET", "/metrics").body.decode()

    def descriptors_open(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def log_size(self):
        return self.process.log.stat().st_size if self.process.log.exists() else 0

    def log_since(self, offset):
        with open(self.process.log, "rb") as file:
            file.seek(offset)
            return file.read().decode(errors="replace")


class Cluster:
    def __init__(self, apis=2, workers=2, rabbit_nodes=1, config=None, binary=None):
        self.home = Path(tempfile.mkdtemp(prefix="seckill-cluster-"))
        self.home.chmod(0o755)  # servers with users of their own must get in
        lines = "\n".join(f"{key}: {json.dumps(value)}" for key, value in {"limits": UNLIMITED, **(config or {})}.items())
        self.machine = Machine(Folder(self.home / "c"), Path(binary or BINARY), apis=apis, workers=workers, rabbit_nodes=rabbit_nodes,
                               environment={"ASAN_OPTIONS": "quarantine_size_mb=8", "UBSAN_OPTIONS": "print_stacktrace=1"},
                               config_extra=lines)
        self.born = {}
        self.broker_asked = None  # the node of RabbitMQ that rabbitmqctl asks; None: the first

    # --- life ---
    def start(self):
        try:
            self.machine.start()
        except ClusterError as error:
            raise AssertionError(f"{error}\n{error.detail}") from error
        self.born = {name: self.node(name).pid for name in self.node_names()}
        return self

    def stop(self):
        try:
            self.machine.stop()
        finally:
            if not os.environ.get("SECKILL_KEEP_CLUSTER"):
                shutil.rmtree(self.home, ignore_errors=True)

    def discard(self):
        """The end of a cluster that a failed test left in an unknown state."""
        self.machine.stop(quickly=True)
        if not os.environ.get("SECKILL_KEEP_CLUSTER"):
            shutil.rmtree(self.home, ignore_errors=True)

    # --- nodes ---
    def node_names(self):
        return [*self.machine.apis, *self.machine.workers]

    def node(self, name):
        return Node(self, name)

    def apis(self):
        return [self.node(name) for name in self.machine.apis]

    def workers(self):
        return [self.node(name) for name in self.machine.workers]

    def wait_all_ready(self):
        for name in self.node_names():
            self.machine.wait_ready(name, NODES_MAX_SECONDS)

    # --- buyers and the operator ---
    def at(self, name):
        """A client of one api node."""
        node = self.node(name)
        return Front(node.port, node.admin_port, self.machine.folder.secret("login"), self.machine.operator_token())

    @property
    def front(self):
        """A client of nginx; the operator's calls go to api-1."""
        client = self.at("api-1")
        client.port = self.machine.folder.port("nginx")
        return client

    # --- engines ---
    def engine(self, name):
        """A server process: redis-1 … redis-6, rabbitmq-1, mariadb, nginx, epmd."""
        return Process(self.machine.folder, name)

    def redis_names(self):
        return [server.name for server in redis_servers.cluster_servers(self.machine.folder)]

    @property
    def redis(self):
        return RedisView(self.machine.folder)

    def sql(self, statement, account="root"):
        """Rows of the product's database, as lists of text."""
        return mariadb_server.sql(self.machine.folder, statement, mariadb_server.DATABASE, account)

    def number(self, statement):
        return int(self.sql(statement)[0][0])

    def rabbitmqctl(self, *words):
        return rabbit_servers.control(self.machine.folder, *words, node=self.broker_asked)

    def queues(self):
        """{queue: messages ready and unacknowledged}."""
        lines = self.rabbitmqctl("--quiet", "--no-table-headers", "list_queues", "name", "messages").splitlines()
        return {name: int(count) for name, count in (line.split() for line in lines if line.strip()) if count.isdigit()}

    def wait_redis_whole(self, seconds=60):
        redis_servers.wait_whole(self.machine.folder, seconds)

    def restart_engine(self, name, down=0.0):
        """Stops a server as an operator would and starts it again on its own data; returns when it answers."""
        self.engine(name).stop()
        time.sleep(down)
        self.start_engine(name)

    def start_engine(self, name):
        server = self.engine(name).start()
        folder = self.machine.folder
        if name.startswith("redis"):
            server.wait(lambda: redis_servers.pings(folder, server))
        elif name.startswith("rabbitmq"):
            server.wait(lambda: rabbit_servers.logs_in(folder, server.record["port"]), 90)
        elif name == "mariadb":
            server.wait(lambda: mariadb_server.sql(folder, "SELECT 1") == [["1"]])

    def last_words(self):
        """For a failed test: how each node's log ends."""
        texts = []
        for name in self.node_names():
            node = self.node(name)
            text = node.log_since(max(0, node.log_size() - LAST_LOG_BYTES)) if node.process.log.exists() else ""
            texts.append(f"--- {name} ({'running' if node.pid else 'NOT running'})\n{text}")
        return "\n".join(texts)
