"""``ludus search`` and ``ludus search bench``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec

from ludus.cli import console
from ludus.cli.arguments import QUIET, option, positional
from ludus.cli.commands.analyze import read_source
from ludus.cli.commands.replay import write_whole
from ludus.cli.errors import DONE, UserError
from ludus.cli.match_options import DeviceOption
from ludus.cli.params import game_spec, read_game, typed
from ludus.cli.words import said
from ludus.flow.inputs.shown import shown
from ludus.presets.config import ParamValue

if TYPE_CHECKING:
    from ludus.web.position.answer import PositionAnswer
    from ludus.web.position.source import SearchPosition

Count = Annotated[int, msgspec.Meta(ge=1, le=1 << 16)]
Natural = Annotated[int, msgspec.Meta(ge=0, le=1 << 16)]
Top = Annotated[int, msgspec.Meta(ge=1, le=24)]
Seed = Annotated[int, msgspec.Meta(ge=0, le=1 << 62)]
Seconds = Annotated[float, msgspec.Meta(gt=0, le=3600)]

DEFAULT = "mcts:400"
START = "start"
MOST_PLAYERS = 4


class Search(msgspec.Struct, frozen=True):
    """Search a position: candidate moves with visits, values and expected lines.

    POSITION is a replay (.ludus), a game of Go (.sgf), or the moves of a game ("D4 Q16 C3"; start: none).
    A player is a search with random matches (mcts:400), or weights with a search (RUN@best+search:400,
    zoo:go9+search:200). Values are for the side to move: +1 is won, -1 is lost. For Go the answer has the
    expected score and owners of the points. The page is one file that works offline.
    """

    EXAMPLES: ClassVar = (
        'ludus search "3 3 2" --game connect_four',
        "ludus search game.sgf --move 40 --by zoo:go9+search:200 -o page.html",
    )

    position: Annotated[
        str, positional("a replay (.ludus), a game of Go (.sgf) or moves", "POSITION", blank=True)
    ]
    by: Annotated[tuple[str, ...], option(f"the player; repeatable (default: {DEFAULT})", "PLAYER")] = ()
    move: Annotated[Natural, option("the position before move N (default: after the last)", "N")] = 0
    game: Annotated[
        str, option("game of the moves (default: the one that the weights were trained on)", "GAME")
    ] = ""
    param: Annotated[tuple[str, ...], option("set a parameter of the game; repeatable", "NAME=VALUE")] = ()
    top: Annotated[Top, option("candidates of each player, at most", "N")] = 8
    seed: Annotated[Seed, option("seed of the search", "N")] = 1
    out: Annotated[str, option("page to write", "FILE")] = ""
    device: DeviceOption = "auto"
    quiet: Annotated[bool, QUIET] = False
    json: Annotated[bool, option("print one JSON document")] = False

    def run(self) -> int:
        """Search, print the candidates and return the exit code."""
        players = self.by or (DEFAULT,)
        if len(players) > MOST_PLAYERS:
            raise UserError(f"--by: {len(players)} players, expected at most {MOST_PLAYERS}")
        if self.out and Path(self.out).resolve() == Path(self.position).resolve():
            raise UserError(f"{self.out}: would overwrite the record; choose another name with --out")
        from ludus.cli.progress import Display
        from ludus.games.match import GameError
        from ludus.web.position.answer import PositionSearch, answer_of

        try:
            position = self._position(players)
            if not position.seats:
                moves = len(position.moves)
                raise UserError(f"the match is over after move {moves}: nothing to search")
            found = []
            with Display("", quiet=self.quiet) as display:
                for number, player in enumerate(players, 1):
                    display.say(f"player {number} of {len(players)} searches: {player}")
                    search = PositionSearch(player, position, seed=self.seed, device=self.device)
                    found.append(search.search(self.top))
            answer = answer_of(position, self._asked(), [one.opinion for one in found])
            if self.out:
                from ludus.web.position.page import page_of

                write_whole(Path(self.out), page_of(position, answer, found).encode())
                answer = msgspec.structs.replace(answer, page=self.out)
        except (ValueError, GameError) as error:
            where = f"{self.position}: " if self._is_file() else ""  # a wrong move is named by its number
            raise UserError(f"{where}{said(error)}") from None
        if self.json:
            console.document(answer)
        else:
            console.result(_text(position, answer))
        return DONE

    def _is_file(self) -> bool:
        # Moves may be longer than a path can be: os.path asks for such a name without an error.
        named = Path(self.position).suffix.lower() in (".sgf", ".ludus")
        return named or os.path.isfile(self.position)

    def _asked(self) -> str:
        return self.position.strip() or START

    def _position(self, players: Sequence[str]) -> SearchPosition:
        """Return the position to search."""
        from ludus.evaluation.players import game_of_player
        from ludus.web.position.source import of_moves, of_replay

        if self._is_file():
            if self.param:
                raise UserError(f"--param: {self.position} has the parameters of its game")
            source = read_source(self.position, players)
            for note in source.notes:
                console.note(f"{self.position}: {note}")
            return of_replay(source.replay, self.move or None, typed(self.game))
        if self.move:
            raise UserError("--move: expected a file; of moves, leave the last ones out")
        game, changed = read_game(self.game, self.param)
        trained = next(filter(None, map(game_of_player, players)), None)
        if not game and trained is None:
            what = f"{shown(self._asked())}: no such file, and moves need their game"
            raise UserError(f"{what}: --game NAME; see: ludus games list")
        params: dict[str, ParamValue] = {}
        if trained is not None and game in ("", trained[0]):
            game, params = game or trained[0], dict(trained[1])
        game_spec(game, {**params, **changed})
        from ludus.games import text_params

        return of_moves(self.position, game, text_params({**params, **changed}))


def _text(position: SearchPosition, answer: PositionAnswer) -> str:
    from ludus.web.position.board_text import STONES, board_text, owners_text
    from ludus.web.position.page import HEAD, cells_of, head_line

    moves = len(answer.moves)
    last = f", last {answer.moves[-1]}" if moves else ""
    document = position.document()
    stone = f" ({STONES[answer.seat]})" if board_text(position.view, document, ()) else ""
    count = f"{answer.legal} legal moves"
    parts = [f"{answer.game}: move {moves + 1}{last}, {answer.side}{stone} to move, {count}"]
    for number, opinion in enumerate(answer.opinions):
        board = board_text(position.view, document, opinion.candidates)
        if not board and number == 0:
            board = position.picture().strip("\n")
        rows = [cells_of(candidate) for candidate in opinion.candidates]
        parts += [head_line(answer, opinion), board, console.filled(rows, HEAD)]
        if opinion.score is not None:
            parts.append(owners_text(position.view, document, opinion.score))
    return "\n\n".join(filter(None, parts))


class Bench(msgspec.Struct, frozen=True):
    """Measure search speed: simulations without a network, and self-play with one.

    Simulations use a free evaluator on one thread and include rules and observations. With --blocks, a
    residual network of that size is timed alone and in self-play, alternately.
    """

    EXAMPLES: ClassVar = (
        "ludus search bench connect_four",
        "ludus search bench connect_four --blocks 6 --filters 64",
    )

    game: Annotated[str, positional("a game's name")]
    slots: Annotated[Count, option("simultaneous matches per thread", "N")] = 64
    visits: Annotated[Count, option("visits per move", "N")] = 400
    blocks: Annotated[Natural, option("residual blocks of the network; 0 = no network (default: 0)", "N")] = 0
    filters: Annotated[Count, option("filters per convolution", "N")] = 64
    threads: Annotated[Natural, option("self-play threads; 0 = all processors (default: 0)", "N")] = 0
    seconds: Annotated[Seconds, option("measuring time in seconds, approximately", "S")] = 6.0
    param: Annotated[tuple[str, ...], option("set a parameter of the game; repeatable", "NAME=VALUE")] = ()
    device: DeviceOption = "auto"
    json: Annotated[bool, option("print one JSON document")] = False

    def run(self) -> int:
        """Measure, print the rates and return the exit code."""
        game, params = read_game(self.game, self.param)
        game_spec(game, params)
        from ludus.bench.search import bench_search
        from ludus.games import text_params
        from ludus.presets.config import RunConfig

        bench = bench_search(
            game,
            text_params(params),
            slots=self.slots,
            visits=self.visits,
            blocks=self.blocks,
            filters=self.filters,
            run=RunConfig(threads=self.threads, device=self.device),
            seconds=self.seconds,
        )
        if self.json:
            console.document(bench)
            return DONE
        si = console.si
        rows = [
            ("simulations", f"{si(bench.simulations_per_s)}/s on one thread, evaluator null"),
            ("moves", f"{si(bench.moves_per_s)}/s of {bench.visits} visits, {bench.slots} matches at once"),
            ("random matches", f"{si(bench.rollouts_per_s)}/s on one thread, from the leaves of a search"),
        ]
        if bench.network:
            rows += [
                (
                    "network",
                    f"{bench.network}, {bench.parameters:,} numbers, {bench.precision}, "
                    f"{bench.threads} threads on {bench.device}",
                ),
                ("alone", f"{si(bench.raw_per_s)} evaluations/s in batches of {bench.raw_batch}"),
                (
                    "self-play",
                    f"{si(bench.self_play_per_s)} evaluations/s: {console.percent(bench.share)} of it, "
                    f"batches filled to {console.percent(bench.batch_fill)}",
                ),
            ]
        console.result(console.table(rows))
        return DONE
