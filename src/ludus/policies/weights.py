"""Weights files: safetensors with a JSON header. Loading one cannot run code.

A file is self-contained: its header carries the network's configuration and the game's spec, so
:func:`build_policy` needs nothing else. Files come from anywhere, so sizes are bounded and every name,
shape and dtype is compared with what the configuration implies before a number is used.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

import msgspec
import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from ludus.flow import GameSpec, Weights, WeightsMeta, decode_spec
from ludus.flow.inputs.decode import from_json
from ludus.flow.slab import Array
from ludus.flow.weights import widened
from ludus.policies.config import MAX_PARTS, MAX_SIZE, PolicyConfig, decode_config
from ludus.policies.factory import build_network
from ludus.policies.protocol import Network

MAX_BYTES = 4 << 30
_MAX_JSON = 8 << 20
_KEY = "ludus"
_HALF = "F16"  # float32 tensors may be stored in it


class WeightsError(ValueError):
    """A weights file cannot be used; the message names the file and the reason."""


def save_weights(weights: Weights, path: str | os.PathLike[str]) -> None:
    """Write a file that is either complete or absent: temporary name, fsync, rename."""
    target = Path(path)
    tensors = {n: np.asarray(a, order="C") for n, a in weights.tensors.items()}
    data = save(tensors, {_KEY: msgspec.json.encode(weights.meta).decode()})
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        temporary.unlink(missing_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW  # never through a link
        with os.fdopen(os.open(temporary, flags, 0o644), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    directory = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def load_weights(path: str | os.PathLike[str], max_bytes: int = MAX_BYTES) -> Weights:
    """Read and check a file.

    Raises:
        FileNotFoundError: There is no such file.
        WeightsError: It is not a weights file of Ludus, or it is damaged.
    """
    target = Path(path)
    try:
        with _opened(target, max_bytes) as file:
            meta = _meta(file, target)
            network = _empty_network(meta, str(target))
            expected = {n: (tuple(t.shape), _dtype(t)) for n, t in network.state_dict().items()}
            names = set(file.keys())
            for name in sorted(names ^ set(expected)):
                what = "is missing" if name in expected else "does not belong to this architecture"
                raise WeightsError(f"{target}: tensor {name!r} {what}")
            tensors: dict[str, Array] = {}
            for name, (shape, dtype) in expected.items():
                view = file.get_slice(name)
                found = (tuple(view.get_shape()), view.get_dtype())
                if found != (shape, dtype) and found != (shape, _HALF if dtype == "F32" else dtype):
                    raise WeightsError(
                        f"{target}: tensor {name!r} is {found[1]}{list(found[0])}, "
                        f"expected {dtype}{list(shape)}"
                    )
                tensors[name] = widened(file.get_tensor(name))
    except SafetensorError as error:
        raise WeightsError(f"{target}: not a readable safetensors file ({error})") from None
    for name, array in tensors.items():
        if not bool(np.isfinite(array).all()):
            raise WeightsError(f"{target}: tensor {name!r} has values that are not finite")
    return Weights(meta, tensors)


def load_meta(path: str | os.PathLike[str], max_bytes: int = MAX_BYTES) -> WeightsMeta:
    """Return the header of a file, unchecked, for callers that must load the weights' game first.

    Raises:
        FileNotFoundError: There is no such file.
        WeightsError: It is not a weights file of Ludus.
    """
    target = Path(path)
    try:
        with _opened(target, max_bytes) as file:
            return _meta(file, target)
    except SafetensorError as error:
        raise WeightsError(f"{target}: not a readable safetensors file ({error})") from None


def _opened(target: Path, max_bytes: int) -> safe_open:
    about = target.stat()
    if not stat.S_ISREG(about.st_mode):  # a pipe would never end
        raise WeightsError(f"{target}: not a regular file")
    size = about.st_size
    if size > max_bytes:
        raise WeightsError(f"{target}: {size} bytes; a weights file has at most {max_bytes}")
    return safe_open(str(target), framework="numpy")


def _meta(file: safe_open, target: Path) -> WeightsMeta:
    about: dict[str, str] = file.metadata() or {}  # type: ignore[no-untyped-call]
    header = about.get(_KEY)
    if header is None:
        raise WeightsError(f"{target}: a safetensors file, but not a Ludus weights file (no {_KEY!r} header)")
    if len(header) > _MAX_JSON:
        raise WeightsError(f"{target}: header of {len(header)} bytes; at most {_MAX_JSON}")
    try:
        return from_json(header, WeightsMeta)
    except msgspec.DecodeError as error:
        raise WeightsError(f"{target}: header: {error}") from None


def build_policy(weights: Weights, device: str = "cpu", precision: str = "float32") -> Network:
    """Return the network that the weights describe, ready to act.

    Raises:
        WeightsError: The weights do not fit their configuration.
    """
    network = _empty_network(weights.meta, "weights")
    network.precision = precision
    state = {n: torch.from_numpy(np.array(a)) for n, a in weights.tensors.items()}
    try:
        network.load_state_dict(state, strict=True, assign=True)
    except RuntimeError as error:
        raise WeightsError(f"weights do not fit their architecture: {error}") from None
    network.to(device)
    network.eval()
    return network


def _dtype(tensor: torch.Tensor) -> str:
    return {torch.float32: "F32", torch.float64: "F64", torch.int64: "I64"}[tensor.dtype]


def _empty_network(meta: WeightsMeta, where: str) -> Network:
    """Return a network of names and shapes only, on the meta device.

    Nothing of a size that the file claims is allocated.
    """
    try:
        config = decode_config(meta.architecture)
        spec = decode_spec(meta.spec)
        _check_bounds(config, spec)
        if meta.spec_hash != spec.spec_hash:
            raise ValueError(
                f"spec hash {meta.spec_hash} does not match the spec, which hashes to {spec.spec_hash}"
            )
        if spec.name != meta.game:
            raise ValueError(f"game {meta.game!r} does not match the spec's {spec.name!r}")
        with torch.device("meta"):
            return build_network(config, spec, seed=None)
    except (ValueError, RuntimeError, OverflowError, msgspec.MsgspecError) as error:
        raise WeightsError(f"{where}: {error}") from None


def _check_bounds(config: PolicyConfig, spec: GameSpec) -> None:
    lists = {f"policy.{name}": getattr(config, name) for name in config.__struct_fields__}
    lists |= {"spec.observation": spec.observation, "spec.heads": spec.heads}
    for name, items in lists.items():
        if isinstance(items, tuple) and len(items) > MAX_PARTS:
            raise ValueError(f"{name} has {len(items)} entries; at most {MAX_PARTS}")
    sizes = [n for t in spec.observation for n in t.shape] + [h.size for h in spec.heads]
    for size in (*config.widths(), *sizes):
        if not 1 <= size <= MAX_SIZE:
            raise ValueError(f"a size of {size}; sizes lie between 1 and {MAX_SIZE}")
    if not spec.heads:
        raise ValueError("spec.heads is empty; a policy decides something")
