"""Settings that every learner of slabs has, and the ranges that settings are declared with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec

Positive = Annotated[float, msgspec.Meta(gt=0)]
NonNegative = Annotated[float, msgspec.Meta(ge=0)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Count = Annotated[int, msgspec.Meta(ge=1)]
Minibatches = Annotated[int, msgspec.Meta(ge=1, le=1 << 16)]
Batch = Annotated[int, msgspec.Meta(ge=1, le=1 << 24)]  # decisions that are held at once
Reuse = Annotated[float, msgspec.Meta(ge=0, le=64)]
Natural = Annotated[int, msgspec.Meta(ge=0)]


class SettingError(ValueError):
    """A setting that cannot be carried out: path, value, expectation."""


class MethodConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="name"):
    """Settings of a learning method: the keys of a preset's ``[algorithm]``. ``tag`` is the method's name."""

    def problems(self) -> Iterator[tuple[str, str]]:
        """Settings that do not fit together: the key, and what is wrong with it."""
        yield from ()


class SlabLearnerConfig(MethodConfig, frozen=True, forbid_unknown_fields=True):
    """What :class:`~ludus.algorithms.learner.SlabLearner` reads; a method's config inherits it."""

    learning_rate: Positive = 5e-4
    learning_rate_schedule: Literal["constant", "linear", "cosine"] = "constant"
    learning_rate_final: NonNegative = 0.0  # where linear and cosine end
    optimizer: Literal["adam", "sgd"] = "adam"
    momentum: Share = 0.9  # of sgd
    adam_betas: tuple[Share, Share] = (0.9, 0.999)
    adam_eps: Positive = 1e-5
    max_grad_norm: NonNegative = 0.5
    max_grad_rms: NonNegative = 0.0  # bound of each parameter's gradient, in roots of Adam's v; 0 = off
    micro_batch: Count = 1024  # decisions differentiated at once; conv torsos prefer 256
    discount: Share = 0.99
    horizon: NonNegative = 0.0  # ticks; above 0 the discount is 1 - ticks of a decision / horizon
    horizon_final: NonNegative = 0.0  # reached linearly at the end of the budget; 0 = horizon
    normalise_returns: bool = True
    reward_scale: float = 1.0
    reward_clip: NonNegative = 0.0  # 0 = off

    def problems(self) -> Iterator[tuple[str, str]]:
        """See :meth:`MethodConfig.problems`."""
        if self.max_grad_rms > 0.0 and self.optimizer != "adam":
            yield "max_grad_rms", f'= {self.max_grad_rms:g}: expected 0, or algorithm.optimizer = "adam"'
