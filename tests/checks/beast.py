#!/usr/bin/env python3
"""Beast: at most six files include it, because each costs seconds of compile time, and many with sanitizers."""

import re
from pathlib import Path

from findings import Finding, files, lines, main

FILES_MAX = 6
INCLUDE = re.compile(r"\s*#\s*include\s*[<\"]boost/beast")


def check(root: Path) -> list[Finding]:
    users = []
    for path in files(root, (".hpp", ".cpp")):
        for number, line in enumerate(lines(path), 1):
            if INCLUDE.match(line):
                users.append(Finding(path, number, "includes Beast"))
                break
    # A header hands Beast to everybody who includes it, so it may not be one of them at all.
    found = [Finding(u.path, u.line, "a header includes Beast: forward declare, and keep it in a .cpp")
             for u in users if u.path.suffix == ".hpp" and not u.path.name.startswith("pch")]
    if len(users) > FILES_MAX:
        found += [Finding(u.path, u.line, f"one of {len(users)} files that include Beast; at most {FILES_MAX} may")
                  for u in users]
    return found


if __name__ == "__main__":
    main(check, "beast")
