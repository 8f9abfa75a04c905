"""Calls of an environment, with errors that show the expected signatures."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

RESET = "reset(self, *, seed=None, options=None)"
STEP = "observation, reward, terminated, truncated, info"


def reset_env(reset: Callable[..., Any], own: Callable[..., Any], seed: int) -> tuple[Any, Any]:
    """Call ``reset(seed=seed)`` of an environment.

    Args:
        reset: The method to call.
        own: The same method without wrappers around it.
        seed: Seed of the match.

    Returns:
        Observation and info.

    Raises:
        ValueError: The method lacks an argument, or returns something else.
    """
    try:
        given = reset(seed=seed)
    except TypeError as error:
        lacks = [name for name in ("seed", "options") if not _takes(own, name)]
        if not lacks or not any(f"'{name}'" in str(error) for name in lacks):
            raise
        raise ValueError(f"reset() takes no {' and no '.join(lacks)}: expected {RESET}") from error
    except ValueError as error:  # of a wrapper of the library
        if "to unpack (expected 2" in str(error):
            raise ValueError(f"reset() returned {_count(error)}: expected observation, info") from error
        raise
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        count = f"{len(given)} values" if isinstance(given, tuple) else f"one {type(given).__name__}"
        raise ValueError(f"reset() returned {count}: expected observation, info")
    return given[0], given[1]


def step_error(error: ValueError) -> ValueError:
    """Return ``error`` of a step, reworded if the step returned a wrong number of values."""
    if "to unpack (expected 5" not in str(error):
        return error
    return ValueError(f"step() returned {_count(error)}: expected {STEP}")


def render_mode_of(env: Any) -> str:
    """Return the way in which an environment gives its picture or its text; "" if it gives neither."""
    known = getattr(env, "metadata", None) or {}
    modes = known.get("render_modes") or ()
    return next((mode for mode in ("rgb_array", "ansi") if mode in modes), "")


def _count(error: ValueError) -> str:
    """Return ``4 values`` for ``not enough values to unpack (expected 5, got 4)``."""
    _, got, number = str(error).rstrip(")").partition("got ")
    return f"{number} values" if got else "too many values"


def _takes(method: Callable[..., Any], name: str) -> bool:
    try:
        parameters = inspect.signature(method).parameters
    except (TypeError, ValueError):
        return True
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
