"""Game variables that a policy may observe: their scale, their cap, and which are private.

The scales are Sample Factory's, whose measurements are small numbers of one magnitude.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ludus.flow.names import did_you_mean

NONE = "none"
MAX_NAMES = 64
#: Beginning of a name -> factor and largest result. The longest that fits counts.
_SCALES: dict[str, tuple[float, float]] = {
    "": (1.0, 1e6),
    "health": (1 / 30, 50.0),
    "armor": (1 / 30, 50.0),
    "ammo": (1 / 15, 5.0),
    "selected_weapon_ammo": (1 / 15, 5.0),
    "user": (1 / 10, 50.0),
    "killcount": (1 / 10, 50.0),
    "fragcount": (1 / 10, 50.0),
    "player_count": (1 / 5, 5.0),
    "weapon": (1.0, 5.0),
    "selected_weapon": (1.0, 10.0),
}
#: Variables that no player of the game sees: where it is, and the other players' frags.
_PRIVATE = ("position_", "angle", "pitch", "roll", "velocity_", "camera_", "view_height", "player")


def is_private(name: str) -> bool:
    """Return whether a variable is left out unless a preset or a person asks for it by name."""
    return name.startswith(_PRIVATE)


class Measures:
    """The observed variables of a scenario, scaled: a vector ``float32[D]``."""

    def __init__(self, names: Sequence[str]) -> None:
        """Observe the variables of these names, in lower case."""
        self.names = tuple(names)
        fits = [max((p for p in _SCALES if name.startswith(p)), key=len) for name in names]
        self._factor = np.array([_SCALES[p][0] for p in fits], np.float64)
        self._cap = np.array([_SCALES[p][1] for p in fits], np.float64)
        self._floor = np.array([-50.0 if n.endswith("fragcount") or is_private(n) else 0.0 for n in names])
        self._floor[[n.startswith(("position", "camera", "velocity")) for n in names]] = -1e6

    def scaled(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the engine's ``values: float64[D]`` scaled and capped; what is not a number becomes 0."""
        return np.clip(np.nan_to_num(values) * self._factor, self._floor, self._cap)


def chosen(text: str, default: Sequence[str], listed: Sequence[str]) -> tuple[str, ...]:
    """Return the names that the parameter ``variables`` asks for.

    Args:
        text: Value of the parameter: "" (``default``), "none", or names and commas.
        default: Names that the scenario shows by default.
        listed: Names that the scenario lists.

    Raises:
        ValueError: A name that the scenario does not list, or that comes twice.
    """
    if text == NONE:
        return ()
    names = tuple(name.strip().lower() for name in text.split(",")) if text else tuple(default)
    if len(names) > MAX_NAMES:
        raise ValueError(f"variables: {len(names)} names, expected at most {MAX_NAMES}")
    known = list(dict.fromkeys((*default, *listed)))
    for i, name in enumerate(names):
        if name not in known:
            hint = did_you_mean(name, known or [NONE], "listed", 0.5)
            raise ValueError(
                f"variables = {text}: the scenario does not list {name or 'an empty name'}{hint}"
            )
        if name in names[:i]:
            raise ValueError(f"variables = {text}: {name} comes twice")
    return names
