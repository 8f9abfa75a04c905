"""Commands and programs of every page run in order, with small budgets, unless a mark names a need."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ludus.cli import __main__ as cli
from tests.docs.blocks import ALL, ROOT, Block
from tests.docs.workshop import BRIEF, Workshop, replay_of, toml_blocks
from tests.unit.api.from_folder import python

#: Pages whose blocks other tests run: all of one kind.
ELSEWHERE = {
    "docs/guides/from_python.md": ("python", "tests/unit/api/test_from_python.py"),
    "docs/guides/use_a_pool.md": ("python", "tests/unit/pool/test_guide.py"),
    "docs/guides/python_games.md": ("python", "tests/unit/games/test_python_guide.py"),
    "docs/guides/own_encoder.md": ("python", "tests/unit/policies/test_encoders.py"),
    "docs/guides/new_rts_game.md": ("", "tests/system/test_rts_guide.py"),
    "docs/guides/league.md": ("", "tests/unit/league/test_league_guide.py"),
    "docs/guides/add_a_method.md": ("python", "tests/unit/training/test_add_a_method.py"),
    "docs/guides/add_a_game.md": ("python", "tests/unit/tools/test_game_guide.py"),
}
#: Names that a page's program takes from the reader, by page.
GIVEN = {
    "README.md": "import ludus\nmatch = ludus.Match('minirts')\nobservation = match.observe(0)\n",
}
#: Trainings and evaluations of a program end after a few steps and matches.
BRIEFLY = """import ludus
train, evaluate = ludus.train, ludus.evaluate
few = {"run.max_minutes": 0, "run.max_steps": 2000, "run.threads": 1, "evaluation.final_matches": 2}
ludus.train = lambda *words, settings=(), **more: train(*words, settings=dict(settings) | few, **more)
ludus.evaluate = lambda *words, matches=0, **more: evaluate(*words, matches=4, **more)
"""
pytestmark = pytest.mark.slow


def runs_here(block: Block) -> bool:
    kind, _ = ELSEWHERE.get(block.page, (None, ""))
    return not block.needs and kind != block.kind and bool(block.commands or block.kind == "python")


PAGES = sorted({block.page for block in ALL if runs_here(block)})


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run of MiniRTS after its first update."""
    path = tmp_path_factory.mktemp("trained") / "run"
    assert cli.main(["train", "minirts", "--run-dir", str(path), "--quiet", *BRIEF]) == 0
    return path


def prepared(folder: Path, page: str, trained: Path) -> Workshop:
    """A workshop with the files that pages name, made of other pages' blocks where these have them."""
    shop = Workshop(folder, page, trained)
    rules, *preset = toml_blocks("docs/guides/new_rts_game.md")
    nim = next(b.text for b in ALL if b.page.endswith("python_games.md") and "class Nim" in b.text)
    method = next(b.text for b in ALL if b.page.endswith("add_a_method.md") and "METHOD =" in b.text)
    bot = next(b.text for b in ALL if b.page.endswith("new_rts_game.md") and b.kind == "python")
    for name, text in {
        "my_rules.toml": rules, "my_preset.toml": "".join(preset), "my_bot.py": bot, "reinforce.py": method,
        "nim.py": nim, "my_game.py": nim, "game.sgf": "(;GM[1]FF[4]SZ[9]KM[7];B[ee];W[cc];B[gc])",
    }.items():  # fmt: skip
        shop.file(name, text)
    text = (ROOT / page).read_text("utf-8")
    for name in ("match.ludus", "kept/match-000000.ludus"):
        if f"--record {Path(name).parent}" not in text:  # the page makes it
            shop.file(name, shop.match)
    if "go.ludus" in text:
        shop.file("go.ludus", replay_of("go", size=9))
    if "mine/*.ludus" in text:
        shop.run("ludus eval random --against random --game ./nim.py --record mine")
    return shop


@pytest.mark.parametrize("page", PAGES)
def test_a_page_runs_from_top_to_bottom(page: str, tmp_path: Path, trained: Path) -> None:
    shop = prepared(tmp_path, page, trained)
    failed, program = [], GIVEN.get(page, "")
    for block in (b for b in ALL if b.page == page and runs_here(b)):
        shop.runs_for(block)
        if block.kind == "python":
            program += block.text + "\n"
            continue
        for command in block.commands:
            try:
                shop.run(command)
            except Exception as error:
                failed.append(f"{block.where}: {command}\n  {error}")
    if program:
        python(tmp_path, BRIEFLY + program if "import ludus\n" in program else program)
    assert failed == [], "\n".join(failed)


def test_the_other_tests_read_these_pages() -> None:
    for page, (_, test) in ELSEWHERE.items():
        assert re.search(rf"\b{Path(page).name}\b|\"{Path(page).stem}", (ROOT / test).read_text("utf-8"))
