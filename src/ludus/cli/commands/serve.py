"""``ludus serve | play | watch``."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal
from urllib.parse import urlencode

import msgspec

from ludus.cli import console
from ludus.cli.arguments import option, positional
from ludus.cli.errors import INTERRUPTED, UserError
from ludus.cli.match_options import DeviceOption
from ludus.cli.params import game_spec, read_game
from ludus.cli.words import said
from ludus.flow.inputs.shown import shell
from ludus.presets.config import ParamValue

if TYPE_CHECKING:
    from ludus.web.serve.server import PageServer

Port = Annotated[int, msgspec.Meta(ge=0, le=65535)]
Natural = Annotated[int, msgspec.Meta(ge=0)]
Rate = Annotated[float, msgspec.Meta(ge=0.05, le=20)]
Start = Literal["order", "now"]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=86_400)]

DEFAULT_FOLDER = "runs"
LOADING = "loading the network"  # which takes seconds, while torch is imported


class ServeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Base of the commands that serve pages: where, and whether a browser opens."""

    port: Annotated[
        Port, option("port of this machine; 0 = the first free one from 8642 (default: 0)", "N")
    ] = 0
    no_browser: Annotated[bool, option("open no browser; the address is on stdout")] = False
    device: DeviceOption = "auto"
    json: Annotated[bool, option("print the address as one JSON document")] = False

    def _server(self, folder: Path) -> PageServer:
        from ludus.evaluation.players import check_device
        from ludus.web.serve.library import Library
        from ludus.web.serve.server import PageServer

        if not folder.is_dir():
            raise UserError(f"{folder}: no such folder; expected one with runs or replays")
        check_device(self.device)
        return PageServer(Library(folder), self.port, self.device)

    def _serve(self, server: PageServer, page: str, text: str) -> int:
        """Print the address of ``page``, open it, and serve until Ctrl-C."""
        url = server.url(page)
        if self.json:
            console.document({"url": url, "port": server.port, "dir": str(server.library.root)})
        else:
            console.result(url)
        console.note(f"{text}; Ctrl-C ends the server")
        if not self.no_browser:
            threading.Thread(target=_open, args=(server, url), daemon=True).start()
        server.run()
        console.note("the server has stopped")
        return INTERRUPTED


def _has_network(player: str) -> bool:
    """Return whether a player's name denotes weights, with or without a search."""
    from ludus.mcts.text import SUFFIX
    from ludus.storage import is_reference

    weights = player.rpartition(SUFFIX)[0] if SUFFIX in player else player
    return bool(weights) and not weights.partition(":")[0].endswith(".py") and is_reference(weights)


def _open(server: PageServer, url: str) -> None:
    import webbrowser

    if server.wait_until_ready() and not webbrowser.open(url):
        console.note("no browser was found: open the address above")


class Serve(ServeOptions, frozen=True, kw_only=True):
    """Serve the pages of a folder on this machine: its runs with their curves, replays, matches to play.

    DIR is a folder of runs, a sweep's folder or one run. Nothing in it changes, except that matches which are
    played on a page are written to RUN/played or DIR/plays. Only this machine can connect (127.0.0.1), and
    only with the token in the printed address.
    """

    EXAMPLES: ClassVar = ("ludus serve", "ludus serve runs --port 8000 --no-browser")

    directory: Annotated[str, positional("the folder (default: runs, or the present one)", "DIR")] = ""

    def run(self) -> int:
        """Serve until Ctrl-C; return the exit code."""
        folder = _folder(self.directory)
        server = self._server(folder)
        return self._serve(server, "/", f"serving {folder}")


class Play(ServeOptions, frozen=True, kw_only=True):
    """Play a match against PLAYER on a page that opens in the browser.

    PLAYER is a bot (ludus games show GAME), RUN@best, RUN@last, RUN@VERSION, RUN@PLAYER of a league, any of
    these with +search:VISITS behind it, mcts:VISITS, plan:TREESxROLLOUTS or a bot in Python (my_bot.py).
    Weights are played at their own game and parameters. The match is saved as a replay when it ends. Without
    PLAYER, or with a game in its place, the page opens on which the players are chosen.
    """

    EXAMPLES: ClassVar = (
        "ludus play RUN@best",
        "ludus play minirts",
        "ludus play mcts:400 --game go --param size=9 --seat 1",
        "ludus play simple --game pommerman --against RUN@best --against simple",
    )

    player: Annotated[str, positional("the player at the other seats; without one the set-up page opens")] = (
        ""
    )
    game: Annotated[str, option("the game (default: the one that the weights were trained on)", "GAME")] = ""
    param: Annotated[tuple[str, ...], option("set a parameter of the game; repeatable", "NAME=VALUE")] = ()
    seat: Annotated[Natural, option("your seat, from 0", "N")] = 0
    against: Annotated[
        tuple[str, ...], option("player of the next other seat, after PLAYER's; repeatable", "PLAYER")
    ] = ()
    rate: Annotated[Rate, option("speed, in times of the game's own; real-time games", "X")] = 1.0
    clock: Annotated[
        Seconds, option("seconds a move, in games that wait; 0 = any time (default: 0)", "S")
    ] = 0.0
    seed: Annotated[Natural, option("seed of the match; 0 = a random one (default: 0)", "N")] = 0
    start: Annotated[
        Start, option("when a game in real time starts: with your first order, or now (default: order)")
    ] = "order"
    dir: Annotated[str, option("served folder (default: the run's, else runs)", "DIR")] = ""

    def run(self) -> int:
        """Serve the match until Ctrl-C; return the exit code."""
        from ludus.games.names import typed_player
        from ludus.web.serve.matches import NewMatch
        from ludus.web.serve.players import PERSON
        from ludus.web.serve.server import STOP_S

        if not self.player or (not self.game and _is_playable(self.player)):
            return self._set_up(self.player or self.game)
        players = [typed_player(name) for name in (self.player, *self.against)]
        game, params = _game(self.player, self.game, self.param)
        if not any(map(_has_network, players)):
            params = {**_persons(game), **params}
        seats = game_spec(game, params).seats
        if self.seat >= seats:
            raise UserError(f"--seat {self.seat}: {game} has {seats} seats, expected 0 to {seats - 1}")
        if len(players) > max(1, seats - 1):
            raise UserError(f"{len(players)} players against you, {game} has {seats - 1} other seats")
        others = iter([*players, *[self.player] * seats])
        named = tuple(PERSON if seat == self.seat else next(others) for seat in range(seats))
        if any(map(_has_network, players)):
            console.note(LOADING)
        server = self._server(_folder(self.dir, self.player))
        asked = NewMatch(game, named, dict(params), self.rate, self.clock, self.seed, start=self.start)
        match = server.matches.create(asked, typed=True)
        if why := self._wrong_time(game, waits=not match.table.real_time):
            server.close()
            server.matches.stop(STOP_S)
            raise UserError(why)
        names = ", ".join(seat.name for seat in match.table.seats)
        return self._serve(server, f"/play/{match.match}?key={match.key}", f"{game}: {names}")

    def _set_up(self, game: str) -> int:
        """Serve the page on which a match is set up; with a game, it is chosen there."""
        named, params = read_game(game, self.param)
        if named:
            game_spec(named, params)  # refuses what there is not
        if named and not _is_playable(named):
            raise UserError(f"{named}: pages set up compiled games that are installed; name a player first")
        asked = {"game": named, **({"params": json.dumps(dict(params))} if params else {})} if named else {}
        server = self._server(_folder(self.dir))
        return self._serve(server, "/play" + (f"?{urlencode(asked)}" if asked else ""), "choose the players")

    def _wrong_time(self, game: str, *, waits: bool) -> str:
        """Return why clock or rate have no meaning where ``game`` waits for decisions, or does not."""
        if self.clock and not waits:
            return f"--clock {self.clock:g}: {game} does not wait for decisions, expected 0"
        if self.rate != 1 and waits:
            return f"--rate {self.rate:g}: {game} waits for decisions, expected 1"
        return ""


class Watch(ServeOptions, frozen=True, kw_only=True):
    """Watch a run's matches, or a replay, on a page that opens in the browser.

    RUN: its newest weights play match after match, each with the weights that are newest then, against the
    bot that evaluates the run; the page shows what they think. The newest of these matches stay as replays in
    RUN/played. FILE: the page of a replay (.ludus).
    """

    EXAMPLES: ClassVar = ("ludus watch RUN", "ludus watch RUN/replays/FILE.ludus")

    source: Annotated[str, positional("a run, or a replay", "RUN|FILE")]
    against: Annotated[
        str, option("the opponent (default: the bot of the evaluations, else the same weights)", "PLAYER")
    ] = ""
    rate: Annotated[Rate, option("speed, in times of the game's own", "X")] = 1.0
    game: Annotated[str, option("code of a game that is not installed (./my_game.py)", "GAME")] = ""
    keep: Annotated[Natural, option("watched matches that stay in RUN/played; 0 = all", "N")] = 100

    def run(self) -> int:
        """Serve the page until Ctrl-C; return the exit code."""
        source = Path(self.source)
        if source.suffix == ".ludus" or source.is_file():
            return self._replay(source)
        from ludus.storage import RunDirectory
        from ludus.web.serve.watching import watch_run

        run = RunDirectory.open(source)
        server = self._server(run.path.resolve().parent)
        if page := self._film(server, run.path):
            return self._serve(server, page, f"matches of {run.path.name}, one after another")
        session = watch_run(
            server.matches,
            run.path,
            self.against,
            self.rate,
            self.keep,
            loading=lambda: console.note(LOADING),
        )
        names = " against ".join(dict.fromkeys(seat.name for seat in session.table.seats))
        return self._serve(server, f"/watch/{session.match}", names)

    def _film(self, server: PageServer, path: Path) -> str:
        """Return the page of a run at a game written in Python; empty at others."""
        from ludus.cli.params import typed
        from ludus.evaluation.evaluate import decide_game
        from ludus.games.names import typed_player
        from ludus.games.registry import is_python
        from ludus.storage.errors import StorageError
        from ludus.web.frames.shows import NEWEST, ShowOptions

        try:
            game, _ = decide_game([f"{path}@{NEWEST}"], typed(self.game))
        except (StorageError, ImportError):
            return ""  # a run without weights, or no torch: the matches report it
        if not is_python(game):
            return ""
        run = server.library.run_at(path)
        against = typed_player(self.against)
        server.shows.set_options(run.id, ShowOptions(self.game, against, self.rate, self.keep))
        console.note(LOADING)
        server.shows.show(run.id)
        return f"/film/{run.id}"

    def _replay(self, file: Path) -> int:
        from ludus.cli.commands.replay import read_replay
        from ludus.cli.params import typed
        from ludus.games import replays

        data = read_replay(str(file))
        try:
            about = replays.info(data)
            if self.game:  # its code is loaded, so that the server knows it by its name
                found = game_spec(typed(self.game), about.params).name
                if found != about.game:
                    raise UserError(f"--game {self.game}: the replay is of {about.game}")
        except ValueError as error:
            raise UserError(f"{file}: {said(error)}") from None
        server = self._server(file.resolve().parent)
        replay = server.library.add_file(file)
        return self._serve(server, f"/replay/{replay.id}", f"the replay {file}")


def _folder(given: str, player: str = "") -> Path:
    """Return the folder to serve: the first of ``given``, the player's run, ``runs`` and ``.``."""
    if given:
        return Path(given)
    if (run := _run_of(player)) is not None:
        return run.parent
    default = Path(DEFAULT_FOLDER)
    return default if default.is_dir() else Path()


def _run_of(player: str) -> Path | None:
    """Return the folder of the run whose weights the player has, or None."""
    from ludus.mcts.text import SUFFIX
    from ludus.storage import StorageError, is_reference, resolve_weights, run_of

    weights = player.rpartition(SUFFIX)[0] if SUFFIX in player else player
    if not weights or weights.partition(":")[0].endswith(".py") or not is_reference(weights):
        return None
    try:
        run = run_of(resolve_weights(weights))
    except StorageError:
        return None  # the player's own error reports it
    return None if run is None else run.path


def _game(player: str, game: str, given: tuple[str, ...]) -> tuple[str, dict[str, ParamValue]]:
    """Return game and parameters: as given, or from the weights.

    Raises:
        UserError: None is given, and the player has none.
    """
    from ludus.evaluation.evaluate import decide_game
    from ludus.evaluation.players import game_of_player
    from ludus.games import spec

    named, params = read_game(game, given)
    trained = game_of_player(player)
    if trained is None:
        if not named:
            raise UserError(f"{player}: no weights, so the game must be named: --game GAME{_meant(player)}")
        return named, params
    if not named:
        named = decide_game([player])[0]  # refuses a game that only the user may name
    elif spec(named, {**trained[1], **params}).name != trained[0]:
        raise UserError(f"--game {named}: {player} was trained on {trained[0]}")
    return named, {**trained[1], **params}


def _persons(game: str) -> dict[str, ParamValue]:
    """Return the parameters by which a person plays a game where nothing asks for others."""
    from ludus.games.views import view_of

    view = view_of(game)
    return {} if view is None else dict(view.persons)


def _meant(player: str) -> str:
    """Return the command for a game named in the player's place; "" if ``player`` is none."""
    from ludus.games import list_games, spec
    from ludus.games.hosted import is_hosted

    if player not in list_games() and not is_hosted(player):
        return ""
    bots = [bot.name for bot in spec(player).bots] if player in list_games() else []
    bots = [name for name in bots if name not in ("noop", "random")]
    name = "mcts:400" if _searchable(player) else bots[0] if bots else "random"
    return f" (did you mean: ludus play {shell(name)} --game {shell(player)}?)"


def _is_playable(game: str) -> bool:
    """Return whether pages set up matches of what a person has typed."""
    from ludus.games import list_games
    from ludus.web.serve.games import is_playable

    return game in list_games() and is_playable(game)


def _searchable(game: str) -> bool:
    from ludus.mcts.trees import Trees

    try:
        Trees(game)
    except ValueError:
        return False
    return True
