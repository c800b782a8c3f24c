"""The list of mutants (mutants.yaml), read strictly, and what can be said about it without building anything.

A mutant is one named breakage of one source file and the one test that must notice it. Who breaks it and runs the test
is tools/mutants.py; tests/checks/mutants.py sees to it on every `make test` that the list still fits the tree.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import yaml

LIST = "tests/mutants/mutants.yaml"
KEYS = ("name", "file", "find", "replace", "keeps", "why", "killed_by")
NAME = re.compile(r"[a-z][a-z0-9_]{3,59}")
PROMISE = re.compile(r"P[1-9]|FS-\d{2}")
GTEST_NAME = re.compile(r"(\w+)\.(\w+)")


@dataclass(frozen=True)
class Killer:
    """What must fail. kind `test`: a GoogleTest case of an executable; `system`: a black-box test against the real
    binary; `program`: an executable that ends with anything but 0 when run with these arguments."""

    kind: str
    target: str  # what ninja builds
    what: str  # Suite.case, module.Class.test, or the arguments

    def __str__(self) -> str:
        return f"{self.kind if self.kind != 'test' else self.target} {self.what}" if self.kind != "program" else \
            f"program {self.target} {self.what}"

    def gtest_filter(self) -> str:
        """The case as it stands in the source, whichever parameters it is run with."""
        return f"{self.what}:*/{self.what}/*"


@dataclass(frozen=True)
class Mutant:
    name: str
    file: str
    find: str
    replace: str
    keeps: tuple[str, ...]
    why: str
    killer: Killer
    line: int  # of the list

    def mutated(self, text: str) -> str:
        return text.replace(self.find, self.replace, 1)


def killer_from(text: str) -> Killer | None:
    words = text.split(maxsplit=2)
    if len(words) == 2 and words[0] == "system":
        return Killer("system", "seckill", words[1])
    if len(words) >= 2 and words[0] == "program":
        return Killer("program", words[1], words[2] if len(words) == 3 else "")
    if len(words) == 2 and GTEST_NAME.fullmatch(words[1]):
        return Killer("test", words[0], words[1])
    return None


def mutant_from(entry: dict, line: int, problems: list[tuple[int, str]]) -> Mutant | None:
    before = len(problems)
    missing = [key for key in KEYS if key not in entry]
    extra = [key for key in entry if key not in KEYS]
    if missing or extra:
        problems.append((line, f"a mutant has exactly the keys {', '.join(KEYS)}; missing {missing}, unknown {extra}"))
        return None
    name = str(entry["name"])
    if not NAME.fullmatch(name):
        problems.append((line, f"{name}: a name is 4..60 of a-z, 0-9 and _"))
    if not isinstance(entry["keeps"], list) or not entry["keeps"] or \
            not all(PROMISE.fullmatch(str(one)) for one in entry["keeps"]):
        problems.append((line, f"{name}: keeps names promises and cases, as [P3, FS-17]"))
    if not str(entry["why"]).strip() or "\n" in str(entry["why"]).strip():
        problems.append((line, f"{name}: why is one line"))
    killer = killer_from(str(entry["killed_by"]))
    if killer is None:
        problems.append((line, f"{name}: killed_by is `executable Suite.case`, `system module.Class.test` or "
                               "`program target arguments`"))
    find, replace = str(entry["find"]).rstrip("\n"), str(entry["replace"]).rstrip("\n")
    if find == replace or not find:
        problems.append((line, f"{name}: replace must differ from find"))
    if len(problems) > before:
        return None
    return Mutant(name, str(entry["file"]), find, replace, tuple(map(str, entry["keeps"])), str(entry["why"]).strip(),
                  killer, line)


def read(root: Path) -> tuple[list[Mutant], list[tuple[int, str]]]:
    """The mutants, and what is wrong with the list by itself as (line, sentence)."""
    problems: list[tuple[int, str]] = []
    text = (root / LIST).read_text(encoding="utf-8")
    try:
        entries = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        return [], [(mark.line + 1 if mark else 1, f"no YAML: {getattr(error, 'problem', error)}")]
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        return [], [(1, "the list is a sequence of mutants")]
    lines = [number for number, line in enumerate(text.split("\n"), 1) if line.startswith("- ")]
    mutants = []
    seen: set[str] = set()
    for index, entry in enumerate(entries):
        line = lines[index] if index < len(lines) else 1
        mutant = mutant_from(entry, line, problems)
        if mutant is None:
            continue
        if mutant.name in seen:
            problems.append((line, f"{mutant.name} appears twice"))
        seen.add(mutant.name)
        mutants.append(mutant)
    return mutants, problems


def fits(root: Path, mutant: Mutant, with_test: bool = True) -> list[str]:
    """Why the mutant (and the test it names) no longer fits the tree; empty when it does."""
    path = root / mutant.file
    if not path.is_file():
        return [f"{mutant.name}: {mutant.file} does not exist"]
    out = []
    times = path.read_text(encoding="utf-8").count(mutant.find)
    if times != 1:
        out.append(f"{mutant.name}: its find text stands {times} times in {mutant.file}, it must stand there once: "
                   "the code has moved on, so say anew what breaks the promise")
    if with_test and mutant.killer.kind != "program" and not test_file(root, mutant.killer):
        out.append(f"{mutant.name}: there is no test {mutant.killer}")
    return out


def test_file(root: Path, killer: Killer) -> Path | None:
    """The source of the test."""
    if killer.kind == "system":
        parts = killer.what.split(".")
        path = root / "tests/system" / f"{parts[0]}.py"
        if len(parts) != 3 or not path.is_file():
            return None
        text = path.read_text(encoding="utf-8")
        known = re.search(rf"^class {parts[1]}\b", text, re.M) and re.search(rf"^    def {parts[2]}\b", text, re.M)
        return path if known else None
    if killer.kind == "program":
        return None
    suite, case = killer.what.split(".")
    folder = root / "tests"
    if killer.target.startswith("unit_"):
        folder = root / "tests/unit" / killer.target.removeprefix("unit_")
    elif killer.target == "contract_tests":
        folder = root / "tests/contract"
    if not folder.is_dir():
        return None
    macro = re.compile(rf"^(?:TEST|TEST_F|TEST_P|TYPED_TEST|RC_GTEST_PROP)\(\s*{suite},\s*{case}\b", re.M)
    for path in sorted(folder.rglob("*.cpp")):
        if macro.search(path.read_text(encoding="utf-8", errors="replace")):
            return path
    return None
