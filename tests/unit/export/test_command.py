"""``ludus export`` and ``ludus.export_onnx``: a run to a file, and a newcomer's mistakes."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import ludus
from ludus.cli.__main__ import main
from ludus.export import api, check
from ludus.flow import Weights, WeightsMeta
from ludus.games import spec as game_spec
from ludus.policies.config import EncoderConfig, encode_config
from ludus.policies.network import PolicyNetwork
from ludus.policies.weights import save_weights
from tests.unit.export.moments import disturb

pytest.importorskip("onnxruntime")

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "export.md"


def write_weights(path: Path, game: str, config: EncoderConfig) -> None:
    spec = game_spec(game)
    network = disturb(PolicyNetwork(config, spec, 1))
    about = msgspec.json.encode(spec).decode()
    meta = WeightsMeta(12, spec.spec_hash, encode_config(config), about, spec.name, spec.default_frame_skip)
    save_weights(Weights(meta, {n: t.numpy() for n, t in network.state_dict().items()}), path)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(api, "OBSERVATIONS", 40)
    return tmp_path


def test_a_policy_of_tic_tac_toe_runs_by_the_guide(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_weights(folder / "p.safetensors", "tic_tac_toe", EncoderConfig(dense=(8,), hidden=(8,)))
    assert main(["export", "p.safetensors", "--onnx", "policy.onnx", "--quiet"]) == 0
    out = capsys.readouterr().out
    assert "input    board float32[N, 2, 3, 3]" in out
    assert re.search(r"checked  \d+ observations, largest difference \d\.\de-0[6-9]", out)
    code = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)[0]
    assert len(code.strip().splitlines()) <= 10
    scope: dict[str, Any] = {}
    exec(compile(code, str(GUIDE), "exec"), scope)
    policy = ludus.load_policy("p.safetensors", deterministic=True)
    board = np.zeros((2, 3, 3), np.uint8)
    assert scope["cell"] == int(policy.act({"board": board}))
    assert capsys.readouterr().out.strip() == f"plays {scope['about']['heads'][0]['labels'][scope['cell']]}"


def test_json_memory_and_the_python_api(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = EncoderConfig(inputs=("globals",), dense=(8,), hidden=(8,), memory="gru", memory_size=4)
    write_weights(folder / "p.safetensors", "minirts", config)
    assert main(["export", "p.safetensors", "--onnx", "a.onnx", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [i["name"] for i in said["inputs"]] == ["globals", "mask", "memory"]
    assert [o["name"] for o in said["outputs"]] == ["probabilities_strategy", "value", "next_memory"]
    assert "zeros at the start of a match" in said["memory"]
    assert said["version"] == 12
    assert said["params"] == {}
    done = ludus.export_onnx("p.safetensors", "a.onnx")  # an export replaces an export
    assert done.file == Path("a.onnx")
    assert done.document.heads[0].labels == game_spec("minirts").heads[0].labels
    assert sorted(os.listdir(folder)) == ["a.onnx", "p.safetensors"]


def test_a_game_of_gymnasium(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("gymnasium")
    write_weights(folder / "p.safetensors", "gymnasium/CartPole-v1", EncoderConfig(hidden=(4,), output="q"))
    assert main(["export", "p.safetensors", "--onnx", "a.onnx", "--json", "--quiet"]) == 0
    said = json.loads(capfd.readouterr().out)
    assert [o["name"] for o in said["outputs"]] == ["q_action"]
    assert "highest Q-values" in said["left_out"]["value"]
    assert said["checked"]["observations"] == 40


def test_what_differs_is_not_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_weights(folder / "p.safetensors", "tic_tac_toe", EncoderConfig(dense=(4,), hidden=(4,)))
    monkeypatch.setattr(check, "TOLERANCE", 1e-12)
    assert main(["export", "p.safetensors", "--onnx", "policy.onnx"]) == 2
    assert "nothing was written" in capsys.readouterr().err
    assert os.listdir(folder) == ["p.safetensors"]


@pytest.mark.parametrize("package", ["onnx", "onnxruntime"])
def test_a_missing_package_is_one_line(
    package: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    assert main(["export", "p.safetensors", "--onnx", "policy.onnx"]) == 2
    err = capsys.readouterr().err
    how = "pip install '.[export]' in the clone of Ludus"
    assert err == f"this command needs {package}, which is not installed: {how}\n"
    with pytest.raises(ImportError, match=rf"needs {package}, .* pip install '\.\[export\]'"):
        ludus.export_onnx("p.safetensors", "policy.onnx")


@pytest.mark.parametrize(
    ("player", "why"),
    [
        ("simple", "simple: not weights; expected RUN@best"),
        ("r@best+search:40", "a search is no network"),
        ("mcts:40", "a search is no network"),
        ("run", "run: a run, not a player (did you mean run@best?)"),
        ("nothing@best", "nothing"),
        ("missing.safetensors", "missing.safetensors: no such weights file"),
        ("a\nb.safetensors", r"b.safetensors: no such weights file"),
    ],
)
def test_what_is_no_network(player: str, why: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "run").mkdir()
    (folder / "run" / "run.json").write_text("{}")
    assert main(["export", player, "--onnx", "policy.onnx"]) == 2
    assert why in capsys.readouterr().err


def test_a_wrong_place_is_said_before_any_work(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_weights(folder / "p.safetensors", "tic_tac_toe", EncoderConfig(dense=(4,), hidden=(4,)))
    monkeypatch.setattr(api, "checked_model", None)
    assert main(["export", "p.safetensors", "--onnx", "p.safetensors"]) == 2
    err = capsys.readouterr().err
    assert err == (
        "p.safetensors: exists and is no export of Ludus; choose another name, or --force to replace it\n"
    )
