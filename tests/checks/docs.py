#!/usr/bin/env python3
"""Docs: every relative link in a Markdown file leads to a file, and a #fragment to a heading there."""

import re
from pathlib import Path
from urllib.parse import unquote

from findings import Finding, files, lines, main

LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
REFERENCE = re.compile(r"^\[[^\]]+\]:\s+(\S+)")
ELSEWHERE = re.compile(r"^[a-z][a-z0-9+.-]*:")


def slug(heading: str) -> str:
    """The name that the usual Markdown hosts give a heading."""
    text = re.sub(r"`|\*|\[([^\]]*)\]\([^)]*\)", lambda m: m.group(1) or "", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def prose(path: Path) -> list[tuple[int, str]]:
    """Numbered lines outside code fences, without code spans."""
    fenced, out = False, []
    for number, line in enumerate(lines(path), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            out.append((number, re.sub(r"`[^`]*`", "", line)))
    return out


def anchors(path: Path) -> set[str]:
    seen: dict[str, int] = {}
    names = set()
    fenced = False
    for line in lines(path):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        if not fenced and (match := re.match(r"#{1,6}\s+(.*?)\s*#*$", line)):
            name = slug(match.group(1))
            count = seen.get(name, 0)
            seen[name] = count + 1
            names.add(f"{name}-{count}" if count else name)
        names.update(re.findall(r"<a\s+(?:id|name)=\"([^\"]+)\"", line))
    return names


def check(root: Path) -> list[Finding]:
    found = []
    for path in files(root, (".md",)):
        for number, line in prose(path):
            for target in [*LINK.findall(line), *REFERENCE.findall(line)]:
                if ELSEWHERE.match(target):
                    continue
                name, _, fragment = target.partition("#")
                there = path if not name else (root / name[1:] if name.startswith("/") else path.parent / unquote(name))
                if not there.exists():
                    found.append(Finding(path, number, f"link to {target}: there is no such file"))
                elif root not in [there.resolve(), *there.resolve().parents]:
                    found.append(Finding(path, number, f"link to {target} leaves the repository"))
                elif fragment and there.suffix == ".md" and unquote(fragment) not in anchors(there):
                    found.append(Finding(path, number, f"link to {target}: no heading has that name"))
    return found


if __name__ == "__main__":
    main(check, "docs")
