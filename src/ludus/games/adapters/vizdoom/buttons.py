"""Sets of actions: how the choices of the heads press the buttons of an engine.

- ``single``: one head; no button or one.
- ``multi``: a head for each button, all at once.
- ``composite``: opposite buttons share a head, so that left excludes right; so do the weapons.
- ``cig``: TLeague's six actions (section 4.2): run forward, fire, strafe and turn.

A button with a range (``turn_left_right_delta``) becomes ``steps`` choices from ``-reach`` to ``reach``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

import msgspec
import numpy as np

from ludus.flow.names import did_you_mean
from ludus.flow.slab import Array
from ludus.flow.spec import HeadSpec
from ludus.games.python_game import Ints

#: Sets of actions, by the value of the parameter ``actions``.
SETS = ("single", "multi", "composite", "cig")
DELTA = "_delta"
MAX_BUTTONS = 64
MAX_KNOWN = 4096  # decisions whose buttons are remembered: less than a megabyte
#: Heads of the composite set: name, and the buttons of which one at most is pressed.
_EXCLUSIVE: dict[str, tuple[str, ...]] = {
    "move": ("move_forward", "move_backward"),
    "strafe": ("move_right", "move_left"),
    "turn": ("turn_right", "turn_left"),
    "look": ("look_up", "look_down"),
    "fly": ("move_up", "move_down"),
    "weapon": (*(f"select_weapon{n}" for n in range(10)), "select_next_weapon", "select_prev_weapon"),
    "item": ("select_next_item", "select_prev_item"),
}
#: Buttons with a range, and the buttons whose place they take in the composite set.
_REPLACES = {
    "turn_left_right_delta": ("turn_right", "turn_left"),
    "look_up_down_delta": ("look_up", "look_down"),
    "move_forward_backward_delta": ("move_forward", "move_backward"),
    "move_left_right_delta": ("move_right", "move_left"),
    "move_up_down_delta": ("move_up", "move_down"),
}
#: TLeague's actions: label and buttons.
_CIG: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("run", ("move_forward", "speed")),
    ("fire", ("attack",)),
    ("left", ("move_left",)),
    ("right", ("move_right",)),
    ("turn_left", ("turn_left",)),
    ("turn_right", ("turn_right",)),
)

Choice = tuple[str, Mapping[str, float]]  #: a label, and the value of each button that it presses


class ActionSet:
    """Heads, and the values of the buttons that their choices press."""

    def __init__(
        self, heads: Mapping[str, Sequence[Choice]], buttons: Sequence[str], off: Sequence[str]
    ) -> None:
        """Declare the heads for an engine with ``buttons``; choices that press one of ``off`` are illegal.

        Raises ``ValueError`` if a head is left without a legal choice.
        """
        banned, place = set(off), {name: i for i, name in enumerate(buttons)}
        self.buttons = tuple(buttons)
        self.heads = tuple(
            HeadSpec(name, len(choices), labels=tuple(label for label, _ in choices))
            for name, choices in heads.items()
        )
        self._tables = [np.zeros((len(choices), len(buttons))) for choices in heads.values()]
        for table, choices in zip(self._tables, heads.values(), strict=True):
            for row, (_, pressed) in zip(table, choices, strict=True):
                for button, value in pressed.items():
                    row[place[button]] = value
        legal = {
            name: [not banned & set(pressed) for _, pressed in choices] for name, choices in heads.items()
        }
        for name, allowed in legal.items():
            if not any(allowed):
                raise ValueError(f"off = {', '.join(off)}: the head {name} has no other choice")
        self._legal = np.array([*chain.from_iterable(legal.values())], np.uint8)
        self._pressed: dict[bytes, list[float]] = {}  # by decision: a lookup costs a tenth of the sum

    def press(self, action: Ints) -> list[float]:
        """Convert a decision ``int32[K]`` to the value of each button, in a list that stays as it is."""
        known = self._pressed.get(key := action.tobytes())
        if known is not None:
            return known
        pressed = self._tables[0][action[0]].copy()
        for table, choice in zip(self._tables[1:], action[1:], strict=True):
            pressed += table[choice]
        values: list[float] = pressed.tolist()
        if len(self._pressed) < MAX_KNOWN:
            self._pressed[key] = values
        return values

    def legal(self, out: Array) -> None:
        """Write ``uint8[A]``: 1 for each choice that presses no button that is off."""
        out[...] = self._legal


class Turning(msgspec.Struct, frozen=True):
    """How a button with a range is divided: an odd number of ``steps`` from ``-reach`` to ``reach``."""

    steps: int
    reach: float

    def choices(self, button: str) -> list[Choice]:
        """Return the choices of ``button``, the middle one (nothing) first."""
        values = np.linspace(-self.reach, self.reach, self.steps).tolist()
        moved = [v for v in values if abs(v) > 1e-9]
        return [("none", {}), *((f"{v:+g}", {button: v}) for v in moved)]


def action_set(kind: str, buttons: Sequence[str], turning: Turning, off: Sequence[str] = ()) -> ActionSet:
    """Return the set of actions ``kind`` over the buttons that a scenario has.

    Args:
        kind: One of :data:`SETS`.
        buttons: Names of the engine's buttons, in lower case.
        turning: Division of the buttons with a range.
        off: Buttons that no legal choice presses, of ``buttons``.

    Raises:
        ValueError: A button that the set needs is not there, or ``off`` leaves a head without a choice.
    """
    if not buttons:
        raise ValueError("the scenario has no buttons")
    if kind == "cig":
        missing = sorted({b for _, pressed in _CIG for b in pressed} - set(buttons))
        if missing:
            raise ValueError(f"actions = cig: needs {', '.join(missing)} (buttons: {', '.join(buttons)})")
        heads = {"action": [(label, dict.fromkeys(pressed, 1.0)) for label, pressed in _CIG]}
        return ActionSet(heads, buttons, off)
    return ActionSet(_HEADS[kind](buttons, turning), buttons, off)


def known_buttons() -> tuple[str, ...]:
    """Return the names of the engine's buttons, in lower case."""
    import vizdoom

    return tuple(name.lower() for name in vizdoom.Button.__members__)


def named_buttons(param: str, text: str, known: Sequence[str]) -> tuple[str, ...]:
    """Return the buttons in the value ``text`` of a parameter: names and commas. An empty text has no names.

    Raises ``ValueError`` for a name that is not ``known``, or that comes twice.
    """
    names = tuple(name.strip().lower() for name in text.split(",")) if text.strip() else ()
    if len(names) > MAX_BUTTONS:
        raise ValueError(f"{param}: {len(names)} names, expected at most {MAX_BUTTONS}")
    for i, name in enumerate(names):
        if name not in known:
            hint = did_you_mean(name, known, "buttons", 0.5)
            raise ValueError(f"{param} = {text}: no button {name or 'without a name'}{hint}")
        if name in names[:i]:
            raise ValueError(f"{param} = {text}: {name} comes twice")
    return names


def _of(button: str, turning: Turning) -> list[Choice]:
    """Return the choices of one button: off and on, or the steps of its range."""
    if button.endswith(DELTA):
        return turning.choices(button)
    return [("off", {}), ("on", {button: 1.0})]


def _single(buttons: Sequence[str], turning: Turning) -> dict[str, list[Choice]]:
    choices: list[Choice] = [("none", {})]
    for button in buttons:
        if button.endswith(DELTA):
            choices += [(f"{button[: -len(DELTA)]} {label}", on) for label, on in turning.choices(button)[1:]]
        else:
            choices.append((button, {button: 1.0}))
    return {"button": choices}


def _multi(buttons: Sequence[str], turning: Turning) -> dict[str, list[Choice]]:
    return {button: _of(button, turning) for button in buttons}


def _composite(buttons: Sequence[str], turning: Turning) -> dict[str, list[Choice]]:
    replaced = {b for delta, others in _REPLACES.items() if delta in buttons for b in others}
    group_of = {b: name for name, members in _EXCLUSIVE.items() for b in members}
    group_of |= {delta: group_of[others[0]] for delta, others in _REPLACES.items()}
    heads: dict[str, list[Choice]] = {}
    for button in buttons:
        if button in replaced:
            continue
        group = group_of.get(button, "")
        if not group:
            heads[button] = _of(button, turning)
        elif button.endswith(DELTA):
            heads[group] = turning.choices(button)
        else:
            heads.setdefault(group, [("none", {})]).append((button, {button: 1.0}))
    return heads


_HEADS = {"single": _single, "multi": _multi, "composite": _composite}
