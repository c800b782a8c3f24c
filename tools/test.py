#!/usr/bin/env python3
"""`make test` after the build: unit and contract tests, checks, protocol models, tests on real engines, black-box tests; ends
with "N passed, N failed", or "N passed, N failed, N skipped" where this machine lacks what a test needs.

Counts are test cases, not executables. Everything runs even when something failed; the failures stand together at the end.
Usage: tools/test.py [--build build/dev] [--only fast|checks|proof|engines|system|cluster]
"""

import argparse
import contextlib
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHECKS = ("selftest", "layers", "beast", "style", "docs", "notices", "cases", "mutants", "format")
SYSTEM_SECONDS_MAX = 20 * 60
FAST_SECONDS_MAX = 10 * 60
ENGINES_SECONDS_MAX = 10 * 60
CLUSTER_SECONDS_MAX = 12 * 60
PARTS = ("fast", "checks", "proof", "engines", "system", "cluster")


class Tally:
    """What passed, what failed and what was skipped, by name."""

    def __init__(self) -> None:
        self.passed = 0
        self.failed: list[str] = []
        self.skipped: list[str] = []

    def add(self, name: str, good: bool) -> None:
        if good:
            self.passed += 1
        else:
            self.failed.append(name)


def say(text: str = "") -> None:
    print(text, flush=True)


def fast(build: Path, tally: Tally) -> None:
    """Every test that ctest knows and that needs no server."""
    ctest(build, tally, "unit and contract tests", ["-LE", "engine"], FAST_SECONDS_MAX, {})


def engines(build: Path, tally: Tally) -> None:
    """Tests against real Redis, RabbitMQ and MariaDB, started for them and stopped after them."""
    tool = ROOT / "tools/cluster/engines.py"
    folder = build.resolve() / "engines"
    started = subprocess.run([sys.executable, tool, "start", "--folder", folder], stdin=subprocess.DEVNULL, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    say("== tests on real engines")
    say(started.stdout.rstrip())
    try:
        if started.returncode != 0:
            absent = "not installed" in started.stdout
            (tally.skipped if absent else tally.failed).append("tests on real engines: " + started.stdout.strip().splitlines()[0])
            return
        pairs = [line.removeprefix("export ").partition("=") for line in (folder / "env").read_text().splitlines()]
        ctest(build, tally, "tests on real engines", ["-L", "engine"], ENGINES_SECONDS_MAX,
              {name: value.strip("'") for name, _, value in pairs})
    finally:
        subprocess.run([sys.executable, tool, "stop", "--folder", folder], stdout=subprocess.DEVNULL, check=False)


def ctest(build: Path, tally: Tally, title: str, selection: list[str], seconds_max: int, extra: dict[str, str]) -> None:
    """The selected executables; GoogleTest writes one file an executable, from which cases are counted."""
    build = build.resolve()
    results = build / "results"
    results.mkdir(parents=True, exist_ok=True)
    listed = subprocess.run(["ctest", "--test-dir", build, *selection, "--show-only=json-v1"], capture_output=True, text=True,
                            check=True)
    tests = {test["name"]: Path(test.get("command", ["?"])[0]).name for test in json.loads(listed.stdout)["tests"]}
    say(f"== {title}: {len(tests)} executables")
    for executable in tests.values():
        (results / f"{executable}.xml").unlink(missing_ok=True)
    environment = os.environ | extra | {"GTEST_OUTPUT": f"xml:{results}/", "GTEST_BRIEF": "1",
                                        "ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1",
                                        "UBSAN_OPTIONS": "print_stacktrace=1"}
    junit = build / "ctest.xml"
    junit.unlink(missing_ok=True)
    subprocess.run(["ctest", "--test-dir", build, *selection, "--output-on-failure", "--output-junit", junit.resolve(), "-j",
                    str(os.cpu_count() or 1), "--no-tests=error", "--stop-time", stop_time(seconds_max)],
                   env=environment, check=False)
    outcome = {case.get("name"): case.get("status") == "run" for case in
               (ElementTree.parse(junit).getroot().iter("testcase") if junit.is_file() else [])}
    for name, executable in tests.items():
        good = outcome.get(name, False)
        failed_before = len(tally.failed)
        count_cases(results / f"{executable}.xml", tally)
        # A crash, a leak or a time-out is told by the exit code alone, and counts as one failure of its own.
        if not good and len(tally.failed) == failed_before:
            tally.add(f"{name}: crashed, leaked, timed out or did not start", False)


def count_cases(xml: Path, tally: Tally) -> None:
    try:
        cases = list(ElementTree.parse(xml).getroot().iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return
    for case in cases:
        name = f"{case.get('classname')}.{case.get('name')}"
        if case.get("result") == "skipped":
            tally.skipped.append(name)
        elif case.get("status") == "run":
            tally.add(name, case.find("failure") is None)


def stop_time(seconds: int) -> str:
    return time.strftime("%H:%M:%S", time.localtime(time.time() + seconds))


def checks(tally: Tally) -> None:
    say("== checks")
    for name in CHECKS:
        ran = subprocess.run([sys.executable, ROOT / "tests/checks" / f"{name}.py"], capture_output=True, text=True,
                             check=False)
        text = (ran.stdout + ran.stderr).strip()
        if name == "selftest":
            say("selftest: every check fails when its rule is broken" if ran.returncode == 0 else text)
        else:
            say(text)
        tally.add(f"check {name}", ran.returncode == 0)


def proof(tally: Tally) -> None:
    """The protocol models: each search is one test. It bounds its searches itself."""
    say("== protocol models")
    ran = subprocess.run([sys.executable, ROOT / "proof/run.py"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, check=False)
    say(ran.stdout.strip())
    summary = re.search(r"^(\d+) passed, (\d+) failed$", ran.stdout, re.MULTILINE)
    if not summary:
        tally.add("protocol models (no summary line)", False)
        return
    tally.passed += int(summary.group(1))
    failed = re.findall(r"^FAILED  (.*)$", ran.stdout, re.MULTILINE)
    tally.failed += [f"proof: {name}" for name in failed]
    if ran.returncode != 0 and not failed:
        tally.failed.append(f"protocol models: exit code {ran.returncode}")


def system(build: Path, tally: Tally) -> None:
    """The black-box suite against the real binary."""
    suite("system", "black-box tests", build, tally, [], SYSTEM_SECONDS_MAX)


def cluster(build: Path, tally: Tally) -> None:
    """The short set of the cluster's black-box suite; `make test-cluster` runs all of it."""
    suite("cluster", "cluster tests", build, tally, ["--short"], CLUSTER_SECONDS_MAX)


def suite(name: str, title: str, build: Path, tally: Tally, words: list[str], seconds_max: int) -> None:
    """A Python suite. It prints its own progress and ends with a summary line."""
    runner = ROOT / "tests" / name / "run.py"
    binary = build / "seckill"
    if not runner.is_file() or not binary.is_file():
        tally.skipped.append(f"{title}: none ({f'no tests/{name}/run.py' if binary.is_file() else f'no {binary}'})")
        return
    say(f"== {title}")
    environment = os.environ | {"SECKILL_BINARY": str(binary.resolve())}
    results = build.resolve() / "results"
    results.mkdir(parents=True, exist_ok=True)
    process = subprocess.Popen([sys.executable, "-u", runner, "--binary", str(binary.resolve()), "--results",
                                str(results / f"{name}.json"), *words], cwd=ROOT,
                               env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True)
    try:
        text, finished = follow(process, seconds_max)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10 if finished else 0)
    finally:  # also what the suite started and did not end
        if process.poll() is None:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(30)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    code = process.wait()
    if not finished:
        tally.add(f"{title}: stopped after {seconds_max // 60} minutes", False)
    passed = failed = None
    names: list[str] = []
    for line in text.split("\n"):
        if match := re.fullmatch(rf"(?:{name}: )?(\d+) passed, (\d+) failed(?:, (\d+) skipped)?", line.strip()):
            passed, failed = int(match.group(1)), int(match.group(2))
            tally.skipped += [f"{name}: a test (see above)"] * int(match.group(3) or 0)
        elif match := re.match(r"(?:FAIL|ERROR): (\S+)", line):
            names.append(match.group(1))
    if passed is None:
        tally.add(f"{title} (no summary line)", code == 0)
        return
    tally.passed += passed
    names = list(dict.fromkeys(names))[:failed]
    names += ["see above"] * (failed - len(names))
    tally.failed += [f"{name}: {test}" for test in names]
    if code != 0 and failed == 0:
        tally.failed.append(f"{title}: exit code {code}")


def follow(process: subprocess.Popen, seconds_max: int) -> tuple[str, bool]:
    """Prints what the process says as it says it, until it has ended or the time is up; the text, and whether it ended."""
    deadline = time.monotonic() + seconds_max
    text = bytearray()
    while time.monotonic() < deadline:
        if select.select([process.stdout], [], [], 0.5)[0]:
            chunk = os.read(process.stdout.fileno(), 65536)
            if not chunk:
                return text.decode(errors="replace"), True
            text += chunk
            sys.stdout.buffer.write(chunk)
            sys.stdout.flush()
        elif process.poll() is not None:  # ended, while something it started still holds the pipe
            return text.decode(errors="replace"), True
    return text.decode(errors="replace"), False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/dev", help="build folder (default build/dev)")
    parser.add_argument("--only", choices=PARTS, help="run one part")
    options = parser.parse_args()
    tally = Tally()
    with_build = {"fast": fast, "engines": engines, "system": system, "cluster": cluster}
    for part in PARTS:
        if options.only in (None, part):
            if part in with_build:
                with_build[part](options.build, tally)
            else:
                {"checks": checks, "proof": proof}[part](tally)
    say()
    for name in dict.fromkeys(tally.skipped):
        count = tally.skipped.count(name)
        say(f"SKIPPED {name}{f' ({count} times)' if count > 1 else ''}")
    for name in tally.failed:
        say(f"FAILED  {name}")
    say(f"{tally.passed} passed, {len(tally.failed)} failed" + (f", {len(tally.skipped)} skipped" if tally.skipped else ""))
    sys.exit(1 if tally.failed or not tally.passed else 0)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
