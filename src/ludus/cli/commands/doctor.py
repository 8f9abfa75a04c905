"""Commands about the installation.

``ludus doctor``: facts for a bug report; ``ludus signature``: a hash of the behaviour of all games;
``ludus completion``: a few lines for the shell that ask ``ludus`` itself for candidates.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import msgspec

from ludus.cli import console
from ludus.cli.arguments import option, positional
from ludus.cli.errors import DONE, CheckError
from ludus.version import __version__

PACKAGES = ("numpy", "msgspec", "torch", "safetensors", "tensorboard", "rich")
#: Instructions that decide which code is fast here.
CPU_FLAGS = ("avx2", "fma", "avx512f", "avx512_bf16", "amx_bf16", "asimd", "bf16")

_SCRIPTS = {
    "bash": """\
# ludus: completion for bash. Put this line into ~/.bashrc:  eval "$(ludus completion bash)"
_ludus() {
  local IFS=$'\\n'
  COMPREPLY=($(ludus __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -o nosort -F _ludus ludus
""",
    "zsh": """\
# ludus: completion for zsh. Put this line into ~/.zshrc, below compinit:  eval "$(ludus completion zsh)"
_ludus() {
  local -a found
  found=("${(@f)$(ludus __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "${found[*]}" ]]; then compadd -- "${found[@]}"; else _files; fi
}
compdef _ludus ludus
""",
    "fish": """\
# ludus: completion for fish. Write it to ~/.config/fish/completions/ludus.fish
function __ludus_complete
  set -l words (commandline -opc) (commandline -ct)
  ludus __complete $words[2..-1] 2>/dev/null
end
complete -c ludus -a '(__ludus_complete)'
""",
}


class Doctor(msgspec.Struct, frozen=True):
    """Print the facts for a bug report: versions, processor, compiled core, torch, disk. Sends nothing."""

    EXAMPLES: ClassVar = ("ludus doctor --json",)

    json: Annotated[bool, option("print one JSON document")] = False

    def run(self) -> int:
        """Print the facts and return the exit code."""
        facts: dict[str, dict[str, object]] = {
            "ludus": _ludus(),
            "core": _core(),
            "python": {"version": platform.python_version(), "executable": sys.executable},
            "packages": {name: _version(name) for name in PACKAGES},
            "torch": _torch(),
            "machine": _machine(),
            "disk": _disk(),
        }
        if self.json:
            console.document(facts)
            return DONE
        for title, rows in facts.items():
            console.result(title)
            console.result(console.table([(k, _text(v)) for k, v in rows.items()], indent="  "))
        return DONE


class Completion(msgspec.Struct, frozen=True):
    """Print a completion script: commands, options, settings of presets, games, bots and runs.

    bash and zsh: add the first example to ~/.bashrc or ~/.zshrc, for zsh below compinit.
    """

    EXAMPLES: ClassVar = (
        'eval "$(ludus completion bash)"',
        "ludus completion fish > ~/.config/fish/completions/ludus.fish",
    )

    shell: Annotated[Literal["bash", "zsh", "fish"], positional("the shell")]

    def run(self) -> int:
        """Print the script and return the exit code."""
        console.result(_SCRIPTS[self.shell].rstrip())
        return DONE


def _text(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return " ".join(map(str, value)) or "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _ludus() -> dict[str, object]:
    folder = Path(__file__).resolve().parents[2]
    return {"version": __version__, "folder": str(folder), "commit": _commit(folder)}


def _commit(folder: Path) -> str | None:
    """Return the commit of the checkout that the package runs from; None outside a checkout."""
    if not (folder.parent.parent / ".git").exists():
        return None
    try:
        out = subprocess.run(
            ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=12"],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return out.stdout.strip() or None


def _core() -> dict[str, object]:
    """Return facts about the compiled core, or the reason why it cannot be loaded."""
    try:
        from ludus.games import list_games
        from ludus.games.simulate import build_info, signature

        return {**build_info(), "games": list_games(), "signature": signature()}
    except ImportError as error:
        return {"error": str(error)}


def _torch() -> dict[str, object]:
    try:
        import torch
    except ImportError as error:
        return {"error": str(error)}
    gpus = (
        [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
        if torch.cuda.is_available()
        else []
    )
    return {
        "version": str(torch.__version__),
        "threads": torch.get_num_threads(),
        "mkldnn": torch.backends.mkldnn.is_available(),  # type: ignore[no-untyped-call]
        "cuda": torch.version.cuda,
        "gpus": gpus,
    }


def _machine() -> dict[str, object]:
    model, flags = _cpuinfo()
    return {
        "system": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "processor": model or platform.processor() or None,
        "instructions": [f for f in CPU_FLAGS if f in flags],
        "processors": os.cpu_count(),
        "usable_processors": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "memory_mib": _memory_mib(),
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS"),
    }


def _cpuinfo() -> tuple[str, set[str]]:
    """Return the model name and the feature flags, if the system reports them."""
    model, flags = "", set[str]()
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return model, flags
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name" and not model:
            model = value.strip()
        elif key.strip() in ("flags", "Features") and not flags:
            flags = set(value.split())
    return model, flags


def _memory_mib() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    except (ValueError, OSError, AttributeError):
        return None


def _disk() -> dict[str, object]:
    here = Path.cwd()
    return {
        "folder": str(here),
        "free_mib": shutil.disk_usage(here).free >> 20,
        "writable": os.access(here, os.W_OK),
    }


class Signature(msgspec.Struct, frozen=True):
    """Print a hash of the behaviour of all games, and one per game.

    It changes when a game behaves differently, and is equal on every machine, compiler and thread count.
    With --expect, exit code 3 if it differs.
    """

    EXAMPLES: ClassVar = ("ludus signature",)

    expect: Annotated[str, option("the expected hash", "HEX")] = ""
    json: Annotated[bool, option("print one JSON document")] = False

    def run(self) -> int:
        """Print the hashes, compare them with ``--expect`` and return the exit code."""
        from ludus.games.registry import BUILT_IN
        from ludus.games.simulate import game_signature, signature

        whole = signature()
        games = {name: game_signature(name) for name in BUILT_IN}
        if self.json:
            console.document({"signature": whole, "games": games})
        else:
            console.result(whole)
            console.result(console.table(list(games.items()), indent="  "))
        if self.expect and self.expect != whole:
            raise CheckError(
                f"the signature is {whole}, expected {self.expect}: some game behaves differently"
            )
        return DONE
