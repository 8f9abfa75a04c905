"""Completion of command lines, for the shells' completion scripts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ludus.cli.arguments import ArgumentField, fields_of, takes_overrides
from ludus.cli.table import COMMANDS, groups, load


def candidates(words: Sequence[str]) -> list[str]:
    """Return candidates for the last word after ``ludus``, which may be partial or empty."""
    *before, partial = words or [""]
    return sorted(w for w in set(_possible(before, partial)) if w.startswith(partial))


def _possible(before: Sequence[str], partial: str) -> Iterable[str]:
    if not before:
        return [*groups(), "--help", "--version"]
    name = " ".join(before[:2])
    if name not in COMMANDS:
        name = before[0]
    if name not in COMMANDS:
        return [n.split()[1] for n in COMMANDS if n.startswith(before[0] + " ")] if len(before) == 1 else []
    command = load(name)
    fields = fields_of(command)
    options = {f.flag: f for f in fields if not f.positional}
    rest = list(before[len(name.split()) :])
    if rest and rest[-1] in options and not options[rest[-1]].is_switch:
        return _values(options[rest[-1]], partial)
    if rest and rest[-1].startswith("--") and "." in rest[-1]:
        return _override_values(rest[-1])
    if partial.startswith("-"):
        flags = [*options, "--help"]
        return [*flags, *_overrides()] if takes_overrides(command) else flags
    places = [f for f in fields if f.positional]
    given = _count_arguments(rest, options)
    return _values(places[min(given, len(places) - 1)], partial) if places else []


def _count_arguments(rest: Sequence[str], options: dict[str, ArgumentField]) -> int:
    count, skip = 0, False
    for word in rest:
        if skip:
            skip = False
        elif word.startswith("-"):
            skip = "=" not in word and not (word in options and options[word].is_switch)
        else:
            count += 1
    return count


def _values(field: ArgumentField, partial: str) -> Iterable[str]:
    import msgspec.inspect as mi

    from ludus.games import list_games
    from ludus.presets.file import shipped_presets

    if isinstance(field.kind, mi.LiteralType):
        return [str(v) for v in field.kind.values]
    if field.name == "game":
        return list_games()
    if field.name == "preset":
        return [*shipped_presets(), *map(str, Path().glob("presets/*.toml"))]
    if field.name == "sweep":
        return [*map(str, Path().glob("*.toml")), *map(str, Path().glob("sweeps/*.toml"))]
    if field.name == "runs":
        return [*_folders_with("run.json"), *_folders_with("sweep.json")]
    if field.name == "directory":
        return _folders_with("run.json")
    if field.name in ("player", "players", "against", "by"):
        from ludus.games import spec
        from ludus.storage import zoo

        bots = [b.name for game in list_games() for b in spec(game).bots]
        runs = _folders_with("run.json")
        named = [f"{run}@{which}" for run in runs for which in _weights_of(run, partial)]
        return [*bots, "random", "uniform", *(f"{zoo.ZOO}{name}" for name in zoo.names()), *named]
    return []


def _folders_with(name: str) -> list[str]:
    """Return the folders in ``runs`` that have a file of this name, without half of a run."""
    from ludus.storage.rundir import is_aside

    return [str(p.parent) for p in Path().glob(f"runs/*/{name}") if not is_aside(p.parent.name)]


def _weights_of(run: str, partial: str) -> list[str]:
    """Return the names after the ``@`` of a run.

    Names of members are listed once the run's name is complete, so that only one run is read.
    """
    names = ["best", "last"]
    if not partial.startswith(f"{run}@"):
        return names
    from ludus.storage import RunDirectory, StorageError
    from ludus.storage.references import members_of

    found = RunDirectory(Path(run))
    try:
        members = members_of(found)
        versions = {m: found.frozen.versions(m) for m in members}
    except (OSError, StorageError):
        return names
    frozen = [f"{m}:{v}" for m in members for v in versions[m]]
    return [*names, *members, *(f"{m}:last" for m in members if any(versions[m])), *frozen]


def _overrides() -> list[str]:
    from ludus.presets.options import option_of
    from ludus.presets.overrides import setting_paths

    return [option_of(path) for path in setting_paths()]


def _override_values(flag: str) -> list[str]:
    import msgspec.inspect as mi

    from ludus.presets.options import option_of
    from ludus.presets.overrides import setting_paths

    for path, kind in setting_paths().items():
        if option_of(path) == flag:
            if isinstance(kind, mi.LiteralType):
                return [str(v) for v in kind.values]
            if isinstance(kind, mi.BoolType):
                return ["true", "false"]
    return []
