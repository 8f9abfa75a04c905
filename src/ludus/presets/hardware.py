"""Resolves ``auto`` settings for this machine; describes the machine for reports."""

from __future__ import annotations

import os
import platform
import sys
import time
from importlib import metadata

import torch

from ludus.games.registry import is_python
from ludus.games.simulate import game_signature
from ludus.presets.config import Preset, RunConfig
from ludus.presets.errors import ConfigError


def thread_count(config: RunConfig) -> int:
    """Threads of learner and sampler together: as asked, else the processors this process may use."""
    if config.threads > 0:
        return config.threads
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return max(1, os.cpu_count() or 1)  # pragma: no cover - depends on the system


def pool_thread_count(preset: Preset) -> int:
    """Workers of the core. Without any the calling thread plays: right where the run has no other."""
    if preset.pool.threads > 0:
        return preset.pool.threads
    threads = thread_count(preset.run)
    return threads if threads > 1 else 0


def device_name(config: RunConfig) -> str:
    """``cpu`` or ``cuda``; ``auto`` is the processor. Raises ``ConfigError`` when a GPU is asked for and
    none is there.
    """
    if config.device == "cuda" and not torch.cuda.is_available():
        raise ConfigError('run.device = "cuda": no GPU that torch can use is there; use "auto" or "cpu"')
    return "cpu" if config.device == "auto" else config.device


def device_note(config: RunConfig) -> str:
    """A line about a GPU that ``auto`` leaves alone; empty where there is none or it was not asked."""
    if config.device == "auto" and torch.cuda.is_available():
        return (
            'the GPU of this machine is not used: run.device = "auto" means the processor; '
            "CUDA is experimental, ask for it with --run.device cuda"
        )
    return ""


def has_fast_bfloat16() -> bool:
    """True where this processor multiplies bfloat16 natively (AMX or AVX512-BF16); emulated it is slower."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            flags = next((line for line in file if line.startswith("flags")), "")
    except OSError:
        return False
    return "amx_bf16" in flags or "avx512_bf16" in flags


def precision_name(config: RunConfig, device: str) -> str:
    """``float32`` or ``bfloat16``."""
    if config.precision != "auto":
        return config.precision
    if device == "cuda":
        return "bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float32"
    return "bfloat16" if has_fast_bfloat16() else "float32"


def versions() -> dict[str, str]:
    """Versions of everything that results may depend on."""
    out = {"python": platform.python_version(), "torch": str(torch.__version__)}
    for name in ("numpy", "msgspec", "safetensors"):
        out[name] = metadata.version(name)
    return out


def signature_of(game: str) -> str:
    """The number of ``ludus signature`` for a compiled game; empty for games in Python, which have none."""
    return "" if is_python(game) else game_signature(game)


def processor() -> str:
    """The processor's name, as the system gives it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            names = (line.partition(":")[2].strip() for line in file if line.startswith("model name"))
            return next(names, "") or platform.processor()
    except OSError:
        return platform.processor()


def host() -> dict[str, str]:
    """The machine, for reports."""
    return {
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "processor": processor(),
        "processors": str(os.cpu_count() or 0),
    }


def command() -> tuple[str, ...]:
    """The command line of this process."""
    return tuple(sys.argv)


def run_name(title: str) -> str:
    """``minirts-20261120-1530-3f2a``: a directory name that no two runs share."""
    safe = "".join(c if c.isalnum() or c in "-_" else "-" for c in title) or "run"
    return f"{safe}-{time.strftime('%Y%m%d-%H%M', time.gmtime())}-{os.urandom(2).hex()}"
