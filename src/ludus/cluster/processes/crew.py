"""The processes of a run's rollouts, on which the samplers of several learners may play."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from typing import Any

from ludus.cluster.checks import LOCAL_ADDRESS
from ludus.cluster.processes.actors import Call, RolloutActor, RolloutLost, end_all
from ludus.cluster.processes.starting import LOCAL_START_S, START_S, put_settings, start_all, start_one
from ludus.pool import PoolError
from ludus.presets.checks.game import resolve_spec
from ludus.presets.config import Preset

MAX_DEATHS = 5  # of one rollout without a slab between them


class Crew:
    """N rollouts, one process each. One thread calls it.

    A rollout that dies gets a successor with the next incarnation. Each fleet that played on it builds its
    sampler there again when it asks next.
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
        self._rollouts = start_all(preset, self._settings, spec.spec_hash, report)
        self._in_a_row = [0] * len(self._rollouts)
        self._names = map("sampler{}".format, count())
        self.incarnations = [0] * len(self._rollouts)  #: number of each rollout's predecessors
        self.deaths = 0  #: number of rollouts that were replaced

    def __len__(self) -> int:
        """Return the number of rollouts."""
        return len(self.incarnations)

    def settings_of(self, preset: Preset) -> Any:  # noqa: ANN401
        """Return a reference to what rollouts get of a preset; the run's own is put there once."""
        return self._settings if preset == self._preset else put_settings(preset)

    def new_name(self) -> str:
        """Return a name for the samplers of one fleet that no other fleet has."""
        return next(self._names)

    def rollout(self, number: int, name: str) -> RolloutActor:
        """Return the rollout ``number``, to be asked about its sampler ``name``."""
        return self._rollouts[number].named(name)

    def count_predecessors(self, number: int, count: int) -> None:
        """Note that the rollout ``number`` had ``count`` predecessors in the processes of a run before."""
        self.incarnations[number] = max(self.incarnations[number], count)

    def count_slab(self, number: int) -> None:
        """Note that the rollout ``number`` filled a slab."""
        self._in_a_row[number] = 0

    def replace(self, number: int, lost: RolloutActor, error: RolloutLost) -> None:
        """Start a successor of the rollout ``number``, unless another fleet has replaced it already.

        Args:
            number: Number of the rollout.
            lost: The lost rollout.
            error: How it was lost.

        Raises:
            PoolError: It died too often, or there is no machine for it.
        """
        if not self._rollouts[number].same_process(lost):
            return
        self._in_a_row[number] += 1
        if self._in_a_row[number] >= MAX_DEATHS:
            text = f"rollout {number} died {MAX_DEATHS} times without a slab"
            raise PoolError(error, where=text) from error
        lost.kill()
        self.deaths += 1
        self.incarnations[number] += 1
        self._rollouts[number] = start_one(self._preset)
        cluster = self._preset.cluster
        patience_s = LOCAL_START_S if cluster.address == LOCAL_ADDRESS else START_S
        if not self._rollouts[number].wait_for_start(patience_s):
            count = f"{cluster.cpus} free processor{'s' if cluster.cpus > 1 else ''}"
            text = f"no machine has {count} for it after {patience_s:.0f} s"
            again = "when one has"
            if cluster.address == LOCAL_ADDRESS:
                again = "to start its cluster again"
            raise PoolError(f"rollout {number} died ({error}), and {text}; resume the run {again}") from error

    def close(self) -> None:
        """End the rollouts. Idempotent."""
        end_all(self._rollouts)
        self._rollouts = []


class NamedRollouts:
    """The rollouts of a crew, asked about what one user has there under a name. One thread calls it.

    A rollout that dies is replaced, and its successor asked again.
    """

    def __init__(
        self, crew: Crew, count: int, prepare: Callable[[int], None], died: Callable[[int, RolloutLost], None]
    ) -> None:
        """Choose a name on the first ``count`` rollouts of ``crew``.

        Args:
            crew: The processes.
            count: Number of rollouts.
            prepare: Brings a successor, by its number, into the state of the rollout that died.
            died: Called with each rollout that died, before it is replaced.
        """
        self._crew, self._name = crew, crew.new_name()
        self._prepare, self._died = prepare, died
        self.actors = [crew.rollout(i, self._name) for i in range(count)]
        self.incarnations = crew.incarnations[:count]  #: number of predecessors of what the user has there

    def together(self, calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call each rollout with its own method and arguments. Return the answers in their order."""
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
        """Prepare a successor of the rollout ``number``, which died. Raises ``PoolError``."""
        while True:
            self._crew.replace(number, self.actors[number], error)
            self.actors[number] = self._crew.rollout(number, self._name)
            self.incarnations[number] = self._crew.incarnations[number]
            try:
                return self._prepare(number)
            except RolloutLost as another:
                error = another
                self._died(number, error)

    def pids(self) -> list[int]:
        """Return the process ids of the rollouts."""
        return self.together([("ping",)] * len(self.actors))

    def close(self) -> None:
        """Remove what the user has there. The processes stay. Idempotent."""
        actors, self.actors = self.actors, []
        for actor in actors:
            with suppress(RolloutLost):  # all of it ended with the process
                actor.ask("close").first()
