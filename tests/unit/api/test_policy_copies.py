"""A loaded policy is sent to other processes by every way that Python has."""

from __future__ import annotations

import copy
import functools
import multiprocessing
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import cloudpickle  # type: ignore[import-untyped]
import msgspec
import numpy as np
import pytest

import ludus
from ludus.evaluation.loaded_policy import LoadedPolicy
from ludus.games import typed
from tests.unit.api.finite_envs import SPACES
from tests.unit.api.test_finite import GIVEN, policy_of, sample
from tests.unit.api.test_load_policy import SMALL, weights_of

MIXED = typed("gymnasium/tests.unit.api.finite_envs:ludus-tests/Mixed-v0")


def through_pickle(policy: LoadedPolicy, protocol: int) -> LoadedPolicy:
    copied: LoadedPolicy = pickle.loads(pickle.dumps(policy, protocol))
    return copied


WAYS: dict[str, Callable[[LoadedPolicy], LoadedPolicy]] = {
    **{
        f"protocol {n}": functools.partial(through_pickle, protocol=n)
        for n in range(2, pickle.HIGHEST_PROTOCOL + 1)
    },
    "cloudpickle": lambda policy: cloudpickle.loads(cloudpickle.dumps(policy)),
    "deepcopy": copy.deepcopy,
}


@pytest.mark.parametrize("space", SPACES)
def test_a_copy_acts_as_the_original(space: str, tmp_path: Path) -> None:
    policy = policy_of(tmp_path, space)
    policy.deterministic = False
    policy.act(sample(space))
    copies = {way: copied(policy) for way, copied in WAYS.items()}
    expected = [policy.act(sample(space)) for _ in range(8)]
    for way, made in copies.items():
        assert str(made) == str(policy), way
        assert [made.act(sample(space)) for _ in range(8)] == expected, way


def test_a_copy_continues_with_the_memory(tmp_path: Path) -> None:
    policy = policy_of(tmp_path, "vector", "lstm")
    for _ in range(3):
        policy.act(sample("vector"))
    copied = through_pickle(policy, 5)
    policy.act(sample("vector"))
    copied.act(sample("vector"))
    assert policy._memory is not None
    assert copied._memory is not None
    assert np.array_equal(policy._memory, copied._memory)
    copied.reset()
    assert copied._memory is None
    assert policy._memory is not None


@pytest.mark.parametrize("game", ["tic_tac_toe", "connect_four", "gymnasium/Pendulum-v1", MIXED])
def test_policies_of_every_kind_of_game(game: str, tmp_path: Path) -> None:
    config = msgspec.structs.replace(SMALL, memory="none")
    policy = ludus.load_policy(weights_of(tmp_path, game, config), game=game if ":" in game else "")
    assert repr(through_pickle(policy, 2)) == repr(policy)


def act(policy: LoadedPolicy, observation: Any) -> int:  # noqa: ANN401
    return int(policy.act(observation))


def test_a_policy_is_an_argument_of_a_spawned_process(tmp_path: Path) -> None:
    policy = policy_of(tmp_path, "parts", "gru")
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as executor:
        there = executor.submit(act, policy, sample("parts")).result(120)
    assert there == act(policy, sample("parts"))
    assert policy.game.endswith(GIVEN.partition(":")[2])
