"""Positions from records and moves, and their boards as text."""

from __future__ import annotations

import re
import zlib
from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ludus.games.names import typed
from ludus.games.records import go_match, go_record
from ludus.games.views import View, view_of
from ludus.web.position.answer import PositionMove, PositionScore, PositionSearch, answer_of
from ludus.web.position.board_text import board_text, owners_text
from ludus.web.position.page import page_of
from ludus.web.position.source import HostedPosition, PositionError, of_moves, of_replay
from tests.unit.cli.python_nim import SOURCE


@pytest.fixture
def nim(tmp_path: Path) -> str:
    path = tmp_path / "nim.py"
    path.write_text(SOURCE, encoding="utf-8")
    return typed(str(path))


def candidate(mark: str, choice: int) -> PositionMove:
    return PositionMove(mark, "", choice, None, 1, 0.5, 0.0, ())


def header_of(page: str) -> dict[str, Any]:
    found = re.search(r'id="match-data">([^<]*)<', page)
    assert found is not None
    data = zlib.decompress(b64decode(found[1]))
    start = data.index(b"{")
    decoder = msgspec.json.Decoder(dict[str, Any])
    length = sum((byte & 0x7F) << (7 * k) for k, byte in enumerate(data[:start]))
    return decoder.decode(data[start : start + length])


def test_boards_have_letters_where_candidates_fill_a_cell() -> None:
    position = of_moves("4, 4 1", "connect_four", {})
    rows = board_text(position.view, position.document(), [candidate("A", 3), candidate("B", 6)]).splitlines()
    assert rows[0] == " 1 2 3 4 5 6 7"
    assert rows[-1] == " X . . X . . B"
    assert rows[-2] == " . . . O . . ."
    assert rows[-3] == " . . . A . . ."
    position = of_moves("b2", "tic_tac_toe", {})
    rows = board_text(position.view, position.document(), [candidate("A", 0), candidate("B", 4)]).splitlines()
    assert rows == ["  A B C", "3 A . .", "2 . X .", "1 . . ."]  # the middle is taken
    position = of_moves("K10", "go", {"size": "19"})
    rows = board_text(position.view, position.document(), [candidate("A", 361)]).splitlines()
    assert rows[0].split() == list("ABCDEFGHJKLMNOPQRST")
    assert rows[10] == "10 . . . . . . . . . X . . . . . . . . ."


@pytest.mark.parametrize(
    "document",
    [{}, {"cells": "x"}, {"cells": [0.5] * 9}, {"cells": [0] * 8}, {"cells": [0], "width": -1, "height": -1}],
)
def test_other_documents_have_no_board(document: Mapping[str, Any]) -> None:
    assert board_text(view_of("tic_tac_toe"), document, []) == ""
    assert board_text(View("map"), document, []) == ""
    assert board_text(None, document, []) == ""


def test_owners_are_letters_by_their_share() -> None:
    shares = (1.0, 0.59, 0.19, -0.2, -0.6, 0.0, 0.0, 0.0, 0.0)
    document = {"width": 3, "height": 3}
    rows = owners_text(view_of("go"), document, PositionScore(0.0, 0.0, True, shares)).splitlines()
    assert rows[1:] == ["3 X x .", "2 o O .", "1 . . ."]
    assert owners_text(view_of("go"), document, PositionScore(0.0, 0.0, True, shares[:5])) == ""


def test_a_record_of_a_python_game_is_a_position(nim: str) -> None:
    position = of_moves("take2 take1 take3", nim, {})
    assert isinstance(position, HostedPosition)
    replay = position.encoded()
    again = of_replay(replay, 3, nim)
    assert again.moves == ("take2", "take1")
    assert (again.tick, tuple(again.seats), again.legal()) == (2, (0,), [0, 1, 2])
    assert again.picture() == "6 left"
    last = of_replay(replay, None, nim)
    assert last.legal() == [0, 1, 2]
    with pytest.raises(PositionError, match="expected 1 to 4"):
        of_replay(replay, 5, nim)
    with pytest.raises(ValueError, match="replay"):
        of_replay(replay[:-3], 1, nim)
    recording = again.recording()
    assert [d.text for d in recording.decisions] == ["take2", "take1", "take3"]
    assert not any("not the recorded match" in str(view) for view in recording.views)


def test_the_page_of_a_record_opens_at_the_position() -> None:
    record = go_record.load(b"(;GM[1]SZ[5]KM[0.5];B[cc];W[cb];B[bc])")
    position = of_replay(go_match.replay_of(record).replay, 2)
    found = PositionSearch("mcts:30", position).search(3)
    header = header_of(page_of(position, answer_of(position, "x.sgf", [found.opinion]), [found]))
    assert header["start"] == 1
    (thought,) = header["thoughts"]
    assert (thought["ticks"], thought["seats"]) == ([1], [1])
    (head,) = thought["heads"]
    shown = dict(zip(head["choices"], head["visits"], strict=True))
    for move in found.opinion.candidates:
        assert shown[move.choice] == move.visits
        assert dict(map(tuple, head["labels"]))[move.choice] == move.move


def test_equal_seeds_give_equal_answers() -> None:
    one, two, other = (
        PositionSearch("mcts:200", of_moves("4 4", "connect_four", {}), seed=seed).search(7).opinion
        for seed in (5, 5, 6)
    )
    assert one == two != other
