#!/usr/bin/env python3
"""`make mutants`: breaks the product on purpose, one named line at a time, and demands that a test notices.

The list is tests/mutants/mutants.yaml (its header states the format). The working tree is read and never changed: a copy
under build/mutants is built, and each mutant is compiled beside it and linked into the executable that holds its test.
First every named test must pass on the unbroken copy; then, with one mutant, its test must fail. A crash or a hang is a
failure too, and said so; a mutant that does not compile is an error of the list, not a kill. Results are kept by mutant,
broken file and test, so a run that was stopped goes on where it was, and a second run does only what changed.

Usage: tools/mutants.py [--slice 2/4] [--only NAME] [--fresh] [--of REV] [--discover]
Ends with a table and "N killed, N survived"; exits 1 when one survived, 2 when something could not be tried. When the
whole list has its results, tests/mutants/record.json is written anew.
"""

import argparse
import concurrent.futures
import contextlib
import fcntl
import hashlib
import json
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/mutants"))

import mutant_list  # noqa: E402
from mutant_build import CannotBuild, Copy  # noqa: E402
from mutant_list import Killer, Mutant  # noqa: E402

HOME = ROOT / "build/mutants"
RESULTS = HOME / "results.json"
RECORD = ROOT / "tests/mutants/record.json"
TRY_SECONDS_MIN = 60  # a test may take this long at least before it counts as hung
TRY_SECONDS_MAX = 300
TIMES_BASELINE = 20  # and this many times what it took unbroken: the machine may be busy
MEMORY_MAX = 6 << 30
RUNNING: set[int] = set()  # process groups of tests under way, to be ended when the run is stopped


class Outcome(NamedTuple):
    """killed, survived or error; and how: failed, crashed, hung, does not compile, …"""

    result: str
    how: str
    seconds: float


class CannotTry(Exception):
    """What stops the whole run: a stale list, a named test that does not pass unbroken."""


def say(text: str = "") -> None:
    print(text, flush=True)


# --- running a test ---------------------------------------------------------------------------------------------------

def command(killer: Killer, executable: Path) -> list[str]:
    if killer.kind == "system":
        return [sys.executable, "-X", "utf8", "-m", "unittest", killer.what]
    if killer.kind == "program":
        return [str(executable), *shlex.split(killer.what)]
    return [str(executable), f"--gtest_filter={killer.gtest_filter()}", "--gtest_brief=1"]


def attempt(words: list[str], cwd: Path, executable: Path, scratch: Path, seconds_max: float) \
        -> tuple[int | None, str, float]:
    """Exit code (None: it hung and was killed), what it said, how long it took. Its files stay under `scratch`."""
    temporary = scratch / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    environment = os.environ | {"TMPDIR": str(temporary), "SECKILL_BINARY": str(executable),
                                "PYTHONDONTWRITEBYTECODE": "1"}
    begun = time.monotonic()
    with open(scratch / "said", "wb") as log:
        process = subprocess.Popen(words, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, stdout=log,
                                   stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=bounds)
        RUNNING.add(process.pid)
        try:
            code = process.wait(seconds_max)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            end_group(process.pid)
            process.wait()
            RUNNING.discard(process.pid)
    text = (scratch / "said").read_text(encoding="utf-8", errors="replace")
    return code, text, time.monotonic() - begun


def end_group(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def bounds() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX, MEMORY_MAX))


@contextlib.contextmanager
def scratch_of(name: str):
    """A folder of one try's own, gone afterwards."""
    folder = HOME / "tries" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def ran_something(killer: Killer, text: str) -> bool:
    """A filter that matches nothing passes, and proves nothing."""
    if killer.kind == "test":
        return bool(re.search(r"\[  PASSED  \] [1-9]\d* tests?", text))
    return killer.kind == "program" or bool(re.search(r"^Ran [1-9]\d* tests? in", text, re.M))


class Bench:
    """Tries mutants against one sound copy. Any thread, once baseline() has been called."""

    def __init__(self, copy: Copy) -> None:
        self.copy = copy
        self.seconds: dict[Killer, float] = {}

    def folder(self, killer: Killer) -> Path:
        return self.copy.tree / "tests/system" if killer.kind == "system" else self.copy.build

    def baseline(self, killers: list[Killer]) -> None:
        """Each test must pass on the unbroken copy."""
        self.copy.make(sorted({killer.target for killer in killers}))
        for killer in killers:
            executable = self.copy.executable(killer.target)
            with scratch_of("baseline") as scratch:
                code, text, took = attempt(command(killer, executable), self.folder(killer), executable, scratch,
                                           TRY_SECONDS_MAX)
            if code != 0 or not ran_something(killer, text):
                raise CannotTry(f"{killer} does not pass on the unbroken tree (exit {code}):\n{text[-2000:]}")
            self.seconds[killer] = took

    def try_one(self, mutant: Mutant) -> Outcome:
        killer = mutant.killer
        text = (self.copy.tree / mutant.file).read_text(encoding="utf-8")
        with scratch_of(mutant.name) as scratch:
            executable, errors = self.copy.executable_with(killer.target, mutant.file, mutant.mutated(text), scratch)
            if errors:
                return Outcome("error", "does not compile:\n" + errors, 0)
            longest = min(max(TRY_SECONDS_MIN, TIMES_BASELINE * self.seconds[killer]), TRY_SECONDS_MAX)
            code, text, took = attempt(command(killer, executable), self.folder(killer), executable, scratch, longest)
        if code == 0:
            return Outcome("survived", "the test passes", took)
        if code is None:
            return Outcome("killed", f"hung for {longest:.0f} s", took)
        if code == -signal.SIGKILL:
            return Outcome("error", "its test was ended from outside: too little memory, or the run was stopped", took)
        if code < 0:
            return Outcome("killed", f"crashed ({asserted(text) or signal.Signals(-code).name})", took)
        return Outcome("killed", "failed", took)

    def discover(self, mutant: Mutant) -> None:
        """Which tests of the executable notice the mutant: for whoever looks for the one to name."""
        text = (self.copy.tree / mutant.file).read_text(encoding="utf-8")
        with scratch_of(mutant.name) as scratch:
            executable, errors = self.copy.executable_with(mutant.killer.target, mutant.file, mutant.mutated(text),
                                                           scratch)
            if errors:
                say(f"{mutant.name} does not compile:\n{errors}")
                return
            code, text, took = attempt([str(executable)], self.copy.build, executable, scratch, TRY_SECONDS_MAX)
        failed = sorted(set(re.findall(r"^\[  FAILED  \] (\S+?\.\S+?),? ", text, re.M)))
        if code is None or code < 0:
            begun = re.findall(r"^\[ RUN      \] (\S+)", text, re.M)
            failed.append(f"{begun[-1] if begun else '?'} ({'hung' if code is None else 'crashed: ' + asserted(text)})")
        say(f"{mutant.name} ({took:.0f} s): " + ("nothing notices" if code == 0 else ""))
        for name in failed:
            say(f"    {name}")


def asserted(text: str) -> str:
    """What an assertion of the product said as it stopped the process."""
    match = re.search(r"^.*assert\w*.*$", text, re.M | re.I)
    return match.group(0).strip()[:160] if match else ""


# --- the run ----------------------------------------------------------------------------------------------------------

def key_of(copy: Copy, mutant: Mutant) -> str:
    """Changes with the broken file, the test's file and the headers beside it."""
    digest = hashlib.sha256(f"{mutant.file}\0{mutant.killer}\0".encode())
    digest.update(mutant.mutated((copy.tree / mutant.file).read_text(encoding="utf-8")).encode())
    test = mutant_list.test_file(copy.tree, mutant.killer)
    for path in [test, *sorted(test.parent.glob("*.hpp"))] if test else []:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:32]


def chosen(mutants: list[Mutant], options: argparse.Namespace) -> list[Mutant]:
    if options.only:
        found = [mutant for mutant in mutants if re.fullmatch(options.only, mutant.name)]
        if not found:
            raise CannotTry(f"no mutant is called {options.only}")
        return found
    if not options.slice:
        return mutants
    match = re.fullmatch(r"(\d+)/(\d+)", options.slice)
    if not match or not 1 <= int(match.group(1)) <= int(match.group(2)):
        raise CannotTry(f"a slice is i/n with 1 <= i <= n, not {options.slice}")
    return mutants[int(match.group(1)) - 1::int(match.group(2))]


def remembered() -> dict[str, dict]:
    try:
        return json.loads(RESULTS.read_text())
    except (OSError, ValueError):
        return {}


def remember(results: dict[str, dict]) -> None:
    partial = RESULTS.with_suffix(".partial")
    partial.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    partial.replace(RESULTS)


def run(bench: Bench, mutants: list[Mutant], options: argparse.Namespace) -> dict[str, dict]:
    """Tries what has no result yet; all results of these mutants, by name."""
    results = remembered()
    keys = {mutant.name: key_of(bench.copy, mutant) for mutant in mutants}

    def known(mutant: Mutant) -> bool:  # what survived is tried again: something beside its test may have changed
        before = results.get(mutant.name, {})
        return not options.fresh and before.get("key") == keys[mutant.name] and before["result"] == "killed"

    todo = [mutant for mutant in mutants if not known(mutant)]
    say(f"mutants: {len(mutants)} chosen, {len(mutants) - len(todo)} known from before, {len(todo)} to try")
    if not todo:
        return {mutant.name: results[mutant.name] for mutant in mutants}
    killers = list(dict.fromkeys(mutant.killer for mutant in todo))
    say(f"mutants: building and running the {len(killers)} named tests unbroken")
    bench.baseline(killers)
    writing = threading.Lock()
    done = 0

    def one(mutant: Mutant) -> None:
        nonlocal done
        outcome = bench.try_one(mutant)
        with writing:
            done += 1
            say(f"[{done}/{len(todo)}] {mutant.name}: {outcome.result}, {outcome.how.splitlines()[0]}")
            results[mutant.name] = {"key": keys[mutant.name], "result": outcome.result, "how": outcome.how,
                                    "seconds": round(outcome.seconds, 2), "by": str(mutant.killer),
                                    "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
            remember(results)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        tries = [pool.submit(one, mutant) for mutant in todo]
        try:
            for tried in concurrent.futures.as_completed(tries):
                tried.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for group in tuple(RUNNING):
                end_group(group)  # its outcome counts as an error, and is tried again
            raise
    return {mutant.name: results[mutant.name] for mutant in mutants}


def table(mutants: list[Mutant], results: dict[str, dict]) -> None:
    widest = max(len(mutant.name) for mutant in mutants)
    say()
    for mutant in mutants:
        result = results[mutant.name]
        say(f"{mutant.name:{widest}}  {result['result']:8}  {','.join(mutant.keeps):12}  {mutant.killer}")
    for mutant in mutants:
        result = results[mutant.name]
        if result["result"] != "killed":
            say(f"\n{result['result'].upper()}  {mutant.name} ({mutant.file}): {mutant.why}\n  - {mutant.find}\n"
                f"  + {mutant.replace}\n  {mutant.killer}: {result['how']}")


def record(copy: Copy, every: list[Mutant]) -> None:
    """Writes what docs/proof.md tells, once every mutant of the list, slice by slice, has its result."""
    results = remembered()
    current = [results[mutant.name] for mutant in every
               if mutant.name in results and not mutant_list.fits(copy.tree, mutant) and
               results[mutant.name]["key"] == key_of(copy, mutant)]
    if len(current) < len(every) or any(result["result"] == "error" for result in current):
        say(f"\nmutants: {len(current)} of {len(every)} have their result; {RECORD.relative_to(ROOT)} waits for the rest")
        return
    RECORD.write_text(json.dumps({
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "killed": sum(1 for result in current if result["result"] == "killed"),
        "total": len(every),
        "survived": sorted(mutant.name for mutant in every if results[mutant.name]["result"] == "survived"),
    }, indent=2) + "\n")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slice", default="", help="i/n: each n-th mutant from the i-th on")
    parser.add_argument("--only", default="", help="one mutant by name, or several by a pattern")
    parser.add_argument("--fresh", action="store_true", help="try again what has a result already")
    parser.add_argument("--of", default="", metavar="REV", help="break this revision instead of the working tree")
    parser.add_argument("--discover", action="store_true", help="run all tests of the executable, say which notice")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="mutants tried at once")
    return parser.parse_args()


def main() -> int:
    options = parse()
    copy = Copy(ROOT, HOME, options.jobs)
    HOME.mkdir(parents=True, exist_ok=True)
    with open(HOME / ".lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CannotTry("another run is using build/mutants") from None
        copy.bring_up_to_date(options.of or None)
        every, problems = mutant_list.read(copy.tree)
        mutants = chosen(every, options)
        stale = [why for mutant in mutants for why in mutant_list.fits(copy.tree, mutant, not options.discover)]
        if problems or stale:
            raise CannotTry("the list is stale:\n" + "\n".join([why for _, why in problems] + stale))
        bench = Bench(copy)
        if options.discover:
            copy.make(sorted({mutant.killer.target for mutant in mutants}))
            for mutant in mutants:
                bench.discover(mutant)
            return 0
        results = run(bench, mutants, options)
        table(mutants, results)
        record(copy, every)
    counts = {what: sum(1 for one in results.values() if one["result"] == what)
              for what in ("killed", "survived", "error")}
    say(f"\n{counts['killed']} killed, {counts['survived']} survived" +
        (f", {counts['error']} could not be tried" if counts["error"] else ""))
    return 2 if counts["error"] else 1 if counts["survived"] else 0


def stop(*_: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, stop)
    try:
        sys.exit(main())
    except (CannotTry, CannotBuild) as why:
        print(f"mutants: {why}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("\nmutants: stopped; the same command goes on from here", file=sys.stderr)
        sys.exit(130)
