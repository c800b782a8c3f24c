"""MariaDB: one server with the product's user (one database) and a tests' user (databases named seckill_test_…)."""

import subprocess
from pathlib import Path

from folder import ClusterError, Folder, run_as, template
from server import Server, clean_environment

INSTALL_SECONDS_MAX = 60
DATABASE = "seckill"
TESTER = "seckill_tester"
# What serving and `seckill migrate` need, and nothing more.
PRIVILEGES = "SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP, INDEX, REFERENCES"


def start(folder: Folder) -> None:
    user = run_as("mysql")
    base = folder.sub("mariadb", user)
    data = base / "data"
    port = folder.port("mariadb")
    config = folder.write_private(base / "my.cnf", template("my.cnf", {
        "port": port, "data": data, "socket": base / "socket", "pid": base / "pid", "temporary": folder.sub("mariadb/tmp", user),
        "init": base / "init.sql"}), user)
    if not (data / "mysql").is_dir():
        install(folder, data, config, user)
    # Runs at each start; what stands in it may run again.
    folder.write_private(base / "init.sql", accounts(folder), user)
    server = Server(folder, "mariadb").define("MariaDB", ["mariadbd", f"--defaults-file={config}"], port=port, cwd=base, user=user)
    server.start()
    for name, account, secret in (("root", "root", "mariadb-root"), ("seckill", "seckill", "mariadb-seckill"),
                                  ("tester", TESTER, "mariadb-tester")):
        folder.write_private(folder.path / f"mariadb-{name}.cnf",
                             f"[client]\nuser={account}\npassword={folder.secret(secret)}\nprotocol=tcp\nhost=127.0.0.1\nport={port}\n")
    server.wait(lambda: sql(folder, "SELECT 1") == [["1"]])
    folder.write_script("mariadb", f'exec mariadb --defaults-file="{folder.path}/mariadb-root.cnf" "$@"')


def install(folder: Folder, data: Path, config: Path, user: str | None) -> None:
    command = ["mariadb-install-db", f"--defaults-file={config}", f"--datadir={data}", "--skip-test-db", "--skip-name-resolve",
               "--auth-root-authentication-method=normal"]
    if user:
        command.append(f"--user={user}")
    ran = subprocess.run([*command, "--skip-log-error"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                         timeout=INSTALL_SECONDS_MAX, env=clean_environment(), check=False)
    if ran.returncode != 0:
        raise ClusterError("mariadb-install-db failed.", (ran.stdout + ran.stderr)[-1500:])


def accounts(folder: Folder) -> str:
    """One statement a line, as --init-file wants it."""
    def word(name: str) -> str:
        return folder.secret(f"mariadb-{name}")

    lines = [f"CREATE DATABASE IF NOT EXISTS {DATABASE} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;",
             f"ALTER USER root@localhost IDENTIFIED BY '{word('root')}';",
             f"CREATE OR REPLACE USER root@'127.0.0.1' IDENTIFIED BY '{word('root')}';",
             "GRANT ALL PRIVILEGES ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;"]
    for host in ("localhost", "127.0.0.1"):
        lines += [f"CREATE OR REPLACE USER seckill@'{host}' IDENTIFIED BY '{word('seckill')}';",
                  f"GRANT {PRIVILEGES} ON {DATABASE}.* TO seckill@'{host}';",
                  f"CREATE OR REPLACE USER {TESTER}@'{host}' IDENTIFIED BY '{word('tester')}';",
                  f"GRANT ALL PRIVILEGES ON `seckill\\_test\\_%`.* TO {TESTER}@'{host}';",
                  # To see who waits for whose lock.
                  f"GRANT PROCESS ON *.* TO {TESTER}@'{host}';"]
    return "\n".join(lines) + "\n"


def sql(folder: Folder, statement: str, database: str = "", account: str = "root", seconds: float = 60) -> list[list[str]]:
    """Rows as lists of text; NULL reads as the word NULL. Raises ClusterError with the server's own words."""
    try:
        ran = subprocess.run(["mariadb", f"--defaults-file={folder.path}/mariadb-{account}.cnf", "--batch", "--skip-column-names",
                              "--default-character-set=utf8mb4", *([database] if database else [])], input=statement,
                             capture_output=True, text=True, timeout=seconds, env=clean_environment(), check=False)
    except subprocess.TimeoutExpired as error:
        raise ClusterError(f"MariaDB did not answer within {seconds:.0f} s.") from error
    if ran.returncode != 0:
        raise ClusterError(ran.stderr.strip() or f"mariadb ended with {ran.returncode}.")
    return [line.split("\t") for line in ran.stdout.splitlines()]
