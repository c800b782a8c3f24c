#!/usr/bin/env python3
"""`make mutants`: breaks the product on purpose, one named line at a time, and demands that a test notices.

The list is tests/mutants/mutants.yaml (its header states the format). The working tree is read and never changed: a copy
under build/mutants is broken, built (only the executable that holds the test) and restored. First every named test must
pass on the unbroken copy; then, with one mutant, its test must fail. A crash or a hang is a failure too, and said so; a
mutant that does not compile is an error of the list, not a kill. Results are kept by mutant, broken file and test, so a
run that was stopped goes on where it was, and a second run does only what changed.

Usage: tools/mutants.py [--slice 2/4] [--only NAME] [--fresh] [--of REV] [--discover]
Ends with a table and "N killed, N survived"; exits 1 when one survived, 2 when something could not be tried. When the
whole list has its results, tests/mutants/record.json is written anew.
"""

import argparse
import contextlib
import fcntl
import hashlib
import io
import json
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/mutants"))

import mutant_list  # noqa: E402
from mutant_list import Killer, Mutant  # noqa: E402

HOME = ROOT / "build/mutants"
TREE = HOME / "tree"
BUILD = HOME / "build"
RESULTS = HOME / "results.json"
RECORD = ROOT / "tests/mutants/record.json"
TRY_SECONDS_MIN = 60  # a test may take this long at least before it counts as hung
TRY_SECONDS_MAX = 300
TIMES_BASELINE = 20  # and this many times what it took unbroken: the machine may be busy
MEMORY_MAX = 6 << 30


class Outcome(NamedTuple):
    """killed, survived or error; and how: failed, crashed, hung, does not compile, …"""

    result: str
    how: str
    seconds: float


class CannotTry(Exception):
    """What stops the whole run: the unbroken tree does not build, a named test does not pass."""


def say(text: str = "") -> None:
    print(text, flush=True)


# --- the copy ---------------------------------------------------------------------------------------------------------

def sources(revision: str | None) -> dict[str, bytes]:
    """Every file of the working tree that git tracks or would track, or of a revision."""
    if revision:
        packed = subprocess.run(["git", "-C", ROOT, "archive", revision], capture_output=True, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            return {member.name: archive.extractfile(member).read() for member in archive if member.isfile()}
    names = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", "-z"], capture_output=True,
                           check=True).stdout.decode().split("\0")
    return {name: (ROOT / name).read_bytes() for name in names if name and (ROOT / name).is_file()}


def bring_up_to_date(revision: str | None) -> None:
    """Makes the copy equal to the sources, touching only files that differ, so that little is built again. Undoes a
    mutant that a stopped run left."""
    wanted = sources(revision)
    for path in [path for path in TREE.rglob("*") if path.is_file()] if TREE.is_dir() else []:
        if str(path.relative_to(TREE)) not in wanted:
            path.unlink()
    for name, content in wanted.items():
        path = TREE / name
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            if name.endswith((".sh", ".py")):
                path.chmod(0o755)


def configure() -> None:
    """The dev preset without sanitizers (half the time to build, and it is the promises that must notice) and with
    warnings that stop nothing, so that what a mutant no longer uses does not save it."""
    if (BUILD / "build.ninja").is_file():
        return
    ran = subprocess.run(["cmake", "--preset", "dev", "-B", BUILD, "-DSECKILL_SANITIZE=", "-DSECKILL_WERROR=OFF"],
                         cwd=TREE, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise CannotTry(f"configuring failed:\n{ran.stdout[-1500:]}{ran.stderr[-3000:]}")


def build(targets: list[str], jobs: int) -> str:
    """Empty when it built, else the first errors."""
    ran = subprocess.run(["ninja", "-C", BUILD, "-j", str(jobs), *targets], capture_output=True, text=True, check=False)
    if ran.returncode == 0:
        return ""
    text = ran.stdout + ran.stderr
    errors = [line for line in text.split("\n") if re.search(r"\berror:|undefined symbol|ninja: error", line)]
    return "\n".join(errors[:5]) or text[-1500:]


def executable(target: str) -> Path:
    for path in (BUILD / target, BUILD / "tests" / target, *BUILD.glob(f"tests/**/{target}")):
        if path.is_file() and os.access(path, os.X_OK):
            return path
    raise CannotTry(f"{target} was built, but where is it?")


# --- running a test ---------------------------------------------------------------------------------------------------

def command(killer: Killer) -> list[str]:
    if killer.kind == "system":
        return [sys.executable, "-X", "utf8", "-m", "unittest", killer.what]
    words = [str(executable(killer.target))]
    if killer.kind == "program":
        return words + shlex.split(killer.what)
    return [*words, f"--gtest_filter={killer.gtest_filter()}", "--gtest_brief=1"]


def attempt(words: list[str], cwd: Path, seconds_max: float) -> tuple[int | None, str, float]:
    """Exit code (None: it hung and was killed), what it said, how long it took. Its temporary files go with it."""
    scratch = HOME / "tmp"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    environment = os.environ | {"TMPDIR": str(scratch), "SECKILL_BINARY": str(BUILD / "seckill"),
                                "PYTHONDONTWRITEBYTECODE": "1"}
    begun = time.monotonic()
    with open(HOME / "test.log", "wb") as log:
        process = subprocess.Popen(words, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, stdout=log,
                                   stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=bounds)
        try:
            code = process.wait(seconds_max)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    text = (HOME / "test.log").read_text(encoding="utf-8", errors="replace")
    return code, text, time.monotonic() - begun


def bounds() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX, MEMORY_MAX))


def folder_of(killer: Killer) -> Path:
    return TREE / "tests/system" if killer.kind == "system" else BUILD


def ran_something(killer: Killer, text: str) -> bool:
    """A filter that matches nothing passes, and proves nothing."""
    if killer.kind == "test":
        return bool(re.search(r"\[  PASSED  \] [1-9]\d* tests?", text))
    return killer.kind == "program" or bool(re.search(r"^Ran [1-9]\d* tests? in", text, re.M))


def baseline(killers: list[Killer]) -> dict[Killer, float]:
    """Seconds each test takes on the unbroken copy, where each must pass."""
    seconds = {}
    for killer in killers:
        code, text, took = attempt(command(killer), folder_of(killer), TRY_SECONDS_MAX)
        if code != 0 or not ran_something(killer, text):
            raise CannotTry(f"{killer} does not pass on the unbroken tree (exit {code}):\n{text[-2000:]}")
        seconds[killer] = took
    return seconds


# --- one mutant -------------------------------------------------------------------------------------------------------

def key_of(mutant: Mutant) -> str:
    """Changes with the broken file, the test's file and the headers beside it."""
    digest = hashlib.sha256(f"{mutant.file}\0{mutant.killer}\0".encode())
    digest.update(mutant.mutated((TREE / mutant.file).read_text(encoding="utf-8")).encode())
    test = mutant_list.test_file(TREE, mutant.killer)
    for path in [test, *sorted(test.parent.glob("*.hpp"))] if test else []:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:32]


@contextlib.contextmanager
def broken(mutant: Mutant):
    path = TREE / mutant.file
    sound = path.read_text(encoding="utf-8")
    path.write_text(mutant.mutated(sound), encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(sound, encoding="utf-8")


def try_mutant(mutant: Mutant, seconds: float, jobs: int) -> Outcome:
    begun = time.monotonic()
    with broken(mutant):
        if errors := build([mutant.killer.target], jobs):
            return Outcome("error", "does not compile:\n" + errors, time.monotonic() - begun)
        longest = min(max(TRY_SECONDS_MIN, TIMES_BASELINE * seconds), TRY_SECONDS_MAX)
        code, text, took = attempt(command(mutant.killer), folder_of(mutant.killer), longest)
    if code == 0:
        return Outcome("survived", "the test passes", took)
    if code is None:
        return Outcome("killed", f"hung for {longest:.0f} s", took)
    if code < 0:
        return Outcome("killed", f"crashed ({promise_in(text) or signal.Signals(-code).name})", took)
    return Outcome("killed", "failed", took)


def promise_in(text: str) -> str:
    """What an assertion of the product said as it stopped the process."""
    match = re.search(r"^.*assert\w*.*$", text, re.M | re.I)
    return match.group(0).strip()[:160] if match else ""


def discover(mutant: Mutant, jobs: int) -> None:
    """Which tests of the executable notice the mutant: for whoever looks for the one to name."""
    with broken(mutant):
        if errors := build([mutant.killer.target], jobs):
            say(f"{mutant.name} does not compile:\n{errors}")
            return
        code, text, took = attempt([str(executable(mutant.killer.target))], BUILD, TRY_SECONDS_MAX)
    failed = sorted(set(re.findall(r"^\[  FAILED  \] (\S+?\.\S+?),? ", text, re.M)))
    if code is None or code < 0:
        begun = re.findall(r"^\[ RUN      \] (\S+)", text, re.M)
        failed.append(f"{begun[-1] if begun else '?'} ({'hung' if code is None else 'crashed: ' + promise_in(text)})")
    say(f"{mutant.name} ({took:.0f} s): " + ("nothing notices" if code == 0 else ""))
    for name in failed:
        say(f"    {name}")


# --- the run ----------------------------------------------------------------------------------------------------------

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


def run(mutants: list[Mutant], options: argparse.Namespace) -> dict[str, dict]:
    """Tries what has no result yet; all results of these mutants, by name."""
    results = remembered()
    keys = {mutant.name: key_of(mutant) for mutant in mutants}
    known = lambda m: not options.fresh and results.get(m.name, {}).get("key") == keys[m.name] and \
        results[m.name]["result"] == "killed"  # noqa: E731  what survived is tried again: another test may kill it now
    todo = [mutant for mutant in mutants if not known(mutant)]
    say(f"mutants: {len(mutants)} chosen, {len(mutants) - len(todo)} known from before, {len(todo)} to try")
    if todo:
        killers = list(dict.fromkeys(mutant.killer for mutant in todo))
        say(f"mutants: building and running the {len(killers)} named tests unbroken")
        if errors := build(sorted({killer.target for killer in killers}), options.jobs):
            raise CannotTry("the unbroken tree does not build:\n" + errors)
        seconds = baseline(killers)
    for number, mutant in enumerate(todo, 1):
        outcome = try_mutant(mutant, seconds[mutant.killer], options.jobs)
        say(f"[{number}/{len(todo)}] {mutant.name}: {outcome.result}, {outcome.how.splitlines()[0]}")
        results[mutant.name] = {"key": keys[mutant.name], "result": outcome.result, "how": outcome.how,
                                "seconds": round(outcome.seconds, 2), "by": str(mutant.killer),
                                "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
        remember(results)
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


def record(every: list[Mutant]) -> None:
    """Writes what docs/proof.md tells, once every mutant of the list, slice by slice, has its result."""
    results = remembered()
    current = [results[mutant.name] for mutant in every
               if mutant.name in results and not mutant_list.fits(TREE, mutant) and
               results[mutant.name]["key"] == key_of(mutant)]
    if len(current) < len(every) or any(result["result"] == "error" for result in current):
        say(f"\nmutants: {len(current)} of {len(every)} have their result; {RECORD.relative_to(ROOT)} waits for the rest")
        return
    RECORD.write_text(json.dumps({
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "killed": sum(1 for result in current if result["result"] == "killed"),
        "total": len(every),
        "survived": sorted(mutant.name for mutant in every if results[mutant.name]["result"] == "survived"),
    }, indent=2) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slice", default="", help="i/n: each n-th mutant from the i-th on")
    parser.add_argument("--only", default="", help="one mutant by name, or several by a pattern")
    parser.add_argument("--fresh", action="store_true", help="try again what has a result already")
    parser.add_argument("--of", default="", metavar="REV", help="break this revision instead of the working tree")
    parser.add_argument("--discover", action="store_true", help="run all tests of the executable, say which notice")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    options = parser.parse_args()
    HOME.mkdir(parents=True, exist_ok=True)
    with open(HOME / ".lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CannotTry("another run is using build/mutants") from None
        bring_up_to_date(options.of or None)
        every, problems = mutant_list.read(TREE)
        mutants = chosen(every, options)
        stale = [why for mutant in mutants for why in mutant_list.fits(TREE, mutant, with_test=not options.discover)]
        if problems or stale:
            raise CannotTry("the list is stale:\n" + "\n".join([why for _, why in problems] + stale))
        configure()
        if options.discover:
            for mutant in mutants:
                discover(mutant, options.jobs)
            return 0
        results = run(mutants, options)
        table(mutants, results)
        counts = {what: sum(1 for one in results.values() if one["result"] == what)
                  for what in ("killed", "survived", "error")}
        record(every)
    say(f"\n{counts['killed']} killed, {counts['survived']} survived" +
        (f", {counts['error']} could not be tried" if counts["error"] else ""))
    return 2 if counts["error"] else 1 if counts["survived"] else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CannotTry as why:
        print(f"mutants: {why}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("\nmutants: stopped; the same command goes on from here", file=sys.stderr)
        sys.exit(130)
