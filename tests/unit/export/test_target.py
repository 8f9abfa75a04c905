"""Where an export may be written: hostile paths and names, files of others, what stays as it was."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import msgspec
import pytest

from ludus.export.check import Compared
from ludus.export.document import ExportDocument, document_of
from ludus.export.errors import ExportError
from ludus.export.graph import PolicyGraph
from ludus.export.model import convert, described, is_export
from ludus.export.target import LARGE, Target
from ludus.flow import GameSpec, HeadSpec, WeightsMeta
from ludus.policies.config import EncoderConfig
from ludus.policies.network import PolicyNetwork
from tests.unit.synthetic import make_spec, tensor

pytest.importorskip("onnxruntime")


def made(spec: GameSpec) -> tuple[bytes, ExportDocument]:
    graph = PolicyGraph(PolicyNetwork(EncoderConfig(dense=(2,), hidden=(2,)), spec, 1))
    meta = WeightsMeta(7, spec.spec_hash, "", "", spec.name)
    document = document_of(graph, meta, {"size": "9"}, Compared(200, 1e-7, "value"))
    return described(convert(graph), document), document


@pytest.fixture(scope="module")
def export() -> tuple[bytes, ExportDocument]:
    return made(make_spec((tensor("numbers", "f32", (2,)),), (2,)))


def refused(path: Path, why: str) -> None:
    before = sorted(os.listdir(path.parent)) if path.parent.is_dir() else None
    for force in (False, True):
        with pytest.raises(ExportError, match=why) as caught:
            Target(path, force=force).check()
        assert "\n" not in str(caught.value)
    assert before is None or sorted(os.listdir(path.parent)) == before


@pytest.mark.parametrize("kind", ["folder", "pipe", "link", "dangling link", "device"])
def test_what_is_no_file_stays(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "p.onnx"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "link":
        (tmp_path / "other").write_bytes(b"x")
        path.symlink_to("other")
    else:
        path.symlink_to("nowhere" if kind == "dangling link" else "/dev/null")
    mode = path.lstat().st_mode
    refused(path, "a folder" if kind == "folder" else "not a regular file" if kind == "pipe" else "a link")
    assert path.lstat().st_mode == mode


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "expected the name of a file"),
        ("a/b.json", r"\.json is the suffix of the metadata"),
        ("p\0.onnx", r"p\\x00\.onnx: expected the name of a file"),
        ("x" * 300, "a file name of 300 bytes, expected at most 240"),
        ("file/p.onnx", "file: not a folder"),
        ("file\n2/p.onnx", r"file\\n2: not a folder"),
    ],
)
def test_names_that_are_none(name: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for file in ("file", "file\n2"):
        (tmp_path / file).write_bytes(b"x")
    with pytest.raises(ExportError, match=why) as caught:
        Target(Path(name)).check()
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission(tmp_path: Path) -> None:
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    refused(tmp_path / "p.onnx", "no permission to write into this folder")


@pytest.mark.parametrize(
    "content", [b"", b"\x08\x09", b"hello", b"\xff" * 100, b'{"format": "ludus-onnx-1"}']
)
def test_files_of_others_stay_without_force(
    content: bytes, tmp_path: Path, export: tuple[bytes, ExportDocument]
) -> None:
    path = tmp_path / "p\n.onnx"
    path.write_bytes(content)
    with pytest.raises(
        ExportError, match=r"p\\n\.onnx: exists and is no export of Ludus; choose another"
    ) as no:
        Target(path).write(*export)
    assert "\n" not in str(no.value)
    assert path.read_bytes() == content
    Target(path, force=True).write(*export)
    assert path.read_bytes() == export[0]
    assert os.listdir(tmp_path) == [path.name]


def test_an_export_is_replaced_whole_and_folders_are_made(
    tmp_path: Path, export: tuple[bytes, ExportDocument], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "new" / "p.onnx"
    assert Target(path).write(*export) is None  # a small document is in the file only
    assert is_export(path.read_bytes())
    hard = tmp_path / "hard"
    os.link(path, hard)
    Target(path).write(export[0], export[1])
    assert path.stat().st_nlink == 1
    monkeypatch.setattr(os, "replace", _full)
    with pytest.raises(OSError, match="No space left"):
        Target(path).write(b"something else", export[1])
    assert path.read_bytes() == export[0]
    assert os.listdir(path.parent) == [path.name]


def _full(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_large_document_stands_beside_the_file_too(tmp_path: Path) -> None:
    labels = tuple(f"a choice with a long label, number {i}" for i in range(600))
    spec = make_spec((tensor("numbers", "f32", (2,)),), ())
    spec = msgspec.structs.replace(spec, heads=(HeadSpec("h", 600, labels),))
    model, document = made(spec)
    assert len(str(labels)) > LARGE
    beside = tmp_path / "p.json"
    beside.write_text("{}")
    with pytest.raises(ExportError, match=r"p\.json: exists and is no export"):
        Target(tmp_path / "p.onnx").write(model, document)
    assert os.listdir(tmp_path) == ["p.json"]
    beside.unlink()
    assert Target(tmp_path / "p.onnx").write(model, document) == beside
    assert Target(tmp_path / "p.onnx").write(model, document) == beside
    assert labels[-1] in beside.read_text()
