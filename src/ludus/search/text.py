"""How a searched player is written. Without numpy: presets and the command line read names early.

``mcts:VISITS`` (random rollouts), ``RUN@best+search:VISITS`` (a network's evaluations), either with
``,KEY=VALUE`` behind it: the keys of :class:`SearchText`, or any setting of a search (``c_puct=1.2``).
"""

from __future__ import annotations

from typing import Literal

import msgspec

from ludus.flow.names import did_you_mean
from ludus.search.config import SearchConfig

Seen = Literal["one", "random", "all"]
ROLLOUTS = "mcts"
SUFFIX = "+search"


class SearchText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a searched player decides.

    ``seconds``: of a decision, 0 = by visits alone. Moves are drawn by visits to the power of 1 /
    ``temperature`` in the first ``plies`` of a match, then the most visited is played: two searches
    without chance would play one match over and over. ``rollouts``: random matches a leaf (``mcts`` alone).
    ``symmetries``: how a network sees a position, as it stands (``one``), under a transformation of the
    board drawn for each batch (``random``), or under all of them, its answers averaged (``all``).
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
    """``RUN@best+search:400,c_puct=1`` -> ``RUN@best`` and the rest; weights are ``""`` for ``mcts``.

    Raises ``ValueError`` naming the mistake and the nearest valid key.
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
        # Texts become numbers where the field is one (strict=False).
        config = msgspec.convert(search, SearchConfig, strict=False)
        made = msgspec.convert({**own, "search": config}, SearchText, strict=False)
    except msgspec.ValidationError as error:
        raise ValueError(f"{text}: {error}") from None
    if not (0 <= made.seconds <= 86400 and 0 <= made.temperature <= 100 and 1 <= made.rollouts <= 1_000_000):
        raise ValueError(f"{text}: seconds, temperature or rollouts out of range")
    if not weights and "symmetries" in own:
        raise ValueError(f"{text}: symmetries are for networks; {ROLLOUTS} plays random matches")
    return weights, made
