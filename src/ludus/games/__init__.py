"""Games by name: what there is, and what each declares about itself."""

from __future__ import annotations

from ludus.games.registry import list_games, spec

__all__ = ["list_games", "spec"]
