"""The list of known failures (tests/cases.txt) and which tests are named after each: read by the check and by the proof report."""

import re
from pathlib import Path

CPP_TEST = re.compile(r"^\s*(?:TEST|TEST_F|TEST_P|TYPED_TEST|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\(\s*(\w+),\s*(\w+)", re.M)
PY_TEST = re.compile(r"^\s+def (test_\w+)", re.M)
CASE = re.compile(r"FS_?(\d\d)(?!\d)")


def cases(root: Path) -> dict[str, tuple[bool, str]]:
    """id → (claimed, what must not happen)"""
    found = {}
    for line in (root / "tests/cases.txt").read_text(encoding="utf-8").splitlines():
        match = re.fullmatch(r"(FS-\d\d) ([+-]) \| (.+)", line)
        if match:
            found[match.group(1)] = (match.group(2) == "+", match.group(3))
        elif line and not line.startswith("#"):
            raise SystemExit(f"tests/cases.txt: cannot read: {line}")
    return found


def names(root: Path) -> list[str]:
    """Every test's name: "Suite.case" in C++, "module.test_case" in Python."""
    found = []
    for path in sorted((root / "tests").rglob("*.cpp")):
        for suite, case in CPP_TEST.findall(path.read_text(encoding="utf-8")):
            found.append(f"{suite}.{case}")
    for suite in ("system", "cluster"):
        for path in sorted((root / "tests" / suite).glob("test_*.py")):
            for case in PY_TEST.findall(path.read_text(encoding="utf-8")):
                found.append(f"{path.stem}.{case}")
    return found


def tests_by_case(root: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in names(root):
        for number in CASE.findall(name):
            found.setdefault(f"FS-{number}", []).append(name)
    return dict(sorted(found.items()))
