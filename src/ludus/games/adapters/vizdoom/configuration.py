"""Configurations of ViZDoom (``.cfg``), read within bounds before an engine reads them.

The engine skips a line that it does not understand, and it dies on a damaged map. It also runs a program, and
opens files anywhere, that a configuration names. So every line is checked here, and only what a scenario
needs is admitted: its map lies in the folder of the file, and no argument of the engine but rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath

import msgspec

from ludus.flow.inputs.decode import TextError, text_of
from ludus.flow.inputs.regular import open_regular
from ludus.flow.inputs.shown import shown
from ludus.flow.names import did_you_mean
from ludus.games.adapters.vizdoom.wad import WadError, maps_of

MAX_BYTES = 1 << 16
_MOST_FILES = 256  # whose names are compared with a wrong one
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_WHOLE = re.compile(r"\+?[0-9]{1,10}")
_NUMBER = re.compile(r"[+-]?([0-9]{1,15}(\.[0-9]{0,15})?|\.[0-9]{1,15})(e[+-]?[0-9]{1,2})?", re.IGNORECASE)
_MAP = re.compile(r"[a-z0-9_]{1,8}")
_KEY = re.compile(r"[A-Za-z_]+")
_LONGEST = 64  # characters of a name that is compared with the valid ones
_LARGEST, _LARGEST_WHOLE = 1e9, (1 << 31) - 1
#: Arguments of the engine that a configuration may set: rules with a number, and flags.
_RULE = re.compile(r"\+(sv_[a-z0-9_]{1,40}|fraglimit|timelimit|viz_respawn_delay)", re.IGNORECASE)
_VALUE = re.compile(r"-?[0-9]{1,9}(\.[0-9]{1,9})?|true|false", re.IGNORECASE)
_FLAGS = ("-nomonsters", "-fast", "-respawn")
_SWITCHES = ("true", "false", "1", "0")
_LISTS = ("available_buttons", "available_game_variables")
_REWARDS = (
    *("living_reward", "death_penalty", "death_reward", "map_exit_reward", "kill_reward", "item_reward"),
    *("secret_reward", "frag_reward", "hit_reward", "hit_taken_reward", "hit_taken_penalty"),
    *("damage_made_reward", "damage_taken_reward", "damage_taken_penalty", "health_reward", "armor_reward"),
)
_COUNTS = (
    *("seed", "episode_timeout", "episode_start_time", "ticrate"),
    *("doom_skill", "audio_buffer_size", "notifications_buffer_size"),
)
_ON_OFF = (
    *("depth_buffer_enabled", "labels_buffer_enabled", "automap_buffer_enabled", "audio_buffer_enabled"),
    *("notifications_buffer_enabled", "objects_info_enabled", "sectors_info_enabled", "automap_rotate"),
    *("automap_render_textures", "automap_render_objects_as_sprites", "render_hud", "render_minimal_hud"),
    *("render_weapon", "render_crosshair", "render_decals", "render_particles", "render_effects_sprites"),
    *("render_messages", "render_corpses", "render_screen_flashes", "render_all_frames"),
    *("window_visible", "console_enabled", "sound_enabled"),
)
_CHOICES = {
    "mode": "Mode",
    "screen_resolution": "ScreenResolution",
    "screen_format": "ScreenFormat",
    "automap_mode": "AutomapMode",
    "audio_sampling_rate": "SamplingRate",
}
_FILES = ("doom_scenario_path", "doom_game_path")
_GAME = "freedoom2.wad"  # of the library, where a configuration names none
_FIRST_MAPS = ("map01", "e1m1")
_REFUSED = {
    "vizdoom_path": "names a program that would be run",
    "doom_config_path": "names a file that the engine would write",
}
_OTHERS = ("doom_map", "button_max_value", "game_args", *_REFUSED)
_KEYS = (*_LISTS, *_REWARDS, *_COUNTS, *_ON_OFF, *_CHOICES, *_FILES, *_OTHERS)
_BY_SPELLING = {spelling: key for key in _KEYS for spelling in (key, key.replace("_", ""))}
#: Name of a button for the engine's reader, and for the library.
_ALIASES = {"activate_selected_weapon": "activate_selected_item"}


class ConfigurationError(ValueError):
    """A configuration or its map that cannot be used: file, line, and the expected value."""


class Configuration(msgspec.Struct, frozen=True, kw_only=True):
    """Content of a configuration. Names are in lower case and in order, without repeats.

    ``map_file``: the map; None: the game's own. ``game_file``: the game (IWAD); None: the library's.
    ``timeout``: tics, 0 = none. ``skill``: 0 = the engine's. ``starts``: for a deathmatch on the map.
    """

    path: Path
    map_file: Path | None = None
    game_file: Path | None = None
    map_name: str = "map01"
    buttons: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    timeout: int = 0
    mode: str = "player"
    skill: int = 0
    starts: int = 0

    def check_match(self, players: int, bots: int) -> None:
        """Raise ``ConfigurationError`` for a match that the map cannot place: its engine would die."""
        if (players > 1 or bots > 0) and not self.starts:
            file = self.map_file or self.game_file or self.path
            raise ConfigurationError(
                f"{file}: {self.map_name} has no start for a deathmatch, expected players = 1 and bots = 0"
            )


def read(path: Path) -> Configuration:
    """Read and check a configuration and its map.

    Raises:
        ConfigurationError: The first problem in one sentence.
        ImportError: ViZDoom, which has the valid names, is not installed.
    """
    draft = _EntryReader(path)
    for line, key, value, more in _entries(path, _text(path)):
        draft.take(line, key, value, more)
    return draft.checked()


def _text(path: Path) -> str:
    try:
        with open_regular(path) as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            beside = sorted(p.name for p in path.parent.glob("*.cfg"))[:_MOST_FILES]
            near = _near(path.name, beside, "scenarios there")
            raise ConfigurationError(f"{path}: no such file{near}") from None
        raise ConfigurationError(f"{path}: {error.strerror}; expected a scenario (.cfg)") from None
    if len(raw) > MAX_BYTES:
        raise ConfigurationError(f"{path}: more than {MAX_BYTES:,} bytes, expected a scenario (.cfg)")
    if raw.startswith(b"\xef\xbb\xbf"):
        raise ConfigurationError(
            f"{path}: a byte order mark, which the engine does not read; save it without one"
        )
    try:
        text = text_of(raw)
    except TextError as error:
        raise ConfigurationError(f"{path}: {error}; expected a scenario (.cfg)") from None
    if found := _CONTROL.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise ConfigurationError(
            f"{path}: line {line}: a control character ({shown(found[0])}), expected text"
        )
    return text


def _entries(path: Path, text: str) -> Iterator[tuple[int, str, str, bool]]:
    """Yield line, key, value and whether it adds (``+=``); a list in braces is the names between them."""
    lines = enumerate((line.strip(" \t") for line in text.split("\n")), 1)
    for number, line in lines:
        if not line or line.startswith("#"):
            continue
        sign = "+=" if "+=" in line else "="
        written, found, value = line.partition(sign)
        written, value = written.strip(" \t"), value.strip(" \t")
        if not found or not written:
            raise ConfigurationError(f"{path}: line {number}: {shown(line)}: expected KEY = VALUE")
        key = _BY_SPELLING.get(written.lower(), "") if _KEY.fullmatch(written) else ""
        if not key:
            near = _near(written, _KEYS, "keys")
            raise ConfigurationError(f"{path}: line {number}: unknown key {shown(written)}{near}")
        if key in _LISTS:
            value = _list(path, number, key, value, lines)
        elif not value or "\t" in value:
            what = "a tab in its value" if value else "no value"
            raise ConfigurationError(f"{path}: line {number}: {key} has {what}")
        elif sign == "+=" and key != "game_args":
            raise ConfigurationError(f"{path}: line {number}: {key} is no list; expected {key} = VALUE")
        yield number, key, value, sign == "+="


def _list(path: Path, number: int, key: str, value: str, lines: Iterator[tuple[int, str]]) -> str:
    """Return the names of a list that starts at line ``number``, with its line breaks.

    ``lines``: those after it.
    """
    fault = ConfigurationError(
        f"{path}: line {number}: {key}: expected {{ NAME NAME ... }}, over several lines if wanted"
    )
    parts = [value]
    while "}" not in parts[-1]:
        _, line = next(lines, (0, "="))
        if "=" in line and not line.startswith("#"):
            raise fault
        parts.append("" if line.startswith("#") else line)
    whole = "\n".join(parts)
    inside = whole.strip(" \t\n")
    if not (inside.startswith("{") and inside.endswith("}")) or inside.count("}") + inside.count("{") > 2:
        raise fault
    return whole.replace("{", " ").replace("}", " ")


class _EntryReader:
    """Entries that have been read so far, checked one by one."""

    def __init__(self, path: Path) -> None:
        self.path, self.line = path, 0
        self.values: dict[str, str] = {}
        self.lists: dict[str, tuple[str, ...]] = {}
        self.lines: dict[str, int] = {}

    def fail(self, text: str) -> ConfigurationError:
        return ConfigurationError(f"{self.path}: line {self.line}: {text}")

    def take(self, line: int, key: str, value: str, more: bool) -> None:
        """Check one entry and keep it; a later one takes the place of an earlier one, as in the engine."""
        self.line = self.lines[key] = line
        if key in _LISTS:
            found: list[str] = []
            for self.line, names in enumerate(value.split("\n"), line):
                found += self._names(key, names.split())
            before = self.lists.get(key, ()) if more else ()
            self.lists[key] = tuple(dict.fromkeys((*before, *found)))
            return
        self.values[key] = value
        if key in _REFUSED:
            raise self.fail(f"{key} {_REFUSED[key]}; remove the line")
        if key in _REWARDS:
            self._expect(key, value, _is_number, f"a number from -{_LARGEST:g} to {_LARGEST:g}")
        elif key in _COUNTS:
            self._expect(key, value, _is_count, f"a whole number from 0 to {_LARGEST_WHOLE}")
        elif key in _ON_OFF:
            self._expect(key, value, lambda v: v.lower() in _SWITCHES, "true or false")
        elif key in _CHOICES:
            self._choice(key, value)
        elif key == "doom_map":
            self._expect(key, value, lambda v: bool(_MAP.fullmatch(v.lower())), "a name such as map01")
        elif key == "button_max_value":
            name, _, number = value.partition(" ")
            self._names(key, [name])
            self._expect(key, number.strip(" "), _is_count, "NAME NUMBER")
        elif key == "game_args":
            self._arguments(value)

    def _expect(self, key: str, value: str, holds: Callable[[str], bool], expected: str) -> None:
        if not value.isascii() or not holds(value):
            hint = "; a comment has its own line" if "#" in value else ""
            raise self.fail(f"{key} = {shown(value)}: expected {expected}{hint}")

    def _choice(self, key: str, value: str) -> None:
        valid = _members(_CHOICES[key])
        if not value.isascii() or value.lower() not in valid:
            near = _near(value, [v.upper() for v in valid], "expected one of", 0.6, len(valid))
            raise self.fail(f"{key} = {shown(value)}: no such value{near}")

    def _names(self, key: str, names: Sequence[str]) -> list[str]:
        """Return the names of a list in lower case."""
        what, kind = (
            ("variable", "GameVariable") if key == "available_game_variables" else ("button", "Button")
        )
        valid, found = _members(kind), []
        for name in names:
            known = _ALIASES.get(name.lower(), name.lower())
            if not name.isascii() or known not in valid:
                near = _near(name, [v.upper() for v in valid], f"{what}s")
                raise self.fail(f"{key}: the engine has no {what} {shown(name)}{near}")
            found.append(known)
        return found

    def _arguments(self, value: str) -> None:
        words = value.split()
        while words:
            word = words.pop(0)
            if word.lower() in _FLAGS:
                continue
            if not _RULE.fullmatch(word) or not words or not _VALUE.fullmatch(words.pop(0)):
                raise self.fail(
                    f"game_args: {shown(word)}: expected rules with a number, such as +sv_noautoaim 1, "
                    f"or one of {', '.join(_FLAGS)}; players, ports and files are not the scenario's"
                )

    def checked(self) -> Configuration:
        """Return the configuration, with its map and game checked."""
        values = self.values
        map_file, game_file = (self._file(key) for key in _FILES)
        name, starts = self._map(map_file, game_file or _library() / _GAME)
        return Configuration(
            path=self.path,
            map_file=map_file,
            game_file=game_file,
            map_name=name,
            buttons=self.lists.get("available_buttons", ()),
            variables=self.lists.get("available_game_variables", ()),
            timeout=int(values.get("episode_timeout", "0")),
            mode=values.get("mode", "player").lower(),
            skill=int(values.get("doom_skill", "0")),
            starts=starts,
        )

    def _file(self, key: str) -> Path | None:
        """Return a file that the configuration names; None without one, or for a game of the library."""
        if key not in self.values:
            return None
        self.line, value = self.lines[key], re.sub(" +", " ", self.values[key])
        parts = PurePosixPath(value).parts
        if value.startswith("/") or ".." in parts or "\\" in value or not parts:
            raise self.fail(
                f"{key} = {shown(value)}: leads out of the folder, expected a file beside {self.path.name}"
            )
        path = self.path.parent
        for part in parts:
            path /= part
            if path.is_symlink():
                raise self.fail(f"{key} = {shown(value)}: {path} is a link, expected the file itself")
        if path.exists():
            return path
        if key == "doom_game_path":
            if len(parts) == 1 and (_library() / value).is_file():
                return _library() / value
            known = sorted(p.name for p in _library().glob("*.wad"))
            near = _near(value, known, "games of the library", 0.9)
            raise self.fail(f"{key}: {path}: no such file, expected the game beside {self.path.name}{near}")
        beside = sorted(p.name for p in self.path.parent.glob("*.wad"))[:_MOST_FILES]
        raise self.fail(f"{key}: {path}: no such file{_near(value, beside, 'maps there')}")

    def _map(self, map_file: Path | None, game: Path) -> tuple[str, int]:
        """Return name and starts of the map that is played: of the scenario's file, or else of the game's.

        The engine plays another map where it does not find the one that is named.
        """
        maps = self._maps("doom_scenario_path", map_file) if map_file else {}
        given = self.values.get("doom_map", "").lower()
        wanted = (given,) if given else _FIRST_MAPS
        for found in (maps, self._maps("doom_game_path", game)):
            for name in wanted:
                if name in found:
                    return name, found[name]
        file, names = (map_file, maps) if map_file else (game, self._maps("doom_game_path", game))
        self.line = self.lines.get("doom_map", self.lines.get("doom_scenario_path", 1))
        near = _near(wanted[0], list(names), "maps there")
        raise self.fail(f"doom_map: {file.name} has no map {shown(wanted[0])}{near}")

    def _maps(self, key: str, path: Path) -> dict[str, int]:
        try:
            return maps_of(path)
        except WadError as error:
            self.line = self.lines.get(key, 0)
            raise self.fail(f"{key}: {path}: {error}") from None


def _near(name: str, valid: Sequence[str], kind: str, cutoff: float = 0.6, most: int = 8) -> str:
    """Return :func:`did_you_mean`, for a name of any length."""
    return did_you_mean(name[:_LONGEST], valid, kind, cutoff, most)


def _is_number(value: str) -> bool:
    return bool(_NUMBER.fullmatch(value)) and abs(float(value)) <= _LARGEST


def _is_count(value: str) -> bool:
    return bool(_WHOLE.fullmatch(value)) and int(value) <= _LARGEST_WHOLE


def _members(kind: str) -> tuple[str, ...]:
    """Return the names of an enumeration of the library, in lower case."""
    import vizdoom

    return tuple(name.lower() for name in getattr(vizdoom, kind).__members__)


def _library() -> Path:
    """Return the folder of the library, where its games are."""
    import vizdoom

    return Path(vizdoom.scenarios_path).parent
