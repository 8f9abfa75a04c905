"""A run directory with the journal of a league, whose numbers a test can check by hand.

``main`` froze ``main:0``, won against it, froze ``main:100``; ``ex`` beat ``main`` and went back to its first
weights. ``p0`` copied ``p1``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ludus.flow import Weights, WeightsMeta
from ludus.flow.league import Tally
from ludus.league.events import AnyEvent, Copied, Frozen, Joined, Mutated, Reset, Results, to_row
from ludus.storage import RunDirectory, RunInfo
from ludus.storage.journal import Journal

RATE = "algorithm.learning_rate"

EVENTS: list[AnyEvent] = [
    Joined("main", "learner", "main"),
    Joined("ex", "learner", "main_exploiter"),
    Joined("p0", "learner", "population", {RATE: 1e-3}),
    Joined("p1", "learner", "population", {RATE: 1e-4}),
    Joined("random", "bot"),
    Frozen("main", 0),
    Results(
        "main", 0, 1000, 100, 100,
        (
            Tally("main", "main:0", 0, "pfsp", 30, 0, 10),
            Tally("main", "random", 1, "bot", 36, 4, 0),
            Tally("main", "main", 0, "latest", 5, 0, 5),
            Tally("main:0", "random", 0, "rating", 12, 0, 8),
        ),
    ),
    Frozen("main", 100, "beats"),
    Results("ex", 0, 500, 50, 50, (Tally("ex", "main", 0, "main", 20, 0, 20),)),
    Frozen("ex", 50, "timeout"),
    Reset("ex", "seed"),
    Results("p0", 0, 300, 3, 3, (Tally("p0", "p1", 0, "elo", 1, 0, 9),), 10, 5.0),
    Copied("p0", "p1", {RATE: 2e-4}),
    Mutated("p0", {RATE: 3e-4}),
    Results("p1", 0, 400, 4, 4, (Tally("p1", "main:100", 0, "elo", 2, 2, 6),)),
]  # fmt: skip


def recorded_run(path: Path, events: list[AnyEvent] = EVENTS) -> RunDirectory:
    """The run at ``path`` with ``events`` in its journal and the weights of what was frozen."""
    info = RunInfo(1, "0.1.0", "tic_tac_toe", "0" * 16, 1, "2026-01-01T00:00:00Z", ("ludus", "train"))
    run = RunDirectory.create(path, "", info)
    with Journal.create(run.league) as journal:
        assert journal.append([to_row(e, n, 1e9 + n) for n, e in enumerate(events, 1)])
    for event in events:
        if isinstance(event, Frozen):
            meta = WeightsMeta(event.version, "0" * 16, "{}", "{}", "tic_tac_toe", event.version)
            run.frozen.save(event.member, Weights(meta, {"a": np.zeros(2, np.float32)}))
    return run
