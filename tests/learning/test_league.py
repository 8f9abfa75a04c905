"""The league against naive self-play on a game without a best action, from a player of one action.

In the disc each action beats those clockwise of it: who goes on from itself and meets itself alone runs in a
circle. A league that meets its whole past has a mixture of frozen players that hardly anybody beats.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch

from ludus.evaluation.weights import network_of
from ludus.games.match import Match
from ludus.policies.protocol import Network
from ludus.presets.config import Preset
from ludus.presets.file import parse_preset
from ludus.storage import RunDirectory
from ludus.storage.tensors import encode_weights
from ludus.train.api import start_run
from ludus.train.on_policy.components import build_learner

Floats = npt.NDArray[np.float64]

DISC = """
[game]
name = "matrix"
[game.params]
table = "disc"
[pool]
slots = 64
rollout_length = 16
threads = 1
[policy]
dense = []
hidden = [16]
[algorithm]
learning_rate = 5e-2
epochs = 4
minibatches = 1
entropy_coefficient = 0.0
entropy_coefficient_final = 0.0
[evaluation]
every_steps = 0
matches = 0
final_matches = 0
[run]
max_steps = {steps}
lag = "sync"
threads = 1
seed = {seed}
precision = "float32"
checkpoint_every_minutes = 0
[league]
lanes = 8
[[league.players]]
name = "main"
role = "{role}"
freeze = {{rule = "period", steps = 4000}}
seed = "{start}"
{more}
"""


def player_of_one_action(preset: Preset, path: Path) -> None:
    """Weights that play action 0 nearly always."""
    learner = build_learner(preset)
    with torch.no_grad():
        dict(learner.network.named_parameters())["policy_head.bias"][0] += 6.0
    path.write_bytes(encode_weights(learner.weights()))


def policy_of(network: Network, match: Match) -> Floats:
    """What a player does: it sees the same in every match."""
    seen = {name: torch.from_numpy(np.array(a)[None]) for name, a in match.observe(0).items()}
    with torch.no_grad():
        logits = network.step(seen, None, torch.ones(1, dtype=torch.uint8)).logits
    probabilities: Floats = torch.softmax(logits[0].double(), 0).numpy()
    return probabilities


def exploitability(run: Path) -> float:
    """What the best action earns against the frozen players of ``main``, each met as often."""
    directory = RunDirectory.open(run)
    match = Match("matrix", {"table": "disc"})
    actions = match.spec.heads[0].size
    payoff = np.array(match.view()["payoff"], np.float64).reshape(actions, actions)
    mixture = np.mean(
        [
            policy_of(network_of(directory.frozen.load("main", version), match.spec), match)
            for version in directory.frozen.versions("main")
        ],
        axis=0,
    )
    return float((payoff @ mixture).max())


def uniform_mixture(folder: Path, role: str, more: str, steps: int, seed: int = 1) -> float:
    """Exploitability of the frozen players of a run."""
    start = folder / "one.safetensors"
    text = DISC.format(steps=steps, seed=seed, role=role, start=start, more=more)
    preset = parse_preset(text.encode(), "disc").preset
    player_of_one_action(preset, start)
    start_run(preset, folder / role)
    return exploitability(folder / role)


@pytest.mark.slow
def test_a_league_is_exploited_less_than_naive_self_play(tmp_path: Path) -> None:
    naive = uniform_mixture(tmp_path, "self_play", "", 60_000)
    league = uniform_mixture(tmp_path, "pfsp", 'from = {rule = "seed"}\nmeet = [{rule = "pfsp"}]', 60_000)
    assert naive > 0.45
    assert league < 0.75 * naive
