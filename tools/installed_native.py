"""Prints the folder of the installed compiled core (not the one beside the sources)."""

import sysconfig
from pathlib import Path

print(Path(sysconfig.get_paths()["platlib"]) / "ludus" / "native")
