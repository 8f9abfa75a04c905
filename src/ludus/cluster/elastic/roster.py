"""The processes of rollouts that are there, that start, and whose machines are to be taken away."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from ludus.cluster.checks import LOCAL_ADDRESS, check_alike
from ludus.cluster.elastic import nodes
from ludus.cluster.elastic.nodes import ClusterNode
from ludus.cluster.processes.actors import Call, RolloutActor, RolloutLost, end_all
from ludus.cluster.processes.starting import LOCAL_START_S, START_S, start_all, start_one
from ludus.pool import PoolError
from ludus.presets.config import Preset
from ludus.presets.errors import ConfigError

REFUSED_S = 60.0  # after a rollout that could not start or does not fit, until another is asked for


@dataclass(frozen=True, eq=False, slots=True)
class PresentRollout:
    """A process that plays.

    Attributes:
        number: How many joined before it.
        actor: The process.
        node: Its machine.
    """

    number: int
    actor: RolloutActor
    node: ClusterNode


@dataclass(frozen=True, eq=False, slots=True)
class StartingRollout:
    """A process that was asked for; ``about``: its description, when it has started."""

    actor: RolloutActor
    about: Call


class RolloutRoster:
    """Processes of rollouts. One thread calls it.

    A process that was asked for and finds no machine waits for one, and Ray reports that to an autoscaler.
    """

    def __init__(
        self,
        preset: Preset,
        settings: Any,  # noqa: ANN401
        spec_hash: str,
        report: Callable[[str], None],
        refused: Callable[[Exception], None],
    ) -> None:
        """Start the rollouts of ``preset``, at least ``cluster.min_rollouts`` of them.

        Args:
            preset: Settings of the run.
            settings: What rollouts get of them.
            spec_hash: Hash of the game's spec on this machine.
            report: Called with a line now and then while machines are missing.
            refused: Called with the error of each rollout that joined later and could not play.

        Raises:
            ConfigError: Too few machines, or other ones.
        """
        self._preset, self._settings, self._spec_hash = preset, settings, spec_hash
        self._refused = refused
        self._rest_until = 0.0
        self._numbers = count()
        started, late = start_all(preset, settings, spec_hash, report)
        self._starting = [self._described(actor) for actor in late]
        self.present: dict[int, PresentRollout] = {}  #: by number, ascending
        try:
            for actor in started:
                self._add(actor)
        except RolloutLost as error:
            end_all([*started, *late])
            raise ConfigError(error, where="a rollout died at its start") from error

    def _described(self, actor: RolloutActor) -> StartingRollout:
        return StartingRollout(actor, actor.ask("about", self._settings))

    def _add(self, actor: RolloutActor) -> PresentRollout:
        made = PresentRollout(next(self._numbers), actor, nodes.node_of(actor))
        self.present[made.number] = made
        return made

    def find(self, actor: RolloutActor) -> PresentRollout | None:
        """Return the present rollout with the process of ``actor``; None without one."""
        return next((r for r in self.present.values() if r.actor.same_process(actor)), None)

    def leaving(self) -> list[int]:
        """Return the numbers of the rollouts whose machines are to be taken away."""
        draining = nodes.draining()
        return [number for number, rollout in self.present.items() if rollout.node.id in draining]

    def fill(self, missing: int) -> None:
        """Let as many processes start as rollouts are missing; the surplus is ended."""
        if time.monotonic() >= self._rest_until:
            while len(self._starting) < missing:
                self._starting.append(self._described(start_one(self._preset)))
        while len(self._starting) > max(missing, 0):
            self._starting.pop().actor.kill()

    def joined(self) -> list[PresentRollout]:
        """Return the rollouts that have started since the last call, and are present now."""
        made: list[PresentRollout] = []
        for starting in list(self._starting):
            if starting.about.is_there():
                try:
                    made.append(self._admit(starting))
                except (ConfigError, RolloutLost) as error:
                    self._rest_until = time.monotonic() + REFUSED_S
                    self._refused(error)
        return made

    def _admit(self, starting: StartingRollout) -> PresentRollout:
        """Add a rollout that has started. Raises ``ConfigError`` and :class:`RolloutLost`."""
        self._starting.remove(starting)
        try:
            check_alike(starting.about.first(), self._spec_hash)
            return self._add(starting.actor)
        except BaseException:
            starting.actor.kill()
            raise

    def await_one(self, missing: str) -> PresentRollout:
        """Wait for the next rollout.

        Args:
            missing: Why there are too few, for the message.

        Raises:
            PoolError: There is no machine for it.
            ConfigError: It has another Ludus or game.
            RolloutLost: It died while it started.
        """
        if not self._starting:
            self._starting.append(self._described(start_one(self._preset)))
        cluster, first = self._preset.cluster, self._starting[0]
        is_local = cluster.address == LOCAL_ADDRESS
        patience_s = LOCAL_START_S if is_local else START_S
        if first.actor.wait_for_start(patience_s):
            return self._admit(first)
        free = f"{cluster.cpus} free processor{'s' if cluster.cpus > 1 else ''}"
        again = "to start its cluster again" if is_local else "when one has"
        raise PoolError(
            f"{missing}, and no machine has {free} for it after {patience_s:.0f} s; resume the run {again}"
        )

    def remove(self, rollout: PresentRollout) -> None:
        """End a rollout that is lost."""
        del self.present[rollout.number]
        rollout.actor.kill()

    def end(self, numbers: Sequence[int]) -> None:
        """End rollouts that play nothing any more."""
        end_all([self.present.pop(number).actor for number in numbers])

    def close(self) -> None:
        """End all rollouts. Idempotent."""
        self.fill(0)
        self.end(list(self.present))
