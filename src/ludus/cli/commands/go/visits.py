"""``ludus go visits``."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec

from ludus.cli.arguments import option, positional
from ludus.cli.commands.go.options import VersionOptions, with_initial
from ludus.cli.errors import UserError

Factor = Annotated[float, msgspec.Meta(gt=1, le=100)]


class GoVisits(VersionOptions, frozen=True, kw_only=True):
    """Play each version of a run against itself with more visits, and count by colour.

    Figure 7 of ELF OpenGo. The player with more visits plays either colour equally often. The same matches
    with equal visits are the floor: they show what a colour is worth.
    """

    EXAMPLES: ClassVar = ("ludus go visits RUN --versions 6 --factor 2 --visits 100 --matches 40",)

    run_: Annotated[str, positional("a run", "RUN")]
    factor: Annotated[Factor, option("times the visits of the opponent", "X")] = 2.0

    def run(self) -> int:
        """Play the matches, write and print the record, and return the exit code."""
        from ludus.analyses.analysis import PreparedAnalysis
        from ludus.analyses.doubled_visits import VisitsAnalysis, visits_pairings
        from ludus.analyses.matches import match_units
        from ludus.analyses.subject import seat_names

        if self.visits < 1:
            raise UserError("--visits 0: expected 1 or more")
        run, kept, folder = self.kept(self.run_, VisitsAnalysis.name)
        game = self.game_of([version.reference for version in kept])
        versions, notes = with_initial(run, kept, folder)
        pairings, players = visits_pairings(versions, self.visits, self.factor, seat_names(game))
        prepared = PreparedAnalysis(
            VisitsAnalysis,
            str(run.path),
            game.spec,
            game.params,
            self.seed,
            {**self.common_settings(), "factor": self.factor},
            players,
            match_units(pairings, players, self.terms(game)),
            self.visits,
            ("equal visits", *(("v0",) if versions[0].version == 0 else ())),
            notes,
        )
        return self.carry_out(prepared, folder)
