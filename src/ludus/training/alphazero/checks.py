"""What AlphaZero asks of a preset and its game."""

from __future__ import annotations

from collections.abc import Iterator

from ludus.algorithms.config import AlphaZeroConfig
from ludus.flow.spec import GameSpec
from ludus.games import list_games, spec
from ludus.policies.config import ResnetConfig
from ludus.presets.config import Preset
from ludus.presets.schema import Problem


def problems(preset: Preset, declared: GameSpec) -> Iterator[Problem]:
    """Settings about the end of a match, in a game that counts no owners and score then."""
    if declared.counted_cells > 0:
        return
    asked: dict[str, str] = {}
    if isinstance(preset.policy, ResnetConfig):
        asked = {f"policy.{key}": "true" for key in ("ownership", "score") if getattr(preset.policy, key)}
    if isinstance(preset.algorithm, AlphaZeroConfig) and preset.algorithm.search.score_share > 0:
        asked["algorithm.search.score_share"] = f"{preset.algorithm.search.score_share:g}"
    for path, value in asked.items():
        counting = ", ".join(name for name in list_games() if spec(name).counted_cells > 0)
        yield Problem(
            path,
            f"{path} = {value}: {declared.name} does not count who owns what at the end of a match; "
            f"games that do: {counting}",
        )
