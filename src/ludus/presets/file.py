"""Preset files: found by path or by the name of a shipped one, read, overridden, checked, written.

A TOML document and the command line become one plain document, which is checked once. A wrong value has the
same error message in a file and on the command line, and the origin of every value is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec
import msgspec.inspect as mi

from ludus.algorithms.config import AdvantageConfig
from ludus.algorithms.registry import method_of
from ludus.flow.decode import TextError, TomlError, from_toml, text_of
from ludus.flow.extensions import ExtensionError
from ludus.flow.names import did_you_mean, nearest
from ludus.flow.shown import shell
from ludus.games import libraries, list_games, rulebook, spec
from ludus.games.hosted import is_hosted
from ludus.games.registry import is_extension
from ludus.presets import schema
from ludus.presets.code import given_code, typed_code
from ludus.presets.config import MAX_DECISIONS, ParamValue, Preset, preset_of, preset_type
from ludus.presets.document import Document, leaves
from ludus.presets.game_presets import preset_for, run_title
from ludus.presets.options import option_of
from ludus.presets.overrides import apply_overrides
from ludus.presets.schema import Problem
from ludus.storage.errors import StorageError
from ludus.storage.files import read_bounded

Origin = Literal["default", "preset", "command line"]
MAX_BYTES = 1 << 20
_PACKAGE = Path(__file__).resolve().parent.parent


class PresetError(ValueError):
    """A preset that cannot be used. ``lines`` has one mistake each, with where it is."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = tuple(lines)


class LoadedPreset(msgspec.Struct, frozen=True):
    """``name``: how the run is called; ``source``: the file; ``origins``: path -> where its value is from
    (paths that are not in it have their default); ``note``: where settings are from that no one named."""

    preset: Preset
    name: str
    source: str
    origins: dict[str, Origin]
    note: str = ""

    def where(self, path: str) -> str:
        """What an error about ``path`` starts with: the file, or the option that set it."""
        return option_of(path) if _from_command_line(path, self.origins) else self.source


def shipped_presets() -> dict[str, Path]:
    """Name -> file of the presets that come with the package (or lie in the checkout it runs from)."""
    for folder in (_PACKAGE / "data" / "presets", _PACKAGE.parent.parent / "presets"):
        found = {p.stem: p for p in sorted(folder.glob("*.toml"))}
        if found:
            return found
    return {}


def find_preset(name: str) -> Path:
    """The file that ``name`` means: a path, or a shipped preset (``minirts``, ``presets/minirts.toml``).

    Raises :class:`PresetError`, naming the nearest shipped preset.
    """
    path = Path(name)
    shipped = shipped_presets()
    if path.suffix != ".toml" and name in shipped:
        return shipped[name]
    if path.is_file():
        return path
    if path.is_dir():
        if (path / "config.toml").is_file():
            raise PresetError([f"{name}: a run, not a preset; to resume it: ludus resume {shell(name)}"])
        raise PresetError([f"{name}: is a folder; expected a preset file or the name of a shipped preset"])
    if path.suffix == ".toml" and path.parent.name == "presets" and path.stem in shipped:
        return shipped[path.stem]
    if path.suffix == ".toml":
        near = nearest(path.stem, shipped)
        hint = f" (did you mean the shipped preset {near}?)" if near else ""
        raise PresetError([f"{name}: no such file{hint}; shipped presets: ludus presets list"])
    known = [*shipped, *list_games()]
    near = "" if libraries.versioned(name) else nearest(name, known, 0.85)
    hint = f" (did you mean {near}?)" if near else libraries.hint(name)
    if not hint and (near := nearest(name, known)):
        hint = f" (did you mean {near}?)"
    more = "" if hint else did_you_mean(name, shipped, "shipped presets", 1.0)
    raise PresetError([f"{name}: no such preset or game{hint or more}; see: ludus games list"])


def load_preset(name: str, overrides: Mapping[str, str] | None = None) -> LoadedPreset:
    """Reads and checks a preset that a user named.

    In its place a game may stand, whose settings are those of a shipped preset, or follow from the game.
    ``overrides``: dotted path -> text, as options give them. Game and teacher that the preset names may load
    their code (:mod:`ludus.presets.code`). Raises :class:`PresetError` with every mistake that was found.
    """
    if is_game(name):
        return _game_preset(name, overrides or {})
    path = find_preset(name)
    source = name if Path(name).is_file() else str(path)
    try:
        raw = read_bounded(path, MAX_BYTES)
    except StorageError as error:
        raise PresetError([f"{error}; expected a preset file"]) from None
    except OSError as error:
        raise PresetError([f"{source}: cannot be read ({error.strerror})"]) from None
    if other := _other_file(raw, source):
        raise PresetError([f"{source}: {other}"])
    loaded = _loaded(raw, source, path.stem, path.parent, overrides)
    if loaded.origins.get("game.name") == "command line":
        return _named_after_game(loaded)
    return loaded


def is_game(name: str) -> bool:
    """Whether what stands in a preset's place names a game."""
    if name in shipped_presets() or name.endswith(".toml"):
        return False
    if is_hosted(name) or name in list_games():
        return True
    path = Path(name)
    return is_extension(path) or any(map(is_extension, [*path.glob("*"), *path.glob("build/*")]))


def _game_preset(reference: str, overrides: Mapping[str, str]) -> LoadedPreset:
    """Settings for a game that stands in a preset's place; see :mod:`ludus.presets.game_presets`."""
    try:
        declared = spec(typed_code(reference))
    except ValueError as error:
        raise PresetError([str(error)]) from error
    found = preset_for(reference, declared, shipped_presets())
    loaded = _loaded(found.raw, found.source, run_title(declared.name), Path(), overrides)
    if loaded.origins.get("game.name") == "command line":
        loaded = _named_after_game(loaded)
    return msgspec.structs.replace(loaded, note=f"{reference}: {found.note}")


def _loaded(
    raw: bytes, source: str, name: str, folder: Path, overrides: Mapping[str, str] | None
) -> LoadedPreset:
    """The preset of a user's file. ``folder``: where relative paths in it begin."""
    loaded = parse_preset(raw, source, name, overrides, params=lambda game: _params(game, folder))
    loaded = _with_rulebook(loaded, folder)
    from_preset = {p for p, origin in loaded.origins.items() if origin == "preset"}
    preset = given_code(loaded.preset, lambda p: folder if p in from_preset else Path())
    return msgspec.structs.replace(loaded, preset=preset)


def _named_after_game(loaded: LoadedPreset) -> LoadedPreset:
    """A preset of one game that trains on another: name and title are not those of the preset."""
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
    """What to do with a file of another kind than a preset; "" for a preset, and for what is no TOML."""
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
    """Names of the game's parameters; none where it cannot be found, which is another mistake's message."""
    try:
        return [p.name for p in spec(typed_code(game, folder)).params] if game else []
    except ValueError:
        return []


def _with_rulebook(loaded: LoadedPreset, folder: Path) -> LoadedPreset:
    """Replaces ``rulebook`` and ``randomise`` by the contents that they refer to."""
    game = loaded.preset.game
    params = dict(game.params)
    given = params.get("rulebook")
    if rulebook.is_path(given):
        path = Path(str(given))
        near = folder / path
        from_preset = loaded.origins.get("game.params.rulebook") == "preset"
        try:
            params["rulebook"] = rulebook.read(
                near if from_preset and near.is_file() else path, check=game.name == rulebook.GAME
            )
        except ValueError as error:
            where = loaded.where("game.params.rulebook")
            lines = [f"{where}: game.params.rulebook: {line}" for line in str(error).splitlines()]
            raise PresetError(lines) from None
    if game.randomise:
        if params.get("randomise"):
            raise PresetError([f"{loaded.source}: game.params.randomise: set by game.randomise already"])
        params["randomise"] = rulebook.randomise_text(game.randomise)
    resolved = msgspec.structs.replace(game, params=params, randomise={})
    return msgspec.structs.replace(loaded, preset=msgspec.structs.replace(loaded.preset, game=resolved))


def parse_preset(
    raw: bytes,
    source: str,
    name: str = "preset",
    overrides: Mapping[str, str] | None = None,
    *,
    params: Callable[[str], Iterable[str]] = lambda game: (),
) -> LoadedPreset:
    """Checks the bytes of a preset file; see :func:`load_preset`.

    ``params``: from a game's reference to the names of its parameters.
    """
    if len(raw) > MAX_BYTES:
        raise PresetError([f"{source}: larger than {MAX_BYTES} bytes; expected a preset file"])
    try:
        document: Document = from_toml(text_of(raw))
    except TextError as error:
        raise PresetError([f"{source}: {error}"]) from None
    except TomlError as error:
        raise PresetError([f"{source}: not valid TOML: {error}"]) from None
    method = _method_name(document, overrides or {})
    try:
        kind = preset_type(method)
    except ExtensionError as error:
        raise PresetError([f"{source}: algorithm.name: {error}"]) from error
    origins: dict[str, Origin] = {p: "preset" for p, _ in leaves(document)}
    paths, problems = apply_overrides(document, overrides or {}, kind, params)
    for path in paths:
        origins = {p: o for p, o in origins.items() if not p.startswith(path + ".")}
        origins[path] = "command line"
    lines = [f"{option_of(p.path)}: {p.text}" for p in problems]
    for problem in schema.check(document, kind):
        where = option_of(problem.path) if _from_command_line(problem.path, origins) else source
        lines.append(f"{where}: {problem.text}")
    if lines:
        raise PresetError(lines)
    preset = preset_of(_named(document, kind), method)
    loaded = LoadedPreset(preset, name, source, origins)
    lines = [f"{loaded.where(p.path)}: {p.text}" for p in _together(preset)]
    if lines:
        raise PresetError(lines)
    return loaded


def _named(document: Document, kind: mi.StructType) -> Document:
    """The document with the name of each table that may be one of several, the first where none is given."""
    named = _with_names(document, kind)
    assert isinstance(named, dict)
    return named


def _with_names(value: object, kind: mi.Type) -> object:
    kind = schema.present(kind)
    if schema.variants(kind):
        chosen = schema.variant_of(value, kind)
        assert chosen is not None
        assert isinstance(value, dict)
        fields = _with_names(value, chosen)
        assert isinstance(fields, dict)
        return {chosen.tag_field: chosen.tag, **fields} if chosen.tag_field else fields
    if isinstance(kind, mi.StructType) and isinstance(value, dict):
        types = {f.encode_name: f.type for f in kind.fields}
        return {key: _with_names(item, types[key]) if key in types else item for key, item in value.items()}
    if isinstance(kind, mi.VarTupleType) and isinstance(value, list):
        return [_with_names(item, kind.item_type) for item in value]
    return value


def _from_command_line(path: str, origins: Mapping[str, Origin]) -> bool:
    parts = path.split(".")
    return any(origins.get(".".join(parts[:n])) == "command line" for n in range(1, len(parts) + 1))


def _method_name(document: Document, overrides: Mapping[str, str]) -> str:
    """What the preset says that its method is called; "" where it leaves that out."""
    table = document.get("algorithm")
    given = table.get("name", "") if isinstance(table, dict) else ""
    name = overrides.get("algorithm.name", given)
    return str(name)


def _together(preset: Preset) -> Iterator[Problem]:
    """Settings that do not fit together."""
    pool, policy = preset.pool, preset.policy
    if pool.slots % pool.groups:
        yield Problem(
            "pool.slots",
            f"pool.slots = {pool.slots}: expected a multiple of pool.groups = {pool.groups}",
        )
    if pool.slots * pool.rollout_length > MAX_DECISIONS:
        text = f"pool.slots = {pool.slots}, pool.rollout_length = {pool.rollout_length}"
        yield Problem("pool.slots", f"{text}: expected a product of at most {MAX_DECISIONS:,}")
    for key, text in policy.problems():
        yield Problem(f"policy.{key}", f"policy.{key} {text}")
    for key, text in preset.algorithm.problems():
        yield Problem(f"algorithm.{key}", f"algorithm.{key} {text}")
    method = method_of(preset.algorithm)
    network = str(policy.__struct_config__.tag)
    if network not in method.networks:
        wanted = " or ".join(f'"{name}"' for name in method.networks)
        text = f'policy.network = "{network}": algorithm.name = "{method.name}" trains {wanted}'
        yield Problem("policy.network", text)
    heads = getattr(policy, "value_heads", 1)
    if isinstance(preset.algorithm, AdvantageConfig):
        for key, text in preset.algorithm.head_problems(heads):
            yield Problem(f"algorithm.{key}", f"algorithm.{key} {text}")
    elif heads > 1:
        text = f'policy.value_heads = {heads}: algorithm.name = "{method.name}" trains one; expected 1'
        yield Problem("policy.value_heads", text)
    if heads > 1 and preset.run.topology == "one_to_one":
        text = f'policy.value_heads = {heads}: run.topology = "one_to_one" moves one; expected 1'
        yield Problem("policy.value_heads", text)
    output = getattr(policy, "output", "logits")
    if output not in method.outputs:
        wanted = " or ".join(f'"{name}"' for name in method.outputs)
        text = f'policy.output = "{output}": algorithm.name = "{method.name}" trains {wanted}'
        yield Problem("policy.output", text)
    critic = getattr(policy, "critic", "")
    if critic and critic not in method.critics:
        wanted = " or ".join(f'"{name}"' for name in method.critics)
        text = f'policy.critic = "{critic}": algorithm.name = "{method.name}" trains {wanted}'
        yield Problem("policy.critic", text)
    if preset.opponents and not any(o.weight > 0 for o in preset.opponents):
        yield Problem("opponents.0.weight", "opponents: all weights are 0; expected one above 0")


class EffectiveValue(msgspec.Struct, frozen=True):
    """One value of the effective configuration."""

    path: str
    value: str | int | float | bool | tuple[str | int | float, ...] | dict[str, ParamValue]
    origin: Origin


def explain(loaded: LoadedPreset) -> list[EffectiveValue]:
    """The effective configuration, value by value, in the order of the structs."""
    plain = msgspec.to_builtins(loaded.preset)
    out = []
    for path, value in leaves(plain):
        if value is None:  # a table that is left out
            continue
        entry = {"path": path, "value": value, "origin": loaded.origins.get(path, "default")}
        out.append(msgspec.convert(entry, EffectiveValue))
    return out
