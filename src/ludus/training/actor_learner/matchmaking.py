"""Carries out what a matchmaker decides: freezes weights, keeps their files, binds them to lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from ludus.flow import MatchResult, Orders, Weights
from ludus.storage import RunDirectory, RunNotFound, StorageError
from ludus.training.actor_learner.build import Components
from ludus.training.actor_learner.checkpoint import TrainerState, decode_state
from ludus.training.matchmaker import player_of, version_of


class Matchmaking:
    """One thread calls it, between two rounds.

    ``write(path, how)`` writes a file that the run's state refers to; ``problem(text)`` reports one.
    """

    def __init__(
        self,
        components: Components,
        directory: RunDirectory,
        write: Callable[[Path, Callable[[], object]], None],
        problem: Callable[[str], None],
    ) -> None:
        self._components, self._directory = components, directory
        self._matchmaker, self._sampler = components.matchmaker, components.sampler
        self._write, self._problem = write, problem
        self.orders = Orders()
        self._stored: set[int] = set()  # versions whose weights can be read
        self._settled = True  # the players of the orders have lanes, and they alone are in matches
        self._sampler.bank.load = self._load

    def begin(self) -> None:
        """The first orders of a new run."""
        self._carry_out(self._next())

    def resume(self, state: TrainerState) -> None:
        """Goes back to a checkpoint; weights that are lost are left out, with a message.

        Raises ``ValueError`` where the state is not one of this matchmaker.
        """
        self._matchmaker.load_state(bytes(state.matchmaker))
        self._sampler.lanes.load(state.lanes)
        in_play = set(map(version_of, state.lanes.values()))
        orders, lost = self._next(), set[int]()
        for version in sorted(in_play.union(orders.kept)):
            try:
                self._sampler.bank.put(player_of(version), self._directory.load_snapshot(version))
                self._stored.add(version)
            except RunNotFound as error:
                lost.add(version)
                self._problem(f"{error}; past opponents go on without version {version}")
        if lost:
            self._matchmaker.forget(lost, self._components.learner.version)
            orders = self._next()
        self._stand_in(in_play & lost)
        self._carry_out(orders)

    def _stand_in(self, lost: set[int]) -> None:
        """Matches of lost players go on with the newest weights, which remember nothing of them."""
        for version in lost:
            self._sampler.bank.put(player_of(version), self._components.learner.weights())
        lanes = self._sampler.lanes.bound.items()
        self._sampler.play_lanes({lane for lane, player in lanes if version_of(player) in lost})

    def advance(self, paused: Callable[[], AbstractContextManager[None]]) -> None:
        """Asks for orders. New ones, and those that wait for lanes, take effect inside ``paused()``."""
        self._matchmaker.on_weights(self._components.learner.version)
        orders = self._next()
        if orders != self.orders or not self._settled:
            with paused():
                self._carry_out(orders)

    def on_results(self, results: Sequence[MatchResult]) -> None:
        """Matches of the round that has ended."""
        self._matchmaker.on_results(results)

    def store(self, state: TrainerState) -> None:
        """Writes itself into the state of a checkpoint."""
        state.set_matchmaker(self._matchmaker.state(), self._kept())
        state.lanes = dict(self._sampler.lanes.bound)

    def files(self) -> set[Path]:
        """Files without which the present state cannot be resumed."""
        return {self._directory.snapshot_path(version) for version in self._kept()}

    def drop_files(self) -> None:
        """Removes snapshots that neither the present orders nor a checkpoint on disk refer to."""
        kept, checkpoints = self._kept(), self._directory.checkpoints
        if not kept:
            return
        for version in checkpoints.versions():
            try:
                kept.update(decode_state(checkpoints.load_state(version)).snapshots)
            except StorageError:
                continue
        self._directory.drop_snapshots(kept)

    def _next(self) -> Orders:
        return self._matchmaker.next_orders(self._sampler.pool.slots)

    def _carry_out(self, orders: Orders) -> None:
        for version in orders.kept:
            if version not in self._stored:
                self._freeze(version)
        self._settled = self._sampler.seat({player_of(v): weight for v, weight in orders.playing.items()})
        self.orders = orders
        self._stored &= self._kept()

    def _kept(self) -> set[int]:
        """Stored versions that the orders keep or that a match in play needs."""
        in_play = map(version_of, self._sampler.lanes.bound.values())
        return self._stored.intersection((*self.orders.kept, *in_play))

    def _freeze(self, version: int) -> None:
        """Puts the newest weights into the bank and on disk."""
        weights = self._components.learner.weights()
        if weights.meta.version != version:
            raise RuntimeError(
                f"orders keep version {version}; it is not stored, and the newest is {weights.meta.version}"
            )
        self._sampler.bank.put(player_of(version), weights)
        self._stored.add(version)
        self._write(self._directory.snapshot_path(version), lambda: self._directory.save_snapshot(weights))

    def _load(self, player: str) -> Weights:
        return self._directory.load_snapshot(version_of(player))
