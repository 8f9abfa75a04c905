"""A player that searches: with random matches (``mcts:2000``) or a network (``RUN@best+search:800``)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

import msgspec

from ludus.games import registry
from ludus.games.match import Match
from ludus.gtp.players import Candidate, Choice
from ludus.search import RootStatistics, SearchText, Trees, parse_search
from ludus.search.evaluator import Evaluator
from ludus.train.errors import ConfigError

ANALYSED = 50_000  # visits that an analysis may grow to, where the player asks for fewer
LEAVES = 8  # of its one tree in a batch, for a network


class SearchedPlayer:
    """One tree, kept from move to move. ``visits`` end a search, or the clock where there is one."""

    def __init__(self, text: str, params: Mapping[str, str], seed: int, greedy: bool) -> None:
        self.name, self._seed, self._moves = text, seed, 0
        try:
            weights, how = parse_search(text)
        except ValueError as error:
            raise ConfigError(str(error)) from None
        self._how: SearchText = msgspec.structs.replace(how, plies=0) if greedy else how
        self._weights = weights
        self.needs: Mapping[str, str] = {}
        self._evaluator: Evaluator | str = "rollout"
        if weights:
            self._load(weights, params)
        self._trees: Trees | None = None

    def _load(self, weights: str, params: Mapping[str, str]) -> None:
        from ludus.games import spec
        from ludus.train.api import evaluator_of, game_of_player

        trained = game_of_player(weights)
        if trained is None or trained[0] != "go":
            raise ConfigError(f"{weights}: weights of {trained[0] if trained else 'no game'}; GTP plays go")
        kept = {k: v for k, v in trained[1].items() if k in ("size", "features", "resignation")}
        self.needs = {"size": spec("go").params[0].default_value, **kept}
        self._evaluator, _ = evaluator_of(
            weights, spec("go", {**params, **self.needs}), symmetries=self._how.symmetries
        )

    def prepare(self, params: Mapping[str, str]) -> None:
        """New trees under these parameters."""
        name, native = registry.find("go")
        search = self._how.search
        config = msgspec.structs.replace(
            search,
            visits=max(search.visits, ANALYSED),
            leaves=LEAVES if self._weights and search.leaves == 1 else search.leaves,
        )
        self._trees = Trees(
            name,
            dict(params),
            config,
            evaluator=self._evaluator,
            rollouts=self._how.rollouts,
            seed=self._seed,
            native=native,
        )

    def choose(self, match: Match, seconds: float | None) -> Choice:
        """See :class:`ludus.gtp.players.Player`."""
        trees = self._at(match)
        limit = min((s for s in (seconds, self._how.seconds) if s), default=0.0)
        self._moves += 1
        trees.run([0], visits=self._how.search.visits, seconds=limit, seed=self._seed + self._moves)
        early = match.tick < self._how.plies
        move = trees.choose(0, self._how.temperature if early else 0.0)
        return Choice(move, trees.root(0).value, self._candidates(trees))

    def analyse(self, match: Match, seconds: float) -> Iterator[tuple[Candidate, ...]]:
        """See :class:`ludus.gtp.players.Player`."""
        trees = self._at(match)
        most = trees.config.visits
        while True:
            before, end = trees.root(0).visits, time.monotonic() + seconds
            if before < most:
                trees.run([0], visits=most, seconds=seconds)
            if trees.root(0).visits == before:  # nothing is left to find out; the pace stays
                time.sleep(max(0.0, end - time.monotonic()))
            yield self._candidates(trees)

    def _at(self, match: Match) -> Trees:
        if self._trees is None:
            self.prepare(match.params)
        assert self._trees is not None
        self._trees.set_state(0, match.state)
        return self._trees

    def _candidates(self, trees: Trees) -> tuple[Candidate, ...]:
        """Moves that were visited, the most visited first."""
        root: RootStatistics = trees.root(0)
        order = sorted(
            range(len(root.moves)), key=lambda i: (-int(root.move_visits[i]), -float(root.mean[i]))
        )
        return tuple(
            Candidate(
                int(root.moves[i]),
                int(root.move_visits[i]),
                float(root.mean[i]),
                float(root.prior[i]),
                tuple(trees.line(0, int(root.moves[i]))),
            )
            for i in order
            if root.move_visits[i] > 0
        )
