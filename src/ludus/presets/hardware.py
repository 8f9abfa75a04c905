"""Resolves ``auto`` settings for this machine; describes the machine for reports."""

from __future__ import annotations

import os
import platform
import re
import sys
import time
from importlib import metadata
from typing import get_args

import torch

from ludus.flow.inputs.shown import shown
from ludus.flow.names import did_you_mean
from ludus.flow.problem import Problem, Setting
from ludus.games.registry import is_python
from ludus.games.simulate import game_signature
from ludus.presets import card
from ludus.presets.card import DeviceChoice
from ludus.presets.checks.game import resolve_spec
from ludus.presets.config import Device, Preset, RunConfig
from ludus.presets.errors import ConfigError

_VERSIONS = {"driver": "driver", "CUDA": "cuda"}  # text -> key of gpu()


def thread_count(config: RunConfig) -> int:
    """Return the threads of learner and sampler together; by default, one for each available processor."""
    return config.threads if config.threads > 0 else available_processors()


def available_processors() -> int:
    """Return the number of processors that this process may use, >= 1."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return max(1, os.cpu_count() or 1)  # pragma: no cover - depends on the system


def pool_thread_count(preset: Preset) -> int:
    """Return the workers of the core; 0 = the calling thread plays, where the run has no other thread."""
    if preset.pool.threads > 0:
        return preset.pool.threads
    threads = thread_count(preset.run)
    return threads if threads > 1 else 0


def device_name(preset: Preset) -> str:
    """Return the device of a run, as :func:`device_of`; ``auto`` is the card if the run gains by it."""
    device = preset.run.device
    if device == "auto" and auto_choice(preset).card:
        device = "cuda"
    return device_of(device, "run.device")


def device_of(device: str, setting: str = "device") -> str:
    """Return ``cpu`` or ``cuda``; ``auto`` means ``cpu``. CUDA computes in a fixed order from then on.

    Args:
        device: As a person names it.
        setting: The name under which an error shows it.

    Raises:
        ConfigError: ``cuda`` without a GPU that torch can compute on, or a name that is no device.
    """
    known = get_args(Device)
    if device not in known:
        hint = did_you_mean(str(device), known, "devices")
        raise ConfigError(f"{setting} = {shown(str(device))}: no such device{hint}")
    if device == "cuda":
        if why := card.refusal(card.facts()):
            raise ConfigError(f'{setting} = "cuda": {why}; use "auto" or "cpu"')
        fix_order()
    return "cpu" if device == "auto" else device


def auto_choice(preset: Preset) -> DeviceChoice:
    """Return what ``run.device = "auto"`` means for a run on this machine, and why.

    It is the same during the whole run. Without a GPU there is no reason.
    """
    seen = card.facts()
    if not seen.cards:
        return DeviceChoice(False, "")
    if why := card.refusal(seen):
        return DeviceChoice(False, why)
    from ludus.presets.run_on_card import choose, needed_bytes  # networks: only with a card

    spec, _ = resolve_spec(preset)
    try:
        choice = choose(preset, spec, thread_count(preset.run))
        short = card.shortage(needed_bytes(preset, spec), seen.memory, seen.name)
    except ValueError:  # the network's constructor names the setting
        return DeviceChoice(False, "the network does not fit the game")
    return DeviceChoice(False, short) if choice.card and short else choice


def check_memory(preset: Preset) -> None:
    """Check that a run on a card finds enough free memory there.

    Raises:
        ConfigError: It does not; the message has both numbers.
    """
    if device_name(preset) != "cuda":
        return
    from ludus.presets.run_on_card import needed_bytes

    spec, _ = resolve_spec(preset)
    try:
        needed = needed_bytes(preset, spec)
    except ValueError:  # the network's constructor names the setting
        return
    if short := card.shortage(needed, card.free_bytes(), card.facts().name):
        raise ConfigError(
            f'run.device = "{preset.run.device}": {short}; end what uses the GPU, make the network or '
            'pool.slots smaller, or use "cpu"'
        )


def fix_order() -> None:
    """Let CUDA add in a fixed order, and float32 be float32: equal seeds give equal bits.

    Call it before the first matrix product. ``torch.use_deterministic_algorithms`` would refuse operations
    whose order is fixed by how they are used here.
    """
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.allow_tf32 = False


def device_note(preset: Preset) -> str | Problem:
    """Return a line on what ``auto`` means on a machine with a GPU; "" without one or for another device."""
    if preset.run.device != "auto":
        return ""
    choice = auto_choice(preset)
    if choice.card:
        return f'run.device = "auto" uses the GPU of this machine: {choice.why}'
    if not choice.why:
        return ""
    ask = Setting("run.device", "cuda")
    text = f"the GPU of this machine is not used: {choice.why}; CUDA is experimental, ask for it with "
    return Problem("run.device", (text, ask))


def has_fast_bfloat16() -> bool:
    """Return whether this processor multiplies bfloat16 natively (AMX or AVX512-BF16)."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            flags = next((line for line in file if line.startswith("flags")), "")
    except OSError:
        return False
    return "amx_bf16" in flags or "avx512_bf16" in flags


def precision_name(config: RunConfig, device: str) -> str:
    """Return ``float32`` or ``bfloat16``; ``auto`` is bfloat16 where the hardware has it natively."""
    if config.precision != "auto":
        return config.precision
    if device == "cuda":
        return "bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float32"
    return "bfloat16" if has_fast_bfloat16() else "float32"


def versions() -> dict[str, str]:
    """Return the versions of the packages that results may depend on."""
    out = {"python": platform.python_version(), "torch": str(torch.__version__)}
    for name in ("numpy", "msgspec", "safetensors"):
        out[name] = metadata.version(name)
    return out


def signature_of(game: str) -> str:
    """Return the number of ``ludus signature`` for a compiled game; empty for a game in Python."""
    return "" if is_python(game) else game_signature(game)


def processor() -> str:
    """Return the name of the processor, as the system reports it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            names = (line.partition(":")[2].strip() for line in file if line.startswith("model name"))
            return next(names, "") or platform.processor()
    except OSError:
        return platform.processor()


def host() -> dict[str, str]:
    """Return a description of the machine, for reports, with its GPU if it has one."""
    return {
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "processor": processor(),
        "processors": str(os.cpu_count() or 0),
        **gpu(),
    }


def gpu() -> dict[str, str]:
    """Return ``gpu``, ``driver`` and ``cuda``: card and versions of ``cuda``; empty without one."""
    if not torch.cuda.is_available() or torch.version.cuda is None:
        return {}
    return {
        "gpu": torch.cuda.get_device_name(),
        "driver": _driver(),
        "cuda": str(torch.version.cuda or ""),
    }


def _driver() -> str:
    """Return the version of NVIDIA's kernel driver; empty where the system does not show it."""
    try:
        with open("/proc/driver/nvidia/version", encoding="utf-8", errors="replace") as file:
            found = re.search(r"\b\d+\.\d+(\.\d+)?\b", file.readline(1000))
    except OSError:
        return ""
    return found[0] if found else ""


def device_title(device: str) -> str:
    """Return ``cpu``, or ``cuda`` with the card's name and versions, for results.

    ``cuda (NVIDIA H100, driver 550.54, CUDA 12.4)``; a version that the system does not show is left out.
    """
    if device != "cuda":
        return device
    named = gpu()
    texts = (named.get("gpu"), *(f"{k} {named[n]}" for k, n in _VERSIONS.items() if named.get(n)))
    return f"{device} ({', '.join(text for text in texts if text)})"


def command() -> tuple[str, ...]:
    """Return the command line of this process."""
    return tuple(sys.argv)


def run_name(title: str) -> str:
    """Return a directory name that no two runs share: ``minirts-20261120-1530-3f2a``."""
    safe = "".join(c if c.isalnum() or c in "-_" else "-" for c in title) or "run"
    return f"{safe}-{time.strftime('%Y%m%d-%H%M', time.gmtime())}-{os.urandom(2).hex()}"
