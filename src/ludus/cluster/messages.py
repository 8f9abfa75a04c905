"""Orders to rollouts and their answers. This module needs neither Ray nor torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ludus.flow import RolloutStats, Terms
from ludus.flow.slab import Array

if TYPE_CHECKING:
    from ludus.training.opponents import Seats

Tensors = dict[str, Array]


@dataclass(frozen=True, slots=True)
class About:
    """Properties of a machine that must be equal on all machines of a run."""

    host: str
    pid: int
    package_version: str
    spec_hash: str


@dataclass(frozen=True, slots=True)
class SamplerOrder:
    """Description of a sampler that a rollout builds; its settings follow as a separate argument.

    Args:
        index: The rollout's number; each draws on its own.
        restarts: How often the run's matches started again.
        incarnation: How often this rollout was replaced.
        seats: Controllers of each seat; None: the preset's opponents.
    """

    index: int
    restarts: int = 0
    incarnation: int = 0
    seats: Seats | None = None


@dataclass(frozen=True, slots=True)
class RolloutLayout:
    """Rows and lanes of a rollout, which do not change."""

    slots: int
    rows: int
    row_slot: Array
    row_seat: Array
    lanes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SlabRequest:
    """Input of a slab; the tensors of ``weights`` follow as separate arguments.

    Args:
        weights: Policy id, or lane of a live player, and version of each argument.
        terms: Conditions of play.
        digest: Whether the answer has digests of the acting weights.
    """

    weights: tuple[tuple[int, int], ...] = ()
    terms: Terms = Terms()  # noqa: RUF009  frozen
    digest: bool = False


@dataclass(frozen=True, slots=True)
class SlabReport:
    """Report about a slab, without its arrays.

    Args:
        stats: Statistics and results.
        time_step: Time steps since the start of the run.
        versions: Version of the weights of each learner's policy id.
        digests: Digest of the weights that acted for each of them, where the request asked for it.
        busy_s: Seconds in which the slab was played.
        idle_s: Seconds before, since the last slab.
    """

    stats: RolloutStats
    time_step: int
    versions: dict[int, int] = field(default_factory=dict)
    digests: dict[int, str] = field(default_factory=dict)
    busy_s: float = 0.0
    idle_s: float = 0.0
