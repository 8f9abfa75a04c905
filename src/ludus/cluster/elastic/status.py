"""The rollouts of a run, as its files tell. This module needs no Ray."""

from __future__ import annotations

from typing import Annotated

import msgspec

from ludus.cluster.elastic.assignment import least_rollouts
from ludus.flow.inputs.shown import visible
from ludus.presets.config import ClusterConfig
from ludus.reporting.run_view import RunView
from ludus.storage import RunDirectory
from ludus.storage.errors import CorruptFile
from ludus.storage.run_info import RunState

Number = Annotated[int, msgspec.Meta(ge=0, le=1 << 40)]
Name = Annotated[str, msgspec.Meta(max_length=200)]
MOST = 4096  # rollouts that are kept in mind
MOST_EVENTS = 1 << 17  # newest events that are read
#: Events after which a rollout is there, and after which it is not.
HERE, GONE = ("rollout joined", "rollout waits to leave"), ("rollout drained", "rollout lost")


class _RolloutEvent(msgspec.Struct, frozen=True):
    """An event of a run about a rollout."""

    rollout: Number
    node: Name
    node_id: Name
    homes: Annotated[tuple[Annotated[int, msgspec.Meta(ge=-1)], ...], msgspec.Meta(max_length=1024)]
    time: Name = ""


class RolloutStatus(msgspec.Struct, frozen=True):
    """A rollout of a run.

    Attributes:
        rollout: How many joined before it.
        node: Name of its machine.
        node_id: Ray's id of that machine.
        parts: Parts of the matches that it plays.
        since: When it joined.
        leaving: Whether its machine is drained, and it stays until another joins.
    """

    rollout: int
    node: str
    node_id: str
    parts: tuple[int, ...]
    since: str
    leaving: bool


class RunRollouts(msgspec.Struct, frozen=True):
    """Rollouts of a run.

    Attributes:
        run: The run.
        state: Whether a process trains it.
        address: Address of its cluster.
        wanted: Number of rollouts that its settings ask for, which is the number of parts.
        least: How many are enough.
        rollouts: The ones that are there; empty where no process trains the run.
        lost: How many were lost since the run or its resume started.
    """

    run: str
    state: RunState
    address: str
    wanted: int
    least: int
    rollouts: tuple[RolloutStatus, ...]
    lost: int


def rollouts_of(run: RunDirectory, cluster: ClusterConfig) -> RunRollouts:
    """Return the rollouts of a run with the settings ``cluster``. Raises ``CorruptFile``."""
    there: dict[int, _RolloutEvent] = {}
    leaving: set[int] = set()
    homes: tuple[int, ...] = ()
    lost = 0
    for number, row in enumerate(RunView(run).events(MOST_EVENTS), 1):
        kind = row.get("event")
        if kind not in HERE + GONE:
            continue
        try:
            event = msgspec.convert(row, _RolloutEvent)
        except msgspec.ValidationError as error:
            raise CorruptFile(f"{run.path}: event {number}: {error}") from error
        homes = event.homes
        if kind == "rollout joined":
            if event.rollout == 0:  # the first one of a process that trains
                there, leaving, lost = {}, set(), 0
            if len(there) < MOST:
                there[event.rollout] = event
        elif kind in GONE:
            there.pop(event.rollout, None)
            lost += kind == "rollout lost"
        else:
            leaving.add(event.rollout)
    state = run.status().state
    found = tuple(
        RolloutStatus(
            number,
            visible(event.node),
            visible(event.node_id),
            tuple(part for part, home in enumerate(homes) if home == number),
            event.time,
            number in leaving,
        )
        for number, event in sorted(there.items())
        if state == "running"
    )
    return RunRollouts(
        str(run.path), state, cluster.address, cluster.rollouts, least_rollouts(cluster), found, lost
    )
