"""Many matches at once behind one protocol: threads for compiled games, processes for Python games."""

from __future__ import annotations

from ludus.pool.errors import MatchError, PoolError
from ludus.pool.protocol import Pool

__all__ = ["MatchError", "Pool", "PoolError"]
