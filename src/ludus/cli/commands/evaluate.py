"""``ludus eval``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec

from ludus.cli import console
from ludus.cli.arguments import option, positional
from ludus.cli.errors import DONE, INTERRUPTED, CommandError
from ludus.cli.match_options import Count, MatchOptions, Natural, hooks_of

if TYPE_CHECKING:
    from ludus.evaluation.results import EvalResult
    from ludus.flow.match import MatchResult


class Eval(MatchOptions, frozen=True, kw_only=True):
    """Play matches between two players and report the win rate with its 95% Wilson interval.

    Players take the seats in turn. In a game of one seat, the result is the mean return. A win rate
    counts a draw as not won, a score as half a win; rates are in 0..1.

    PLAYER is one of:

      simple, random         a bot of the game (ludus games show GAME)
      uniform                uniform play over the legal choices, in every game
      RUN@best               weights of a run; also RUN@last and RUN@VERSION
      RUN@main               the newest weights of a member of a league, also while it trains
      RUN@main:1200          a frozen player of a league; RUN@main:last is the newest one of main
      FILE.safetensors       a weights file
      RUN@best+search:200    weights with tree search, 200 visits a move
      mcts:400               search with random playouts; options: mcts:400,c_puct=1.2,seconds=2
      plan:8x100             root-parallel MCTS for simultaneous moves; option: plan:8x100,opponent=BOT
      my_bot.py              a bot written in Python

    Ctrl-C stops after the finished matches (exit code 130). The result is also appended to
    RUN/results.jsonl of the weights that played.
    """

    EXAMPLES: ClassVar = (
        "ludus eval RUN@best --against simple --matches 1000",
        "ludus eval mcts:50 --against random --game tic_tac_toe --json",
        "ludus eval uniform --against simple --game minirts",
        "ludus eval RUN@best --against RUN@120 --record replays --record-matches 20",
    )

    player: Annotated[str, positional("the player to evaluate")]
    against: Annotated[
        str, option("the opponent at the other seats (none in a game of one seat)", "PLAYER")
    ] = ""
    matches: Annotated[Count, option("number of matches", "N")] = 400
    against_frame_skip: Annotated[
        Natural, option("ticks between decisions of the opponent (default: as --frame-skip)", "N")
    ] = 0
    record: Annotated[str, option("write replays of the first matches into this folder", "DIR")] = ""
    record_matches: Annotated[Count, option("number of replays that --record writes", "N")] = 10

    def run(self) -> int:
        """Play the matches, print and record the result, and return the exit code."""
        game, params = self.game_and_params()
        from ludus.cli import results
        from ludus.cli.changed_code import note_changed_game
        from ludus.cli.progress import Progress
        from ludus.evaluation.evaluate import evaluate
        from ludus.flow.inputs.shown import shell
        from ludus.games.names import is_installed_name, typed_player
        from ludus.games.replays import info
        from ludus.storage.files import write_atomic
        from ludus.storage.replay_files import replay_name

        player, against = typed_player(self.player), typed_player(self.against)
        note_changed_game((player, against), game, params)
        replays: list[str] = []
        unlike: list[int] = []  # matches whose re-simulation differed

        def keep(result: MatchResult) -> None:
            if result.replay:
                path = Path(self.record) / replay_name("match", f"{result.match:06d}")
                path.parent.mkdir(parents=True, exist_ok=True)
                write_atomic(path, result.replay)
                replays.append(str(path))
                unlike.extend([result.match] * (info(result.replay).reproduced == "no"))

        with Progress(self.matches, quiet=self.quiet) as progress:
            settings = msgspec.structs.replace(
                self.match_settings(self.matches),
                against_frame_skip=self.against_frame_skip,
                record=self.record_matches if self.record else 0,
            )
            result = evaluate(
                player, against, settings, game=game, params=params, keep=keep, hooks=hooks_of(progress)
            )
        if result.interrupted and not result.matches:
            console.note("interrupted before a match was over")
            return INTERRUPTED
        if self.json:
            console.document({**document(result), "replays": replays})
        elif not result.nothing_played:
            rows = [("replays", f"{len(replays)} in {self.record}")] if replays else []
            if unlike:
                rows += [("not reproduced", f"{len(unlike)} of them: the game depends on more than its seed")]
            show(result, rows)
            if replays:
                code = "" if not self.game or is_installed_name(self.game) else f" --game {shell(self.game)}"
                console.result(f"\nnext step\n  ludus replay to-html {shell(sorted(replays)[0])}{code}")
        results.keep("eval", (player, against), document(result))
        if result.interrupted:
            over = result.matches + result.errors
            console.note(f"interrupted: {over} of {self.matches} matches were over, short ones first")
            return INTERRUPTED
        if result.nothing_played:
            raise CommandError(result.nothing_played)
        if result.errors:
            raise CommandError(
                f"{result.errors} matches ended by an error of the game and are not counted; "
                f"the first: {result.first_error}"
            )
        return DONE


#: Numbers that need matches, and the subset that needs winners.
_MEASURED = ("mean_ticks", "mean_return", "return_low", "return_high", "return_deviation")
_WON = ("win_rate", "ci_low", "ci_high", "score")


def document(result: EvalResult) -> dict[str, object]:
    """Return the result as JSON, without win rates for games of one seat without winners.

    Missing numbers are null: all of them if no match was completed; the interval and the deviation if there
    was only one match.
    """
    out: dict[str, object] = msgspec.to_builtins(result)
    if result.matches < 2:
        out |= dict.fromkeys(("return_low", "return_high", "return_deviation"))
    if not result.matches:
        out |= dict.fromkeys((*_MEASURED, *_WON))
    if result.alone and not result.decided:
        for key in (*_WON, "wins", "draws", "losses", "win_rate_by_seat"):
            del out[key]
    if not result.errors:
        del out["first_error"]
    return out


def _returns(result: EvalResult) -> list[tuple[str, str]]:
    """Return a row with the mean return if it adds to the outcomes, as in poker."""
    outcome = ((result.wins or 0) - (result.losses or 0)) / max(1, result.matches)
    if abs(result.mean_return - outcome) < 1e-9:
        return []
    return [("mean return", f"{result.mean_return:.2f}{_return_interval(result)}")]


def _return_interval(result: EvalResult) -> str:
    """Return the interval of the mean return in parentheses; "" for a single match, which has none."""
    if result.matches < 2:
        return ""
    bounds = f"{result.return_low:.2f} to {result.return_high:.2f}"
    return f" ({100 * result.confidence:.0f}% interval {bounds})"


def show(result: EvalResult, kept: list[tuple[str, str]]) -> None:
    """Print the result as a table.

    Args:
        result: Result of the evaluation.
        kept: Rows about written files, for the end of the table.
    """
    from ludus.storage.references import labelled

    player, against = labelled(result.player), labelled(result.against)
    if not result.matches:
        console.result(f"{player} at {result.game}: no match was played to its end")
        return
    if result.alone:
        console.result(
            f"{player} at {result.game}: mean return {result.mean_return:.2f} over "
            f"{result.matches} matches{_return_interval(result)}"
        )
        rate, low, high = result.won
        won = f"{console.percent(rate)} (interval {100 * low:.1f} to {100 * high:.1f})"
        deviation = f"{result.return_deviation:.2f} of single matches"
        rows = [
            *([("won", won)] if result.decided else []),
            *([("deviation", deviation)] if result.matches > 1 else []),
            ("mean length", f"{result.mean_ticks:.0f} ticks"),
            *kept,
        ]
        console.result(console.table(rows, indent="  "))
    else:
        rate, low, high = result.won
        console.result(
            f"{player} against {against} at {result.game}: won "
            f"{console.percent(rate)} of {result.matches} matches "
            f"({100 * result.confidence:.0f}% interval {100 * low:.1f} to {100 * high:.1f})"
        )
        seats = ", ".join(f"seat {i} {console.percent(r)}" for i, r in enumerate(result.win_rate_by_seat))
        score = console.percent(result.score or 0.0)
        rows = [
            ("won, drawn, lost", f"{result.wins}, {result.draws}, {result.losses}"),
            ("won by seat", seats),
            *([("score", f"{score}, a draw is half a win")] if result.draws else []),
            *_returns(result),
            ("mean length", f"{result.mean_ticks:.0f} ticks"),
            *kept,
        ]
        console.result(console.table(rows, indent="  "))
