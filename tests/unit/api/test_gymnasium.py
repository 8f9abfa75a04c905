"""Environments by their documented names, from an empty folder: ours in Gymnasium, other people's here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_util import make_vec_env

from ludus.games.exports.gymnasium import LudusEnv, LudusVectorEnv
from tests.unit.api.from_folder import LUDUS, ludus, python, run

CORRIDOR = '''
import gymnasium
import numpy as np


class Corridor(gymnasium.Env):
    """Walk right to the end."""

    observation_space = gymnasium.spaces.Box(0.0, 1.0, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, length: int = 4) -> None:
        self.length, self.at = length, 0

    def _see(self):
        return np.array([self.at / self.length], np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0
        return self._see(), {}

    def step(self, action):
        self.at = max(0, self.at + (1 if action == 1 else -1))
        over = self.at == self.length
        return self._see(), 1.0 if over else -0.01, over, False, {}


gymnasium.register("Corridor-v0", entry_point=Corridor, max_episode_steps=50)
'''


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Return a folder with the package ``my_package`` of a user."""
    (tmp_path / "my_package").mkdir()
    (tmp_path / "my_package" / "__init__.py").write_text(CORRIDOR)
    return tmp_path


def test_an_environment_that_a_package_of_the_user_registers(package: Path) -> None:
    name = "gymnasium/my_package:Corridor-v0"
    assert "length" in ludus(package, "games", "show", name)
    ludus(package, "games", "check", name)
    (package / "corridor.toml").write_text(
        f'[game]\nname = "{name}"\nparams = {{ length = 5 }}\n[evaluation]\nevery_steps = 0\n'
        "matches = 4\nfinal_matches = 4\n[policy]\nhidden = [16]\n[run]\nmax_steps = 400\nthreads = 2\n"
    )
    ludus(package, "train", "corridor.toml", "--run-dir", "run", "--quiet")
    output = ludus(package, "eval", "random", "--game", name, "--param", "length=5", "--matches", "10")
    assert name in output or "Corridor" in output


def test_a_missing_or_broken_module_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("1 / 0\n")
    for name, expected in {
        "gymnasium/nowhere:Corridor-v0": "Corridor-v0: No module named 'nowhere'; searched: ",
        "gymnasium/broken:Corridor-v0": "importing broken failed: ZeroDivisionError",
        "nowhere.games:Nim": "nowhere.games:Nim: No module named 'nowhere'; searched: ",
        "dm_env/nowhere:make": "dm_env/nowhere:make: No module named 'nowhere'",
        "pettingzoo/nowhere.v0": "pettingzoo/nowhere.v0: No module named 'nowhere'",
    }.items():
        done = run(tmp_path, LUDUS, "games", "show", name)
        assert (done.returncode, expected in done.stderr) == (2, True), done.stderr
        assert "Traceback" not in done.stderr


def test_games_of_ludus_have_their_documented_names(tmp_path: Path) -> None:
    output = python(
        tmp_path,
        "import gymnasium, ludus.gymnasium\n"
        'one = gymnasium.make("ludus/minirts-v1", opponent="simple")\n'
        'many = gymnasium.make_vec("ludus/tic_tac_toe-v1", num_envs=3)\n'
        "print(one.reset(seed=1)[1]['legal'].shape, many.reset(seed=1)[1]['legal'].shape)\n"
        "print('ludus/connect_four-v1' in ludus.gymnasium.ids)\n",
    )
    assert output.splitlines()[0].endswith("(3, 9)")
    assert output.splitlines()[1] == "True"
    python(
        tmp_path, 'import gymnasium\ngymnasium.make("ludus.gymnasium:ludus/connect_four-v1").reset(seed=1)\n'
    )


@pytest.mark.slow
def test_stable_baselines3_learns_tic_tac_toe_in_three_lines(tmp_path: Path) -> None:
    output = python(
        tmp_path,
        "from stable_baselines3 import PPO\n"
        'model = PPO("MultiInputPolicy", "ludus.gymnasium:ludus/tic_tac_toe-v1", n_steps=512, n_epochs=6,'
        " learning_rate=1e-3, seed=1)\n"
        "from stable_baselines3.common.evaluation import evaluate_policy\n"
        "print(evaluate_policy(model, model.get_env(), 150)[0])\n"
        "model.learn(2_500)\n"
        "print(evaluate_policy(model, model.get_env(), 150)[0])\n",
    )
    before, after = map(float, output.split())
    assert after > before + 0.25, output


def test_masked_training_draws_only_legal_choices() -> None:
    """MaskablePPO asks ``action_masks()``; heads of MiniRTS depend on each other and have several."""
    torch.set_num_threads(1)
    kwargs = {"illegal": "raise"}
    envs = make_vec_env("ludus.gymnasium:ludus/tic_tac_toe-v1", n_envs=2, env_kwargs=kwargs)
    MaskablePPO("MultiInputPolicy", envs, n_steps=64, seed=1).learn(256)  # raises at an illegal choice
    made = LudusEnv("minirts", opponent="simple", commands="units")
    _, info = made.reset(seed=1)
    assert len(made.game_spec.heads) > 1
    masks = made.action_masks()
    assert masks.dtype == np.bool_
    assert masks.shape == (sum(h.size for h in made.game_spec.heads),)
    assert (masks == np.concatenate([np.asarray(part) != 0 for part in info["action_mask"]])).all()
    with pytest.raises(ValueError, match=r"head action_0 is continuous; it has no mask"):
        LudusEnv("gymnasium/Pendulum-v1").action_masks()


def test_render_modes() -> None:
    for game in ("tic_tac_toe", "minirts", "gymnasium/CartPole-v1"):
        made = LudusEnv(game, render_mode="rgb_array")
        made.reset(seed=1)
        first = made.render()
        assert first is not None
        assert first.dtype == np.uint8
        assert (first.ndim, first.shape[2]) == (3, 3)
        made.step(made.action_space.sample())
        second = made.render()
        assert second is not None
        assert (second != first).any()
    assert LudusEnv("tic_tac_toe", render_mode=None).render_mode is None
    many = LudusVectorEnv("tic_tac_toe", 3, render_mode="rgb_array")
    many.reset(seed=1)
    pictures = many.render()
    assert pictures is not None
    assert len(pictures) == 3
    for make in (LudusEnv, LudusVectorEnv):
        with pytest.raises(ValueError, match="render_mode = 'human': expected None or 'rgb_array'"):
            make("tic_tac_toe", render_mode="human")


def test_the_caller_sets_the_frame_skip_of_the_seat() -> None:
    """A match cut off at 2,000 ticks has a tenth of the decisions at ten times the skip."""
    decisions = {}
    for skip in (5, 50):
        made = LudusEnv("minirts", opponent="simple", frame_skip=skip)
        made.reset(seed=3)
        over, count = False, 0
        while not over and count < 4000:
            *_, terminated, truncated, _ = made.step(np.zeros(len(made.game_spec.heads), np.int64))
            over, count = terminated or truncated, count + 1
        decisions[skip] = count
        many = LudusVectorEnv("minirts", 1, opponent="simple", frame_skip=skip, threads=0)
        many.reset(seed=3)
        seen = 0
        for _ in range(4000):
            _, _, ended, cut, _ = many.step(np.zeros((1, len(made.game_spec.heads)), np.int64))
            seen += 1
            if ended[0] or cut[0]:
                break
        assert seen == count
    assert 9 <= decisions[5] / decisions[50] <= 11, decisions
