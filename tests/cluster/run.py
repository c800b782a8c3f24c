#!/usr/bin/env python3
"""Black-box tests of a whole cluster: the real binary on real Redis, RabbitMQ, MariaDB and nginx of this machine.

  tests/cluster/run.py --binary build/dev/seckill [--short] [--only PATTERN] [--results FILE] [--list]

One test after the other, since each wants the machine for itself. Ends with one line "cluster: N passed, N failed, N skipped"
and exits non-zero when anything failed. Without the servers every test is skipped, and says so; that is no success either:
"0 passed". SECKILL_KEEP_CLUSTER=1 leaves the folders of clusters under the temporary folder.
"""

import argparse
import json
import os
import re
import signal
import sys
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent


def flatten(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flatten(test)
        else:
            yield test


def name_of(test):
    return test.id().split(".")[0] + "." + test.id().split(".")[-1]


class Told(unittest.TestResult):
    """Prints each test as it ends, and what went wrong at once."""

    def __init__(self):
        super().__init__()
        self.outcomes: dict[str, str] = {}
        self.begun = 0.0

    def startTest(self, test):
        super().startTest(test)
        self.begun = time.monotonic()

    def tell(self, test, outcome, text=""):
        name = name_of(test)
        self.outcomes[name] = outcome
        word = {"passed": "ok  ", "failed": "FAIL", "skipped": "skip"}[outcome]
        print(f"{word} {name} ({time.monotonic() - self.begun:.1f} s){' ' + text if outcome == 'skipped' else ''}", flush=True)
        if outcome == "failed":
            print(f"FAIL: {name}\n{text}", flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.tell(test, "passed")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.tell(test, "failed", self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        self.tell(test, "failed", self.errors[-1][1])

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.tell(test, "skipped", reason)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/dev/seckill")
    parser.add_argument("--short", action="store_true", help="only the short set")
    parser.add_argument("--only", default="", help="a regular expression that a test's name must contain")
    parser.add_argument("--results", help="write every test's outcome to this JSON file")
    parser.add_argument("--list", action="store_true", help="print the tests and end")
    options = parser.parse_args()
    binary = Path(options.binary).resolve()
    os.environ["SECKILL_BINARY"] = str(binary)
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(HERE))
    from harness import case, cluster

    tests = list(flatten(unittest.TestLoader().discover(str(HERE), pattern="test_*.py", top_level_dir=str(HERE))))
    broken = [test for test in tests if isinstance(test, unittest.loader._FailedTest)]
    if options.short:
        tests = [t for t in tests if t in broken or getattr(getattr(t, t._testMethodName), "is_short", False)]
    tests = [t for t in tests if t in broken or re.search(options.only, name_of(t))]
    # Tests that share the cluster first, so that it is started once.
    tests.sort(key=lambda t: getattr(t, "own_cluster", None) is not None)
    if options.list:
        print("\n".join(name_of(test) for test in tests))
        return 0
    if not os.access(binary, os.X_OK):
        print(f"{options.binary} is not built; `make test-cluster` builds it", file=sys.stderr)
        return 2
    # A caller whose patience ends says SIGTERM: the servers must still be stopped. As Ctrl-C, which no test takes for its own failure.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    result = Told()
    if absent := cluster.missing():
        for test in tests:
            result.startTest(test)
            result.addSkip(test, f"not installed: {', '.join(absent)}")
    else:
        try:
            unittest.TestSuite(tests).run(result)
        finally:
            case.end_all()
    counts = {word: sum(outcome == word for outcome in result.outcomes.values()) for word in ("passed", "failed", "skipped")}
    if options.results:
        told = {name: outcome == "passed" for name, outcome in result.outcomes.items() if outcome != "skipped"}
        Path(options.results).write_text(json.dumps(told, indent=1, sort_keys=True), encoding="utf-8")
    print(f"cluster: {counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 0 if counts["failed"] == 0 and (counts["passed"] or counts["skipped"]) else 1


if __name__ == "__main__":
    sys.exit(main())
