"""A process that knows no game of a user: for tests that load one by name or file."""

from __future__ import annotations

import sys

import pytest

from ludus.games import hosted, names, registry, rulebook


def forget(patch: pytest.MonkeyPatch) -> None:
    """Make this process know no game of a user, as a new process does."""
    for module, name, empty in (
        (hosted, "_loaded", {}),
        (registry, "_loaded", {}),
        (names, "_typed", set()),
        (names, "_loaded", set()),
        (rulebook, "_files", {}),
    ):
        patch.setattr(module, name, empty)
    hosted._maker.cache_clear()
    for name in [n for n in sys.modules if n.startswith(("ludus_game_file_", "coin"))]:
        del sys.modules[name]
