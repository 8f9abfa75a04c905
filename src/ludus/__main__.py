"""``python -m ludus``: the command line, as ``ludus``."""

from __future__ import annotations

import sys

from ludus.cli.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
