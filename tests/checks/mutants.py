#!/usr/bin/env python3
"""Mutants: every breakage of tests/mutants/mutants.yaml still fits the source it breaks, and the test that kills it is
there. Builds nothing; `make mutants` breaks and kills."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "mutants"))

import mutant_list
from findings import Finding, main


def check(root: Path) -> list[Finding]:
    path = root / mutant_list.LIST
    if not path.is_file():
        return []
    mutants, problems = mutant_list.read(root)
    found = [Finding(path, line, why) for line, why in problems]
    for mutant in mutants:
        found += [Finding(path, mutant.line, why) for why in mutant_list.fits(root, mutant)]
    return found


if __name__ == "__main__":
    main(check, "mutants")
