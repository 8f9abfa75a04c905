"""Seating: carries out what a matchmaker decides for one sampler.

The matchmaker names players; the seating sees that the sampler has their weights and that frozen weights lie
on disk as long as orders or matches in play need them. A run with one learner has one seating, a league one
for each member.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

import msgspec

from ludus.algorithms.learner import Learner
from ludus.flow import MatchResult, Orders, Weights
from ludus.league.matchmaker import Matchmaker
from ludus.presets.errors import ConfigError
from ludus.rollouts.commands import (
    AddPlayer,
    BindLanes,
    LoadWeights,
    MissingPlayers,
    ReplacePlayer,
    SeatPlayers,
)
from ludus.rollouts.exchange import Sampler, WeightSource
from ludus.training.actor_learner.state import TrainerState


class PlayerLost(Exception):
    """The weights of the frozen ``player`` cannot be read."""

    def __init__(self, player: str, why: str) -> None:
        """Take ``why`` as the message."""
        super().__init__(why)
        self.player = player


class FrozenStore(Protocol):
    """Weights of frozen players on disk."""

    def load(self, player: str) -> Weights:
        """Read the weights of ``player``. Raises :class:`PlayerLost`."""
        ...

    def keep(self, player: str, weights: Weights) -> None:
        """Write the weights of ``player``, which was frozen just now."""
        ...


class Seating:
    """One thread calls it, between two rounds.

    Args:
        sampler: plays the matches.
        matchmaker: decides who plays.
        learner: its weights are frozen where orders want them, and replace lost players in matches in play.
        frozen: weights of frozen players.
        lost: called with each lost player before the next orders; it reports the loss and calls
            :meth:`Matchmaker.on_lost` of all matchmakers that may draw the player.
        live: weights of the players that play live.
    """

    def __init__(
        self,
        sampler: Sampler,
        matchmaker: Matchmaker,
        learner: Learner,
        frozen: FrozenStore,
        lost: Callable[[PlayerLost], None],
        live: Mapping[str, WeightSource] | None = None,
    ) -> None:
        """Start without orders."""
        self.sampler, self.matchmaker = sampler, matchmaker
        self.orders = Orders()
        self._learner, self._frozen, self._lost = learner, frozen, lost
        self._live = live or {}
        self._stored: set[str] = set()  # players whose weights can be read
        self._settled = True  # the sampler does not have to be asked again before other orders come

    def start(self) -> None:
        """Carry out the first orders of a new run."""
        self._carry_out(self._next())

    def advance(self, paused: Callable[[], AbstractContextManager[None]]) -> None:
        """Ask for orders. New ones, and those that wait for lanes, take effect inside ``paused()``.

        Lanes of live players take their newest weights.
        """
        self.matchmaker.on_weights(self._learner.version)
        orders = self._next()
        if orders != self.orders or not self._settled:
            with paused():
                self._carry_out(orders)
        if self._live:
            bound = self._bound.items()
            lanes = {lane: self._live[p] for lane, p in bound if p in self._live}
            self.sampler.send(LoadWeights(lanes=lanes))

    def withdraw(self, player: str, instead: WeightSource) -> None:
        """Meet the live ``player`` no more; the weights of ``instead`` play its matches to their end."""
        self._live = {**self._live, player: instead}
        self.matchmaker.on_lost(player, self._learner.version)
        self._settled = False  # its lane takes other weights

    def on_results(self, results: list[MatchResult]) -> None:
        """Report the matches of the round that has ended."""
        self.matchmaker.on_results(results)

    def restart(self, sampler: Sampler) -> None:
        """Continue with another sampler: all matches are gone."""
        self.sampler = sampler
        self.matchmaker.on_restart()
        self.orders, self._settled = Orders(), True

    # ---- checkpoints -----------------------------------------------------------------------------

    def store(self, state: TrainerState) -> None:
        """Write what stands into the state of a checkpoint."""
        state.matchmaker, state.frozen = msgspec.Raw(self.matchmaker.state()), self.kept()
        state.lanes = dict(sorted(self._bound.items()))

    def load(self, state: TrainerState, *, restarted: bool = False) -> None:
        """Load what :meth:`store` wrote; :meth:`resume` must follow.

        ``restarted``: the sampler's matches are new ones. Raises ``ValueError`` where the state is not one of
        this matchmaker or sampler.
        """
        self.matchmaker.load_state(bytes(state.matchmaker))
        if restarted:
            self.matchmaker.on_restart()
        else:
            self.sampler.send(BindLanes(state.lanes))

    def resume(self) -> None:
        """Continue the matches of a checkpoint, which the sampler has again.

        Lost players are reported and left out; the newest weights play their matches to the end.
        """
        in_play = [player for player in self._bound.values() if player not in self._live]
        replaced = []
        for player in dict.fromkeys((*in_play, *self._next().kept)):
            try:
                self._put(player, (*in_play,))
                self._stored.add(player)
            except PlayerLost as error:
                self._lost(error)
                if player in in_play:
                    replaced.append(player)
        for player in replaced:
            self.matchmaker.on_replaced(player)
            self.sampler.send(AddPlayer(player, self._learner.weights(), tuple(in_play)))
        for player in replaced:
            self.sampler.send(ReplacePlayer(player, self._learner.weights()))
        self.orders = self._next()
        self._keep(self.orders)
        self._settled = self.sampler.send(SeatPlayers(self.orders, bind=False)).settled
        self._label()

    def kept(self) -> list[str]:
        """Return the stored players that orders keep or that a match in play needs."""
        return [p for p in dict.fromkeys((*self.orders.kept, *self._bound.values())) if p in self._stored]

    # ---- orders ----------------------------------------------------------------------------------

    @property
    def _bound(self) -> Mapping[int, str]:
        """Players by the lane that plays them."""
        return self.sampler.state.bound

    def _next(self) -> Orders:
        return self.matchmaker.next_orders(self.sampler.facts.slots)

    def _carry_out(self, orders: Orders) -> None:
        while True:
            self._keep(orders)
            players = list(dict.fromkeys((*orders.mixture, *_players(orders))))
            try:
                frozen = tuple(p for p in players if self._needs_weights(p))
                for player in self.sampler.send(MissingPlayers(frozen)):
                    self._put(player, players)
            except PlayerLost as error:
                self._lost(error)
                orders = self._next()
            else:
                break
        self._settled = self.sampler.send(SeatPlayers(orders)).settled
        self.matchmaker.on_seated(orders)
        self.orders = orders
        self._label()
        self._stored &= set(self.kept())

    def _needs_weights(self, player: str) -> bool:
        """Whether it is a frozen player, neither a live one nor a bot."""
        return ":" in player

    def _keep(self, orders: Orders) -> None:
        """Freeze the newest weights where ``orders`` keep them."""
        for player in orders.kept:
            if player in self._stored:
                continue
            weights = self._learner.weights()
            self.sampler.send(AddPlayer(player, weights))
            self._stored.add(player)
            self._frozen.keep(player, weights)

    def _put(self, player: str, keep: Iterable[str]) -> None:
        """Bring the weights of a frozen player. Raises :class:`PlayerLost`."""
        try:
            self.sampler.send(AddPlayer(player, self._frozen.load(player), tuple(keep)))
        except ConfigError as error:
            raise PlayerLost(player, str(error)) from error

    def _label(self) -> None:
        for lane, player in self._bound.items():
            self.sampler.facts.labels[f"policy:{lane}"] = self.matchmaker.label(player)


def _players(orders: Orders) -> list[str]:
    return [player for order in orders.batch for player in order.players]
