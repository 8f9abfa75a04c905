"""Starts rollouts, and refuses what cannot work before a run directory is made."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import msgspec
import numpy as np

from ludus.cluster.checks import LOCAL_ADDRESS, advice, check_alike, fitting, lacking, part_of, shortage
from ludus.cluster.elastic.assignment import least_rollouts
from ludus.cluster.inference.thin_rollout import ThinRollout
from ludus.cluster.processes.actors import RolloutActor, RolloutLost, end_all, put
from ludus.cluster.sent_preset import sent_preset
from ludus.cluster.session import all_cpus, all_gpus, free_cpus, free_gpus, store_bytes
from ludus.flow import GameSpec, Slab
from ludus.presets.config import ClusterConfig, Preset
from ludus.presets.errors import ConfigError

START_S = 60.0  # for a process with the processors of a rollout
LOCAL_START_S = 240.0  # on a cluster that has them: only a busy machine is that slow
REPORT_S = 5.0  # between two lines about missing machines
MEGABYTE = 1 << 20


def start_one(preset: Preset) -> RolloutActor:
    """Ask for the process of one rollout. One with servers has neither networks nor a GPU."""
    cluster = preset.cluster
    if cluster.inference:
        return RolloutActor(cluster.cpus, 0.0, ThinRollout)
    return RolloutActor(cluster.cpus, cluster.gpus)


def put_settings(preset: Preset) -> Any:  # noqa: ANN401
    """Return a reference to what a rollout gets of ``preset``. Raises ``ConfigError`` for files."""
    return put(sent_preset(part_of(preset)))


def start_all(
    preset: Preset,
    settings: Any,  # noqa: ANN401
    spec_hash: str,
    report: Callable[[str], None],
) -> tuple[list[RolloutActor], list[RolloutActor]]:
    """Start the processes of all rollouts and compare their machines with this one.

    Returns the ones that have started, and the others, which wait for machines.

    Args:
        preset: Settings of the run.
        settings: Return value of :func:`put_settings`.
        spec_hash: Hash of the game's spec on this machine.
        report: Called with a line now and then while processors are missing.

    Raises:
        ConfigError: Too few processors or GPUs, or a machine with another Ludus or game.
    """
    cluster = preset.cluster
    needed = msgspec.structs.replace(cluster, rollouts=least_rollouts(cluster))
    if cluster.address == LOCAL_ADDRESS and (why := lacking(needed, all_cpus(), all_gpus())):
        raise ConfigError(why, more=" on this machine")
    room = free_room()
    if cluster.inference:  # these have started
        cluster = msgspec.structs.replace(cluster, inference=0, gpus=0.0)
    actors = [start_one(preset) for _ in range(cluster.rollouts)]
    try:
        wait_for_all(actors, cluster, room, report)
        started = [actor for actor in actors if actor.wait_for_start(0.0)]
        calls = [actor.ask("about", settings) for actor in started]
        for number, call in enumerate(calls):
            try:
                check_alike(call.first(), spec_hash)
            except RolloutLost as error:
                raise ConfigError(error, where=f"rollout {number} did not start") from error
    except BaseException:
        end_all(actors)
        raise
    return started, [actor for actor in actors if actor not in started]


class Starting(Protocol):
    """A process that starts."""

    def wait_for_start(self, seconds: float) -> bool:
        """See :meth:`ludus.cluster.processes.actors.RolloutActor.wait_for_start`."""
        ...


class Room(Protocol):
    """Processors and GPUs that rollouts may have, those that start there included."""

    def cpus(self) -> float:
        """Return the number of processors."""
        ...

    def gpus(self) -> float:
        """Return the number of GPUs."""
        ...


def free_room() -> Room:
    """Return the room that is free now, and that machines bring which join later."""
    return _Room()


class _Room:
    """Room that was free before the rollouts were asked for, and that machines which joined since brought.

    The counts of free processors exclude processors of rollouts in their start.
    """

    def __init__(self) -> None:
        self._cpus = free_cpus() - all_cpus()
        self._gpus = free_gpus() - all_gpus()

    def cpus(self) -> float:
        return self._cpus + all_cpus()

    def gpus(self) -> float:
        return self._gpus + all_gpus()


def wait_for_all(
    actors: Sequence[Starting], cluster: ClusterConfig, room: Room, report: Callable[[str], None]
) -> None:
    """Wait until all processes have started, or enough of them and no other has room.

    Args:
        actors: The processes.
        cluster: Processors and GPUs of each.
        room: What the cluster has for them.
        report: Called with a line every five seconds while processes are missing.

    Raises:
        ConfigError: Too few processors or GPUs, for a minute.
    """
    end = time.monotonic() + START_S
    while True:
        pause = time.monotonic() + REPORT_S
        started = sum(actor.wait_for_start(max(0.0, pause - time.monotonic())) for actor in actors)
        if started == len(actors):
            return
        left = msgspec.structs.replace(cluster, rollouts=len(actors) - started)
        cpus, gpus = room.cpus() - started * cluster.cpus, room.gpus() - started * cluster.gpus
        text = shortage(left, max(cpus, 0.0), max(gpus, 0.0))
        room_for = fitting(left, max(cpus, 0.0), max(gpus, 0.0))
        is_late = time.monotonic() >= end
        if text and started >= least_rollouts(cluster) and (is_late or room_for == 0):
            return
        if text and is_late:
            remedy = advice(cluster, started + room_for)
            found = f"{started} of {len(actors)} rollouts started within {START_S:.0f} s"
            raise ConfigError(f"{found}: {text}", *remedy)
        report(f"{started} of {len(actors)} rollouts: {text or 'processes are starting'}")


def check_store(spec: GameSpec, rows: int, preset: Preset, inputs: Sequence[str]) -> None:
    """Check that the slabs in flight fit in half of this machine's object store.

    Raises:
        ConfigError: They do not.
    """
    slab = Slab(spec, preset.pool.rollout_length, rows, lambda shape, kind: np.empty(shape, kind))
    rollouts, ahead = preset.cluster.rollouts, preset.ahead
    size = sum(a.nbytes for a in slab.learned_fields(inputs).values()) * rollouts * (1 + ahead)
    store = store_bytes()
    if 2 * size > store:
        raise ConfigError(
            f"cluster.rollouts = {rollouts}{f', cluster.ahead = {ahead}' if ahead else ''}: "
            f"their slabs take {size / MEGABYTE:,.1f} MB, "
            f"expected at most half of this machine's object store, {store / MEGABYTE:,.1f} MB"
        )
