"""Tournaments: pairings, tables of results and ratings."""

from __future__ import annotations

from pathlib import Path

import pytest

from ludus.evaluation.settings import MatchSettings
from ludus.evaluation.tournament import expand, tournament
from ludus.presets.errors import ConfigError
from ludus.presets.file import parse_preset
from ludus.storage import StorageError
from ludus.training.runs import start_run
from tests.unit.training.test_one_seat import GAME as ONE_SEAT

TOML = """
[game]
name = "tic_tac_toe"
[algorithm]
name = "alphazero"
batch_size = 32
round_positions = 60
sample_reuse = 1.0
window_matches_min = 10
statistics_batches = 2
[algorithm.search]
visits = 4
[algorithm.self_play]
slots = 8
[policy]
network = "resnet"
blocks = 1
filters = 4
value_hidden = 4
[evaluation]
every_steps = 0
matches = 0
final_matches = 0
[run]
max_steps = 1500
threads = 1
precision = "float32"
keep_checkpoints = 9
checkpoint_every_minutes = 0.0000001
"""


def test_better_players_are_rated_higher() -> None:
    table = tournament(
        ["random", "mcts:4", "mcts:100", "perfect"], MatchSettings(matches=40), game="tic_tac_toe"
    )
    assert [s.player for s in table.standings] == ["random", "mcts:4", "mcts:100", "perfect"]
    ratings = {s.player: s.elo for s in table.standings}
    assert ratings["random"] < ratings["mcts:4"] < ratings["mcts:100"] < ratings["perfect"] + 100
    assert sum(ratings.values()) == pytest.approx(0.0, abs=1e-6)
    assert sum(s.nash_share for s in table.standings) == pytest.approx(1.0)
    assert max(table.standings, key=lambda s: s.nash_share).player in ("perfect", "mcts:100")
    assert all(table.points[i][j] + table.points[j][i] == 40 for i in range(4) for j in range(i))


@pytest.mark.usefixtures("stepped_self_play")
def test_the_versions_of_a_run_meet_their_neighbours(tmp_path: Path) -> None:
    run = tmp_path / "run"
    start_run(parse_preset(TOML.encode(), "test").preset, run)
    names = expand(f"{run}@all", 99)
    assert len(names) >= 4
    assert expand(f"{run}@all+search:8,c_puct=1", 2) == [
        f"{names[0]}+search:8,c_puct=1",
        f"{names[-1]}+search:8,c_puct=1",
    ]
    table = tournament([f"{run}@all"], MatchSettings(matches=4), versions=4, neighbours=1)
    assert table.game == "tic_tac_toe"
    assert [list(row) for row in table.matches] == [[0, 4, 0, 0], [4, 0, 4, 0], [0, 4, 0, 4], [0, 0, 4, 0]]


def test_wrong_players_are_refused() -> None:
    with pytest.raises(ConfigError, match="two players"):
        tournament(["random"], game="tic_tac_toe")
    with pytest.raises(ConfigError, match="random: named twice"):
        tournament(["random", "mcts:4", "random"], game="tic_tac_toe")


PPO = """
[game]
name = "tic_tac_toe"
[pool]
slots = 4
rollout_length = 4
threads = 1
[policy]
dense = []
hidden = [4]
[evaluation]
every_steps = 0
matches = 0
final_matches = 0
[run]
max_steps = 40
threads = 1
precision = "float32"
"""


@pytest.fixture
def weights(tmp_path: Path) -> str:
    start_run(parse_preset(PPO.encode(), "test").preset, tmp_path / "run")
    return f"{tmp_path / 'run'}@last"


@pytest.mark.parametrize("place", [0, 1, 2])
def test_any_player_determines_the_game(weights: str, place: int) -> None:
    players = ["random", "mcts:4"]
    players.insert(place, weights)
    table = tournament(players, MatchSettings(matches=2))
    assert table.game == "tic_tac_toe"
    assert all(s.matches == 4 for s in table.standings)


@pytest.mark.parametrize(
    ("wrong", "game", "message"),
    [
        ("no_such_bot", "", "no_such_bot"),
        ("no_such_run@best", "", "no_such_run"),
        ("simple", "minirts", "the game asked for is minirts"),
        ("mcts:0", "", "mcts:0"),
    ],
)
def test_all_players_are_checked_before_a_match(weights: str, wrong: str, game: str, message: str) -> None:
    """The wrong player is the last of four: five pairs would have played."""
    played: list[object] = []
    with pytest.raises((ConfigError, StorageError), match=message):
        tournament(
            ["random", "mcts:4", weights, wrong], MatchSettings(matches=2), game=game, on_result=played.append
        )
    assert played == []


def test_bots_alone_do_not_determine_the_game() -> None:
    with pytest.raises(ConfigError, match="name one"):
        tournament(["random", "mcts:4", "perfect"], MatchSettings(matches=2))


def test_players_of_a_game_of_one_seat_do_not_meet() -> None:
    with pytest.raises(ConfigError, match=r"^rate needs a game of two or more seats; walk has one"):
        tournament(["random", "noop"], MatchSettings(matches=2), game=ONE_SEAT)
