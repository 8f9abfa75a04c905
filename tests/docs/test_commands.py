"""Every block of the documentation runs or names its needs; every command is one that there is."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest

from ludus.cli import __main__ as cli
from ludus.cli import arguments
from ludus.cli.commands.train import Train
from ludus.cli.table import COMMANDS, load
from ludus.cli.table import groups as first_words
from ludus.presets.checks.game import check_game
from ludus.presets.file import load_preset
from tests.docs.blocks import ALL, NEEDS, PAGES, ROOT, Block, blocks, is_command, marks, words_of
from tests.unit.preset_choice import why_preset_absent

if sys.version_info >= (3, 11):
    import tomllib
else:
    from pip._vendor import tomli as tomllib

#: Commands that end at once and need no run: they run as they stand.
AT_ONCE = ("games list", "games show", "games schema", "presets list", "presets show", "cluster render")
#: Programs besides ludus that run without a mark.
PLAIN = {"ls", "python"}
SHIPPED = {path.stem for path in (ROOT / "presets").glob("*.toml")}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
LINES = [(block, command) for block in ALL for command in block.commands]

#: Settings that name weights, which are not there.
WEIGHTS = ("run.start", "algorithm.teacher", "league.players.0.seed")


def ludus_words(command: str) -> list[str]:
    """Words behind ``ludus``; none of another program."""
    program, *words = words_of(command)
    return words if program.removeprefix(".venv/bin/") == "ludus" else []


def test_the_pages_have_blocks() -> None:
    assert len(LINES) > 200
    assert sum(block.kind == "python" for block in ALL) > 30
    assert {Path(block.page).name for block, _ in LINES} >= {"README.md", "faq.md", "start.md", "train.md"}


def test_every_mark_stands_before_its_block_and_names_a_need() -> None:
    for page in PAGES:
        assert marks(page) == sum(bool(b.needs) for b in blocks(page)), page
    for block in ALL:
        for need in block.needs:
            assert need in NEEDS, f"{block.where}: {need}, expected one of {', '.join(NEEDS)}"


def unneeded(block: Block) -> list[str]:
    """Needs that no word of the block shows."""
    return [need for need in block.needs if not re.search(NEEDS[need], block.text)]


def test_no_mark_is_there_without_a_need() -> None:
    assert [f"{b.where}: {need}" for b in ALL for need in unneeded(b)] == []
    free = Block("p.md", 1, "", "ludus games list\n", ("network", "Ray"))
    assert unneeded(free) == ["network", "Ray"]


def unmarked(block: Block) -> list[str]:
    """Commands of an unmarked block that no test runs."""
    if block.needs:
        return []
    programs = {c: words_of(c)[0].removeprefix(".venv/bin/") for c in block.commands}
    return [c for c, program in programs.items() if program not in PLAIN | {"ludus"}]


def test_a_block_that_no_test_can_run_is_marked() -> None:
    assert [f"{b.where}: {c}" for b in ALL for c in unmarked(b)] == []
    assert unmarked(Block("p.md", 1, "", "make demo\n", ())) == ["make demo"]


def test_no_command_hides_in_a_block_of_something_else() -> None:
    """In a block without a language either the first line is a command, or none is."""
    for block in ALL:
        if not block.kind and not block.commands:
            hidden = [x for x in block.text.splitlines() if re.match(r"(\.venv/bin/)?ludus \w", x)]
            assert hidden == [], block.where
        for command in block.commands:
            assert is_command(command), f"{block.where}: {command}"


@pytest.mark.parametrize("page", sorted({block.page for block, _ in LINES}))
def test_commands_parse(page: str) -> None:
    """By the parser of the command line: command, options, types of values, number of arguments."""
    for block, command in LINES:
        if block.page == page and (words := ludus_words(command)):
            name = cli._command_name(words)
            assert name in COMMANDS, f"{block.where}: {command}"
            try:
                arguments.parse(load(name), name, words[len(name.split()) :])
            except Exception as error:
                pytest.fail(f"{block.where}: {command}\n{error}")


def test_commands_in_the_text_exist() -> None:
    """``ludus WORD`` between backquotes names a command or the first word of some."""
    names = {*first_words(), "--help", "--version", "COMMAND", "help"}
    found = 0
    for page in PAGES:
        for span in re.findall(r"`ludus ([\w-]+)[^`]*`", page.read_text("utf-8")):
            found += 1
            assert span in names, f"{page.name}: ludus {span}"
    assert found > 100


def shipped(name: str) -> bool:
    """Whether a preset comes with the package: by its name, or by its file in a clone."""
    return name in SHIPPED or (name.startswith("presets/") and Path(name).stem in SHIPPED)


TRAINED = [
    (block, words)
    for block, command in LINES
    if (words := ludus_words(command)) and words[0] == "train" and shipped(words[1])
]


def test_settings_of_trainings_are_valid() -> None:
    """Presets are shipped ones; their options are settings with valid values, checked against the game."""
    assert len(TRAINED) > 30
    for block, words in TRAINED:
        if "--method" in words or any("cluster" in word for word in words):
            continue
        if why_preset_absent(Path(words[1]).stem):
            continue
        parsed = arguments.parse(Train, "train", words[1:])
        overrides = {k: v for k, v in parsed.overrides.items() if k not in WEIGHTS}
        name = parsed.preset if parsed.preset in SHIPPED else str(ROOT / parsed.preset)
        try:
            check_game(load_preset(name, overrides))
        except Exception as error:
            pytest.fail(f"{block.where}: {' '.join(words)}\n{error}")


def test_targets_of_make_and_extras_and_files_exist() -> None:
    targets = set(re.findall(r"^([\w-]+):(?!=)", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for block, command in LINES:
        words = words_of(command)
        if words[0] == "make":
            assert {w for w in words[1:] if "=" not in w} <= targets, f"{block.where}: {command}"
        for extras in re.findall(r"\[([\w,-]+)\]'", command):
            assert set(extras.split(",")) <= PROJECT["optional-dependencies"].keys(), block.where
        for word in words[1:]:
            if re.match(r"(presets|sweeps|examples|benchmarks|tools)/", word):
                assert (ROOT / word).exists(), f"{block.where}: {word}"
            if re.match(r"(benchmarks|tools)\.\w", word):
                assert (ROOT / f"{word.replace('.', '/')}.py").exists(), f"{block.where}: {word}"


def test_what_ends_at_once_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    ran = 0
    for block, command in LINES:
        words = ludus_words(command)
        name = cli._command_name(words) if words else ""
        if name not in AT_ONCE or {"foragers", "nim"} & set(words):  # games that the page adds
            continue
        ran += 1
        assert cli.main(words) == 0, f"{block.where}: {command}\n{capsys.readouterr().err}"
        assert capsys.readouterr().out, f"{block.where}: {command}"
    assert ran > 6


def test_mistakes_print_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    two, one = (b.text.partition("\n")[2] for b in ALL if "a file with mistakes" in b.needs)
    start = '[game]\nname = "minirts"\n\n[algorithm]\nname = "appo"\n'
    Path("mine.toml").write_text(f'{start}clip_ratoi = 0.1\n\n[run]\nlag = "pipeline"\n')
    assert cli.main(["train", "mine.toml"]) == 2
    assert capsys.readouterr().err == two
    Path("mine.toml").write_text(f"{start}\n[run]\nseed = -1\n")
    assert cli.main(["train", "mine.toml", "--json"]) == 2
    assert json.loads(capsys.readouterr().out) == json.loads(one)


PROGRAMS = [block for block in ALL if block.kind == "python"]


@pytest.mark.parametrize("page", sorted({block.page for block in PROGRAMS}))
def test_programs_compile_and_their_imports_exist(page: str) -> None:
    for block in (b for b in PROGRAMS if b.page == page):
        text = block.text if not block.text.startswith(" ") else f"class _:\n{block.text}"
        tree = ast.parse(text, block.where)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ludus"):
                module = importlib.import_module(node.module or "")
                for name in node.names:
                    assert hasattr(module, name.name) or importlib.util.find_spec(
                        f"{node.module}.{name.name}"
                    )
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == "ludus"
            ):
                import ludus

                assert node.attr == "gymnasium" or hasattr(ludus, node.attr), (
                    f"{block.where}: ludus.{node.attr}"
                )
