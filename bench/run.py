#!/usr/bin/env python3
"""Runs every benchmark, compares the figures with their bars and writes build/bench/report.json.

  bench/run.py [--quick] [--only single|cluster]   after `make bench` has built them; --quick takes fewer rounds and fewer
                                                   winners. cluster: needs the engines (`make setup-cluster`), else it is skipped

The report is {"machine": …, "date": …, "revision": …, "figures": [{"name", "value", "unit", "bar"}]}. A figure that could not
be measured here has the value "skipped" and says why in its unit. Exit code 1 when a benchmark could not run at all; a missed
bar is printed, not an error: figures depend on the machine and on who else uses it.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "release"

# name: (bar, True when larger is better, what it says)
BARS = {
    "refusal_vs_epoll": (0.82, True, "sold out, before login ÷ bare epoll loop, by CPU a request"),
    "refusal_not_started_vs_epoll": (0.82, True, "not started ÷ bare epoll loop"),
    "refusal_after_login_vs_epoll": (0.70, True, "sold out, after login and JSON ÷ bare epoll loop"),
    "refusal_vs_nginx": (None, True, "sold out, before login ÷ nginx `return`"),
    "cpu_2_threads_vs_1": (1.1, False, "server CPU a request with 2 threads ÷ with 1"),
    "embedded_admitted_per_s": (20_000, True, "admitted and committed, over HTTP"),
    "embedded_p99_ms": (50, False, "p99 at half that rate, open loop"),
    "embedded_p50_ms": (None, False, "p50 at half that rate"),
    "embedded_refused_share": (None, False, "not admitted at half that rate"),
    "disk_flush_p99_ms": (None, False, "4 KiB + fdatasync on the same disk"),
    "ledger_holds_per_s": (1_500_000, True, "holds in memory at 1 M winners, one core"),
    "bytes_per_winner": (250, False, "memory of a winner in process"),
    "early_answer_ns": (None, False, "sold_out said before login, in process"),
    "install_1m_marks_s": (None, False, "lanes of 1 M winners built in memory"),
    "restart_ready_s": (5, False, "start to ready with 1 M winners"),
    "landed_groups_of_500_per_s": (None, True, "landing alone, one writer, groups of 500, all rows"),
    "landed_groups_of_1_per_s": (None, True, "the same, one order a transaction"),
    "redis_bytes_per_winner": (250, False, "memory of a winner in Redis, all that is kept of him"),
    "redis_install_us_per_ticket": (None, False, "one lane built anew in Redis"),
    "intents_confirmed_per_s": (50_000, True, "confirmed by RabbitMQ, publisher alone, 100 a message"),
    "orders_landed_per_s": (15_000, True, "landed in MariaDB, all rows, flush at commit"),
    "orders_vs_one_per_tx": (8, True, "the same ÷ one transaction an order"),
    "admit_redis_vs_lua_peer": (3.5, True, "admitted in Redis ÷ nginx + Lua + Redis, one core each"),
    "admit_redis_vs_lua_peer_cpu": (None, True, "the same by CPU an admission"),
    "cluster_admitted_per_s": (8_000, True, "admitted and confirmed over HTTP, engines on the same cores"),
    "cluster_p50_ms": (None, False, "p50 at half that rate, open loop"),
    "cluster_p99_ms": (None, False, "p99 at half that rate"),
    "redis_calls_per_admission": (None, False, "calls of the api node in that run, confirmations included"),
    "rebuild_s": (None, False, "lanes with 100,000 winners lost until they admit again"),
    "failover_busy_s": (30, False, "the same after kill -9 of a master, slowest lane"),
    "rebuild_1m_s": (15, False, "1 M marks installed in Redis from the store's rows"),
}


def run(command):
    print("$ " + " ".join(str(part) for part in command), flush=True)
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    figures = {}
    for line in process.stdout:
        line = line.rstrip("\n")
        if line.startswith("#"):
            print("  " + line[2:], flush=True)
            continue
        words = line.split(" ", 2)
        if len(words) >= 2:
            try:
                figures[words[0]] = (float(words[1]), words[2] if len(words) > 2 else "")
            except ValueError:
                if words[1] == "skipped":
                    figures[words[0]] = ("skipped", words[2] if len(words) > 2 else "")
    if process.wait() != 0:
        print(f"bench: {command[0]} ended with {process.returncode}", file=sys.stderr)
        return None
    return figures


def machine():
    model = "unknown processor"
    try:
        for line in open("/proc/cpuinfo"):
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    return f"{len(os.sched_getaffinity(0))} x {model}, Linux {platform.release()}"


def revision():
    done = subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--dirty"], capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def verdict(value, bar, larger):
    if bar is None or value == "skipped":
        return ""
    return "held" if (value >= bar if larger else value <= bar) else "MISSED"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=("single", "cluster"))
    options = parser.parse_args()
    binary = BUILD / "seckill"
    bench = BUILD / "bench"
    if not binary.exists() or not (bench / "server" / "bench_server").exists():
        print("the benchmarks are not built; `make bench` builds them", file=sys.stderr)
        return 2
    server = [bench / "server" / "bench_server"]
    single = [
        [*server, "refusals", "20" if options.quick else "80", "--binary", binary],
        [*server, "durable", "2" if options.quick else "5", "--binary", binary],
        [bench / "ledger" / "bench_ledger"],
        [bench / "store" / "bench_store"],
        [*server, "restart", "100000" if options.quick else "1000000", "--binary", binary],
    ]
    cluster = [[sys.executable, ROOT / "bench" / "cluster" / "measure.py", "--build", BUILD, *(["--quick"] if options.quick else []), part]
               for part in ("lanes", "broker", "landing", "peer", "admitted", "failover", "rebuild")]
    commands = {"single": single, "cluster": cluster}.get(options.only, single + cluster)
    figures, broken = {}, False
    for command in commands:
        found = run(command)
        if found is None:
            broken = True
        else:
            figures.update(found)
    report = {"machine": machine(), "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "revision": revision(), "figures": []}
    print(f"\n{report['machine']}\nrevision {report['revision']}, {report['date']}\n")
    print(f"{'figure':<32} {'value':>12} {'bar':>10}  {'':<7} what")
    for name, (bar, larger, what) in BARS.items():
        if name not in figures:
            continue
        value, unit = figures[name]
        shown = value if value == "skipped" else f"{value:,.0f}" if value >= 1000 else f"{value:,.2f}"
        limit = "" if bar is None else ("≥ " if larger else "≤ ") + f"{bar:,}"
        print(f"{name:<32} {shown:>12} {limit:>10}  {verdict(value, bar, larger):<7} {what}{' (' + unit + ')' if value == 'skipped' else ''}")
    for name, (value, unit) in figures.items():
        bar = BARS.get(name, (None,))[0]
        report["figures"].append({"name": name, "value": value, "unit": unit, "bar": bar})
    target = ROOT / "build" / "bench" / "report.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n")
    print(f"\nwritten to {target.relative_to(ROOT)}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
