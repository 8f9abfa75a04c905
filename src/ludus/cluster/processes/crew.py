"""The rollouts of a run, on which the samplers of several learners may play.

What a learner lets play has a fixed number of parts, ``cluster.rollouts``, on which its bits depend. A
rollout plays one part or several; which ones, and when a part moves, changes no bits.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from typing import Any

from ludus.cluster.elastic.assignment import NOWHERE, assigned, least_rollouts
from ludus.cluster.elastic.roster import PresentRollout, RolloutRoster
from ludus.cluster.processes.actors import Call, RolloutActor, RolloutLost
from ludus.cluster.processes.starting import put_settings
from ludus.pool import PoolError
from ludus.presets.checks.game import resolve_spec
from ludus.presets.config import Preset
from ludus.training.machines import MachineEvent

MAX_DEATHS = 5  # of the rollout of one part without a slab between them
LOOK_S = 1.0  # between two looks at machines that join or leave


class Crew:
    """The processes of rollouts, and which of them plays which part. One thread calls it.

    A part whose rollout dies starts other matches with the next incarnation, on another rollout. Each fleet
    that played it there builds its sampler again when it asks next.
    """

    def __init__(self, preset: Preset, report: Callable[[str], None] = lambda text: None) -> None:
        """Start the rollouts of ``preset``.

        Args:
            preset: Settings of the run.
            report: Called with a line now and then while machines are missing.

        Raises:
            ConfigError: Too few machines, or other ones.
        """
        spec, _ = resolve_spec(preset)
        self._preset = preset
        self._settings = put_settings(preset)
        self._roster = RolloutRoster(preset, self._settings, spec.spec_hash, report, self._refused)
        parts = preset.cluster.rollouts
        self._least = least_rollouts(preset.cluster)
        self._homes = assigned([NOWHERE] * parts, list(self._roster.present))
        self._before = list(self._homes)  # until every part that moves has done so
        self._in_a_row = [0] * parts
        self._names = map("sampler{}".format, count())
        self._users: list[NamedRollouts] = []
        self._look_at = 0.0
        self._announced: set[int] = set()  # rollouts that are to leave
        self._events: deque[MachineEvent] = deque()
        self.incarnations = [0] * parts  #: number of each part's predecessors
        self.deaths = 0  #: number of rollouts that died
        for rollout in self._roster.present.values():
            self._tell_joined(rollout, news=False)

    def __len__(self) -> int:
        """Return the number of parts."""
        return len(self.incarnations)

    @property
    def present(self) -> int:
        """Number of rollouts that are there."""
        return len(self._roster.present)

    def settings_of(self, preset: Preset) -> Any:  # noqa: ANN401
        """Return a reference to what rollouts get of a preset; the run's own is put there once."""
        return self._settings if preset == self._preset else put_settings(preset)

    def enter(self, user: NamedRollouts) -> str:
        """Note that ``user`` plays here. Return a name for its samplers that no other has."""
        self._users.append(user)
        return next(self._names)

    def forget(self, user: NamedRollouts) -> None:
        """Note that ``user`` plays here no more. Idempotent."""
        with suppress(ValueError):
            self._users.remove(user)

    def home(self, number: int) -> int:
        """Return the number of the rollout of a part."""
        return self._homes[number]

    def rollout(self, number: int, name: str) -> RolloutActor:
        """Return the rollout of the part ``number``, to be asked about that part of the sampler ``name``."""
        return self._roster.present[self._homes[number]].actor.named(f"{name}.{number}")

    def count_predecessors(self, number: int, count: int) -> None:
        """Note that the part ``number`` had ``count`` predecessors in the processes of a run before."""
        self.incarnations[number] = max(self.incarnations[number], count)

    def restart_part(self, number: int) -> int:
        """Return the next incarnation of a part that starts other matches without a death."""
        self.incarnations[number] += 1
        return self.incarnations[number]

    def count_slab(self, number: int) -> None:
        """Note that the part ``number`` filled a slab."""
        self._in_a_row[number] = 0

    # ---- joining and leaving ---------------------------------------------------------------------

    def attend(self) -> None:
        """Let rollouts that have started play, and those on drained machines leave. Between two slabs.

        Parts move with their matches. Raises ``PoolError`` where a part's rollouts die one after another.
        """
        if time.monotonic() < self._look_at:
            return
        self._look_at = time.monotonic() + LOOK_S
        joined = self._roster.joined()
        leaving = self._roster.leaving()
        staying = [number for number in self._roster.present if number not in leaving]
        kept = [*staying, *leaving[: max(0, self._least - len(staying))]]
        self._roster.fill(len(self) - len(staying))
        if kept:
            self._assign(kept)
        for rollout in joined:
            self._tell_joined(rollout)
        self._let_go([number for number in leaving if number not in kept])
        for number in leaving:
            if number in self._roster.present and number not in self._announced:
                self._announced.add(number)
                rollout = self._roster.present[number]
                needed = f"it leaves when another has joined, {self._least} are needed"
                self._tell("waits to leave", rollout, f" on {rollout.node.name} is drained; {needed}")

    def _assign(self, kept: Sequence[int]) -> None:
        """Give the parts to the rollouts ``kept``, and move those whose rollout changes."""
        self._before, self._homes = self._homes, assigned(self._homes, kept)
        for number in range(len(self)):
            if self._before[number] != self._homes[number]:
                for user in list(self._users):
                    user.move(number)
        self._before = list(self._homes)

    def _let_go(self, numbers: Sequence[int]) -> None:
        """End the rollouts that play nothing any more."""
        there = [n for n in numbers if n in self._roster.present and n not in self._homes]
        gone = [self._roster.present[number] for number in there]
        self._roster.end(there)
        for rollout in gone:
            self._tell("drained", rollout, f" left {rollout.node.name}, which is drained")

    # ---- deaths ----------------------------------------------------------------------------------

    def replace(self, number: int, lost: RolloutActor, error: RolloutLost) -> None:
        """Find another rollout for the part ``number``, unless that was done for another fleet already.

        Args:
            number: Number of the part.
            lost: The lost rollout.
            error: How it was lost.

        Raises:
            PoolError: The rollouts of the part died too often, or there is no machine for another.
        """
        rollout = self._roster.find(lost)
        if rollout is None:
            return
        self._roster.remove(rollout)
        parts = [i for i in range(len(self)) if rollout.number in (self._homes[i], self._before[i])]
        for part in parts:
            self.incarnations[part] += 1
        self._count_death(number, parts, error)
        self._tell("lost", rollout, f" on {rollout.node.name} was lost ({error})", error=str(error))
        joined: list[PresentRollout] = []
        while len(self._roster.present) < max(1, self._least):
            try:
                joined.append(self._roster.await_one(f"the rollout of part {number} died ({error})"))
            except RolloutLost as another:
                self._count_death(number, parts, another)
        homes = assigned(
            [NOWHERE if home == rollout.number else home for home in self._homes], list(self._roster.present)
        )
        for part, home in enumerate(self._homes):
            if home == rollout.number:  # other parts move at the next look, with their matches
                self._homes[part] = homes[part]
        for new in joined:
            self._tell_joined(new)

    def _count_death(self, number: int, parts: Sequence[int], error: RolloutLost) -> None:
        """Count the death of the rollout that played ``parts``. Raises ``PoolError`` after too many."""
        self.deaths += 1
        for part in {number, *parts}:
            self._in_a_row[part] += 1
        if self._in_a_row[number] >= MAX_DEATHS:
            text = f"the rollout of part {number} died {MAX_DEATHS} times without a slab"
            raise PoolError(error, where=text) from error

    # ---- events ----------------------------------------------------------------------------------

    def _parts_of(self, rollout: PresentRollout) -> list[int]:
        return [part for part, home in enumerate(self._homes) if home == rollout.number]

    def _tell_joined(self, rollout: PresentRollout, news: bool = True) -> None:
        parts = self._parts_of(rollout)
        listed = (
            f"part{'s' if len(parts) > 1 else ''} {', '.join(map(str, parts))}" if parts else "no part yet"
        )
        self._tell("joined", rollout, f" joined on {rollout.node.name} and plays {listed}", news=news)

    def _refused(self, error: Exception) -> None:
        self._events.append(
            MachineEvent(
                "rollout refused", f"a rollout joined and was refused: {error}", {"error": str(error)}
            )
        )

    def _tell(
        self, what: str, rollout: PresentRollout, text: str, news: bool = True, error: str = ""
    ) -> None:
        detail: dict[str, object] = {
            "rollout": rollout.number,
            "node": rollout.node.name,
            "node_id": rollout.node.id,
            "homes": list(self._homes),
        }
        if error:
            detail["error"] = error
        line = f"rollout {rollout.number}{text}" if news else ""
        self._events.append(MachineEvent(f"rollout {what}", line, detail))

    def take_events(self) -> list[MachineEvent]:
        """Return what happened since the last call. Any thread may call it."""
        found = []
        with suppress(IndexError):
            while True:
                found.append(self._events.popleft())
        return found

    def close(self) -> None:
        """End the rollouts. Idempotent."""
        self._roster.close()


class NamedRollouts:
    """The rollouts of a crew, asked about the parts that one user has there. One thread calls it.

    Where a rollout dies, another one is prepared and asked again.
    """

    def __init__(
        self,
        crew: Crew,
        count: int,
        prepare: Callable[[int], None],
        died: Callable[[int, RolloutLost], None],
        carry: Callable[[int, RolloutActor], None] | None = None,
    ) -> None:
        """Choose a name on the rollouts of the first ``count`` parts of ``crew``.

        Args:
            crew: The processes.
            count: Number of parts.
            prepare: Brings a part, by its number, into the state of the one that was lost.
            died: Called with each part that was lost, before another rollout is found for it.
            carry: Moves a part to a rollout, and sets its actor; None: parts stay where they are.
        """
        self._crew, self._prepare, self._died, self._carry = crew, prepare, died, carry
        self.name = crew.enter(self)
        self.actors = [crew.rollout(i, self.name) for i in range(count)]
        self.incarnations = crew.incarnations[:count]  #: number of predecessors of what the user has there

    def together(self, calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call the rollout of each part with its own method and arguments. Return the answers in order."""
        asked = [actor.ask(*call) for actor, call in zip(self.actors, calls, strict=True)]
        return [self._answer(number, asked[number], call) for number, call in enumerate(calls)]

    def _answer(self, number: int, asked: Call, call: tuple[Any, ...]) -> Any:  # noqa: ANN401
        while True:
            try:
                return asked.first()
            except RolloutLost as error:
                self._died(number, error)
                self.replace(number, error)
                asked = self.actors[number].ask(*call)

    def replace(self, number: int, error: RolloutLost) -> None:
        """Prepare another rollout for the part ``number``, which was lost. Raises ``PoolError``."""
        while True:
            self._crew.replace(number, self.actors[number], error)
            self.actors[number] = self._crew.rollout(number, self.name)
            self.incarnations[number] = self._crew.incarnations[number]
            try:
                return self._prepare(number)
            except RolloutLost as another:
                error = another
                self._died(number, error)

    def move(self, number: int) -> None:
        """Move the part ``number`` to the rollout that the crew has for it. Raises ``PoolError``."""
        if self._carry is None or number >= len(self.actors):
            return
        target = self._crew.rollout(number, self.name)
        if target.same_process(self.actors[number]):
            return
        try:
            self._carry(number, target)
        except RolloutLost as error:
            self._died(number, error)
            self.replace(number, error)

    def pids(self) -> list[int]:
        """Return the process id of the rollout of each part."""
        return self.together([("ping",)] * len(self.actors))

    def close(self) -> None:
        """Remove what the user has there. The processes stay. Idempotent."""
        actors, self.actors = self.actors, []
        self._crew.forget(self)
        for actor in actors:
            with suppress(RolloutLost):  # all of it ended with the process
                actor.ask("close").first()
