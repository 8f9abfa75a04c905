"""Numbers and flags that environments and games return: one in an array of one element is one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ludus.flow.slab import Array

if TYPE_CHECKING:
    from ludus.games.python_game import Floats, PythonGame

LEARNABLE = 1e15  # of a reward: squares of sums of more overflow float32, in which networks learn
LARGEST = float(np.finfo(np.float32).max)  # of a reward, which is a float32


def number(what: str, value: object) -> float:
    """Return ``value`` as a number for float32. Raises ``ValueError`` that names ``what``."""
    if type(value) is not float:
        value = _one(what, value, "biuf", "a number")
    if not -LARGEST <= value <= LARGEST and abs(value) != np.inf and value == value:
        raise ValueError(
            f"{what} {value:g} is too large: scale it, to about -1 to 1 (float32 ends at 3.4e38)"
        )
    return value


def flag(what: str, value: object) -> bool:
    """Return ``value`` as true or false. Raises ``ValueError`` that names ``what``."""
    if value is True or value is False:
        return bool(value)
    found = _one(what, value, "biuf", "true or false")
    if found not in (0.0, 1.0):
        raise ValueError(f"{what} is {found:g}, expected true or false")
    return bool(found)


def over_of(value: object) -> bool:
    """Return whether a game's ``step`` that returned ``value`` was the last; None means no."""
    return False if value is None else flag("what step() returned", value)


def _one(what: str, value: object, kinds: str, expected: str) -> float:
    try:
        array = np.asarray(value)
    except Exception:  # lists of different lengths, tensors that need a gradient
        array = np.asarray(None)
    if array.dtype.kind in kinds and array.size == 1:
        return float(array.reshape(()))
    if array.ndim:
        raise ValueError(f"{what} has shape {array.shape}, expected {expected}")
    text = " ".join(repr(value).split())
    raise ValueError(f"{what} is {text if len(text) <= 60 else text[:57] + '...'}, expected {expected}")


def numbers(what: str, values: object, count: int) -> Floats:
    """Return ``float32[count]`` of many matches. Raises ``ValueError`` that names ``what``."""
    return np.asarray(_many(what, values, count, "numbers"), np.float32)


def flags(what: str, values: object, count: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return ``bool[count]`` of many matches. Raises ``ValueError`` that names ``what``."""
    found = _many(what, values, count, "flags")
    return np.asarray(found if found.dtype == np.bool_ else found != 0)


def _many(what: str, values: object, count: int, expected: str) -> Array:
    if type(values) is np.ndarray and values.shape == (count,) and values.dtype.kind in "biuf":
        return values
    array = np.asarray(values)
    if array.dtype.kind not in "biuf" or array.size != count or array.ndim not in (1, 2):
        raise ValueError(f"{what} has shape {array.shape}, expected {count} {expected}")
    return array.reshape(count)


class _RewardArray(np.ndarray[Any, np.dtype[Any]]):
    """Array of rewards that checks each element when it is written, and names it in the error."""

    def __setitem__(self, place: Any, value: Any) -> None:  # noqa: ANN401
        target = np.shape(np.asarray(self)[place])
        if target in ((), (1,)):
            value = number("reward", value)
        elif np.ndim(value) and np.shape(value) not in ((1,), target):
            raise ValueError(
                f"rewards have shape {np.shape(value)}, expected {target}: a number for each seat"
            )
        super().__setitem__(place, value)


def write_rewards(game: PythonGame, out: Floats) -> None:
    """Write the rewards of the last step of ``game`` to ``out: [S]``. The game's errors pass."""
    try:
        game.rewards(out)
    except (TypeError, ValueError):  # of numpy, perhaps, which takes no array for a number
        game.rewards(out.view(_RewardArray))


def write_scores(game: PythonGame, out: Floats) -> None:
    """Write the named scores of a finished match of ``game`` to ``out: [S, F]``.

    Raises ``ValueError`` for scores that were left out or are not finite; the game's errors pass.
    """
    out[...] = np.nan
    game.scores(out)  # type: ignore[attr-defined]
    if not np.isfinite(out).all():
        raise ValueError(f"{out.tolist()}, expected a finite number for each seat and score")


def too_large(rewards: Floats) -> str:
    """Return the error of rewards that are not all finite."""
    advice = "; a reward beyond 3.4e38 is too large: scale the rewards" if np.isinf(rewards).any() else ""
    return f"{rewards.tolist()}, expected finite numbers{advice}"
