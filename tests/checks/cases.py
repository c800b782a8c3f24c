#!/usr/bin/env python3
"""Cases: every claimed case of tests/cases.txt has a test named after it; no test names one that is unlisted or not claimed."""

from pathlib import Path

import case_list
from findings import Finding, main


def check(root: Path) -> list[Finding]:
    listing = root / "tests/cases.txt"
    cases = case_list.cases(root)
    named = case_list.tests_by_case(root)
    found = []
    for number, (case, (claimed, _)) in enumerate(cases.items(), 1):
        if claimed and case not in named:
            found.append(Finding(listing, number, f"{case} is claimed, but no test is named after it"))
        if not claimed and case in named:
            found.append(Finding(listing, number, f"{case} has a test ({named[case][0]}) and is not claimed"))
    found += [Finding(listing, 1, f"{case} is not listed, but {named[case][0]} is named after it")
              for case in sorted(set(named) - set(cases))]
    return found


if __name__ == "__main__":
    main(check, "cases")
