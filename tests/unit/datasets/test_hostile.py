"""Data sets from anyone: changed bytes, wrong manifests, other versions are one clear error each."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ludus.datasets import DataSet, DataSetError
from ludus.datasets.manifest import SplitRule
from ludus.datasets.shards import StoredMatch, encode_shard, read_shard
from ludus.games import replays
from tests.unit.datasets.made import imported, records


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("good")
    source = records(folder / "in", 8)
    (source / "a.sgf").write_text("(;GM[1]SZ[5]RE[B+R]DT[2020-01-01]PB[a];B[aa];W[bb])")
    imported(source, to=folder / "set")
    return folder / "set"


@pytest.fixture
def copy(good: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(good, tmp_path / "set"))


def _faults(path: Path) -> str:
    """Return what is wrong with a data set, by opening or checking it."""
    try:
        return "; ".join(DataSet.open(path).check())
    except DataSetError as error:
        return str(error)


def _edit(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    document = msgspec.json.decode((path / "dataset.json").read_bytes())
    change(document)
    (path / "dataset.json").write_bytes(msgspec.json.encode(document))


def test_every_changed_byte_is_named(copy: Path) -> None:
    shard = copy / "shards" / "000000.safetensors"
    whole = shard.read_bytes()
    draw = random.Random(1)
    for at in [0, 7, 8, 9, *(draw.randrange(len(whole)) for _ in range(80))]:
        shard.write_bytes(whole[:at] + bytes([whole[at] ^ draw.randrange(1, 256)]) + whole[at + 1 :])
        assert "000000.safetensors" in (found := _faults(copy)) or "held out" in found, at
    for size in (0, 4, 8, 100, len(whole) - 1):
        shard.write_bytes(whole[:size])
        assert "the shard has changed" in _faults(copy)
    shard.write_bytes(whole)
    assert _faults(copy) == ""


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda d: d.update(format=2), "format"),
        (lambda d: d.update(matches=1 << 40), "matches"),
        (lambda d: d.update(matches=10**30), "digits"),
        (lambda d: d.update(matches=-1), "matches"),
        (lambda d: d.update(matches="9"), "matches"),
        (lambda d: d.update(matches=8), "the shards have 9"),
        (lambda d: d["shards"][0].update(matches=1 << 30), "the shards have"),
        (lambda d: (d["shards"][0].update(matches=1 << 30), d.update(matches=1 << 30)), "rows"),
        (lambda d: d["shards"][0].update(name="../000000.safetensors"), "name"),
        (lambda d: d["shards"][0].update(name="/etc/passwd"), "name"),
        (lambda d: d["shards"][0].update(name="000000.safetensors\n"), "name"),
        (lambda d: d["shards"][0].update(name="000001.safetensors"), "No such file"),
        (lambda d: d["shards"][0].update(bytes=5), "the shard has changed"),
        (lambda d: d["shards"][0].update(sha256="0" * 64), "its bytes have changed"),
        (lambda d: d.update(shards=d["shards"] * 2, matches=18), "one name"),
        (lambda d: d.update(sha256="0" * 64), "the content differs"),
        (lambda d: d.update(sha256="x"), "sha256"),
        (lambda d: d.update(decisions=1), "decisions"),
        (lambda d: d.update(held_out=5), "held out"),
        (lambda d: d.update(seats=3), "seats"),
        (lambda d: d.update(params=[]), "parameters"),
        (lambda d: d.update(params=[{"size": "9"}]), "parameters"),
        (lambda d: d.update(params=[{"nothing": "9"}]), "nothing"),
        (lambda d: d.update(sources=[]), "source"),
        (lambda d: d.update(version=d["version"] + 1), "import the records again"),
        (lambda d: d.update(game="chess\x1b[31m"), "chess"),
        (lambda d: d.update(game="/tmp/evil.so"), "evil"),
        (lambda d: d.update(game="tic_tac_toe", version=1), "tic_tac_toe"),
        (lambda d: d.update(more=1), "more"),
        (lambda d: d.pop("licence"), "licence"),
        (lambda d: d.update(licence="x" * 5000), "licence"),
        (lambda d: d.update(split={"by": "match", "held_out": 2.0}), "held_out"),
        (lambda d: d.update(shards=[], matches=0, held_out=0, decisions=0), "the content differs"),
    ],
)
def test_wrong_manifests(copy: Path, change: Callable[[dict[str, Any]], object], why: str) -> None:
    _edit(copy, change)
    assert why in (found := _faults(copy)), found
    assert "\x1b" not in found


def test_sets_of_other_rules_are_refused_when_they_are_opened(copy: Path) -> None:
    _edit(copy, lambda d: d.update(version=d["version"] + 1))
    with pytest.raises(DataSetError, match="import the records again"):
        DataSet.open(copy)


def test_manifests_that_are_no_json(copy: Path) -> None:
    for data in (b"", b"\xff\xfe", b"[" * 100_000, b"{}", b"null", b'{"format": 1e999}'):
        (copy / "dataset.json").write_bytes(data)
        assert "not the manifest" in _faults(copy)


def test_no_links(copy: Path, good: Path) -> None:
    shard = copy / "shards" / "000000.safetensors"
    shard.unlink()
    shard.symlink_to(good / "shards" / "000000.safetensors")
    assert "a link" in _faults(copy)
    shard.unlink()
    os.mkfifo(shard)
    assert "not a regular file" in _faults(copy)
    shutil.rmtree(copy / "shards")
    (copy / "shards").symlink_to(good / "shards")
    assert "a link" in _faults(copy)
    (copy / "dataset.json").unlink()
    (copy / "dataset.json").symlink_to(good / "dataset.json")
    assert "a link" in _faults(copy)


def _shard(**changes: Any) -> bytes:  # noqa: ANN401
    match = StoredMatch(replays.record("tic_tac_toe"), (5, 4), (1.0, -1.0), "", 0, 0, 0)
    return encode_shard([match._replace(**changes)], [False])


def test_wrong_tensors() -> None:
    good = _shard()
    assert read_shard(good, "s", 1, 2).match(0).decisions == (5, 4)
    for data, why in (
        (_shard(decisions=(-1, 4)), "below zero"),
        (_shard(decisions=(1, 2, 3), outcome=(0.0, 0.0, 0.0)), "seats"),
        (_shard(outcome=(7.0, 0.0)), "outcome"),
        (_shard(outcome=(float("nan"), 0.0)), "outcome"),
        (_shard(date=-5), "below zero"),
        (_shard(replay=b""), "offsets"),
        (good.replace(b'"I64"', b'"F32"'), "type or shape"),
        (good.replace(b'"replays"', b'"replaxs"'), "tensors"),
        (good.replace(b"[1,2]", b"[2,1]"), "rows"),
        (b"\xff" * 8 + good[8:], "header"),
        (b"", "header"),
    ):
        with pytest.raises(DataSetError, match=why):
            read_shard(data, "s", 1, 2)
    head = int.from_bytes(good[:8], "little")
    for old, new in ((b"[0,", b"[-9,"), (b"data_offsets", b"data_offsetz"), (b'"shape":[', b'"shape":[9,')):
        text = good[8 : 8 + head].replace(old, new)
        with pytest.raises(DataSetError):
            read_shard(len(text).to_bytes(8, "little") + text + good[8 + head :], "s", 1, 2)


def test_a_match_in_another_place_is_named(copy: Path) -> None:
    import hashlib

    data = DataSet.open(copy)
    matches = [data.stored(i) for i in range(len(data))]
    held = [int(i) in data.indices("held_out") for i in range(len(data))]
    shard = copy / "shards" / "000000.safetensors"

    def written(changed: list[StoredMatch]) -> str:
        content = encode_shard(changed, held)
        shard.write_bytes(content)
        _edit(
            copy,
            lambda d: d["shards"][0].update(bytes=len(content), sha256=hashlib.sha256(content).hexdigest()),
        )
        return _faults(copy)

    assert written(matches) == ""
    assert "order" in written([*matches[1:], matches[0]])
    assert "match 3: " in written([*matches[:3], matches[3]._replace(decisions=(9, 9)), *matches[4:]])
    assert "sha256" in written([*matches[:3], matches[3]._replace(date=20210101), *matches[4:]])
    assert "match 2: the result" in written(
        [*matches[:2], matches[2]._replace(result="B+lots"), *matches[3:]]
    )
    other = replays.record("tic_tac_toe")
    assert "match 0: a match of tic_tac_toe" in written([matches[0]._replace(replay=other), *matches[1:]])
    assert "match 0: " in written([matches[0]._replace(replay=b"junk"), *matches[1:]])


def test_empty_splits_are_named(tmp_path: Path) -> None:
    imported(records(tmp_path / "in", 1), to=tmp_path / "set")
    assert "no matches to hold out" in _faults(tmp_path / "set")
    imported(records(tmp_path / "in", 1), to=tmp_path / "all", split=SplitRule("match", 0.0))
    assert _faults(tmp_path / "all") == ""


def test_places_that_are_no_data_set(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing", tmp_path / "file"):
        if path.name == "file":
            path.write_text("x")
        with pytest.raises(DataSetError, match="not a data set"):
            DataSet.open(path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "text").write_text("x")
    with pytest.raises(DataSetError, match="other files"):
        imported(records(tmp_path / "in", 1), to=tmp_path / "mine")
    with pytest.raises(DataSetError, match="not a folder"):
        imported(tmp_path / "in", to=tmp_path / "file")
    with pytest.raises(DataSetError, match="no such file"):
        imported(tmp_path / "nothing", to=tmp_path / "new")
    assert not (tmp_path / "new").exists()
