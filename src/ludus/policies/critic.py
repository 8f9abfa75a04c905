"""Separate critic, which may see more of a match than the seat that decides.

``policy.critic_sees = "team"`` or ``"all"`` makes it a centralised one (Lowe et al. 2017, MADDPG; Vinyals
et al. 2019, AlphaStar): the features of the other seats' observations join the seat's features. Other
seats follow the seat in the order of play; one that has not observed anything in the match is zero. Only
the learner evaluates it, so that acting needs no observation but the seat's own.

With learned memory the critic has a separate GRU or LSTM for every seat. Acting advances it, and a row's
memory holds the policy's and then the critic's. A critic of a team then joins the *memories* of its seats at
the time step (Sun et al. 2020, TLeague's Pommerman). A seat that does not act there for the same policy, such
as a dead one, is zero.

Shapes: ``N`` decisions, ``K`` seen other seats, of which ``M`` of ``N * K`` are present. Of sequences: ``T``
steps, ``B`` rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ludus.flow import GameSpec
from ludus.policies.config import EncoderConfig
from ludus.policies.encoder import Encoder
from ludus.policies.layers.batch_norm import batch_norms, counting
from ludus.policies.layers.torso import Dense
from ludus.policies.memory import Recurrent
from ludus.policies.protocol import Observation


class Others(NamedTuple):
    """Observations of other seats at ``N`` decisions."""

    obs: Observation  # name -> [M, *packed]
    place: Tensor  # int64[M], ascending: decision * K + number of the other seat
    #: ``bool[M]``; given, ``M = N * K``, and the rest of ``obs`` only fills a shape. None: all are present
    present: Tensor | None = None


class CriticInput(NamedTuple):
    """Rows of a sequence, as a critic with memory reads them."""

    obs: Observation  # name -> [T, B, *packed]
    memory: Tensor  # [B, ...] at the start, the critic's
    first: Tensor  # bool[T, B], whether the row's match starts here
    active: Tensor  # bool[T, B]; a row that is not active keeps its memory, and is zero for its team

    def with_rows(self, extra: CriticInput) -> CriticInput:
        """Return these rows with others behind them."""
        return CriticInput(
            {name: torch.cat([x, extra.obs[name]], dim=1) for name, x in self.obs.items()},
            torch.cat([self.memory, extra.memory]),
            torch.cat([self.first, extra.first], dim=1),
            torch.cat([self.active, extra.active], dim=1),
        )


class Mates(NamedTuple):
    """Rows of the other seats of the teams of ``B`` rows."""

    rows: Tensor  # int64[B, K]: number among the B rows and the extra ones behind them; -1: no such row
    extra: CriticInput | None = None
    in_order: bool = False  # whether the extra rows are the mates in their order, absent ones included


#: ``name -> [N, *packed]``; ``bool[N]``, those that are read; ``bool[N]``, those that batch norms record ->
#: features ``[N, D]``
Encode = Callable[[Observation, Tensor, Tensor], Tensor]


def split_memory(memory: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Return the policy's part of ``[N, ..., M]``, of ``size``, and the critic's."""
    return memory[..., :size], memory[..., size:]


def seen_seats(config: EncoderConfig, spec: GameSpec, seat: int) -> list[int]:
    """Return the other seats that the value of ``seat`` sees, in the order of play."""
    if config.critic_sees == "own":
        return []
    others = [(seat + k) % spec.seats for k in range(1, spec.seats)]
    return [s for s in others if config.critic_sees == "all" or spec.together(s, seat)]


def mates_among(config: EncoderConfig, spec: GameSpec, seats: Sequence[int]) -> list[list[int]]:
    """Return ``[B][K]``: the places in ``seats`` of the other seats that each value sees; -1: none."""
    count, place = seats_seen(config, spec), {seat: i for i, seat in enumerate(seats)}
    each = [[place.get(other, -1) for other in seen_seats(config, spec, seat)] for seat in seats]
    return [some + [-1] * (count - len(some)) for some in each]


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
        #: memory of every seat, apart from the policy's
        self.recurrent: Recurrent | None = None
        if config.memory in ("gru", "lstm"):
            self.recurrent = Recurrent(config.memory, self.join.size, config.memory_size)
        size = self.size = self.join.size if self.recurrent is None else self.recurrent.size
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

    @property
    def memory_size(self) -> int:
        """Length of the last axis of the critic's memory; 0 without one."""
        return 0 if self.recurrent is None else self.recurrent.size

    def step(self, features: Tensor, memory: Tensor, first: Tensor) -> tuple[Tensor | None, Tensor]:
        """Advance the memory of each row by one decision.

        Args:
            features: ``[N, D]``.
            memory: ``[N, ...]``.
            first: ``bool[N]``, rows that start from zero.

        Returns:
            Inputs of the value head, None if they depend on other seats, and the memory.
        """
        assert self.recurrent is not None
        memory = self.recurrent.step(features, memory, first)
        return None if self.seats else self.recurrent.output(memory), memory

    def sequence(
        self, inputs: CriticInput, mates: Mates | None, encode: Encode
    ) -> tuple[Tensor | None, Tensor]:
        """Run rows through their memories, and join the memories of each team.

        Args:
            inputs: The rows.
            mates: The other seats of their teams; None: not known.
            encode: Encodes for this critic.

        Returns:
            Inputs of the value head ``[T * B, size]``, None if they depend on other seats that are not known,
            and the last memory ``[B, ...]``.
        """
        assert self.recurrent is not None
        steps, rows = inputs.first.shape
        if mates is not None and mates.extra is not None:
            inputs = inputs.with_rows(mates.extra)
        flat = {name: x.flatten(0, 1) for name, x in inputs.obs.items()}
        active = counted = inputs.active
        if active.shape[1] > rows:  # batch norms count extra rows where these are rows themselves
            counted = torch.cat([active[:, :rows], torch.zeros_like(active[:, rows:])], dim=1)
        features = encode(flat, active.flatten(), counted.flatten())
        features = features.reshape(*active.shape, features.shape[-1])
        outputs, memory = self.recurrent.sequence(features, inputs.memory, inputs.first, active)
        own = outputs[:, :rows]
        if self.together is None:
            return own.flatten(0, 1), memory[:rows]
        if mates is None:
            return None, memory[:rows]
        if mates.in_order:  # so that each sum of a gradient has one order
            seen, present = outputs[:, rows:], active[:, rows:]
        else:
            there = mates.rows.clamp(min=0).flatten()
            seen, present = outputs.index_select(1, there), active.index_select(1, there)
        seen = seen * (present & (mates.rows >= 0).flatten()).to(outputs.dtype).unsqueeze(2)
        every = torch.cat([own, seen.reshape(steps, rows, self.seats * self.size)], dim=2).flatten(0, 1)
        with counting(batch_norms(self.together), active[:, :rows].flatten()):
            joined: Tensor = self.together(every)
        return joined, memory[:rows]
