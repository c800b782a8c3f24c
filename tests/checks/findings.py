"""What the checks share: which files are ours, and one way to report what is wrong with them."""

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

# Left to right: a folder may include only itself and what stands left of it (ARCHITECTURE.md, "Layers").
LAYERS = ("base", "model", "ledger", "drivers", "store", "queue", "admission", "orders", "payments", "reconcile",
          "gateway", "ops", "rehearse", "app")


class Finding(NamedTuple):
    """One broken rule: where, and why it is a rule. line 0 means the file as a whole."""

    path: Path
    line: int
    why: str


def files(root: Path, endings: tuple[str, ...], folders: tuple[str, ...] = ()) -> list[Path]:
    """Our files whose names end so, under these folders (all when none are named), sorted: what git tracks or would
    track; in a folder that is no repository, whatever is there outside build/."""
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard", "-z"],
                            capture_output=True, check=False)
    if listed.returncode == 0:
        names = [Path(name) for name in listed.stdout.decode().split("\0") if name]
    else:
        names = [path.relative_to(root) for path in root.rglob("*") if path.is_file()]
    wanted = {name for name in names if name.name.endswith(endings) and name.parts[0] != "build" and
              (not folders or name.parts[0] in folders)}
    return [root / name for name in sorted(wanted) if (root / name).is_file()]


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8", errors="replace").split("\n")


def main(check, what: str) -> None:
    """Runs check(root) for a script: prints each finding as file:line: why, exits 1 if there are any."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[2]).resolve()
    found = sorted(check(root))
    for finding in found:
        place = f"{finding.path.relative_to(root)}:{finding.line}" if finding.line else f"{finding.path.relative_to(root)}"
        print(f"{place}: {finding.why}")
    print(f"{what}: {f'{len(found)} broken' if found else 'kept'}")
    sys.exit(1 if found else 0)
