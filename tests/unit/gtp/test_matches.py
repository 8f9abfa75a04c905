"""Matches between programs: what happens when one of them fails."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from ludus.gtp import driver
from ludus.gtp.driver import TimeControl
from ludus.gtp.matches import (
    Contest,
    Fixture,
    MatchConditions,
    Pairing,
    PlayedFixture,
    check_program,
    command,
    opening,
)
from ludus.gtp.program import GtpProgram, ProgramError
from tests.unit.gtp.fakes import engine

QUICK = MatchConditions(size=5, komi=0.5, opening=1, referee="", timeout=1.0)


def _played(
    pairing: Pairing, conditions: MatchConditions = QUICK, matches: int = 2
) -> tuple[list[PlayedFixture], Contest]:
    contest, found = Contest([pairing], conditions, matches), list[PlayedFixture]()
    contest.play(found.append)
    return found, contest


@pytest.mark.parametrize(
    ("how", "fault", "text"),
    [
        ("exit", "ended", "out of memory"),
        ("hang", "silent", "no answer within 1 s"),
        ("nonsense", "nonsense", "genmove answered"),
        ("flood", "nonsense", "more than 1,048,576 characters"),
    ],
)
def test_a_program_that_fails_loses_its_match_and_starts_again(
    tmp_path: Path, how: str, fault: str, text: str
) -> None:
    player = engine(tmp_path)
    found, contest = _played(Pairing(player, engine(tmp_path, how)))
    assert [f.outcome for f in found] == ["won", "won"]
    assert [f.match.result for f in found] == ["B+F", "W+F"]
    assert {(f.faulty, f.fault) for f in found} == {("against", fault)}
    assert text in found[0].text
    assert "\x1b" not in found[0].text
    assert len(found[0].match.moves) >= 4  # those before the failure are kept
    assert not contest.left_out


def test_an_illegal_move_and_a_resignation_lose(tmp_path: Path) -> None:
    for how, by, result in (("illegal", "illegal move", "B+F"), ("resign", "resignation", "B+R")):
        found, _ = _played(Pairing(engine(tmp_path), engine(tmp_path, how)), matches=1)
        assert found[0].outcome == "won"
        assert found[0].match.by.startswith(by)
        assert found[0].match.result == result
        assert found[0].fault == ("illegal" if how == "illegal" else "")
        assert found[0].faulty == ("against" if how == "illegal" else None)


def test_a_program_that_fails_each_time_is_left_out_and_the_others_go_on(tmp_path: Path) -> None:
    player, good, bad = (engine(tmp_path, how, 0) for how in ("plays", "pass", "exit"))
    contest = Contest([Pairing(player, bad), Pairing(player, good)], QUICK, 6, jobs=2)
    found: list[PlayedFixture] = []
    contest.play(found.append)
    assert contest.left_out == {bad}
    against = [f for f in found if f.fixture.pairing == 0]
    assert 3 <= len(against) <= 4  # two matches may be in play when it fails the third time
    assert all(f.outcome == "won" for f in against)
    assert sorted(f.fixture.number for f in found if f.fixture.pairing == 1) == list(range(6))


@pytest.mark.parametrize("how", ["score", "infinite"])
def test_a_match_without_a_score_is_void(tmp_path: Path, how: str) -> None:
    conditions = MatchConditions(size=5, opening=1, referee=engine(tmp_path, how), timeout=5.0)
    player = engine(tmp_path, "pass", 0)
    found, _ = _played(Pairing(player, engine(tmp_path, "pass", 0)), conditions, 1)
    assert [(f.outcome, f.faulty, f.match.result) for f in found] == [("void", "referee", "Void")]
    assert "final_score answered" in found[0].text


def test_the_referees_score_counts(tmp_path: Path) -> None:
    conditions = MatchConditions(size=5, opening=1, referee=engine(tmp_path), timeout=5.0)
    found, _ = _played(Pairing(engine(tmp_path, "pass", 0), engine(tmp_path, "pass", 1)), conditions)
    assert [(f.outcome, f.match.result) for f in found] == [("won", "B+3.5"), ("lost", "B+3.5")]
    assert found[0].match.counted_by == "fake plays 1"


@pytest.mark.parametrize("control", [TimeControl(main=1), TimeControl(move=1)])
def test_a_program_beyond_its_time_loses(
    tmp_path: Path, control: TimeControl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "GRACE_S", -0.7)
    conditions = MatchConditions(size=5, opening=1, referee="", timeout=10.0, time=control)
    found, _ = _played(Pairing(engine(tmp_path, "untimed"), engine(tmp_path, "slow", 0)), conditions, 1)
    assert (found[0].outcome, found[0].match.result, found[0].fault) == ("won", "B+T", "")


def test_programs_are_told_their_time() -> None:
    assert TimeControl(move=1).exceeded(9.0, 2.1)
    assert not TimeControl(move=1).exceeded(9.0, 1.9)
    assert TimeControl(main=10).left(3.2) == (6, 0)
    assert TimeControl(main=10).left(11.0) == (0, 0)
    assert TimeControl(move=3).left(100.0) == (3, 1)
    assert TimeControl(main=9).settings() == "time_settings 9 0 0"
    assert TimeControl(move=9).settings() == "time_settings 0 9 1"
    assert TimeControl().settings() == ""


def test_stopping_ends_the_match_in_play_at_once(tmp_path: Path) -> None:
    conditions = MatchConditions(size=5, opening=1, referee="", timeout=50.0)
    contest = Contest([Pairing(engine(tmp_path), engine(tmp_path, "hang"))], conditions, 4)
    found: list[PlayedFixture] = []
    since = time.monotonic()
    contest.play(found.append, lambda: time.monotonic() > since + 0.5)
    assert time.monotonic() - since < 10.0
    assert found == []


def test_matches_that_are_over_are_not_played_again(tmp_path: Path) -> None:
    pairing = Pairing(engine(tmp_path), engine(tmp_path, "pass", 0))
    contest = Contest([pairing, pairing], QUICK, 3, over={Fixture(0, 1), Fixture(1, 2)})
    assert contest.schedule() == [
        [Fixture(0, 0)],
        [Fixture(1, 0), Fixture(1, 1)],
        [Fixture(0, 2)],
    ]


def test_a_program_is_checked_under_the_conditions(tmp_path: Path) -> None:
    assert check_program(engine(tmp_path), QUICK) == "fake plays 1"
    with pytest.raises(ProgramError, match="unacceptable size"):
        check_program(engine(tmp_path, "size"), QUICK)
    with pytest.raises(ProgramError, match="No closing quotation"):
        check_program("gnugo '--mode gtp", QUICK)


def test_a_program_ends_with_its_children(tmp_path: Path) -> None:
    mark = tmp_path / "alive"
    script = tmp_path / "wrapped.sh"
    script.write_text(f"(while sleep 0.1; do touch {mark}; done) &\n{engine(tmp_path)}\n", encoding="utf-8")
    with GtpProgram(f"sh {script}", 5.0) as program:
        assert program.ask("boardsize 9") == ""
        while not mark.exists():
            time.sleep(0.02)
    mark.unlink(missing_ok=True)
    time.sleep(0.4)
    assert not mark.exists()


def test_players_are_read() -> None:
    assert command("mcts:200")[-4:] == ["ludus.cli", "gtp", "mcts:200", "--quiet"]
    assert command("a 'b c'") == ["a", "b c"]
    assert command("gnugo:7")[1:5] == ["--mode", "gtp", "--level", "7"]
    with pytest.raises(ValueError, match="gnugo:1 to gnugo:10"):
        command("gnugo:0")


def test_openings_are_the_same_for_both_matches_of_a_pair() -> None:
    assert opening(9, 4, 1, 0) == opening(9, 4, 1, 0) != opening(9, 4, 1, 1)
    assert opening(9, 4, 1, 0) != opening(9, 4, 2, 0)
    assert opening(3, 4, 1, 0) == []
    assert len(set(opening(5, 16, 1, 3))) == len(opening(5, 16, 1, 3)) <= 9
