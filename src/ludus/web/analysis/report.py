"""A match with the opinions of analysts: the recording of its page, and the list of its mistakes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from ludus.flow.inputs.shown import visible
from ludus.games import replays
from ludus.web.analysis.source import AnalysisSource
from ludus.web.from_replay import recording_of
from ludus.web.recording import Recording
from ludus.web.thoughts.mistakes import ValueDrop, mean_loss, mistakes
from ludus.web.thoughts.replayed import opinions_of
from ludus.web.thoughts.thought import Kind, Opinion

Progress = Callable[[int, int], None]


class SeatLoss(msgspec.Struct, frozen=True):
    """A seat in an analysis. ``mean_loss``: mean fall of its value at a decision; None without values."""

    seat: int
    player: str
    decisions: int
    mean_loss: float | None


class Judgement(msgspec.Struct, frozen=True):
    """The opinion of one analyst in short: its largest mistakes, the largest first."""

    analyst: str
    kind: Kind
    decisions: int
    cut: bool
    seats: tuple[SeatLoss, ...]
    mistakes: tuple[ValueDrop, ...]


class MatchAnalysis(msgspec.Struct, frozen=True):
    """Analysis of a match. ``notes``: what of the file is not in it."""

    game: str
    players: tuple[str, ...]
    outcome: tuple[float, ...]
    ticks: int
    notes: tuple[str, ...]
    analysts: tuple[Judgement, ...]


def analysed(
    source: AnalysisSource, players: Sequence[str], game: str = "", progress: Progress | None = None
) -> tuple[Recording, MatchAnalysis]:
    """Return the recording of a match with the thoughts of analysts, and their lists of mistakes.

    Args:
        source: The match.
        players: The analysts by name, as :func:`ludus.web.thoughts.resolve.mind_of` reads them.
        game: Reference of a compiled game that is neither built in nor installed, from a person.
        progress: Called while analysts think: decisions that are over, and of how many.

    Raises:
        ValueError: As :func:`ludus.web.thoughts.replayed.thoughts_of`.
        StorageError: No such run, version or file.
    """
    recording = recording_of(source.replay, game=game)
    texts = {(d.tick, d.seat): d.text for d in recording.decisions}
    opinions = opinions_of(source.replay, players, game=game, texts=texts, progress=progress)
    result = (("result", visible(source.result)),) if source.result else ()
    recording = msgspec.structs.replace(
        recording, thoughts=opinions, facts=(*result, *recording.facts, *(("note", n) for n in source.notes))
    )
    info = replays.info(source.replay)
    analysts = tuple(_judged(opinion, recording.seats, texts) for opinion in opinions)
    names = tuple(visible(name) for name in info.players)
    outcome = info.outcome if info.over else ()
    return recording, MatchAnalysis(info.game, names, outcome, info.ticks, source.notes, analysts)


def _judged(opinion: Opinion, names: Sequence[str], texts: dict[tuple[int, int], str]) -> Judgement:
    counts = {seat: sum(t.seat == seat for t in opinion.thoughts) for seat in range(len(names))}
    seats = tuple(
        SeatLoss(seat, visible(name), counts[seat], mean_loss(opinion, seat))
        for seat, name in enumerate(names)
    )
    found = tuple(mistakes(opinion, texts))
    return Judgement(visible(opinion.name), opinion.kind, len(opinion.thoughts), opinion.cut, seats, found)
