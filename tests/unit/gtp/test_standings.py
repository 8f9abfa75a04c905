"""Records of matches between programs, and the ratings from them."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from ludus.flow.inputs.decode import to_json
from ludus.gtp.matches import Fixture, MatchConditions, Outcome, Pairing
from ludus.gtp.standings import (
    ContestHead,
    ContestLine,
    OpponentScore,
    head_of,
    over_of,
    ratings_of,
    read_record,
    result_of,
    score_of,
)
from ludus.storage.errors import CorruptFile

HEAD = head_of(MatchConditions(referee="gnugo"))


def line(
    number: int, outcome: Outcome, player: str = "a", against: str = "b", moves: str = "E5"
) -> ContestLine:
    return ContestLine(
        player, against, number, "black" if number % 2 == 0 else "white", outcome, "B+1", "count",
        "", "", 44, (2.0, 4.0), 4, (player, against), moves,
    )  # fmt: skip


def many(player: str, against: str, won: int, lost: int, drawn: int = 0) -> OpponentScore:
    outcomes: list[Outcome] = [*["won"] * won, *["lost"] * lost, *["drawn"] * drawn]  # type: ignore[list-item]
    lines = [line(n, outcome, player, against) for n, outcome in enumerate(outcomes)]
    return score_of(Pairing(player, against), lines)


def test_scores_count_draws_as_half_and_leave_void_matches_out() -> None:
    outcomes: tuple[Outcome, ...] = ("won", "lost", "drawn", "void", "won")
    found = score_of(Pairing("a", "b"), [line(n, o, moves=str(n % 3)) for n, o in enumerate(outcomes)])
    assert (found.matches, found.won, found.drawn, found.lost, found.void) == (4, 2, 1, 1, 1)
    assert found.rate == 2.5 / 4
    assert found.low < found.rate < found.high
    assert found.distinct == 3
    assert found.seconds_per_move == (0.1, 0.2)  # 40 moves a match after the opening, 20 of each
    empty = score_of(Pairing("a", "c"), [])
    assert (empty.matches, empty.low, empty.high) == (0, 0.0, 1.0)


def test_a_rating_against_one_opponent_is_the_odds() -> None:
    player, opponent = ratings_of([many("a", "b", 300, 100)])
    assert (player.player, opponent.player, opponent.elo) == ("a", "b", 0.0)
    assert player.elo == pytest.approx(400 * math.log10(3), abs=3.0)
    assert player.elo_low < player.elo < player.elo_high
    # The standard error of a logit is 1 / sqrt(n p (1 - p)).
    error = 400 / math.log(10) / math.sqrt(400 * 0.75 * 0.25)
    assert player.elo_high - player.elo == pytest.approx(1.96 * error, rel=0.03)


def test_one_rating_against_all_opponents() -> None:
    """Opponents at -200, 0 and +200; a player at +100 scores by its rating."""

    def expected(difference: float, matches: int) -> tuple[int, int]:
        won = round(matches / (1 + 10 ** (-difference / 400)))
        return won, matches - won

    strengths = {"weak": -200.0, "middle": 0.0, "strong": 200.0}
    scores = [many("a", name, *expected(100.0 - elo, 400)) for name, elo in strengths.items()]
    alone = {r.player: r for r in ratings_of(scores)}
    assert alone["weak"].elo == 0.0
    for name, elo in {**strengths, "a": 100.0}.items():
        assert alone[name].elo == pytest.approx(elo + 200.0, abs=8.0)
    cross = [many("weak", "middle", *expected(-200.0, 400)), many("middle", "strong", *expected(-200.0, 400))]
    both = {r.player: r for r in ratings_of([*scores, *cross])}
    assert both["a"].elo == pytest.approx(300.0, abs=8.0)
    assert both["a"].elo_high - both["a"].elo_low < alone["a"].elo_high - alone["a"].elo_low


def test_a_player_that_won_all_matches_is_a_bound() -> None:
    player, opponent = ratings_of([many("a", "b", 10, 0)])
    assert (player.bound, opponent.bound) == ("high", "low")
    assert 0.0 < player.elo < 2000.0
    assert ratings_of([many("a", "b", 0, 0)]) == ()


def test_a_record_is_read_without_its_unfinished_line(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    assert read_record(path, HEAD) == []
    lines = [line(0, "won"), line(1, "void"), line(2, "lost", against="c")]
    path.write_bytes(b"".join(to_json(x) + b"\n" for x in [HEAD, *lines]) + b'{"player": "a", "aga')
    assert read_record(path, HEAD) == lines
    pairings = [Pairing("a", "c"), Pairing("a", "b")]
    assert over_of(lines, pairings) == {Fixture(1, 0), Fixture(0, 2)}  # a void match is played again
    again = [*lines, line(1, "won")]
    assert result_of(HEAD, pairings, again).scores[1].won == 2
    path.write_bytes(to_json(HEAD)[:10])  # killed while it wrote the first line
    assert read_record(path, HEAD) == []


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a letter to a friend", "no record of matches"),
        ("a letter\n", "not a JSON object"),
        ("{}\n", "no line of a record"),
        (json.dumps({**json.loads(to_json(HEAD)), "size": 13}) + "\n", "size = 13, these have 9"),
        (to_json(HEAD).decode() + '\n{"player": 3}\n', "no line of a record"),
        (to_json(HEAD).decode() + "\n" + "[" * 5000 + "\n", "not a JSON object"),
    ],
)
def test_other_files_are_refused_and_kept(tmp_path: Path, text: str, error: str) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CorruptFile, match=error):
        read_record(path, HEAD)
    assert path.read_text(encoding="utf-8") == text
    assert isinstance(HEAD, ContestHead)
