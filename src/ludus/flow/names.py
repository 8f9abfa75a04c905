"""Nearest valid names, for all error messages."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, valid: Iterable[str], cutoff: float = 0.6) -> str:
    """Return the valid name nearest to ``name``, or "". ``cutoff``: least similarity, in [0, 1]."""
    from difflib import get_close_matches

    folded = {v.lower().replace("-", "_"): v for v in valid}
    match = get_close_matches(name.lower().replace("-", "_"), folded, n=1, cutoff=cutoff)
    return folded[match[0]] if match else ""


def did_you_mean(
    name: str, valid: Iterable[str], kind: str = "valid names", cutoff: float = 0.6, most: int = 20
) -> str:
    """Return `` (did you mean x?)``, or the list of valid names, at most ``most``, if none is near."""
    names = list(dict.fromkeys(valid))
    near = nearest(name, names, cutoff)
    if near:
        return f" (did you mean {near}?)"
    shown = ", ".join(names[:most]) + (", ..." if len(names) > most else "")
    return f" ({kind}: {shown})" if names else ""
