"""nginx before the api nodes: balancing by login, tiny refusals, no purchase repeated on another node."""

import os
import socket

from folder import Folder, run_as, template
from server import Server


def start(folder: Folder, node_ports: dict[str, int]) -> Server:
    base = folder.sub("nginx", None)
    for name in ("body", "proxy", "fastcgi", "uwsgi", "scgi"):
        folder.sub(f"nginx/{name}", run_as("www-data"))
    port = folder.port("nginx")
    servers = "\n".join(f"    server 127.0.0.1:{node} max_fails=1 fail_timeout=1s;  # {name}" for name, node in node_ports.items())
    # As root, workers run as the web server's user; otherwise as ourselves, and naming a user is only warned about.
    user = "user www-data;" if os.geteuid() == 0 and run_as("www-data") else ""
    config = folder.write_private(base / "nginx.conf", template("nginx.conf", {
        "folder": base, "log": base / "error.log", "port": port, "servers": servers, "user": user}))
    server = Server(folder, "nginx").define("nginx", ["nginx", "-c", config, "-e", base / "error.log"], port=port, cwd=base,
                                            log=base / "error.log")
    server.start()
    server.wait(lambda: answers(port))
    return server


def answers(port: int) -> bool:
    with socket.create_connection(("127.0.0.1", port), 2):
        return True
