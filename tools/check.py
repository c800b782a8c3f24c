#!/usr/bin/env python3
"""`make check`: format, layers and style, clang-tidy, fast tests; what a change must pass before it is committed.

clang-tidy remembers each clean file by the content of everything that file includes from us, so a second run looks only
at what changed. Usage: tools/check.py [--only rules|fast|tidy]
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/dev"
BENCH = ROOT / "build/release"  # compiles bench/ once `make bench` has run
CACHE = ROOT / "build/tidy"
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def say(text: str) -> None:
    print(text, flush=True)


def check_rules() -> bool:
    ran = subprocess.run([sys.executable, ROOT / "tools/test.py", "--only", "checks"], check=False)
    return ran.returncode == 0


def closure(path: Path, folders: list[Path], seen: dict[Path, bytes]) -> None:
    """The file and all files of ours that it includes, with their bytes."""
    if path in seen:
        return
    seen[path] = path.read_bytes()
    for name in INCLUDE.findall(seen[path].decode("utf-8", "replace")):
        for base in (path.parent, *folders):
            if (base / name).is_file():
                closure((base / name).resolve(), folders, seen)
                break


def commands() -> dict[str, tuple[str, list[str]]]:
    """Each source's folder and compile command, without the launcher and without precompiled headers."""
    entries = json.loads((BUILD / "compile_commands.json").read_text())
    known = {entry["file"] for entry in entries}
    if (BENCH / "compile_commands.json").is_file():
        entries += [entry for entry in json.loads((BENCH / "compile_commands.json").read_text())
                    if entry["file"] not in known and Path(entry["file"]).is_relative_to(ROOT / "bench")]
    out = {}
    for entry in entries:
        words = shlex.split(entry["command"])
        start = next((i for i, word in enumerate(words) if "clang++" in word or word.endswith("g++")), 0)
        words = words[start:]
        kept, i = [], 0
        while i < len(words):
            if words[i:i + 2] in (["-Xclang", "-include-pch"], ["-Xclang", "-include"]):
                i += 4
            elif words[i] == "-Winvalid-pch" or words[i:i + 2] == ["-Xclang", "-fno-pch-timestamp"]:
                i += 1 if words[i] == "-Winvalid-pch" else 2
            else:
                kept.append(words[i])
                i += 1
        if not entry["file"].endswith((".hxx.cxx", ".hxx")):
            out[entry["file"]] = (entry["directory"], kept)
    return out


def check_tidy() -> bool:
    CACHE.mkdir(parents=True, exist_ok=True)
    ours = commands()
    (CACHE / "compile_commands.json").write_text(json.dumps(
        [{"directory": folder, "file": file, "arguments": words} for file, (folder, words) in ours.items()]))
    version = subprocess.run(["clang-tidy-19", "--version"], capture_output=True, check=True).stdout
    rules = b"".join((ROOT / name).read_bytes() for name in (".clang-tidy", "tests/.clang-tidy") if (ROOT / name).is_file())
    todo = []
    keys = set()
    for file, (_, words) in ours.items():
        if not Path(file).is_file() or not Path(file).is_relative_to(ROOT):
            continue
        seen: dict[Path, bytes] = {}
        folders = [Path(word[2:]) for word in words if word.startswith(f"-I{ROOT}/")]
        closure(Path(file).resolve(), folders, seen)
        digest = hashlib.sha256(version + rules + " ".join(words).encode())
        for path in sorted(seen):
            digest.update(hashlib.sha256(str(path).encode() + b"\0" + seen[path]).digest())
        key = digest.hexdigest()[:40]
        keys.add(key)
        if not (CACHE / key).exists():
            todo.append((file, key))
    for old in CACHE.iterdir():  # what no file needs any more
        if re.fullmatch(r"[0-9a-f]{40}", old.name) and old.name not in keys and time.time() - old.stat().st_mtime > 7 * 86400:
            old.unlink()
    if not todo:
        say(f"clang-tidy: {len(keys)} files, none changed")
        return True
    say(f"clang-tidy: {len(todo)} of {len(keys)} files to read")
    return run_tidy(todo)


def run_tidy(todo: list[tuple[str, str]]) -> bool:
    def tidy(job: tuple[str, str]) -> tuple[str, str, subprocess.CompletedProcess]:
        ran = subprocess.run(["clang-tidy-19", "--quiet", "-p", CACHE, job[0]], cwd=ROOT, capture_output=True, text=True,
                             check=False)
        return *job, ran

    bad, seen = 0, set()
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for done, (file, key, ran) in enumerate(pool.map(tidy, todo), 1):
            name = Path(file).relative_to(ROOT)
            if ran.returncode == 0:
                (CACHE / key).touch()
                say(f"[{done}/{len(todo)}] {name}")
                continue
            bad += 1
            say(f"[{done}/{len(todo)}] {name}: broken")
            for finding in re.split(r"\n(?=\S+:\d+:\d+: (?:error|warning))", "\n" + ran.stdout):
                text = finding.strip().replace(f"{ROOT}/", "")
                if text and text not in seen:  # a header's finding comes once, not once an includer
                    seen.add(text)
                    say(text)
    say(f"clang-tidy: {f'{bad} files broken' if bad else 'clean'}")
    return bad == 0


def check_fast() -> bool:
    if subprocess.run([ROOT / "tools/build.sh", "dev", "fast_tests"], check=False).returncode != 0:
        return False
    return subprocess.run([sys.executable, ROOT / "tools/test.py", "--only", "fast"], check=False).returncode == 0


PARTS = {"rules": check_rules, "tidy": check_tidy, "fast": check_fast}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PARTS)
    options = parser.parse_args()
    # The tests come before clang-tidy: they configure the folder whose compile commands it reads, and fail sooner.
    wanted = [options.only] if options.only else ["rules", "fast", "tidy"]
    if options.only == "tidy" and not (BUILD / "compile_commands.json").is_file():
        sys.exit("check: build/dev is not configured yet; run: make check")
    failed = [name for name in wanted if not PARTS[name]()]
    say(f"check: {'failed: ' + ', '.join(failed) if failed else 'all good'}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
