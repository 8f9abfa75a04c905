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
    """Return the seat that ``text`` names. Raise ``GtpError``."""
    if not is_colour(text):
        raise GtpError("syntax error: expected a colour, b or w")
    return _COLOURS[text.lower()]


def integer(text: str, low: int, high: int, what: str) -> int:
    """Return a decimal integer of at most nine digits.

    Raises:
        GtpError: Another text, or a number outside ``low`` to ``high``; the message expects ``what``.
    """
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdigit() and len(digits) <= 9 and low <= int(text) <= high:
        return int(text)
    raise GtpError(f"syntax error: expected {what} from {low} to {high}")


def number(text: str, what: str) -> float:
    """Return a finite number. Raise ``GtpError`` with a message that expects ``what``."""
    try:
        value = float(text) if text.isascii() and "_" not in text and len(text) <= 40 else math.nan
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise GtpError(f"syntax error: expected {what}")
    return value


def need(arguments: Sequence[str], count: int, form: str) -> None:
    """Raise ``GtpError`` if there are fewer than ``count`` arguments."""
    if len(arguments) < count:
        raise GtpError(f"syntax error: expected {form}")
