"""Players that search: with random rollouts (``mcts:2000``) or a network (``RUN@best+search:800``)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from ludus.flow.inputs.shown import shown
from ludus.games import go, registry
from ludus.games.match import Match
from ludus.gtp.expectation import NetworkReader, by_playouts
from ludus.gtp.players import Expectation, MoveCandidate, MoveChoice, RawNetwork, Restriction, SearchReport
from ludus.mcts import RootStatistics, SearchText, Trees, parse_search
from ludus.mcts.evaluator import Evaluator
from ludus.presets.errors import ConfigError
from ludus.storage import name_of, resolve_weights

ANALYSED = 50_000  # most visits of an analysis, unless the player asks for more
LEAVES = 8  # leaves of the tree in a batch for a network


class SearchedPlayer:
    """A player with one tree, kept from move to move.

    A search ends after ``visits``, or by the clock if there is one.
    """

    def __init__(
        self, text: str, params: Mapping[str, str], seed: int, greedy: bool, device: str = "auto"
    ) -> None:
        """Parse ``text`` and load its weights.

        Args:
            text: Player with search, such as ``mcts:2000``.
            params: Parameters of the game; those that the weights were trained on replace them.
            seed: Seed of the search.
            greedy: Play the most visited move from the first ply on.
            device: Device of the network.

        Raises:
            ConfigError: The text is no search, or its weights are of another game.
        """
        self.name, self._seed, self._moves = text, seed, 0
        try:
            weights, how = parse_search(text)
        except ValueError as error:
            raise ConfigError(error) from None
        self._how: SearchText = msgspec.structs.replace(how, plies=0) if greedy else how
        self._weights = weights
        self.needs: Mapping[str, str] = {}
        self._evaluator: Evaluator | str = "rollout"
        self._reader: NetworkReader | None = None
        if weights:
            self._load(weights, params, device)
        self._trees: Trees | None = None

    def _load(self, weights: str, params: Mapping[str, str], device: str) -> None:
        from ludus.evaluation.players import evaluator_of, game_of_player
        from ludus.games import spec

        trained = game_of_player(weights)
        if trained is None or trained[0] != "go":
            game = shown(trained[0]) if trained else "no game"
            raise ConfigError(f"{weights}: weights of {game}; GTP plays go")
        kept = {k: v for k, v in trained[1].items() if k in ("size", "features", "resignation")}
        self.needs = {"size": spec("go").params[0].default_value, **kept}
        rules = spec("go", {**params, **self.needs})
        evaluator, version = evaluator_of(weights, rules, device, self._how.symmetries)
        self.name = name_of(resolve_weights(weights), version) + self.name.removeprefix(weights)
        self._evaluator, self._reader = evaluator, NetworkReader(evaluator.network)

    def prepare(self, params: Mapping[str, str]) -> None:
        """Make new trees under these parameters."""
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

    def choose(self, match: Match, seconds: float | None) -> MoveChoice:
        """Choose a move, as :class:`ludus.gtp.players.GoPlayer`."""
        for _ in self.deliberate(match, seconds, math.inf):
            pass
        return self.decide(match)

    def deliberate(
        self,
        match: Match,
        seconds: float | None,
        interval: float,
        restrictions: Sequence[Restriction] = (),
    ) -> Iterator[SearchReport]:
        """Search for one move with reports, as :class:`ludus.gtp.players.Analyst`."""
        trees = self._at(match, restrictions)
        limit = min((s for s in (seconds, self._how.seconds) if s), default=0.0)
        self._moves += 1
        visits, seed = self._how.search.visits, self._seed + self._moves
        # Sequential halving restarts at every call, so it must run in one piece.
        whole = math.isinf(interval) or self._how.search.gumbel_moves > 0
        end = time.monotonic() + limit if limit else math.inf
        while True:
            left = end - time.monotonic()
            piece = left if whole else min(interval, left)
            trees.run([0], visits=visits, seconds=0.0 if math.isinf(piece) else max(piece, 1e-6), seed=seed)
            yield self._report(trees)
            if whole or trees.root(0).visits >= visits or time.monotonic() >= end or self._settled(trees):
                return

    def _settled(self, trees: Trees) -> bool:
        """Whether another visit is refused: the root is proven, or the tree's memory is full."""
        before = trees.root(0).visits
        trees.run([0], visits=before + 1)
        return trees.root(0).visits == before

    def decide(self, match: Match) -> MoveChoice:
        """Return the choice, as :class:`ludus.gtp.players.Analyst`."""
        assert self._trees is not None
        trees = self._trees
        early = match.tick < self._how.plies
        move = trees.choose(0, self._how.temperature if early else 0.0)
        report = self._report(trees)
        return MoveChoice(move, report.value, tuple(c for c in report.candidates if c.visits > 0))

    def analyse(
        self, match: Match, interval: float, restrictions: Sequence[Restriction] = ()
    ) -> Iterator[SearchReport]:
        """Search without end with reports, as :class:`ludus.gtp.players.Analyst`."""
        trees = self._at(match, restrictions)
        most = trees.config.visits
        while True:
            before, end = trees.root(0).visits, time.monotonic() + interval
            if before < most:
                trees.run([0], visits=most, seconds=interval)
            if trees.root(0).visits == before:  # the search is complete; reports keep their interval
                time.sleep(max(0.0, end - time.monotonic()))
            yield self._report(trees)

    def expect(self, matches: Sequence[Match]) -> list[Expectation]:
        """Return expectations by the network's heads, else by random continuations."""
        if self._reader is not None and self._reader.expects:
            return self._reader.expect(matches)
        return by_playouts(matches)

    @property
    def read(self) -> Callable[[Match, int], RawNetwork] | None:
        """The method of :class:`ludus.gtp.players.PositionReader`; None without a network."""
        return None if self._reader is None else self._reader.read

    def _at(self, match: Match, restrictions: Sequence[Restriction] = ()) -> Trees:
        if self._trees is None:
            self.prepare(match.params)
        assert self._trees is not None
        self._trees.set_state(0, match.state)
        by_seat = {r.seat: r for r in restrictions}
        for seat in (go.BLACK, go.WHITE):
            own = by_seat.get(seat)
            self._trees.restrict(0, seat, own.barred if own else (), own.depth if own else 0)
        return self._trees

    def _report(self, trees: Trees) -> SearchReport:
        root: RootStatistics = trees.root(0)
        order = sorted(
            range(len(root.moves)), key=lambda i: (-int(root.move_visits[i]), -float(root.mean[i]))
        )
        candidates = []
        for i in order:
            move, visits = int(root.moves[i]), int(root.move_visits[i])
            line = trees.line_visits(0, move) if visits else []
            candidates.append(
                MoveCandidate(
                    move,
                    visits,
                    float(root.mean[i]) if visits else root.value,
                    float(root.prior[i]),
                    tuple(m for m, _ in line),
                    tuple(v for _, v in line),
                )
            )
        return SearchReport(root.visits, root.value, tuple(candidates))
