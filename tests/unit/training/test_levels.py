"""Every level of command of the real-time games trains: a network of its heads acts and learns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ludus.games import replays, spec
from ludus.presets.file import parse_preset
from ludus.storage import RunDirectory, read_weights
from ludus.training.runs import start_run

from .runs import Recorder

PRESET = """
[game]
name = "{game}"
frame_skip = 25
[game.params]
commands = "{commands}"
{limit}
{opponents}
[pool]
slots = 16
groups = 2
rollout_length = 4
[policy]
inputs = [{inputs}]
dense = [12]
hidden = [16]
context = 8
[algorithm]
minibatches = 2
micro_batch = 32
[evaluation]
every_steps = 100_000
matches = 4
final_matches = 4
[run]
max_steps = 1280
threads = 1
lag = "sync"
"""


OPPONENT = '[[opponents]]\nname = "{}"'
LIMIT = "tick_limit = 600"
SHORT = r'rulebook = "extends=extended\nmatch.tick_limit=600"'


def train(text: str, folder: Path) -> None:
    """Train for twenty updates in ``folder/run``."""
    recorder = Recorder()
    result = start_run(parse_preset(text.encode(), "levels").preset, folder / "run", sinks=[recorder])
    assert result.version == 20 == len(recorder.updates)
    assert result.final[0].errors == 0
    assert all(np.isfinite(list(m.numbers.values())).all() for m in recorder.updates)
    assert max(m.numbers["policy/entropy"] for m in recorder.updates) > 0.0


FLAG = ("capture_the_flag", LIMIT, OPPONENT.format("simple"), '"units", "globals"')
RTS = ("rts", SHORT, OPPONENT.format("riders"), '"units", "globals"')
TOWERS = ("tower_defense", LIMIT, "", '"units", "map", "globals"')


@pytest.mark.parametrize(
    ("commands", "game", "limit", "opponents", "inputs"),
    [
        ("tactical", *FLAG),
        ("tactical", *RTS),
        ("units", *TOWERS),
        pytest.param("units", *FLAG, marks=pytest.mark.slow),
        pytest.param("units", *RTS, marks=pytest.mark.slow),
        pytest.param("tactical", *TOWERS, marks=pytest.mark.slow),
    ],
)
def test_every_level_trains_for_twenty_updates(
    tmp_path: Path, game: str, limit: str, opponents: str, inputs: str, commands: str
) -> None:
    heads = spec(game, {"commands": commands}).heads
    assert any(h.points_at == "units" for h in heads)
    train(
        PRESET.format(game=game, limit=limit, opponents=opponents, inputs=inputs, commands=commands), tmp_path
    )
    weights = read_weights(RunDirectory.open(tmp_path / "run").checkpoints.weights_path("last"))
    part = "policy_head.each."
    each = {int(n.split(part)[1].split(".")[0]) for n in weights.tensors if part in n}
    assert each == set(range(len(heads)))


def test_several_orders_at_once_train_and_replay(tmp_path: Path) -> None:
    settings = {"commands": "combined", "repeat_orders": "5"}
    heads = spec("minirts", settings).heads
    assert [h.name for h in heads[4:]] == ["attack", "attack_in_range", "hit_and_run", "defend", "focus_fire"]
    assert all(h.labels == ("no", "yes") for h in heads)
    opponent = OPPONENT.format("hit_and_run")
    limit = f"{LIMIT}\nrepeat_orders = 5"
    train(
        PRESET.format(
            game="minirts", limit=limit, opponents=opponent, inputs='"globals"', commands="combined"
        ),
        tmp_path,
    )
    recorded = sorted((tmp_path / "run" / "replays").glob("*.ludus"))
    assert recorded
    for path in recorded:  # orders that are given again by themselves are no part of a replay
        check = replays.verify(path.read_bytes())
        assert check.same, check
