"""Preset files: found by path or by the name of a shipped one, read, overridden, checked, written.

A TOML document and the command line become one plain document, which is checked once. A wrong value has the
same error message in a file and on the command line, and the origin of every value is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Literal, cast

import msgspec

from ludus.flow.inputs.decode import TextError, TomlError, from_toml, text_of
from ludus.flow.inputs.regular import TEXT
from ludus.flow.inputs.shown import shell
from ludus.flow.names import did_you_mean, nearest
from ludus.flow.problem import HasProblems, Part, Problem, Setting, message
from ludus.flow.process.extensions import ExtensionError
from ludus.flow.spec import GameSpec
from ludus.games import libraries, list_games, rulebook, spec
from ludus.games.hosted import is_hosted
from ludus.games.registry import is_extension
from ludus.presets import schema
from ludus.presets.checks.training import setting_problems
from ludus.presets.code import given_code, typed_code
from ludus.presets.config import ParamValue, Preset, preset_of, preset_type
from ludus.presets.document import Document, leaves
from ludus.presets.game_presets import GamePreset, preset_for, run_title
from ludus.presets.options import path_of
from ludus.presets.overrides import apply_overrides
from ludus.storage.errors import StorageError
from ludus.storage.files import read_bounded

Origin = Literal["default", "preset", "command line"]
MAX_BYTES = 1 << 20
_PACKAGE = Path(__file__).resolve().parent.parent


class PresetError(HasProblems, ValueError):
    """A preset that cannot be used. ``problems`` has every mistake with its place, ``lines`` as text."""

    @property
    def lines(self) -> tuple[str, ...]:
        """One line a mistake."""
        return tuple(map(message, self.problems))


class LoadedPreset(msgspec.Struct, frozen=True):
    """A checked preset with the origin of its values.

    Attributes:
        preset: The settings.
        name: Name of a run of this preset.
        source: The file.
        origins: Path -> origin of its value; paths that it lacks have their default.
        note: Origin of settings that the user did not name; empty = none.
    """

    preset: Preset
    name: str
    source: str
    origins: dict[str, Origin]
    note: str = ""

    def where(self, path: str) -> Part:
        """Return the place of an error about ``path``: the file, or the setting that was given."""
        return Setting(path) if _from_command_line(path, self.origins) else self.source

    def placed(self, problems: Iterable[Problem]) -> list[Problem]:
        """Return problems of the preset, each with its place."""
        return [problem.within(self.where(problem.path)) for problem in problems]


def shipped_presets() -> dict[str, Path]:
    """Return name -> file of the presets of the package, or of the checkout that it runs from."""
    for folder in (_PACKAGE / "data" / "presets", _PACKAGE.parent.parent / "presets"):
        found = {p.stem: p for p in sorted(folder.glob("*.toml"))}
        if found:
            return found
    return {}


def find_preset(name: str) -> Path:
    """Return the file that ``name`` means: a path, or a shipped preset (``minirts``).

    Raises:
        PresetError: No such file; the message has the nearest name.
    """
    path = Path(name)
    shipped = shipped_presets()
    if path.suffix != ".toml" and name in shipped:
        return shipped[name]
    if path.is_file():
        return path
    if path.is_dir():
        if (path / "config.toml").is_file():
            raise PresetError(f"{name}: a run, not a preset; to resume it: ludus resume {shell(name)}")
        raise PresetError(f"{name}: is a folder, {TEXT}; expected a preset file or a shipped preset's name")
    if path.exists():
        raise PresetError(f"{name}: {TEXT}; expected a preset file or the name of a shipped preset")
    if path.suffix == ".toml" and path.parent.name == "presets" and path.stem in shipped:
        return shipped[path.stem]
    if path.suffix == ".toml":
        near = nearest(path.stem, shipped)
        hint = f" (did you mean the shipped preset {near}?)" if near else ""
        raise PresetError(f"{name}: no such file{hint}; shipped presets: ludus presets list")
    known = [*shipped, *list_games()]
    near = "" if libraries.versioned(name) else nearest(name, known, 0.85)
    hint = f" (did you mean {near}?)" if near else libraries.hint(name)
    if not hint and (near := nearest(name, known)):
        hint = f" (did you mean {near}?)"
    more = "" if hint else did_you_mean(name, shipped, "shipped presets", 1.0)
    raise PresetError(f"{name}: no such preset or game{hint or more}; see: ludus games list")


def load_preset(name: str, overrides: Mapping[str, str] | None = None) -> LoadedPreset:
    """Read and check a preset that a user named.

    The code of the game and the teacher that it names may be loaded (:mod:`ludus.presets.code`).

    Args:
        name: A preset file, a shipped preset, or a game, with the settings of a shipped preset of that game
            or with settings that follow from its spec.
        overrides: Setting as the user wrote it -> text.

    Raises:
        PresetError: Every mistake that was found.
    """
    if is_game(name):
        return _game_preset(name, overrides or {})
    path = find_preset(name)
    source = name if Path(name).is_file() else str(path)
    try:
        raw = read_bounded(path, MAX_BYTES)
    except StorageError as error:
        raise PresetError(error, more="; expected a preset file") from None
    except OSError as error:
        raise PresetError(f"{source}: cannot be read ({error.strerror})") from None
    if other := _other_file(raw, source):
        raise PresetError(f"{source}: {other}")
    loaded = _loaded(raw, source, path.stem, path.parent, overrides)
    if loaded.origins.get("game.name") == "command line":
        return _named_after_game(loaded)
    return loaded


def preset_bytes(name: str) -> bytes:
    """Return the bytes of a preset file, a shipped preset, or a game's settings, as :func:`load_preset`.

    Raises ``PresetError``, ``StorageError`` and ``OSError``.
    """
    if is_game(name):
        return _settings_of(name)[1].raw
    return read_bounded(find_preset(name), MAX_BYTES)


def is_game(name: str) -> bool:
    """Return whether ``name``, given in place of a preset, is a game."""
    if name in shipped_presets() or name.endswith(".toml"):
        return False
    if is_hosted(name) or name in list_games():
        return True
    path = Path(name)
    return is_extension(path) or any(map(is_extension, [*path.glob("*"), *path.glob("build/*")]))


def _game_preset(reference: str, overrides: Mapping[str, str]) -> LoadedPreset:
    """Return settings for a game given in place of a preset; see :mod:`ludus.presets.game_presets`."""
    declared, found = _settings_of(reference)
    loaded = _loaded(found.raw, found.source, run_title(declared.name), Path(), overrides)
    if loaded.origins.get("game.name") == "command line":
        loaded = _named_after_game(loaded)
    return msgspec.structs.replace(loaded, note=f"{reference}: {found.note}")


def _settings_of(reference: str) -> tuple[GameSpec, GamePreset]:
    """Return a game that a user named, and settings for it. Raises ``PresetError``."""
    try:
        declared = spec(typed_code(reference))
    except ValueError as error:
        raise PresetError(error) from error
    return declared, preset_for(reference, declared, shipped_presets())


def _loaded(
    raw: bytes, source: str, name: str, folder: Path, overrides: Mapping[str, str] | None
) -> LoadedPreset:
    """Return the preset of a user's file; relative paths in it start at ``folder``."""
    loaded = parse_preset(raw, source, name, overrides, params=lambda game: _params(game, folder))
    loaded = _with_rulebook(loaded, folder)
    from_preset = {p for p, origin in loaded.origins.items() if origin == "preset"}
    preset = given_code(loaded.preset, lambda p: folder if p in from_preset else Path())
    return msgspec.structs.replace(loaded, preset=preset)


def _named_after_game(loaded: LoadedPreset) -> LoadedPreset:
    """Name a preset after the game that replaces its own: its name and title no longer fit."""
    preset = loaded.preset
    try:
        name = run_title(spec(preset.game.name).name)
    except ValueError:  # the checks of the game say what is wrong
        return loaded
    origins = loaded.origins
    if origins.get("title") != "command line":
        preset = msgspec.structs.replace(preset, title="")
        origins = {path: origin for path, origin in origins.items() if path != "title"}
    return msgspec.structs.replace(loaded, preset=preset, name=name, origins=origins)


def _other_file(raw: bytes, source: str) -> str:
    """Return advice about a file of another kind; "" for a preset, and for a file that is no TOML."""
    try:
        document = from_toml(text_of(raw))
    except ValueError:
        return ""
    if "game" in document or "algorithm" in document:
        return ""
    if "preset" in document and "seeds" in document:
        return f"a sweep, not a preset; run it: ludus sweep {shell(source)}"
    if len(set(document) & set(rulebook.sections())) > 1 or "units" in document or "extends" in document:
        return (
            "a rulebook, not a preset; train on it: "
            f"ludus train extended --game.params.rulebook {shell(source)}"
        )
    return ""


def _params(game: str, folder: Path) -> list[str]:
    """Return the names of the game's parameters; empty for an unknown game, which is reported elsewhere."""
    try:
        return [p.name for p in spec(typed_code(game, folder)).params] if game else []
    except ValueError:
        return []


def _with_rulebook(loaded: LoadedPreset, folder: Path) -> LoadedPreset:
    """Replace ``rulebook`` and ``randomise`` by the contents that they refer to."""
    game = loaded.preset.game
    params = _with_lines(loaded, "game.params", game.params, folder)
    if game.randomise:
        if params.get("randomise"):
            raise PresetError(f"{loaded.source}: game.params.randomise: set by game.randomise already")
        params["randomise"] = rulebook.randomise_text(game.randomise)
    before = game.before
    if before is not None:
        old = _with_lines(loaded, "game.before.params", before.params, folder)
        before = msgspec.structs.replace(before, params=old)
    resolved = msgspec.structs.replace(game, params=params, randomise={}, before=before)
    return msgspec.structs.replace(loaded, preset=msgspec.structs.replace(loaded.preset, game=resolved))


def _with_lines(
    loaded: LoadedPreset, path: str, params: Mapping[str, ParamValue], folder: Path
) -> dict[str, ParamValue]:
    """Return the parameters at ``path`` with the lines of a rulebook in place of its file."""
    given = params.get("rulebook")
    if not rulebook.is_path(given):
        return dict(params)
    setting, file = f"{path}.rulebook", Path(str(given))
    near = folder / file
    from_preset = loaded.origins.get(setting) == "preset"
    try:
        lines = rulebook.read(
            near if from_preset and near.exists() else file,
            check=loaded.preset.game.name == rulebook.GAME,
        )
    except ValueError as error:
        where = (loaded.where(setting), setting)
        raise PresetError(*(p.within(*where) for p in HasProblems(error).problems)) from None
    return {**params, "rulebook": lines}


def parse_preset(
    raw: bytes,
    source: str,
    name: str = "preset",
    overrides: Mapping[str, str] | None = None,
    *,
    params: Callable[[str], Iterable[str]] = lambda game: (),
) -> LoadedPreset:
    """Check the bytes of a preset file.

    Args:
        raw: The bytes.
        source: The file, as errors call it.
        name: Name of a run of this preset.
        overrides: Setting as the user wrote it -> text.
        params: From a game's reference to the names of its parameters.

    Raises:
        PresetError: Every mistake that was found.
    """
    document = preset_document(raw, source)
    method = _method_name(document, overrides or {})
    try:
        kind = preset_type(method)
    except ExtensionError as error:
        raise PresetError(Problem("algorithm.name", f"algorithm.name: {error}", where=(source,))) from error
    origins: dict[str, Origin] = {p: "preset" for p, _ in leaves(document)}
    paths, problems = apply_overrides(document, overrides or {}, kind, params)
    for path in paths:
        origins = {p: o for p, o in origins.items() if not p.startswith(path + ".")}
        origins[path] = "command line"
    document = cast(Document, schema.canonical(document, kind))
    for problem in schema.check(document, kind):
        where = Setting(problem.path) if _from_command_line(problem.path, origins) else source
        problems.append(problem.within(where))
    if problems:
        raise PresetError(*problems)
    preset = preset_of(document, method)
    loaded = LoadedPreset(preset, name, source, origins)
    if problems := loaded.placed(setting_problems(preset)):
        raise PresetError(*problems)
    return loaded


def preset_document(raw: bytes, source: str) -> Document:
    """Return the content of a preset file as plain data. Raises ``PresetError``."""
    if len(raw) > MAX_BYTES:
        raise PresetError(f"larger than {MAX_BYTES} bytes; expected a preset file", where=source)
    try:
        return from_toml(text_of(raw))
    except TextError as error:
        raise PresetError(error, where=source) from None
    except TomlError as error:
        raise PresetError(f"not valid TOML: {error}", where=source) from None


def _from_command_line(path: str, origins: Mapping[str, Origin]) -> bool:
    parts = path.split(".")
    return any(origins.get(".".join(parts[:n])) == "command line" for n in range(1, len(parts) + 1))


def _method_name(document: Document, overrides: Mapping[str, str]) -> str:
    """Return the method's name in the preset; "" for the default method."""
    table = document.get("algorithm")
    given = table.get("name", "") if isinstance(table, dict) else ""
    typed = {path_of(key): text for key, text in overrides.items()}
    return str(typed.get("algorithm.name", given))


class EffectiveValue(msgspec.Struct, frozen=True):
    """One value of the effective configuration."""

    path: str
    value: str | int | float | bool | tuple[str | int | float, ...] | dict[str, ParamValue]
    origin: Origin


def explain(loaded: LoadedPreset) -> list[EffectiveValue]:
    """Return the effective configuration, value by value, in the order of the structs."""
    plain = msgspec.to_builtins(loaded.preset)
    out = []
    for path, value in leaves(plain):
        if value is None:  # a table that is left out
            continue
        entry = {"path": path, "value": value, "origin": loaded.origins.get(path, "default")}
        out.append(msgspec.convert(entry, EffectiveValue))
    return out
