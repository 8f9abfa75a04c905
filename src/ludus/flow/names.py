"""The name that was probably meant: one helper for every error message."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, valid: Iterable[str]) -> str:
    """The valid name that ``name`` was probably meant to be, or ""."""
    from difflib import get_close_matches

    folded = {v.lower().replace("-", "_"): v for v in valid}
    match = get_close_matches(name.lower().replace("-", "_"), folded, n=1, cutoff=0.6)
    return folded[match[0]] if match else ""


def did_you_mean(name: str, valid: Iterable[str], kind: str = "valid names") -> str:
    """`` (did you mean x?)``, or the list of valid names where none is near."""
    names = list(dict.fromkeys(valid))
    near = nearest(name, names)
    if near:
        return f" (did you mean {near}?)"
    shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    return f" ({kind}: {shown})" if names else ""
