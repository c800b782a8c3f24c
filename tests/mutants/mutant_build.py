"""How a mutant becomes an executable: a sound copy of the tree is built once, and stays sound; the broken source is
compiled beside it and linked in front of the libraries, so that it stands in for the sound one. A broken header is put
before the sound one on the include path of everything that reads it. So a mutant costs one compilation and one link,
nothing has to be restored, and several can be tried at once.
"""

import functools
import io
import json
import os
import re
import shlex
import subprocess
import tarfile
from pathlib import Path


class CannotBuild(Exception):
    """The unbroken copy does not configure or build, or is not laid out as expected."""


class Copy:
    """A copy of the tree under `home`, built without sanitizers (half the time, and it is the promises that must
    notice) and with warnings that stop nothing (what a mutant no longer uses must not save it)."""

    def __init__(self, root: Path, home: Path, jobs: int) -> None:
        self.root, self.tree, self.build, self.jobs = root, home / "tree", home / "build", jobs

    def sources(self, revision: str | None) -> dict[str, bytes]:
        """Every file of the working tree that git tracks or would track, or of a revision."""
        if revision:
            packed = subprocess.run(["git", "-C", self.root, "archive", revision], capture_output=True, check=True).stdout
            with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
                return {member.name: archive.extractfile(member).read() for member in archive if member.isfile()}
        names = subprocess.run(["git", "-C", self.root, "ls-files", "-co", "--exclude-standard", "-z"],
                               capture_output=True, check=True).stdout.decode().split("\0")
        return {name: (self.root / name).read_bytes() for name in names if name and (self.root / name).is_file()}

    def bring_up_to_date(self, revision: str | None) -> None:
        """Makes the copy equal to the sources, touching only files that differ, so that little is built again."""
        wanted = self.sources(revision)
        for path in [path for path in self.tree.rglob("*") if path.is_file()] if self.tree.is_dir() else []:
            if str(path.relative_to(self.tree)) not in wanted:
                path.unlink()
        for name, content in wanted.items():
            path = self.tree / name
            if not path.is_file() or path.read_bytes() != content:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)

    def make(self, targets: list[str]) -> None:
        if not (self.build / "build.ninja").is_file():
            ran = subprocess.run(["cmake", "--preset", "dev", "-B", self.build, "-DSECKILL_SANITIZE=",
                                  "-DSECKILL_WERROR=OFF"], cwd=self.tree, capture_output=True, text=True, check=False)
            if ran.returncode != 0:
                raise CannotBuild(f"configuring failed:\n{ran.stdout[-1500:]}{ran.stderr[-3000:]}")
        ran = subprocess.run(["ninja", "-C", self.build, "-j", str(self.jobs), *targets], capture_output=True, text=True,
                             check=False)
        if ran.returncode != 0:
            raise CannotBuild("the unbroken tree does not build:\n" + errors_in(ran.stdout + ran.stderr))

    def executable(self, target: str) -> Path:
        for path in (self.build / target, self.build / "tests" / target, *self.build.glob(f"tests/**/{target}")):
            if path.is_file() and os.access(path, os.X_OK):
                return path
        raise CannotBuild(f"{target} was built, but where is it?")

    @functools.cached_property
    def compilations(self) -> dict[str, tuple[str, list[str]]]:
        """Source path -> (object, command)."""
        out = {}
        for entry in json.loads((self.build / "compile_commands.json").read_text()):
            words = shlex.split(entry["command"])
            out[entry["file"]] = (words[words.index("-o") + 1], words)
        return out

    @functools.cached_property
    def readers(self) -> dict[str, set[str]]:
        """Object -> every file it was compiled from."""
        told = subprocess.run(["ninja", "-t", "deps"], cwd=self.build, capture_output=True, text=True, check=True).stdout
        out: dict[str, set[str]] = {}
        for block in told.split("\n\n"):
            head, _, rest = block.partition("\n")
            out[head.split(": #deps")[0]] = {os.path.normpath(self.build / line.strip()) for line in rest.split("\n")}
        return out

    @functools.cache
    def link_command(self, target: str) -> list[str]:
        told = subprocess.run(["ninja", "-t", "commands", target], cwd=self.build, capture_output=True, text=True,
                              check=True).stdout.strip().split("\n")[-1]
        return shlex.split(told.removeprefix(": && ").removesuffix(" && :"))

    def linked(self, target: str, thing: str) -> bool:
        """Is this object part of the executable, by itself or in one of its libraries?"""
        words = self.link_command(target)
        if thing in words:
            return True
        folder, _, rest = thing.partition("CMakeFiles/")
        return f"{folder}lib{rest.split('.dir/')[0]}.a" in words

    def sources_to_compile(self, target: str, file: str) -> list[str]:
        path = str(self.tree / file)
        if path in self.compilations:
            return [path]
        users = [source for source, (thing, _) in self.compilations.items()
                 if path in self.readers.get(thing, set()) and self.linked(target, thing)]
        if not users:
            raise CannotBuild(f"nothing in {target} is compiled from {file}")
        return users

    def executable_with(self, target: str, file: str, text: str, folder: Path) -> tuple[Path, str]:
        """The executable with this text in place of the file's own, made in `folder`; or the compiler's errors."""
        overlay = folder / "overlay"
        broken = overlay / Path(file).relative_to("src")
        broken.parent.mkdir(parents=True, exist_ok=True)
        broken.write_text(text, encoding="utf-8")
        objects = {}
        for number, source in enumerate(self.sources_to_compile(target, file)):
            thing, words = self.compilations[source]
            words = [str(broken) if word == str(self.tree / file) else word for word in words]
            words[words.index("-o") + 1] = objects[thing] = str(folder / f"{number}.o")
            if errors := self.run_tool([words[0], f"-I{overlay}", *words[1:], "-g0"]):
                return folder, errors
        link = [objects.pop(word, word) for word in self.link_command(target)]
        out = folder / target
        link[link.index("-o") + 1] = str(out)
        errors = self.run_tool([link[0], *objects.values(), *link[1:]])
        return out, errors

    def run_tool(self, words: list[str]) -> str:
        ran = subprocess.run(words, cwd=self.build, capture_output=True, text=True, check=False)
        return "" if ran.returncode == 0 else errors_in(ran.stdout + ran.stderr)


def errors_in(text: str) -> str:
    errors = [line for line in text.split("\n") if re.search(r"\berror:|undefined symbol|ninja: error", line)]
    return "\n".join(errors[:5]) or text[-1500:]
