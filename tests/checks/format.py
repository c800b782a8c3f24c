#!/usr/bin/env python3
"""Format: every C++ file is as clang-format 19 writes it with .clang-format; `make format` rewrites them."""

import re
import subprocess
from pathlib import Path

from findings import Finding, files, main

WRONG = re.compile(r"^(.+?):(\d+):\d+: error: code should be clang-formatted", re.MULTILINE)


def check(root: Path) -> list[Finding]:
    ours = files(root, (".hpp", ".cpp"), ("src", "tests", "bench", "cmake"))
    ran = subprocess.run(["clang-format-19", "--dry-run", "-Werror", *ours], cwd=root, capture_output=True, text=True,
                         check=False)
    first: dict[str, int] = {}
    for name, line in WRONG.findall(ran.stderr):
        first.setdefault(name, int(line))
    if ran.returncode != 0 and not first:
        return [Finding(root / ".clang-format", 0, ran.stderr.strip())]
    return [Finding(root / name, line, "not in the house format from here on; run: make format") for name, line in first.items()]


if __name__ == "__main__":
    main(check, "format")
