"""A small game as a file, with a ``render`` of one's choice, and replays of random play."""

from __future__ import annotations

from pathlib import Path

from ludus.evaluation.play import play_matches, scripted_player
from ludus.evaluation.settings import MatchSettings
from ludus.games import spec
from ludus.games.names import typed

LENGTH = 12  # ticks of a match
_GAME = """
import os, sys, time
import numpy as np
from ludus.games.python_game import declare, tensor
from ludus.flow.spec import HeadSpec

class Game:
    def __init__(self):
        head = HeadSpec("step", 2, labels=("left", "right"))
        self.spec = declare("{name}", observation=[{observation}], heads=[head])
        self.truncated = False
    def reset(self, seed):
        self.x, self.t = seed % 5, 0
    def to_act(self):
        return (0,)
    def step(self, actions):
        self.x += 2 * int(actions[0, 0]) - 1
        self.t += 1
        {in_step}
        return self.t >= {length}
    def rewards(self, out):
        out[0] = 0.5
    def outcome(self, out):
        out[0] = 0
    def observe(self, seat, out):
        {observe}
{render}
GAME = Game
"""
PICTURE = "p = np.zeros((20, 30, 3), np.uint8); p[:, self.x % 30] = (250, 40, 10); return p"


def game_file(
    folder: Path,
    render: str = "",
    name: str = "walk",
    *,
    in_step: str = "pass",
    observation: str = 'tensor("place", (2,), labels=("x", "t"))',
    observe: str = 'out["place"][:] = self.x, self.t',
) -> Path:
    """Write a game whose ``render`` has this body; empty: it has none. Names differ in a process."""
    drawn = f"    def render(self):\n        {render}\n" if render else ""
    text = _GAME.format(
        name=name, length=LENGTH, render=drawn, in_step=in_step, observation=observation, observe=observe
    )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.py"
    path.write_text(text)
    return path


def random_replay(game: str | Path, **params: str) -> bytes:
    """Return the replay of a match of random play, in processes of a pool as evaluations have them."""
    reference = typed(str(game))
    found = spec(reference, params)
    player = scripted_player("random", found, 1)
    results = play_matches(found, params, player, player, MatchSettings(matches=1, seed=3, record=1))
    assert results[0].replay is not None
    return results[0].replay
