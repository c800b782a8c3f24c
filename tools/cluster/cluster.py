#!/usr/bin/env python3
"""seckill beyond one machine, on one machine: engines, nginx, two api and two worker nodes, all on free loopback ports.

Usage (the Makefile's cluster targets call these):
  tools/cluster/cluster.py up     --folder DIR --binary FILE [--rabbit 1|3]   start, print what runs where, and return
  tools/cluster/cluster.py demo   --folder DIR [-- more words]                a crowd and the verdict, against what runs
  tools/cluster/cluster.py status --folder DIR
  tools/cluster/cluster.py down   --folder DIR                                stop everything and delete its data
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import engines  # noqa: E402
from folder import ClusterError, Folder  # noqa: E402
from nodes import Cluster  # noqa: E402
from server import Server  # noqa: E402


def shown(path: Path) -> str:
    """Relative when that is shorter."""
    relative = os.path.relpath(path)
    return relative if len(relative) < len(str(path)) else str(path)


def up(options: argparse.Namespace) -> int:
    begun = time.monotonic()
    folder = Folder(options.folder)
    if folder.exists() and engines.running(folder):
        print(f"cluster: it runs already in {shown(folder.path)}; `make cluster-down` stops it.")
        print_table(folder)
        return 0
    if folder.exists():
        folder.remove_data()
        folder = Folder(options.folder)
    cluster = Cluster(folder, options.binary, rabbit_nodes=options.rabbit)
    cluster.start()
    folder.state["facts"]["binary"] = str(cluster.binary)
    folder.save()
    print(f"cluster: up after {time.monotonic() - begun:.1f} s")
    print_table(folder)
    return 0


def print_table(folder: Folder) -> None:
    engines.print_status(folder)
    ports = folder.state["ports"]
    records = folder.state["servers"]
    print(f"\n  buyers    http://127.0.0.1:{ports['nginx']}/   (nginx; a buyer's login leads to one node)")
    for name, record in records.items():
        if "admin_port" in record:
            print(f"  operator  http://127.0.0.1:{record['admin_port']}/   ({name})")
    print(f"  operator's token  {shown(folder.path / 'operator-token')}")
    print(f"  configuration     {shown(folder.path / 'cluster.yaml')}")
    print(f"  logs              {shown(folder.path / 'log')}")
    print(f"  clients           {shown(folder.path / 'bin')}/redis-cli, rabbitmqctl, mariadb")
    print("\n  make cluster-demo   a crowd buys, then the verdict")
    print("  make cluster-down   stops everything and deletes its data")


def demo(options: argparse.Namespace) -> int:
    folder = Folder(options.folder)
    if not folder.exists() or not Server(folder, "nginx").pid:
        raise ClusterError("no cluster runs; start one with `make cluster`.")
    records = folder.state["servers"]
    words = [folder.state["facts"]["binary"], "demo", "--running", str(folder.path / "cluster.yaml"), "--port",
             str(records["nginx"]["port"]), "--admin-port", str(records["api-1"]["admin_port"]), *options.more]
    return subprocess.run(words, check=False).returncode


def down(folder: Folder) -> int:
    if not folder.exists():
        print(f"cluster: nothing runs in {shown(folder.path)}.")
        return 0
    names = folder.state["servers"]
    cluster = Cluster(folder, Path(folder.state["facts"].get("binary", "seckill")),
                      apis=sum(name.startswith("api-") for name in names), workers=sum(name.startswith("worker-") for name in names))
    cluster.stop()
    folder.remove_data()
    folder.path.rmdir()
    print("cluster: stopped; its data is deleted.")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("up", "demo", "status", "down"))
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--binary", type=Path, default=Path("build/release/seckill"))
    parser.add_argument("--rabbit", type=int, choices=(1, 3), default=1, help="nodes of RabbitMQ")
    mine = sys.argv[1:]
    more: list[str] = []
    if "--" in mine:
        mine, more = mine[:mine.index("--")], mine[mine.index("--") + 1:]
    options = parser.parse_args(mine)
    options.more = more
    try:
        if options.command == "up":
            return up(options)
        if options.command == "demo":
            return demo(options)
        folder = Folder(options.folder)
        if options.command == "down":
            return down(folder)
        if folder.exists():
            print_table(folder)
        else:
            print(f"cluster: nothing runs in {shown(folder.path)}.")
    except ClusterError as error:
        engines.print_failure(error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
