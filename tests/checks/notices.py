#!/usr/bin/env python3
"""Notices: what CMake looks for and what setup installs stands in docs/dependencies.md and THIRD_PARTY_NOTICES.md."""

import re
from pathlib import Path

from findings import Finding, lines, main

FIND = re.compile(r"^\s*find_package\(\s*([\w-]+)")
PKG = re.compile(r"^\s*pkg_check_modules\(\s*\w+\s+.*?IMPORTED_TARGET\s+([\w+-]+)")
NOT_A_DEPENDENCY = {"Threads", "PkgConfig"}
LISTS = ("docs/dependencies.md", "THIRD_PARTY_NOTICES.md")
CMAKE = ("cmake/SeckillDependencies.cmake", "tests/CMakeLists.txt", "bench/CMakeLists.txt")


def table_names(path: Path) -> set[str]:
    """First cells of table rows, without decoration, lower case; `a, b` names two."""
    names = set()
    for line in lines(path):
        if line.startswith("|") and not set(line) <= set("|-: "):
            cell = line.split("|")[1].replace("`", "").replace("*", "")
            names.update(name.strip().lower() for name in cell.split(","))
    return names


def check(root: Path) -> list[Finding]:
    found = []
    needed = []
    for name in CMAKE:
        if (root / name).is_file():
            for number, line in enumerate(lines(root / name), 1):
                if (match := FIND.match(line) or PKG.match(line)) and match.group(1) not in NOT_A_DEPENDENCY:
                    needed.append((root / name, number, match.group(1)))
    for name in LISTS:
        if not (root / name).is_file():
            found.append(Finding(root / name, 0, "is missing"))
            continue
        listed = table_names(root / name)
        found += [Finding(path, number, f"{dependency} has no row in {name}")
                  for path, number, dependency in needed if dependency.lower() not in listed]
    packages = root / "docs/dependencies.md"
    text = packages.read_text(encoding="utf-8") if packages.is_file() else ""
    for group in sorted((root / "tools/packages").glob("*")):
        for number, line in enumerate(lines(group), 1):
            package = line.split("#")[0].strip()
            if package and f"`{package}`" not in text:
                found.append(Finding(group, number, f"`{package}` is not named in docs/dependencies.md"))
    return found


if __name__ == "__main__":
    main(check, "notices")
