"""``ludus analyze``."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec

from ludus.cli import console
from ludus.cli.arguments import QUIET, option, positional
from ludus.cli.commands.replay import GAME, MAX_BYTES, write_whole
from ludus.cli.errors import DONE, UserError
from ludus.cli.words import said
from ludus.flow.inputs.regular import why_unusable

if TYPE_CHECKING:
    from ludus.web.analysis.report import Judgement, MatchAnalysis
    from ludus.web.analysis.source import AnalysisSource

DEFAULT = "mcts:400"

MEASURED = 5  # decisions after which the time for all is said


class Analyze(msgspec.Struct, frozen=True):
    """Analyse a match: a page with the value after each move, better moves and the ten largest mistakes.

    FILE is a replay (.ludus) or a game of Go (.sgf). An analyst is weights (RUN@best), weights with a search
    (RUN@best+search:400) or a search with random matches (mcts:400). A search makes its visits at every
    decision; the time for all of them is said after a few. A mistake is a decision after which the value
    of its seat falls. The page is one file that works offline.
    """

    EXAMPLES: ClassVar = (
        "ludus analyze game.sgf --by mcts:400",
        "ludus analyze match.ludus --by RUN@best --by RUN@best+search:200 -o page.html",
    )

    file: Annotated[str, positional("a replay (.ludus) or a game of Go (.sgf)", "FILE")]
    by: Annotated[
        tuple[str, ...], option(f"the analyst; repeatable once (default: {DEFAULT})", "PLAYER")
    ] = ()
    out: Annotated[
        str, option("page (default: the file's name with .html, and no page with --json)", "FILE")
    ] = ""
    game: Annotated[str, GAME] = ""
    quiet: Annotated[bool, QUIET] = False
    json: Annotated[bool, option("print the mistakes as one JSON document")] = False

    def run(self) -> int:
        """Write the page, print the mistakes and return the exit code."""
        from ludus.cli.params import typed
        from ludus.cli.progress import Ticker
        from ludus.web.analysis.report import analysed
        from ludus.web.recording import MOST_OPINIONS
        from ludus.web.replay_page import render

        analysts = self.by or (DEFAULT,)
        if len(analysts) > MOST_OPINIONS:
            raise UserError(f"--by: {len(analysts)} analysts, expected at most {MOST_OPINIONS}")
        out = Path(self.out) if self.out or self.json else Path(self.file).with_suffix(".html")
        if str(out) != "." and out.resolve() == Path(self.file).resolve():
            raise UserError(f"{out}: would overwrite the match; choose another name with --out")
        source = read_source(self.file, analysts)
        for note in source.notes:
            console.note(f"{self.file}: {note}")
        effort = _Effort(quiet=self.quiet)
        try:
            with Ticker(effort.line, quiet=self.quiet) as ticker:
                effort.clear = ticker.clear
                recording, found = analysed(source, analysts, typed(self.game), effort.count)
        except ValueError as error:
            more = _differences(analysts, source) if self.by else "; name weights that fit it: --by RUN@best"
            raise UserError(f"{self.file}: {said(error)}{more}") from None
        page = str(out) if self.out or not self.json else ""
        if page:
            write_whole(out, render(recording).encode())
        if self.json:
            console.document({"file": self.file, "page": page, **msgspec.to_builtins(found)})
        else:
            console.result(_text(found))
            console.result(page)
        return DONE


def read_source(file: str, analysts: Sequence[str]) -> AnalysisSource:
    """Return the match of a file.

    Args:
        file: A replay or a game of Go.
        analysts: Players that are to read it: weights need certain parameters.

    Raises:
        UserError: There is no such file, or no match in it.
    """
    from ludus.storage.errors import CorruptFile
    from ludus.storage.files import read_bounded
    from ludus.web.analysis.source import is_replay, source_of

    path = Path(file)
    if why := why_unusable(path, "no such file; expected a replay (.ludus) or a game of Go (.sgf)"):
        raise UserError(f"{file}: {why}")
    try:
        data = read_bounded(path, MAX_BYTES)
    except CorruptFile as error:
        raise UserError(f"{said(error)}; this is no match") from None
    try:
        return source_of(data, {} if is_replay(data) else _params_of(analysts))
    except ValueError as error:
        what = "" if path.suffix.lower() in (".sgf", ".ludus") else "no replay, so read as SGF: "
        raise UserError(f"{file}: {what}{said(error)}") from None


def _params_of(analysts: Sequence[str]) -> dict[str, str]:
    """Return parameters that the first weights among the analysts need a record to be read by."""
    from ludus.evaluation.players import game_of_player
    from ludus.games.replays import READING_PARAMS

    for name in analysts:
        if (trained := game_of_player(name)) is not None:
            return {key: value for key, value in trained[1].items() if key in READING_PARAMS}
    return {}


def _differences(analysts: Sequence[str], source: AnalysisSource) -> str:
    """Return by which parameters of the rules weights differ from the match; empty if they have the same."""
    from ludus.evaluation.players import game_of_player
    from ludus.games import replays, spec

    about = replays.info(source.replay)
    own = spec(about.game, about.params)
    found = []
    for name in analysts:
        game, trained = game_of_player(name) or ("", {})
        for param in own.params if game == about.game else ():
            theirs = trained.get(param.name, param.default_value)
            with contextlib.suppress(ValueError):  # a value that the other parameters exclude
                if spec(game, {**about.params, param.name: theirs}).spec_hash != own.spec_hash:
                    ours = about.params.get(param.name, param.default_value)
                    found.append(
                        f"; {name} was trained under {param.name} = {theirs}, the match is under {ours}"
                    )
    return "".join(found)


class _Effort:
    """Progress of the analysts on stderr. The time that they will take is said after the first decisions."""

    def __init__(self, *, quiet: bool) -> None:
        self.first_at = 0.0  # when the first decision was over: loading is no measure of the others
        self.done, self.total, self._quiet, self._said = 0, 0, quiet, False
        self.clear: Callable[[], object] = int  # of the display

    def count(self, done: int, total: int) -> None:
        """Take how many decisions are over, and of how many."""
        if self.done == 0:
            self.first_at = time.monotonic()
        self.done, self.total = done, total
        if not self._said and done >= min(MEASURED, total):
            self._said = True
            if not self._quiet:
                self.clear()
                console.note(f"{total:,} decisions to think about{self._left()}")

    def line(self) -> str:
        """Return ``12 of 60 decisions, about 0:48 min left``."""
        if not self.total:
            return "loading the analyst"
        return f"{self.done:,} of {self.total:,} decisions{self._left()}"

    def _left(self) -> str:
        if self.done < 2:
            return ""
        minutes = (time.monotonic() - self.first_at) / 60.0 * (self.total - self.done) / (self.done - 1)
        return f", about {console.duration(minutes)} left"


def _text(found: MatchAnalysis) -> str:
    return "\n\n".join(_judgement(found, judged) for judged in found.analysts)


def _judgement(found: MatchAnalysis, judged: Judgement) -> str:
    """Return the mistakes as a table, and the mean loss of each seat."""
    lines = [
        f"{judged.analyst}, {judged.decisions:,} decisions{' (the match has more)' if judged.cut else ''}"
    ]
    lines += [
        f"  {seat.player} (seat {seat.seat}): mean loss {seat.mean_loss:.3f} of {seat.decisions:,}"
        for seat in judged.seats
        if seat.mean_loss is not None
    ]
    if not judged.mistakes:
        return "\n".join([*lines, "  no mistake found"])
    rows = [
        (
            f"{m.tick:,}",
            str(m.seat),
            m.played or "?",
            m.better or "the same",
            f"{m.value:+.2f}",
            f"{m.after:+.2f}",
            f"{m.change:+.2f}",
        )
        for m in judged.mistakes
    ]
    table = console.table(rows, ("tick", "seat", "played", "better", "value", "after", "change"), "  ")
    return "\n".join([*lines, table])
