#!/usr/bin/env python3
"""`make proof`: every model checked exhaustively by spin, every mutation of it caught; ends with "N passed, N failed".

checks.txt says what is run. pan is generated and compiled in build/proof/, which also gets report.json and, for what went
wrong, the trail. A check passes when the search was complete and found nothing; a mutation passes when spin finds a
violation of the promise it is said to break.
Usage: proof/run.py [--only WORD] [--jobs 2] [--unreached] [--record]
"""

import argparse
import concurrent.futures
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HERE = ROOT / "proof"
BUILD = ROOT / "build/proof"
MEMORY_MIB = 900       # a run; two run at once
SECONDS_MAX = 100      # a run, of processor time: a busy machine changes nothing
WAITING_MAX = 1_200    # a run, by the clock
DEPTH_MAX = 200_000    # steps of one trail; a deeper search is a failure, never cut silently
# What makes a search worthless although pan ends with "errors: 0".
INCOMPLETE = ("max search depth too small", "Search not completed", "reached -DMEMLIM", "out of memory", "aborting")


@dataclass
class Run:
    """One row of checks.txt and what came of it."""
    kind: str
    model: str
    name: str
    defines: list[str]
    bounds: str = ""
    promise: str = ""
    states: int = 0
    depth: int = 0
    seconds: float = 0.0
    memory_mib: float = 0.0
    ok: bool = False
    result: str = ""
    unreached: list[str] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        return BUILD / self.model / f"{self.kind}-{self.name.replace(' ', '-').lower()}"


def table() -> list[Run]:
    runs = []
    for number, line in enumerate((HERE / "checks.txt").read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split("|")]
        if cells[0] in ("check", "ends") and len(cells) == 5:
            runs.append(Run(cells[0], cells[1], cells[2], cells[3].split(), bounds=cells[4]))
        elif cells[0] == "mutation" and len(cells) == 6:
            runs.append(Run("mutation", cells[1], cells[2], [cells[2], *cells[3].split()], promise=cells[4],
                            bounds=cells[5]))
        else:
            sys.exit(f"proof/checks.txt:{number}: not a check, ends or mutation row: {line}")
        if not (HERE / f"{cells[1]}.pml").is_file():
            sys.exit(f"proof/checks.txt:{number}: there is no model {cells[1]}.pml")
    return runs


def unlisted(runs: list[Run]) -> list[str]:
    """Models without a check, and #ifdefs of models that no row sets: they would rot unnoticed."""
    problems = []
    for path in sorted(HERE.glob("*.pml")):
        ours = [run for run in runs if run.model == path.stem]
        if path.stem != "promises" and not any(run.kind == "check" for run in ours):
            problems.append(f"{path.name} has no check")
        known = {define.split("=")[0] for run in ours for define in run.defines}
        text = path.read_text(encoding="utf-8")
        for name in sorted(set(re.findall(r"#\s*(?:ifdef|ifndef|elif defined)\s*\(?(\w+)", text))):
            if name not in known and not re.search(rf"^#\s*define {name}\b", text, re.MULTILINE):
                problems.append(f"{path.name} knows {name}, which no row of checks.txt sets")
    for run in runs:
        if run.kind == "mutation" and not re.search(rf"\b{run.name}\b", (HERE / f"{run.model}.pml").read_text("utf-8")):
            problems.append(f"{run.model}.pml does not know the mutation {run.name}")
    return problems


def bounded() -> None:
    """Runs in the child: no search takes more than its share, whatever pan believes."""
    size = (MEMORY_MIB + 300) << 20
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS_MAX, SECONDS_MAX))


def command(run: Run, *arguments: object) -> str:
    """Runs it in the run's folder, adds its processor time to the run's, returns what it said."""
    said = run.folder / "said.txt"
    with said.open("w", encoding="utf-8") as out:
        process = subprocess.Popen([str(argument) for argument in arguments], cwd=run.folder, stdin=subprocess.DEVNULL,
                                   stdout=out, stderr=subprocess.STDOUT, preexec_fn=bounded)
    timer = threading.Timer(WAITING_MAX, process.kill)
    timer.start()
    _, status, used = os.wait4(process.pid, 0)
    timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    run.seconds += used.ru_utime + used.ru_stime
    if process.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        raise RuntimeError(f"{arguments[0]} was stopped after {run.seconds:.0f} s of processor time")
    text = said.read_text(encoding="utf-8", errors="replace")
    said.unlink()
    return text


def prove(run: Run) -> Run:
    shutil.rmtree(run.folder, ignore_errors=True)
    run.folder.mkdir(parents=True)
    defines = [f"-D{define}" for define in run.defines]
    try:
        said = command(run, "spin", *defines, "-a", HERE / f"{run.model}.pml")
        if not (run.folder / "pan.c").is_file() or "Error" in said:
            raise RuntimeError(f"spin: {said.strip()}")
        search = ["-DNP", "-DNOFAIR"] if run.kind == "ends" else ["-DSAFETY"]
        said = command(run, "gcc", "-w", "-O1" if run.kind == "mutation" else "-O2", "-DCOLLAPSE",
                       f"-DMEMLIM={MEMORY_MIB}", *search, "-o", "pan", "pan.c")
        if not (run.folder / "pan").is_file():
            raise RuntimeError(f"gcc: {said.strip()}")
        said = command(run, "./pan", f"-m{DEPTH_MAX}", "-w22", *(["-l"] if run.kind == "ends" else []))
        (run.folder / "pan.txt").write_text(said, encoding="utf-8")
        judge(run, said)
    except RuntimeError as error:
        run.result = " ".join(str(error).split())[:160]
    if not run.ok:
        keep_trail(run, defines)
    for name in ("pan", *(path.name for path in run.folder.glob("pan.[bcmhpt]"))):
        (run.folder / name).unlink(missing_ok=True)
    return run


def judge(run: Run, said: str) -> None:
    """Reads pan's report. Nothing is believed that pan did not print."""
    errors = re.search(r"depth reached (\d+), errors: (\d+)", said)
    states = re.search(r"([\d.e+]+) states, stored", said)
    if not errors or not states:
        run.result = "pan gave no report: " + (said.strip().splitlines() or ["nothing"])[0]
        return
    run.depth, run.states = int(errors.group(1)), int(float(states.group(1)))
    if memory := re.search(r"([\d.]+)\s+total actual memory usage", said):
        run.memory_mib = float(memory.group(1))
    run.unreached = re.findall(r"\.pml:(\d+), state \d+, \"((?!-end-).*)\"", said)
    run.unreached = [f"{line}: {statement}" for line, statement in run.unreached]
    violated = re.search(r"pan:\d+: (.*) \(at depth", said)
    if run.kind == "mutation":
        named = re.search(r"(P\d)_broken", violated.group(1)) if violated else None
        # A process that can never go on is work that never ends.
        broken = named.group(1) if named else "P6" if violated and "invalid end state" in violated.group(1) else None
        run.ok = broken == run.promise
        run.result = f"breaks {broken}" if broken else violated.group(1) if violated else "not caught"
        return
    if trouble := [words for words in INCOMPLETE if words in said]:
        run.result = "incomplete: " + trouble[0]
    if violated or int(errors.group(2)):
        run.result = violated.group(1) if violated else "errors without a text"
    run.ok = not run.result
    run.result = run.result or "holds"


def keep_trail(run: Run, defines: list[str]) -> None:
    """What spin found, step by step, beside the report."""
    trails = list(run.folder.glob("*.trail"))
    if trails:
        try:
            said = command(run, "spin", *defines, "-k", trails[0], "-t", "-p", "-g", HERE / f"{run.model}.pml")
        except RuntimeError:
            said = "the trail could not be replayed in time\n"
        (run.folder / "trail.txt").write_text(said, encoding="utf-8")


def print_table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    for row in [head, tuple("-" * width for width in widths), *rows]:
        print(" | ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    print(flush=True)


def report(runs: list[Run], problems: list[str], seconds: float, show_unreached: bool) -> str:
    """Prints what a reader wants to know; returns the summary that a program wants."""
    checks = [run for run in runs if run.kind != "mutation"]
    mutations = [run for run in runs if run.kind == "mutation"]
    if checks:
        print_table(("model", "bounds", "states", "depth", "seconds", "result"),
                    [(run.model, run.bounds + (", no cycle" if run.kind == "ends" else ""), f"{run.states:,}",
                      str(run.depth), f"{run.seconds:.1f}", run.result) for run in checks])
    if mutations:
        print_table(("model", "mutation", "promise", "caught"),
                    [(run.model, f"{run.name}: {run.bounds}", run.promise,
                      "yes" if run.ok else f"NO: {run.result}") for run in mutations])
    # Code that no configuration of a model reaches proves nothing.
    for model in dict.fromkeys(run.model for run in checks):
        missed = set.intersection(*(set(run.unreached) for run in checks if run.model == model))
        if missed and show_unreached:
            print(f"{model}.pml, never reached:", *sorted(missed, key=lambda text: int(text.split(":")[0])), sep="\n  ")
    for run in runs:
        if not run.ok:
            print(f"FAILED  {run.model} {run.name}: {run.result}; see {run.folder.relative_to(ROOT)}")
    for problem in problems:
        print(f"FAILED  {problem}")
    summary = {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "seconds": round(seconds, 1),
        "models": [{"kind": run.kind, "model": run.model, "name": run.name, "bounds": run.bounds, "states": run.states,
                    "depth": run.depth, "seconds": round(run.seconds, 1), "memory_mib": run.memory_mib, "ok": run.ok,
                    "result": run.result, "unreached": run.unreached} for run in checks],
        "mutations_caught": sum(run.ok for run in mutations),
        "mutations_total": len(mutations),
        "mutations": [{"model": run.model, "mutation": run.name, "breaks": run.bounds, "promise": run.promise,
                       "caught": run.ok, "result": run.result} for run in mutations],
        "problems": problems,
    }
    return json.dumps(summary, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="run rows that contain this word (model, name or mutation)")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="runs at once (default 2)")
    parser.add_argument("--unreached", action="store_true", help="list statements that no check of a model reaches")
    parser.add_argument("--record", action="store_true", help="also write proof/record.json, which docs/proof.md quotes")
    options = parser.parse_args()
    if options.record and options.only:
        parser.error("--record is for a whole run")
    missing = [tool for tool in ("spin", "gcc") if not shutil.which(tool)]
    if missing:
        sys.exit(f"proof: {' and '.join(missing)} not found; `make setup` installs what tools/packages/proof names")
    runs = table()
    problems = unlisted(runs)
    runs = [run for run in runs if options.only.lower() in f"{run.kind} {run.model} {run.name}".lower()]
    BUILD.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        # The long searches first, so that the short ones fill the gaps.
        list(pool.map(prove, sorted(runs, key=lambda run: run.kind == "mutation")))
    seconds = time.monotonic() - began
    summary = report(runs, problems, seconds, options.unreached)
    (BUILD / "report.json").write_text(summary, encoding="utf-8")
    if options.record:
        (HERE / "record.json").write_text(summary, encoding="utf-8")
    passed = sum(run.ok for run in runs)
    failed = len(runs) - passed + len(problems)
    print(f"{len(runs)} searches: {sum(run.seconds for run in runs):.0f} s of processor time in {seconds:.0f} s")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
