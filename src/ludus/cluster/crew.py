"""The processes of a run's rollouts, on which the samplers of several learners may play."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from ludus.cluster.actors import RolloutActor, RolloutLost, end_all
from ludus.cluster.checks import LOCAL_ADDRESS
from ludus.cluster.starting import START_S, put_settings, start_all, start_one
from ludus.pool import PoolError
from ludus.presets.config import Preset
from ludus.presets.game_checks import resolve_spec

MAX_DEATHS = 5  # of one rollout without a slab between them


class Crew:
    """N rollouts in processes of their own. One thread calls it.

    A rollout that dies gets a successor with the next incarnation. Each fleet that played on it builds its
    sampler there again when it asks next.
    """

    def __init__(self, preset: Preset, report: Callable[[str], None] = lambda text: None) -> None:
        """Start the rollouts of ``preset``.

        Args:
            preset: Of the run.
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
            number: Of the rollout.
            lost: The one that was asked.
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
        if not self._rollouts[number].wait_for_start(START_S):
            cluster = self._preset.cluster
            count = f"{cluster.cpus} free processor{'s' if cluster.cpus > 1 else ''}"
            text = f"no machine has {count} for it after {START_S:.0f} s"
            again = "when one has"
            if cluster.address == LOCAL_ADDRESS:
                again = "to start its cluster again"
            raise PoolError(f"rollout {number} died ({error}), and {text}; resume the run {again}") from error

    def close(self) -> None:
        """End the rollouts. Idempotent."""
        end_all(self._rollouts)
        self._rollouts = []
