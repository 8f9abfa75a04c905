"""A searched player: from a state to a move with all that the search found, for matches and consoles.

Players are written ``mcts:VISITS`` (random rollouts), ``RUN@best+search:VISITS`` (a network's evaluations),
either with
``,KEY=VALUE`` behind it: the keys of :class:`SearchText`, or any setting of a search (``c_puct=1.2``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import msgspec

from ludus.native import NativeGames
from ludus.search.config import SearchConfig
from ludus.search.evaluator import Evaluator
from ludus.search.trees import RootStatistics, Trees

ROLLOUTS = "mcts"
SUFFIX = "+search"


class SearchText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a searched player decides.

    ``seconds``: of a decision, 0 = by visits alone. Moves are drawn by visits to the power of 1 /
    ``temperature`` in the first ``plies`` of a match, then the most visited is played: two searches
    without chance would play one match over and over. ``rollouts``: random matches a leaf (``mcts`` alone).
    """

    search: SearchConfig = SearchConfig(noise_share=0.0)
    seconds: float = 0.0
    temperature: float = 0.5
    plies: int = 6
    rollouts: int = 1


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
            near = get_close_matches(name, known, 1, 0.5)
            hint = f"did you mean {near[0]}?" if near else "known: " + ", ".join(known)
            raise ValueError(f"{text}: unknown setting {name!r} ({hint})")
        known[name][name] = value.strip()
    try:
        # Texts become numbers where the field is one (strict=False).
        config = msgspec.convert(search, SearchConfig, strict=False)
        made = msgspec.convert({**own, "search": config}, SearchText, strict=False)
    except msgspec.ValidationError as error:
        raise ValueError(f"{text}: {error}") from None
    if not (0 <= made.seconds <= 86400 and 0 <= made.temperature <= 100 and 1 <= made.rollouts <= 1_000_000):
        raise ValueError(f"{text}: seconds, temperature or rollouts out of range")
    return weights, made


@dataclass(frozen=True, slots=True)
class Found:
    """What a decision rests on. ``line`` begins with ``move``."""

    move: int
    value: float  # for the seat that decides, in [-1, 1]
    root: RootStatistics
    line: list[int]


class SearchPlayer:
    """Searches any number of matches of one game side by side, a tree each.

    ``evaluator``: who answers batches, or ``"rollout"``. Give states as the core keeps them
    (``NativePool.slot_state``), or play moves with :meth:`play`.
    """

    def __init__(
        self,
        game: str,
        params: Mapping[str, str],
        text: SearchText,
        evaluator: Evaluator | str = "rollout",
        *,
        slots: int = 1,
        seed: int = 0,
        native: NativeGames | None = None,
    ) -> None:
        self.text = text
        self.trees = Trees(
            game,
            params,
            text.search,
            evaluator=evaluator,
            slots=slots,
            rollouts=text.rollouts,
            seed=seed,
            native=native,
        )
        self._seed, self._decisions = seed, 0

    def decide(
        self,
        slots: Sequence[int],
        states: Sequence[bytes] | None = None,
        *,
        plies: Sequence[int] | None = None,
        visits: int = 0,
        seconds: float = 0.0,
    ) -> list[Found]:
        """Searches the matches of ``slots`` and picks a move for each; nothing is played.

        ``states``: where the matches stand (default: where :meth:`play` left them). ``plies``: how far each
        match is, for the temperature (default: past it). ``visits`` and ``seconds`` replace the player's own.
        """
        if states is not None:
            for slot, state in zip(slots, states, strict=True):
                self.trees.set_state(slot, state)
        self._decisions += 1
        self.trees.run(
            slots, visits=visits, seconds=seconds or self.text.seconds, seed=self._seed + self._decisions
        )
        found = []
        for index, slot in enumerate(slots):
            early = plies is not None and plies[index] < self.text.plies
            move = self.trees.choose(slot, self.text.temperature if early else 0.0)
            root = self.trees.root(slot)
            found.append(Found(move, root.value, root, self.trees.line(slot, move)))
        return found

    def play(self, slot: int, move: int) -> None:
        """A move of either seat was played."""
        self.trees.play(slot, move)
