"""Names of weights: ``RUN@best``, ``RUN@last``, ``RUN@1200`` or a weights file."""

from __future__ import annotations

from pathlib import Path

from ludus.flow.weights import Weights
from ludus.storage.errors import RunNotFound
from ludus.storage.rundir import RunDirectory
from ludus.storage.tensors import read_weights


def is_reference(text: str) -> bool:
    """True for what can only name weights, not a bot: it has an ``@``, our suffix, or is there as a file."""
    return "@" in text or text.endswith(".safetensors") or Path(text).is_file()


def resolve_weights(text: str) -> Path:
    """The weights file that ``text`` names. Raises ``RunNotFound`` with what there is instead."""
    folder, at, reference = text.rpartition("@")
    if at:
        if not reference or not folder:
            raise RunNotFound(f"{text!r}: expected RUN@best, RUN@last or RUN@VERSION")
        return RunDirectory.open(Path(folder)).checkpoints.weights_path(reference)
    path = Path(text)
    if path.is_dir():
        return RunDirectory.open(path).checkpoints.weights_path("best")
    if not path.is_file():
        raise RunNotFound(f"{text}: no such weights file; expected a file, RUN@best, RUN@last or RUN@VERSION")
    return path


def load_weights(text: str) -> Weights:
    """Weights by name. Raises ``RunNotFound`` or ``CorruptFile``."""
    return read_weights(resolve_weights(text))
