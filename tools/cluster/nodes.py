"""The whole cluster on one machine: engines, nginx, and seckill's own nodes, api and worker. cluster.py is its command line."""

import http.client
import subprocess
from pathlib import Path

import engines
import nginx_server
from folder import ClusterError, Folder, template
from server import Server

ENGINES = ["redis-cluster", "rabbitmq", "mariadb"]
MIGRATE_SECONDS_MAX = 120
READY_SECONDS_MAX = 60


class Cluster:
    """One caller at a time. `config_extra` is more YAML for the nodes' configuration, at its top level."""

    def __init__(self, folder: Folder, binary: Path, *, apis: int = 2, workers: int = 2, rabbit_nodes: int = 1, demo: bool = True,
                 environment: dict[str, str] | None = None, config_extra: str = "") -> None:
        self.folder = folder
        self.binary = binary.resolve()
        self.apis = [f"api-{number}" for number in range(1, apis + 1)]
        self.workers = [f"worker-{number}" for number in range(1, workers + 1)]
        self.rabbit_nodes = rabbit_nodes
        self.demo = demo
        self.environment = environment or {}
        self.config_extra = config_extra

    def start(self) -> None:
        """All of it, each part when what it needs answers. Whatever fails, everything begun is stopped again."""
        if not self.binary.is_file():
            raise ClusterError(f"{self.binary} is not built.")
        try:
            engines.start(self.folder, ENGINES, self.rabbit_nodes, redis_password=True)
            self.configure()
            self.migrate()
            self.start_nodes()
            nginx_server.start(self.folder, {name: self.server(name).record["port"] for name in self.apis})
        except BaseException:
            self.stop(quickly=True)
            raise

    def stop(self, quickly: bool = False) -> None:
        """Nodes and nginx first, so that nothing complains about engines that went away."""
        order = ["nginx", *self.apis, *self.workers]
        for name in order:
            if name in self.folder.state["servers"]:
                (Server.kill if quickly else Server.stop)(self.server(name))
        engines.stop(self.folder, quickly)

    def server(self, name: str) -> Server:
        return Server(self.folder, name)

    @property
    def config(self) -> Path:
        return self.folder.path / "cluster.yaml"

    def configure(self) -> None:
        """cluster.yaml and the secrets it names."""
        def secret(name: str, secret_of: str) -> Path:
            return self.folder.write_private(self.folder.path / name, self.folder.secret(secret_of) + "\n")

        servers = self.folder.state["servers"]

        def addresses(prefix: str) -> str:
            return ", ".join(f"127.0.0.1:{record['port']}" for name, record in servers.items() if name.startswith(prefix))

        for long in ("operator", "login"):
            self.folder.state["secrets"].setdefault(long, self.folder.secret(long + "-a") + self.folder.secret(long + "-b"))
        self.folder.write_private(self.config, template("cluster.yaml", {
            "data": self.folder.sub("seckill"), "demo": "true" if self.demo else "false",
            "operator_token_file": secret("operator-token", "operator"), "login_secret_file": secret("login-secret", "login"),
            "redis_servers": addresses("redis-"), "redis_password_file": secret("redis-password", "redis"),
            "rabbit_servers": addresses("rabbitmq-"),
            "rabbit_password_file": secret("rabbitmq-password", "rabbitmq-seckill"), "mysql_port": servers["mariadb"]["port"],
            "mysql_password_file": secret("mysql-password", "mariadb-seckill"), "extra": self.config_extra}))
        self.folder.save()

    def migrate(self) -> None:
        try:
            ran = subprocess.run([self.binary, "migrate", "--config", self.config], stdin=subprocess.DEVNULL, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=MIGRATE_SECONDS_MAX, check=False)
        except subprocess.TimeoutExpired as error:
            raise ClusterError(f"seckill migrate did not end within {MIGRATE_SECONDS_MAX} s.", str(error.output or "")) from error
        if ran.returncode != 0:
            raise ClusterError("seckill migrate failed.", ran.stdout[-2000:])

    def start_nodes(self) -> None:
        for name in self.workers:
            self.define_node(name, "worker").start()
        for name in self.apis:
            self.define_node(name, "api").start()
        for name in (*self.workers, *self.apis):
            self.wait_ready(name)

    def define_node(self, name: str, role: str, binary: Path | None = None, wrapper: tuple[str, ...] = ()) -> Server:
        """`wrapper`: words before the command line, such as `env`."""
        admin_port = self.folder.port(f"{name}-admin")
        words: list[object] = [*wrapper, binary or self.binary, "serve", "--config", self.config, "--role", role, "--node", name,
                               "--admin-port", admin_port]
        port = admin_port
        if role != "worker":
            port = self.folder.port(name)
            words += ["--port", port]
        server = Server(self.folder, name).define(f"seckill {role} {name}", words, port=port, environment=self.environment)
        server.record["admin_port"] = admin_port
        self.folder.save()
        return server

    def wait_ready(self, name: str, seconds: float = READY_SECONDS_MAX) -> None:
        server = self.server(name)
        server.wait(lambda: is_ready(server.record["admin_port"]), seconds)

    def operator_token(self) -> str:
        return self.folder.secret("operator")

    def url(self) -> str:
        return f"http://127.0.0.1:{self.folder.port('nginx')}/"


def is_ready(admin_port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", admin_port, timeout=3)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except http.client.HTTPException:
        return False
    finally:
        connection.close()
