"""Searches of a position: candidates with their numbers and lines, as the document of ``ludus search``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from ludus.evaluation.players import game_of_player
from ludus.flow.inputs.shown import shown
from ludus.games.replays import READING_PARAMS
from ludus.games.searchable import searchable
from ludus.gtp.expectation import NetworkReader, by_playouts
from ludus.gtp.players import Expectation
from ludus.mcts.network import NetworkEvaluator
from ludus.mcts.player import SearchPlayer, SearchResult
from ludus.mcts.text import ROLLOUTS, SUFFIX, is_search
from ludus.storage import zoo
from ludus.web.position.source import PositionError, SearchPosition, name_of_choice, side_name
from ludus.web.thoughts.mind import order_of
from ludus.web.thoughts.names import head_names
from ludus.web.thoughts.resolve import search_of
from ludus.web.thoughts.thought import HeadThought, Opinion, Thought

#: Marks of candidates on a board; O and X are stones.
MARKS = "ABCDEFGHIJKLMNPQRSTUVWYZ"
DIGITS = 3  # of values, priors and shares: text, page and JSON have the same numbers


class PositionMove(msgspec.Struct, frozen=True):
    """A candidate.

    Attributes:
        mark: Its letter on the board.
        move: Its name.
        choice: Its number.
        prior: Probability by the network; None without one.
        visits: Visits of the search.
        share: Share of all visits, 0 to 1.
        value: Value for the side to move, -1 lost to +1 won; None without a visit.
        line: Expected continuation, this move first.
    """

    mark: str
    move: str
    choice: int
    prior: float | None
    visits: int
    share: float
    value: float | None
    line: tuple[str, ...]


class PositionScore(msgspec.Struct, frozen=True):
    """Expected end of a game of Go.

    Attributes:
        lead: Black's points less White's and komi.
        deviation: One standard deviation of ``lead``.
        sampled: Whether random continuations tell it, and not a network.
        ownership: Owner of each point, row by row from above: 1 Black, -1 White.
    """

    lead: float
    deviation: float
    sampled: bool
    ownership: tuple[float, ...]


class PositionOpinion(msgspec.Struct, frozen=True):
    """Opinion of one player about a position.

    Attributes:
        by: Name of the player.
        visits: Visits of the search.
        value: Value for the side to move, -1 lost to +1 won.
        best: Name of the move that it plays.
        candidates: The move that it plays, then the most visited ones.
        score: Expected end; None in games other than Go.
    """

    by: str
    visits: int
    value: float
    best: str
    candidates: tuple[PositionMove, ...]
    score: PositionScore | None = None


class PositionAnswer(msgspec.Struct, frozen=True):
    """Document of ``ludus search --json``.

    Attributes:
        game: The game.
        params: Parameters of its rules.
        position: The question: a file or moves.
        moves: Names of the moves so far.
        seat: The seat to move.
        side: Name of its side.
        legal: Number of legal moves.
        opinions: One for each player.
        page: Path of the page; empty without one.
    """

    game: str
    params: dict[str, str]
    position: str
    moves: tuple[str, ...]
    seat: int
    side: str
    legal: int
    opinions: tuple[PositionOpinion, ...]
    page: str = ""


class Searched(NamedTuple):
    """A search of a position: for people, and as the page of a match takes it."""

    opinion: PositionOpinion
    thoughts: Opinion


class PositionSearch:
    """A player that searches positions of one game."""

    def __init__(self, by: str, position: SearchPosition, *, seed: int = 1, device: str = "auto") -> None:
        """Load the player ``by``.

        Args:
            by: A search, as :func:`ludus.mcts.text.parse_search` reads it.
            position: A position of the game.
            seed: Seed of the search.
            device: Device of a network.

        Raises:
            PositionError: ``by`` is no search, or the game cannot be searched.
            ConfigError: Weights of another game.
            StorageError: No such run, version or file.
        """
        text, _ = zoo.played(by)
        if not is_search(text):
            expected = f"expected {ROLLOUTS}:400, RUN@best{SUFFIX}:400 or zoo:NAME{SUFFIX}:400"
            raise PositionError(f"{shown(by)}: no search; {expected}")
        trained = game_of_player(text)
        if trained is not None and trained[0] == position.spec.name:
            position = position.under({k: v for k, v in trained[1].items() if k in READING_PARAMS})
        found = search_of(text, by, position.spec, device)
        self.name, self._position, self._has_priors = found.name, position, found.evaluator != "rollout"
        reader = None
        if isinstance(found.evaluator, NetworkEvaluator) and _counts(position):
            reader = NetworkReader(found.evaluator.network)
        self._reader = reader if reader is not None and reader.expects else None
        game, native = searchable(position.game)
        try:
            self._player = SearchPlayer(
                game, position.params, found.how, found.evaluator, slots=1, seed=seed, native=native
            )
        except ValueError as error:
            raise PositionError(f"{by}: {error}") from None

    def search(self, top: int, until: Callable[[], bool] = lambda: False) -> Searched:
        """Search the position.

        Args:
            top: Candidates of the answer, at most; 1 to the number of :data:`MARKS`.
            until: Asked between visits whether to answer at once.
        """
        position, player = self._position, self._player
        position.load(player.trees)
        (found,) = player.decide([0], until=until)
        score = self._score()
        return Searched(self._opinion(found, top, score), self._thoughts(found, score))

    def _score(self) -> PositionScore | None:
        match = self._position.match
        if not _counts(self._position) or match is None:
            return None
        expected: Expectation
        (expected,) = (self._reader.expect if self._reader is not None else by_playouts)([match])
        owners = tuple(_rounded(share, 2) for share in expected.ownership)
        lead, deviation = _rounded(expected.lead, 1), _rounded(expected.deviation, 1)
        return PositionScore(lead, deviation, expected.sampled, owners)

    def _opinion(self, found: SearchResult, top: int, score: PositionScore | None) -> PositionOpinion:
        root, position, trees = found.root, self._position, self._player.trees

        def rank(i: int) -> tuple[bool, int, float]:
            return int(root.moves[i]) != found.move, -int(root.move_visits[i]), -float(root.prior[i])

        order = sorted(range(len(root.moves)), key=rank)
        total = max(1, int(root.move_visits.sum()))
        candidates = []
        for mark, i in zip(MARKS, order[:top], strict=False):
            choice, visits = int(root.moves[i]), int(root.move_visits[i])
            line = trees.line(0, choice) if visits else [choice]
            candidates.append(
                PositionMove(
                    mark=mark,
                    move=name_of_choice(position, choice),
                    choice=choice,
                    prior=_rounded(root.prior[i]) if self._has_priors else None,
                    visits=visits,
                    share=_rounded(visits / total),
                    value=_rounded(root.mean[i]) if visits else None,
                    line=tuple(name_of_choice(position, move) for move in line),
                )
            )
        best = name_of_choice(position, found.move)
        return PositionOpinion(self.name, root.visits, _rounded(found.value), best, tuple(candidates), score)

    def _thoughts(self, found: SearchResult, score: PositionScore | None) -> Opinion:
        root, position = found.root, self._position
        size = position.spec.heads[0].size
        visits, legal = np.zeros(size), np.zeros(size, np.bool_)
        prior, mean = np.zeros(size, np.float32), np.zeros(size, np.float32)
        visits[root.moves], prior[root.moves], mean[root.moves] = root.move_visits, root.prior, root.mean
        legal[root.moves] = True
        order = order_of(visits + prior * 1e-3, legal, found.move)
        head = HeadThought(
            tuple(order),
            tuple(prior[order].tolist()) if self._has_priors else (),
            tuple(mean[order].tolist()),
            tuple(int(n) for n in visits[order]),
        )
        owned = tuple(round(100 * share) for share in score.ownership) if score else ()
        thought = Thought(
            position.tick, root.seat, float(found.value), (head,), line=tuple(found.line), ownership=owned
        )
        names = head_names(position.spec, position.document())
        return Opinion(self.name, names, "search", "own", "fresh", (thought,))


def _counts(position: SearchPosition) -> bool:
    """Return whether the owners of cells are expected, as the game's view declares."""
    return position.view is not None and position.view.ownership != ""


def _rounded(number: float, digits: int = DIGITS) -> float:
    return round(float(number), digits) + 0.0  # one zero


def answer_of(position: SearchPosition, asked: str, opinions: Sequence[PositionOpinion]) -> PositionAnswer:
    """Return the document about a position.

    Args:
        position: The position.
        asked: The question: a file or moves.
        opinions: What the players think.
    """
    (seat,) = position.seats
    return PositionAnswer(
        game=position.spec.name,
        params=dict(position.params),
        position=asked,
        moves=position.moves,
        seat=seat,
        side=side_name(position.view, seat),
        legal=len(position.legal()),
        opinions=tuple(opinions),
    )
