"""A sampler in a member's process, and the manager's image of it.

The image knows the answers of the sampler's commands without asking: which players it keeps, which lanes they
play, how many matches are in play. So the manager waits only for slabs.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable
from typing import Any, cast

from ludus.flow import RolloutStats, Slab, Terms
from ludus.flow.command import R, SamplerCommand
from ludus.rollouts import commands
from ludus.rollouts.exchange import Facts, SamplerState
from ludus.rollouts.joined_sampler import joined_labels
from ludus.training.actor_learner.sampler import SamplerParts
from ludus.training.league.remote import messages as m
from ludus.training.league.remote.image import SamplerImage
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
        facts = Facts(
            spec=parts.spec,
            params=parts.params,
            slots=made.slots,
            all_slots=made.slots * made.parts,
            slabs=[Slab(parts.spec, steps, made.rows) for _ in range(slabs)],
            labels=parts.labels,
            actors=parts.actors,
            learned=parts.learned,
        )
        self.facts = dataclasses.replace(facts, labels=joined_labels(facts, made.parts))
        self._image = SamplerImage(parts.seats, made.parts)
        self._after = m.AfterSlab()
        self._asked: deque[Coming] = deque()  # slabs, oldest first
        self._reads: list[tuple[LiveSource, m.LiveWeights]] = []  # of lanes, until the next slab is there
        self._held: dict[Coming, list[tuple[str, int]]] = {}
        self._terms = Terms()

    @property
    def state(self) -> SamplerState:
        """The state after the last slab that has come."""
        return SamplerState(self._after.time_step, self._after.played, self._image.bound)

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
                return self._image.missing(command.players)
            case commands.AddPlayer():
                self._image.add(command.player, command.keep)
                self._put(command, command.keep)
            case commands.ReplacePlayer():
                self._image.replace(command.player)
                self._put(command, replace=True)
            case commands.SeatPlayers():
                in_play = self._settled().lanes if command.bind else ()
                self._link.send(m.SeatOrders(command.orders, command.bind))
                return self._image.seat(command.orders, command.bind, in_play)
            case commands.BindLanes():
                self._image.load(command.lanes)
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
        self,
        command: commands.AddPlayer | commands.ReplacePlayer,
        keep: tuple[str, ...] = (),
        replace: bool = False,
    ) -> None:
        request = m.PutPlayer(command.player, command.weights.meta, keep, replace)
        self._link.send(request, command.weights.tensors)

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
