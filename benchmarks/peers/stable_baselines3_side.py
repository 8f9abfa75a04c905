"""Stable-Baselines3's side: PPO, one intra-op thread, progress written after training on each rollout.

python stable_baselines3_side.py ENV --envs 8 --steps 128 --epochs 4 --batch 256 --progress FILE
"""

from __future__ import annotations

import argparse
import sys
import time

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_atari_env, make_vec_env
from stable_baselines3.common.vec_env import VecFrameStack


class Progress(BaseCallback):
    """All steps before a new rollout have been trained on."""

    def __init__(self, path: str, frames: int) -> None:
        super().__init__()
        self._file = open(path, "a", buffering=1)  # noqa: SIM115 - open as long as the process
        self._frames = frames

    def _on_rollout_start(self) -> None:
        if self.num_timesteps:
            self._file.write(f"{time.monotonic_ns()} {self.num_timesteps * self._frames}\n")

    def _on_step(self) -> bool:
        return True


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("env")
    parser.add_argument("--envs", type=int, default=8)
    parser.add_argument("--steps", type=int, default=128)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--progress", required=True)
    return parser


def main() -> int:
    arguments = parser_of().parse_args()
    torch.set_num_threads(1)
    atari = "NoFrameskip" in arguments.env
    if atari:
        import ale_py
        import gymnasium

        gymnasium.register_envs(ale_py)
        env = VecFrameStack(make_atari_env(arguments.env, n_envs=arguments.envs, seed=1), n_stack=4)
    else:
        env = make_vec_env(arguments.env, n_envs=arguments.envs, seed=1)
    model = PPO(
        "CnnPolicy" if atari else "MlpPolicy",
        env,
        n_steps=arguments.steps,
        batch_size=arguments.batch,
        n_epochs=arguments.epochs,
        learning_rate=2.5e-4,
        clip_range=0.1,
        vf_coef=0.5,
        ent_coef=0.01,
        device="cpu",
    )
    model.learn(10**12, callback=Progress(arguments.progress, 4 if atari else 1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
