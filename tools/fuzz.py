#!/usr/bin/env python3
"""`make fuzz MINUTES=m` after the build: every harness of tests/fuzz for its share of the time, two at once.

New inputs gather in build/fuzz/corpus/, crashes in build/fuzz/crashes/ with the command that repeats them. --merge takes
the inputs that reach something new into tests/fuzz/corpus/, --record adds minutes and runs to tests/fuzz/record.json.
Ends with a table and "N passed, N failed"; a crash, a leak or an input that takes longer than ten seconds fails.
Usage: tools/fuzz.py [--minutes 10] [--only http_head,json] [--merge] [--record] [--jobs 2]
"""

import argparse
import concurrent.futures
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/fuzz"
SEEDS = ROOT / "tests/fuzz/corpus"
DICTIONARIES = ROOT / "tests/fuzz/dictionaries"
RECORD = ROOT / "tests/fuzz/record.json"
FILES_MAX = 60  # of one harness's seeds; tests/fuzz/replay.cpp holds it
FILE_BYTES_MAX = 4096
LIMITS = [f"-max_len={FILE_BYTES_MAX}", "-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1"]


@dataclass
class Run:
    """What one harness did."""

    harness: str
    seconds: float = 0
    runs: int = 0
    new_coverage: int = 0
    crashes: list[str] = field(default_factory=list)
    tail: str = ""


def say(text: str = "") -> None:
    print(text, flush=True)


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def binary(harness: str) -> Path:
    return BUILD / "tests/fuzz" / f"fuzz_{harness}"


def environment() -> dict[str, str]:
    symbolizer = shutil.which("llvm-symbolizer-19") or shutil.which("llvm-symbolizer")
    extra = {"ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1:handle_abort=1:quarantine_size_mb=32",
             "UBSAN_OPTIONS": "print_stacktrace=1"}
    if symbolizer:
        extra["ASAN_SYMBOLIZER_PATH"] = symbolizer
    return os.environ | extra


def fuzz(harness: str, seconds: int) -> Run:
    gathered = BUILD / "corpus" / harness
    crashes = BUILD / "crashes" / harness
    for folder in (gathered, crashes, SEEDS / harness):
        folder.mkdir(parents=True, exist_ok=True)
    before = set(crashes.iterdir())
    command = [binary(harness), *LIMITS, f"-max_total_time={seconds}", f"-artifact_prefix={crashes}/"]
    dictionary = DICTIONARIES / f"{harness}.dict"
    if dictionary.is_file():
        command.append(f"-dict={dictionary}")
    command += [gathered, SEEDS / harness]
    began = time.monotonic()
    run = Run(harness)
    try:
        with tempfile.TemporaryDirectory() as folder:
            ran = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, errors="replace",
                                 timeout=seconds * 2 + 120, check=False)
        text, code = ran.stdout + ran.stderr, ran.returncode
    except subprocess.TimeoutExpired:
        text, code = "it did not end by itself", 1
    run.seconds = time.monotonic() - began
    counted = re.findall(r"stat::number_of_executed_units:\s*(\d+)", text)
    run.runs = int(counted[-1]) if counted else 0
    first = re.search(r"INITED\s+cov: (\d+)", text)
    coverage = re.findall(r"\bcov: (\d+)", text)
    run.new_coverage = int(coverage[-1]) - int(first.group(1)) if first and coverage else 0
    run.crashes = sorted(shown(path) for path in set(crashes.iterdir()) - before)
    if code != 0:
        run.tail = "\n".join(text.splitlines()[-60:])
        run.crashes = run.crashes or [f"exit code {code} without a file"]
    return run


def merge(harness: str) -> str:
    """Takes inputs that reach new code among the seeds, the smallest first, as far as there is room."""
    seeds, gathered = SEEDS / harness, BUILD / "corpus" / harness
    room = FILES_MAX - len(list(seeds.iterdir()))
    with tempfile.TemporaryDirectory() as folder:
        cover = Path(folder) / "cover"
        shutil.copytree(seeds, cover)
        known = {path.name for path in cover.iterdir()}
        subprocess.run([binary(harness), "-set_cover_merge=1", *LIMITS, cover, gathered], cwd=folder, env=environment(),
                       capture_output=True, timeout=1200, check=True)
        fresh = sorted((path for path in cover.iterdir() if path.name not in known), key=lambda path: path.stat().st_size)
        taken = fresh[:max(room, 0)]
        for path in taken:
            shutil.copyfile(path, seeds / path.name[:16])
    return f"{harness}: {len(taken)} of {len(fresh)} new inputs taken"


def record(runs: list[Run]) -> None:
    known = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.is_file() else {"harnesses": {}}
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    for run in runs:
        entry = known["harnesses"].setdefault(run.harness, {"minutes": 0, "runs": 0})
        entry["minutes"] = round(entry["minutes"] + run.seconds / 60, 1)
        entry["runs"] += run.runs
        entry["date"] = known["date"] = today
    RECORD.write_text(json.dumps(known, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    say(f"recorded in {shown(RECORD)}")


def table(runs: list[Run]) -> None:
    rows = [("harness", "runs", "new coverage", "crashes")]
    rows += [(run.harness, f"{run.runs:,}", f"{run.new_coverage:+d}", str(len(run.crashes))) for run in runs]
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    for row in rows:
        say(row[0].ljust(widths[0]) + "".join("  " + cell.rjust(width) for cell, width in zip(row[1:], widths[1:])))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10, help="of all harnesses together (default 10)")
    parser.add_argument("--only", help="these harnesses, separated by commas")
    parser.add_argument("--merge", action="store_true", help="take what is new into tests/fuzz/corpus")
    parser.add_argument("--record", action="store_true", help="add to tests/fuzz/record.json")
    parser.add_argument("--jobs", type=int, default=2, help="harnesses at once (default 2)")
    options = parser.parse_args()
    known = sorted(path.stem for path in (ROOT / "tests/fuzz/harness").glob("*.cpp"))
    chosen = options.only.split(",") if options.only else known
    if unknown := [name for name in chosen if name not in known]:
        parser.error(f"no such harness: {', '.join(unknown)}; there are {', '.join(known)}")
    if missing := [name for name in chosen if not binary(name).is_file()]:
        parser.error(f"not built: {', '.join(missing)}; run: tools/build.sh fuzz fuzzers")
    jobs = max(1, min(options.jobs, len(os.sched_getaffinity(0)), len(chosen)))
    seconds = max(1, round(options.minutes * 60 * jobs / len(chosen)))
    say(f"fuzzing {len(chosen)} harnesses, {seconds} s each, {jobs} at once")
    runs = []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for run in pool.map(lambda name: fuzz(name, seconds), chosen):
            runs.append(run)
            say(f"{run.harness}: {run.runs:,} runs in {run.seconds:.0f} s")
            if run.crashes:
                say(run.tail)
            for crash in run.crashes:
                say(f"  repeat: {shown(binary(run.harness))} {crash}")
    if options.merge:
        for run in runs:
            say(merge(run.harness) if not run.crashes else f"{run.harness}: not merged, it crashed")
    if options.record:
        record(runs)
    say()
    table(runs)
    failed = [run for run in runs if run.crashes]
    say(f"{len(runs) - len(failed)} passed, {len(failed)} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
