"""Errors that every layer may raise."""

from __future__ import annotations

from ludus.flow.problem import HasProblems

DIVERGED = "lower algorithm.learning_rate and resume from an earlier checkpoint"


class RunFailed(HasProblems):
    """A run cannot continue: numbers that are not finite, a game that keeps failing."""


class NotFinite(RunFailed):
    """A network computed NaN or infinity, or was given one. The message names which."""
