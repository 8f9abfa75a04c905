"""Calls of rollouts by Ray: actors are started, asked and ended here, and all of Ray's errors are handled here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ray
from ray.exceptions import (
    GetTimeoutError,
    ObjectLostError,
    RayActorError,
    RayError,
    RayTaskError,
)

from ludus.cluster.rollout import Rollout
from ludus.pool import MatchError, PoolError
from ludus.presets.errors import ConfigError

PATIENCE_S = 10.0  # until a rollout that does not answer is asked whether it lives, and for that answer
FORWARDED = (ConfigError, MatchError, PoolError, ValueError)  # errors of a rollout that mean the same here


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
        return fetch(self.refs[0])

    def second(self) -> Any:  # noqa: ANN401
        """Fetch the second object of the answer. Raises :class:`RolloutLost`, or the rollout's error."""
        return fetch(self.refs[1])


class RolloutActor:
    """A rollout in a process of the cluster."""

    def __init__(self, cpus: int, gpus: float) -> None:
        """Ask for a process with ``cpus`` processors and ``gpus`` GPUs."""
        made = ray.remote(
            num_cpus=cpus,
            num_gpus=gpus,
            max_restarts=0,
            max_task_retries=0,
            concurrency_groups={"health": 1},
        )(Rollout)
        self._handle = made.remote()

    def ask(self, method: str, *arguments: object, returns: int = 1) -> Call:
        """Call ``method``; calls of one rollout are carried out in their order."""
        bound = getattr(self._handle, method).options(num_returns=returns)
        try:
            refs = bound.remote(*arguments)
        except RayError as error:
            raise RolloutLost(_text(error)) from error
        return Call(self, tuple(refs) if returns > 1 else (refs,))

    def ready(self) -> Any:  # noqa: ANN401
        """Return a reference that is ready when the process has started."""
        return self._handle.ping.options(concurrency_group="health").remote()

    def wait(self, ref: Any) -> None:  # noqa: ANN401
        """Wait for ``ref``, as long as the process lives. Raises :class:`RolloutLost`."""
        while not ray.wait([ref], timeout=PATIENCE_S, fetch_local=False)[0]:
            try:
                ray.get(self.ready(), timeout=PATIENCE_S)
            except GetTimeoutError:
                self.kill()
                raise RolloutLost(f"no answer within {PATIENCE_S:.0f} s") from None
            except RayError as error:
                raise RolloutLost(_text(error)) from error

    def kill(self) -> None:
        """End the process at once. Idempotent."""
        ray.kill(self._handle, no_restart=True)


def fetch(ref: Any) -> Any:  # noqa: ANN401
    """Return the value of ``ref``. Raises :class:`RolloutLost`, or the error that the rollout raised."""
    try:
        return ray.get(ref)
    except RayTaskError as error:
        raise original(error) from None
    except (RayActorError, ObjectLostError) as error:
        raise RolloutLost(_text(error)) from error
    except RayError as error:
        raise RolloutLost(_text(error)) from error


def gather(calls: Sequence[Call]) -> list[Any]:
    """Return the first objects of all answers."""
    return [call.first() for call in calls]


def original(error: RayTaskError) -> Exception:
    """Return the error that a rollout raised, without Ray's wrapping."""
    cause = error.cause
    if isinstance(cause, FORWARDED):
        return cause
    return PoolError(f"rollout: {type(cause).__name__}: {cause}")


def _text(error: Exception) -> str:
    """Return the first line of Ray's message."""
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"
