"""Device and precision of a run. GPUs are simulated: ``auto`` has to leave a present one alone."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ludus.presets import hardware
from ludus.presets.config import RunConfig
from ludus.presets.errors import ConfigError
from ludus.training.runs import start_run
from tests.unit.training.runs import Recorder, small_preset


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Simulate a GPU that emulates bfloat16; return the arguments that ``is_bf16_supported`` got."""
    asked: list[bool] = []

    def supported(including_emulation: bool = True) -> bool:
        asked.append(including_emulation)
        return including_emulation

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", supported)
    return asked


def test_auto_uses_the_cpu_and_reports_an_unused_gpu_once(tmp_path: Path, card: list[bool]) -> None:
    assert hardware.device_name(RunConfig()) == "cpu"
    recorder = Recorder()
    start_run(small_preset(run__max_steps=200), tmp_path / "run", sinks=[recorder])
    messages = [m for m in recorder.messages if "GPU" in m]
    assert messages == [
        'the GPU of this machine is not used: run.device = "auto" means the processor; '
        "CUDA is experimental, ask for it with --run.device cuda"
    ]


def test_a_machine_without_a_gpu_gets_no_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    recorder = Recorder()
    start_run(small_preset(run__max_steps=200), tmp_path / "run", sinks=[recorder])
    assert not [m for m in recorder.messages if "GPU" in m]
    with pytest.raises(ConfigError, match=r'run\.device = "cuda": no GPU'):
        hardware.device_name(RunConfig(device="cuda"))


def test_a_gpu_is_used_when_it_is_named(card: list[bool]) -> None:
    assert hardware.device_name(RunConfig(device="cuda")) == "cuda"
    assert hardware.device_note(RunConfig(device="cuda")) == ""
    assert hardware.device_note(RunConfig(device="cpu")) == ""


def test_emulated_bfloat16_is_not_chosen(card: list[bool]) -> None:
    assert hardware.precision_name(RunConfig(), "cuda") == "float32"
    assert card == [False]
    assert hardware.precision_name(RunConfig(precision="bfloat16"), "cuda") == "bfloat16"
