"""Networks are built without a draw from torch's global generator, which belongs to the caller's program.

Layers draw their first numbers from it. All of them are replaced: by draws of the run's seed, or by weights.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

import torch
from torch.overrides import TorchFunctionMode

P = ParamSpec("P")
R = TypeVar("R")

_METHODS = ("uniform_", "normal_", "bernoulli_", "random_", "exponential_", "log_normal_", "cauchy_")
_FUNCTIONS = ("rand", "randn", "randint", "randperm", "normal", "bernoulli", "multinomial")
_DRAWS = {
    *(getattr(torch.Tensor, name) for name in _METHODS),
    *(getattr(torch, name) for name in _FUNCTIONS),
}
_foreign = threading.local()  # .depth: the calling thread builds a module of the user's


class _OwnGenerator(TorchFunctionMode):
    """Draws of the calling thread that name no generator come from one of this object."""

    def __init__(self) -> None:
        super().__init__()
        self._generator = torch.Generator().manual_seed(0)

    def __torch_function__(
        self,
        func: Callable[..., object],
        types: object,
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        given = dict(kwargs or {})
        draws = func in _DRAWS or getattr(func, "__module__", "") == "torch.nn.init"
        if draws and given.get("generator") is None and not getattr(_foreign, "depth", 0):
            given["generator"] = self._generator
        return func(*args, **given)


def own_draws(build: Callable[P, R]) -> Callable[P, R]:
    """Wrap a function that builds layers, so that it draws nothing from torch's global generator."""

    @functools.wraps(build)
    def built(*args: P.args, **kwargs: P.kwargs) -> R:
        with _OwnGenerator():
            return build(*args, **kwargs)

    return built


@contextmanager
def foreign_draws(seed: int) -> Iterator[None]:
    """Let a module of the user's, built in the body, draw from torch's global generator with ``seed``."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        _foreign.depth = getattr(_foreign, "depth", 0) + 1
        try:
            yield
        finally:
            _foreign.depth -= 1
