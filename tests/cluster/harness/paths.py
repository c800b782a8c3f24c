"""Where the harness finds what it reuses: the black-box suite's buyers (tests/system/lib) and the machine's cluster."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent.parent
for folder in (ROOT / "tests" / "system", ROOT / "tools" / "cluster"):
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
