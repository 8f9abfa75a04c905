"""Sample Factory's side: its example program of an environment, progress written after every training step.

python sample_factory_side.py atari|vizdoom|gym --progress FILE [--episodes FILE] [Sample Factory's arguments]
"""

from __future__ import annotations

import importlib
import os
import sys
import time

from sample_factory.algo.learning.learner import Learner
from sample_factory.algo.runners.runner import AlgoObserver, Runner
from sample_factory.algo.utils.misc import EPISODIC, ExperimentStatus
from sample_factory.envs.env_utils import register_env
from sample_factory.train import make_runner
from sample_factory.utils.attr_dict import AttrDict
from sample_factory.utils.typing import Config

KINDS = {
    "atari": ("sf_examples.atari.train_atari", "register_atari_components", "parse_atari_args"),
    "vizdoom": ("sf_examples.vizdoom.train_vizdoom", "register_vizdoom_components", "parse_vizdoom_cfg"),
    "gym": ("sf_examples.train_gym_env", "register_custom_components", "parse_custom_args"),
}


_record_summaries = Learner._record_summaries


def record_summaries(learner: Learner, variables: AttrDict) -> AttrDict:
    """2.1.1 with V-trace fails here, on a statistic for a plot: the tensor is not in the batch."""
    variables.mb.setdefault("advantages", variables["values"])
    return _record_summaries(learner, variables)


Learner._record_summaries = record_summaries  # the learner's process imports this file too


def make_atari(name: str, cfg: Config, env_config: object, render_mode: str | None = None) -> object:
    """Their own wrappers; ale-py of this version is not found by Gymnasium without being asked."""
    import gymnasium
    from ale_py.registration import register_v0_v4_envs
    from sf_examples.atari.atari_utils import make_atari_env

    if "BreakoutNoFrameskip-v4" not in gymnasium.envs.registration.registry:
        register_v0_v4_envs()
    return make_atari_env(name, cfg, env_config, render_mode)


class Progress(AlgoObserver):
    """Frames that the learner has trained on, frame skip included."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "a", buffering=1)  # noqa: SIM115 - open as long as the process
        self._told = 0

    def on_training_step(self, runner: Runner, training_iteration_since_resume: int) -> None:
        frames = sum(runner.env_steps.values())
        if frames > self._told:
            self._told = frames
            self._file.write(f"{time.monotonic_ns()} {frames}\n")


class Episodes:
    """Appends ``monotonic_ns return objective`` for each episode of the training, as it is received."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "a", buffering=1)  # noqa: SIM115 - open as long as the process

    def __call__(self, runner: Runner, message: dict[str, dict[str, float]], policy: int) -> None:
        episode = message[EPISODIC]
        reward = float(episode["reward"])
        objective = float(episode.get("true_objective", reward))
        self._file.write(f"{time.monotonic_ns()} {reward:.6g} {objective:.6g}\n")


def taken(arguments: list[str], name: str) -> str:
    """Remove the option ``name`` and its value from ``arguments``; return the value, "" without it."""
    if name not in arguments:
        return ""
    at = arguments.index(name)
    value = arguments[at + 1]
    del arguments[at : at + 2]
    return value


def main() -> int:
    kind, rest = sys.argv[1], sys.argv[2:]
    progress, episodes = taken(rest, "--progress"), taken(rest, "--episodes")
    module_name, register, parse = KINDS[kind]
    module = importlib.import_module(module_name)
    getattr(module, register)()
    if kind == "atari":
        register_env("atari_breakout", make_atari)
    argv = [
        *rest,
        *("--device=cpu", "--experiment=peer", f"--train_dir={os.getcwd()}/train", "--with_wandb=False"),
        *("--train_for_env_steps=1000000000000", "--save_every_sec=100000", "--save_best_every_sec=100000"),
        "--decorrelate_experience_max_seconds=0",
        # Its turns are pauses: nothing is wrong when a component was silent for a while.
        *("--heartbeat_interval=100000", "--heartbeat_reporting_interval=100000"),
    ]
    _, runner = make_runner(getattr(module, parse)(argv))
    runner.register_observer(Progress(progress))
    if episodes:
        runner.register_episodic_stats_handler(Episodes(episodes))
    status = runner.init()
    if status == ExperimentStatus.SUCCESS:
        status = runner.run()
    return status


if __name__ == "__main__":
    sys.exit(main())
