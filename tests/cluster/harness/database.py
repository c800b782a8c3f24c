"""MariaDB past the product: a session that keeps a transaction open, and counts of what the server was asked to do."""

import subprocess
import threading
import time

from . import paths  # noqa: F401
from mariadb_server import DATABASE
from server import clean_environment


class Session:
    """One connection as root, whose transaction stays open between calls. Statements are ended by the caller with ';'."""

    def __init__(self, cluster):
        folder = cluster.machine.folder
        self.client = subprocess.Popen(["mariadb", f"--defaults-file={folder.path}/mariadb-root.cnf", "--batch", "--skip-column-names",
                                        "--unbuffered", "--force", DATABASE], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT, text=True, env=clean_environment())
        self.marks = 0

    def send(self, statements):
        """Without waiting for the end."""
        self.client.stdin.write(statements + "\n")
        self.client.stdin.flush()

    def run(self, statements, seconds=60):
        """The lines that the statements print, errors included, once all of them have ended."""
        self.marks += 1
        mark = f"-- end of {self.marks} --"
        self.send(f"{statements}\nSELECT '{mark}';")
        lines = []

        def read():
            for line in self.client.stdout:
                if line.rstrip("\n") == mark:
                    return
                lines.append(line.rstrip("\n"))
        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        reader.join(seconds)
        if reader.is_alive():
            raise AssertionError(f"not done after {seconds:.0f} s: {statements}: {lines}")
        return lines

    def close(self):
        self.client.kill()
        self.client.wait()
        self.client.stdin.close()
        self.client.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def status(cluster, *names):
    """Counters of SHOW GLOBAL STATUS."""
    listed = ", ".join(f"'{name}'" for name in names)
    found = {name.lower(): int(value) for name, value in cluster.sql(f"SHOW GLOBAL STATUS WHERE Variable_name IN ({listed})")}
    return {name: found[name.lower()] for name in names}


class Counted:
    """How far counters moved while a block ran. What the nodes ask each second anyway is part of it: `seconds` tells how long it was."""

    def __init__(self, cluster, *names):
        self.cluster = cluster
        self.names = names
        self.moved = {}
        self.seconds = 0.0

    def __enter__(self):
        self.before = status(self.cluster, *self.names)
        self.begun = time.monotonic()
        return self

    def __exit__(self, *_):
        after = status(self.cluster, *self.names)
        self.seconds = time.monotonic() - self.begun
        self.moved = {name: after[name] - self.before[name] for name in self.names}
