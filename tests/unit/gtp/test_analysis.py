"""Analysis, rules and records as KataGo and controllers expect them."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from ludus.games import go
from ludus.games.match import Match
from ludus.games.records import sgf
from ludus.gtp.analysis import MOST_SCORED, lower_bound, read_options
from ludus.gtp.engine import Engine
from ludus.gtp.players import BotPlayer, Expectation, MoveCandidate, Restriction, SearchReport
from ludus.gtp.protocol import GtpError
from ludus.gtp.resolve import resolve_player
from tests.unit.gtp.test_engine import Thinker, ask, engine, ok


def thinker() -> Engine:
    return Engine(Thinker(40, 0.0))


def report(e: Engine, command: str) -> str:
    """Return the first report of an analysis."""
    text = e.handle(command)
    assert text.startswith("=\ninfo "), text
    return text[2:-2]


def test_keys_are_read_in_any_order() -> None:
    options = read_options("w interval 50 maxmoves 3 minmoves 2 rootInfo true".split(), go.BLACK, 9)
    assert (options.seat, options.interval, options.least, options.most) == (go.WHITE, 0.5, 2, 3)
    assert options.flags == {"rootInfo"}
    assert read_options("b 25 ownership true ownership false".split(), go.WHITE, 9).flags == set()
    assert read_options(["25", "minmoves", "7"], go.BLACK, 9).interval == 0.25  # 7 is no interval
    avoid = "avoid b A1,pass 5 avoid b B2 8 allow w C3 2"
    black, white = read_options(avoid.split(), go.BLACK, 9).restrictions
    assert (black.seat, black.barred, black.depth) == (go.BLACK, (64, 72, 81), 8)
    assert (white.seat, white.depth) == (go.WHITE, 2)
    assert set(range(82)) - set(white.barred) == {go.point_of("C3", 9)}


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        ("b 10 wibble 3", "unknown key wibble, expected one of interval"),
        ("interval x", "expected centiseconds"),
        ("maxmoves 0", "expected moves from 1"),
        ("minmoves", "expected minmoves VALUE"),
        ("ownership yes", "ownership: expected true or false"),
        ("avoid b A1", "expected avoid COLOUR VERTEX"),
        ("avoid b A1,Z9 3", "expected vertices"),
        ("avoid x A1 3", "expected a colour"),
        ("avoid b A1 0", "expected a depth from 1"),
        ("allow b A1 3 avoid b A2 3", "allow may be given once"),
    ],
)
def test_unknown_keys_and_values_are_refused(words: str, wrong: str) -> None:
    with pytest.raises(GtpError, match=re.escape(wrong)):
        read_options(words.split(), go.BLACK, 9)


def test_the_number_of_moves_is_bounded_from_both_sides() -> None:
    e = thinker()
    assert moves(report(e, "kata-analyze b 10")) == [("E5", "100"), ("A9", "3")]
    assert moves(report(e, "kata-analyze b 10 maxmoves 1")) == [("E5", "100")]
    # Moves without visits come by their prior.
    assert moves(report(e, "kata-analyze b 10 minmoves 3")) == [("E5", "100"), ("A9", "3"), ("J9", "0")]


def test_scores_utility_and_root_are_from_the_perspective_of_the_side_to_move() -> None:
    # Thinker: Black leads by 3.5 points less a point for each move played.
    text = report(thinker(), "kata-analyze b 10 rootInfo true pvVisits true ownership true")
    assert "scoreMean 2.5 scoreStdev 2 scoreLead 2.5 scoreSelfplay 2.5 prior 0.25" in text
    assert "pv E5 F5 pvVisits 100 50 info" in text
    assert "rootInfo visits 104 utility 0.1 winrate 0.55 scoreMean 3.5 " in text
    assert text.endswith("ownership " + " ".join(["0.5000"] * 81))
    white = report(thinker(), "kata-analyze w 10 rootInfo true ownership true")
    assert "scoreMean -2.5 scoreStdev 2" in white.replace("scoreMean -3.5", "")
    assert "rootInfo visits 104 utility 0.1 winrate 0.55 scoreMean -3.5 " in white
    assert white.endswith("ownership " + " ".join(["-0.5000"] * 81))
    assert "rootInfo" not in report(thinker(), "kata-analyze b 10")


def test_a_score_of_random_continuations_is_stated_once() -> None:
    text = report(searching(), "kata-analyze b 10 rootInfo true minmoves 99")
    assert len(moves(text)) == 26
    before, _, root = text.partition("rootInfo ")
    assert "score" not in before
    assert root.count("scoreLead ") == 1
    assert "score" not in report(searching(), "kata-analyze b 10")
    assert "score" not in searching().handle("kata-genmove_analyze b 1").partition("play")[0]


def test_a_networks_score_is_stated_for_each_candidate() -> None:
    class Wide(Thinker):
        def analyse(
            self, match: Match, interval: float, restrictions: Sequence[Restriction] = ()
        ) -> Iterator[SearchReport]:
            yield SearchReport(81, 0.0, tuple(MoveCandidate(p, 1, 0.0, 0.01) for p in range(81)))

        def expect(self, matches: Sequence[Match]) -> list[Expectation]:
            # A match that has ended has no seat to read it for.
            return [Expectation(1.0, 2.0, (0.5,) * 81, sampled=m.view()["last"] == 3) for m in matches]

    text = report(Engine(Wide(40, 0.0)), "kata-analyze b 10 rootInfo true")
    scored = ["scoreLead" in part for part in text.partition("rootInfo")[0].split("info move ")[1:]]
    assert scored == [p < MOST_SCORED and p != 3 for p in range(81)]


def test_the_lower_bound_rises_with_visits_and_is_exact_for_certain_values() -> None:
    bounds = [lower_bound(MoveCandidate(0, n, 0.2, 0.1)) for n in (1, 100, 10_000)]
    assert bounds[0] == 0.0
    assert bounds[1] == pytest.approx(0.6 - 5 * math.sqrt(0.24 / 100))
    assert bounds[0] < bounds[1] < bounds[2] < 0.6
    assert lower_bound(MoveCandidate(0, 1, 1.0, 0.1)) == 1.0


def moves(text: str) -> list[tuple[str, str]]:
    """Return the moves of a report and their visits."""
    return re.findall(r"info move (\w+) visits (\d+)", text)


def searching(text: str = "mcts:200,plies=0", size: str = "5") -> Engine:
    params = {"size": size, "komi": "0.5"}
    return Engine(resolve_player(text, params, seed=3), params)


def test_avoided_moves_are_not_searched_and_only_allowed_ones_are() -> None:
    e = searching()
    named = set(re.findall(r"info move (\w+)", report(e, "kata-analyze b 10 avoid b C3,B2 1 minmoves 99")))
    assert "D4" in named
    assert not {"C3", "B2"} & named
    assert set(re.findall(r"info move (\w+)", report(e, "kata-analyze b 10 allow b C3,A1 1"))) == {"C3", "A1"}
    # A restriction ends with its command.
    assert "C3" in set(re.findall(r"info move (\w+)", report(e, "kata-analyze b 10 minmoves 99")))
    text = e.handle("lz-genmove_analyze b 1 allow b A1 1")
    assert re.search(r"\nplay A1\n\n$", text)
    assert set(re.findall(r"info move (\w+)", text)) == {"A1"}


def test_a_choice_with_reports_is_the_choice_without() -> None:
    quiet = ok(searching("mcts:600,plies=0"), "genmove b")
    text = searching("mcts:600,plies=0").handle("kata-genmove_analyze b 1 rootInfo true")
    *reports, play = text.rstrip("\n").split("\n")[1:]
    assert reports
    assert all(r.startswith("info move ") for r in reports)
    visits = [int(re.findall(r"rootInfo visits (\d+)", r)[0]) for r in reports]
    assert visits == sorted(visits)
    assert visits[-1] >= 600
    assert play == f"play {quiet}"


def test_ownership_by_playouts_sees_a_wall() -> None:
    e = searching()
    for row in range(1, 6):
        ok(e, f"play b C{row}", f"play w D{row}")
    text = report(e, "kata-analyze b 10 ownership true rootInfo true")
    owned = [float(x) for x in text.rpartition("ownership ")[2].split()]
    black, white = ([x for i, x in enumerate(owned) if i % 5 == column] for column in (2, 3))
    assert min(black) > 0.2 > max(white)
    lead = float(re.findall(r"rootInfo .* scoreLead (\S+)", text)[0])
    assert lead == pytest.approx(sum(owned) - 0.5, abs=0.01)


def test_rules_survive_a_round_trip() -> None:
    e = engine(ko="positional", suicide="forbidden", scoring="tromp_taylor")
    rules = json.loads(ok(e, "kata-get-rules"))
    assert rules == {
        "friendlyPassOk": False, "hasButton": False, "ko": "POSITIONAL", "scoring": "AREA", "suicide": False,
        "tax": "NONE", "whiteHandicapBonus": "0",
    }  # fmt: skip
    ok(e, "play b e5", "kata-set-rules chinese")
    assert json.loads(ok(e, "kata-get-rules"))["ko"] == "SIMPLE"
    assert e.session.base["scoring"] == "chinese"
    assert len(e.session.moves) == 1
    ok(e, 'kata-set-rules {"ko": "SITUATIONAL", "suicide": true}')
    changed = json.loads(ok(e, "kata-get-rules"))
    assert (changed["ko"], changed["suicide"], changed["friendlyPassOk"]) == ("SITUATIONAL", True, True)
    ok(e, f"kata-set-rules {json.dumps(rules)}")
    assert json.loads(ok(e, "kata-get-rules")) == rules


@pytest.mark.parametrize(
    ("rules", "wrong"),
    [
        ("japanese", "rules japanese: not supported; expected tromp-taylor"),
        ("nonsense", "rules nonsense: expected tromp-taylor"),
        ('{"scoring": "TERRITORY"}', 'scoring "TERRITORY": only "AREA" is supported'),
        ('{"ko": "EVENT"}', 'ko "EVENT": expected one of POSITIONAL'),
        ('{"suicide": 1}', "suicide: expected true or false"),
        ('{"kos": 1}', "unknown key kos"),
        ("{", "not valid JSON"),
        ("{" + "[" * 3000, "not valid JSON"),
        ('{"ko": "' + "x" * 9000 + '"}', "more than 4096 characters"),
    ],
)
def test_rules_that_are_not_played_here_change_nothing(rules: str, wrong: str) -> None:
    e = engine()
    before = ok(e, "kata-get-rules")
    (answer,) = ask(e, f"kata-set-rules {rules}")
    assert answer.startswith("? ")
    assert wrong in answer
    assert ok(e, "kata-get-rules") == before


def test_rules_under_which_a_played_move_is_illegal_are_refused() -> None:
    e = engine(suicide="allowed")
    ok(e, "play b b1", "play w a2", "play b b2", "play b a3", "play w a1")  # White takes its own two stones
    assert ask(e, 'kata-set-rules {"suicide": false}') == [
        "? unacceptable rules: they forbid a move that was played"
    ]
    assert len(e.session.moves) == 5


def test_records_name_players_rules_and_result(tmp_path: Path) -> None:
    e = engine("random", komi="0.5", scoring="tromp_taylor", suicide="allowed")
    ok(e, "genmove b", "play w pass", "play b pass")
    root = sgf.parse(ok(e, "printsgf").encode())[0]
    assert root.first("PB") == "Ludus random"
    assert root.first("PW") == "Opponent"
    assert root.first("RU") == "Tromp-Taylor"
    assert root.first("RE") == "B+80.5"
    ok(e, "clear_board")
    assert "RE[" not in ok(e, "printsgf")
    resigning = Engine(Thinker(40, -0.95), resign=0.9)
    ok(resigning, "play b e5")
    assert ok(resigning, "genmove w") == "resign"
    assert sgf.parse(ok(resigning, "printsgf").encode())[0].first("RE") == "B+R"
    ok(resigning, "undo")
    assert "RE[" not in ok(resigning, "printsgf")


def test_a_bot_has_no_network() -> None:
    assert ask(engine(), "kata-raw-nn 0") == ["? random has no network"]
    assert ask(searching(), "kata-raw-nn 0") == ["? mcts:200,plies=0 has no network"]


def test_quit_ends_the_process_while_its_input_stays_open(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ludus.cli", "gtp", "random", "--size", "5"]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path
    )
    assert process.stdin is not None
    process.stdin.write(b"genmove b\nquit\n")
    process.stdin.flush()
    try:
        assert process.wait(timeout=60) == 0
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read().endswith(b"=\n\n")
        assert b"Fatal" not in process.stderr.read()
    finally:
        process.kill()
        process.stdin.close()


def test_a_closed_input_is_the_end_of_the_input(tmp_path: Path) -> None:
    line = '"$0" -m ludus.cli gtp random --size 5 <&-'
    done = subprocess.run(["sh", "-c", line, sys.executable], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert "error" not in done.stderr


def played(tmp_path: Path, *options: str) -> str:
    """Return the moves of a player that draws, with a new seed."""
    done = subprocess.run(
        [sys.executable, "-m", "ludus.cli", "gtp", "random", "--size", "9", "--quiet", *options],
        input="".join("genmove b\ngenmove w\n" for _ in range(5)),
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={k: v for k, v in os.environ.items() if k != "PYTHONHASHSEED"},
    )
    return done.stdout


def test_the_seed_is_drawn_unless_it_is_given(tmp_path: Path) -> None:
    assert played(tmp_path) != played(tmp_path)
    assert played(tmp_path, "--seed", "5") == played(tmp_path, "--seed", "5")


def test_bots_need_no_analysis() -> None:
    assert ask(Engine(BotPlayer("tactical"), {"size": "9"}), "kata-genmove_analyze b 10") == [
        "? tactical cannot analyse"
    ]
