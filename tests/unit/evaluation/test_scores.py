"""Named scores in evaluations: means with intervals, the table of matches, seats of players."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ludus.cli.__main__ import main
from ludus.evaluation.evaluate import ParamChanges, evaluate
from ludus.evaluation.results import summarise
from ludus.evaluation.scores import NamedScore, named_scores, score_table
from ludus.evaluation.settings import MatchSettings
from ludus.evaluation.tournament import tournament
from ludus.flow import MatchResult
from ludus.games.names import typed
from ludus.presets.errors import ConfigError
from ludus.ratings import mean_interval

from .lone_files import lone_file

FILE = Path(__file__).parents[2] / "scored_games.py"
ARENA = typed(str(FILE))
NAMES = ("frags", "place", "best_bot")
SHOOT = "class Shoot:\n    def decide(self, scene):\n        return 'yes'\n"
IDLE = "class Idle:\n    def decide(self, scene):\n        return 'no'\n"


def match(number: int, *of_seats: tuple[float, ...], turn: int = 0, error: str = "") -> MatchResult:
    """Return a match with the scores of each seat; plan p sits at seat (p + turn) % seats."""
    scores = tuple(tuple(map(float, of)) for of in of_seats)
    seats = len(scores)
    plans = tuple((seat - turn) % seats for seat in range(seats))
    outcome = tuple(1.0 if s[1] == 1 else -1.0 for s in scores)
    return MatchResult(
        number, 0, 1, 9, 9, outcome, tuple(s[0] for s in scores), ("a",) * seats, plans, False, error,
        scores=() if error else scores,
    )  # fmt: skip


@pytest.fixture
def bots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Return two bots in Python: one that always shoots, one that never does."""
    monkeypatch.chdir(tmp_path)
    Path("shoot.py").write_text(SHOOT)
    Path("idle.py").write_text(IDLE)
    return "shoot.py", "idle.py"


def test_means_have_students_interval_over_matches() -> None:
    frags = [26.0, 24.0, 31.0, 27.0, 30.0]
    of_seats = [[(f, 1.0, 20.0), (0.0, 2.0, 20.0)] for f in frags]
    played = [match(m, *(of[::-1] if m % 2 else of), turn=m % 2) for m, of in enumerate(of_seats)]
    first, place, bot = named_scores(played, NAMES, (0,))
    exact = mean_interval(frags)
    assert first == NamedScore("frags", exact.mean, exact.low, exact.high, exact.deviation)
    assert first.mean == pytest.approx(27.6)
    assert (place.mean, bot.mean) == (1.0, 20.0)


def test_equal_counts_keep_the_width_of_an_unseen_match() -> None:
    played = [match(m, (3, 1, 0)) for m in range(5)]
    frags, place, _ = named_scores(played, NAMES, (0,))
    unseen = 1 - 0.05 ** (1 / 5)
    assert (frags.low, frags.high) == pytest.approx((3 - unseen, 3 + unseen))
    assert (place.low, place.high) == pytest.approx((1.0, 1 + unseen))  # no place is below 1
    (one, *_) = named_scores(played[:1], NAMES, (0,))
    assert (one.low, one.mean, one.high) == (3.0, 3.0, 3.0)
    exact = [match(m, (0.5, 1, 0)) for m in range(5)]
    assert named_scores(exact, NAMES, (0,))[0].low == 0.5  # no count


def test_seats_of_one_match_are_one_value() -> None:
    played = [match(m, (10, 1, 0), (2, 2, 0), (1, 3, 0), (0, 4, 0)) for m in range(4)]
    assert named_scores(played, NAMES, (0, 1))[0].mean == 6.0
    spread = [match(0, (9, 1, 0), (1, 2, 0)), match(1, (8, 1, 0), (2, 2, 0))]
    assert named_scores(spread, NAMES, (0, 1))[0].deviation == 0.0


def test_failed_matches_have_no_scores() -> None:
    played = [match(0, (3, 1, 0)), match(1, (9, 1, 0), error="boom"), match(2, (5, 1, 0))]
    assert named_scores(played, NAMES, (0,))[0].mean == 4.0
    assert named_scores(played[1:2], NAMES, (0,)) == ()
    table = score_table(played, NAMES, "frags", [("a", (0,))])
    assert (table.matches, table.rows[0].values) == ((0, 2), (3.0, 5.0))


def test_a_table_has_the_best_seat_of_each_player_and_the_best_bot() -> None:
    played = [
        match(0, (7, 2, 9), (5, 4, 9), (6, 3, 9), (1, 5, 9)),
        match(1, (1, 4, 2), (8, 1, 2), (3, 3, 2), (7, 2, 2), turn=1),
    ]
    table = score_table(played, NAMES, "frags", [("a", (0, 1)), ("b", (2, 3))])
    a, b, bot = table.rows
    assert (a.values, a.first) == ((7.0, 8.0), 1)  # plans 0 and 1 sit at seats 1 and 2 of the second match
    assert (b.values, b.first) == ((6.0, 7.0), 0)
    assert (bot.player, bot.values, bot.first) == ("best bot", (9.0, 2.0), None)
    places = score_table(played, NAMES, "place", [("a", (0, 1)), ("b", (2, 3))])
    assert [r.values for r in places.rows] == [(2.0, 1.0), (3.0, 2.0)]  # and no best bot
    plain = score_table(played, ("x", "y", "z"), "y", [("a", (0, 1))])
    assert (plain.rows[0].values, plain.rows[0].first) == ((4.0, 3.0), None)


def test_a_player_with_several_seats_wins_where_one_of_them_does() -> None:
    played = [match(0, (7, 1, 0), (5, 2, 0), (1, 3, 0)), match(1, (1, 3, 0), (2, 2, 0), (9, 1, 0))]
    result = summarise(played, player="a", against="b", game="arena", seed=1, own_plans=(0, 1))
    assert (result.wins, result.losses, result.mean_return) == (1, 1, (6 + 1.5) / 2)
    assert (result.seats, result.own_plans) == (3, (0, 1))


def test_an_evaluation_has_the_scores_of_the_player(bots: tuple[str, str]) -> None:
    shoot, idle = map(typed, bots)
    result = evaluate(shoot, idle, MatchSettings(matches=4), game=ARENA, params={"players": 3})
    assert [(s.name, s.mean) for s in result.named_scores] == [("frags", 4.0), ("place", 1.0)]
    assert (result.wins, result.own_plans, result.seats) == (4, (0,), 3)
    result = evaluate(idle, shoot, MatchSettings(matches=4), game=ARENA, params={"players": 3})
    assert [s.mean for s in result.named_scores] == [0.0, 3.0]


def test_a_player_can_have_several_seats(bots: tuple[str, str]) -> None:
    shoot, idle = map(typed, bots)
    settings = MatchSettings(matches=8, player_seats=2)
    seen: list[MatchResult] = []
    result = evaluate(shoot, idle, settings, game=ARENA, params={"players": 4}, keep=seen.append)
    assert {tuple(sorted(r.players)) for r in seen} == {("idle.py",) * 2 + ("shoot.py",) * 2}
    shooting = {tuple(s for s, player in enumerate(r.players) if player == "shoot.py") for r in seen}
    assert shooting == {(0, 1), (1, 2), (2, 3), (0, 3)}
    pairs = [pair for r in seen for pair in zip(r.scores, r.players, strict=True)]
    assert all((score[0] == 4.0) == (player == "shoot.py") for score, player in pairs)
    assert (result.named_scores[0].mean, result.named_scores[1].mean, result.draws) == (4.0, 1.0, 8)
    assert result.win_rate_by_seat == ()


@pytest.mark.parametrize(
    ("seats", "game", "text"),
    [
        (4, ARENA, "player_seats=4: expected 1 to 3; arena has 4 seats"),
        (2, "tic_tac_toe", "player_seats=2: expected 1; tic_tac_toe has 2 seats"),
        (2, "pommerman", "player_seats=2: pommerman has teams"),
    ],
)
def test_seats_that_leave_no_opponent_are_refused(seats: int, game: str, text: str) -> None:
    params = {ARENA: {"players": 4}, "pommerman": {"mode": "team"}}.get(game, {})
    with pytest.raises(ConfigError, match=text):
        evaluate("uniform", "uniform", MatchSettings(player_seats=seats), game=game, params=params)  # type: ignore[arg-type]


def run(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main(["eval", *words, "--quiet"])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_eval_prints_counts_means_and_a_table(
    bots: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("shoot.py", "--against", "idle.py", "--game", ARENA, "--matches", "3", "--table")
    code, out, _ = run(*words, "--param", "players=4", "--player-seats", "2", capsys=capsys)
    assert code == 0
    lines = out.splitlines()
    assert "  matches      0 won, 0 lost, 3 drawn" in lines
    assert "  frags        4.00 (95% interval 3.37 to 4.63)" in lines
    assert not any("by seat" in line for line in lines)
    assert lines[-5:] == [
        "frags     1  2  3  average   95% interval",
        "shoot.py  4  4  4     4.00   3.37 to 4.63",
        "idle.py   0  0  0     0.00  -0.63 to 0.63",
        "shoot.py ranks 1 in 3 of 3 matches",
        "idle.py ranks 1 in 0 of 3 matches",
    ]


def test_the_document_has_scores_and_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("uniform", "--game", ARENA, "--param", "players=1", "--param", "bots=3", "--json")
    _, out, _ = run(*words, "--matches", "30", "--score", "frags", capsys=capsys)
    document = json.loads(out)
    assert [s["name"] for s in document["named_scores"]] == list(NAMES)
    table = document["table"]
    assert [row["player"] for row in table["rows"]] == ["uniform", "best bot"]
    assert len(table["rows"][0]["values"]) == len(table["matches"]) == 30
    assert document["named_scores"][0]["mean"] == pytest.approx(np.mean(table["rows"][0]["values"]))
    _, out, _ = run(*words, "--matches", "1", capsys=capsys)
    document = json.loads(out)
    assert "table" not in document
    assert document["named_scores"][0]["low"] is None


def test_a_table_of_many_matches_has_the_averages(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("uniform", "--game", ARENA, "--param", "players=1", "--param", "bots=2")
    _, out, _ = run(*words, "--matches", "21", "--table", capsys=capsys)
    assert "\nfrags     average  95% interval\nuniform " in out
    assert "21 matches are more than 20: --json has each of them" in out


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--game", "tic_tac_toe", "--table"), "--table: tic_tac_toe names no scores of a match"),
        (("--game", ARENA, "--score", "frag"), "--score frag: arena has no such score (did you mean frags?)"),
        (("--game", ARENA, "--player-seats", "2"), "--player-seats 2: expected 1; arena has 2 seats"),
    ],
)
def test_wrong_options_are_reported(
    words: tuple[str, ...], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run("uniform", "--against", "uniform", *words, capsys=capsys)
    assert (code, text in err) == (2, True)


def test_parameters_that_are_named_replace_those_of_the_weights(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    weights = str(lone_file(tmp_path / "mine.safetensors", ARENA, {"players": "4", "ticks": "6"}))
    words = (weights, "--game", ARENA, "--matches", "3")
    _, out, _ = run(*words, "--param", "players=1", "--param", "bots=7", "--table", "--json", capsys=capsys)
    document = json.loads(out)
    assert document["params"] == {"players": "1", "ticks": "6", "bots": "7"}
    assert (document["alone"], document["mean_ticks"], document["seats"]) == (True, 6.0, 1)
    _, out, _ = run(*words, "--against", "uniform", "--json", capsys=capsys)
    assert json.loads(out)["params"] == {"players": "4", "ticks": "6"}
    code, _, err = run(*words, "--param", "wide=true", "--param", "players=1", capsys=capsys)
    assert code == 2
    assert "made for arena with other rules" in err
    assert "shape of seen is (2,), (3,) here" in err  # and not the seats, which may differ
    assert "ludus surgery" in err
    code, _, err = run(*words, "--param", "players=0", capsys=capsys)
    assert (code, "0 seats, expected at least 1" in err) == (2, True)
    code, _, err = run(*words, "--param", "player=1", capsys=capsys)
    assert (code, "player" in err, "did you mean players?" in err) == (2, True, True)


def test_python_gives_whole_parameters_or_changes(tmp_path: Path) -> None:
    weights = str(lone_file(tmp_path / "mine.safetensors", ARENA, {"players": "1", "ticks": "6"}))
    settings = MatchSettings(matches=2)
    assert evaluate(weights, "", settings, game=ARENA, params={"players": 1}).params == {"players": "1"}
    changed = evaluate(weights, "", settings, game=ARENA, params=ParamChanges({"bots": 2}))
    assert changed.params == {"players": "1", "ticks": "6", "bots": "2"}


def test_players_of_a_tournament_play_under_one_set_of_parameters(tmp_path: Path) -> None:
    one = str(lone_file(tmp_path / "one.safetensors", ARENA, {"ticks": "3"}))
    two = str(lone_file(tmp_path / "two.safetensors", ARENA, {"ticks": "5", "bots": "1"}))
    seen: list[dict[str, str]] = []
    tournament(
        [one, two, "uniform"],
        MatchSettings(matches=2),
        game=ARENA,
        params=ParamChanges({"players": 2}),
        on_result=lambda result: seen.append(result.params),
    )
    assert seen == [{"ticks": "3", "players": "2"}] * 3
