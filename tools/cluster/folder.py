"""One folder of servers: its ports, passwords and processes, remembered in state.json so that a later command finds them.

Everything a cluster writes stands in this folder. Files that hold a secret are readable by their owner alone.
"""

import contextlib
import json
import os
import pwd
import random
import secrets
import shutil
import socket
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TEMPLATES = ROOT / "deploy" / "cluster"
# Below the range from which the kernel takes ports of outgoing connections.
PORTS = range(11000, 32000)
SOCKET_PATH_MAX = 100  # of the 107 bytes of sockaddr_un


class ClusterError(Exception):
    """What a person can act on, in one sentence; `detail` holds a server's own last words."""

    def __init__(self, text: str, detail: str = "") -> None:
        super().__init__(text)
        self.detail = detail


class Folder:
    """Ports and secrets are drawn once and kept; processes are recorded when they start and forgotten when they ended."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self.file = self.path / "state.json"
        self.lock = threading.RLock()
        self.state: dict = {"ports": {}, "secrets": {}, "servers": {}, "facts": {}}
        if self.file.is_file():
            self.state |= json.loads(self.file.read_text())

    def exists(self) -> bool:
        return self.file.is_file()

    def create(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        if len(str(self.path / "mariadb" / "socket")) > SOCKET_PATH_MAX:
            raise ClusterError(f"{self.path} is too long for a socket's path (at most {SOCKET_PATH_MAX} characters); "
                               "choose a shorter folder.")
        self.save()

    def save(self) -> None:
        with self.lock:
            new = self.file.with_suffix(".new")
            self.write_private(new, json.dumps(self.state, indent=1))
            new.replace(self.file)

    def port(self, name: str) -> int:
        """A free loopback port, the same for this name ever after."""
        with self.lock:
            ports = self.state["ports"]
            if name not in ports:
                ports[name] = free_port(set(ports.values()))
            return ports[name]

    def redraw_ports(self) -> None:
        """Before a start from nothing: another program may have taken what was free last time."""
        with self.lock:
            self.state["ports"].clear()

    def secret(self, name: str) -> str:
        """A random password, the same for this name ever after."""
        with self.lock:
            return self.state["secrets"].setdefault(name, secrets.token_urlsafe(18))

    def sub(self, name: str, user: str | None = None) -> Path:
        """A subfolder, owned by the user who will run there."""
        path = self.path / name
        path.mkdir(parents=True, exist_ok=True)
        give(path, user)
        if user:
            check_reachable(path, user)
        return path

    def write_private(self, path: Path, text: str, user: str | None = None) -> Path:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
            out.write(text)
        give(path, user)
        return path

    def write_script(self, name: str, text: str) -> Path:
        path = self.sub("bin") / name
        self.write_private(path, f"#!/bin/sh\n{text}\n")
        path.chmod(0o700)
        return path

    def remove_data(self) -> None:
        """Deletes what servers wrote; the folder stays."""
        for child in self.path.iterdir() if self.path.is_dir() else ():
            if child.is_dir() and not child.is_symlink():
                shutil.rmtree(child, ignore_errors=True)
            else:
                child.unlink(missing_ok=True)


def free_port(taken: set[int]) -> int:
    for _ in range(2000):
        port = random.choice(PORTS)
        if port in taken:
            continue
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise ClusterError("no free loopback port was found between 11000 and 32000.")


def template(name: str, values: dict[str, object]) -> str:
    """A file of deploy/cluster with each @word@ replaced. A word without a value is a mistake."""
    text = (TEMPLATES / name).read_text()
    for word, value in values.items():
        text = text.replace(f"@{word}@", str(value))
    left = [piece for piece in text.split("@")[1::2] if piece.isidentifier()]
    if left:
        raise ClusterError(f"deploy/cluster/{name}: no value for @{left[0]}@.")
    return text


def run_as(user: str) -> str | None:
    """The server's own user when we are root and it exists, else ourselves (None)."""
    if os.geteuid() != 0:
        return None
    try:
        pwd.getpwnam(user)
    except KeyError:
        return None
    return user


def give(path: Path, user: str | None) -> None:
    if user and os.geteuid() == 0:
        entry = pwd.getpwnam(user)
        os.chown(path, entry.pw_uid, entry.pw_gid)


def check_reachable(path: Path, user: str) -> None:
    """A server with a user of its own must be able to walk to its folder."""
    entry = pwd.getpwnam(user)
    for parent in path.parents:
        mode = parent.stat()
        open_to_all = mode.st_mode & 0o001
        own = mode.st_uid == entry.pw_uid or mode.st_gid == entry.pw_gid
        if not open_to_all and not own:
            raise ClusterError(f"user '{user}' cannot enter {parent}; choose a folder whose parents are open (mode 755).")
