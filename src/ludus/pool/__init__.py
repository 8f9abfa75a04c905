"""Many matches at once behind one protocol: ``ludus.pool.native.NativePool`` for compiled games."""

from __future__ import annotations

from ludus.pool.errors import MatchError
from ludus.pool.protocol import Pool

__all__ = ["MatchError", "Pool"]
