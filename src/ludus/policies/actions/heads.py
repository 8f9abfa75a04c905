"""Action distributions that fit a game."""

from __future__ import annotations

from ludus.flow import GameSpec
from ludus.policies.actions.continuous import MixedHeads
from ludus.policies.actions.distribution import Heads


def heads_of(spec: GameSpec) -> Heads:
    """Return the heads of a game.

    Raises:
        ValueError: The game has continuous heads together with dependent ones.
    """
    sizes, depends = tuple(h.size for h in spec.heads), tuple(h.depends_on for h in spec.heads)
    continuous = tuple(h.kind == "continuous" for h in spec.heads)
    if not any(continuous):
        return Heads(sizes, depends)
    if any(depends) or any(h.points_at for h in spec.heads):
        raise ValueError(
            f"{spec.name}: continuous heads together with heads that depend on others or point at entities; "
            "the policies of this version have one or the other"
        )
    return MixedHeads(sizes, depends, continuous, tuple(h.bounded for h in spec.heads))
