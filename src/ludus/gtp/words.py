"""Arguments of GTP commands: colours, numbers, counts."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ludus.games.go import BLACK, WHITE
from ludus.gtp.protocol import GtpError

_COLOURS = {"b": BLACK, "black": BLACK, "w": WHITE, "white": WHITE}


def is_colour(text: str) -> bool:
    """Whether ``text`` names a colour."""
    return text.lower() in _COLOURS


def colour(text: str) -> int:
    """The seat that ``text`` names. Raises ``GtpError``."""
    if not is_colour(text):
        raise GtpError("syntax error: expected a colour, b or w")
    return _COLOURS[text.lower()]


def integer(text: str, low: int, high: int, what: str) -> int:
    """A decimal integer of at most nine digits. Raises ``GtpError`` naming ``what`` was expected."""
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdigit() and len(digits) <= 9 and low <= int(text) <= high:
        return int(text)
    raise GtpError(f"syntax error: expected {what} from {low} to {high}")


def number(text: str, what: str) -> float:
    """A finite number. Raises ``GtpError`` naming ``what`` was expected."""
    try:
        value = float(text) if text.isascii() and "_" not in text and len(text) <= 40 else math.nan
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise GtpError(f"syntax error: expected {what}")
    return value


def need(arguments: Sequence[str], count: int, form: str) -> None:
    """Raises ``GtpError`` if there are fewer than ``count`` arguments."""
    if len(arguments) < count:
        raise GtpError(f"syntax error: expected {form}")
