#!/usr/bin/env python3
"""Starts and stops the servers that seckill's cluster mode and its tests use: Redis, Redis Cluster, RabbitMQ, MariaDB.

Usage:
  tools/cluster/engines.py start  --folder DIR [--only redis,redis-cluster,rabbitmq,mariadb] [--rabbit 1|3]
  tools/cluster/engines.py stop   --folder DIR [--keep]      (--keep leaves the logs and data)
  tools/cluster/engines.py status --folder DIR
After `start`, `. DIR/env` tells tests where the servers are, and DIR/bin holds redis-cli, rabbitmqctl and mariadb set for them.
Servers are Debian's, on free loopback ports, with their data in DIR; installed services are not touched.
"""

import argparse
import concurrent.futures
import shutil
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import mariadb_server  # noqa: E402
import rabbit_servers  # noqa: E402
import redis_servers  # noqa: E402
from folder import ClusterError, Folder  # noqa: E402
from server import Server  # noqa: E402

ENGINES = {"redis": ("redis-server", "redis-cli"), "redis-cluster": ("redis-server", "redis-cli"),
           "rabbitmq": ("rabbitmq-server", "epmd"), "mariadb": ("mariadbd", "mariadb", "mariadb-install-db")}
# Brokers after the servers they would wait for, nodes after their port mapper: the reverse order of starting.
PATH = ":".join(("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"))


def missing_programs(engines: list[str]) -> list[str]:
    return sorted({program for engine in engines for program in ENGINES[engine] if not shutil.which(program, path=PATH)})


def start(folder: Folder, engines: list[str], rabbit_nodes: int = 1, redis_password: bool = False) -> None:
    """Starts what is named and waits until each answers. When one does not, all of them are stopped again."""
    if missing := missing_programs(engines):
        raise ClusterError(f"not installed: {', '.join(missing)}; run `make setup-cluster`.")
    if running(folder):
        raise ClusterError(f"servers of {folder.path} are running already; stop them first.")
    folder.redraw_ports()
    folder.state["facts"]["redis_password"] = redis_password
    for name in ("redis", "rabbitmq-seckill", "rabbitmq-administrator", "mariadb-root", "mariadb-seckill", "mariadb-tester"):
        folder.secret(name)
    folder.create()
    work = {"redis": lambda: redis_servers.start_standalone(folder), "redis-cluster": lambda: redis_servers.start_cluster(folder),
            "rabbitmq": lambda: rabbit_servers.start(folder, rabbit_nodes), "mariadb": lambda: mariadb_server.start(folder)}
    try:
        with concurrent.futures.ThreadPoolExecutor(len(work)) as pool:
            for begun in [pool.submit(work[engine]) for engine in engines]:
                begun.result()
    except BaseException:
        stop(folder, quickly=True)
        raise
    write_environment(folder)


def running(folder: Folder) -> list[Server]:
    return [server for server in (Server(folder, name) for name in folder.state["servers"]) if server.pid]


def stop(folder: Folder, quickly: bool = False) -> None:
    """Ends every server of the folder, epmd and whatever they started included."""
    servers = [Server(folder, name) for name in reversed(list(folder.state["servers"]))]
    last = [server for server in servers if server.name == "epmd"]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda server: server.kill() if quickly else server.stop(), [s for s in servers if s not in last]))
    for server in last:
        server.kill()


def write_environment(folder: Folder) -> None:
    ports = {name: record["port"] for name, record in folder.state["servers"].items()}
    words = {}
    if "redis" in ports:
        words["SECKILL_TEST_REDIS"] = f"127.0.0.1:{ports['redis']}"
    if "redis-1" in ports:
        words["SECKILL_TEST_REDIS_CLUSTER"] = ",".join(f"127.0.0.1:{ports[name]}" for name in ports if name.startswith("redis-"))
        if word := redis_servers.password(folder):
            words["SECKILL_TEST_REDIS_PASSWORD"] = word
    if "rabbitmq-1" in ports:
        words["SECKILL_TEST_RABBIT"] = ",".join(f"127.0.0.1:{ports[name]}" for name in ports if name.startswith("rabbitmq-"))
        words["SECKILL_TEST_RABBIT_USER"] = "administrator"
        words["SECKILL_TEST_RABBIT_PASSWORD"] = folder.secret("rabbitmq-administrator")
    if "mariadb" in ports:
        words["SECKILL_TEST_MYSQL"] = f"127.0.0.1:{ports['mariadb']}"
        words["SECKILL_TEST_MYSQL_USER"] = mariadb_server.TESTER
        words["SECKILL_TEST_MYSQL_PASSWORD"] = folder.secret("mariadb-tester")
    folder.write_private(folder.path / "env", "".join(f"export {name}='{value}'\n" for name, value in words.items()))


def environment(folder: Folder) -> dict[str, str]:
    """What DIR/env says, for a process that is started from Python."""
    pairs = (line.removeprefix("export ").partition("=") for line in (folder.path / "env").read_text().splitlines())
    return {name: value.strip("'") for name, _, value in pairs}


def print_status(folder: Folder) -> None:
    for name, record in folder.state["servers"].items():
        pid = Server(folder, name).pid
        print(f"  {record['title']:<32} 127.0.0.1:{record['port']:<6} {f'process {pid}' if pid else 'not running'}")


def print_failure(error: ClusterError) -> None:
    print(f"cluster: {error}", file=sys.stderr)
    if error.detail:
        print("\n".join(f"  | {line}" for line in error.detail.splitlines()), file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("start", "stop", "status"))
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--only", default=",".join(ENGINES), help="comma-separated, default all")
    parser.add_argument("--rabbit", type=int, choices=(1, 3), default=1, help="nodes of RabbitMQ")
    parser.add_argument("--keep", action="store_true", help="stop: leave logs and data")
    options = parser.parse_args()
    engines = [name.strip() for name in options.only.split(",") if name.strip()]
    if unknown := [name for name in engines if name not in ENGINES]:
        parser.error(f"unknown engine '{unknown[0]}'; known: {', '.join(ENGINES)}")
    folder = Folder(options.folder)
    try:
        if options.command == "start":
            begun = time.monotonic()
            if folder.exists() and not running(folder):
                folder.remove_data()
                folder = Folder(options.folder)
            start(folder, engines, options.rabbit)
            print_status(folder)
            print(f"cluster: {len(folder.state['servers'])} servers answer after {time.monotonic() - begun:.1f} s; "
                  f"`. {options.folder}/env` tells tests where they are.")
        elif not folder.exists():
            print(f"cluster: nothing was started in {options.folder}.")
        elif options.command == "status":
            print_status(folder)
        else:
            stop(folder)
            if not options.keep:
                folder.remove_data()
            print(f"cluster: the servers of {options.folder} are stopped.")
    except ClusterError as error:
        print_failure(error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
