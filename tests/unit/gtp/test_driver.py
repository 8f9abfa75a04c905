"""Matches between programs: our engine in a separate process, with GNU Go as opponent and referee."""

from __future__ import annotations

import itertools
import shutil
import sys

import pytest

from ludus.games.match import GameError, Match
from ludus.gtp.driver import MatchRules, play_match, score_points
from ludus.gtp.program import LOOK_S, CommandFailure, GtpProgram, ProgramError

OURS = [sys.executable, "-m", "ludus.cli", "gtp"]
GNU_GO = shutil.which("gnugo") or shutil.which("/usr/games/gnugo")


def test_two_engines_of_ludus_play_to_the_end() -> None:
    with GtpProgram([*OURS, "random"]) as black, GtpProgram([*OURS, "tactical", "--seed", "3"]) as white:
        assert black.name.startswith("Ludus")
        with pytest.raises(CommandFailure, match="unknown command"):
            black.ask("hello")
        played = play_match(black, white, MatchRules(7, 3.5))
    assert played.by == "count"
    assert played.moves[-1][1] == played.moves[-2][1] == 49
    assert played.points is not None
    assert played.result[:2] == ("B+" if played.points > 0 else "W+")


def test_a_match_starts_with_an_opening_that_all_programs_receive() -> None:
    with GtpProgram([*OURS, "random"]) as black, GtpProgram([*OURS, "tactical"]) as white:
        played = play_match(black, white, MatchRules(7, 3.5), opening=[24, 16, 32])
        assert played.moves[:4] == [(0, 24), (1, 16), (0, 32), (1, played.moves[3][1])]
        # A program that missed the opening would have played on a taken point, or would count otherwise.
        assert played.by == "count"
        assert black.ask("final_score") == white.ask("final_score")
        with pytest.raises(GameError):
            play_match(black, white, MatchRules(7, 3.5), opening=[24, 24])


@pytest.mark.parametrize("size", [2, 9, 13, 19])
def test_boards_of_every_size_have_a_limit_of_moves_that_the_game_allows(size: int) -> None:
    assert Match("go", MatchRules(size).params).tick == 0


def test_commands_that_are_no_engines_are_refused() -> None:
    with pytest.raises(ProgramError, match="No such file"):
        GtpProgram("/nowhere/at/all")
    with pytest.raises(ProgramError, match="it has ended"):
        GtpProgram([sys.executable, "-c", "print('= hello')"])
    with pytest.raises(ProgramError, match=r"no answer within 0\.2 s"):
        GtpProgram([sys.executable, "-c", "import time; time.sleep(60)"], timeout_s=0.2)
    with pytest.raises(ProgramError, match="expected an answer to command 1"):
        GtpProgram([sys.executable, "-c", "print('=7 hello\\n', flush=True); input(); input()"])


def test_time_in_which_this_process_stood_still_is_not_the_programs() -> None:
    answers = "import sys\nfor line in sys.stdin: print('=' + line.split()[0] + ' x\\n', flush=True)"
    jumps = itertools.count(0.0, 1000.0)  # every look comes 1,000 seconds later than planned
    with GtpProgram([sys.executable, "-c", answers], timeout_s=60.0, clock=lambda: next(jumps)) as program:
        assert program.ask("genmove b") == "x"
        assert program.waited_s <= 10 * LOOK_S + 60.0
    with GtpProgram([sys.executable, "-c", answers]) as program:
        before = program.waited_s
        program.ask("genmove b")
        assert 0.0 < program.waited_s - before < 60.0


def test_scores_are_read() -> None:
    assert [score_points(t) for t in ("B+3.5", "W+12", "0", "b+1 (upper bound)")] == [3.5, -12.0, 0.0, 1.0]
    with pytest.raises(ValueError, match="not a score"):
        score_points("White wins")


@pytest.mark.skipif(GNU_GO is None, reason="needs GNU Go")
def test_a_match_against_gnu_go_with_gnu_go_as_referee() -> None:
    gnu = f"{GNU_GO} --mode gtp --level 1 --chinese-rules --positional-superko --capture-all-dead"
    with GtpProgram([*OURS, "tactical"]) as ours, GtpProgram(gnu) as other, GtpProgram(gnu) as referee:
        for black, white in ((ours, other), (other, ours)):
            played = play_match(black, white, MatchRules(7, 3.5), referee=referee)
            assert played.winner is not None
            assert not played.by.startswith("illegal")
            assert played.by == "resignation" or played.counted_by.startswith("GNU Go")
