"""The half of a sampler that plays: matches, lanes and orders. It needs neither networks nor torch.

What decides for the rows, a network in this process or a server, is the business of the classes above it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol, cast

import numpy as np

from ludus.flow import GameSpec, Lineup, Orders, RolloutStats, Slab, Terms, Weights
from ludus.flow.command import R, SamplerCommand
from ludus.flow.lineups import teams_of_plans
from ludus.flow.slab import Array
from ludus.pool import Pool
from ludus.rollouts import commands
from ludus.rollouts.actor import Actor
from ludus.rollouts.collector import Collector
from ludus.rollouts.exchange import INCARNATION, TIME_STEP, SamplerState, WeightSource
from ludus.rollouts.lanes import Lanes, players_of_lanes, settled, slot_orders

NO_WEIGHTS = -1  # version of an actor that has not taken any
POOL = "pool"  # array of a snapshot that holds the matches
ROWS = "collector."  # prefix of a snapshot's other arrays


class PlayerBank(Protocol):
    """Frozen players, and the actors of the lanes that they play (:class:`ludus.rollouts.bank.Bank`)."""

    def __contains__(self, player: str) -> bool:
        """Return whether ``player`` was put and not dropped."""
        ...

    def put(self, player: str, weights: Weights, keep: Collection[str] = ()) -> None:
        """Keep the weights of ``player``, in place of earlier ones."""
        ...

    def seed_of(self, lane: int) -> int:
        """Return the seed of a lane's draws."""
        ...

    def follow(self, bound: Mapping[int, str]) -> Mapping[int, Actor]:
        """Return the actors of lanes that play ``bound`` players. Raises ``KeyError`` for unknown ones."""
        ...


class MatchFacts(Protocol):
    """The facts that matches need (:class:`ludus.rollouts.exchange.Facts`)."""

    @property
    def spec(self) -> GameSpec:
        """Interface of the game."""
        ...

    @property
    def labels(self) -> dict[str, str]:
        """Names in statistics of the players of a match's result."""
        ...

    @property
    def actors(self) -> Mapping[int, Actor]:
        """Actors with the weights of learners, by policy id."""
        ...


class MatchSampler(ABC):
    """The commands of a sampler in this process, but for weights of learners.

    ``others``: actors of further policy ids: a teacher, opponents of the zoo. ``live``: names of players
    whose weights come from learners. A subclass has these attributes as its fields.
    """

    facts: MatchFacts
    lineup: Lineup
    pool: Pool
    bank: PlayerBank
    lanes: Lanes
    collector: Collector
    others: Mapping[int, Actor]
    live: Collection[str]
    _played: bool
    _restored: bytes  # the snapshot that the pool has, if it has not played since

    @abstractmethod
    def _load_weights(self, sources: Mapping[int, WeightSource]) -> None:
        """Let the actors of policy ids and live lanes decide by the newest weights of ``sources``."""

    @abstractmethod
    def _follow_live(self, lanes: list[int]) -> Mapping[int, Actor]:
        """Return new actors of live players' ``lanes``, without weights yet."""

    @property
    def state(self) -> SamplerState:
        """The present state."""
        return SamplerState(self.collector.time_step, self._played, self.lanes.bound)

    def send(self, command: SamplerCommand[R]) -> R:
        """Carry out ``command``."""
        return cast(R, self._answer(command))

    def _answer(self, command: SamplerCommand[Any]) -> object:
        match command:
            case Terms():
                self.pool.set_terms(command)
            case commands.LoadWeights():
                self._load_weights({**command.policies, **command.lanes})
            case commands.MissingPlayers():
                return [p for p in command.players if p not in self.live and p not in self.bank]
            case commands.AddPlayer():
                self.bank.put(command.player, command.weights, command.keep)
            case commands.ReplacePlayer():
                self._replace(command.player, command.weights)
            case commands.SeatPlayers():
                return self._seat(command.orders, command.bind)
            case commands.BindLanes():
                self.lanes.load(command.lanes)
            case commands.PlayAhead():
                return False
            case commands.CountInPlay():
                return self._in_play()
            case commands.LanesInPlay():
                return tuple(sorted(self.lanes_in_play()))
            case commands.TakeSnapshot():
                step = {TIME_STEP: np.array([self.collector.time_step], np.int64)}
                return self.snapshot() if self._played else step
            case commands.RestoreMatches():
                self._restore(command.arrays)
            case commands.StartAt():
                self.collector.start_at(command.time_step)
            case _:
                raise TypeError(f"{type(command).__name__}: not a command of samplers")
        return None

    # ---- players ---------------------------------------------------------------------------------

    def _replace(self, player: str, weights: Weights) -> None:
        self.bank.put(player, weights, tuple(self.lanes.bound.values()))
        lane = self.lanes.lane_of(player)
        self._play_lanes(() if lane is None else (lane,))

    def _seat(self, orders: Orders, bind: bool) -> commands.Seated:
        before, late = self.lanes.bound, False
        if bind:
            late = bool(self.lanes.bind(players_of_lanes(orders, self._controllers()), self.lanes_in_play()))
        bound = self.lanes.bound
        self._play_lanes({lane for lane, player in bound.items() if before.get(lane) != player})
        self._order(orders)
        return commands.Seated(settled(orders, bound) and not late, dict(bound))

    def _order(self, orders: Orders) -> None:
        """Give the pool ``orders``, with the lanes that are bound."""
        bound = self.lanes.bound
        if orders.batch:
            of_policy = {c.policy: i for i, c in enumerate(self.lineup.plans[0].controllers) if c.policy >= 0}
            indices = self._controllers() | {player: of_policy[lane] for lane, player in bound.items()}
            teams = teams_of_plans(self.facts.spec)
            self.pool.set_orders(*slot_orders(orders, self.pool.slots, teams, indices.__getitem__))
            return
        players = orders.mixture
        there = {lane: players[player] for lane, player in bound.items() if player in players}
        share = sum(there.values())
        if there or not players:
            scale = sum(players.values()) / share if share else 0.0
            self._draw({lane: weight * scale for lane, weight in there.items()})

    def _controllers(self) -> dict[str, int]:
        """Return the indices of the controllers of learned policies and bots, by name."""
        labels = self.facts.labels
        names = {policy: labels[f"policy:{policy}"] for policy in self.facts.actors}
        controllers = list(enumerate(self.lineup.plans[0].controllers))
        learned = {names[c.policy]: i for i, c in controllers if c.policy in names}
        return learned | {c.bot: i for i, c in controllers if c.policy < 0}

    def _play_lanes(self, fresh: Collection[int] = ()) -> None:
        """Let the networks of bound players decide for their lanes; ``fresh`` lanes have an empty memory."""
        bound = self.lanes.bound
        frozen = self.bank.follow({lane: p for lane, p in bound.items() if p not in self.live})
        live = sorted(lane for lane, p in bound.items() if p in self.live)
        own = self._follow_live(live)
        self.collector.set_actors({**self.facts.actors, **self.others, **frozen, **own}, fresh)

    def lanes_in_play(self) -> set[int]:
        """Return the lanes that decide in a match which has started and not ended."""
        used = set[int]()
        for group in range(self.pool.groups):
            controllers = self.pool.in_play(group).controllers
            for index, plan in enumerate(self.lineup.plans):
                policies = np.array([c.policy for c in plan.controllers])
                chosen = controllers[:, index]
                used.update(policies[np.unique(chosen[chosen >= 0])].tolist())
        return used.intersection(self.lanes.ids)

    def _draw(self, weights: Mapping[int, float]) -> None:
        """Draw lanes by ``weights``, other controllers by the weights of the lineup."""
        for index, plan in enumerate(self.lineup.plans):
            if not any(c.policy in self.lanes.ids for c in plan.controllers):
                continue
            mixture = [
                weights.get(c.policy, 0.0) if c.policy in self.lanes.ids else c.weight
                for c in plan.controllers
            ]
            self.pool.set_mixture(index, mixture)

    # ---- matches ---------------------------------------------------------------------------------

    def play(self, slab: Slab, between: Callable[[], None] | None = None) -> RolloutStats:
        """Fill ``slab``."""
        self._played, self._restored = True, b""
        stats = self.collector.collect(slab, between)
        stats.in_play = self._in_play()
        return stats

    def _in_play(self) -> dict[int, int]:
        tags = Counter[int]()
        for group in range(self.pool.groups):
            tags.update(self.pool.in_play(group).tags.tolist())
        return dict(tags)

    def snapshot(self) -> dict[str, Array]:
        """Return matches and rows' memory as arrays, whether or not they have filled a slab."""
        matches = np.frombuffer(self._restored or self.pool.snapshot(), np.uint8)
        return {POOL: matches} | {f"{ROWS}{name}": a for name, a in self.collector.state().items()}

    def _restore(self, arrays: Mapping[str, Array]) -> None:
        if arrays.keys() - {INCARNATION} == {TIME_STEP}:  # without matches
            self.collector.start_at(commands.stored_number(arrays, TIME_STEP))
            return
        if POOL not in arrays:
            raise ValueError(f"no array {POOL}")
        matches = arrays[POOL].tobytes()
        self.pool.restore(matches)
        self.collector.restore(commands.arrays_of_part(arrays, ROWS))
        self._played, self._restored = True, matches

    def close(self) -> None:
        """Stop the matches. Idempotent."""
        self.pool.close()
