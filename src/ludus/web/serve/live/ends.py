"""End of a live match: its file, and its message to the pages."""

from __future__ import annotations

from typing import NamedTuple

from ludus.web.serve import messages
from ludus.web.serve.table import Table


class Ended(NamedTuple):
    """End of a match, for :class:`ludus.web.serve.messages.Over`.

    ``reason``: a sentence, or empty where the table has it.
    """

    outcome: tuple[float, ...]
    reason: str = ""


class Saved(NamedTuple):
    """A match in a file: id and page of the replay; ``problem``: why it was not written, or empty."""

    replay: str | None
    url: str
    problem: str = ""


def over(table: Table, ended: Ended, saved: Saved, plays: bool) -> messages.Over:
    """Return the end for a page that plays, or looks on."""
    reason = ended.reason or table.ending(plays)
    if saved.problem:
        reason = f"{reason}; {saved.problem}"
    return messages.Over(ended.outcome, reason, saved.replay, saved.url)
