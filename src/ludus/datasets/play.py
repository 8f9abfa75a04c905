"""Data sets of matches between bots, played in the core without files between."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from ludus.datasets import content
from ludus.datasets.content import ReadMatch
from ludus.datasets.errors import BadRecord, DataSetError
from ludus.datasets.from_replay import GO, ReadingRules, Told, go_match_of, made_match
from ludus.datasets.importer import ImportWatch, Stopped, check_target
from ludus.datasets.manifest import DataSource, Manifest, SplitRule
from ludus.datasets.staging import Cursor, StagedSetup, Staging
from ludus.datasets.writer import Finishing, finish
from ludus.games import registry, replays


class BotMatches(NamedTuple):
    """Matches of bots to record.

    Attributes:
        game: Reference of a compiled game.
        to: Folder of the data set.
        params: Parameters of its rules.
        bots: The bot at each seat; one stands for all.
        matches: Their number, from 1; matches that end alike are kept once.
        seed: Seed of the matches.
        frame_skip: Ticks between decisions of a seat; empty = the game's own; one stands for all.
        split: How matches are held out.
        licence: Terms of the records.
    """

    game: str
    to: Path
    params: Mapping[str, object] = {}
    bots: tuple[str, ...] = ("uniform",)
    matches: int = 1000
    seed: int = 1
    frame_skip: tuple[int, ...] = ()
    split: SplitRule = SplitRule()
    licence: str = ""

    def text(self) -> str:
        """Return the order as one text, by which its continuation is known."""
        return msgspec.json.encode(
            [
                "record",
                self.game,
                registry.text_params(self.params),
                self.bots,
                self.matches,
                self.seed,
                self.frame_skip,
            ]
        ).decode()


def record_matches(order: BotMatches, watch: ImportWatch = ImportWatch()) -> Manifest:  # noqa: B008
    """Play matches of bots and make a data set of them, or continue to.

    Returns:
        The manifest of the data set.

    Raises:
        DataSetError: The target cannot be used.
        ParamError: An unknown game, parameter or bot.
        Stopped: ``watch.stop`` said so; the same call continues.
        OSError: A file cannot be written.
    """
    check_target(order.to)
    spec = registry.spec(order.game, order.params)
    if registry.is_python(order.game):
        raise DataSetError(f"{order.game}: a game written in Python; record replays of it, and import them")
    _one(order, 0)  # a mistake in the order leaves no folder
    staging = Staging(order.to, StagedSetup(order.text()))
    try:
        if not staging.setup.game:
            staging.decide(spec.name, spec.version, spec.spec_hash, spec.seats)
        name = f"{spec.name}, bots {', '.join(order.bots)}, seed {order.seed}"[:200]
        sources = [DataSource(name)]
        for number in range(staging.cursor.records, order.matches):
            staging.counts.read += 1
            full = False
            try:
                full = staging.add(_one(order, number))
            except BadRecord as error:
                counts = staging.counts.left_out
                counts[error.reason] = counts.get(error.reason, 0) + 1
                staging.problems.append(f"match {number}: {error}"[:300])
            watch.record()
            stop = watch.stop()
            if full or stop:
                staging.flush(Cursor(records=number + 1), sources)
            if stop and number + 1 < order.matches:
                raise Stopped
        staging.flush(Cursor(records=order.matches), sources)
        return finish(order.to, staging, Finishing(order.split, order.licence))
    finally:
        staging.close()


def _one(order: BotMatches, number: int) -> ReadMatch:
    replay = replays.record(
        order.game,
        order.params,
        seed=order.seed,
        match=number,
        bots=order.bots,
        frame_skip=order.frame_skip,
    )
    about = replays.info(replay)
    if about.game == GO:
        return go_match_of(replay, about, ReadingRules())
    outcome = tuple(map(float, about.outcome)) if about.over else None
    return made_match(replay, Told(outcome), content.key_of(about))
