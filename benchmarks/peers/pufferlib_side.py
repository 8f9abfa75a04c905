"""PufferLib's side: PuffeRL on a game of PufferLib in C, progress written after every training phase.

python pufferlib_side.py puffer_breakout --agents 1024 --minibatch 8192 --hidden 128 --progress FILE
"""

from __future__ import annotations

import argparse
import sys
import time

import pufferlib.models
import pufferlib.ocean
import pufferlib.vector
import torch
from pufferlib import pufferl


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("env")
    parser.add_argument("--agents", type=int, default=1024)
    parser.add_argument("--minibatch", type=int, default=8192)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--threads", type=int, default=1, help="intra-op threads of torch")
    parser.add_argument("--progress", required=True)
    return parser


def main() -> None:
    arguments = parser_of().parse_args()
    sys.argv = sys.argv[:1]  # load_config reads it too
    settings = pufferl.load_config(arguments.env)
    train = settings["train"]
    train.update(
        env=arguments.env,
        device="cpu",
        use_rnn=False,
        compile=False,
        total_timesteps=10**12,
        batch_size=64 * arguments.agents,
        bptt_horizon=64,
        minibatch_size=arguments.minibatch,
        max_minibatch_size=arguments.minibatch,
        update_epochs=1,
        checkpoint_interval=10**9,
    )
    torch.set_num_threads(arguments.threads)
    games = pufferlib.vector.make(
        pufferlib.ocean.env_creator(arguments.env),
        num_envs=1,
        env_kwargs={**settings["env"], "num_envs": arguments.agents},
        backend=pufferlib.vector.Serial,
    )
    policy = pufferlib.models.Default(games.driver_env, hidden_size=arguments.hidden)
    trainer = pufferl.PuffeRL(train, games, policy)
    with open(arguments.progress, "a", buffering=1) as file:
        while True:
            trainer.evaluate()
            trainer.train()
            file.write(f"{time.monotonic_ns()} {trainer.global_step}\n")


if __name__ == "__main__":
    main()
