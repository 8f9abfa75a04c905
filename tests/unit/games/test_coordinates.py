"""Names of cells: known points, and back again."""

from __future__ import annotations

import pytest

from ludus.games.coordinates import cell_name, column_name
from tests.cell_names import cell_named


@pytest.mark.parametrize(
    ("index", "columns", "rows", "kind", "name"),
    [
        (0, 9, 9, "go", "A9"),
        (8, 9, 9, "go", "J9"),  # no I
        (8, 15, 15, "chess", "I15"),
        (72, 9, 9, "go", "A1"),
        (19 * 15 + 3, 19, 19, "go", "D4"),
        (360, 19, 19, "go", "T1"),
        (4, 3, 3, "chess", "B2"),
        (2, 7, 6, "columns", "3"),
        (37, 7, 6, "columns", "3"),
        (26, 40, 40, "chess", "AA40"),
        (25, 40, 40, "go", "AA40"),
        (4, 3, 3, "", ""),
        (9, 3, 3, "chess", ""),
        (-1, 3, 3, "chess", ""),
    ],
)
def test_a_cell_has_the_name_that_players_know(
    index: int, columns: int, rows: int, kind: str, name: str
) -> None:
    assert cell_name(index, columns, rows, kind) == name


@pytest.mark.parametrize("kind", ["go", "chess"])
@pytest.mark.parametrize(("columns", "rows"), [(3, 3), (9, 9), (19, 19), (5, 2), (60, 2)])
def test_every_name_leads_back_to_its_cell(kind: str, columns: int, rows: int) -> None:
    names = [cell_name(i, columns, rows, kind) for i in range(columns * rows)]
    assert len(set(names)) == columns * rows
    assert [cell_named(f" {name.lower()} ", columns, rows, kind) for name in names] == [
        *range(columns * rows)
    ]


def test_a_column_is_its_number() -> None:
    assert [cell_named(str(n + 1), 7, 6, "columns") for n in range(7)] == [*range(7)]
    assert [column_name(n, "columns") for n in range(3)] == ["1", "2", "3"]


@pytest.mark.parametrize(
    "text", ["", "d", "4", "d0", "d10", "k1", "i5", "4d", "d4x", "pass", "d4 d4", "d" * 99, "²1"]
)
def test_any_other_text_is_no_cell(text: str) -> None:
    assert cell_named(text, 9, 9, "go") == -1


@pytest.mark.parametrize("text", ["0", "8", "a", "", "1.5", "-1", "²"])
def test_any_other_text_is_no_column(text: str) -> None:
    assert cell_named(text, 7, 6, "columns") == -1
