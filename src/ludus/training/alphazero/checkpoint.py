"""State of AlphaZero's checkpoints apart from tensors."""

from __future__ import annotations

import msgspec

from ludus.mcts import NEVER_RESIGN
from ludus.training.run_state import RunState, decode_as


class AlphaZeroState(RunState):
    """Counters of a run of AlphaZero. ``received``: positions to learn."""

    session: int = 0  # of processes that have worked at this run
    chunks: list[int] = msgspec.field(default_factory=list)  # files of the replay buffer
    next_chunk: int = 1
    debt: float = 0.0  # minibatches that are due
    resign_below: float = NEVER_RESIGN
    playing: int = 0  # version of the weights that play, if a gate holds newer ones back
    gates: int = 0
    gate_due: bool = False  # the newest weights have not been held against those that play


def decode_state(data: bytes, where: str) -> AlphaZeroState:
    """Decode the counters in a checkpoint's JSON text. Raises ``CorruptFile`` on anything else."""
    return decode_as(AlphaZeroState, data, where)
