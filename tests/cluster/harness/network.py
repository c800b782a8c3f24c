"""A node of ours in a network namespace of its own, whose cable to the engines can be pulled.

Two virtual cables lead to it: buyers and probes come over the first, the node reaches Redis, RabbitMQ and MariaDB over the
second. Engines listen on loopback only, so a forwarder on each end carries their ports; inside they have the addresses they have
outside, as Redis Cluster's redirections need it."""

import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

from . import paths  # noqa: F401

FORWARD = Path(__file__).resolve().parent / "forward.py"


def missing():
    """Why there can be no namespace here; "" when there can."""
    if os.geteuid() != 0:
        return "a network namespace needs root"
    if not shutil.which("ip"):
        return "the program ip is not installed"
    name = f"seckill-try-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if made.returncode == 0:
        subprocess.run(["ip", "netns", "del", name], check=False)
        return ""
    return f"no network namespace can be made here: {made.stderr.strip()}"


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


class Namespace:
    def __init__(self):
        number = random.randrange(1, 250)
        self.name = f"seckill-{os.getpid()}-{number}"
        self.cables = {"buyers": (f"skb{number}", f"10.213.{number}.1", f"10.213.{number}.2"),
                       "engines": (f"ske{number}", f"10.214.{number}.1", f"10.214.{number}.2")}
        self.forwarders = []

    def make(self):
        ip("netns", "add", self.name)
        ip("-n", self.name, "link", "set", "lo", "up")
        for outside, here, there in self.cables.values():
            inside = outside + "i"
            ip("link", "add", outside, "type", "veth", "peer", "name", inside)
            ip("link", "set", inside, "netns", self.name)
            ip("addr", "add", f"{here}/30", "dev", outside)
            ip("link", "set", outside, "up")
            ip("-n", self.name, "addr", "add", f"{there}/30", "dev", inside)
            ip("-n", self.name, "link", "set", inside, "up")
        return self

    def inside(self, *words):
        """A command line that runs in it."""
        return ["ip", "netns", "exec", self.name, *map(str, words)]

    def carry_engines(self, ports):
        _, here, _ = self.cables["engines"]
        self._forward([], [f"{here}:{port}=127.0.0.1:{port}" for port in ports])
        self._forward(self.inside(), [f"127.0.0.1:{port}={here}:{port}" for port in ports])

    def carry_node(self, ports):
        """The node's own ports are where they would be without a namespace."""
        _, _, there = self.cables["buyers"]
        self._forward(self.inside(), [f"{there}:{port}=127.0.0.1:{port}" for port in ports])
        self._forward([], [f"127.0.0.1:{port}={there}:{port}" for port in ports])

    def _forward(self, prefix, words):
        forwarder = subprocess.Popen([*prefix, sys.executable, str(FORWARD), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                     stderr=subprocess.DEVNULL, text=True)
        self.forwarders.append(forwarder)
        if forwarder.stdout.readline() != "ready\n":
            raise AssertionError(f"the forwarder ended: {words}")

    def cut(self):
        """Nothing passes and nothing is refused: packets to the engines are lost."""
        ip("link", "set", self.cables["engines"][0], "down")

    def mend(self):
        outside, here, _ = self.cables["engines"]
        ip("link", "set", outside, "up")
        subprocess.run(["ip", "addr", "add", f"{here}/30", "dev", outside], capture_output=True, check=False)
        time.sleep(0.1)

    def remove(self):
        for forwarder in self.forwarders:
            forwarder.kill()
            forwarder.wait()
            forwarder.stdout.close()
        for outside, _, _ in self.cables.values():
            subprocess.run(["ip", "link", "del", outside], capture_output=True, check=False)
        subprocess.run(["ip", "netns", "del", self.name], capture_output=True, check=False)
