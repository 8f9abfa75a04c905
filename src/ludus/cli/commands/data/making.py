"""``ludus data import | record``."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec

from ludus.cli import console
from ludus.cli.arguments import QUIET, option, positional
from ludus.cli.commands.data.texts import described
from ludus.cli.errors import DONE, INTERRUPTED, UserError
from ludus.cli.match_options import Count, Natural
from ludus.datasets.manifest import SplitBy

if TYPE_CHECKING:
    from ludus.datasets.importer import ImportWatch
    from ludus.datasets.manifest import Manifest, SplitRule

JSON = option("print the manifest as one JSON document")
PARAM = "a parameter of the game; repeatable"
_NAMED = 20  # records that are left out, by name; the manifest names more

To = Annotated[str, option("folder of the data set", "NAME")]
Licence = Annotated[str, option("terms of the records, kept as text", "TEXT")]
HeldOut = Annotated[str, option("share of the matches to hold out (default: 5%)", "SHARE")]
Split = Annotated[
    SplitBy | None,
    option("hold out matches by the hash of their content, or the newest ones (default: match)", "HOW"),
]


class DataImport(msgspec.Struct, frozen=True, kw_only=True):
    """Make a data set of recorded matches of one game: SGF, replays, self-play of runs.

    SOURCE is a file or a folder with its subfolders: .sgf with one or many games, .ludus, and the self_play
    of a run. Links within folders are not followed. Every match is played again by the rules. A record that
    cannot be read or played, or is of another game, version or size, is named and left out; so is one with
    the final position and length of another, on a board of Go also turned or mirrored.

    A killed import is no data set: the same command continues it.
    """

    EXAMPLES: ClassVar = (
        "ludus data import games.sgf --to sets/pro --licence CC0",
        "ludus data import RUN/self_play RUN/replays --to sets/own",
        "ludus data import more.sgf --to sets/pro --append",
    )

    sources: Annotated[tuple[str, ...], positional("files and folders with records", "SOURCE")]
    to: To
    game: Annotated[str, option("the game (default: the game of the first record)", "GAME")] = ""
    size: Annotated[Natural, option("lines of the boards of Go (default: as in the first record)", "N")] = 0
    licence: Licence = ""
    held_out: HeldOut = ""
    split: Split = None
    param: Annotated[
        tuple[str, ...], option("give records of Go a parameter, such as features; repeatable", "NAME=VALUE")
    ] = ()
    allow_partial: Annotated[
        bool, option("take a record up to a move that cannot be played, and count it as shortened")
    ] = False
    append: Annotated[bool, option("add to the data set NAME")] = False
    json: Annotated[bool, JSON] = False
    quiet: Annotated[bool, QUIET] = False

    def run(self) -> int:
        """Import, print what the data set holds and return the exit code."""
        from ludus.cli.params import read_params, typed
        from ludus.datasets.from_replay import ReadingRules
        from ludus.datasets.importer import ImportOrder, import_records
        from ludus.games.registry import text_params

        if not self.sources:
            raise UserError("ludus data import: missing SOURCE; expected files and folders with records")
        rules = ReadingRules(
            typed(self.game) if self.game else "",
            text_params(read_params(self.param)),
            self.allow_partial,
        )
        order = ImportOrder(
            tuple(map(Path, self.sources)),
            Path(self.to),
            rules,
            self.size,
            split_rule(self.split, self.held_out),
            self.licence,
            self.append,
        )
        return _made(
            lambda watch: import_records(order, watch), "records read", self.to, self.json, self.quiet
        )


class DataRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Make a data set of matches between bots of a compiled game.

    Matches that end alike are kept once. A killed command is no data set: the same one continues.
    """

    EXAMPLES: ClassVar = (
        "ludus data record minirts --bots simple,simple --matches 1000 --to sets/simple --frame-skip 50",
    )

    game: Annotated[str, positional("the game", "GAME")]
    to: To
    bots: Annotated[str, option("the bot at each seat, or one for all", "BOT,BOT")] = "uniform"
    matches: Annotated[Count, option("matches to play", "N")] = 1000
    seed: Annotated[Natural, option("seed of the matches", "N")] = 1
    frame_skip: Annotated[Natural, option("ticks between decisions (default: the game's own)", "N")] = 0
    param: Annotated[tuple[str, ...], option(PARAM, "NAME=VALUE")] = ()
    licence: Licence = ""
    held_out: HeldOut = ""
    split: Split = None
    json: Annotated[bool, JSON] = False
    quiet: Annotated[bool, QUIET] = False

    def run(self) -> int:
        """Play, print what the data set holds and return the exit code."""
        from ludus.cli.params import check_bot, game_spec, read_game
        from ludus.datasets.play import BotMatches, record_matches

        game, params = read_game(self.game, self.param)
        spec = game_spec(game, params)
        bots = tuple(name.strip() for name in self.bots.split(","))
        for name in bots:
            check_bot(name, spec, game, ("uniform",))
        if len(bots) not in (1, spec.seats):
            raise UserError(f"--bots {self.bots}: {len(bots)} bots, expected 1 or {spec.seats}")
        order = BotMatches(
            game,
            Path(self.to),
            params,
            bots,
            self.matches,
            self.seed,
            (self.frame_skip,) if self.frame_skip else (),
            split_rule(self.split, self.held_out) or _default_split(),
            self.licence,
        )
        what = f"of {self.matches:,} matches"
        return _made(lambda watch: record_matches(order, watch), what, self.to, self.json, self.quiet)


def _default_split() -> SplitRule:
    from ludus.datasets.manifest import SplitRule

    return SplitRule()


def split_rule(by: SplitBy | None, held_out: str) -> SplitRule | None:
    """Return how matches are held out; None if nothing was said. Raises :class:`UserError`."""
    from ludus.datasets.manifest import SplitRule

    if by is None and not held_out:
        return None
    share = 0.05
    if held_out:
        text = held_out.strip()
        try:
            share = float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
        except ValueError:
            share = -1.0
        if not 0.0 <= share <= 0.5:
            raise UserError(f"--held-out {held_out}: expected a share from 0% to 50%, such as 5% or 0.05")
    return SplitRule(by or "match", share)


def _made(work: Callable[[ImportWatch], Manifest], what: str, to: str, json: bool, quiet: bool) -> int:
    """Run an import with its progress, print its result and return the exit code."""
    from ludus.cli.progress import Ticker
    from ludus.datasets.importer import ImportWatch, Stopped
    from ludus.flow.inputs.shown import shell
    from ludus.flow.process.interrupts import on_stop

    state = {"records": 0, "problems": 0, "stop": 0}

    def problem(text: str) -> None:
        state["problems"] += 1
        if state["problems"] <= _NAMED and not quiet:
            ticker.clear()
            console.note(text)

    def record() -> None:
        state["records"] += 1

    def stop(number: int, frame: FrameType | None) -> None:
        if state["stop"] and number == signal.SIGINT:
            raise KeyboardInterrupt
        state["stop"] = 1

    ticker = Ticker(lambda: f"{state['records']:,} {what}", quiet=quiet)
    try:
        with on_stop(stop), ticker:
            manifest = work(ImportWatch(problem, record, lambda: bool(state["stop"])))
    except Stopped:
        console.note(f"stopped; {shell(to)} is no data set yet: the same command continues")
        return INTERRUPTED
    if state["problems"] > _NAMED and not quiet:
        console.note(f"and {state['problems'] - _NAMED:,} more; {to}/dataset.json names the first 1,000")
    if json:
        console.document(manifest)
    else:
        console.result(described(Path(to), manifest))
    return DONE
