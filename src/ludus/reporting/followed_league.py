"""A league's record that grows with its journal, so that a page that is open reads only new events."""

from __future__ import annotations

from typing import Annotated

import msgspec

from ludus.flow.inputs.decode import from_toml, text_of
from ludus.flow.league import JournalRow
from ludus.league.payoff import DECAY
from ludus.league.record import MAKE_PLAYERS, MAX_PLAYERS, Record
from ludus.storage import CorruptFile, RunDirectory, RunNotFound
from ludus.storage.journal import Journal


class FollowedLeague:
    """The record of one run's league. Not for several threads at once."""

    def __init__(self, run: RunDirectory) -> None:
        """Follow the league of ``run``, without reading it yet."""
        self._run = run
        self._record: Record | None = None
        self._last: JournalRow | None = None
        self._file: tuple[int, int] = (0, 0)
        self._decay = 0.0

    def read(self) -> Record:
        """Return the record of the whole journal; only events since the last call are read.

        A journal that a resume has cut, or that is another file, is read again from its start.

        Raises:
            RunNotFound: The run has no league.
            CorruptFile: The journal is damaged, or of a newer ludus.
        """
        run = self._run
        if not run.league.exists() and not run.league.is_symlink():
            raise RunNotFound(
                f"{run.path}: no league in this run (no {run.league.name}); a league has "
                "[[league.players]] in its preset"
            )
        with Journal.read(run.league) as journal:
            about = run.league.lstat()
            file, decay = (about.st_dev, about.st_ino), _decay(run)
            record, last = self._record, self._last
            if record is None or (file, decay) != (self._file, self._decay) or not _continues(journal, last):
                record, last = Record(decay), None
                record.league.standings.payoff.reserve(min(MAX_PLAYERS, journal.count(*MAKE_PLAYERS)))
            self._record = None  # a record that is half read is read again
            try:
                for row in journal.rows(last.number if last is not None else 0):
                    record.add(row)
                    last = row
            except ValueError as error:
                raise CorruptFile(f"{run.league}: {error}") from error
            self._record, self._last, self._file, self._decay = record, last, file, decay
        return record


def _continues(journal: Journal, last: JournalRow | None) -> bool:
    """Return whether the journal still has the event that was read last, with its time."""
    if last is None:
        return True
    return next(iter(journal.rows(last.number - 1)), None) == last


class _League(msgspec.Struct, frozen=True):
    """The one setting without which a journal's rates differ from the run's."""

    decay: Annotated[float, msgspec.Meta(gt=0, le=1)] = DECAY


class _Settings(msgspec.Struct, frozen=True):
    league: _League = _League()


def _decay(run: RunDirectory) -> float:
    try:
        return msgspec.convert(from_toml(text_of(run.config_bytes())), _Settings).league.decay
    except ValueError as error:
        raise CorruptFile(f"{run.config}: {error}") from error
