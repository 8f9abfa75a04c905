"""Random networks before and after surgery, and moments of matches that both observe."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import Any
from unittest import mock

import msgspec
import numpy as np
import torch
from torch import Tensor

from ludus.codecs import forms
from ludus.flow import GameSpec, HeadSpec, TensorSpec
from ludus.policies import encoder
from ludus.policies.config import EncoderConfig
from ludus.policies.critic import Mates, Others
from ludus.policies.layers.batch_norm import NormSums, observing
from ludus.policies.network import PolicyNetwork
from ludus.surgery.apply import apply
from ludus.surgery.diff import make_plan
from ludus.surgery.plan import ConversionHints, ConversionPlan, Side, decode_plan
from ludus.surgery.verify import LargestDifferences, Moments, compare
from tests.unit.synthetic import make_spec

torch.set_num_threads(1)

SMALL: dict[str, Any] = {
    "channels": (8, 8),
    "strides": (1, 2),
    "dense": (8,),
    "hidden": (16,),
    "context": 6,
    "memory_size": 8,
    "norm": "none",
}
WIDE: dict[str, Any] = {
    **SMALL,
    "channels": (16, 24),
    "dense": (16,),
    "hidden": (32,),
    "context": 9,
    "memory_size": 13,
}
STEPS, ROWS = 100, 3


def labelled(name: str, dtype: str, labels: list[str], rest: tuple[int, ...] = ()) -> TensorSpec:
    """Return a tensor of planes (two in ``rest``), entity rows (one) or a vector, a label for each column."""
    shape = (*rest, len(labels)) if len(rest) == 1 else (len(labels), *rest)
    scale = 0.25 if dtype == "u8" else 1.0
    return TensorSpec(name, dtype, shape, 0.0, 255.0, "identity", scale, "synthetic", tuple(labels))  # type: ignore[arg-type]


def game(
    planes: str = "abc",
    units: str = "defg",
    numbers: str = "hijk",
    choices: str = "uvwx",
    *,
    points: bool = False,
    more: str = "",
    seats: int = 1,
) -> GameSpec:
    """Return a spec whose columns and choices are called by the letters given; ``more``: a further input."""
    tensors = (
        labelled("map", "u8", list(planes), (4, 4)),
        labelled("units", "u8", list(units), (3,)),
        labelled("numbers", "f32", list(numbers)),
        *([labelled("more", "f32", list(more))] if more else []),
    )
    heads = [HeadSpec("order", len(choices), tuple(choices)), HeadSpec("speed", 3, ("slow", "fast", "stop"))]
    if points:
        heads.insert(1, HeadSpec("unit", 4, points_at="units", rows=3))
        heads.append(HeadSpec("cell", 16, points_at="map", rows=16))
    return msgspec.structs.replace(make_spec(tensors, ()), heads=tuple(heads), seats=seats)


def config(**settings: object) -> EncoderConfig:
    """Return a small configuration with these settings."""
    return msgspec.convert({"network": "encoder", **SMALL, **settings}, EncoderConfig)


def _column_axis(tensor: TensorSpec) -> int:
    return 0 if len(tensor.shape) == 3 else -1


def observations(old: GameSpec, new: GameSpec, seed: int) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return ``[T, B, *shape]`` of both games: columns of equal labels hold equal numbers."""
    generator = np.random.default_rng(seed)
    before: dict[str, Tensor] = {}
    after: dict[str, Tensor] = {}
    for tensor in {t.name: t for t in (*old.observation, *new.observation)}.values():
        one = next((t for t in old.observation if t.name == tensor.name), None)
        two = next((t for t in new.observation if t.name == tensor.name), None)
        labels = list(dict.fromkeys([*(one.labels if one else ()), *(two.labels if two else ())]))
        axis = _column_axis(tensor)
        shape = [STEPS, ROWS, *tensor.shape]
        place = axis if axis < 0 else axis + 2
        shape[place] = len(labels)
        if tensor.dtype == "u8":
            drawn = generator.integers(0, 9, shape).astype(np.uint8)
            if len(tensor.shape) == 2:  # a row is present in both games or in none
                drawn[..., 0] = np.maximum(drawn[..., 0], 1)
                drawn *= (generator.random(shape[:-1]) < 0.7)[..., None]
        else:
            drawn = generator.normal(3.0, 5.0, shape).astype(np.float32)
        for made, side in ((before, one), (after, two)):
            if side is not None:
                index = [labels.index(x) for x in side.labels]
                made[tensor.name] = torch.from_numpy(np.take(drawn, index, axis=place))
    return before, after


def trained(net: PolicyNetwork, obs: dict[str, Tensor], seed: int) -> None:
    """Move every number of a network away from its start, as training does."""
    generator = torch.Generator().manual_seed(seed)
    flat = {n: x.flatten(0, 1) for n, x in obs.items()}
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.1)
        if net.normaliser is not None:
            vectors = net.vectors(flat)
            assert vectors is not None
            net.normaliser.absorb(vectors)
        sums = NormSums(net)
        if sums.norms and not net.centralised:
            memory = net.initial_memory(ROWS)
            with observing(sums.norms) as seen:
                net.sequence(obs, memory, torch.zeros(STEPS, ROWS, dtype=torch.bool))
            sums.add(seen)
            sums.absorb()
        if net.values is not None:
            heads = net.config.value_heads
            shape = (500, heads) if heads > 1 else (500,)
            net.values.absorb(torch.randn(shape, generator=generator) * 3 + 1, net.value_head)


def arrays(net: PolicyNetwork) -> dict[str, Any]:
    """Return a network's parameters and buffers as arrays."""
    return {n: t.detach().numpy().copy() for n, t in net.state_dict().items()}


@contextlib.contextmanager
def double() -> Iterator[None]:
    """Compute networks in float64: what codecs give and what is kept in float32 becomes float64."""
    real_float, real_zeros = Tensor.float, Tensor.new_zeros
    inside = [0]

    def as_float(x: Tensor, *a: Any, **k: Any) -> Tensor:  # noqa: ANN401
        return real_float(x, *a, **k) if inside[0] else x.double()

    def zeros(x: Tensor, *a: Any, **k: Any) -> Tensor:  # noqa: ANN401
        if k.get("dtype") is torch.float32 and x.dtype is torch.float64:
            k["dtype"] = torch.float64
        return real_zeros(x, *a, **k)

    def doubled(function: Any) -> Any:  # noqa: ANN401
        def made(*a: Any) -> Any:  # noqa: ANN401
            inside[0] += 1
            try:
                out = function(*a)
            finally:
                inside[0] -= 1
            if isinstance(out, tuple):
                return tuple(x.double() if x.is_floating_point() else x for x in out)
            return out.double()

        return made

    with (
        mock.patch.object(Tensor, "float", as_float),
        mock.patch.object(Tensor, "new_zeros", zeros),
        mock.patch.object(encoder, "decoded", doubled(forms.decoded)),
        mock.patch.object(encoder, "entity_rows", doubled(forms.entity_rows)),
        mock.patch.object(encoder, "sparse_planes", return_value=None),
        mock.patch.object(encoder, "is_bytes", return_value=False),
    ):
        yield


def mask(spec: GameSpec, legal: set[tuple[str, str]] | None = None) -> Tensor:
    """Return a mask of every decision in which choices outside ``legal`` (head, label) are illegal."""
    row = [
        1 if legal is None or not label or (h.name, label) in legal else 0
        for h in spec.heads
        for label in (h.labels or ("",) * h.size)
    ]
    return torch.tensor(row, dtype=torch.uint8).expand(STEPS * ROWS, -1)


def _others(net: PolicyNetwork, obs: dict[str, Tensor]) -> Others | None:
    if not net.centralised or net.team_memories or net.critic is None:
        return None
    seats = net.critic.seats
    flat = {n: x.flatten(0, 1).roll(1, 0).repeat_interleave(seats, 0) for n, x in obs.items()}
    return Others(flat, torch.arange(STEPS * ROWS * seats))


def _mates(net: PolicyNetwork) -> Mates | None:
    if not net.team_memories or net.critic is None:
        return None
    rows = torch.arange(ROWS).unsqueeze(1) + torch.arange(1, 1 + net.critic.seats)
    return Mates(rows % ROWS)


class Case:
    """One conversion: the old network with numbers as after training, the new one, and the record."""

    def __init__(
        self,
        old: tuple[EncoderConfig, GameSpec],
        new: tuple[EncoderConfig, GameSpec],
        hints: ConversionHints | None = None,
        *,
        seed: int = 0,
        double: bool = False,
    ) -> None:
        self.double = double
        self.obs = observations(old[1], new[1], seed)
        plan = make_plan(Side(*old), Side(*new), hints)
        self.plan: ConversionPlan = decode_plan(msgspec.json.encode(plan))
        assert self.plan == plan
        self.old, self.fresh = PolicyNetwork(*old, seed=seed), PolicyNetwork(*new, seed=seed + 1)
        trained(self.old, self.obs[0], seed)
        trained(self.fresh, self.obs[1], seed + 1)
        if double:
            self.old.double()
            self.fresh.double()
        self.new = copy.deepcopy(self.fresh)
        self.load(apply(self.plan, arrays(self.old), arrays(self.fresh)))
        labels = {(h.name, x) for h in old[1].heads for x in h.labels}
        generator = torch.Generator().manual_seed(seed)
        first = torch.rand(STEPS, ROWS, generator=generator) < 0.08
        first[0] = False
        memory = None
        if self.old.memory_shape is not None:
            memory = torch.randn(ROWS, *self.old.memory_shape, generator=generator) * 0.3
            memory = memory.double() if double else memory
        self.moments = Moments(
            *self.obs,
            first,
            mask(old[1]),
            mask(new[1], labels),
            memory,
            _others(self.old, self.obs[0]),
            _others(self.new, self.obs[1]),
            _mates(self.new),
        )

    def load(self, state: dict[str, Any]) -> None:
        self.new.load_state_dict({n: torch.from_numpy(np.asarray(x)) for n, x in state.items()})

    def measured(self) -> LargestDifferences:
        with double() if self.double else contextlib.nullcontext():
            return compare(self.plan, self.old, self.new, self.moments)
