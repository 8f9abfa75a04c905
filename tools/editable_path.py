"""Make the editable install of this environment only a path.

    python -m tools.editable_path

scikit-build-core leaves a module that every start of Python imports, ahead of ``PYTHONPATH``. With a path in
its place another checkout can be tried with the same environment: ``PYTHONPATH=../other/src``.
"""

from __future__ import annotations

import sysconfig
from pathlib import Path

NAME = "_editable_skbc_ludus_rl"
SOURCES = Path(__file__).resolve().parent.parent / "src"


def main() -> None:
    """Replace the import by the path of ``src``."""
    site = Path(sysconfig.get_paths()["purelib"])
    path = site / f"{NAME}.pth"
    if not path.is_file():
        raise SystemExit(f"{path} is not there: expected an editable install of scikit-build-core")
    path.write_text(f"{SOURCES}\n")
    (site / f"{NAME}.py").unlink(missing_ok=True)


if __name__ == "__main__":
    main()
