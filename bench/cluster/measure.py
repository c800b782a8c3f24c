#!/usr/bin/env python3
"""Figures of cluster mode on real engines, which it starts for itself on free ports and stops again.

Usage: bench/cluster/measure.py [--build DIR] [--quick] [PART…]     parts: lanes broker landing peer admitted failover rebuild
Prints "name value unit" lines, "#" before what is only told, and "name skipped why" for what cannot be measured here.
"""

import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "cluster"))
import engines  # noqa: E402
import mariadb_server  # noqa: E402
import redis_servers  # noqa: E402
from admin import Admin  # noqa: E402
from folder import ClusterError, Folder, free_port  # noqa: E402
from nodes import Cluster  # noqa: E402
from server import Server  # noqa: E402

LANES = 16
LIMITS = "limits: {buyer_bucket_capacity: 1000, buyer_bucket_per_s: 1000, buyer_calls_capacity: 1000, buyer_calls_per_s: 1000}\nlog: {level: warn}"
NGINX_MODULES = "/usr/lib/nginx/modules"
PARTS = {"lanes": ["redis_bytes_per_winner"], "broker": ["intents_confirmed_per_s"],
         "landing": ["orders_landed_per_s", "orders_vs_one_per_tx"], "peer": ["admit_redis_vs_lua_peer"],
         "admitted": ["cluster_admitted_per_s", "redis_calls_per_admission"], "failover": ["rebuild_s", "failover_busy_s"],
         "rebuild": ["rebuild_1m_s"]}


class Failed(Exception):
    pass


class Bench:
    def __init__(self, build: Path, quick: bool, lanes: int) -> None:
        self.build = build
        self.lane_count = lanes
        self.quick = quick
        self.buyers = 0  # numbers given out

    # --- programs ---
    def program(self, folder: str, name: str) -> Path:
        return self.build / "bench" / folder / name

    def run(self, *words: object, environment: dict | None = None, show: bool = True, begun=None) -> dict[str, float]:
        """Runs a benchmark to its end, prints its lines and returns its figures. `begun` is called when logins are over."""
        process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                                   env=os.environ | (environment or {}))
        if begun and process.stdout.readline():
            begun()
        figures = self.read(process, show)
        if process.wait() != 0:
            raise Failed(f"{Path(str(words[0])).name} ended with {process.returncode}")
        return figures

    @staticmethod
    def read(process: subprocess.Popen, show: bool) -> dict[str, float]:
        figures = {}
        for line in process.stdout:
            if show:
                print(line, end="", flush=True)
            words = line.split(" ", 2)
            with contextlib.suppress(ValueError, IndexError):
                figures[words[0]] = float(words[1])
        return figures

    def crowd(self, cluster: "Running", count: int, begun=None, **more: object) -> dict[str, float]:
        """Buyers who were never here before."""
        first, self.buyers = self.buyers, self.buyers + count
        words = [word for name, value in more.items() for word in (f"--{name}", value)]
        return self.run(self.program("cluster", "bench_cluster"), "crowd", "--ports", cluster.ports(), "--secret-file",
                        cluster.login_secret(), "--sale", cluster.sale, "--first", first, "--count", count, *words, show=False,
                        begun=begun)

    # --- parts ---
    def lanes(self) -> None:
        with started(["redis"]) as folder:
            port = folder.state["servers"]["redis"]["port"]
            self.run(self.program("lanes", "bench_lanes"), f"127.0.0.1:{port}", 30_000 if self.quick else 100_000)

    def broker(self) -> None:
        with started(["rabbitmq"]) as folder:
            self.run(self.program("broker", "bench_broker"), 2 if self.quick else 3, environment=engines.environment(folder))

    def landing(self) -> None:
        with started(["mariadb"]) as folder:
            self.run(self.program("landing", "bench_landing"), 0.5 if self.quick else 1, environment=engines.environment(folder))

    def peer(self) -> None:
        if not (Path(NGINX_MODULES) / "ngx_http_lua_module.so").exists():
            print("admit_redis_vs_lua_peer skipped nginx's Lua module is not installed: tools/setup.sh bench-peers")
            return
        with started(["redis", "mariadb"]) as folder, contextlib.ExitStack() as ends:
            configured(folder, self.build, standalone_redis=True)
            redis = Server(folder, "redis")
            port = redis.record["port"]
            count = 60_000 if self.quick else 120_000
            with redis_servers.Resp(port) as client:
                client.call("SET", "shop:{bench:item}:stock", count * 2)
            peer_port, ours_port = free_port(set()), free_port({port})
            peer = ends.enter_context(peer_running(folder, peer_port, port))
            ours = ends.enter_context(process([self.program("cluster", "bench_admission_node"), folder.path / "cluster.yaml",
                                               ours_port, "bench", count * 2, self.lane_count]))
            if ours.stdout.readline().strip() != "ready":
                raise Failed("our node did not start")
            before = cpu_of_session(redis.pid)
            self.run(self.program("cluster", "bench_cluster"), "peer", "--secret-file", folder.path / "login-secret", "--sale", "bench",
                     "--peer-port", peer_port, "--peer-pid", peer.pid, "--ours-port", ours_port, "--ours-pid", ours.pid,
                     "--redis-pid", redis.pid, "--rounds", 15 if self.quick else 40, "--requests", count)
            print(f"# Redis used {cpu_of_session(redis.pid) - before:.1f} s of CPU for both")

    def admitted(self) -> None:
        with Running(self.build, apis=1, workers=1) as cluster:
            self.admit_peak(cluster)
            cluster.say_verdict()

    def admit_peak(self, cluster: "Running") -> None:
        seconds = 4 if self.quick else 10
        cluster.open_sale("peak", 2_000_000, self.lane_count)
        self.crowd(cluster, 2_000, seconds=30)  # scripts, connections and caches are there
        before: dict[str, float] = {}

        def begun() -> None:
            before.update(cluster.cpu(), **cluster.counts())

        peak = self.crowd(cluster, 16_000 * seconds, begun, seconds=seconds, connections=256)
        ended = time.monotonic()
        used, counts = cluster.cpu(), {name: value - before[name] for name, value in cluster.counts().items()}
        used["generator"] = peak["generator_cpu"]
        won, wall = peak.get("status_202", 0), peak["wall"]
        print(f"# closed loop, 256 connections: {shown(peak)}")
        cluster.wait_landed(120)
        print(f"cluster_landed_s {time.monotonic() - ended:.1f} s after the last request until all orders were seen to have landed")
        self.say_cpu(before, used, won)
        print(f"cluster_admitted_per_s {won / wall:.0f} 1/s, everything on the same cores")
        print(f"redis_calls_per_admission {counts['calls'] / max(won, 1):.3f} calls of the api node")
        print(f"# intents in a message: {counts['intents'] / max(counts['messages'], 1):.1f}")
        half = won / wall / 2
        calm = self.crowd(cluster, int(half * seconds), rate=half, seconds=seconds * 2, connections=512)
        print(f"# open loop at half the rate, {half:.0f}/s: {shown(calm)}")
        print(f"cluster_p50_ms {calm['p50']:.2f} ms\ncluster_p99_ms {calm['p99']:.2f} ms")
        print(f"cluster_refused_share {1 - calm.get('status_202', 0) / max(sum(v for k, v in calm.items() if k.startswith('status_')), 1):.4f} of 1",
              flush=True)
        cluster.wait_landed(120)

    @staticmethod
    def say_cpu(before: dict[str, float], after: dict[str, float], won: float) -> None:
        for name, seconds in sorted(after.items(), key=lambda item: before.get(item[0], 0) - item[1]):
            print(f"# CPU {name:<12} {(seconds - before.get(name, 0)) * 1e6 / max(won, 1):7.1f} us an admission")

    def failover(self) -> None:
        winners = 20_000 if self.quick else 100_000
        with Running(self.build, apis=1, workers=1) as cluster:
            cluster.open_sale("rebuilt", winners * 4)
            while cluster.orders() < winners:
                self.crowd(cluster, min(20_000, winners), connections=256, looks=0)
                cluster.wait_landed(180)
            print(f"# {cluster.orders()} winners")
            print(f"rebuild_s {self.gaps(cluster, 40, cluster.lose_lanes):.1f} s without an admission, the slowest of {LANES} lanes")
            cluster.wait_landed(60)
            busy = self.gaps(cluster, 60, cluster.lose_master)
            print(f"failover_busy_s {busy:.1f} s without an admission, the slowest lane of a killed master")
            cluster.wait_landed(90)
            cluster.say_verdict()

    def gaps(self, cluster: "Running", seconds: int, fault) -> float:
        """The longest time a lane admitted nobody while buyers came at a steady rate and `fault` was done."""
        rate, first = 400, self.buyers
        self.buyers += rate * seconds
        worker = subprocess.Popen([str(word) for word in (
            self.program("cluster", "bench_cluster"), "gaps", "--ports", cluster.ports(), "--secret-file", cluster.login_secret(),
            "--sale", cluster.sale, "--first", first, "--count", rate * seconds, "--rate", rate, "--lanes", LANES, "--connections", 768,
            "--seconds", seconds)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        try:
            worker.stdout.readline()  # it has begun
            time.sleep(3)
            fault()
            figures = self.read(worker, False)
            if worker.wait() != 0:
                raise Failed("the generator gave up")
        finally:
            worker.kill()
        lanes = sorted(round(value, 1) for name, value in figures.items() if name.startswith("lane_"))
        print(f"# lanes' longest gaps: {lanes}; {shown(figures)}", flush=True)
        return figures["busy_longest"]

    def rebuild(self) -> None:
        with started(["redis-cluster", "mariadb"], redis_password=True) as folder:
            configured(folder, self.build, standalone_redis=False)
            self.run(self.program("cluster", "bench_cluster"), "rebuild", "--config", folder.path / "cluster.yaml", "--winners",
                     100_000 if self.quick else 1_000_000)


def shown(figures: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in figures.items() if name.startswith(("status", "p", "wall", "unsent")))


@contextlib.contextmanager
def temporary_folder():
    home = Path(tempfile.mkdtemp(prefix="seckill-bench-"))
    home.chmod(0o755)  # servers with users of their own must get in
    try:
        yield Folder(home / "c")
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextlib.contextmanager
def started(names: list[str], redis_password: bool = False):
    with temporary_folder() as folder:
        engines.start(folder, names, 1, redis_password=redis_password)
        try:
            yield folder
        finally:
            engines.stop(folder, quickly=True)


def configured(folder: Folder, build: Path, standalone_redis: bool) -> None:
    """cluster.yaml and the database's schema, for programs that are no node. RabbitMQ is not there and not asked."""
    machine = Cluster(folder, build / "seckill", apis=1, workers=0, demo=False, config_extra=LIMITS)
    machine.configure()
    text = machine.config.read_text()
    if standalone_redis:
        text = text.replace("servers: []", f"servers: [127.0.0.1:{folder.state['servers']['redis']['port']}]", 1)
        text = text.replace("cluster: true", "cluster: false").replace("replicas: 1", "replicas: 0")
        text = "\n".join(line for line in text.splitlines() if "redis-password" not in line)
    text = text.replace("servers: []", "servers: [127.0.0.1:1]")
    folder.write_private(machine.config, text + "\n")
    machine.migrate()


@contextlib.contextmanager
def process(words: list[object]):
    running = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    try:
        yield running
    finally:
        running.send_signal(signal.SIGTERM)
        try:
            running.wait(10)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()


@contextlib.contextmanager
def peer_running(folder: Folder, port: int, redis_port: int):
    base = folder.sub("peer")
    peer = ROOT / "bench" / "peers" / "lua_redis"
    text = (peer / "nginx.conf").read_text()
    for word, value in {"folder": base, "modules": NGINX_MODULES, "peer": peer, "port": port, "redis_port": redis_port}.items():
        text = text.replace(f"@{word}@", str(value))
    (base / "nginx.conf").write_text(text)
    with process(["nginx", "-c", base / "nginx.conf", "-e", base / "error.log"]) as running:
        time.sleep(1)
        if running.poll() is not None:
            raise Failed("the peer did not start: " + (base / "error.log").read_text()[-500:])
        yield running


def cpu_of_session(leader: int) -> float:
    """CPU seconds of a process and all that it started; each server is a session of its own."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[3]) == leader:
                ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


class Running:
    """A whole deployment and one sale in it."""

    def __init__(self, build: Path, apis: int, workers: int) -> None:
        self.stack = contextlib.ExitStack()
        self.folder = self.stack.enter_context(temporary_folder())
        self.machine = Cluster(self.folder, build / "seckill", apis=apis, workers=workers, demo=False, config_extra=LIMITS)
        self.sale = ""

    def __enter__(self) -> "Running":
        try:
            self.machine.start()
        except BaseException:
            self.stack.close()
            raise
        record = self.machine.server("api-1").record
        self.admin = Admin(record["admin_port"], self.machine.operator_token())
        return self

    def __exit__(self, *_: object) -> None:
        self.machine.stop(quickly=True)
        self.stack.close()

    def ports(self) -> str:
        return ",".join(str(self.machine.server(name).record["port"]) for name in self.machine.apis)

    def login_secret(self) -> Path:
        return self.folder.path / "login-secret"

    def open_sale(self, sale: str, units: int, lanes: int = LANES) -> None:
        self.sale = sale
        self.admin.open_sale(sale, units, lanes)
        until = time.monotonic() + 60
        while self.admin.lanes_open(sale) < lanes:
            if time.monotonic() > until:
                raise Failed("the lanes of the sale were not opened")
            time.sleep(0.2)
        time.sleep(1.5)  # until nodes have copied what the leader opened

    def counts(self) -> dict[str, float]:
        return {"calls": self.admin.metric("seckill_redis_calls_total"), "intents": self.admin.metric("seckill_publisher_intents_total"),
                "messages": self.admin.metric("seckill_publisher_messages_total")}

    def cpu(self) -> dict[str, float]:
        used: dict[str, float] = {}
        for name in self.folder.state["servers"]:
            pid = Server(self.folder, name).pid
            kind = "redis" if name.startswith("redis-") else name
            if pid:
                used[kind] = used.get(kind, 0) + cpu_of_session(pid)
        return used

    def orders(self) -> int:
        rows = mariadb_server.sql(self.folder, f"SELECT COUNT(*) FROM seckill_order o JOIN sale_item i ON i.item_id = o.item_id "
                                  f"WHERE i.sale = '{self.sale}'", mariadb_server.DATABASE, "root")
        return int(rows[0][0])

    def wait_landed(self, seconds: float) -> None:
        """Until the stock rows have what the lanes have, which the node reads each second."""
        until = time.monotonic() + seconds
        time.sleep(1.2)
        while not self.admin.landed(self.sale):
            if time.monotonic() > until:
                raise Failed(f"not all orders had landed after {seconds:.0f} s: {self.admin.show(self.sale)['items'][0]['stock']}")
            time.sleep(0.2)

    def say_verdict(self) -> None:
        until = time.monotonic() + 60
        while not (verdict := self.admin.verdict(self.sale))["drained"] and time.monotonic() < until:
            time.sleep(1)
        broken = [promise for promise in verdict["promises"] if not promise["holds"]]
        print(f"# {self.orders()} orders; verdict: {'every promise holds' if not broken else broken}", flush=True)
        if broken or not verdict["drained"]:
            raise Failed("the verdict is not clean, or something is still under way")

    # --- faults ---
    def _key(self, lane: int) -> str:
        return f"seckill:{{{self.sale}:item:{lane}}}:stock"

    def _redis(self, key: str, *words: object) -> object:
        server = next(server for server in redis_servers.cluster_servers(self.folder) if server.pid)
        port = server.record["port"]
        for _ in range(8):
            with redis_servers.Resp(port, redis_servers.password(self.folder)) as redis:
                try:
                    return redis.call(*words)
                except redis_servers.RedisError as error:
                    if not str(error).startswith("MOVED "):
                        raise
                    port = int(str(error).rsplit(":", 1)[1])
        raise Failed(f"no server has {key}")

    def lose_lanes(self) -> None:
        for lane in range(LANES):
            self._redis(self._key(lane), "DEL", self._key(lane))

    def lose_master(self) -> None:
        """kill -9 of the master of lane 0; as an operator would, it is started again once its replica has taken over."""
        port = self._master_port()
        victim = next(server for server in redis_servers.cluster_servers(self.folder) if server.record["port"] == port)
        mine = sum(self._port_of(lane) == port for lane in range(LANES))
        began = time.monotonic()
        victim.kill()
        while time.monotonic() < began + 40:
            with contextlib.suppress(OSError, ClusterError):
                if self._master_port() != port:
                    break
            time.sleep(0.1)
        print(f"# {victim.name} had {mine} lanes; its replica was promoted after {time.monotonic() - began:.1f} s", flush=True)
        victim.start()

    def _master_port(self) -> int:
        return self._port_of(0)

    def _port_of(self, lane: int) -> int:
        slot = self._redis("", "CLUSTER", "KEYSLOT", self._key(lane))
        for first, last, master, *_ in self._redis("", "CLUSTER", "SLOTS"):
            if first <= slot <= last:
                return master[1]
        raise Failed("a slot has no master")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="all of them when none is named")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--quick", action="store_true", help="fewer winners and rounds")
    parser.add_argument("--lanes", type=int, default=LANES, help="of the sale whose admissions are measured")
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)
    broken = False
    for part in options.parts or list(PARTS):
        if missing := engines.missing_programs(["redis", "rabbitmq", "mariadb"]) + ([] if shutil.which("nginx", path=engines.PATH) else ["nginx"]):
            for name in PARTS[part]:
                print(f"{name} skipped not installed: {', '.join(missing)}; `make setup-cluster`")
            continue
        print(f"# --- {part}", flush=True)
        try:
            getattr(Bench(options.build.resolve(), options.quick, options.lanes), part)()
        except (ClusterError, Failed) as error:
            print(f"# {part}: {error}\n{getattr(error, 'detail', '')}".rstrip(), flush=True)
            broken = True
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
