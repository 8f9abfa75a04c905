"""Lineage in weights files and in run.json: bounded, and read as data of unknown origin."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from ludus.flow.slab import Array
from ludus.flow.weights import MAX_LINEAGE, Ancestor, WeightsMeta
from ludus.policies.weights import WeightsError, load_meta
from ludus.storage import CorruptFile, RunDirectory, RunInfo
from ludus.storage.tensors import META_KEY, encode_tensors, read_weights
from ludus.training.surgery.conversion import longer

ANCESTOR = Ancestor("run", 3, "0" * 16, "a" * 32, ("hidden layer 8 -> 16",))
META = WeightsMeta(4, "0" * 16, "{}", "{}", "tic_tac_toe", lineage=(ANCESTOR, ANCESTOR))
INFO = RunInfo(1, "0", "tic_tac_toe", "", 1, "2026-01-01T00:00:00Z", (), lineage=(ANCESTOR,))
VALUES: st.SearchStrategy[Any] = st.one_of(
    st.integers(-(1 << 70), 1 << 70),
    st.text(max_size=5),
    st.sampled_from(
        [None, [], {}, True, 0.5, "x" * 5000, ["x"] * 5000, [{}] * 300, [[[[]]]], "\x1b[2J", "\u202e"]
    ),
)
KEYS = ("run", "version", "spec_hash", "run_id", "operators", "other")


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.sampled_from(KEYS), VALUES), min_size=1, max_size=3), st.integers(0, 400))
def test_a_damaged_lineage_is_refused_or_bounded(
    tmp_path: Path, changes: list[tuple[str, Any]], count: int
) -> None:
    ancestor: dict[str, Any] = copy.deepcopy(msgspec.to_builtins(ANCESTOR))
    ancestor |= dict(changes)
    path, run = tmp_path / "w.safetensors", RunDirectory(tmp_path / "run")
    meta = {**msgspec.to_builtins(META), "lineage": [ancestor] * count}
    tensors: dict[str, Array] = {"a": np.zeros(1, np.float32)}
    path.write_bytes(encode_tensors(tensors, {META_KEY: msgspec.json.encode(meta).decode()}))
    run.path.mkdir(exist_ok=True)
    run.info_path.write_bytes(
        msgspec.json.encode({**msgspec.to_builtins(INFO), "lineage": [ancestor] * count})
    )
    for found in (
        _read(lambda: read_weights(path).meta.lineage),
        _read(lambda: load_meta(path).lineage),
        _read(lambda: run.info().lineage),
    ):
        if isinstance(found, str):
            assert "\n" not in found
            assert len(found) < 1000
            continue
        assert isinstance(found, tuple)
        assert len(found) == count <= MAX_LINEAGE
        assert all(len(a.run) <= 256 and 0 <= a.version < 1 << 31 for a in found)
        assert all(len(o) <= 2048 for a in found for o in a.operators)


def _read(read: Callable[[], object]) -> object:
    """Return a lineage, or the message of its refusal."""
    try:
        return read()
    except (CorruptFile, WeightsError) as error:
        return str(error)


def test_the_oldest_is_left_out_of_a_lineage_that_is_full() -> None:
    lineage: tuple[Ancestor, ...] = ()
    for version in range(MAX_LINEAGE + 2):
        lineage = longer(lineage, msgspec.structs.replace(ANCESTOR, version=version))
    assert [a.version for a in lineage] == [*range(2, MAX_LINEAGE + 2)]
    assert longer(msgspec.UNSET, ANCESTOR) == (ANCESTOR,)


def test_a_lineage_without_damage_is_read_as_written(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    data = msgspec.json.encode(META).decode()
    path.write_bytes(encode_tensors({"a": np.zeros(1, np.float32)}, {META_KEY: data}))
    assert read_weights(path).meta == load_meta(path) == META
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(data.replace('"version":3', '"version":-3'), type=WeightsMeta)
