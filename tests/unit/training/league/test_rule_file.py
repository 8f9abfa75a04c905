"""Rules of a league from files and packages: what loads, what is refused and where it is said."""

from __future__ import annotations

import shutil
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from ludus.flow.process import extensions
from ludus.games import names
from ludus.league.rules import registry
from ludus.presets import rule_file
from ludus.presets.checks.game import check_game
from ludus.presets.errors import ConfigError
from ludus.presets.file import PresetError, load_preset
from ludus.training.run_code import code_files

EXAMPLE = Path(__file__).parents[4] / "examples" / "pfsp.py"
LEAGUE = """
[game]
name = "matrix"
[[league.players]]
name = "main"
rule = "./mine.py:Pfsp"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a league and its rule; the current folder is another one."""
    monkeypatch.setattr(names, "_typed", set())
    monkeypatch.setattr(rule_file, "_loaded", {})
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    shutil.copy(EXAMPLE, tmp_path / "mine.py")
    (tmp_path / "league.toml").write_text(LEAGUE)
    return tmp_path


def refused(folder: Path, **overrides: str) -> str:
    """Return the message about a preset that cannot be used."""
    options = {f"league.players.0.{key.replace('__', '.')}": text for key, text in overrides.items()}
    with pytest.raises(PresetError) as caught:
        check_game(load_preset(str(folder / "league.toml"), options))
    return str(caught.value)


def test_a_path_in_a_preset_starts_at_the_preset_and_a_typed_one_here(folder: Path) -> None:
    loaded = load_preset(str(folder / "league.toml"))
    assert loaded.preset.league is not None
    assert loaded.preset.league.players[0].rule == f"{folder / 'mine.py'}:Pfsp"
    check_game(loaded)
    shutil.copy(EXAMPLE, "here.py")
    loaded = load_preset(str(folder / "league.toml"), {"league.players.0.rule": "./here.py:Pfsp"})
    check_game(loaded)
    (file,) = [f for f in code_files(loaded.preset) if f.setting == "league.players.0.rule"]
    assert (file.name, file.path) == ("here.py", str(folder / "elsewhere" / "here.py"))
    league = loaded.preset.league
    assert league is not None
    (rule,) = rule_file.rules_of(league).values()
    assert (rule.name, rule.sha256) == ("here.py:Pfsp", file.sha256)


def test_a_name_that_no_user_gave_runs_nothing(folder: Path) -> None:
    (folder / "mine.py").write_text("raise AssertionError('run')")
    with pytest.raises(ConfigError, match="a name read from a file loads no Python file"):
        rule_file.load_rule(f"{folder / 'mine.py'}:Pfsp")


def test_a_file_runs_once_and_again_when_it_has_changed(folder: Path) -> None:
    reference = names.typed(f"{folder / 'mine.py'}:Pfsp")
    first = rule_file.load_rule(reference)
    assert rule_file.load_rule(reference).make is first.make
    (folder / "mine.py").write_text(EXAMPLE.read_text() + "\n")
    second = rule_file.load_rule(reference)
    assert second.make is not first.make
    assert second.sha256 != first.sha256


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("class Pfsp(\n", "line 1: '(' was never closed; expected a Python file and the name of a class"),
        ("x = 1\n1 / 0\n", "line 2: ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)", "line 1: SystemExit: 3"),
        ("class Pfps: ...", "has no class Pfsp (did you mean Pfps?)"),
        ("Pfsp = 3", "is of type int, expected a class with meet, freeze, origin"),
        (
            "class Pfsp:\n    def meet(self, view, random): ...",
            "Pfsp has no method freeze, expected meet",
        ),
        (
            "class Pfsp:\n    def meet(self): ...\n    freeze = origin = meet",
            "has a method meet: too many positional arguments; expected meet(self, view, random)",
        ),
    ],
)
def test_a_file_without_the_rule_is_refused(folder: Path, source: str, message: str) -> None:
    (folder / "mine.py").write_text(source)
    text = refused(folder)
    assert text.startswith(f"{folder / 'league.toml'}: league.players.0.rule = ")
    assert message in text


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("./nothere.py:Pfsp", "no such file; expected a Python file and the name of a class"),
        ("./mine.py", "no class; expected a Python file and the name of a class"),
        ("nothere", "no rule of an installed package; expected a Python file"),
        ("os:path", "no rule of an installed package; expected a Python file"),
    ],
)
def test_a_reference_to_no_rule_is_refused(folder: Path, reference: str, message: str) -> None:
    text = refused(folder, rule=reference)
    assert text.startswith('settings["league.players.0.rule"]: league.players.0.rule = ')
    assert message in text


def test_parameters_that_a_rule_does_not_take_are_refused(folder: Path) -> None:
    assert "unknown key league.players.0.params.perod (did you mean period?)" in refused(
        folder, params__perod="3"
    )
    (folder / "mine.py").write_text(
        EXAMPLE.read_text().replace(
            "        self.power,",
            "        if power < 0:\n            raise ValueError('power')\n        self.power,",
        )
    )
    assert "league.players.0.params: mine.py:Pfsp cannot be made: ValueError: power" in refused(
        folder, params__power="-1"
    )


def test_a_rule_of_an_installed_package_needs_no_trust(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("newest", f"{__name__}:Newest", "ludus.league_rules")
    monkeypatch.setattr(
        extensions.Extensions,
        "_entry_points",
        lambda self, name="": [entry] if name in ("", "newest") else [],
    )
    monkeypatch.setattr(registry._RULES, "_found", {})
    loaded = load_preset(str(folder / "league.toml"), {"league.players.0.rule": "newest"})
    check_game(loaded)
    assert loaded.preset.league is not None
    (rule,) = rule_file.rules_of(loaded.preset.league).values()
    assert (rule.name, rule.path) == ("newest", __file__)
    assert len(rule.sha256) == 64
    assert "(did you mean newest?)" in refused(folder, rule="newst")


class Newest:
    def meet(self, view: object, random: object) -> dict[str, float]:
        return {}

    def freeze(self, view: object, random: object) -> bool:
        return False

    def origin(self, view: object, random: object) -> str:
        return "itself"
