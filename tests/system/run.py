#!/usr/bin/env python3
"""Runs the black-box suite against a built binary.

  tests/system/run.py --binary build/dev/seckill [-k PATTERN] [-v]

Test modules run in parallel processes (each starts its own servers on free ports in its own folders). Ends with one line
"system: N passed, N failed" and exits non-zero when anything failed or nothing ran.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent


def run_module(name, pattern, binary):
    command = [sys.executable, "-X", "utf8", "-m", "unittest", "-v", name]
    if pattern:
        command += ["-k", pattern]
    environment = {**os.environ, "SECKILL_BINARY": binary, "PYTHONDONTWRITEBYTECODE": "1"}
    begun = time.monotonic()
    done = subprocess.run(command, cwd=HERE, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", timeout=900)
    return name, done.returncode, done.stdout, time.monotonic() - begun


def count(output):
    """(passed, failed, skipped) of one unittest run."""
    ran = re.search(r"^Ran (\d+) tests? in", output, re.M)
    total = int(ran.group(1)) if ran else 0
    bad = sum(int(n) for n in re.findall(r"(?:failures|errors)=(\d+)", output.rsplit("Ran ", 1)[-1]))
    skipped = sum(int(n) for n in re.findall(r"skipped=(\d+)", output.rsplit("Ran ", 1)[-1]))
    return max(total - bad - skipped, 0), bad, skipped


def outcomes(name, output):
    """{"module.test_name": passed} of one unittest run; skipped tests are left out."""
    found = {}
    for test, rest in re.findall(r"^(test_\w+) \(.*?((?:ok|FAIL|ERROR|skipped .*))$", output, re.M | re.S):
        if not rest.startswith("skipped"):
            found[f"{name}.{test}"] = rest == "ok"
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default="build/dev/seckill")
    parser.add_argument("-k", dest="pattern", default="")
    parser.add_argument("-j", dest="jobs", type=int, default=max(os.cpu_count() or 1, 1))
    parser.add_argument("-v", dest="verbose", action="store_true")
    parser.add_argument("--results", help="write every test's outcome to this JSON file")
    parser.add_argument("modules", nargs="*")
    options = parser.parse_args()
    binary = str(pathlib.Path(options.binary).resolve())
    if not os.access(binary, os.X_OK):
        print(f"{options.binary} is not built; `make test` builds it", file=sys.stderr)
        return 2
    modules = options.modules or sorted(path.stem for path in HERE.glob("test_*.py"))
    passed = failed = skipped = 0
    results = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        futures = [pool.submit(run_module, name, options.pattern, binary) for name in modules]
        for future in concurrent.futures.as_completed(futures):
            name, code, output, seconds = future.result()
            good, bad, left = count(output)
            results |= outcomes(name, output)
            if code not in (0, 5) and bad == 0:
                bad = 1
            passed, failed, skipped = passed + good, failed + bad, skipped + left
            print(f"{'ok  ' if bad == 0 else 'FAIL'} {name}: {good} passed, {bad} failed ({seconds:.1f} s)", flush=True)
            if bad or options.verbose:
                print(output, flush=True)
    if options.results:
        pathlib.Path(options.results).write_text(json.dumps(results, indent=1, sort_keys=True), encoding="utf-8")
    print(f"system: {passed} passed, {failed} failed, {skipped} skipped")
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
