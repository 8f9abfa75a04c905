"""Tables of results: who meets whom, and what comes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ludus.evaluation.tournament import expand, tournament
from ludus.presets.errors import ConfigError
from ludus.presets.file import parse_preset
from ludus.train.api import start_run

TOML = """
[game]
name = "tic_tac_toe"
[algorithm]
name = "alphazero"
batch = 32
round_positions = 60
reuse = 1.0
window_games_min = 10
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
    table = tournament(["random", "mcts:4", "mcts:100", "perfect"], game="tic_tac_toe", matches=40)
    assert [s.player for s in table.standings] == ["random", "mcts:4", "mcts:100", "perfect"]
    ratings = {s.player: s.elo for s in table.standings}
    assert ratings["random"] < ratings["mcts:4"] < ratings["mcts:100"] < ratings["perfect"] + 100
    assert sum(ratings.values()) == pytest.approx(0.0, abs=1e-6)
    assert sum(s.nash_share for s in table.standings) == pytest.approx(1.0)
    assert max(table.standings, key=lambda s: s.nash_share).player in ("perfect", "mcts:100")
    assert all(table.points[i][j] + table.points[j][i] == 40 for i in range(4) for j in range(i))


@pytest.mark.usefixtures("stepped_self_play")
def test_the_versions_of_a_run_and_neighbours(tmp_path: Path) -> None:
    run = tmp_path / "run"
    start_run(parse_preset(TOML.encode(), "test").preset, run)
    names = expand(f"{run}@all", 99)
    assert len(names) >= 4
    assert expand(f"{run}@all+search:8,c_puct=1", 2) == [
        f"{names[0]}+search:8,c_puct=1",
        f"{names[-1]}+search:8,c_puct=1",
    ]
    table = tournament([f"{run}@all"], versions=4, neighbours=1, matches=4)
    assert table.game == "tic_tac_toe"
    assert [list(row) for row in table.matches] == [[0, 4, 0, 0], [4, 0, 4, 0], [0, 4, 0, 4], [0, 0, 4, 0]]


def test_refusals() -> None:
    with pytest.raises(ConfigError, match="two players"):
        tournament(["random"], game="tic_tac_toe")
    with pytest.raises(ConfigError, match="random: named twice"):
        tournament(["random", "mcts:4", "random"], game="tic_tac_toe")
