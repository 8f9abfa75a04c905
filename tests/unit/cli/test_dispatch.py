"""From the first word to the exit code: dispatch, messages, completion."""

from __future__ import annotations

import json
import re
import shlex
from importlib import import_module
from pathlib import Path

import pytest

from ludus.cli import __main__ as cli
from ludus.cli.arguments import WIDTH, fields_of, parse
from ludus.cli.commands.serve import _has_network
from ludus.cli.complete import candidates
from ludus.cli.table import COMMANDS, EXAMPLES, groups, load
from ludus.presets.file import load_preset


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_loads_has_help_and_a_line_for_each_field(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([*name.split(), "--help"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"usage: ludus {name}")
    assert err == ""
    for field in fields_of(load(name)):
        assert field.help, f"{name}: {field.name} has no description"
        assert (field.metavar if field.positional else field.flag) in out
    page = " ".join(out.split())
    assert not re.search(r"\(default: [^)]*\) \(default: ", page)  # said once
    assert "(, " not in page  # "" is no value that one types


@pytest.mark.parametrize("name", [n for n in COMMANDS if n != "completion"])
def test_the_examples_of_a_help_page_are_command_lines(name: str) -> None:
    command = load(name)
    lines: tuple[str, ...] = getattr(command, "EXAMPLES", ())
    assert lines, f"{name} has no example"
    for line in lines:
        words = shlex.split(line.partition(" > ")[0])
        assert words[: 1 + len(name.split())] == ["ludus", *name.split()]
        parse(command, name, words[1 + len(name.split()) :])


def test_help_pages_fit_a_terminal_and_name_the_next_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    page = capsys.readouterr().out
    for line in EXAMPLES:
        assert f"  {line}\n" in page
        assert cli._command_name(line.split()[1:]) in COMMANDS
    for name, entry in COMMANDS.items():
        assert f"  {name:<15}  {entry.summary}\n" in page
        assert cli.main(["help", *name.split()]) == 0
        own = capsys.readouterr().out
        assert own.startswith(f"usage: ludus {name}")
        page += own
    assert max(map(len, page.splitlines())) <= WIDTH
    assert cli.main(["help"]) == 0
    assert capsys.readouterr().out.startswith("usage: ludus COMMAND ...\n")
    assert cli.main(["help", "games"]) == 0
    assert "  games show    " in capsys.readouterr().out
    assert cli.main(["help", "trian"]) == 2
    assert "did you mean train?" in capsys.readouterr().err


@pytest.mark.parametrize("name", [n for n in COMMANDS if n not in ("completion", "gtp")])
def test_every_command_has_json(name: str) -> None:
    assert "json" in {f.name for f in fields_of(load(name))}


def test_known_errors_exist() -> None:
    """The table names classes as text; a renamed class would silently become an internal fault."""
    for module, name, _ in cli._KNOWN:
        assert issubclass(getattr(import_module(module), name), Exception)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("gmes", "unknown command gmes (did you mean games?); see: ludus --help"),
        ("games", "ludus games: missing command; expected one of list, show, fetch, check, schema"),
        ("games lst", "ludus games: unknown command lst (did you mean list?)"),
        ("games show minirst", "unknown game minirst (did you mean minirts?); see: ludus games list"),
        (
            "games show minirts --param map_sise=3",
            "--param unknown parameter map_sise (did you mean map_size?); see: ludus games show minirts",
        ),
        (
            "games show minirts --param map-size=3",
            "--param map_size = 3: expected an integer from 10 to 32; see: ludus games show minirts",
        ),
        ("games show minirts --param map", "--param map: expected NAME=VALUE"),
        (
            "games list --jsn",
            "ludus games list: unknown option --jsn (did you mean --json?); see: ludus games list --help",
        ),
        (
            "bench sim minirts --bots simpel",
            "unknown bot simpel of minirts (did you mean simple?); see: ludus games show minirts",
        ),
        (
            "bench sim minirts --bots a,b,c",
            "--bots a,b,c: minirts has 2 seats; expected one bot or one per seat",
        ),
        ("replay info nothing.ludus", "nothing.ludus: no such replay file"),
        ("train nofile.toml", "nofile.toml: no such file; shipped presets: ludus presets list"),
        (
            "train my/minirst.toml",
            "my/minirst.toml: no such file (did you mean the shipped preset minirts?); "
            "shipped presets: ludus presets list",
        ),
        ("train minirst", "minirst: no such preset or game (did you mean minirts?); see: ludus games list"),
        (
            "train minirts --run.lag asnc",
            '--run.lag: run.lag = "asnc": expected one of async, pipelined, sync (did you mean async?)',
        ),
        (
            "train minirts --algorithm.clip-ratoi 1",
            "--algorithm.clip-ratoi: unknown key algorithm.clip_ratoi (did you mean clip_ratio?)",
        ),
        (
            "train minirts --opponents.0.name simpel",
            "--opponents.0.name: opponents.0.name: unknown bot simpel of minirts (did you mean simple?); "
            "see: ludus games show minirts",
        ),
        ("resume nowhere", "nowhere: not a run directory (no config.toml in it); see: ls runs"),
    ],
)
def test_a_mistake_is_one_line_on_stderr_and_exit_code_2(
    line: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(line.split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == message + "\n"


def test_an_internal_fault_shows_its_traceback_and_the_doctor(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(words: list[str]) -> int:
        raise ZeroDivisionError("inside")

    monkeypatch.setattr(cli, "dispatch", broken)
    assert cli.main(["games"]) == 1
    err = capsys.readouterr().err
    assert "ZeroDivisionError: inside" in err
    assert "ludus doctor" in err


def test_a_full_disk_is_reported_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(words: list[str]) -> int:
        raise OSError(28, "No space left on device", "runs/x")

    monkeypatch.setattr(cli, "dispatch", broken)
    assert cli.main([]) == 1
    err = capsys.readouterr().err
    assert err.startswith("No space left on device: runs/x; ")
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        (["tra"], ["track", "train"]),
        (["games", ""], ["check", "fetch", "list", "schema", "show"]),
        (["games", "show", "mini"], ["minirts"]),
        (["games", "show", "--js"], ["--json"]),
        (["train", "minirts", "--run.la"], ["--run.lag"]),
        (["train", "minirts", "--run.lag", ""], ["async", "pipelined", "sync"]),
        (["train", "minirts", "--algorithm.vtrace", ""], ["false", "true"]),
        (["completion", ""], ["bash", "fish", "zsh"]),
        (["eval", "hit"], ["hit_and_run"]),
        (["nothing", "x"], []),
    ],
)
def test_completion(typed: list[str], expected: list[str]) -> None:
    assert candidates(typed) == expected


def test_presets_are_listed_and_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["presets", "list"]) == 0
    rows = {line.split()[0]: line.split()[1] for line in capsys.readouterr().out.splitlines()[1:]}
    assert rows["minirts"] == "minirts"
    assert rows["cartpole"] == "gymnasium/CartPole-v1"
    assert cli.main(["presets", "list", "--json"]) == 0
    assert {p["name"] for p in json.loads(capsys.readouterr().out)} == set(rows)
    assert cli.main(["presets", "show", "tic_tac_toe"]) == 0
    (tmp_path / "mine.toml").write_text(capsys.readouterr().out)
    assert load_preset("mine.toml").preset == load_preset("tic_tac_toe").preset
    assert cli.main(["presets", "show", "mine.toml", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["game"]["name"] == "tic_tac_toe"
    assert cli.main(["presets", "show", "tictactoe"]) == 2


def test_completion_scripts_ask_ludus_itself(capsys: pytest.CaptureFixture[str]) -> None:
    for shell in ("bash", "zsh", "fish"):
        assert cli.main(["completion", shell]) == 0
        assert "ludus __complete" in capsys.readouterr().out


def test_an_unknown_command_or_option_is_answered_with_the_whole_list(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["zzzzzz"]) == 2
    err = capsys.readouterr().err
    assert err == f"unknown command zzzzzz (commands: {', '.join(groups())}); see: ludus --help\n"
    assert len(groups()) > 20
    assert cli.main(["surgery", "RUN@last", "--zzzzzzzz"]) == 2
    err = capsys.readouterr().err
    options = [field.flag for field in fields_of(load("surgery")) if not field.positional]
    assert f"(options: {', '.join([*options, '--help'])})" in err


@pytest.mark.parametrize(
    ("player", "network"),
    [
        ("runs/r@best", True),
        ("runs/r@main:12", True),
        ("runs/r@best+search:200", True),
        ("w.safetensors", True),
        ("simple", False),
        ("mcts:400", False),
        ("plan:8x100", False),
        ("my_bot.py", False),
    ],
)
def test_weights_have_a_network_to_load(player: str, network: bool) -> None:
    assert _has_network(player) is network
