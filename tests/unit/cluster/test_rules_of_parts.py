"""A fleet reports of all of its rollouts, and refuses states that lack one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ray", reason="Ray is not installed: pip install 'ludus-rl[cluster]'")

from ludus.cluster.fleet import Fleet
from ludus.cluster.remote_sampler import RemoteSampler
from ludus.rollouts.exchange import TIME_STEP


def fleet_of(answers: list[tuple[bool, dict[int, str]]]) -> Fleet:
    """Return a fleet whose rollouts give these answers to orders."""
    fleet = object.__new__(Fleet)
    fleet.bound, fleet._weights, fleet._players = [{} for _ in answers], {}, {"a": 1, "b": 2, "c": 3, "d": 4}
    fleet._live, fleet._sent = [{} for _ in answers], [{} for _ in answers]
    fleet.every = lambda method, *arguments: answers  # type: ignore[method-assign]
    return fleet


@pytest.mark.parametrize("settled", [(True, True), (True, False), (False, True), (False, False)])
def test_orders_are_settled_when_every_rollout_has_settled_them(settled: tuple[bool, bool]) -> None:
    fleet = fleet_of([(settled[0], {1: "b"}), (settled[1], {2: "c"})])
    orders: Any = SimpleNamespace(mixture={"a": 1.0}, kept=(), batch=())
    assert fleet.follow("follow_orders", orders) == all(settled)
    assert fleet.bound == [{1: "b"}, {2: "c"}]
    assert set(fleet._players) == {"a", "b", "c"}  # what a successor may need, of any rollout


@pytest.mark.parametrize("lacking", [0, 1, 2])
def test_a_state_without_the_time_of_one_rollout_is_refused(lacking: int) -> None:
    restored: list[object] = []
    sampler = object.__new__(RemoteSampler)

    class Three:
        def __len__(self) -> int:
            return 3

        def restore(self, parts: list[object], step: int) -> None:
            restored.append(step)

    fleet: Any = Three()
    sampler.fleet, sampler.played = fleet, False
    state = {f"sampler{i}.{TIME_STEP}": np.array([7], np.int64) for i in range(3)}
    sampler.restore(state)
    assert (restored, sampler.played) == ([7], True)
    del state[f"sampler{lacking}.{TIME_STEP}"]
    with pytest.raises(ValueError, match=f"no array {TIME_STEP} of 3 rollouts"):
        sampler.restore(state)
    assert restored == [7]
