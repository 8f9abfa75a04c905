"""Syntax of players that search. No numpy here: presets and the command line read names early.

``mcts:VISITS`` (random rollouts), ``RUN@best+search:VISITS`` (a network's evaluations), either followed by
``,KEY=VALUE``: the keys of :class:`SearchText`, or any setting of a search (``c_puct=1.2``).
"""

from __future__ import annotations

from typing import Literal

import msgspec

from ludus.flow.names import did_you_mean
from ludus.mcts.config import SearchConfig

Seen = Literal["one", "random", "all"]
ROLLOUTS = "mcts"
SUFFIX = "+search"


class SearchText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of a player that searches.

    Args:
        search: Settings of the tree search.
        seconds: Time limit of a decision; 0 = visits alone.
        temperature: In the first ``plies`` moves are drawn in proportion to visits ** (1 / ``temperature``).
        plies: Later plies play the most visited move. Two deterministic searches would repeat one match.
        rollouts: Random rollouts per leaf (``mcts`` alone).
        symmetries: A network evaluates a position as it is (``one``), under a symmetry of the board drawn
            for each batch (``random``), or under all symmetries, averaged (``all``).
    """

    search: SearchConfig = SearchConfig(noise_share=0.0)
    seconds: float = 0.0
    temperature: float = 0.5
    plies: int = 6
    rollouts: int = 1
    symmetries: Seen = "one"


def is_search(text: str) -> bool:
    """Whether ``text`` names a searched player."""
    return text == ROLLOUTS or text.startswith(ROLLOUTS + ":") or SUFFIX in text


def parse_search(text: str) -> tuple[str, SearchText]:
    """Split ``RUN@best+search:400,c_puct=1`` into ``RUN@best`` and settings; weights are ``""`` for ``mcts``.

    Raises:
        ValueError: The text has a mistake; the message names it and the nearest valid key.
    """
    if SUFFIX in text:
        weights, _, rest = text.rpartition(SUFFIX)
    else:
        weights, rest = "", text[len(ROLLOUTS) :]
    options = rest.removeprefix(":").split(",") if rest else []
    if rest and not rest.startswith(":"):
        raise ValueError(f"{text}: expected {ROLLOUTS}:VISITS or WEIGHTS{SUFFIX}:VISITS")
    search: dict[str, object] = {"noise_share": 0.0}
    own: dict[str, object] = {}
    known = {**dict.fromkeys(SearchConfig.__struct_fields__, search)}
    known |= dict.fromkeys((n for n in SearchText.__struct_fields__ if n != "search"), own)
    for number, option in enumerate(options):
        name, equals, value = option.partition("=")
        if number == 0 and not equals:
            name, value = "visits", option
        name = name.strip().replace("-", "_")
        if name not in known:
            raise ValueError(f"{text}: unknown setting {name!r}{did_you_mean(name, known, 'known', 0.5)}")
        known[name][name] = value.strip()
    try:
        # strict=False converts strings to numbers.
        config = msgspec.convert(search, SearchConfig, strict=False)
        made = msgspec.convert({**own, "search": config}, SearchText, strict=False)
    except msgspec.ValidationError as error:
        raise ValueError(f"{text}: {error}") from None
    if not (0 <= made.seconds <= 86400 and 0 <= made.temperature <= 100 and 1 <= made.rollouts <= 1_000_000):
        raise ValueError(f"{text}: seconds, temperature or rollouts out of range")
    if not weights and "symmetries" in own:
        raise ValueError(f"{text}: symmetries are for networks; {ROLLOUTS} plays random matches")
    return weights, made
