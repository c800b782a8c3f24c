#!/usr/bin/env python3
"""`make test` after the build: unit and contract tests, checks, protocol models, black-box tests; ends with "N passed, N failed".

Counts are test cases, not executables. Everything runs even when something failed; the failures stand together at the end.
Usage: tools/test.py [--build build/dev] [--only fast|checks|proof|system]
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


class Tally:
    """What passed and what failed, by name."""

    def __init__(self) -> None:
        self.passed = 0
        self.failed: list[str] = []

    def add(self, name: str, good: bool) -> None:
        if good:
            self.passed += 1
        else:
            self.failed.append(name)


def say(text: str = "") -> None:
    print(text, flush=True)


def fast(build: Path, tally: Tally) -> None:
    """Every test that ctest knows; GoogleTest writes one file an executable, from which cases are counted."""
    build = build.resolve()
    results = build / "results"
    results.mkdir(parents=True, exist_ok=True)
    for old in results.glob("*.xml"):
        old.unlink()
    listed = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True, check=True)
    tests = {test["name"]: Path(test.get("command", ["?"])[0]).name for test in json.loads(listed.stdout)["tests"]}
    say(f"== unit and contract tests: {len(tests)} executables")
    environment = os.environ | {"GTEST_OUTPUT": f"xml:{results}/", "GTEST_BRIEF": "1",
                                "ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1",
                                "UBSAN_OPTIONS": "print_stacktrace=1"}
    junit = build / "ctest.xml"
    junit.unlink(missing_ok=True)
    subprocess.run(["ctest", "--test-dir", build, "--output-on-failure", "--output-junit", junit.resolve(), "-j",
                    str(os.cpu_count() or 1), "--no-tests=error", "--stop-time", stop_time(FAST_SECONDS_MAX)],
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
        if case.get("status") == "run" and case.get("result") != "skipped":
            tally.add(f"{case.get('classname')}.{case.get('name')}", case.find("failure") is None)


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
    """The black-box suite against the real binary. It prints its own progress and ends with a summary line."""
    runner = ROOT / "tests/system/run.py"
    binary = build / "seckill"
    if not runner.is_file() or not binary.is_file():
        say(f"== black-box tests: none ({'no tests/system/run.py' if binary.is_file() else f'no {binary}'})")
        return
    say("== black-box tests")
    environment = os.environ | {"SECKILL_BINARY": str(binary.resolve())}
    results = build.resolve() / "results"
    results.mkdir(parents=True, exist_ok=True)
    process = subprocess.Popen([sys.executable, "-u", runner, "--binary", str(binary.resolve()), "--results",
                                str(results / "system.json")], cwd=ROOT,
                               env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True)
    try:
        text, finished = follow(process, SYSTEM_SECONDS_MAX)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10 if finished else 0)
    finally:  # also what the suite started and did not end
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    code = process.wait()
    if not finished:
        tally.add(f"black-box tests: stopped after {SYSTEM_SECONDS_MAX // 60} minutes", False)
    passed = failed = None
    names: list[str] = []
    for line in text.split("\n"):
        if match := re.fullmatch(r"(?:system: )?(\d+) passed, (\d+) failed(?:, \d+ skipped)?", line.strip()):
            passed, failed = int(match.group(1)), int(match.group(2))
        elif match := re.match(r"(?:FAIL|ERROR): (\S+)", line):
            names.append(match.group(1))
    if passed is None:
        tally.add("black-box tests (no summary line)", code == 0)
        return
    tally.passed += passed
    names = list(dict.fromkeys(names))[:failed]
    names += ["see above"] * (failed - len(names))
    tally.failed += [f"system: {name}" for name in names]
    if code != 0 and failed == 0:
        tally.failed.append(f"black-box tests: exit code {code}")


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
    parser.add_argument("--only", choices=("fast", "checks", "proof", "system"), help="run one part")
    options = parser.parse_args()
    tally = Tally()
    if options.only in (None, "fast"):
        fast(options.build, tally)
    if options.only in (None, "checks"):
        checks(tally)
    if options.only in (None, "proof"):
        proof(tally)
    if options.only in (None, "system"):
        system(options.build, tally)
    say()
    for name in tally.failed:
        say(f"FAILED  {name}")
    say(f"{tally.passed} passed, {len(tally.failed)} failed")
    sys.exit(1 if tally.failed or not tally.passed else 0)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
