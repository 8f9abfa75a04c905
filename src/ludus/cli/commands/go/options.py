"""Common parts of ``ludus go``: options, output, an orderly end, and how an analysis continues."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from ludus.cli import console
from ludus.cli.arguments import QUIET, option
from ludus.cli.errors import DONE, INTERRUPTED, UserError
from ludus.cli.match_options import Count, DeviceOption, Natural, hooks_of
from ludus.cli.params import read_game

if TYPE_CHECKING:
    from ludus.analyses.analysis import Analysis, PreparedAnalysis, WorkUnit
    from ludus.analyses.matches import MatchTerms
    from ludus.analyses.record import AnalysisRecord, Line
    from ludus.analyses.subject import AnalysedGame, KeptVersion
    from ludus.storage import RunDirectory

FOLDER = "analyses"  # of a run
VERSION = re.compile(r"v[0-9]{1,18}")
Even = Annotated[int, msgspec.Meta(ge=2, le=100_000)]
Seed = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Jobs = Annotated[int, msgspec.Meta(ge=1, le=256)]
Plies = Annotated[int, msgspec.Meta(ge=0, le=100)]


class RecordOutput(msgspec.Struct, frozen=True, kw_only=True):
    """Base of commands that show a record."""

    json: Annotated[bool, option("print the record as one JSON document")] = False


class RecordingOptions(RecordOutput, frozen=True, kw_only=True):
    """Base of commands that carry out an analysis, with matches or without."""

    seed: Annotated[Seed, option("seed of everything that is drawn", "N")] = 1
    jobs: Annotated[Jobs, option("blocks that are worked on at a time", "N")] = 1
    out: Annotated[str, option("folder of record and page (default: RUN/analyses)", "DIR")] = ""
    resume: Annotated[bool, option("continue a record that is there")] = False
    device: DeviceOption = "auto"
    quiet: Annotated[bool, QUIET] = False

    def folder(self, run: Path) -> Path:
        """Return the folder of record and page; ``run``: what is analysed, a run or a file in one."""
        if self.out:
            return Path(self.out)
        from ludus.storage.references import is_run

        for place in (run, *run.parents):
            if is_run(str(place)):
                return place / FOLDER
        raise UserError(f"{run}: in no run; name the folder of record and page with -o")

    def carry_out(self, prepared: PreparedAnalysis, folder: Path) -> int:
        """Carry out an analysis, write and print its record, and return the exit code.

        Args:
            prepared: The analysis.
            folder: Folder of record and page.
        """
        from ludus.analyses.conduct import RecordStands, conduct, continued, new_record, saver
        from ludus.cli.progress import Progress

        path = folder / f"{prepared.analysis.name}.json"
        try:
            start = continued(
                path, new_record(prepared, ["ludus", *sys.argv[1:]]), prepared.analysis, resume=self.resume
            )
        except RecordStands as error:
            raise UserError(f"{error}; --resume continues it, -o FOLDER makes another one") from None
        over = {line.get("unit") for line in start.lines}
        total = sum(unit.matches for unit in prepared.units if unit.name not in over)
        for note in prepared.notes:
            console.note(note)
        with Progress(total, prepared.things, quiet=self.quiet) as progress:

            def count(unit: WorkUnit) -> None:
                if not unit.plays:
                    progress.count(unit.matches)

            record = conduct(
                prepared, start, hooks_of(progress), jobs=self.jobs, over=count, save=saver(path)
            )
        page = write_page(path.with_suffix(".html"), prepared.analysis, record)
        show_record(record, as_json=self.json, files=(path, page))
        if record.complete:
            return DONE
        console.note(
            f"interrupted: {len({line.get('unit') for line in record.lines})} of {record.units} blocks were "
            "over; the same command with --resume continues"
        )
        return INTERRUPTED


class GoOptions(RecordingOptions, frozen=True, kw_only=True):
    """Base of analyses that play matches."""

    visits: Annotated[Natural, option("visits of a decision; 0 = the networks alone", "N")] = 50
    matches: Annotated[Even, option("matches of each pairing, an even number", "N")] = 20
    opening: Annotated[Plies, option("random plies at the start, equal in two matches", "N")] = 4
    game: Annotated[str, option("code of the game, if it is neither built in nor installed", "GAME")] = ""

    def terms(self, game: AnalysedGame) -> MatchTerms:
        """Return how the matches are played."""
        from ludus.analyses.matches import MatchTerms

        if self.matches % 2:
            raise UserError(f"--matches {self.matches}: expected an even number, openings come in pairs")
        return MatchTerms(game.spec, game.params, self.matches, self.seed, self.opening, self.device)

    def game_of(self, references: Sequence[str]) -> AnalysedGame:
        """Return the game of these players. Raises ``ConfigError``, ``StorageError``."""
        from ludus.analyses.subject import analysed_game

        return analysed_game(references, read_game(self.game, ())[0])

    def common_settings(self) -> Line:
        """Return the settings of every analysis on which its lines depend."""
        return {"visits": self.visits, "matches": self.matches, "opening": self.opening}


class VersionOptions(GoOptions, frozen=True, kw_only=True):
    """Base of analyses over the kept versions of a run."""

    versions: Annotated[Count, option("kept versions of the run, evenly spread, at most", "N")] = 8

    def kept(self, text: str, name: str) -> tuple[RunDirectory, list[KeptVersion], Path]:
        """Return the versions of a run: see :func:`versions_of`."""
        return versions_of(self, text, name, self.versions)


def versions_of(
    options: RecordingOptions, text: str, name: str, most: int
) -> tuple[RunDirectory, list[KeptVersion], Path]:
    """Return the run that ``text`` names, its versions, and the folder of record and page.

    With --resume they are the versions of the record of the analysis ``name``. Raises ``StorageError``,
    ``ConfigError``.

    Args:
        options: The options of the command.
        text: Path of the run.
        name: Name of the analysis.
        most: Number of versions.
    """
    from ludus.analyses.record import read_record
    from ludus.analyses.subject import kept_versions
    from ludus.storage import RunDirectory

    run = RunDirectory.open(Path(text))
    folder = options.folder(run.path)
    path = folder / f"{name}.json"
    earlier = read_record(path).players if options.resume and path.is_file() else {}
    chosen = {int(player[1:]) for player in earlier if VERSION.fullmatch(player)}
    return run, kept_versions(run, most, chosen), folder


def with_initial(
    run: RunDirectory, versions: list[KeptVersion], folder: Path
) -> tuple[list[KeptVersion], tuple[str, ...]]:
    """Return the versions with version 0 before them, and a note where there is none."""
    from ludus.analyses.subject import initial_version

    if versions[0].version == 0:
        return versions, ()
    initial = initial_version(run, folder)
    if isinstance(initial, str):
        return versions, (initial,)
    return [initial, *versions], ()


def write_page(path: Path, analysis: type[Analysis], record: AnalysisRecord) -> Path:
    """Write the page of a record and return its path."""
    from ludus.analyses.page import render
    from ludus.cli.commands.replay import write_whole

    write_whole(path, render(analysis, record).encode())
    return path


def show_record(record: AnalysisRecord, *, as_json: bool, files: tuple[Path, ...] = ()) -> None:
    """Print a record: its tables, or one JSON document; and the files that were written."""
    if as_json:
        console.document(record)
        return
    from ludus.analyses.page import text_tables

    for title, head, rows in text_tables(record.tables):
        if rows:
            console.result(f"{title}\n{console.table(rows, head, '  ')}\n")
    for file in files:
        console.result(str(file))
