"""Data sets for tests: the first seat takes its first legal move, the others draw theirs."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from ludus.datasets.importer import ImportOrder, import_records
from ludus.datasets.manifest import SplitRule
from ludus.games.match import Match


def recorded_match(game: str, seed: int, plies: int = 1000, **params: object) -> bytes:
    """Return the replay of a match of one-headed decisions, cut off after ``plies`` ticks."""
    match = Match(game, params, seed=seed, record=True)
    random = np.random.default_rng(seed)
    while not match.over and match.tick < plies:
        for seat in match.to_act:
            legal = np.flatnonzero(match.legal(seat))
            match.act(seat, int(legal[0] if seat == 0 else random.choice(legal)))
        match.advance()
    return match.replay(["first", "drawn"])


def record_matches(
    folder: Path, game: str, count: int, plies: int = 1000, held_out: float = 0.2, **params: object
) -> Path:
    """Make a data set of up to ``count`` matches, those that end alike once, and return its path."""
    with tempfile.TemporaryDirectory() as files:
        for seed in range(count):
            (Path(files) / f"{seed:06}.ludus").write_bytes(recorded_match(game, seed, plies, **params))
        import_records(ImportOrder((Path(files),), folder, split=SplitRule(held_out=held_out)))
    return folder
