"""PPO on a pool of matches, with only torch: every step of the data flow in one file.

    python examples/minimal_ppo.py [--game tic_tac_toe] [--opponent random] [--steps 200000]

The pool plays many matches at once and writes observations into a slab (a rollout buffer, ``[T+1, R, ...]``).
A row is a seat of a match that the policy plays. The loss is equation 9 of Schulman et al. (2017).
``ludus train`` does the same with threads, recurrent policies, self-play and checkpoints.
"""

from __future__ import annotations

import argparse

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from ludus.flow import Controller, GameSpec, Lineup, PoolOptions, SeatPlan, Slab
from ludus.pool.native import NativePool

ROLLOUT, EPOCHS, MINIBATCHES = 16, 4, 4
DISCOUNT, GAE_LAMBDA, CLIP, ENTROPY, VALUE = 0.99, 0.95, 0.2, 0.01, 0.5


class ActorCritic(nn.Module):
    """Network of two hidden layers, one head of logits (masked where illegal), one value."""

    def __init__(self, inputs: int, choices: int) -> None:
        """Make a network of ``inputs`` numbers and ``choices`` actions."""
        super().__init__()
        self.body = nn.Sequential(nn.Linear(inputs, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh())
        self.logits, self.value = nn.Linear(128, choices), nn.Linear(128, 1)

    def forward(self, obs: Tensor, legal: Tensor) -> tuple[torch.distributions.Categorical, Tensor]:
        """Return a distribution over A choices and ``value[B]`` of ``obs: float32[B, D]``.

        ``legal: bool[B, A]`` masks the choices.
        """
        hidden = self.body(obs)
        logits = self.logits(hidden).masked_fill(~legal, -1e9)
        return torch.distributions.Categorical(logits=logits), self.value(hidden)[:, 0]


def observation(spec: GameSpec, slab: Slab, t: int | slice) -> Tensor:
    """Return all observation tensors of ``slab`` at ``t``, flattened and joined: ``float32[..., R, D]``."""
    flat = []
    for tensor in spec.observation:
        values = slab.obs[tensor.name][t].reshape(*slab.active[t].shape, -1)
        if tensor.dtype == "bits":  # eight cells a byte
            values = np.unpackbits(values.view(np.uint8), axis=-1, bitorder="little")
        flat.append(values.astype(np.float32))
    return torch.from_numpy(np.concatenate(flat, axis=-1))


def advantages(slab: Slab) -> npt.NDArray[np.float32]:
    """Return generalised advantage estimates ``[T, R]``. A reward belongs to the last decision before it."""
    advantage = np.zeros((slab.steps, slab.rows), np.float32)
    reward = np.zeros(slab.rows, np.float32)  # since the next decision, backwards in time
    continues = slab.active[-1].astype(np.float32)  # 0 where the match ended in between
    value, later = slab.value[-1].copy(), np.zeros(slab.rows, np.float32)
    for t in reversed(range(slab.steps)):
        ended = (slab.terminated[t] | slab.truncated[t]) != 0
        reward = np.where(ended, 0.0, reward) + slab.reward[t]
        continues = np.where(ended, 0.0, continues)
        delta = reward + DISCOUNT * continues * value - slab.value[t]
        now = delta + DISCOUNT * GAE_LAMBDA * continues * later
        acts = slab.active[t] != 0
        advantage[t] = now
        later, value = np.where(acts, now, later), np.where(acts, slab.value[t], value)
        reward, continues = np.where(acts, 0.0, reward), np.where(acts, 1.0, continues)
    return advantage


def collect(pool: NativePool, slab: Slab, network: ActorCritic) -> list[float]:
    """Fill ``slab`` with ``ROLLOUT`` decisions of every row; return the outcomes of finished matches."""
    outcomes = []
    pool.attach(0, slab)
    for t in range(slab.steps + 1):
        batch = pool.recv(0)
        outcomes += [r.outcome[r.players.index("policy:0")] for r in batch.results if "policy:0" in r.players]
        rows = batch.policy_rows[0]
        with torch.no_grad():
            choice, value = network(
                observation(pool.spec, slab, t)[rows], torch.from_numpy(slab.mask[t, rows] != 0)
            )
        slab.value[t, rows] = value.numpy()
        if t < slab.steps:
            action = choice.sample()
            slab.actions[t, rows, 0] = action.numpy()
            slab.log_prob[t, rows] = choice.log_prob(action).numpy()
            pool.send(0)
    return outcomes


def update(spec: GameSpec, slab: Slab, network: ActorCritic, optimiser: torch.optim.Optimizer) -> None:
    """Train for ``EPOCHS`` epochs of minibatches over the decisions of ``slab``."""
    acts = slab.active[:-1] != 0
    advantage = advantages(slab)[acts]
    target = torch.from_numpy(advantage + slab.value[:-1][acts])
    advantage = torch.from_numpy((advantage - advantage.mean()) / (advantage.std() + 1e-8))
    obs = observation(spec, slab, slice(0, slab.steps))[torch.from_numpy(acts)]
    legal = torch.from_numpy(slab.mask[:-1][acts] != 0)
    action, old = torch.from_numpy(slab.actions[acts][:, 0]), torch.from_numpy(slab.log_prob[acts])
    for _ in range(EPOCHS):
        for part in torch.randperm(len(action)).chunk(MINIBATCHES):
            choice, value = network(obs[part], legal[part])
            ratio = (choice.log_prob(action[part]) - old[part]).exp()
            gain = torch.minimum(ratio * advantage[part], ratio.clamp(1 - CLIP, 1 + CLIP) * advantage[part])
            error = (value - target[part]).square()
            loss = -gain.mean() + VALUE * error.mean() - ENTROPY * choice.entropy().mean()
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 0.5)
            optimiser.step()


def train(game: str, opponent: str, steps: int, seed: int = 1) -> float:
    """Train against a bot for ``steps`` decisions; return the mean outcome of the last 1,000 matches."""
    torch.manual_seed(seed)
    learner, bot = SeatPlan((Controller(policy=0),)), SeatPlan((Controller(bot=opponent),))
    with NativePool(
        game, {}, Lineup((learner, bot)), PoolOptions(slots=256, groups=1, threads=1, seed=seed)
    ) as pool:
        if len(pool.spec.heads) != 1:
            raise SystemExit(f"{game} has {len(pool.spec.heads)} action heads; this example handles one")
        slab = Slab(pool.spec, ROLLOUT, pool.rows)
        inputs = observation(pool.spec, slab, 0).shape[-1]
        network = ActorCritic(inputs, pool.spec.mask_size)
        optimiser = torch.optim.Adam(network.parameters(), lr=1e-3)
        outcomes: list[float] = []
        decided = updates = 0
        while decided < steps:
            outcomes = [*outcomes, *collect(pool, slab, network)][-1000:]
            update(pool.spec, slab, network, optimiser)
            decided += int(slab.active[:-1].sum())
            updates += 1
            if updates % 20 == 0:
                print(f"{decided:>9,} decisions: mean outcome {np.mean(outcomes):+.3f} (+1 won, -1 lost)")
    return float(np.mean(outcomes))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Train with PPO on a pool of matches.")
    parser.add_argument("--game", default="tic_tac_toe")
    parser.add_argument("--opponent", default="random")
    parser.add_argument("--steps", type=int, default=200_000)
    options = parser.parse_args()
    train(options.game, options.opponent, options.steps)
