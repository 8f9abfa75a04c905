"""Records by every form, and random ones: the position is sgfmill's, also after writing and reading."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import pytest

from ludus.games.records import go_record
from ludus.gtp.engine import Engine
from ludus.gtp.players import BotPlayer
from ludus.gtp.protocol import GtpError
from tests.go_games import Written, by_form, generated
from tests.unit.gtp.test_engine import ok

GOLDEN = Path(__file__).parents[2] / "golden" / "sgf.json"
COUNT, SEED = 1000, 7  # of tools/sgf_golden.py


@functools.cache
def golden() -> dict[str, list[str]]:
    found: dict[str, list[str]] = json.loads(GOLDEN.read_text())
    return found


@functools.cache
def engine() -> Engine:
    return Engine(BotPlayer("random"), {"size": "9"})


def load(text: str) -> None:
    engine().session.load(go_record.load(text.encode()))


def position() -> str:
    """Rows from the top, and the side to move."""
    session = engine().session
    cells, size = session.match.view()["cells"], session.size
    rows = ["".join(".XO"[c + 1] for c in cells[y * size : (y + 1) * size]) for y in range(size)]
    return f"{'/'.join(rows)} {'bw'[session.to_move]}"


def check_round_trip(text: str) -> None:
    """Write the match of the engine and read it back: position, turn, moves, komi and handicap stay."""
    session = engine().session
    before, moves, komi = position(), list(session.moves), session.komi
    written = ok(engine(), "printsgf")
    load(written)
    assert (position(), session.moves, session.komi) == (before, moves, komi), (text, written)
    assert "HA[" not in written or "HA[" in text, (text, written)


def check(game: Written, expected: str) -> bool:
    """Whether the game is read: with the position of sgfmill, after each way to write it too."""
    if not expected:  # stones without liberties
        with pytest.raises(GtpError, match="invalid stones"):
            load(game.text)
        return False
    load(game.text)
    board, turn, komi = expected.split()
    assert position() == f"{board} {turn}", game.text
    assert "KM" not in game.usual or engine().session.komi == float(komi), game.text
    check_round_trip(game.text)
    if engine().session.moves:
        ok(engine(), "undo")
        check_round_trip(game.text)
    return True


def test_every_form_of_a_record_is_the_position_of_sgfmill() -> None:
    games = list(by_form())
    assert len(games) >= 200
    assert len(games) == len(golden()["by_form"])
    for game, found in zip(games, golden()["by_form"], strict=True):
        assert check(game, found), game.text


def test_random_records_are_the_positions_of_sgfmill() -> None:
    games = zip(generated(COUNT, SEED), golden()["generated"], strict=True)
    assert sum(check(game, found) for game, found in games) > 0.9 * COUNT
