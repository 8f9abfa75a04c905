"""Writes the table of scenarios in ``docs/guides/vizdoom.md`` from the adapter's data."""

from __future__ import annotations

import re
from pathlib import Path

from ludus.games.adapters.vizdoom.scenario import Scenario, scenarios

PAGE = Path(__file__).resolve().parent.parent / "docs" / "guides" / "vizdoom.md"
_TABLE = re.compile(r"(<!-- scenarios -->\n).*?(<!-- end -->)", re.DOTALL)
_SOURCES = {"vizdoom": "ViZDoom", "fetched": "fetched"}
_HEAD = ("scenario", "plays", "players, bots", "`actions`", "`shaping`", "files")


def row(name: str, data: Scenario) -> tuple[str, ...]:
    """Return the cells of a scenario."""
    return (
        f"`vizdoom/{name}`",
        data.title,
        f"{data.players}, {data.bots}",
        f"`{data.actions}`",
        f"`{data.shaping}`",
        _SOURCES[data.source],
    )


def filled(page: str) -> str:
    """Return the page with its table of today.

    Raises:
        ValueError: The page has no place for it.
    """
    rows = [_HEAD, tuple("---" for _ in _HEAD), *(row(name, data) for name, data in scenarios().items())]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in rows)
    new, count = _TABLE.subn(lambda m: f"{m.group(1)}{table}\n{m.group(2)}", page)
    if count != 1:
        raise ValueError("lacks <!-- scenarios --> ... <!-- end -->")
    return new


def write(*, check: bool = False) -> bool:
    """Write the table, unless ``check``. Returns whether the page was up to date."""
    page = PAGE.read_text("utf-8")
    new = filled(page)
    if new != page and not check:
        PAGE.write_text(new, "utf-8")
    return new == page
