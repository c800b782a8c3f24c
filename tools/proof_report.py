#!/usr/bin/env python3
"""Writes docs/proof.md: what is proven, by what, with which result, and how much of it has been run so far.

Reads the list of known failures (tests/cases.txt), the outcomes of the last `make test` (build/dev/results), and the committed
records of longer runs: tests/simulation/record.json, proof/record.json, tests/mutants/record.json, tests/fuzz/record.json.
Usage: tools/proof_report.py [--build build/dev] [--check]   (--check: writes nothing, fails when the page would change)
"""

import argparse
import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/checks"))
import case_list  # noqa: E402

HEAD = """# Proof

What is proven, by what, and how much of it has been run. Written by `make proof-report` from the tests' own names, the results
of the last `make test` and the records of longer runs; do not edit it by hand.

| what | command | what it shows |
|---|---|---|
| tests | `make test` | the known failures below, unit and contract suites under AddressSanitizer and UndefinedBehaviourSanitizer |
| simulator | `make simulate SEEDS=n MINUTES=m` | the promises at every step under faults and crashes, from one printed seed |
| models | `make proof` | the protocols, exhaustively within stated bounds, and that each named mistake breaks a promise |
| mutants | `make mutants` | that a wrong line in the code does not survive the tests |
| fuzzing | `make fuzz MINUTES=m` | that hostile input gets a small answer |
| threads | `make tsan` | no data race where threads meet |
"""


def record(path: str) -> dict:
    file = ROOT / path
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def outcomes(build: Path) -> dict[str, bool]:
    """Every test's outcome in the last run, by the names that case_list gives."""
    found: dict[str, bool] = {}
    for xml in sorted((build / "results").glob("*.xml")):
        for case in ElementTree.parse(xml).getroot().iter("testcase"):
            if case.get("status") != "run" or case.get("result") == "skipped":
                continue
            suite = case.get("classname", "").rsplit("/", 1)[-1]
            name = re.sub(r"/.*$", "", case.get("name", ""))
            key = f"{suite}.{name}"
            found[key] = found.get(key, True) and case.find("failure") is None
    for suite in ("system", "cluster"):
        file = build / "results" / f"{suite}.json"
        if file.is_file():
            found |= json.loads(file.read_text(encoding="utf-8"))
    return found


def readable(test: str) -> str:
    return re.sub(r"^.*?(?=FS_\d\d)", "", test).replace("_", " ")


def case_table(build: Path) -> list[str]:
    named = case_list.tests_by_case(ROOT)
    results = outcomes(build)
    lines = ["## Known failures", "",
             "Failures that flash-sale systems have had in public. A case without a test waits for the part it concerns.", "",
             "| case | must not happen | tests | last result |", "|---|---|---|---|"]
    for case, (claimed, words) in case_list.cases(ROOT).items():
        tests = named.get(case, [])
        if not tests:
            lines.append(f"| {case} | {words} | — | not claimed yet |")
            continue
        told = [results[test] for test in tests if test in results]
        if not told:
            result = "not run here"
        elif all(told) and len(told) == len(tests):
            result = "passed"
        elif all(told):
            result = f"{len(told)} of {len(tests)} run, passed"
        else:
            result = "**failed**"
        first = readable(min(tests, key=len))
        more = f" and {len(tests) - 1} more" if len(tests) > 1 else ""
        lines.append(f"| {case} | {words} | {first.replace(case.replace('-', ' '), '').strip()}{more} | {result} |")
    claimed = sum(1 for case, (is_claimed, _) in case_list.cases(ROOT).items() if is_claimed)
    lines += ["", f"{claimed} of {len(case_list.cases(ROOT))} cases are claimed."]
    return lines


def simulator() -> list[str]:
    found = record("tests/simulation/record.json")
    lines = ["## Simulator", ""]
    if not found:
        return [*lines, "No recorded run yet."]
    lines += ["| world | seeds | violations | virtual hours | purchases | `simulated_purchases_per_s`, last run |",
              "|---|---|---|---|---|---|"]
    for world, total in sorted(found.get("worlds", {}).items()):
        lines.append(f"| {world} | {total.get('seeds', 0):,} | {total.get('violations', 0)} | "
                     f"{total.get('virtual_hours', 0):,.0f} | {total.get('purchases', 0):,} | "
                     f"{total.get('purchases_per_s', 0):,.0f} |")
    totals = found.get("worlds", {}).values()
    lines += ["", f"`seeds_total` {sum(t.get('seeds', 0) for t in totals):,} · `virtual_hours_total` "
                  f"{sum(t.get('virtual_hours', 0) for t in totals):,.0f}, last run {found.get('date', 'unknown')}."]
    return lines


def models() -> list[str]:
    found = record("proof/record.json")
    lines = ["## Models", ""]
    if not found:
        return [*lines, "No recorded run yet."]
    lines += ["| model | bounds | states | result |", "|---|---|---|---|"]
    for model in found.get("models", []):
        lines.append(f"| {model['model']} | {model.get('bounds', '')} | {model.get('states', 0):,} | "
                     f"{'passed' if model.get('ok') else '**failed**'} |")
    mutations = found.get("mutations", [])
    lines += ["", f"Named mistakes in the models that break a promise: {sum(1 for m in mutations if m.get('caught'))} of "
                  f"{len(mutations)}.", "", "| model | mistake | promise | caught |", "|---|---|---|---|"]
    for one in mutations:
        lines.append(f"| {one['model']} | {one['mutation']} | {one.get('promise', '')} | "
                     f"{'yes' if one.get('caught') else '**no**'} |")
    return lines


def mutants() -> list[str]:
    found = record("tests/mutants/record.json")
    if not found:
        return ["## Mutants", "", "No recorded run yet."]
    return ["## Mutants", "", f"`mutants_killed/total` {found.get('killed', 0)}/{found.get('total', 0)}, "
                              f"{found.get('date', 'unknown')}. The list: `tests/mutants/`."]


def fuzzing() -> list[str]:
    found = record("tests/fuzz/record.json")
    if not found:
        return ["## Fuzzing", "", "No recorded run yet."]
    lines = ["## Fuzzing", "", "| harness | minutes | runs |", "|---|---|---|"]
    harnesses = found.get("harnesses", {})
    for name, total in sorted(harnesses.items()):
        lines.append(f"| {name} | {total.get('minutes', 0):,.1f} | {total.get('runs', 0):,} |")
    lines += ["", f"`fuzz_minutes_total` {sum(t.get('minutes', 0) for t in harnesses.values()):,.1f}, last run "
                  f"{found.get('date', 'unknown')}."]
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/dev")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    parts = [HEAD.rstrip().split("\n"), case_table(options.build), simulator(), models(), mutants(), fuzzing()]
    text = "\n\n".join("\n".join(part) for part in parts) + "\n"
    page = ROOT / "docs/proof.md"
    if options.check:
        same = page.is_file() and page.read_text(encoding="utf-8") == text
        print("docs/proof.md is up to date" if same else "docs/proof.md is out of date: make proof-report")
        return 0 if same else 1
    page.write_text(text, encoding="utf-8")
    print("docs/proof.md written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
