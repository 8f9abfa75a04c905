"""Rulebooks from files: reading, messages of refusals, storage in runs and replays."""

from __future__ import annotations

import json
import random
import re
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from ludus.cli import __main__ as cli
from ludus.games import replays, rulebook, spec
from ludus.native import ParamError
from ludus.presets.checks.game import check_game
from ludus.presets.document import to_toml
from ludus.presets.file import PresetError, load_preset, parse_preset

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MINE = """
extends = "extended"
title = "Mine"

[units.pikeman]
cost = 90
hp = 120
attack = 9
attack_range = 1
vision = 4
speed = 0.06
accepts = ["move", "attack"]
cooldown = { attack = 12 }

[units.barrack]
builds = ["spearman", "pikeman"]

[attack.pikeman]
dragon = 0.5
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_rulebook_file_adds_a_type_to_actions_and_observations(tmp_path: Path) -> None:
    text = rulebook.read(written(tmp_path, MINE))
    declared = spec("rts", {"rulebook": text})
    assert declared.title == "Mine"
    assert "build_pikeman" in declared.heads[0].labels
    tensors = {t.name: t for t in declared.observation}
    assert "pikeman" in tensors["units"].labels
    assert "own_pikeman" in tensors["globals"].labels
    assert tensors["cells"].labels[14] == "pikeman"
    values = rulebook.keys(text)
    assert values["attack.pikeman.dragon"] == "0.5"
    assert values["units.archer.hp"] == "150"


def test_rulebook_files_equal_the_built_in_rulebooks() -> None:
    folder = Path(rulebook.__file__).parent / "rulebooks"
    for name in rulebook.names():
        assert rulebook.keys(rulebook.read(folder / f"{name}.toml")) == rulebook.keys(name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("extends = 'extnded'", "extends = 'extnded': no such rulebook (did you mean extended?)"),
        (
            MINE.replace("hp = 120", "hpp = 120"),
            "'units.pikeman.hpp': unknown key (did you mean units.pikeman.hp?)",
        ),
        (
            MINE.replace("cost = 90", "cost = -1"),
            "units.pikeman.cost = '-1': expected an integer in [0, 1000000]",
        ),
        (MINE.replace("0.5", "'half'"), "attack.pikeman.dragon = 'half': expected a number in [0, 10]"),
        (
            MINE.replace('"move", "attack"', '"mov"'),
            "expected a list of move, attack, gather, build (did you mean move?)",
        ),
        ("[units.a]\nhp = 1979-05-27", "units.a.hp = datetime.date(1979, 5, 27): expected a number"),
        ("[units.a]\nhp = [[1]]", "units.a.hp = [[1]]: expected a number, true or false, a string"),
        ("[units.a]\nhp = ", "not valid TOML"),
        ("title = 'a # b'", "hold no line breaks, = or #"),
        ("\xff", "expected at least two types"),
    ],
)
def test_a_mistake_is_reported_with_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path, text if text != "\xff" else "")
    with pytest.raises(ParamError) as refused:
        rulebook.read(path)
    (line,) = str(refused.value).splitlines()
    assert re.match(rf"{re.escape(str(path))}:([12]?\d:)? ", line)
    assert message in str(refused.value)


def test_hostile_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "big.toml").write_bytes(b"#" * (rulebook.MAX_FILE + 1))
    (tmp_path / "long.toml").write_text("".join(f"k{i} = {i}\n" for i in range(9000)))
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    for name in ("big", "long", "bytes", "absent"):
        with pytest.raises(ParamError, match=name):
            rulebook.read(tmp_path / f"{name}.toml")


def test_rulebooks_are_checked_and_described_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, MINE)
    assert cli.main(["games", "check", str(path), "--matches", "1"]) == 0
    out = capsys.readouterr().out
    assert "pikeman" in out
    assert "build_pikeman" in out
    assert "ok  replay" in out
    path.write_text(MINE.replace("hp = 120", "hp = 0"), encoding="utf-8")
    assert cli.main(["games", "check", str(path)]) == 3
    line = 1 + path.read_text(encoding="utf-8").splitlines().index("hp = 0")
    assert (
        f"{path}:{line}: units.pikeman.hp = '0': expected an integer in [1, 30000]" in capsys.readouterr().err
    )
    assert cli.main(["games", "schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    units = schema["properties"]["units"]["patternProperties"]["^[a-z][a-z0-9_]{0,23}$"]["properties"]
    assert units["hp"] == {
        "description": "hit points of a new one",
        "type": "integer",
        "minimum": 1,
        "maximum": 30000,
    }


def fits(value: object, schema: dict[str, Any]) -> bool:
    """Check a value by the part of JSON schema that the rulebook's schema uses."""
    kind = schema["type"]
    if kind == "object":
        if not isinstance(value, dict):
            return False
        own = schema.get("properties", {})
        patterns = schema.get("patternProperties", {})
        for key, item in value.items():
            below = own.get(key) or next((s for p, s in patterns.items() if re.search(p, key)), None)
            if below is None or not fits(item, below):
                return False
        return True
    if kind == "array":
        return isinstance(value, list) and all(fits(v, schema["items"]) for v in value)
    if kind == "string":
        return (
            isinstance(value, str)
            and value in schema.get("enum", [value])
            and len(value) <= schema.get("maxLength", len(value))
            and re.search(schema.get("pattern", ""), value) is not None
        )
    if kind == "boolean":
        return isinstance(value, bool)
    whole = isinstance(value, int) and not isinstance(value, bool)
    right = whole or (kind == "number" and isinstance(value, float))
    return right and schema["minimum"] <= cast(float, value) <= schema["maximum"]


def test_the_schema_accepts_what_the_core_accepts() -> None:
    schema = cast("dict[str, Any]", rulebook.schema())
    folder = Path(rulebook.__file__).parent / "rulebooks"
    for name in rulebook.names():
        assert fits(tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8")), schema), name
    assert fits(tomllib.loads(MINE), schema)
    for wrong in ("hp = 0", "hp = 1.5", "hp = '1'", "hpp = 1", "accepts = ['mov']", "accepts = 'move'"):
        assert not fits(tomllib.loads(f"[units.pikeman]\n{wrong}"), schema), wrong
        assert not fits(tomllib.loads("[units.Pike]\nhp = 1"), schema)


PRESET = """
[game]
name = "rts"
params = { rulebook = "mine.toml" }

[game.randomise]
"units.archer.hp" = [100, 200]
"units.dragon.speed" = [0.1, 0.25]

[[opponents]]
name = "rush"
"""


def test_a_preset_stores_the_text_of_its_rulebook(tmp_path: Path) -> None:
    """The files of a run do not depend on the rulebook's file."""
    written(tmp_path, MINE)
    preset = tmp_path / "p.toml"
    preset.write_text(PRESET, encoding="utf-8")
    loaded = load_preset(str(preset))
    declared = check_game(loaded)
    assert "build_pikeman" in declared.heads[0].labels
    params = loaded.preset.game.params
    assert params["randomise"] == "units.archer.hp=100,200\nunits.dragon.speed=0.1,0.25\n"
    (tmp_path / "mine.toml").unlink()
    again = parse_preset(to_toml(loaded.preset).encode(), "config.toml").preset
    assert again == loaded.preset


def test_mistakes_in_the_rulebook_of_a_preset_are_reported(tmp_path: Path) -> None:
    written(tmp_path, MINE.replace("hp = 120", "hp = 0"))
    preset = tmp_path / "p.toml"
    preset.write_text(PRESET, encoding="utf-8")
    with pytest.raises(
        PresetError, match=r"p.toml: game.params.rulebook: .*mine.toml:\d+: units.pikeman.hp = '0'"
    ):
        load_preset(str(preset))
    written(tmp_path, MINE)
    preset.write_text(PRESET.replace("archer.hp", "archer.hpp"), encoding="utf-8")
    with pytest.raises(
        PresetError, match=r"randomise units.archer.hpp: unknown key \(did you mean units.archer.hp"
    ):
        check_game(load_preset(str(preset)))
    preset.write_text(PRESET.replace('name = "rush"', 'name = "simple"'), encoding="utf-8")
    with pytest.raises(PresetError, match=r"unknown bot simple of rts.*rush"):
        check_game(load_preset(str(preset)))


def test_replays_store_the_rules_that_were_drawn(tmp_path: Path) -> None:
    params = {
        "rulebook": rulebook.read(written(tmp_path, MINE)),
        "randomise": rulebook.randomise_text({"units.spearman.attack": (5, 30), "start.money": (100, 900)}),
    }
    money = set()
    for match in range(6):
        data = replays.record("rts", params, seed=3, match=match, bots=["rush", "mixed"], hash_every=20)
        (tmp_path / "mine.toml").unlink(missing_ok=True)
        assert replays.verify(data).same
        money.add(json.loads(replays.frames(data, 1 << 20)[0])["money"][0])
    assert len(money) > 3


def test_a_replay_never_names_a_file(tmp_path: Path) -> None:
    """A path in a replay's parameters counts as the name of a rulebook, and there is none of that name."""
    path = written(tmp_path, MINE)
    with pytest.raises(ParamError, match="no such rulebook"):
        spec("rts", {"rulebook": str(path)})


def test_mutated_files_are_refused_or_valid(tmp_path: Path) -> None:
    """Fuzz the Python half: TOML gives lines or an error. The core's fuzz test is fuzz_rulebook."""
    good = (Path(rulebook.__file__).parent / "rulebooks" / "extended.toml").read_text(encoding="utf-8")
    rng = random.Random(5)
    refused = valid = 0
    path = tmp_path / "m.toml"
    for _ in range(150):
        text = list(good)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(text))
            kind = rng.randrange(3)
            if kind == 0:
                text[at] = chr(rng.randrange(32, 127))
            elif kind == 1:
                del text[at : at + rng.randint(1, 6)]
            else:
                text.insert(at, rng.choice(["9", "-", "=", "[", "]", '"', "\n", ".", "é", "e9"]))
        path.write_text("".join(text), encoding="utf-8")
        try:
            rulebook.read(path)
            valid += 1
        except ParamError as error:
            refused += re.match(rf"{re.escape(str(path))}:(\d+:)? ", str(error)) is not None
    assert refused + valid == 150
    assert refused > 10
    assert valid > 10
