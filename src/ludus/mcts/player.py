"""Player that searches: from a state to a move with the statistics of the search."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ludus.mcts.evaluator import Evaluator
from ludus.mcts.text import SearchText
from ludus.mcts.trees import RootStatistics, Trees
from ludus.native import SearchableGames


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Result of a search.

    Attributes:
        move: The chosen move.
        value: Value for the seat to move, in [-1, 1].
        root: Statistics of the legal moves.
        line: Principal variation, ``move`` first.
    """

    move: int
    value: float  # for the seat to move, in [-1, 1]
    root: RootStatistics
    line: list[int]


class SearchPlayer:
    """Player that searches any number of matches of one game in parallel, each with its own tree.

    Pass states of the core (``NativePool.slot_state``), or play moves with :meth:`play`.
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
        native: SearchableGames | None = None,
    ) -> None:
        """Make a tree for each slot.

        Args:
            game: Name of the game.
            params: Its parameters.
            text: Settings of the search.
            evaluator: An :class:`Evaluator`, or ``"rollout"``.
            slots: Number of matches.
            seed: Seed of the search.
            native: Compiled module of the game; default: the package's own.
        """
        self.text = text

        def trees(seed: int) -> Trees:
            return Trees(
                game,
                params,
                text.search,
                evaluator=evaluator,
                slots=slots,
                rollouts=text.rollouts,
                seed=seed,
                native=native,
            )

        self._make, self.trees = trees, trees(seed)
        self._seed, self._decisions = seed, 0

    def decide(
        self,
        slots: Sequence[int],
        states: Sequence[bytes] | None = None,
        *,
        plies: Sequence[int] | None = None,
        visits: int = 0,
        seconds: float = 0.0,
        until: Callable[[], bool] | None = None,
    ) -> list[SearchResult]:
        """Search the matches of ``slots`` and choose a move for each, without playing it.

        Args:
            slots: Slot numbers.
            states: States of the matches (default: after the moves of :meth:`play`).
            plies: Plies played in each match, for the temperature (default: temperature 0).
            visits: Visits of a search; 0 = the player's own.
            seconds: Time limit in seconds; 0 = the player's own.
            until: Asked between visits whether to decide at once.

        Returns:
            One result per slot.
        """
        if states is not None:
            for slot, state in zip(slots, states, strict=True):
                self.trees.set_state(slot, state)
        self._decisions += 1
        self.trees.run(
            slots,
            visits=visits,
            seconds=seconds or self.text.seconds,
            seed=self._seed + self._decisions,
            until=until,
        )
        found = []
        for index, slot in enumerate(slots):
            early = plies is not None and plies[index] < self.text.plies
            move = self.trees.choose(slot, self.text.temperature if early else 0.0)
            root = self.trees.root(slot)
            found.append(SearchResult(move, root.value, root, self.trees.line(slot, move)))
        return found

    def restart(self, decisions: int) -> None:
        """Restart with empty trees; later draws depend only on the seed and ``decisions``."""
        self._decisions = decisions
        self.trees = self._make((self._seed + decisions) % 2**63)

    def play(self, slot: int, move: int) -> None:
        """Play a move of either seat."""
        self.trees.play(slot, move)
