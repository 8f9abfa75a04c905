"""Rows of the comparison with other libraries: their programs, their arguments and Ludus's presets."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

SF_ATARI = (
    *("atari", "--env=atari_breakout", "--algo=APPO", "--async_rl=True", "--normalize_returns=False"),
    *("--normalize_input=False", "--num_epochs=1", "--num_batches_per_epoch=1", "--with_vtrace=True"),
    *("--rollout=32", "--recurrence=32", "--batch_size=1024", "--worker_num_splits=2", "--num_workers=2"),
    "--num_envs_per_worker=16",
)
SF_CARTPOLE = (
    *("gym", "--env=CartPole-v1", "--algo=APPO", "--use_rnn=False", "--encoder_mlp_layers", "64", "64"),
    *("--nonlinearity=tanh", "--recurrence=1", "--with_vtrace=False", "--num_workers=2"),
)
SF_BATCHED = (
    *("--num_envs_per_worker=256", "--worker_num_splits=2", "--batched_sampling=True"),
    *("--batch_size=8192", "--rollout=32"),
)
SF_DOOM = (
    *("--algo=APPO", "--num_workers=2", "--num_envs_per_worker=8", "--worker_num_splits=2"),
    *("--batch_size=1024", "--policy_workers_per_policy=1"),
)


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison: a peer's program with its arguments against a preset."""

    name: str
    title: str
    peer: str
    package: str
    program: tuple[str, ...]
    preset: str
    frames_per_decision: int
    goal: float


ROWS = (
    Row(
        "atari-sf",
        "Atari Breakout, Sample Factory's best settings, 1 epoch",
        *("sample_factory", "sample-factory", SF_ATARI, "atari-1-epoch", 4, 2.5),
    ),
    Row(
        "atari-sb3",
        "Atari Breakout, Stable-Baselines3, 4 epochs",
        *("stable_baselines3", "stable-baselines3", ("BreakoutNoFrameskip-v4",), "atari-4-epochs", 4, 4.0),
    ),
    Row(
        "cartpole-sf",
        "CartPole of Gymnasium, Sample Factory's best settings",
        *("sample_factory", "sample-factory"),
        (*SF_CARTPOLE, *SF_BATCHED),
        preset="cartpole",
        frames_per_decision=1,
        goal=4.0,
    ),
    Row(
        "cartpole-sf-documented",
        "CartPole of Gymnasium, Sample Factory's documented settings",
        *("sample_factory", "sample-factory"),
        (*SF_CARTPOLE, "--num_envs_per_worker=20", "--batch_size=512"),
        preset="cartpole",
        frames_per_decision=1,
        goal=12.0,
    ),
    Row(
        name="vizdoom-sf",
        title="Battle of ViZDoom, convolutions, measurements and GRU 512",
        peer="sample_factory",
        package="sample-factory",
        program=("vizdoom", "--env=doom_battle", *SF_DOOM),
        preset="vizdoom-battle",
        frames_per_decision=4,
        goal=2.0,
    ),
    Row(
        name="vizdoom-basic-sf",
        title="ViZDoom basic, convolutions and GRU 512",
        peer="sample_factory",
        package="sample-factory",
        program=("vizdoom", "--env=doom_basic", *SF_DOOM),
        preset="vizdoom-basic",
        frames_per_decision=4,
        goal=3.0,
    ),
    Row(
        "small-game-puffer",
        "A small compiled game with an MLP 128: Connect Four here, Breakout there",
        *("pufferlib", "pufferlib", ("puffer_breakout", "--threads", "2"), "connect-four", 1, 3.0),
    ),
)
SIDES = {
    "sample_factory": "sample_factory_side.py",
    "stable_baselines3": "stable_baselines3_side.py",
    "pufferlib": "pufferlib_side.py",
}
