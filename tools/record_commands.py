"""Commands of records: each one is parsed by its own program's parser, and its files are known.

``ludus`` commands go through the real parser, with the settings of presets and sweeps; programs of
``benchmarks`` and ``tools`` give their parser as ``parser_of()``; ``make`` and ``gamectl`` are looked up in
the Makefile and in their source. Nothing is run.
"""

from __future__ import annotations

import argparse
import importlib
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from io import StringIO
from itertools import pairwise
from pathlib import Path

import tomllib

from tools.records import ROOT, Record

Has = Callable[[str], bool]
#: Programs built from C++ -> the source that names their options.
NATIVE = {"gamectl": "cpp/tools/gamectl.cpp", "rts_conformance": "cpp/tests/rts/conformance.cpp"}
_PACKAGES = ("benchmarks", "tools")


def split(command: str) -> list[str]:
    """Return the words of a command without its environment. Raises ``ValueError``."""
    words = shlex.split(command)
    while words and re.fullmatch(r"[A-Z_]+=.*", words[0], re.DOTALL):
        words = words[1:]
    return words


def command_faults(record: Record, root: Path, has: Has) -> Iterator[str]:
    """Yield what is wrong with the commands of a record, including its runs' commands.

    ``has``: whether the repository has a file.
    """
    every = dict.fromkeys([*record.commands, *(run.command for run in record.runs)])
    for run in record.runs:
        if run.command not in record.commands:
            yield f"run {run.id}: its command is not among the record's: {run.command!r}"
    for command in every:
        try:
            words = split(command)
            missing = [path for path in files_of(words) if not has(path)]
            if missing:
                yield from (f"{command!r}: {path} is not in the repository" for path in missing)
                continue
            fault = fault_of(words, root)
        except ValueError as error:
            fault = str(error).splitlines()[-1]
        if fault:
            yield f"{command!r}: {fault}"


def fault_of(words: Sequence[str], root: Path = ROOT) -> str:
    """Return why the program does not take these words, or an empty text."""
    if not words:
        return "an empty command"
    program, rest = Path(words[0]).name, list(words[1:])
    if program == "ludus":
        return _ludus(tuple(rest))
    if program.startswith("python"):
        return _program(rest)
    if program == "make":
        return _make(rest, root)
    if program in NATIVE:
        return _native(program, rest, root)
    return f"unknown program {program}; expected ludus, python, make or {', '.join(NATIVE)}"


@cache
def _ludus(words: tuple[str, ...]) -> str:
    from ludus.cli import arguments
    from ludus.cli.errors import UserError
    from ludus.cli.table import COMMANDS, load

    name = " ".join(words[:2]) if " ".join(words[:2]) in COMMANDS else " ".join(words[:1])
    if name not in COMMANDS:
        return f"ludus has no command {name or '(none)'}"
    try:
        parsed = arguments.parse(load(name), name, list(words[len(name.split()) :]))
        _settings(name, parsed)
    except (UserError, ValueError) as error:
        return str(error).splitlines()[0]
    return ""


def _settings(name: str, parsed: object) -> None:
    """Read the preset or sweep of a command with its settings. Raises ``ValueError`` and ``UserError``."""
    overrides: dict[str, str] = getattr(parsed, "overrides", {})
    if name in ("train", "bench train"):
        from ludus.presets.file import load_preset

        load_preset(str(getattr(parsed, "preset", "")), _on_disk(overrides))
    elif name == "sweep":
        from ludus.sweep.config import read_sweep
        from ludus.sweep.plan import check_sweep

        check_sweep(read_sweep(str(getattr(parsed, "sweep", "")), _on_disk(overrides)))
    elif name == "resume":
        from ludus.cli.commands.train import resumable

        resumable(overrides)
    elif overrides:
        from ludus.presets.overrides import setting_paths

        known = set(setting_paths())
        for key in overrides:
            path = re.sub(r"\.\d+\.", ".0.", key.replace("-", "_"))
            short = any(p.endswith(f".{path}") for p in known)
            if path not in known and not short and not path.startswith("game.params."):
                raise ValueError(f"--{key}: unknown setting")


def _on_disk(overrides: Mapping[str, str]) -> dict[str, str]:
    """Return overrides without rulebooks of a record's own folder, which only the run had."""
    return {k: v for k, v in overrides.items() if not k.endswith("rulebook") or Path(v).is_file()}


def _program(words: list[str]) -> str:
    module, rest = module_of(words)
    if not module:
        return "expected python -m MODULE or python FILE of benchmarks or tools"
    if words[0] != "-m":  # a script finds modules of its folder
        sys.path.append(str(ROOT / Path(words[0]).parent))
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        return f"{module}: {error}"
    finally:
        if words[0] != "-m":
            sys.path.pop()
    make: Callable[[], argparse.ArgumentParser] | None = getattr(found, "parser_of", None)
    if make is None:
        return f"{module} has no parser_of(), which returns its parser"
    return _refusal(make(), rest)


def _refusal(parser: argparse.ArgumentParser, words: Sequence[str]) -> str:
    said = StringIO()
    try:
        with redirect_stderr(said), redirect_stdout(StringIO()):
            parser.parse_args(list(words))
    except SystemExit as ended:
        if ended.code:
            return said.getvalue().strip().splitlines()[-1]
        return "prints help or a version, and measures nothing"
    return ""


def module_of(words: Sequence[str]) -> tuple[str, list[str]]:
    """Return the module of ``-m MODULE ...`` or ``FILE.py ...``, and the words behind it."""
    if words[:1] == ["-m"] and len(words) > 1:
        name, rest = words[1], list(words[2:])
    elif words and words[0].endswith(".py") and not words[0].startswith(("/", ".")):
        name, rest = words[0].removesuffix(".py").replace("/", "."), list(words[1:])
    else:
        return "", []
    return (name, rest) if name.split(".")[0] in _PACKAGES else ("", [])


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def _make(words: list[str], root: Path) -> str:
    makefile = _text(root / "Makefile")
    for word in words:
        name, equals, _ = word.partition("=")
        if word.startswith("-"):
            return f"unknown option {word}"
        if equals and not re.search(rf"^{re.escape(name)} \?=", makefile, re.MULTILINE):
            return f"the Makefile has no setting {name}"
        if not equals and not re.search(rf"^{re.escape(word)}:", makefile, re.MULTILINE):
            return f"the Makefile has no target {word}"
    return "" if any("=" not in w for w in words) else "make without a target"


def _native(program: str, words: list[str], root: Path) -> str:
    source = _text(root / NATIVE[program])
    if program != "gamectl":
        return "" if source else f"no source of {program}"
    options = re.search(r"kOptions = \{(.*?)\}", source, re.DOTALL)
    commands = re.findall(r'^    "  ([a-z-]+) ', source, re.MULTILINE)
    if words[:1] and words[0] not in commands:
        return f"gamectl has no command {words[0]} (valid: {', '.join(commands)})"
    for word in words:
        option = word.partition("=")[0]
        if option.startswith("--") and f'"{option[2:]}"' not in (options[1] if options else ""):
            return f"gamectl has no option {option}"
    return "" if words else "gamectl without a command"


def files_of(words: Sequence[str]) -> list[str]:
    """Return the files of the repository that a command needs: presets, sweeps, rulebooks, programs."""
    found = [v for v in (w.rpartition("=")[2].partition(":")[0] for w in words) if v.endswith(".toml")]
    found += [p for p in (preset_path(name) for name in presets_of(words)) if p not in found]
    program = Path(words[0]).name if words else ""
    if program == "ludus" and words[1:2] == ["sweep"] and len(words) > 2:
        if words[2] not in found:
            found.append(words[2])
        found += [preset_path(name) for name in _sweep_presets(Path(words[2]))]
    if program.startswith("python"):
        module, _ = module_of(words[1:])
        if module:
            found.append(f"{module.replace('.', '/')}.py")
        elif any(w.endswith(".py") for w in words):
            found.append(next(w for w in words if w.endswith(".py")))
    elif program == "ludus":
        found += [w.partition(":")[0] for w in words if w.partition(":")[0].endswith(".py")]
    return list(dict.fromkeys(found))


def preset_path(name: str) -> str:
    """Return the file of a preset: of a shipped one by its name."""
    return name if name.endswith(".toml") else f"presets/{name}.toml"


def presets_of(words: Sequence[str]) -> list[str]:
    """Return the presets that a command names, or that the program behind it has as ``PRESETS``."""
    found = [value for option, value in pairwise(words) if option == "--preset" and value]
    found += [w.partition("=")[2] for w in words if w.startswith("--preset=")]
    program = Path(words[0]).name if words else ""
    if program == "ludus" and words[1:2] == ["train"] or words[1:3] == ["bench", "train"]:
        named = words[words.index("train") + 1 :][:1]
        found += [n for n in named if "/" not in n and not n.startswith("-") or n.endswith(".toml")]
    if program.startswith("python"):
        module, _ = module_of(words[1:])
        if module and (ROOT / f"{module.replace('.', '/')}.py").is_file():
            found += _presets_in(module)
    if program == "make" and "demo" in words:
        found.append("minirts")
    return [name for name in found if name]


def _presets_in(module: str) -> tuple[str, ...]:
    try:
        return tuple(getattr(importlib.import_module(module), "PRESETS", ()))
    except ImportError:  # the fault of the command names it
        return ()


def _sweep_presets(path: Path) -> list[str]:
    file = path if path.is_absolute() else ROOT / path
    if not file.is_file():
        return []
    document = tomllib.loads(file.read_text(encoding="utf-8"))
    cells = document.get("cells", {})
    tables = cells.values() if isinstance(cells, dict) else cells
    named = [document.get("preset")] + [t.get("preset") for t in tables if isinstance(t, dict)]
    return list(dict.fromkeys(n for n in named if isinstance(n, str) and "/" not in n))


def settings_files(record: Record) -> list[str]:
    """Return the presets, sweeps and rulebooks behind the commands of a record, whose hashes it keeps."""
    found: list[str] = []
    for command in [*record.commands, *(run.command for run in record.runs)]:
        try:
            found += [path for path in files_of(split(command)) if path.endswith(".toml")]
        except ValueError:
            continue
    return sorted(set(found))


def seeds_of(words: Sequence[str]) -> set[int]:
    """Return the seeds of training that a command names: ``--run.seed``, ``--seeds``, or its sweep's."""
    found = {int(v) for o, v in pairwise(words) if o in ("--run.seed",) and v.lstrip("-").isdecimal()}
    found |= {int(w.partition("=")[2]) for w in words if re.fullmatch(r"--run\.seed=\d+", w)}
    if "--seeds" in words:
        for word in words[words.index("--seeds") + 1 :]:
            if not word.isdecimal():
                break
            found.add(int(word))
    if Path(words[0]).name == "ludus" and words[1:2] == ["sweep"] and len(words) > 2:
        from ludus.sweep.config import read_sweep

        if (ROOT / words[2]).is_file():
            found |= set(read_sweep(str(ROOT / words[2])).seeds)
    return found
