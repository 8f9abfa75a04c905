"""Calls of rollouts by Ray.

Only this module starts, asks and ends processes and handles Ray's errors about them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayError, RayTaskError

from ludus.algorithms.group import GroupError
from ludus.cluster.processes.ray_host import RayHost
from ludus.cluster.received import ReceivedFiles
from ludus.cluster.rollout import Rollout
from ludus.pool import MatchError, PoolError
from ludus.presets.errors import ConfigError

PATIENCE_S = 10.0  # until a rollout that does not answer is asked whether it lives, and for that answer
SERVE, SERVED_AT_ONCE = "serve", 64  # group of the calls of other processes than the controller
LEAVE_S = 2.0  # for a process to remove its files
#: Errors of a rollout or a learner that mean the same here.
FORWARDED = (ConfigError, GroupError, MatchError, PoolError, ValueError)


class RolloutLost(Exception):
    """A rollout died, does not answer, or its answer lay on a machine that is gone."""


@dataclass(frozen=True, slots=True)
class Call:
    """An answer that will come."""

    actor: RolloutActor
    refs: tuple[Any, ...]

    def first(self) -> Any:  # noqa: ANN401
        """Wait for the first object of the answer. Raises :class:`RolloutLost`, or the rollout's error."""
        self.actor.wait(self.refs[0])
        return fetch(self.refs[0], self.actor.kind)

    def is_there(self) -> bool:
        """Return whether the answer has come, or will never."""
        return bool(ray.wait([self.refs[0]], timeout=0, fetch_local=False)[0])

    def second(self) -> Any:  # noqa: ANN401
        """Fetch the second object of the answer. Raises :class:`RolloutLost`, or the rollout's error."""
        return fetch(self.refs[1], self.actor.kind)


class RolloutActor:
    """A rollout, a learner or a server in a process of the cluster.

    A rollout is asked about one of its samplers.
    """

    def __init__(
        self,
        cpus: int,
        gpus: float,
        part: Callable[[ReceivedFiles, str], object] = Rollout,
        place: Any = None,  # noqa: ANN401
        kind: str = "rollout",
        address: str = "",
    ) -> None:
        """Ask for a process.

        Args:
            cpus: Its processors.
            gpus: Its GPUs.
            part: Makes what answers calls there.
            place: Reserved place of Ray's for it; None: anywhere.
            kind: What it is, for messages.
            address: Name by which other processes of the run find it; empty: none do.
        """
        self._name = ""
        self.kind = kind
        self.silent = False  #: whether the process was ended because it did not answer
        made = ray.remote(
            num_cpus=cpus,
            num_gpus=gpus,
            max_restarts=0,
            max_task_retries=0,
            concurrency_groups={"health": 1} | ({SERVE: SERVED_AT_ONCE} if address else {}),
            scheduling_strategy=place,
            **({"name": address} if address else {}),
        )(RayHost)
        self._handle = made.remote(part)
        self._first_ping = self._ping()  # answered when the process has started

    def named(self, name: str) -> RolloutActor:
        """Return the same process, to be asked about the sampler ``name``."""
        other = copy(self)
        other._name = name
        return other

    def same_process(self, other: RolloutActor) -> bool:
        """Return whether ``other`` is the same process."""
        return self._handle is other._handle

    def ask(self, method: str, *arguments: object, returns: int = 1) -> Call:
        """Call ``method``; calls of one rollout are carried out in their order."""
        bound = self._handle.call.options(num_returns=returns)
        try:
            refs = bound.remote(self._name, method, *arguments)
        except RayError as error:
            raise RolloutLost(first_line(error)) from error
        return Call(self, tuple(refs) if returns > 1 else (refs,))

    def ask_beside(self, method: str, *arguments: object) -> None:
        """Call ``method`` during another call, without waiting for an answer."""
        try:
            beside = self._handle.call.options(concurrency_group="health")
            beside.remote(self._name, method, *arguments)
        except RayError as error:
            raise RolloutLost(first_line(error)) from error

    def _ping(self) -> Any:  # noqa: ANN401
        return self._handle.ping.options(concurrency_group="health").remote()

    def place(self) -> str:
        """Return the id of the process's machine. Raises :class:`RolloutLost`."""
        try:
            ref = self._handle.place.options(concurrency_group="health").remote()
            return str(ray.get(ref, timeout=PATIENCE_S))
        except RayError as error:
            raise RolloutLost(first_line(error)) from error

    def wait_for_start(self, seconds: float) -> bool:
        """Return whether the process has started, or failed to, within ``seconds``."""
        return bool(ray.wait([self._first_ping], timeout=seconds)[0])

    def wait(self, ref: Any) -> None:  # noqa: ANN401
        """Wait for ``ref``, as long as the process lives. Raises :class:`RolloutLost`."""
        while not ray.wait([ref], timeout=PATIENCE_S, fetch_local=False)[0]:
            if not self.lives():
                raise RolloutLost("it neither answers nor ends")

    def lives(self) -> bool:
        """Return whether the process answers. One that has answered before and does not is ended.

        One that has not answered yet is starting, and :meth:`wait_for_start` limits that: torch may come
        from a slow disk. If it fails to start, Ray reports so at once.
        """
        has_answered = self.wait_for_start(0.0)
        try:
            ray.get(self._ping(), timeout=PATIENCE_S)
        except RayError as error:
            late = isinstance(error, GetTimeoutError)
            if late and not has_answered:
                return True
            self.silent = self.silent or late
            self.kill()
            return False
        return True

    def leave(self) -> Any:  # noqa: ANN401
        """Let the process remove its files, beside other calls; return a reference to the end of that."""
        return self._handle.leave.options(concurrency_group="health").remote()

    def kill(self) -> None:
        """End the process at once. Idempotent."""
        ray.kill(self._handle, no_restart=True)


def end_all(actors: Sequence[RolloutActor]) -> None:
    """End processes, after they have removed their files."""
    with suppress(RayError):
        if left := [actor.leave() for actor in actors]:
            ray.wait(left, num_returns=len(left), timeout=LEAVE_S)
    for actor in actors:
        actor.kill()


def fetch(ref: Any, kind: str = "rollout") -> Any:  # noqa: ANN401
    """Return the value of ``ref``. Raises :class:`RolloutLost`, or the error that the process raised.

    Args:
        ref: The reference.
        kind: Kind of the process that answers.
    """
    try:
        return ray.get(ref)
    except RayTaskError as error:
        raise original(error, kind) from None
    except RayError as error:
        raise RolloutLost(first_line(error)) from error


def original(error: RayTaskError, kind: str = "rollout") -> Exception:
    """Return the error that a process of a kind raised, without Ray's wrapping."""
    cause = error.cause
    if isinstance(cause, FORWARDED):
        return cause
    return PoolError(cause, where=f"{kind}: {type(cause).__name__}")


def first_line(error: Exception) -> str:
    """Return the first line of a message, after the name of the error."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def first_ready(calls: Mapping[int, Call]) -> int:
    """Return the key of the first answered call.

    A rollout that does not answer is ended, and its call returned.
    """
    by_ref = {call.refs[0]: number for number, call in calls.items()}
    ready: list[Any] = []
    while not ready:
        ready, _ = ray.wait(list(by_ref), timeout=PATIENCE_S, fetch_local=False)
        if not ready:
            for number, call in calls.items():
                if not call.actor.lives():
                    return number
    return by_ref[ready[0]]


def ready_of(calls: Mapping[int, Call], seconds: float) -> list[int]:
    """Return the keys of the calls answered within ``seconds``, ascending; one is enough."""
    by_ref = {call.refs[0]: number for number, call in calls.items()}
    refs = list(by_ref)
    if ray.wait(refs, timeout=seconds, fetch_local=False)[0]:
        ready, _ = ray.wait(refs, num_returns=len(refs), timeout=0, fetch_local=False)
        return sorted(by_ref[ref] for ref in ready)
    return []


def put(value: object) -> Any:  # noqa: ANN401
    """Return a reference to ``value``, which each machine fetches once."""
    return ray.put(value)
