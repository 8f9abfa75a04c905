"""``ludus go losses``."""

from __future__ import annotations

from typing import Annotated, ClassVar

from ludus.cli.arguments import option, positional
from ludus.cli.commands.go.options import VersionOptions, with_initial
from ludus.cli.errors import UserError


class GoLosses(VersionOptions, frozen=True, kw_only=True):
    """Show the training losses of a run, and the score of its versions against reference players.

    Figures 3a and 3b of ELF OpenGo. Losses come from the run's metrics. Every kept version, version 0 and
    uniform play meet every player of --against; without one there are only losses.
    """

    EXAMPLES: ClassVar = (
        "ludus go losses RUN --against mcts:100 --against OTHER_RUN@best+search:50",
        "ludus go losses RUN",
    )

    run_: Annotated[str, positional("a run", "RUN")]
    against: Annotated[
        tuple[str, ...], option("a reference player, as for ludus eval; repeatable", "PLAYER")
    ] = ()

    def run(self) -> int:
        """Play the matches, write and print the record, and return the exit code."""
        from ludus.analyses.analysis import PreparedAnalysis
        from ludus.analyses.losses import LossesAnalysis, loss_pairings, loss_unit
        from ludus.analyses.matches import match_units
        from ludus.analyses.subject import as_typed, searched
        from ludus.evaluation.play import UNIFORM
        from ludus.games.names import typed_player

        if len(set(self.against)) < len(self.against):
            raise UserError("--against: a player twice")
        run, kept, folder = self.kept(self.run_, LossesAnalysis.name)
        others = {player: as_typed(typed_player(player)) for player in self.against}
        game = self.game_of([*(version.reference for version in kept), *others.values()])
        versions, notes = with_initial(run, kept, folder) if others else (kept, ())
        players = {version.name: searched(version.reference, self.visits) for version in versions}
        if clash := next((name for name in others if name in players), ""):
            raise UserError(f"--against {clash}: the name of a version of the run")
        players |= {UNIFORM: UNIFORM, **others} if others else {}
        pairings = loss_pairings(versions, self.against, UNIFORM)
        prepared = PreparedAnalysis(
            LossesAnalysis,
            str(run.path),
            game.spec,
            game.params,
            self.seed,
            {**self.common_settings(), "against": " ".join(self.against)},
            players,
            [loss_unit(run), *match_units(pairings, players, self.terms(game))],
            self.visits if others else 0,
            tuple(name for name in ("v0", UNIFORM) if name in players),
            notes,
        )
        return self.carry_out(prepared, folder)
