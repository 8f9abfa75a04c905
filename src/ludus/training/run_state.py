"""Counters of a run that every way to train has in its checkpoints."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from ludus.flow.inputs.decode import from_json
from ludus.storage import CorruptFile
from ludus.training.stopping import Budget

SCHEMA = 1


class Candidate(msgspec.Struct, frozen=True):
    """A version of the weights and the score of its newest evaluation inside training.

    ``player``: the member of a league whose weights and version they are.
    """

    version: int
    score: float
    player: str = ""


class RunState(msgspec.Struct):
    """Everything that decides what happens next, apart from tensors and matches."""

    schema: int = SCHEMA
    budget: Budget = msgspec.field(default_factory=Budget)
    received: int = 0  # decisions collected
    matches: int = 0
    evaluations: int = 0  # made so far
    evaluated_steps: int = 0  # budget.steps of the last one
    evaluation_due: bool = False  # one that was decided on but not made when the checkpoint was written
    best_score: float | None = None
    best_version: int = -1
    best_player: str = ""  # of a league: whose version it is
    candidates: list[Candidate] = []  # best first
    log_sizes: dict[str, int] = {}
    learner: dict[str, int] = {}


State = TypeVar("State", bound=RunState)


def decode_as(kind: type[State], data: bytes, where: str) -> State:
    """Decode the counters in a checkpoint's JSON text. Raises ``CorruptFile`` on anything else."""
    try:
        state = from_json(data, kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CorruptFile(f"{where}: {error}") from error
    if state.schema != SCHEMA:
        raise CorruptFile(f"{where}: schema {state.schema}, expected {SCHEMA}")
    return state
