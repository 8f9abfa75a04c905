"""``ludus eval``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec

from ludus.cli import console
from ludus.cli.arguments import option, positional
from ludus.cli.errors import DONE, INTERRUPTED, CommandError, UserError
from ludus.cli.match_options import Count, MatchOptions, Natural, hooks_of
from ludus.flow.names import did_you_mean

if TYPE_CHECKING:
    from ludus.evaluation.evaluate import ParamChanges
    from ludus.evaluation.results import EvalResult
    from ludus.evaluation.scores import ScoreTable
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

    Games of several seats: the opponent has all seats but one; with --player-seats 2 all but two. The result
    has the mean of each score that the game names (frags, place: ludus games show GAME). --table shows one
    score of each match, for each player its best seat's.

    Ctrl-C stops after the finished matches (exit code 130). The result is also appended to
    RUN/results.jsonl of the weights that played.
    """

    EXAMPLES: ClassVar = (
        "ludus eval RUN@best --against simple --matches 1000",
        "ludus eval mcts:50 --against random --game tic_tac_toe --json",
        "ludus eval uniform --against simple --game minirts",
        "ludus eval RUN@best --against RUN@120 --record replays --record-matches 20",
        "ludus eval RUN@best --param players=1 --param bots=7 --matches 5 --table",
    )

    player: Annotated[str, positional("the player to evaluate")]
    against: Annotated[
        str, option("the opponent at the other seats (none in a game of one seat)", "PLAYER")
    ] = ""
    matches: Annotated[Count, option("number of matches", "N")] = 400
    against_frame_skip: Annotated[
        Natural, option("ticks between decisions of the opponent (default: as --frame-skip)", "N")
    ] = 0
    player_seats: Annotated[
        Natural, option("seats of a match that PLAYER has (default: one, or all of its team)", "N")
    ] = 0
    table: Annotated[bool, option("show the score of each match as a table, a row for each player")] = False
    score: Annotated[str, option("the score of --table (default: the game's first)", "NAME")] = ""
    record: Annotated[str, option("write replays of the first matches into this folder", "DIR")] = ""
    record_matches: Annotated[Count, option("number of replays that --record writes", "N")] = 10

    def run(self) -> int:
        """Play the matches, print and record the result, and return the exit code."""
        game, params = self.game_and_params()
        from ludus.cli import results
        from ludus.cli.changed_code import note_changed_game
        from ludus.cli.progress import Progress
        from ludus.evaluation.evaluate import evaluate
        from ludus.evaluation.scores import score_table
        from ludus.flow.inputs.shown import shell
        from ludus.games.names import is_installed_name, typed_player
        from ludus.games.replays import info
        from ludus.storage.files import write_atomic
        from ludus.storage.replay_files import replay_name

        player, against = typed_player(self.player), typed_player(self.against)
        note_changed_game((player, against), game, params)
        named, score = self._scores(player, against, game, params)
        played: list[MatchResult] = []
        replays: list[str] = []
        unlike: list[int] = []  # matches whose re-simulation differed

        def keep(result: MatchResult) -> None:
            played.append(msgspec.structs.replace(result, replay=b""))
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
                player_seats=self.player_seats,
                record=self.record_matches if self.record else 0,
            )
            result = evaluate(
                player, against, settings, game=game, params=params, keep=keep, hooks=hooks_of(progress)
            )
        if result.interrupted and not result.matches:
            console.note("interrupted before a match was over")
            return INTERRUPTED
        table = score_table(played, named, score, sides(result)) if score and result.matches else None
        if self.json:
            tables = {} if table is None else {"table": table}
            console.document({**document(result), **tables, "replays": replays})
        elif not result.nothing_played:
            rows = [("replays", f"{len(replays)} in {self.record}")] if replays else []
            if unlike:
                rows += [("not reproduced", f"{len(unlike)} of them: the game depends on more than its seed")]
            show(result, rows)
            if table is not None:
                console.result(f"\n{table_text(table)}")
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

    def _scores(
        self, player: str, against: str, game: str, params: ParamChanges | None
    ) -> tuple[tuple[str, ...], str]:
        """Return the names of the game's scores and the one of the table; ``((), "")`` without a table."""
        if not (self.table or self.score):
            return (), ""
        from ludus.evaluation.evaluate import decide_game
        from ludus.games import spec

        found = spec(*decide_game([p for p in (player, against) if p], game, params))
        return found.scores, chosen_score(self.score, found.scores, found.name)


def sides(result: EvalResult) -> list[tuple[str, tuple[int, ...]]]:
    """Return the name and the plans of each player of an evaluation."""
    own = result.own_plans
    others = tuple(plan for plan in range(result.seats) if plan not in own)
    against = result.against + (" (opponent)" if result.against == result.player else "")
    return [(result.player, own), *([(against, others)] if others else [])]


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
        out["named_scores"] = [
            {"name": s.name, "mean": s.mean, "low": None, "high": None, "deviation": None}
            for s in result.named_scores
        ]
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
            *mean_rows(result),
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
            ("matches", f"{result.wins} won, {result.losses} lost, {result.draws} drawn"),
            *([("won by seat", seats)] if seats else []),
            *([("score", f"{score}, a draw is half a win")] if result.draws else []),
            *_returns(result),
            *mean_rows(result),
            ("mean length", f"{result.mean_ticks:.0f} ticks"),
            *kept,
        ]
        console.result(console.table(rows, indent="  "))


# ---- named scores --------------------------------------------------------------------------------

MOST_COLUMNS = 20  # matches of a table; of more, only the averages are shown


def chosen_score(score: str, names: Sequence[str], game: str) -> str:
    """Return the score that a table shows: the named one, or the game's first.

    Raises:
        UserError: A game without scores, or no such score.
    """
    if not names:
        raise UserError(f"--table: {game} names no scores of a match; ludus games show lists a game's scores")
    if score and score not in names:
        raise UserError(f"--score {score}: {game} has no such score{did_you_mean(score, names, 'scores')}")
    return score or names[0]


def mean_rows(result: EvalResult) -> list[tuple[str, str]]:
    """Return a row for each named score: its mean, and its interval if there are several matches."""
    level = f"{100 * result.confidence:.0f}% interval"
    rows = []
    for s in result.named_scores:
        bounds = f" ({level} {_mean(s.low)} to {_mean(s.high)})" if result.matches > 1 else ""
        rows.append((s.name.replace("_", " "), f"{_mean(s.mean)}{bounds}"))
    return rows


def table_text(table: ScoreTable) -> str:
    """Return a row for each player and a column for each match, then how often each has the first place."""
    from ludus.storage.references import labelled

    matches = len(table.matches)
    wide = matches <= MOST_COLUMNS
    head = [table.score.replace("_", " "), *(str(m + 1) for m in table.matches if wide), "average"]
    rows = [[labelled(r.player), *(f"{v:g}" for v in r.values if wide), _mean(r.mean)] for r in table.rows]
    if matches > 1:
        head.append("95% interval")
        for cells, r in zip(rows, table.rows, strict=True):
            cells.append(f"{_mean(r.low)} to {_mean(r.high)}")
    widths = [0, *(max(len(row[k]) for row in (head, *rows)) for k in range(1, len(head)))]
    right = [[cell.rjust(width) for cell, width in zip(row, widths, strict=True)] for row in (head, *rows)]
    places = [
        f"{labelled(r.player)} ranks 1 in {r.first} of {matches} matches"
        for r in table.rows
        if r.first is not None
    ]
    hidden = [] if wide else [f"{matches} matches are more than {MOST_COLUMNS}: --json has each of them"]
    return "\n".join([console.table(right[1:], right[0]), *places, *hidden])


def _mean(value: float) -> str:
    """Return two digits behind the point, of larger numbers one."""
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
