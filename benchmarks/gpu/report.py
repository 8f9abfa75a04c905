"""The report of a check as one JSON document: :class:`Report`."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Literal

import msgspec
import torch

from ludus.presets.config import RunConfig
from ludus.presets.hardware import host, precision_name
from ludus.storage.files import write_atomic
from ludus.version import __version__

ROOT = Path(__file__).resolve().parents[2]
FORMAT = 1


class Case(msgspec.Struct):
    """Result of one part of a stage. ``holds``: None where nothing is checked, only measured."""

    holds: bool | None = None
    seconds: float = 0.0
    numbers: dict[str, object] = {}
    error: str = ""


class StageReport(msgspec.Struct):
    """Result of one stage. ``left_out``: cases that its time did not suffice for."""

    name: str
    title: str
    state: Literal["planned", "running", "done", "failed", "not asked for"] = "planned"
    budget_s: float = 0.0
    seconds: float = 0.0
    holds: bool | None = None
    cases: dict[str, Case] = {}
    left_out: list[str] = []
    error: str = ""

    def settle(self) -> None:
        """Set ``holds`` from the cases."""
        failed = self.state == "failed" or any(c.error or c.holds is False for c in self.cases.values())
        checked = any(case.holds is not None for case in self.cases.values())
        self.holds = False if failed else True if checked else None


class Report(msgspec.Struct):
    """``holds``: no check failed and no stage ended in an error, of those that have run."""

    device: str
    seconds: float
    command: str
    machine: dict[str, str]
    versions: dict[str, str]
    commit: str
    started: str
    stages: list[StageReport]
    format: int = FORMAT
    ludus: str = __version__
    ended: str = ""
    holds: bool | None = None

    def save(self, path: Path) -> None:
        """Write the document; a program that is killed leaves the previous one."""
        checked = [stage.holds for stage in self.stages if stage.holds is not None]
        self.holds = all(checked) if checked else None
        write_atomic(path, msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n")


def machine(device: str) -> dict[str, str]:
    """Return the machine, and for a card its name, driver, CUDA, cuDNN, memory and precision."""
    out = {**host(), "precision": precision_name(RunConfig(), device)}
    if device == "cuda":
        card = torch.cuda.get_device_properties(torch.cuda.current_device())
        out |= {
            "cudnn": str(torch.backends.cudnn.version()),  # type: ignore[no-untyped-call]
            "capability": f"{card.major}.{card.minor}",
            "gpu_memory_mib": str(card.total_memory >> 20),
            "gpu_processors": str(card.multi_processor_count),
        }
    return out


def commit() -> str:
    """Return the commit of the tree that this program belongs to, with ``+`` behind it if files differ."""
    try:
        head = _git("rev-parse", "HEAD")
        changed = _git("status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return head + ("+" if changed else "")


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()
