"""Counts of rollouts, and digests of acting weights; without Ray."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ludus.cluster.checks import lacking, shortage
from ludus.cluster.counts import FleetCounts
from ludus.cluster.weights import arrays_of, digest_of
from ludus.flow.slab import Array
from ludus.presets.config import ClusterConfig


def test_the_first_slab_sets_the_rates_and_later_ones_move_them_by_a_tenth() -> None:
    counts = FleetCounts(2)
    counts.rollouts[1].add(matches=6, busy_s=1.5, idle_s=0.5, lag=2)
    first = counts.numbers()
    assert first["cluster/matches_per_s/1"] == pytest.approx(3.0)
    assert first["cluster/idle/1"] == pytest.approx(0.25)
    assert first["cluster/lag/1"] == 2.0
    counts.rollouts[1].add(matches=0, busy_s=1.0, idle_s=0.0, lag=0)
    later = counts.numbers()
    assert later["cluster/matches_per_s/1"] == pytest.approx(2.7)
    assert later["cluster/idle/1"] == pytest.approx(0.225)
    assert later["cluster/lag/1"] == 0.0
    assert later["cluster/matches_per_s/0"] == later["cluster/idle/0"] == 0.0


def test_numbers_have_deaths_dropped_slabs_and_the_wait() -> None:
    counts = FleetCounts(3)
    assert counts.numbers()["cluster/present"] == 3.0
    counts.present, counts.deaths, counts.slabs_dropped, counts.wait_s = 2, 2, 1, 0.25
    numbers = counts.numbers()
    assert numbers["cluster/rollouts"] == 3.0
    assert numbers["cluster/present"] == 2.0
    assert numbers["cluster/deaths"] == 2.0
    assert numbers["cluster/slabs_dropped"] == 1.0
    assert numbers["cluster/wait_s"] == 0.25
    assert "cluster/server_deaths" not in numbers
    counts.server_deaths = 0
    assert counts.numbers()["cluster/server_deaths"] == 0.0


def test_a_digest_depends_on_values_names_shapes_and_types_and_not_on_the_order() -> None:
    a, b = np.arange(6, dtype=np.float32), np.ones(2, np.float32)
    digest = digest_of({"a": a, "b": b})
    assert digest_of({"b": b, "a": a}) == digest
    changed = a.copy()
    changed[3] = np.nextafter(changed[3], np.float32(9))
    others: list[dict[str, Array]] = [
        {"a": changed, "b": b},
        {"a": a, "c": b},
        {"a": a.reshape(2, 3), "b": b},
        {"a": a.view(np.int32), "b": b},
        {"a": a},
    ]
    assert len({digest, *map(digest_of, others)}) == len(others) + 1


def test_weights_in_bfloat16_have_the_digest_of_the_same_numbers_in_float32() -> None:
    half = torch.nn.Linear(3, 2).to(torch.bfloat16)
    whole = torch.nn.Linear(3, 2)
    whole.load_state_dict({name: tensor.float() for name, tensor in half.state_dict().items()})
    assert digest_of(arrays_of(half)) == digest_of(arrays_of(whole))  # type: ignore[arg-type]


def test_a_shortage_has_both_numbers_and_is_part_of_the_refusal() -> None:
    cluster = ClusterConfig(rollouts=6, cpus=2)
    assert shortage(cluster, 12.0, 0.0) == ""
    assert shortage(cluster, 4.0, 0.0) == "12 CPUs asked, 4 free"
    assert str(lacking(cluster, 4.0, 0.0)).startswith("cluster.rollouts = 6: 12 CPUs asked, 4 free; ")
    assert lacking(cluster, 12.0, 0.0) is None
