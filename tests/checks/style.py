#!/usr/bin/env python3
"""Style that no formatter knows: size, names, headers, leftovers. CONTRIBUTING.md states the rules."""

import re
from pathlib import Path

from findings import Finding, files, lines, main

FILE_LINES_MAX = 400
# Words that say nothing about what a thing is. Only as a part of a type's, file's or function's own name.
EMPTY_NAME = re.compile(r"\b(?:class|struct|enum|enum class|namespace|concept|using)\s+(\w*(?:Manager|Helper|Util|Utils)|\w*_(?:manager|helper|util|utils))\b")
EMPTY_FILE = re.compile(r"(^|_)(manager|helper|helpers|util|utils|misc|common)(_|\.|$)")
LEFTOVER = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|^\s*#\s*if\s+0\b")
MACHINE_PATH = re.compile(r"(?<![\w./:}\-])/(?:home|root|Users|mnt)/\w")
SWITCH_DEFAULT = re.compile(r"^\s*default\s*:")
# Our enums are the ones whose type is in PascalCase; characters, numbers, errno and libraries' enums are open sets.
CASE_OF_OURS = re.compile(r"^\s*case\s+(?:\w+::)*[A-Z]\w*[a-z]\w*::\w+\s*:")
CASE = re.compile(r"^\s*case\b")
CODE = (".hpp", ".cpp")
CODE_FOLDERS = ("src", "tests", "bench", "cmake")
TEXT = (*CODE, ".md", ".py", ".sh", ".cmake", "CMakeLists.txt", ".json", ".yaml", ".yml", ".js", ".html", ".css", ".sql",
        "Makefile", ".conf", ".service")
# Where a rule's own words stand, as patterns and as cases that must be found.
ABOUT_RULES = {"tests/checks/style.py", "tests/checks/selftest.py", "CONTRIBUTING.md"}


def check(root: Path) -> list[Finding]:
    found = []
    for path in files(root, CODE, CODE_FOLDERS):
        found += check_code(root, path)
    for path in files(root, TEXT):
        if str(path.relative_to(root)) in ABOUT_RULES:
            continue
        for number, line in enumerate(lines(path), 1):
            if MACHINE_PATH.search(line):
                found.append(Finding(path, number, "a path of one machine; use a relative one"))
            if path.suffix != ".md" and LEFTOVER.search(line):
                found.append(Finding(path, number, "a leftover: do it, or file an issue and delete the line"))
    return found


def check_code(root: Path, path: Path) -> list[Finding]:
    found = []
    text = lines(path)
    length = len(text) - (text[-1] == "")
    if length > FILE_LINES_MAX:
        found.append(Finding(path, length, f"{length} lines; a file has at most {FILE_LINES_MAX}: one room, one purpose"))
    if not has_header_comment(path, text):
        found.append(Finding(path, 1, "begins without a comment that says what the file is for"))
    if path.suffix == ".hpp" and "#pragma once" not in text:
        found.append(Finding(path, 1, "a header needs #pragma once"))
    if EMPTY_FILE.search(path.stem.lower() + "."):
        found.append(Finding(path, 0, "the file's name says nothing; name the thing it holds"))
    ours = False
    for number, line in enumerate(text, 1):
        if CASE.match(line):
            ours = bool(CASE_OF_OURS.match(line))
        if match := EMPTY_NAME.search(line.split("//")[0]):
            found.append(Finding(path, number, f"{match.group(1)}: never Manager, Helper or Util; name what it is"))
        if SWITCH_DEFAULT.match(line) and ours:
            found.append(Finding(path, number, "a switch over an enum of ours has no default, so that the compiler finds "
                                               "the forgotten case"))
    return found


def has_header_comment(path: Path, text: list[str]) -> bool:
    """A comment stands first, or the .hpp of the same name carries it."""
    if text and text[0].startswith("//"):
        return True
    header = path.with_suffix(".hpp")
    return path.suffix == ".cpp" and header.is_file() and lines(header)[0].startswith("//")


if __name__ == "__main__":
    main(check, "style")
