"""``policy.encoder``: a torch module of the user's in place of the torsos."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import ludus
from ludus.codecs import TensorLayout
from ludus.flow.process.extensions import ExtensionError
from ludus.games import spec
from ludus.policies import encoders
from ludus.policies.config import EncoderConfig
from ludus.policies.encoders import encoder_problem, register_encoder
from ludus.policies.network import PolicyNetwork
from ludus.policies.stacked import stackable
from ludus.presets.errors import ConfigError
from ludus.presets.file import PresetError


class Mine(nn.Module):
    """Every observation flat, one layer."""

    def __init__(self, layouts: Mapping[str, TensorLayout]) -> None:
        super().__init__()
        self.size = 24
        self.layouts = layouts
        self.linear = nn.Linear(sum(math.prod(x.shape) for x in layouts.values()), self.size)

    def forward(self, seen: Mapping[str, Tensor]) -> Tensor:
        for name, layout in self.layouts.items():
            assert seen[name].shape[1:] == layout.shape
            assert seen[name].dtype is torch.float32
        return torch.tanh(self.linear(torch.cat([x.flatten(1) for x in seen.values()], dim=1)))


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    for table in ("_registered", "_found"):
        monkeypatch.setattr(encoders._ENCODERS, table, {})
    register_encoder("mine", Mine)


def zeros(network: PolicyNetwork, rows: int = 3) -> dict[str, Tensor]:
    return {t.name: torch.zeros((rows, *t.packed_shape), dtype=_torch(t.dtype)) for t in network.inputs}


def own(network: PolicyNetwork) -> Mine:
    assert isinstance(network.own, Mine)
    return network.own


def _torch(dtype: str) -> torch.dtype:
    return {"bits": torch.uint8, "u8": torch.uint8, "u16": torch.uint16, "f32": torch.float32}[dtype]


@pytest.mark.parametrize(
    ("game", "params"),
    [("tic_tac_toe", {}), ("minirts", {}), ("minirts", {"commands": "tactical"}), ("pommerman", {})],
)
@pytest.mark.parametrize("settings", [{}, {"critic": "own"}, {"memory": "gru"}, {"value_heads": 2}])
def test_a_network_with_an_encoder_of_the_users(
    game: str, params: dict[str, object], settings: dict[str, object]
) -> None:
    config = EncoderConfig(encoder="mine", **settings)  # type: ignore[arg-type]
    network = PolicyNetwork(config, spec(game, params), seed=1)
    obs = zeros(network)
    memory = network.initial_memory(3)
    step = network.step(obs, memory, torch.ones(3, dtype=torch.bool) if memory is not None else None)
    assert step.value.shape == (3,)
    assert not stackable(network)
    steps = {name: rows[None] for name, rows in obs.items()}
    out = network.sequence(steps, memory, torch.zeros((1, 3), dtype=torch.bool))
    (out.value.sum() + network.value_head.bias.sum()).backward()  # type: ignore[no-untyped-call]
    assert own(network).linear.weight.grad is not None or settings.get("critic") == "own"
    pointed = {h.points_at for h in spec(game, params).heads if h.points_at}
    assert {*network.planes, *network.rows} == pointed  # the heads that point have torsos as always


def test_initial_weights_are_the_encoders_own_and_follow_the_seed() -> None:
    one, same, other = (
        PolicyNetwork(EncoderConfig(encoder="mine"), spec("tic_tac_toe"), seed=s) for s in (1, 1, 2)
    )
    weights = [own(n).linear.weight for n in (one, same, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
    assert weights[0].abs().max() <= 18**-0.5 + 1e-6  # torch's own bound, not an orthogonal matrix


class NoSize(Mine):
    def __init__(self, layouts: Mapping[str, TensorLayout]) -> None:
        super().__init__(layouts)
        del self.size


class Wide(Mine):
    def forward(self, seen: Mapping[str, Tensor]) -> Tensor:
        return super().forward(seen).repeat(1, 2)


class Half(Mine):
    def __init__(self, layouts: Mapping[str, TensorLayout]) -> None:
        super().__init__(layouts)
        self.half()


class Raises(Mine):
    def __init__(self, layouts: Mapping[str, TensorLayout]) -> None:
        raise KeyError("cells")


@pytest.mark.parametrize(
    ("encoder", "message"),
    [
        (NoSize, "NoSize.size is None, expected the width of its features"),
        (Half, r"linear.weight is torch.float16, expected float32"),
        (Raises, "making it failed: KeyError: 'cells'"),
        (lambda layouts: "x", "str, expected a torch.nn.Module"),
        (Wide, r"forward\(\) gives \[3, 48\], expected \[3, 24\]: \[N, size\]"),
    ],
)
def test_a_module_that_breaks_the_contract_is_named(encoder: object, message: str) -> None:
    register_encoder("broken", encoder)  # type: ignore[arg-type]

    def used() -> None:
        network = PolicyNetwork(EncoderConfig(encoder="broken"), spec("tic_tac_toe"), seed=1)
        network.step(zeros(network))

    with pytest.raises(ValueError, match=f"policy.encoder = 'broken': {message}"):
        used()


def test_wrong_encoder_names_are_refused() -> None:
    with pytest.raises(ExtensionError, match="cannot be called"):
        register_encoder("x", 5)  # type: ignore[arg-type]
    with pytest.raises(ExtensionError, match="expected letters"):
        register_encoder("a b", Mine)
    assert encoder_problem("mine") == encoder_problem("") == ""
    assert "did you mean mine?" in encoder_problem("mien")
    settings = {"policy.encoder": "mien"}
    with pytest.raises(
        PresetError, match=r'^settings\["policy.encoder"\]: .*unknown encoder .mien. \(did you'
    ):
        ludus.train("tic_tac_toe", "runs/never", settings=settings)
    settings = {"policy.encoder": "mine", "policy.memory": "recall"}
    with pytest.raises(PresetError, match="an encoder of your own recalls nothing"):
        ludus.train("tic_tac_toe", "runs/never", settings=settings)


def test_an_encoder_trains_and_its_weights_load_where_it_is_registered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings: dict[str, str | int] = {
        "policy.encoder": "mine",
        "run.max_steps": 1000,
        "run.threads": 1,
        "pool.slots": 8,
        "evaluation.final_matches": 2,
        "evaluation.every_steps": 0,
    }
    result = ludus.train("tic_tac_toe", tmp_path / "run", settings=settings)
    assert result.version > 0
    policy = ludus.load_policy(f"{tmp_path}/run@last")
    assert policy.act({"board": ludus.Match("tic_tac_toe").observe(0)["board"]}) in range(9)
    monkeypatch.setattr(encoders._ENCODERS, "_registered", {})
    monkeypatch.setattr(encoders._ENCODERS, "_found", {})
    message = (
        r"policy.encoder: unknown encoder 'mine' \(none is registered\); register it first: ludus.register"
    )
    with pytest.raises(ConfigError, match=message):
        ludus.load_policy(f"{tmp_path}/run@last")


def test_the_guide_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    guide = (Path(__file__).parents[3] / "docs" / "guides" / "own_encoder.md").read_text("utf-8")
    (program,) = re.findall(r"^```python\n(.*?)^```", guide, re.DOTALL | re.MULTILINE)
    shorter = '500, "run.threads": 1, "evaluation.final_matches": 4, "evaluation.every_steps": 0,'
    program = program.replace("80_000,", shorter)
    monkeypatch.chdir(tmp_path)
    exec(compile(program, "own_encoder.md", "exec"), {"__name__": "__main__"})
    message = capsys.readouterr().out.splitlines()
    assert 0.0 <= float(message[0]) <= 1.0
    assert message[1].startswith("policy of tic_tac_toe, version ")
