"""Returns of the methods that correct for lag by V-trace."""

from __future__ import annotations

from typing import Protocol

from ludus.algorithms.returns import Floats, Returns, Transitions, vtrace


class Corrected(Protocol):
    """Settings of V-trace (:func:`ludus.algorithms.returns.vtrace`)."""

    @property
    def discount(self) -> float: ...
    @property
    def gae_lambda(self) -> float: ...
    @property
    def rho_clip(self) -> float: ...
    @property
    def c_clip(self) -> float: ...


def corrected_returns(
    config: Corrected, transitions: Transitions, value: Floats, ratio: Floats | None
) -> Returns:
    """V-trace with lambda (Espeholt et al. 2018, equation 1 and remark 2); GAE where ``ratio`` is None.

    Args:
        config: ``gae_lambda``; 1 is V-trace without lambda.
        transitions: ``[T, R]``.
        value: ``float32[T+1, R]``, in the game's units.
        ratio: ``float32[T, R]``, pi / mu.
    """
    return vtrace(
        transitions,
        value,
        discount=config.discount,
        gae_lambda=config.gae_lambda,
        ratio=ratio,
        rho_clip=config.rho_clip,
        c_clip=config.c_clip,
    )
