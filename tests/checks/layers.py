#!/usr/bin/env python3
"""Layers: includes point left, and a file's namespace is its folder (seckill::<folder>)."""

import re
from pathlib import Path

from findings import LAYERS, Finding, files, lines, main

INCLUDE = re.compile(r'\s*#\s*include\s*"([^"]+)"')
NAMESPACE = re.compile(r"\s*(?:inline\s+)?namespace\s+(seckill[\w:]*)\s*\{")
USING = re.compile(r"\s*using\s+namespace\b")


def check(root: Path) -> list[Finding]:
    found = []
    source = root / "src"
    for path in files(root, (".hpp", ".cpp"), ("src",)):
        parts = path.relative_to(source).parts
        folder = parts[0] if len(parts) > 1 else "main"
        if folder != "main" and folder not in LAYERS:
            found.append(Finding(path, 0, f"folder src/{folder} has no place in the order of layers: {' < '.join(LAYERS)}"))
            continue
        allowed = LAYERS if folder == "main" else LAYERS[: LAYERS.index(folder) + 1]
        namespaces = 0
        for number, line in enumerate(lines(path), 1):
            if match := INCLUDE.match(line):
                target = match.group(1)
                first = target.split("/")[0]
                if "/" not in target or first not in LAYERS:
                    found.append(Finding(path, number, f'include "{target}" from src/ by its folder, like "base/text.hpp"'))
                elif first not in allowed:
                    found.append(Finding(path, number, f'{folder} includes "{target}": {first} stands to the right of {folder}'))
                elif not (source / target).is_file():
                    found.append(Finding(path, number, f'"{target}" does not exist in src/'))
            if match := NAMESPACE.match(line):
                namespaces += 1
                inside = match.group(1).split("::")
                if folder != "main" and inside[1:2] not in ([folder], []):
                    # Naming a thing of a lower layer ahead of its definition is allowed; defining there is not.
                    if inside[1] not in allowed or not forward_only(path, number):
                        found.append(Finding(path, number, f"namespace {match.group(1)} in folder {folder}: it is seckill::{folder}"))
                elif folder != "main" and len(inside) == 1:
                    found.append(Finding(path, number, f"namespace seckill alone in folder {folder}: it is seckill::{folder}"))
            if path.suffix == ".hpp" and USING.match(line):
                found.append(Finding(path, number, "a header never says 'using namespace'"))
        if folder != "main" and namespaces == 0 and path.name != "pch.hpp":
            found.append(Finding(path, 0, f"nothing stands in namespace seckill::{folder}"))
    return found


def forward_only(path: Path, number: int) -> bool:
    """True when the namespace opened on that line holds declarations like `class X;` and nothing else."""
    for line in lines(path)[number - 1:]:
        body = re.sub(r"//.*", "", NAMESPACE.sub("", line)).strip()
        body = body.rstrip("}").strip()
        if body and not re.fullmatch(r"((class|struct|enum class)\s+\w+(\s*:\s*[\w:]+)?;\s*)+", body):
            return False
        if "}" in line:
            return True
    return False


if __name__ == "__main__":
    main(check, "layers")
