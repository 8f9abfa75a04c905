"""Device and precision of a run. GPUs are simulated."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from ludus.presets import card, hardware, run_on_card
from ludus.presets.card import CardFacts
from ludus.presets.checks.game import resolve_spec
from ludus.presets.config import Preset, RunConfig
from ludus.presets.errors import ConfigError
from ludus.training.runs import start_run
from tests.unit.training.runs import Recorder, small_preset

H100 = CardFacts(
    torch="2.11.0+cu130",
    cuda="13.0",
    cards=1,
    name="NVIDIA H100",
    capability=(9, 0),
    code=("sm_75", "sm_80", "sm_90", "sm_100"),
    memory=80 << 30,
)
NONE = CardFacts("2.13.0+cpu")


@pytest.fixture
def on_card(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Simulate a GPU that emulates bfloat16; return the arguments that ``is_bf16_supported`` got."""
    asked: list[bool] = []

    def supported(including_emulation: bool = True) -> bool:
        asked.append(including_emulation)
        return including_emulation

    monkeypatch.setattr(card, "facts", lambda: H100)
    monkeypatch.setattr(hardware, "fix_order", lambda: None)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", supported)
    return asked


def everything_in_graphs(monkeypatch: pytest.MonkeyPatch, preset: Preset, gain: float) -> None:
    """Let ``preset`` run as graphs, ``gain`` times faster on a card than on the processor."""
    spec, _ = resolve_spec(preset)
    choose = run_on_card.choose

    def all_in_graphs(preset: Preset, spec: object, processors: int) -> card.DeviceChoice:
        return choose(preset, given, processors, frozenset({"appo"}), parts)

    given, parts = spec, frozenset(run_on_card.parts_of(preset, spec))
    monkeypatch.setattr(run_on_card, "choose", all_in_graphs)
    times = run_on_card.NetworkTimes(gain, 1.0)
    monkeypatch.setattr(run_on_card, "network_times", lambda *_: times)


def test_auto_leaves_a_gpu_that_gains_nothing_and_reports_it_once(
    tmp_path: Path, on_card: list[bool]
) -> None:
    assert hardware.device_name(small_preset()) == "cpu"
    recorder = Recorder()
    start_run(small_preset(run__max_steps=200), tmp_path / "run", sinks=[recorder])
    messages = [m for m in recorder.messages if "GPU" in m]
    assert messages == [
        'the GPU of this machine is not used: algorithm.name = "appo" runs without CUDA graphs; '
        "CUDA is experimental, ask for it with settings[\"run.device\"] = 'cuda'"
    ]


@pytest.mark.parametrize(("gain", "device"), [(1.9, "cpu"), (2.1, "cuda")])
def test_auto_takes_a_gpu_by_which_the_network_gains(
    gain: float, device: str, on_card: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    preset = small_preset()
    everything_in_graphs(monkeypatch, preset, gain)
    assert hardware.device_name(preset) == device
    note = str(hardware.device_note(preset))
    assert ("uses the GPU" in note) is (device == "cuda")
    assert f"about {gain * 1e3:,.1f} ms on the processor and 1,000.0 ms on a card" in note
    assert hardware.device_name(small_preset(run__device="cpu")) == "cpu"
    assert hardware.device_name(small_preset(cluster__rollouts=2)) == "cpu"


def test_auto_takes_no_gpu_that_a_run_does_not_fit_or_that_torch_cannot_use(
    on_card: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    preset = small_preset()
    everything_in_graphs(monkeypatch, preset, 9.0)
    monkeypatch.setattr(card, "facts", lambda: replace(H100, memory=1 << 30))
    assert hardware.device_name(preset) == "cpu"
    assert "and 1.0 GiB are free" in str(hardware.device_note(preset))
    monkeypatch.setattr(card, "facts", lambda: replace(H100, capability=(12, 0)))
    assert hardware.device_name(preset) == "cpu"
    assert "a newer torch may have it" in str(hardware.device_note(preset))


def test_a_machine_without_a_gpu_gets_no_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(card, "facts", lambda: NONE)
    recorder = Recorder()
    start_run(small_preset(run__max_steps=200), tmp_path / "run", sinks=[recorder])
    assert not [m for m in recorder.messages if "GPU" in m]
    with pytest.raises(ConfigError, match=r'run\.device = "cuda": no GPU .*; use "auto" or "cpu"'):
        hardware.device_name(small_preset(run__device="cuda"))


def test_a_gpu_is_used_when_it_is_named(on_card: list[bool]) -> None:
    assert hardware.device_name(small_preset(run__device="cuda")) == "cuda"
    assert hardware.device_note(small_preset(run__device="cuda")) == ""
    assert hardware.device_note(small_preset(run__device="cpu")) == ""


def test_emulated_bfloat16_is_not_chosen(on_card: list[bool]) -> None:
    assert hardware.precision_name(RunConfig(), "cuda") == "float32"
    assert on_card == [False]
    assert hardware.precision_name(RunConfig(precision="bfloat16"), "cuda") == "bfloat16"


@pytest.mark.parametrize(
    ("seen", "free", "message"),
    [
        (NONE, 0, r'run\.device = "cuda": no GPU that torch can use is there \(torch 2\.13\.0\+cpu is built'),
        (
            replace(H100, capability=(12, 1)),
            80 << 30,
            r"torch 2\.11\.0\+cu130 has no code for NVIDIA H100, of compute capability 12\.1",
        ),
        (
            H100,
            1 << 30,
            r"the run needs about 1\.\d GiB of the memory of NVIDIA H100, and 1\.0 GiB are free; ",
        ),
    ],
)
def test_a_run_that_a_card_cannot_take_is_refused_before_its_folder(
    seen: CardFacts,
    free: int,
    message: str,
    tmp_path: Path,
    on_card: list[bool],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(card, "facts", lambda: seen)
    monkeypatch.setattr(card, "free_bytes", lambda: free)
    preset = small_preset(run__device="cuda", pool__slots=4096, pool__rollout_length=64)
    with pytest.raises(ConfigError, match=message) as refused:
        start_run(preset, tmp_path / "run")
    assert "\n" not in str(refused.value)
    assert not list(tmp_path.iterdir())
