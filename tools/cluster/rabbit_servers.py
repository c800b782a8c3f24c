"""RabbitMQ: one node or three, with an epmd, a cookie and a distribution port of their own, all on loopback."""

import base64
import hashlib
import json
import os
import socket
import struct
import subprocess

from folder import ClusterError, Folder, run_as, template
from server import Server, clean_environment

BIN = "/usr/lib/rabbitmq/bin"
LOOPBACK_ONLY = "-kernel inet_dist_use_interface {127,0,0,1}"
START_SECONDS_MAX = 90


def start(folder: Folder, nodes: int) -> None:
    user = run_as("rabbitmq")
    home = folder.sub("rabbitmq", user)
    secret = folder.secret("rabbitmq-cookie")
    cookie = folder.write_private(home / ".erlang.cookie", secret, user)
    cookie.chmod(0o400)
    epmd_port = folder.port("epmd")
    epmd = Server(folder, "epmd").define("epmd (RabbitMQ's port mapper)", ["epmd", "-address", "127.0.0.1", "-port", epmd_port],
                                         port=epmd_port, cwd=home, user=user)
    epmd.start()
    epmd.wait(lambda: listens(epmd_port))
    plugins = folder.write_private(home / "enabled_plugins", "[].\n", user)
    definitions = folder.write_private(home / "definitions.json", json.dumps(definitions_of(folder)), user)
    names = [f"rabbit-{number}@localhost" for number in range(1, nodes + 1)]
    formation = ""
    if nodes > 1:
        formation = "cluster_formation.peer_discovery_backend = classic_config\n" + "".join(
            f"cluster_formation.classic_config.nodes.{number} = {name}\n" for number, name in enumerate(names, 1))
    servers = []
    for number, name in enumerate(names, 1):
        part = f"rabbitmq/{number}"
        base = folder.sub(part, user)
        port = folder.port(f"rabbitmq-{number}")
        config = folder.write_private(base / "rabbitmq.conf", template("rabbitmq.conf", {
            "port": port, "definitions": definitions, "formation": formation}), user)
        environment = erlang_environment(home, epmd_port) | {
            "RABBITMQ_NODENAME": name, "RABBITMQ_CONFIG_FILE": str(config), "RABBITMQ_MNESIA_BASE": str(base / "data"),
            "RABBITMQ_LOG_BASE": str(base / "log"), "RABBITMQ_ENABLED_PLUGINS_FILE": str(plugins),
            "RABBITMQ_DIST_PORT": str(folder.port(f"rabbitmq-{number}-distribution")),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": LOOPBACK_ONLY, "RABBITMQ_CONF_ENV_FILE": str(base / "none"),
            "RABBITMQ_ADVANCED_CONFIG_FILE": str(base / "none"), "RABBITMQ_LOGS": "-",
            "RABBITMQ_FEATURE_FLAGS_FILE": str(base / "feature_flags")}
        folder.sub(f"{part}/log", user)
        server = Server(folder, f"rabbitmq-{number}").define(f"RabbitMQ node {number}", [f"{BIN}/rabbitmq-server"], port=port,
                                                             environment=environment, cwd=base, user=user)
        server.start()
        servers.append(server)
    for server in servers:
        server.wait(lambda server=server: logs_in(folder, server.record["port"]), START_SECONDS_MAX)
    write_client(folder, names[0], home, epmd_port, user)
    if nodes > 1:
        control(folder, "await_online_nodes", str(nodes), "--timeout", "60")


def erlang_environment(home: os.PathLike, epmd_port: int) -> dict[str, str]:
    return {"HOME": str(home), "ERL_EPMD_PORT": str(epmd_port), "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_CTL_ERL_ARGS": LOOPBACK_ONLY}


def definitions_of(folder: Folder) -> dict:
    """Users and rights, imported at boot: the server's own user, and an administrator for tests and for looking."""
    def user(name: str, tags: list[str]) -> dict:
        salt = os.urandom(4)
        digest = hashlib.sha256(salt + folder.secret(f"rabbitmq-{name}").encode()).digest()
        return {"name": name, "password_hash": base64.b64encode(salt + digest).decode(),
                "hashing_algorithm": "rabbit_password_hashing_sha256", "tags": tags, "limits": {}}

    def everything(name: str) -> dict:
        return {"user": name, "vhost": "/", "configure": ".*", "write": ".*", "read": ".*"}

    return {"users": [user("seckill", []), user("administrator", ["administrator"])], "vhosts": [{"name": "/"}],
            "permissions": [everything("seckill"), everything("administrator")]}


def listens(port: int) -> bool:
    with socket.create_connection(("127.0.0.1", port), 2):
        return True


def logs_in(folder: Folder, port: int) -> bool:
    """An AMQP 0-9-1 handshake up to Tune: the broker is up and knows our user."""
    with socket.create_connection(("127.0.0.1", port), 5) as broker:
        broker.sendall(b"AMQP\x00\x00\x09\x01")
        if method(broker) != (10, 10):
            return False
        password = folder.secret("rabbitmq-administrator").encode()
        answer = b"\x00administrator\x00" + password
        arguments = (struct.pack(">HHI", 10, 11, 0) + b"\x05PLAIN" + struct.pack(">I", len(answer)) + answer + b"\x05en_US")
        broker.sendall(struct.pack(">BHI", 1, 0, len(arguments)) + arguments + b"\xce")
        return method(broker) == (10, 30)


def method(broker: socket.socket) -> tuple[int, int]:
    header = receive(broker, 7)
    payload = receive(broker, struct.unpack(">I", header[3:7])[0] + 1)
    return struct.unpack(">HH", payload[:4])


def receive(broker: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = broker.recv(count - len(data))
        if not piece:
            raise ConnectionResetError("RabbitMQ closed the connection")
        data += piece
    return data


def write_client(folder: Folder, node: str, home: os.PathLike, epmd_port: int, user: str | None) -> None:
    words = " ".join(f"{name}='{value}'" for name, value in erlang_environment(home, epmd_port).items())
    switch = f"setpriv --reuid {user} --regid {user} --clear-groups " if user else ""
    for tool in ("rabbitmqctl", "rabbitmq-queues"):
        folder.write_script(tool, f'cd "{home}" && exec {switch}env {words} RABBITMQ_NODENAME="${{NODE:-{node}}}" {BIN}/{tool} "$@"')


def control(folder: Folder, *words: str, node: str | None = None, seconds: float = 90) -> str:
    """rabbitmqctl, its output. Raises when it fails."""
    environment = clean_environment() | ({"NODE": node} if node else {})
    try:
        ran = subprocess.run([folder.path / "bin" / "rabbitmqctl", *words], stdin=subprocess.DEVNULL, capture_output=True,
                             text=True, timeout=seconds, env=environment, check=False)
    except subprocess.TimeoutExpired as error:
        raise ClusterError(f"rabbitmqctl {' '.join(words)} did not end within {seconds:.0f} s.") from error
    if ran.returncode != 0:
        raise ClusterError(f"rabbitmqctl {' '.join(words)} failed.", (ran.stdout + ran.stderr)[-1500:])
    return ran.stdout
