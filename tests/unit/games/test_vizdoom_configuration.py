"""Configurations and maps of ViZDoom are checked before an engine reads them."""

from __future__ import annotations

import os
import random
import struct
import time
from pathlib import Path

import pytest

from ludus.games.adapters.vizdoom import configuration
from ludus.games.adapters.vizdoom.configuration import ConfigurationError, read
from ludus.games.adapters.vizdoom.wad import WadError, maps_of
from tests.unit.games.doom_files import CONFIG, scenario, wad

MEMBERS = {
    "Button": ("attack", "move_left", "move_right", "activate_selected_item", "turn_left_right_delta"),
    "GameVariable": ("health", "ammo2", "player1_fragcount"),
    "Mode": ("player", "spectator"),
    "ScreenResolution": ("res_160x120", "res_320x240"),
    "ScreenFormat": ("crcgcb", "gray8"),
    "AutomapMode": ("normal",),
    "SamplingRate": ("sr_22050",),
}


@pytest.fixture(autouse=True)
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The names and the game of a library, so that no test here needs ViZDoom."""
    folder = tmp_path / "library"
    folder.mkdir()
    (folder / "freedoom2.wad").write_bytes(wad((1, 11), "MAP07", kind=b"IWAD"))
    monkeypatch.setattr(configuration, "_members", lambda kind: MEMBERS[kind])
    monkeypatch.setattr(configuration, "_library", lambda: folder)
    return folder


def test_a_configuration_is_read(tmp_path: Path) -> None:
    found = read(scenario(tmp_path))
    assert found.buttons == ("attack", "move_right")
    assert found.variables == ("health", "ammo2")
    assert (found.timeout, found.mode, found.skill) == (300, "player", 2)
    assert (found.map_file, found.map_name, found.starts) == (tmp_path / "small.wad", "map01", 0)


def test_a_later_entry_takes_the_place_of_an_earlier_one(tmp_path: Path) -> None:
    more = (
        "mode = spectator\navailableButtons += { ACTIVATE_SELECTED_WEAPON }\navailable_game_variables = {}\n"
    )
    found = read(scenario(tmp_path, CONFIG + more))
    assert found.mode == "spectator"
    assert found.buttons == ("attack", "move_right", "activate_selected_item")
    assert found.variables == ()


FAULTS = {
    "mode PLAYER\n": r"line 1: 'mode PLAYER': expected KEY = VALUE",
    "= PLAYER\n": "line 1: '= PLAYER': expected KEY = VALUE",
    "mode =\n": "line 1: mode has no value",
    "mode = a\tb\n": "line 1: mode has a tab in its value",
    "\nmodus = PLAYER\n": r"line 2: unknown key modus \(did you mean mode\?\)",
    "mode = PLAYR\n": r"line 1: mode = PLAYR: no such value \(did you mean PLAYER\?\)",
    "mode += PLAYER\n": "mode is no list; expected mode = VALUE",
    "screen_resolution = 320x240\n": r"320x240: no such value \(did you mean RES_320X240\?\)",
    "episode_timeout = 5 # s\n": "expected a whole number from 0 to 2147483647; a comment has its own line",
    "episode_timeout = -5\n": "expected a whole number",
    "episode_timeout = 4294967295\n": "expected a whole number",
    f"episode_timeout = {'9' * 5000}\n": "expected a whole number",
    "living_reward = nan\n": "expected a number",
    "living_reward = 1e99\n": "expected a number",
    "render_hud = yes\n": "expected true or false",
    "doom_map = map 01\n": "expected a name such as map01",
    "doom_map = map01;quit\n": "expected a name such as map01",
    "button_max_value = ATTACK\n": "expected NAME NUMBER",
    "button_max_value = ATAK 5\n": r"no button ATAK \(did you mean ATTACK\?\)",
    "available_buttons = {\nATTACK\n\nATAK }\n": r"line 4: .* no button ATAK \(did you mean ATTACK\?\)",
    "available_buttons = { ATTACK\nmode = PLAYER\n": "line 1: available_buttons: expected { NAME NAME",
    "available_buttons = { ATTACK": "line 1: available_buttons: expected { NAME NAME",
    "available_buttons = ATTACK }": "line 1: available_buttons: expected { NAME NAME",
    "available_buttons = {{ ATTACK }": "line 1: available_buttons: expected { NAME NAME",
    "available_game_variables = { HELTH }": r"no variable HELTH \(did you mean HEALTH\?\)",
    "available_game_variables = { PLAYER17_FRAGCOUNT }": "no variable PLAYER17_FRAGCOUNT",
    "vizdoom_path = run_me\n": "line 1: vizdoom_path names a program that would be run; remove the line",
    "doom_config_path = x\n": "doom_config_path names a file that the engine would write",
    "game_args = +sv_cheats 1 -host 9\n": "game_args: -host: expected rules with a number",
    "game_args = +exec file\n": "game_args: .exec: expected rules with a number",
    "game_args = +sv_cheats\n": "game_args: .sv_cheats: expected rules with a number",
    "game_args = +sv_cheats 1;quit\n": "game_args: .sv_cheats: expected rules with a number",
    "doom_scenario_path = smal.wad\n": r"line 1: .*no such file \(did you mean small.wad\?\)",
    "doom_scenario_path = ../small.wad\n": "leads out of the folder, expected a file beside small.cfg",
    "doom_scenario_path = /etc/passwd\n": "leads out of the folder",
    "doom_scenario_path = a\\small.wad\n": "leads out of the folder",
    "doom_scenario_path = link.wad\n": "link.wad is a link, expected the file itself",
    "doom_scenario_path = linked/small.wad\n": "linked is a link, expected the file itself",
    "doom_scenario_path = small.cfg\n": r"small.cfg: not a WAD \(starts with doom\), expected IWAD or PWAD",
    "doom_scenario_path = folder\n": "folder: not a regular file",
    "doom_game_path = doom.wad\n": r"beside small.cfg \(games of the library: freedoom2.wad\)",
    "doom_scenario_path = small.wad\ndoom_map = map02\n": (
        r"line 2: doom_map: small.wad has no map map02 \(did you mean map01\?\)"
    ),
    "doom_map = map01\n": r"line 1: doom_map: freedoom2.wad has no map map01 \(did you mean map07\?\)",
    "# \x1b[31m\n": r"line 1: a control character \('\\x1b'\)",
    "# \x00\n": r"line 1: a control character",
    "# a\rmode = PLAYER": r"line 1: a control character",
}


@pytest.mark.parametrize("text", FAULTS, ids=range(len(FAULTS)))
def test_a_fault_is_one_sentence_with_file_and_line(tmp_path: Path, text: str) -> None:
    folder = tmp_path / "mine"
    path = scenario(folder, text)
    (folder / "link.wad").symlink_to("small.wad")
    (folder / "folder").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "small.wad").write_bytes(wad())
    (folder / "linked").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigurationError, match=FAULTS[text]) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: line ")
    assert "\n" not in str(caught.value)


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    path = scenario(tmp_path)
    with pytest.raises(ConfigurationError, match=r"smll.cfg: no such file \(did you mean small.cfg\?\)"):
        read(tmp_path / "smll.cfg")
    with pytest.raises(ConfigurationError, match="not a regular file; expected a scenario"):
        read(tmp_path)
    os.mkfifo(tmp_path / "pipe.cfg")
    with pytest.raises(ConfigurationError, match="not a regular file; expected a scenario"):
        read(tmp_path / "pipe.cfg")
    os.truncate(path, 1 << 30)
    with pytest.raises(ConfigurationError, match=r"more than 65,536 bytes"):
        read(path)
    path.write_bytes(b"\xff\xd8\xff\xe0 a picture")
    with pytest.raises(ConfigurationError, match=r"not UTF-8 text \(byte 0\)"):
        read(path)
    path.write_bytes(b"\xef\xbb\xbfmode = PLAYER\n")
    with pytest.raises(ConfigurationError, match="a byte order mark, which the engine does not read"):
        read(path)


def test_a_game_of_the_library_has_the_map_that_a_scenario_lacks(tmp_path: Path) -> None:
    found = read(scenario(tmp_path, CONFIG.replace("map01", "map07")))
    assert (found.map_name, found.starts) == ("map07", 1)
    found = read(scenario(tmp_path, "doom_game_path = freedoom2.wad\ndoom_map = MAP07\n"))
    assert found.game_file == configuration._library() / "freedoom2.wad"


def test_a_match_needs_starts(tmp_path: Path) -> None:
    alone = read(scenario(tmp_path))
    alone.check_match(1, 0)
    for players, bots in ((2, 0), (1, 1)):
        with pytest.raises(ConfigurationError, match=r"small.wad: map01 has no start for a deathmatch"):
            alone.check_match(players, bots)
    read(scenario(tmp_path, map_file=wad((1, 11)))).check_match(8, 8)


@pytest.mark.parametrize("form", ["doom", "hexen", "text"])
def test_starts_are_counted_in_every_form_of_a_map(tmp_path: Path, form: str) -> None:
    path = tmp_path / "a.wad"
    path.write_bytes(wad((1, 11, 2, 11, 3001), "E1M1", form=form))
    assert maps_of(path) == {"e1m1": 2}


WADS = {
    b"": "not a WAD",
    b"PWAD": "not a WAD",
    b"PK\x03\x04" + bytes(64): r"not a WAD .* expected IWAD or PWAD",
    struct.pack("<4sii", b"PWAD", -1, 12): "lumps, expected 0 to 65,536",
    struct.pack("<4sii", b"PWAD", 1 << 30, 12): "lumps, expected 0 to 65,536",
    struct.pack("<4sii", b"PWAD", 1, 12): "its directory ends beyond the file",
    struct.pack("<4sii", b"PWAD", 1, -12) + bytes(64): "its directory ends beyond the file",
    struct.pack("<4sii", b"PWAD", 0, 0) + bytes(64): "its directory ends beyond the file",
    struct.pack("<4siiii8s", b"PWAD", 1, 12, 0, 99, b"\x1bA"): r"the lump '\\x1bA' lies outside of the file",
    struct.pack("<4siiii8s", b"PWAD", 1, 12, -4, 4, b"A"): "the lump A lies outside of the file",
    struct.pack("<4siiii8s", b"PWAD", 1, 12, 0, -4, b"A"): "the lump A lies outside of the file",
}


@pytest.mark.parametrize("raw", WADS, ids=range(len(WADS)))
def test_a_damaged_map_is_refused(tmp_path: Path, raw: bytes) -> None:
    path = scenario(tmp_path, map_file=raw)
    with pytest.raises(ConfigurationError, match=WADS[raw]) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: line 2: doom_scenario_path: {tmp_path / 'small.wad'}: ")


def test_a_map_of_a_gigabyte_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.wad"
    path.write_bytes(wad())
    os.truncate(path, 1 << 30)
    with pytest.raises(WadError, match="1,073,741,824 bytes, expected at most"):
        maps_of(path)


def test_a_long_name_is_compared_in_no_time(tmp_path: Path) -> None:
    for text in (
        "k" * 60_000 + " = 1\n",
        "available_buttons = { " + "k" * 60_000 + " }\n",
        "mode = " + "k" * 60_000,
    ):
        path = scenario(tmp_path, text)
        before = time.process_time()
        with pytest.raises(ConfigurationError) as caught:
            read(path)
        assert time.process_time() - before < 1.0
        assert len(str(caught.value)) < 1000


def _damaged(draw: random.Random, raw: bytes, text: bool) -> bytes:
    def drawn(count: int) -> bytes:
        return bytes(draw.choices(b" _=#{}AELM019\n", k=count)) if text else draw.randbytes(count)

    for _ in range(draw.choice((0, 1, 1, 2))):
        at = draw.randrange(len(raw) + 1)
        kind = draw.randrange(4)
        if kind == 0:
            raw = raw[:at]
        elif kind == 1:
            raw = raw[:at] + drawn(draw.randint(1, 9)) + raw[at:]
        elif kind == 2:
            raw = raw[:at] + drawn(draw.choice((1, 4))) + raw[at + 1 :]
        else:
            end = draw.randrange(len(raw) + 1)
            raw = raw[:at] + draw.choice((b"{", b"}", b"=", b"\n", b"#", b"+=", raw[at:end])) + raw[at:]
    return raw


def test_damage_is_an_error_or_a_configuration(tmp_path: Path) -> None:
    draw, good, messages = random.Random(5), {"cfg": 0, "wad": 0}, set()
    for turn in range(500):
        kind = "cfg" if turn % 2 else "wad"
        path = scenario(
            tmp_path, map_file=_damaged(draw, wad((1, 11)), text=False) if kind == "wad" else None
        )
        if kind == "cfg":
            path.write_bytes(_damaged(draw, CONFIG.encode(), text=turn % 8 > 1))
        try:
            found = read(path)
        except ConfigurationError as error:
            messages.add(str(error))
            continue
        good[kind] += 1
        assert set(found.buttons) <= set(MEMBERS["Button"])
        assert found.map_file is None or found.map_file.parent == tmp_path
    assert not [text for text in messages if "\n" in text or len(text) > 1000]
    assert 4 < good["cfg"] < 240
    assert 10 < good["wad"] < 240
