"""Pool factory: native threads for compiled games, processes for Python games."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ludus.flow import Lineup, PoolOptions
from ludus.games import registry
from ludus.pool.protocol import Pool


def make_pool(game: str, params: Mapping[str, object], lineup: Lineup, options: PoolOptions) -> Pool:
    """Make the pool that fits the game.

    A Python game has at least one process: its code does not run here, where it could end or change the
    process.

    Args:
        game: A game by name or reference.
        params: Parameters of the rules.
        lineup: Controllers of each role of a match.
        options: Size, seed and behaviour.

    Raises:
        ValueError: Invalid arguments.
        PoolError: Workers that do not start.
    """
    if registry.is_python(game):
        from ludus.pool.hosted.process import ProcessPool

        threads = max(1, options.threads)
        return ProcessPool(game, params, lineup, msgspec.structs.replace(options, threads=threads))
    from ludus.pool.native import NativePool

    return NativePool(game, params, lineup, options)
