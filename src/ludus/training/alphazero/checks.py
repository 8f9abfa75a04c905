"""Settings of AlphaZero that do not fit a game."""

from __future__ import annotations

from collections.abc import Iterator

from ludus.algorithms.config import AlphaZeroConfig
from ludus.algorithms.registry import CheckInput
from ludus.games import list_games, spec


def problems(config: AlphaZeroConfig, around: CheckInput) -> Iterator[tuple[str, str]]:
    """Yield settings about the end of a match, in a game that counts no owners and no score there."""
    if around.spec.counted_cells > 0:
        return
    used = {f"policy.{key}": "true" for key in ("ownership", "score") if getattr(around.policy, key, False)}
    if config.search.score_share > 0:
        used["algorithm.search.score_share"] = f"{config.search.score_share:g}"
    for path, value in used.items():
        counting = ", ".join(name for name in list_games() if spec(name).counted_cells > 0)
        yield (
            path,
            f"{path} = {value}: {around.spec.name} does not count who owns what at the end of a match; "
            f"games that do: {counting}",
        )
