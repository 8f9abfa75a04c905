"""Rates of one machine: the file that ``ludus bench train PRESET --json`` writes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec

from ludus.flow.inputs.decode import from_json
from ludus.flow.inputs.shown import shown
from ludus.flow.problem import Argument
from ludus.presets.errors import ConfigError
from ludus.storage.errors import StorageError
from ludus.storage.files import read_bounded

MAX_BYTES = 1 << 16
Rate = Annotated[float, msgspec.Meta(gt=0, le=1e15)]
Count = Annotated[int, msgspec.Meta(ge=1, le=1 << 50)]


class Measured(msgspec.Struct, frozen=True):
    """The part of a :class:`~ludus.bench.training.BenchTrainResult` that a plan reads.

    Rates are of the whole machine, with ``threads``. ``learning_steps_per_s`` counts a decision once,
    however many epochs learn from it.
    """

    ludus: str
    game: str
    device: str
    threads: Count
    parameters: Count
    pure_steps_per_s: Rate
    inference_steps_per_s: Rate
    learning_steps_per_s: Rate
    slab_decisions: Count
    slab_bytes: Count

    @property
    def decision_bytes(self) -> float:
        """Bytes of a decision that a learner reads."""
        return self.slab_bytes / self.slab_decisions

    @property
    def weights_bytes(self) -> int:
        """Bytes of the weights, which travel in float32."""
        return 4 * self.parameters


def read_measured(machine: str, name: str) -> Measured:
    """Read the file of a ``machine``, "rollout" or "learner". Raises ``ConfigError``."""
    hint = f"expected the output of: ludus bench train PRESET --json > {machine}.json"
    if not name:
        raise ConfigError(f"missing; {hint}", where=_option(machine))
    where = _option(machine, name)
    try:
        return from_json(read_bounded(Path(name), MAX_BYTES), Measured)
    except StorageError as error:
        raise ConfigError(error, where=_option(machine), more=f"; {hint}") from error
    except OSError as error:
        raise ConfigError(f"cannot be read ({error.strerror}); {hint}", where=where) from error
    except msgspec.DecodeError as error:
        raise ConfigError(f"{error}; {hint}", where=where) from error


def check_alike(rollout: Measured, learner: Measured, game: str) -> None:
    """Check that both files measure the same thing. Raises ``ConfigError``."""
    pairs = {"Ludus": (rollout.ludus, learner.ludus), "parameters": (rollout.parameters, learner.parameters)}
    for name, (one, other) in pairs.items():
        if one != other:
            raise ConfigError(
                _option("rollout"),
                f" has {name} {shown(str(one))}, ",
                _option("learner"),
                f" {name} {shown(str(other))}: expected the same; measure both again",
            )
    for machine, measured in (("rollout", rollout), ("learner", learner)):
        if measured.game != game:
            text = f"measured {shown(measured.game)}, the preset's game is {game}"
            raise ConfigError(text, where=_option(machine))


def _option(machine: str, file: str = "") -> Argument:
    return Argument(machine, file, command="plan")
