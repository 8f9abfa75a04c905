"""Fixtures that all tests of training share."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _stepped(request: pytest.FixtureRequest) -> None:
    """Self-play of this process steps: on a busy machine a whole run would fit into its first round.

    ``real_threads`` is for the few tests of the threads themselves.
    """
    if request.node.get_closest_marker("real_threads") is None:
        request.getfixturevalue("stepped_self_play")
