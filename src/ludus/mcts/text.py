"""Syntax of players that search. No numpy here: presets and the command line read names early.

``mcts:VISITS`` (random rollouts), ``RUN@best+search:VISITS`` (a network's evaluations), either followed by
``,KEY=VALUE``: the keys of :class:`SearchText`, or any setting of a search (``c_puct=1.2``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, get_args, get_type_hints

import msgspec

from ludus.flow.names import did_you_mean, nearest
from ludus.mcts.config import SearchConfig, with_integers

Seen = Literal["one", "random", "all"]
ROLLOUTS = "mcts"
SUFFIX = "+search"


class SearchText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of a player that searches.

    Args:
        search: Settings of the tree search.
        seconds: Time limit of a decision; 0 = only visits count.
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


_INVALID = re.compile(r"(?P<what>.*?)(?:, got `\w+`)? - at `\$\.(?:search\.)?(?P<name>\w+)`", re.DOTALL)
_DIGITS = re.compile(r"\d+")
_KINDS = {"`int`": "an integer", "`float`": "a number", "`bool`": "true or false"}


def _in_words(error: str, given: Mapping[str, object], weights: str) -> str:
    """Return an error of ``msgspec`` about one of the ``given`` settings, with its name and value."""
    found = _INVALID.fullmatch(error)
    if found is None or found["name"] not in given:
        return error
    name, value = found["name"], str(given[found["name"]])
    expected = found["what"].replace("Expected", "expected")
    for kind, words in _KINDS.items():
        expected = expected.replace(kind, words)
    if "enum" in expected:
        kind = {**get_type_hints(SearchConfig), **get_type_hints(SearchText)}[name]
        expected = f"expected one of {', '.join(map(str, get_args(kind)))}"
        near = nearest(value, get_args(kind), 0.5)
        return f"{name} = {value}: {expected}{f' (did you mean {near}?)' if near else ''}"
    hint, number = "", _DIGITS.match(value)
    if name == "visits" and number is not None and number[0] != value:
        player = f"{weights}{SUFFIX}" if weights else ROLLOUTS
        other = f", or WEIGHTS{SUFFIX}:{number[0]}" if "+" in value else ""
        hint = f" (did you mean {player}:{number[0]}{other}?)"
    return f"{name} = {value}: {expected}{hint}"


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
        config = msgspec.convert(with_integers(search, SearchConfig), SearchConfig, strict=False)
        own = with_integers(own, SearchText)
        made = msgspec.convert({**own, "search": config}, SearchText, strict=False)
    except msgspec.ValidationError as error:
        raise ValueError(f"{text}: {_in_words(str(error), {**search, **own}, weights)}") from None
    if not (0 <= made.seconds <= 86400 and 0 <= made.temperature <= 100 and 1 <= made.rollouts <= 1_000_000):
        raise ValueError(f"{text}: seconds, temperature or rollouts out of range")
    if not weights and "symmetries" in own:
        raise ValueError(f"{text}: symmetries are for networks; {ROLLOUTS} plays random matches")
    return weights, made
