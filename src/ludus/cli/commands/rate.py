"""``ludus rate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec

from ludus.cli import console
from ludus.cli.arguments import option, positional
from ludus.cli.errors import DONE, INTERRUPTED
from ludus.cli.params import game_spec, read_game

if TYPE_CHECKING:
    from ludus.evaluation.results import EvalResult
    from ludus.evaluation.tournament import Tournament

Count = Annotated[int, msgspec.Meta(ge=1)]
Natural = Annotated[int, msgspec.Meta(ge=0)]


class Rate(msgspec.Struct, frozen=True):
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
    game: Annotated[str, option("the game (default: the one that the weights were trained on)", "GAME")] = ""
    matches: Annotated[Count, option("matches of each pair", "N")] = 40
    versions: Annotated[
        Count, option("number of versions of a run or a member that RUN@all stands for, at most", "N")
    ] = 12
    neighbours: Annotated[
        Natural, option("let a player meet only the next N of the list; 0 = everyone (default: 0)", "N")
    ] = 0
    frame_skip: Annotated[Natural, option("ticks between decisions (default: each player's own)", "N")] = 0
    param: Annotated[tuple[str, ...], option("set a parameter of the game; repeatable", "NAME=VALUE")] = ()
    seed: Annotated[Natural, option("seed of the matches", "N")] = 1
    greedy: Annotated[bool, option("play the most probable action instead of sampling")] = False
    threads: Annotated[
        Natural,
        option("simulation threads; 0 = the main thread, or one process (default: 0)", "N"),
    ] = 0
    random_start: Annotated[
        Natural, option("start each match with random play for up to N ticks, drawn per seat and match", "N")
    ] = 0
    max_ticks: Annotated[
        Natural, option("tick limit of a match (default: the game's own limit, else 20,000)", "N")
    ] = 0
    json: Annotated[bool, option("print one JSON document")] = False

    def run(self) -> int:
        """Play the matches, print and record the table, and return the exit code."""
        game, params = read_game(self.game, self.param)
        if game:
            game_spec(game, params)
        from ludus.cli import results
        from ludus.cli.progress import Progress
        from ludus.evaluation.tournament import pairings, tournament
        from ludus.games.names import typed_player
        from ludus.storage.references import labelled

        for player in self.players:
            typed_player(player)

        def on_result(result: EvalResult) -> None:
            progress.clear()
            console.note(
                f"{labelled(result.player)} against {labelled(result.against)}: "
                f"{result.wins} won, {result.draws} drawn, {result.losses} lost"
            )

        total = self.matches * pairings(self.players, self.versions, self.neighbours)
        with Progress(total) as progress:
            table = tournament(
                self.players,
                game=game,
                params=params or None,
                matches=self.matches,
                versions=self.versions,
                neighbours=self.neighbours,
                seed=self.seed,
                frame_skip=self.frame_skip,
                greedy=self.greedy,
                threads=self.threads,
                random_start=self.random_start,
                max_ticks=self.max_ticks,
                should_stop=progress.should_stop,
                finished=progress.add,
                on_result=on_result,
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
