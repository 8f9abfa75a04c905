"""Torsos: decoded planes, entity rows and vectors to one feature vector."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from ludus.codecs.sparse import SparsePlanes, sparse_convolution
from ludus.policies.config import EncoderConfig
from ludus.policies.layers.batch_norm import BatchNorm

Activation = Callable[[Tensor], Tensor]

_ACTIVATIONS: dict[str, Activation] = {
    "relu": functional.relu,
    "tanh": torch.tanh,
    "gelu": functional.gelu,
    "elu": functional.elu,
}


def activation_of(config: EncoderConfig) -> Activation:
    """Return the non-linearity that a configuration names."""
    if config.activation == "leaky_relu":
        return functools.partial(functional.leaky_relu, negative_slope=config.leaky_slope)
    return _ACTIVATIONS[config.activation]


class Dense(nn.Module):
    """Linear layers, each followed by an optional norm and the activation: ``[N, D] -> [N, size]``."""

    def __init__(
        self, config: EncoderConfig, inputs: int, widths: tuple[int, ...], norm: bool = True
    ) -> None:
        """Make layers from ``inputs`` to each of ``widths`` in turn, with ``config.norm`` if ``norm``."""
        super().__init__()
        sizes = (inputs, *widths)
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in itertools.pairwise(sizes))
        self.norms: nn.ModuleList | None = None
        if norm and config.norm != "none":
            kind = BatchNorm if config.norm == "batch" else nn.LayerNorm
            self.norms = nn.ModuleList(kind(b) for b in widths)
        self.activation = activation_of(config)
        self.size = sizes[-1]

    def forward(self, x: Tensor) -> Tensor:
        """Return features ``[N, size]`` of ``[N, D]``."""
        for i, layer in enumerate(self.layers):
            x = layer(x)
            if self.norms is not None:
                x = self.norms[i](x)
            x = self.activation(x)
        return x


def after_convolution(size: int, kernel: int, stride: int, padding: int) -> int:
    """Return the height or width of a convolution's output."""
    return (size + 2 * padding - kernel) // stride + 1


def _norm_of(config: EncoderConfig, channels: int) -> nn.Module:
    """Return the norm of a convolution's outputs."""
    if config.norm == "batch":
        return BatchNorm(channels)
    return nn.GroupNorm(channels // 8 if config.norm == "group" and channels % 8 == 0 else 1, channels)


def scaled(
    convolution: nn.Module, scale: float = 1.0, norm: nn.Module | None = None
) -> tuple[Tensor, Tensor]:
    """Return weights and biases of ``convolution(x * scale)``, with a :class:`BatchNorm` behind it.

    Scaling them is much cheaper than scaling inputs or outputs.
    """
    assert isinstance(convolution, nn.Conv2d)
    assert convolution.bias is not None
    weight, bias = convolution.weight, convolution.bias
    if scale != 1.0:
        weight = weight * scale
    return norm.folded(weight, bias) if isinstance(norm, BatchNorm) else (weight, bias)


class Planes(nn.Module):
    """Convolutions, ``[N, C, H, W] -> [N, size]``: 3x3 with padding 1, or of given kernels without padding.

    ``norm="layer"`` normalises each sample over all channels and positions, ``"group"`` over groups
    of 8 channels, ``"batch"`` each channel by stored statistics (``batch_norm.py``). All compute the same in
    training and in acting.
    """

    def __init__(self, config: EncoderConfig, shape: tuple[int, int, int]) -> None:
        """Make the convolutions for planes of ``shape``: channels, height, width."""
        super().__init__()
        _check_lengths(config)
        channels, height, width = shape
        #: features of a cell, see :meth:`with_cells`
        self.cell_size = channels
        self.convolutions = nn.ModuleList()
        self.norms = nn.ModuleList() if config.norm != "none" else None
        self._folds = config.norm == "batch"
        #: whether :class:`SparsePlanes` can be read
        self.sparse = not config.kernels
        kernels = config.kernels or (3,) * len(config.channels)
        padding = 0 if config.kernels else 1
        for out, stride, kernel in zip(config.channels, config.strides, kernels, strict=True):
            self.convolutions.append(nn.Conv2d(channels, out, kernel, stride, padding=padding))
            if self.norms is not None:
                self.norms.append(_norm_of(config, out))
            channels = out
            height = after_convolution(height, kernel, stride, padding)
            width = after_convolution(width, kernel, stride, padding)
            if min(height, width) < 1:
                raise ValueError(f"planes of {shape[1]}x{shape[2]} are too small for kernels {kernels}")
            if (height, width) == shape[1:]:
                self.cell_size = shape[0] + channels
        self.activation = activation_of(config)
        #: whether only the middle cell is read
        self.gathers = config.gather == "middle"
        self.size = channels if self.gathers else channels * height * width
        self.shape = shape
        #: cells around the middle one that its features depend on; None: the whole planes are computed
        self.near = _cells_near(config, shape)
        self.sparse = self.sparse and self.near is None

    def forward(self, planes: Tensor | SparsePlanes, scale: float = 1.0) -> Tensor:
        """Return features ``[N, size]`` of dense planes, or of sparse ones if there is a convolution.

        ``scale`` multiplies all values of dense planes.
        """
        if not self.convolutions:
            assert isinstance(planes, Tensor)
            return self._read(planes if scale == 1.0 else planes.float() * scale)
        if self.near is not None:
            assert isinstance(planes, Tensor)
            rows, columns = self.near
            near = planes[:, :, rows, columns].contiguous(memory_format=torch.channels_last)  # and aligned
            return list(self._stages(near, scale, padded=False))[-1].flatten(1)
        return self._read(list(self._stages(planes, scale))[-1])

    def _read(self, x: Tensor) -> Tensor:
        return middle_of(x) if self.gathers else x.flatten(1)

    def scaled_convolutions(self) -> Sequence[nn.Module]:
        """Return the convolutions whose weights are scaled before they are used."""
        return list(self.convolutions) if self._folds else list(self.convolutions)[:1]

    def with_cells(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """Return features, and ``float32[N, cell_size, H, W]``, see :func:`_with_cells`."""
        x, cells = _with_cells(planes, self._stages(planes))
        return self._read(x), cells

    def _stages(
        self, planes: Tensor | SparsePlanes, scale: float = 1.0, padded: bool = True
    ) -> Iterator[Tensor]:
        x = planes
        for i, convolution in enumerate(self.convolutions):
            assert isinstance(convolution, nn.Conv2d)
            norm = self.norms[i] if self.norms is not None else None
            weight, bias = scaled(convolution, scale if i == 0 else 1.0, norm)
            if isinstance(x, SparsePlanes):
                x = sparse_convolution(self.shape[1], self.shape[2], convolution.stride[0])(weight, bias, x)
            else:
                padding = convolution.padding if padded else 0
                x = functional.conv2d(x, weight, bias, convolution.stride, padding)
            if isinstance(norm, BatchNorm):  # folded into the weights
                norm.observed(x)
            elif norm is not None:
                x = norm(x)
            x = self.activation(x)
            yield x


def middle_of(planes: Tensor) -> Tensor:
    """Return ``[N, C]`` of ``[N, C, H, W]``: the cell ``(H // 2, W // 2)``."""
    return planes[:, :, planes.shape[2] // 2, planes.shape[3] // 2]


def _cells_near(config: EncoderConfig, shape: tuple[int, int, int]) -> tuple[slice, slice] | None:
    """Return the rows and columns that the middle cell's features depend on, if the rest can be left out.

    That is so for 3x3 convolutions without norms whose views end inside the planes.
    """
    if config.gather != "middle" or config.kernels or config.norm != "none" or not config.channels:
        return None
    seen: list[slice] = []
    for size in shape[1:]:
        sizes = [size]
        for stride in config.strides:
            sizes.append(after_convolution(sizes[-1], 3, stride, 1))
        first = last = sizes.pop() // 2
        for stride, inside in zip(reversed(config.strides), reversed(sizes), strict=True):
            first, last = first * stride - 1, last * stride + 1
            if first < 0 or last >= inside:
                return None
        seen.append(slice(first, last + 1))
    rows, columns = seen
    return rows, columns


def _with_cells(planes: Tensor, stages: Iterator[Tensor]) -> tuple[Tensor, Tensor]:
    """Return the last stage's output, and features per cell.

    These are the cell's planes, and the last stage of full resolution.
    """
    x = near = planes
    for x in stages:
        near = x if x.shape[2:] == planes.shape[2:] else near
    return x, planes if near is planes else torch.cat([planes, near.to(planes.dtype)], dim=1)


def _check_lengths(config: EncoderConfig) -> None:
    for name, given in (("strides", config.strides), ("kernels", config.kernels)):
        if len(given) != len(config.channels) and not (name == "kernels" and not given):
            raise ValueError(
                f"policy.channels has {len(config.channels)} entries and policy.{name} "
                f"{len(given)}; expected one per convolution"
            )


class Residual(nn.Module):
    """IMPALA's torso (Espeholt et al. 2018, figure 3, right): ``[N, C, H, W] -> [N, size]``.

    A stage for each of ``policy.channels``: 3x3 convolution, 3x3 maximum at its stride, two residual blocks.
    """

    def __init__(self, config: EncoderConfig, shape: tuple[int, int, int]) -> None:
        """Make the stages for planes of ``shape``: channels, height, width."""
        super().__init__()
        _check_lengths(config)
        if config.kernels:
            raise ValueError("policy.kernels: a residual torso has 3x3 convolutions alone")
        channels, height, width = shape
        self.cell_size = channels
        self.sparse = False
        self.strides = config.strides
        self.convolutions = nn.ModuleList()
        self.norms: nn.ModuleList | None = nn.ModuleList() if config.norm != "none" else None
        for out, stride in zip(config.channels, config.strides, strict=True):
            self.convolutions.append(nn.Conv2d(channels, out, 3, padding=1))
            self.convolutions.extend(nn.Conv2d(out, out, 3, padding=1) for _ in range(4))
            if self.norms is not None:
                self.norms.append(_norm_of(config, out))
            channels = out
            height, width = after_convolution(height, 3, stride, 1), after_convolution(width, 3, stride, 1)
            if (height, width) == shape[1:]:
                self.cell_size = shape[0] + channels
        self.activation = activation_of(config)
        #: whether only the middle cell is read
        self.gathers = config.gather == "middle"
        self.size = channels if self.gathers else channels * height * width
        self.shape = shape

    def forward(self, planes: Tensor, scale: float = 1.0) -> Tensor:
        """Return features ``[N, size]`` of dense planes, multiplied by ``scale``."""
        return self._read([planes, *self._stages(planes, scale)][-1])

    def _read(self, x: Tensor) -> Tensor:
        x = self.activation(x)
        return middle_of(x) if self.gathers else x.flatten(1)

    def scaled_convolutions(self) -> Sequence[nn.Module]:
        """Return the convolutions whose weights are scaled before they are used."""
        return list(self.convolutions)[:1]

    def with_cells(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """Return features, and ``float32[N, cell_size, H, W]``, see :func:`_with_cells`."""
        x, cells = _with_cells(planes, self._stages(planes))
        return self._read(x), cells

    def _stages(self, planes: Tensor, scale: float = 1.0) -> Iterator[Tensor]:
        x = planes
        for stage, stride in enumerate(self.strides):
            first, *blocks = list(self.convolutions)[5 * stage : 5 * stage + 5]
            x = functional.conv2d(x, *scaled(first, scale if stage == 0 else 1.0), padding=1)
            x = functional.max_pool2d(x, 3, stride, padding=1)
            for a, b in (blocks[:2], blocks[2:]):
                x = x + b(self.activation(a(self.activation(x))))
            if self.norms is not None:
                x = self.norms[stage](x)
            yield x


def make_planes(config: EncoderConfig, shape: tuple[int, int, int]) -> Planes | Residual:
    """Return the torso that a configuration names."""
    return Residual(config, shape) if config.convolution == "residual" else Planes(config, shape)


class Rows(nn.Module):
    """Entity rows to ``[N, size]``: one MLP for each row, then mean and maximum over a sample's rows.

    No norm: rows are many and their features are bounded. A sample without rows gives zeros.
    """

    def __init__(self, config: EncoderConfig, features: int) -> None:
        """Make the MLP for rows of ``features`` numbers."""
        super().__init__()
        self.each = Dense(config, features, config.dense, norm=False)
        self.size = 2 * self.each.size

    def forward(self, owner: Tensor, rows: Tensor, samples: int) -> Tensor:
        """Return :meth:`pool` of :meth:`embed`."""
        return self.pool(owner, self.embed(rows), samples)

    def embed(self, rows: Tensor) -> Tensor:
        """Embed each of ``rows: float32[n, F]``: ``float32[n, D]``."""
        features: Tensor = self.each(rows)
        return features.float()

    def pool(self, owner: Tensor, features: Tensor, samples: int) -> Tensor:
        """Pool ``features: float32[n, D]`` over the rows of each sample.

        ``owner: int64[n]``, ascending, is the sample of each row.
        """
        count = torch.bincount(owner, minlength=samples)
        total = features.new_zeros((samples, features.shape[1])).index_add(0, owner, features)
        mean = total / count.clamp(min=1).unsqueeze(1)
        return torch.cat([mean, _top(features, owner, count)], dim=1)

    def embed_every(self, present: Tensor, rows: Tensor) -> Tensor:
        """Embed ``rows: float32[N, U, F]``, of which ``bool[N, U]`` are present; zeros for the rest."""
        return self.embed(rows.flatten(0, 1)).view(*present.shape, self.each.size) * present.unsqueeze(2)

    def pool_every(self, present: Tensor, features: Tensor) -> Tensor:
        """Pool ``features: float32[N, U, D]``, zeros for rows that are not ``present: bool[N, U]``.

        The static form of :meth:`pool`: each sum and each gradient has one order.
        """
        count = present.sum(dim=1, keepdim=True)
        mean = features.sum(dim=1) / count.clamp(min=1)
        top = features.masked_fill(~present.unsqueeze(2), -torch.inf).max(dim=1).values
        return torch.cat([mean, top.masked_fill(count == 0, 0.0)], dim=1)


def _top(rows: Tensor, owner: Tensor, count: Tensor) -> Tensor:
    """Return the maximum of each owner's ``count`` rows ``[n, D] -> [samples, D]``, zero without rows.

    Two kernels with equal results: one is fast forward, the other has a fast gradient.
    """
    if torch.is_grad_enabled():
        each = torch.arange(owner.numel(), device=owner.device)
        return functional.embedding_bag(each, rows, count.cumsum(0) - count, mode="max")
    top = rows.new_zeros((count.numel(), rows.shape[1]))
    return top.scatter_reduce_(0, owner.unsqueeze(1).expand_as(rows), rows, "amax", include_self=False)
