"""``ludus go elo``."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec

from ludus.cli.arguments import option, positional
from ludus.cli.commands.go.options import VersionOptions, with_initial
from ludus.cli.errors import UserError

Spacing = Annotated[int, msgspec.Meta(ge=1, le=1000)]


class GoElo(VersionOptions, frozen=True, kw_only=True):
    """Rate the versions of a run: self-play Elo at several spacings, Elo of all pairs, Nash averaging.

    Figure 2 of ELF OpenGo. Every pair of kept versions, version 0 and uniform play meet. Self-play Elo at
    spacing 2 counts only the matches between every second version. Record and page are
    RUN/analyses/elo.json and elo.html. Ctrl-C keeps the blocks of matches that are over (exit code 130).
    """

    EXAMPLES: ClassVar = (
        "ludus go elo RUN --spacings 1 --spacings 2",
        "ludus go elo RUN --versions 6 --matches 40 --visits 100 --jobs 2",
    )

    run_: Annotated[str, positional("a run", "RUN")]
    spacings: Annotated[
        tuple[Spacing, ...], option("spacing of self-play Elo in versions; repeatable (default: 1, 2)", "N")
    ] = (1, 2)

    def run(self) -> int:
        """Play the matches, write and print the record, and return the exit code."""
        from ludus.analyses.analysis import PreparedAnalysis
        from ludus.analyses.elo import EloAnalysis, elo_pairings
        from ludus.analyses.matches import match_units
        from ludus.analyses.subject import searched
        from ludus.evaluation.play import UNIFORM

        if len(set(self.spacings)) < len(self.spacings):
            raise UserError("--spacings: a spacing twice")
        run, kept, folder = self.kept(self.run_, EloAnalysis.name)
        game = self.game_of([version.reference for version in kept])
        versions, notes = with_initial(run, kept, folder)
        players = {version.name: searched(version.reference, self.visits) for version in versions}
        players[UNIFORM] = UNIFORM
        spacings = sorted(self.spacings)
        prepared = PreparedAnalysis(
            EloAnalysis,
            str(run.path),
            game.spec,
            game.params,
            self.seed,
            {**self.common_settings(), "spacings": " ".join(map(str, spacings))},
            players,
            match_units(elo_pairings(versions, spacings), players, self.terms(game)),
            self.visits,
            tuple(name for name in ("v0", UNIFORM) if name in players),
            notes,
        )
        return self.carry_out(prepared, folder)
