"""Decisions of games written in Python as words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ludus.flow.spec import GameSpec
from ludus.games.adapters.boxes import continuous
from ludus.web.moves import choice_name


def decision_text(action: Sequence[int], spec: GameSpec) -> str:
    """Return a decision by the labels of its heads; numbers of continuous heads in the game's units."""
    if all(head.kind != "continuous" for head in spec.heads):
        return choice_name(action, spec, None, {})
    words = []
    for head, choice in zip(spec.heads, action, strict=False):
        if head.kind == "continuous":
            bits = np.array([[choice]], np.int64).astype(np.int32)
            text = f"{float(continuous(bits, (head,))[0, 0]):.3g}"
        else:
            text = head.labels[choice] if 0 <= choice < len(head.labels) else str(choice)
        words.append(text if len(spec.heads) == 1 else f"{head.name} {text}")
    return ", ".join(words)
