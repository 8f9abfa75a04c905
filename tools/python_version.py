"""Check that this Python can run Ludus, before anything is built with it."""

import sys

if sys.version_info < (3, 10):  # noqa: UP036 - this file rejects an older Python
    found = ".".join(map(str, sys.version_info[:3]))
    sys.exit(f"ludus needs Python >= 3.10; {sys.executable} is {found}. Name another: make PYTHON=python3.11")
