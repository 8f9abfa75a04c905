"""``ludus rate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from ludus.cli import console
from ludus.cli.arguments import option, positional
from ludus.cli.errors import DONE, INTERRUPTED
from ludus.cli.match_options import Count, MatchOptions, Natural, hooks_of

if TYPE_CHECKING:
    from ludus.evaluation.results import EvalResult
    from ludus.evaluation.tournament import Tournament


class Rate(MatchOptions, frozen=True, kw_only=True):
    """Rate players in a round robin: Elo with its error, and Nash averaging.

    Nash averaging stays fair when players are copies of each other or beat each other in a cycle.

    PLAYER is as for ludus eval. RUN@all (or RUN@all+search:100) stands for versions that a run kept
    (run.keep_checkpoints), evenly spread; of a league for the frozen players of each member. With
    --neighbours 1 only consecutive versions meet: self-play Elo, which is cheap and overestimates progress.

    Ctrl-C stops after the finished matches (exit code 130). The table is also appended to
    RUN/results.jsonl of the weights that played.
    """

    EXAMPLES: ClassVar = (
        "ludus rate simple hit_and_run random --game minirts",
        "ludus rate RUN@all mcts:400 --versions 8 --matches 40 --json",
    )

    players: Annotated[tuple[str, ...], positional("the players to rate", "PLAYER")]
    matches: Annotated[Count, option("matches of each pair", "N")] = 40
    versions: Annotated[
        Count, option("number of versions of a run or a member that RUN@all stands for, at most", "N")
    ] = 12
    neighbours: Annotated[
        Natural, option("let a player meet only the next N of the list; 0 = everyone (default: 0)", "N")
    ] = 0

    def run(self) -> int:
        """Play the matches, print and record the table, and return the exit code."""
        game, params = self.game_and_params()
        from ludus.cli import results
        from ludus.cli.changed_code import note_changed_game
        from ludus.cli.progress import Progress
        from ludus.evaluation.tournament import pairings, tournament
        from ludus.games.names import typed_player
        from ludus.storage.references import labelled

        for player in self.players:
            typed_player(player)
        note_changed_game(self.players, game, params)

        def on_result(result: EvalResult) -> None:
            progress.clear()
            console.note(
                f"{labelled(result.player)} against {labelled(result.against)}: "
                f"{result.wins} won, {result.draws} drawn, {result.losses} lost"
            )

        total = self.matches * pairings(self.players, self.versions, self.neighbours)
        with Progress(total, quiet=self.quiet) as progress:
            table = tournament(
                self.players,
                self.match_settings(self.matches),
                game=game,
                params=params,
                versions=self.versions,
                neighbours=self.neighbours,
                on_result=on_result,
                hooks=hooks_of(progress),
            )
        if table.interrupted and not any(map(any, table.matches)):
            console.note("interrupted before a match was over")
            return INTERRUPTED
        if self.json:
            console.document(table)
        else:
            self._show(table)
        results.keep("rate", self.players, table)
        results.note_groups(table.groups)
        if table.interrupted:
            console.note(
                f"interrupted: {progress.over} of {total} matches were over; pairs that did not meet count "
                "as equal"
            )
            return INTERRUPTED
        return DONE

    @staticmethod
    def _show(table: Tournament) -> None:
        from ludus.storage.references import labelled

        ordered = sorted(table.standings, key=lambda s: -s.elo)
        rows = [
            (
                labelled(s.player),
                f"{s.elo:+.0f}",
                f"{1.96 * s.elo_error:.0f}",
                f"{s.nash_rating:+.0f}",
                console.percent(s.nash_share),
                console.percent(s.points / max(1, s.matches)),
                str(s.matches),
            )
            for s in ordered
        ]
        head = ("player", "Elo", "95% +-", "against Nash", "share of it", "score", "matches")
        console.result(console.table(rows, head))
