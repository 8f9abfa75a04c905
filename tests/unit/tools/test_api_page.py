"""``tools/api_page.py``: every public name is on the page with a description."""

from __future__ import annotations

import re

import pytest

import ludus
from tools import api_page


def test_every_public_name_has_its_place() -> None:
    text = api_page.page()
    headings = re.findall(r"^### `([\w.]+)`$", text, re.MULTILINE)
    assert {f"ludus.{name}" for name in ludus.__all__} - {"ludus.__version__"} <= set(headings)
    assert len(set(headings)) == len(headings)
    for private in (r":\w+:`", "(?<!`)``[a-z]", r"0x[0-9a-f]{6}", "<factory>"):
        assert re.search(private, text) is None, private


def test_a_new_public_name_needs_a_section(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ludus, "__all__", [*ludus.__all__, "shiny"])
    with pytest.raises(api_page.MissingText, match="shiny: public, and in no section"):
        api_page.page()


def _undescribed(rows: int, columns: int) -> None:
    """Does it.

    Args:
        rows: Rows of it.
    """


def _renamed(rows: int) -> None:
    """Does it.

    Args:
        rows: Rows of it.
        colums: Columns of it.
    """


def _silent(rows: int) -> None: ...


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (_undescribed, "no word about the arguments columns"),
        (_renamed, "describes colums, which it does not take"),
        (_silent, "public, without a docstring"),
    ],
)
def test_a_name_without_a_description_is_refused(function: object, message: str) -> None:
    with pytest.raises(api_page.MissingText, match=message):
        list(api_page._described("ludus", "it", function))


def test_sections_become_lists() -> None:
    text = "\n".join(api_page._described("ludus", "search", ludus.search))
    assert text.startswith(
        '### `ludus.search`\n\n```python\nsearch(\n    match: Match,\n    player: str = "mcts:400",\n    *,'
    )
    assert "\n- `seed`: Seed of the search.\n" in text
    assert "**Returns** Move, value for that seat" in text
    assert "\n- `ConfigError`: No searched player" in text
