"""State of AlphaZero's checkpoints apart from tensors."""

from __future__ import annotations

import msgspec

from ludus.flow.inputs.decode import from_json
from ludus.mcts import NEVER_RESIGN
from ludus.storage import CorruptFile
from ludus.training.candidates import Candidate
from ludus.training.stopping import Budget

SCHEMA = 1


class AlphaZeroState(msgspec.Struct):
    """Counters of a run that decide how it continues, apart from tensors and matches."""

    schema: int = SCHEMA
    budget: Budget = msgspec.field(default_factory=Budget)
    matches: int = 0
    session: int = 0  # of processes that have worked at this run
    chunks: list[int] = []  # files of the replay buffer
    next_chunk: int = 1
    debt: float = 0.0  # minibatches that are due
    received: int = 0
    resign_below: float = NEVER_RESIGN
    playing: int = 0  # version of the weights that play, where a gate holds newer ones back
    gates: int = 0
    gate_due: bool = False  # the newest weights have not been held against those that play
    evaluations: int = 0
    evaluated_steps: int = 0
    evaluation_due: bool = False
    best_score: float | None = None
    best_version: int = -1
    best_player: str = ""  # of a league: whose version it is
    candidates: list[Candidate] = []  # best first
    log_sizes: dict[str, int] = {}
    learner: dict[str, int] = {}


def decode_state(data: bytes, where: str) -> AlphaZeroState:
    """Decode the counters in a checkpoint's JSON text. Raises ``CorruptFile`` on anything else."""
    try:
        state = from_json(data, AlphaZeroState)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CorruptFile(f"{where}: {error}") from error
    if state.schema != SCHEMA:
        raise CorruptFile(f"{where}: schema {state.schema}, expected {SCHEMA}")
    return state
