"""Every error of Ray about an answer means the same: the rollout is lost."""

from __future__ import annotations

import pytest

pytest.importorskip("ray", reason="Ray is not installed: pip install '.[cluster]' in the clone of Ludus")

import ray
from ray import exceptions

from ludus.cluster.processes.actors import RolloutLost, fetch
from ludus.pool import PoolError
from ludus.presets.errors import ConfigError

REFERENCE = "a" * 56
LOST = [
    exceptions.RayActorError(),
    exceptions.ActorDiedError(),
    exceptions.ActorUnavailableError("away", b"x" * 16),
    exceptions.ObjectLostError(REFERENCE, None, ""),
    exceptions.OwnerDiedError(REFERENCE, None, ""),
    exceptions.ObjectReconstructionFailedError(REFERENCE, None, ""),
    exceptions.ReferenceCountingAssertionError(REFERENCE, None, ""),
    exceptions.ObjectFetchTimedOutError(REFERENCE, None, ""),
    exceptions.NodeDiedError("gone"),
    exceptions.LocalRayletDiedError(),
    exceptions.WorkerCrashedError(),
    exceptions.RaySystemError("broken"),
    exceptions.GetTimeoutError("late"),
]


def answer_with(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Let every answer be ``error``."""

    def get(ref: object, timeout: float | None = None) -> object:
        raise error

    monkeypatch.setattr(ray, "get", get)


@pytest.mark.parametrize("error", LOST, ids=lambda error: type(error).__name__)
def test_an_answer_that_cannot_be_fetched_means_a_lost_rollout(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer_with(monkeypatch, error)
    with pytest.raises(RolloutLost, match=type(error).__name__):
        fetch(object())


@pytest.mark.parametrize("cause", [ConfigError("no such game"), PoolError("match 3"), ValueError("lane 7")])
def test_an_error_of_the_rollout_itself_is_raised_as_it_is(
    cause: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer_with(monkeypatch, exceptions.RayTaskError("play", "traceback", cause))
    with pytest.raises(type(cause), match=str(cause)):
        fetch(object())


def test_another_error_of_a_rollout_names_its_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    answer_with(monkeypatch, exceptions.RayTaskError("play", "traceback", KeyError("value")))
    with pytest.raises(PoolError, match="rollout: KeyError: 'value'"):
        fetch(object())
