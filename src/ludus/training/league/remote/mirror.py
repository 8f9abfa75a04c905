"""A sampler in a member's process, and the manager's image of it.

The image knows the answers of the sampler's commands without asking: which players it keeps, which lanes they
play, how many matches are in play. So the manager waits only for slabs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from typing import Any, cast

from ludus.flow import Orders, RolloutStats, Slab, Terms
from ludus.flow.command import R, SamplerCommand
from ludus.rollouts import commands
from ludus.rollouts.exchange import Facts, SamplerState
from ludus.rollouts.lanes import Lanes, players_of_lanes, settled
from ludus.rollouts.shelf import Shelf
from ludus.training.actor_learner.sampler import SamplerParts
from ludus.training.league.remote import messages as m
from ludus.training.league.remote.learner import LiveSource
from ludus.training.league.remote.link import Coming, MemberLink


class MirrorSampler:
    """A sampler in another process (:class:`ludus.rollouts.exchange.Sampler`). Its slabs stay there.

    ``facts.slabs`` have the right measures and nothing in them.
    """

    def __init__(
        self, link: MemberLink, parts: SamplerParts, made: m.MatchesMade, steps: int, slabs: int
    ) -> None:
        """Mirror a sampler that was made.

        Args:
            link: The way to the member.
            parts: Everything of the sampler but its matches.
            made: Its measures.
            steps: Time steps of a slab.
            slabs: Number of its slabs.
        """
        self._link = link
        self.facts = Facts(
            spec=parts.spec,
            params=parts.params,
            slots=made.slots,
            all_slots=made.slots,
            slabs=[Slab(parts.spec, steps, made.rows) for _ in range(slabs)],
            labels=parts.labels,
            actors=parts.actors,
            learned=parts.learned,
        )
        plan = parts.seats.lineup.plans[0]
        own = {parts.labels[f"policy:{policy}"] for policy in parts.actors}
        self._known: Collection[str] = own | {c.bot for c in plan.controllers if c.policy < 0}
        self._live = parts.seats.live
        self._lanes, self._shelf = Lanes(parts.seats.ids.past), Shelf(parts.seats.cache)
        self._after = m.AfterSlab()
        self._asked: deque[Coming] = deque()  # slabs, oldest first
        self._reads: list[tuple[LiveSource, m.LiveWeights]] = []  # of lanes, until the next slab is there
        self._held: dict[Coming, list[tuple[str, int]]] = {}
        self._terms = Terms()

    @property
    def state(self) -> SamplerState:
        """The state after the last slab that has come."""
        return SamplerState(self._after.time_step, self._after.played, self._lanes.bound)

    def restored(self, after: m.AfterSlab) -> None:
        """Take over the matches of a checkpoint that the sampler has returned to."""
        self._after = after

    def send(self, command: SamplerCommand[R]) -> R:
        """Carry out ``command``: there, and in the image."""
        return cast(R, self._answer(command))

    def _answer(self, command: SamplerCommand[Any]) -> object:
        match command:
            case Terms():
                self._terms = command
            case commands.LoadWeights():
                self._load_live(command)
            case commands.MissingPlayers():
                return [p for p in command.players if p not in self._live and p not in self._shelf]
            case commands.AddPlayer():
                self._put(command, command.keep, replace=False)
            case commands.ReplacePlayer():
                self._put(command, tuple(self._lanes.bound.values()), replace=True)
            case commands.SeatPlayers():
                return self._seat(command.orders, command.bind)
            case commands.BindLanes():
                self._lanes.load(command.lanes)
                self._link.send(m.BindPlayers(dict(command.lanes)))
            case commands.PlayAhead():
                self._ask(command.terms)
                return True
            case commands.CountInPlay():
                return dict(self._settled().tags)
            case commands.StartAt():
                self._after = m.AfterSlab(command.time_step)
                self._link.send(m.CountFrom(command.time_step))
            case _:
                raise TypeError(f"{type(command).__name__}: not a command of samplers in other processes")
        return None

    # ---- players ---------------------------------------------------------------------------------

    def _put(
        self, command: commands.AddPlayer | commands.ReplacePlayer, keep: tuple[str, ...], *, replace: bool
    ) -> None:
        self._shelf.put(command.player, keep)
        request = m.PutPlayer(command.player, command.weights.meta, keep, replace)
        self._link.send(request, command.weights.tensors)
        if replace:
            self._follow()

    def _seat(self, orders: Orders, bind: bool) -> commands.Seated:
        late = False
        if bind:
            players = players_of_lanes(orders, self._known)
            late = bool(self._lanes.bind(players, set(self._settled().lanes)))
        self._follow()
        self._link.send(m.SeatOrders(orders, bind))
        bound = self._lanes.bound
        return commands.Seated(settled(orders, bound) and not late, dict(bound))

    def _follow(self) -> None:
        """Note on the shelf who plays: the same players are dropped there and here."""
        frozen = {lane: p for lane, p in self._lanes.bound.items() if p not in self._live}
        if frozen != self._shelf.bound or not frozen:
            self._shelf.follow(frozen)

    def _load_live(self, command: commands.LoadWeights) -> None:
        """Let lanes wait for weights of live players; the member's own are there already."""
        lanes = {}
        for lane, source in command.lanes.items():
            assert isinstance(source, LiveSource)
            place = source.read()
            self._reads.append((source, place))
            lanes[lane] = place
        if lanes:
            self._link.send(m.TakeLive(lanes))

    # ---- slabs -----------------------------------------------------------------------------------

    def _ask(self, terms: Terms) -> None:
        coming = self._link.send(m.AskSlab(terms))
        self._held[coming] = [(place.member, place.slot) for _, place in self._reads]
        self._reads = []
        self._asked.append(coming)

    @property
    def coming(self) -> Coming | None:
        """The oldest slab that was asked for and not taken; None without one."""
        return self._asked[0] if self._asked else None

    def _come(self, coming: Coming) -> m.SlabAnswer:
        """Wait for a slab, after which its lanes have copied the weights that they waited for."""
        answer = self._link.wait(coming, m.SlabAnswer)
        for member, slot in self._held.pop(coming, ()):
            self._link.hosts.books[member].done(slot)
        return answer

    def _settled(self) -> m.AfterSlab:
        """Return the matches in play after all slabs that were asked for."""
        for coming in self._asked:
            self._after = self._come(coming).after
        return self._after

    def play(self, slab: Slab, between: Callable[[], None] | None = None) -> RolloutStats:
        """Wait for the oldest slab and return its statistics; ``slab`` stays empty."""
        if between is not None:
            between()
        if not self._asked:
            self._ask(self._terms)
        answer = self._come(self._asked[0])
        self._asked.popleft()
        if not self._asked:
            self._after = answer.after
        return answer.stats

    def abandon(self) -> None:
        """Wait until nothing that was asked for is under way, whether or not it fails."""
        if self._reads:
            self._ask(self._terms)
        for coming, held in self._held.items():
            self._link.hosts.wait(coming)
            for member, slot in held:
                self._link.hosts.books[member].done(slot)
        self._held.clear()
        self._asked.clear()

    def close(self) -> None:
        """Do nothing: the process ends its matches."""
