"""``ludus go ladders``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec

from ludus.cli.arguments import option, positional
from ludus.cli.commands.go.options import RecordingOptions, versions_of, with_initial
from ludus.cli.errors import UserError
from ludus.cli.match_options import Count, Natural

if TYPE_CHECKING:
    from ludus.analyses.subject import AnalysedGame, KeptVersion
    from ludus.games.go_ladders import LadderScenario

Lines = Annotated[int, msgspec.Meta(ge=0, le=19)]


class GoLadders(RecordingOptions, frozen=True, kw_only=True):
    """Ask versions about ladders: does it pay to run this one? An exact reader knows.

    Figures 4c and 5 of ELF OpenGo. Each version answers by its likeliest move, and with a search. Half of the
    ladders pay, so a coin, always running and never running have 50%. --suite takes the suite of OpenGo's
    authors, or any folder of that form (ladder_list and SGF files).
    """

    EXAMPLES: ClassVar = (
        "ludus go ladders RUN --versions 6 --visits 400",
        "ludus go ladders zoo:go9 --visits 0 -o ladders",
        "ludus go ladders RUN --suite ladder_suite",
    )

    weights: Annotated[str, positional("a run, RUN@best, RUN@VERSION, a file or zoo:NAME", "RUN|PLAYER")]
    versions: Annotated[Count, option("kept versions of the run, evenly spread, at most", "N")] = 8
    visits: Annotated[Natural, option("visits of a search; 0 = the networks alone", "N")] = 50
    size: Annotated[Lines, option("lines of the board (default: as the weights play)", "N")] = 0
    count: Annotated[Count, option("ladders, an even number", "N")] = 100
    suite: Annotated[str, option("folder with lists of ladders (default: made from the seed)", "FOLDER")] = ""

    def run(self) -> int:
        """Ask, write and print the record, and return the exit code."""
        from ludus.analyses.analysis import PreparedAnalysis
        from ludus.analyses.positions.ladders import (
            FLOORS,
            LaddersAnalysis,
            board_size,
            ladder_units,
            notes_of,
        )
        from ludus.analyses.subject import analysed_game

        versions, folder, notes = self._subjects(LaddersAnalysis.name)
        game = analysed_game([version.reference for version in versions])
        size = board_size(game)
        if self.size not in (0, size):
            convert = "ludus surgery WEIGHTS --to PRESET converts them"
            raise UserError(f"--size {self.size}: the weights play on {size} lines; {convert}")
        scenarios, more = self._scenarios(game)
        visits = (0, self.visits) if self.visits else (0,)
        units = ladder_units(scenarios, versions, visits, game, self.seed, self.device)
        prepared = PreparedAnalysis(
            LaddersAnalysis,
            self.weights,
            game.spec,
            game.params,
            self.seed,
            {
                "visits": self.visits,
                "count": len(scenarios),
                "suite": Path(self.suite).name if self.suite else "",
                "ladders": _digest(scenarios),
            },
            {version.name: version.reference for version in versions},
            units,
            self.visits,
            (*(version.name for version in versions if version.version == 0), *FLOORS),
            (*notes_of(game.params), *notes, *more),
            "ladders",
        )
        return self.carry_out(prepared, folder)

    def _subjects(self, name: str) -> tuple[list[KeptVersion], Path, tuple[str, ...]]:
        """Return what is asked, the folder of record and page, and notes."""
        from ludus.analyses.subject import KeptVersion, weights_of
        from ludus.storage import resolve_weights
        from ludus.storage.references import is_run

        if is_run(self.weights):
            run, kept, folder = versions_of(self, self.weights, name, self.versions)
            versions, notes = with_initial(run, kept, folder)
            return versions, folder, notes
        from ludus.policies.weights import load_meta

        weights = weights_of(self.weights)
        path = Path(resolve_weights(weights)).absolute()
        return [KeptVersion(weights, load_meta(path).version, weights)], self.folder(path), ()

    def _scenarios(self, game: AnalysedGame) -> tuple[tuple[LadderScenario, ...], tuple[str, ...]]:
        """Return the ladders, and notes on those that are left out."""
        from ludus.analyses.positions.ladders import MOST, board_size, listed_suite, own_suite
        from ludus.games.records.ladder_files import LadderFileError, scenarios_from_sgf

        if self.count > MOST:
            raise UserError(f"--count {self.count}: expected at most {MOST}")
        size = board_size(game)
        if not self.suite:
            return own_suite(size, self.seed, self.count), ()
        try:
            files = scenarios_from_sgf(Path(self.suite))
        except (LadderFileError, OSError) as error:
            raise UserError(f"--suite: {error}") from None
        return listed_suite(files, size, self.count)


def _digest(scenarios: tuple[LadderScenario, ...]) -> str:
    """Return a hash of ladders: a resumed analysis has the same ones."""
    import hashlib

    return hashlib.sha256(msgspec.json.encode(scenarios)).hexdigest()[:16]
