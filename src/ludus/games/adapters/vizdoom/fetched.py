"""Scenarios that ``ludus games fetch vizdoom-scenarios`` has stored."""

from __future__ import annotations

import os
from pathlib import Path

MISSING = "the scenario is not there: ludus games fetch vizdoom-scenarios fetches it"


def folder() -> Path:
    """Return the folder of fetched scenarios, which need not exist."""
    return Path(
        os.environ.get("LUDUS_VIZDOOM_SCENARIOS", "~/.local/share/ludus/vizdoom-scenarios")
    ).expanduser()


def config(stem: str) -> Path | None:
    """Return the ``.cfg`` of a fetched scenario, None without one."""
    path = folder() / f"{stem}.cfg"
    return path if path.is_file() else None
