"""Tables of the games' pages: filled from the spec, idempotent, and mistakes in a page are named."""

from __future__ import annotations

import pytest

from ludus.games import spec
from ludus.games.registry import BUILT_IN
from tools.gen_docs import PAGES, SECTIONS, fill

PAGE = "# A game\n" + "".join(f"\ntext\n\n<!-- spec: {name} -->\nold\n<!-- end -->\n" for name in SECTIONS)


def test_blocks_are_rewritten_and_text_is_kept() -> None:
    s = spec("tic_tac_toe")
    once = fill(PAGE, s)
    assert "old" not in once
    assert once.count("text") >= len(SECTIONS)
    assert fill(once, s) == once
    for name in [t.name for t in s.observation] + [h.name for h in s.heads] + [b.name for b in s.bots]:
        assert f"`{name}`" in once
    assert "`board` | `bits[2, 3, 3]` | 0 .. 1" in once
    assert "| observation, packed | 3 bytes |" in once


def test_the_guide_explains_each_order_and_unit() -> None:
    page = fill(PAGE, spec("minirts"))
    assert (
        "| 1 | build_worker | The base trains a worker, which gathers money. | an idle base and 50 money |"
        in page
    )
    assert "| worker | 50 | base |" in page
    assert "It needs a column that is not full" in fill(PAGE, spec("connect_four"))  # once for all columns


@pytest.mark.parametrize("game", BUILT_IN)
def test_a_game_has_a_small_picture(game: str) -> None:
    picture = PAGES.parent / "images" / "games" / f"{game}.webp"
    assert 1_000 < picture.stat().st_size <= 40_000


def test_a_block_may_show_other_parameters() -> None:
    page = PAGE + "<!-- spec: actions commands=units -->\n<!-- end -->\n"
    filled = fill(page, spec("minirts"))
    assert "| `strategy` | 9 | - |" in filled
    assert "| `place` | 25 | `unit`, `order` |" in filled
    assert fill(filled, spec("minirts")) == filled


def test_a_page_without_a_section_is_refused() -> None:
    with pytest.raises(ValueError, match="bots"):
        fill(PAGE.replace("spec: bots", "spec: actions"), spec("tic_tac_toe"))


def test_an_unknown_section_is_refused() -> None:
    with pytest.raises(ValueError, match="rulez"):
        fill(PAGE + "<!-- spec: rulez -->\n<!-- end -->\n", spec("tic_tac_toe"))
