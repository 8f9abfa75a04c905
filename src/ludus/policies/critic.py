"""Separate critic, which may see more of a match than the seat that decides.

``policy.critic_sees = "team"`` or ``"all"`` makes it a centralised one (Lowe et al. 2017, MADDPG; Vinyals
et al. 2019, AlphaStar): the features of the other seats' observations join the seat's features. Other
seats follow the seat in the order of play; one that has not observed anything in the match is zero. Only
the learner evaluates it, so that acting needs no observation but the seat's own.

Shapes: ``N`` decisions, ``K`` seen other seats, of which ``M`` of ``N * K`` are present.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ludus.flow import GameSpec
from ludus.policies.config import EncoderConfig
from ludus.policies.encoder import Encoder
from ludus.policies.layers.torso import Dense
from ludus.policies.protocol import Observation


class Others(NamedTuple):
    """Observations of other seats at ``N`` decisions."""

    obs: Observation  # name -> [M, *packed]
    place: Tensor  # int64[M], ascending: decision * K + number of the other seat
    #: ``bool[M]``; given, ``M = N * K``, and the rest of ``obs`` only fills a shape. None: all are present
    present: Tensor | None = None


def seen_seats(config: EncoderConfig, spec: GameSpec, seat: int) -> list[int]:
    """Return the other seats that the value of ``seat`` sees, in the order of play."""
    if config.critic_sees == "own":
        return []
    others = [(seat + k) % spec.seats for k in range(1, spec.seats)]
    return [s for s in others if config.critic_sees == "all" or spec.together(s, seat)]


def seats_seen(config: EncoderConfig, spec: GameSpec) -> int:
    """Return ``K``: the maximum number of other seats seen from any."""
    return max(len(seen_seats(config, spec, seat)) for seat in range(spec.seats))


class Critic(Encoder):
    """Encoder of the value head, ``[N, size]``. It shares no parameters with the policy."""

    def __init__(self, config: EncoderConfig, spec: GameSpec, seed: int | None = None) -> None:
        """Make the encoder.

        Args:
            config: Configuration of the network.
            spec: Spec of the game.
            seed: Seed of the network's initial weights; None if they are loaded.

        Raises:
            ValueError: ``config.critic_sees`` names seats that the game does not have.
        """
        super().__init__(config, spec, points=False, seed=None if seed is None else seed + 1)
        self.seats = seats_seen(config, spec)
        if config.critic_sees != "own" and not self.seats:
            raise ValueError(
                f'policy.critic_sees = "{config.critic_sees}": {spec.name} has no such other seats'
            )
        size = self.join.size
        self.together = Dense(config, (1 + self.seats) * size, (size,)) if self.seats else None

    def joined(self, own: Tensor, seen: Tensor, others: Others) -> Tensor:
        """Join features ``[N, size]`` of a seat and ``[M, size]`` of ``others``: ``[N, size]``."""
        assert self.together is not None
        rows, size = own.shape
        if others.present is None:
            seen = seen.new_zeros((rows * self.seats, size)).index_copy(0, others.place, seen)
        else:
            seen = seen.masked_fill(~others.present.unsqueeze(1), 0.0)
        out: Tensor = self.together(torch.cat([own, seen.reshape(rows, -1).to(own.dtype)], dim=1))
        return out
