"""One server process: started in a session of its own with its output in a log, found again by process id and start time.

A record in the folder's state is all that a later command needs to stop, kill, pause or start it again.
"""

import contextlib
import os
import pwd
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from folder import ClusterError, Folder

STOP_SECONDS = 20
LOG_LINES_SHOWN = 12


class Server:
    """Threads: one caller at a time for one server."""

    def __init__(self, folder: Folder, name: str) -> None:
        self.folder = folder
        self.name = name

    @property
    def record(self) -> dict:
        return self.folder.state["servers"][self.name]

    @property
    def pid(self) -> int | None:
        """Of the running process, None when it has ended or never ran."""
        record = self.folder.state["servers"].get(self.name)
        if not record or not record.get("pid"):
            return None
        return record["pid"] if started_at(record["pid"]) == record["started"] else None

    @property
    def log(self) -> Path:
        return Path(self.record["log"])

    def define(self, title: str, argv: list[object], *, port: int, environment: dict[str, str] | None = None,
               cwd: Path | None = None, user: str | None = None, log: Path | None = None) -> "Server":
        """Says what it is, without starting it."""
        logs = self.folder.sub("log")
        with self.folder.lock:
            self.folder.state["servers"][self.name] = {
                "title": title, "argv": [str(word) for word in argv], "port": port, "environment": environment or {},
                "cwd": str(cwd or self.folder.path), "user": user, "log": str(log or logs / f"{self.name}.log"), "pid": None}
        self.folder.save()
        return self

    def start(self) -> "Server":
        """Starts the process; it may still be on its way up."""
        if self.pid:
            return self
        record = self.record
        identity = {}
        if record["user"]:
            entry = pwd.getpwnam(record["user"])
            identity = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
        output = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            process = subprocess.Popen(record["argv"], cwd=record["cwd"], env=clean_environment() | record["environment"],
                                       stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
                                       umask=0o077, **identity)
        except OSError as error:
            raise ClusterError(f"{record['title']} could not be started: {error.strerror or error}.") from error
        finally:
            os.close(output)
        CHILDREN[process.pid] = process
        with self.folder.lock:
            record["pid"], record["started"] = process.pid, started_at(process.pid)
        self.folder.save()
        return self

    def wait(self, ready: Callable[[], bool], seconds: float = 60) -> None:
        """Until it answers. Raises with the server's last log lines when it ended or did not answer in time."""
        deadline = time.monotonic() + seconds
        problem = ""
        while time.monotonic() < deadline:
            try:
                if ready():
                    return
                problem = ""
            except (OSError, ClusterError, subprocess.SubprocessError) as error:
                problem = f" (last problem: {error})"
            if not self.pid:
                raise ClusterError(f"{self.record['title']} ended while it started.", self.tail())
            time.sleep(0.1)
        raise ClusterError(f"{self.record['title']} did not answer on port {self.record['port']} within {seconds:.0f} s{problem}.",
                           self.tail())

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """SIGTERM and patience, then SIGKILL for it and everything it started."""
        if pid := self.pid:
            self.resume()
            signal_quietly(pid, signal.SIGTERM)
            deadline = time.monotonic() + seconds
            while self.pid and time.monotonic() < deadline:
                time.sleep(0.05)
        self.kill()

    def kill(self) -> None:
        """kill -9 of it and of all it started."""
        record = self.folder.state["servers"].get(self.name)
        if not record or not record.get("pid"):
            return
        pid = record["pid"]
        # A session outlives its leader: the number cannot be given to another process meanwhile.
        if self.pid or members_of_session(pid, record["started"]):
            for _ in range(100):
                left = members_of_session(pid, record["started"])
                if not left:
                    break
                for member in left:
                    signal_quietly(member, signal.SIGKILL)
                time.sleep(0.02)
        reap(pid)
        with self.folder.lock:
            record["pid"] = None
        self.folder.save()

    def pause(self) -> None:
        self.signal_all(signal.SIGSTOP)

    def resume(self) -> None:
        self.signal_all(signal.SIGCONT)

    def signal_all(self, number: int) -> None:
        if pid := self.pid:
            for member in members_of_session(pid, self.record["started"]):
                signal_quietly(member, number)

    def tail(self) -> str:
        try:
            lines = self.log.read_text(errors="replace").splitlines()
        except OSError:
            return ""
        return "\n".join(lines[-LOG_LINES_SHOWN:])


CHILDREN: dict[int, subprocess.Popen] = {}


def reap(pid: int) -> None:
    if child := CHILDREN.get(pid):
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(5)
            del CHILDREN[pid]


def clean_environment() -> dict[str, str]:
    """A server reads its own settings, not its caller's."""
    return {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC"}


def stat_fields(pid: int) -> list[str] | None:
    """The fields of /proc/<pid>/stat behind the name, state first; None for no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


def started_at(pid: int) -> int | None:
    """When a process started, in clock ticks since boot: with its number this names it for good. None for a dead one."""
    if child := CHILDREN.get(pid):
        if child.poll() is not None:
            return None
    fields = stat_fields(pid)
    return int(fields[19]) if fields and fields[0] not in "ZX" else None


def members_of_session(session: int, not_before: int) -> list[int]:
    """The living processes of a session that began with its leader."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (fields := stat_fields(int(entry))):
            if int(fields[3]) == session and fields[0] not in "ZX" and int(fields[19]) >= not_before:
                found.append(int(entry))
    return found


def signal_quietly(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
