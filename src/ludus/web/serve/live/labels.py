"""Short names of players for people."""

from __future__ import annotations

import re

_STAMP = re.compile(r"[-_]\d{8}([-_]\d{4,6})?([-_][0-9a-f]{2,16})?(?=@|\+|$)")


def short_name(name: str) -> str:
    """Return a player's name without the date and hash of its run.

    ``run-20261120-1530-3f2a@9`` is ``run@9``.
    """
    short = _STAMP.sub("", name.rpartition("/")[2] if "@" in name else name)
    return short if short.partition("@")[0] else name
