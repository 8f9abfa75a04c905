"""Weights of published runs, in ``benchmarks/results/weights``: named by their SHA-256, small, checked.

A file has float tensors in half precision where the writer asks for it, and :func:`opened` gives the float32
file that Ludus loads. Published matches are played with this file, so a second replay has the same numbers.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tools.records import RECORDS, ROOT, Record, sha256_of

if TYPE_CHECKING:
    from ludus.flow.slab import Array
    from ludus.flow.weights import Weights

FOLDER = RECORDS / "weights"
SUFFIX = ".safetensors"
MAX_FILE = 400_000  # bytes
MAX_ALL = 12_000_000
ZOO = Path("src") / "ludus" / "zoo"
_KEY = "ludus"


class TooLarge(ValueError):
    """Weights that are larger than a kept file may be; ``size`` is in bytes."""

    def __init__(self, path: str, size: int) -> None:
        super().__init__(f"{path}: {size:,} bytes, expected at most {MAX_FILE:,} of kept weights")
        self.size = size


def kept_path(digest: str, folder: Path = FOLDER) -> Path:
    """Return the path of the file with this SHA-256."""
    return folder / f"{digest[:16]}{SUFFIX}"


def find_kept(digest: str, folder: Path = FOLDER) -> Path | None:
    """Return the kept file with this SHA-256, or the player of the zoo that has it; None if there is none.

    The zoo's files are part of the package (``src/ludus/zoo``) and are not kept a second time.
    """
    path = kept_path(digest, folder)
    if path.is_file():
        return path
    found = (p for p in sorted(zoo_folder(folder).glob(f"*{SUFFIX}")) if sha256_of(p) == digest)
    return next(found, None)


def zoo_folder(folder: Path = FOLDER) -> Path:
    """Return the folder of the zoo's players of the repository whose kept weights are in ``folder``."""
    own = folder.resolve().parents
    root = own[2] if len(own) > 2 and (own[2] / ZOO).is_dir() else ROOT
    return root / ZOO


def keep(reference: str, folder: Path = FOLDER, *, half: bool = True) -> str:
    """Keep the weights ``RUN@VERSION`` (or a file) and return the SHA-256 of the kept file.

    ``half``: float32 tensors are rounded to float16. Raises :class:`TooLarge`, ``StorageError`` and
    ``WeightsError``.
    """
    from ludus.policies.weights import load_weights
    from ludus.storage import resolve_weights

    return keep_weights(load_weights(resolve_weights(reference)), reference, folder, half=half)


def first_weights_of(run: Path) -> Weights:
    """Return the weights of version 0, which the run of one learner draws from its seed.

    Runs keep few versions, so they are drawn again. Raises ``ConfigError`` and ``StorageError``.
    """
    from ludus.algorithms.config import AlphaZeroConfig
    from ludus.presets.file import parse_preset
    from ludus.storage import RunDirectory
    from ludus.training.actor_learner.build import build_learner
    from ludus.training.alphazero.components import build_alphazero

    opened = RunDirectory.open(run)
    preset = parse_preset(opened.config_bytes(), str(opened.config)).preset
    if preset.run.start and opened.start.is_file():  # the run's own copy
        changed = msgspec.structs.replace(preset.run, start=str(opened.start))
        preset = msgspec.structs.replace(preset, run=changed)
    if isinstance(preset.algorithm, AlphaZeroConfig):
        return build_alphazero(preset).learner.weights()
    return build_learner(preset).weights()


def keep_weights(weights: Weights, name: str, folder: Path = FOLDER, *, half: bool = True) -> str:
    """Keep ``weights``; as :func:`keep`."""
    content = encoded(rounded(weights) if half else weights)
    if len(content) > MAX_FILE:
        raise TooLarge(name, len(content))
    folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / f".{os.getpid()}.tmp"
    temporary.write_bytes(content)
    digest = sha256_of(temporary)
    temporary.replace(kept_path(digest, folder))
    return digest


def rounded(weights: Weights) -> Weights:
    """Return weights with the float32 tensors in half precision whose numbers are in its range."""
    import numpy as np

    from ludus.flow.weights import Weights

    tensors = {n: a.astype(np.float16) if _fits(a) else a for n, a in weights.tensors.items()}
    return Weights(weights.meta, tensors)


def encoded(weights: Weights) -> bytes:
    """Return the bytes of a file with ``weights``, of the precision that they have."""
    import numpy as np
    from safetensors.numpy import save

    tensors = {n: np.asarray(a, order="C") for n, a in weights.tensors.items()}
    return save(tensors, {_KEY: msgspec.json.encode(weights.meta).decode()})


def _fits(array: Array) -> bool:
    """Whether half precision has every number of a float32 array within its range."""
    return bool(array.dtype == "float32" and (abs(array) < 65_000).all())


@contextmanager
def opened(digest: str, folder: Path = FOLDER) -> Iterator[Path]:
    """Give a file with these weights that Ludus loads. Raises ``ValueError`` where none is kept."""
    import numpy as np
    from safetensors import safe_open
    from safetensors.numpy import save_file

    path = find_kept(digest, folder)
    if path is None:
        raise ValueError(f"no kept weights {digest[:16]}")
    with safe_open(str(path), framework="numpy") as file:
        about: dict[str, str] = file.metadata() or {}
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
    whole = {n: a.astype(np.float32) if a.dtype == np.float16 else a for n, a in tensors.items()}
    with tempfile.TemporaryDirectory() as temporary:
        target = Path(temporary) / path.name
        save_file(whole, str(target), about)
        yield target


@contextmanager
def opened_all(digests: Sequence[str], folder: Path = FOLDER) -> Iterator[list[str]]:
    """Give a path for each digest; empty where the digest is."""
    with ExitStack() as stack:
        yield [str(stack.enter_context(opened(d, folder))) if d else "" for d in digests]


def weights_faults(records: Mapping[str, Record], folder: Path = FOLDER) -> list[str]:
    """Return the faults of the folder: of hashes, sizes, and files that no record names."""
    named = {d for r in records.values() for run in r.runs for d in (run.weights, run.initial) if d}
    wanted = {kept_path(d, folder).name: d for d in named}
    wrong, total = [], 0
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        size = path.stat().st_size
        total += size
        if path.name not in wanted:
            wrong.append(f"weights/{path.name}: no record names this file")
        elif size > MAX_FILE:
            wrong.append(f"weights/{path.name}: {size:,} bytes, expected at most {MAX_FILE:,}")
        elif sha256_of(path) != wanted[path.name]:
            wrong.append(f"weights/{path.name}: the file has another SHA-256 than its records say")
    if total > MAX_ALL:
        wrong.append(f"weights: {total:,} bytes in all, expected at most {MAX_ALL:,}")
    return wrong
