"""``ludus games list | show | check | schema``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec

from ludus.cli import console
from ludus.cli.arguments import QUIET, option, positional
from ludus.cli.errors import DONE, CheckError, UserError
from ludus.cli.words import said
from ludus.flow.names import did_you_mean
from ludus.flow.process.extras import install_command
from ludus.flow.spec import OPEN, GameSpec, HeadSpec, ParamSpec, TensorSpec
from ludus.games.adapters import ADAPTERS

if TYPE_CHECKING:
    from ludus.games import SeatShare
    from ludus.ratings import Interval

JSON = option("print one JSON document")
MAX_RANGE = 32  #: characters of the range of a parameter in a table


class GamesList(msgspec.Struct, frozen=True):
    """List the playable games: built in, installed as packages, and from other libraries.

    LIBRARY lists the games of one library, as references that every command takes: gymnasium, atari,
    pettingzoo, openspiel, vizdoom.
    """

    EXAMPLES: ClassVar = ("ludus games list", "ludus games list gymnasium")

    library: Annotated[str, positional("list the games of this library", "LIBRARY")] = ""
    json: Annotated[bool, JSON] = False

    def run(self) -> int:
        """Print the list and return the exit code."""
        from ludus.games import list_games, spec

        if self.library:
            return self._hosted()
        specs = [spec(name) for name in list_games()]
        if self.json:
            console.document(
                [
                    {
                        "name": s.name,
                        "title": s.title,
                        "version": s.version,
                        "seats": s.seats,
                        "bots": [b.name for b in s.bots],
                        "default_frame_skip": s.default_frame_skip,
                    }
                    for s in specs
                ]
            )
        else:
            rows = [(s.name, str(s.seats), ", ".join(b.name for b in s.bots) or "-", s.title) for s in specs]
            console.result(console.table(rows, ("game", "seats", "bots", "")))
            console.result("\ngames of other libraries, by the names that these use")
            console.result(console.table(list(_hosted_rows()), indent="  "))
        return DONE

    def _hosted(self) -> int:
        """Print the games of one library. Raise :class:`UserError` if it is unknown or not installed."""
        from ludus.games import libraries

        family = self.library.rstrip("/")
        if family not in libraries.LISTED:
            near = did_you_mean(family, libraries.LISTED, "libraries")
            raise UserError(f"ludus games list: unknown library {family}{near}")
        found = libraries.names(family)
        if not found:
            raise UserError(f"{family}: not installed: {install_command(ADAPTERS[family][1])}")
        if self.json:
            console.document(found)
            return DONE
        missing = libraries.missing(family)
        rows = [(name, "not fetched" if name in missing else "") for name in found]
        console.result(console.table(rows))
        for command in dict.fromkeys(missing.values()):
            console.result(f"\nnot fetched: {command}")
        return DONE


def _hosted_rows() -> Iterator[tuple[str, str, str]]:
    """Yield a row for each library: an example reference, its meaning, and how to list its games."""
    from ludus.flow.inputs.shown import shell
    from ludus.games import libraries

    there = libraries.installed()
    for family, (_, extra, what) in ADAPTERS.items():
        example = f"{family}/{libraries.EXAMPLES[family]}"
        if family in there:
            more = f"ludus games list {shell(family)}"
        else:
            more = "" if family not in libraries.LISTED else f"not installed: {install_command(extra)}"
        yield example, what, more


class GamesShow(msgspec.Struct, frozen=True):
    """Show the spec of a game: parameters, bots, observation tensors and action heads."""

    EXAMPLES: ClassVar = (
        "ludus games show minirts",
        "ludus games show ./my_rules.toml",
    )

    game: Annotated[
        str, positional("a game's name, or the path of a compiled game, a Python file or a rulebook (.toml)")
    ]
    param: Annotated[tuple[str, ...], option("set a parameter of the game; repeatable", "NAME=VALUE")] = ()
    json: Annotated[bool, JSON] = False

    def run(self) -> int:
        """Print the spec and return the exit code."""
        from ludus.cli.params import game_spec, read_game

        spec = game_spec(*read_game(self.game, self.param))
        if self.json:
            console.document({**msgspec.to_builtins(spec), "spec_hash": spec.spec_hash})
        else:
            console.result(describe(spec))
        return DONE


class GamesCheck(msgspec.Struct, frozen=True):
    """Check a game against the contract: determinism, cloning, masks, ranges, refusals, ends, replays.

    In a game of two seats, bots also play themselves: the win rate of seat 0 shows whether the seats are
    equal. A rulebook (.toml) is validated first. Exit code 3 if a check fails.
    """

    EXAMPLES: ClassVar = (
        "ludus games check tic_tac_toe",
        "ludus games check ./my_game.py --matches 100",
    )

    game: Annotated[
        str, positional("a game's name, or the path of a compiled game, a Python file or a rulebook (.toml)")
    ]
    matches: Annotated[int, msgspec.Meta(ge=1), option("number of matches", "N")] = 20
    seed: Annotated[int, msgspec.Meta(ge=0), option("seed of the matches", "N")] = 1
    param: Annotated[tuple[str, ...], option("set a parameter of the game; repeatable", "NAME=VALUE")] = ()
    quiet: Annotated[bool, QUIET] = False
    json: Annotated[bool, JSON] = False

    def run(self) -> int:
        """Check the game, print the findings and return the exit code."""
        from ludus.cli.params import game_spec, read_params, typed
        from ludus.cli.progress import Display
        from ludus.games import check_game, rulebook
        from ludus.games.guides.lookup import guide_of

        game, params = self.game, read_params(self.param, self.game)
        if rulebook.is_path(game):
            try:
                params["rulebook"] = rulebook.read(Path(game))
            except ValueError as error:
                raise CheckError(said(error)) from None
            game = rulebook.GAME
        spec = game_spec(typed(game), params)
        if problem := guide_of(typed(game), params).problem:
            console.note(problem)
        with Display("the game is being loaded", quiet=self.quiet) as display:
            report = check_game(
                game,
                params,
                matches=self.matches,
                seed=self.seed,
                apart=True,
                report=lambda text: display.say(f"check of {spec.name}: {text}"),
            )
        if self.json:
            document = {**msgspec.to_builtins(report), "passed": report.passed}
            document["seats"] = [
                {**msgspec.to_builtins(s), "first_seat": msgspec.to_builtins(first_seat(s))}
                for s in report.seats
            ]
            console.document(document)
        else:
            if rulebook.is_path(self.game):
                console.result(describe_rulebook(str(params["rulebook"]), spec))
            rows = [("ok" if f.passed else "FAILED", f.check, f.detail) for f in report.findings]
            console.result(console.table(rows))
            if any(sum(s.won) for s in report.seats):
                console.result(describe_seats(report.seats))
            if not report.state_bytes and report.ns_per_tick:  # 0: no match was played
                rate = 1e9 / report.ns_per_tick
                console.result(f"{report.game}: {rate:,.0f} ticks/s on one core, random play, observing")
        if not self.json and report.state_bytes:
            console.result(
                f"{report.game}: {report.ns_per_tick:.1f} ns a tick, state {report.state_bytes} bytes, "
                f"cloned in {report.clone_ns:.1f} ns"
            )
        failed = [f.check for f in report.findings if not f.passed]
        if failed:
            raise CheckError(
                f"{report.game}: {len(failed)} of {len(report.findings)} checks failed: {', '.join(failed)}"
            )
        return DONE


class GamesSchema(msgspec.Struct, frozen=True):
    """Print the JSON schema of rulebooks, with which editors complete and check my_rules.toml.

    The first line of the rulebook names the schema: #:schema ./rulebook.schema.json
    """

    EXAMPLES: ClassVar = (
        "ludus games schema > rulebook.schema.json",
        "ludus games schema moba > moba.schema.json",
    )

    game: Annotated[str, positional("rts or moba", "GAME")] = "rts"
    json: Annotated[bool, JSON] = False

    def run(self) -> int:
        """Print the schema and return the exit code."""
        from ludus.games import rulebook

        console.document(rulebook.schema(self.game))
        return DONE


def first_seat(share: SeatShare) -> Interval:
    """Return the first seat's share of the decided matches, with its Wilson interval."""
    from ludus.ratings import wilson_interval

    return wilson_interval(share.won[0], sum(share.won))


def describe_seats(shares: Sequence[SeatShare]) -> str:
    """Return the balance of the seats in each bot's matches against itself, one line per bot."""
    rows = []
    for share in shares:
        if not sum(share.won):
            continue
        i = first_seat(share)
        rows.append(
            (
                share.bot,
                f"seat 0 won {100 * i.rate:.1f}% of {sum(share.won)}",
                f"(95% interval {100 * i.low:.1f} to {100 * i.high:.1f})",
                f"{share.drawn} drawn" if share.drawn else "",
            )
        )
    return "\n".join(["equal bots by seat", console.table(rows, indent="  ")])


def describe_rulebook(text: str, spec: GameSpec) -> str:
    """Return the units and choices of a rulebook, as a table and lines of text."""
    from ludus.games import rulebook

    values = rulebook.keys(text)
    columns = ("cost", "hp", "defence", "attack", "attack_range", "speed", "vision", "builds")
    units = list(dict.fromkeys(k.split(".")[1] for k in values if k.startswith("units.")))
    rows = [(u, *(values[f"units.{u}.{c}"] for c in columns)) for u in units]
    factors: dict[str, list[str]] = {}
    for key, value in values.items():
        if key.startswith("attack."):
            _, attacker, victim = key.split(".")
            factors.setdefault(attacker, []).append(f"{victim} {value}")
    table = [(attacker, ", ".join(victims)) for attacker, victims in factors.items()]
    return "\n".join(
        [
            f"{spec.title}: {len(units)} types, map of {values['map.side']} x {values['map.side']} cells",
            console.table(rows, ("", *columns), indent="  "),
            "factors on damage; all others are 1, 0: cannot attack it",
            console.table(table or [("none", "")], indent="  "),
            "choices: " + ", ".join(spec.heads[0].labels),
            "bots: " + ", ".join(b.name for b in spec.bots),
            "",
        ]
    )


def describe(spec: GameSpec) -> str:
    """Return the spec of a game as text."""
    how = "turn by turn" if spec.turn_based else "all seats at once"
    sees = "everything" if spec.perfect_information else "what its own seat may see"
    parts = [
        f"{spec.name}: {spec.title} (version {spec.version})",
        *([spec.meaning] if spec.meaning else []),
        f"{spec.seats} seats, {how}; a policy sees {sees}; at most {spec.max_ticks} ticks; "
        f"frame skip {spec.default_frame_skip} by default; spec {spec.spec_hash}",
    ]
    if spec.counted_cells:
        parts.append(
            f"at the end of a match the owners of {spec.counted_cells} cells are counted, which policies can "
            "learn (policy.ownership, policy.score)"
        )
    if spec.scores:
        parts.append(f"scores of a match, for each seat: {', '.join(spec.scores)}")
    if not spec.reproducible:
        parts.append("a match depends on more than its seed and the decisions: replays may not be reproduced")
    if spec.bots:
        bots = [(b.name, "demonstrates" if b.demonstrates else "", b.meaning) for b in spec.bots]
        parts += ["", "bots", console.table(bots, indent="  ")]
    if spec.params:
        rows = [(p.name, p.default_value, *_range(p)) for p in spec.params]
        parts += ["", "parameters", console.table(rows, ("name", "default", "range", ""), indent="  ")]
    rows = [(t.name, _shape(t), t.codec, t.meaning) for t in spec.observation]
    parts += ["", "observation", console.table(rows, ("tensor", "", "codec", ""), indent="  ")]
    heads = [(h.name, *_choices(h)) for h in spec.heads]
    parts += ["", "actions", console.table(heads, ("head", "size", ""), indent="  ")]
    return "\n".join(parts)


def _range(param: ParamSpec) -> tuple[str, str]:
    """Return what a parameter may be, and its meaning; many choices are part of the meaning."""
    if param.kind != "text":
        return param.range, param.meaning
    choices = "|".join(param.choices) or "text"
    if len(choices) <= MAX_RANGE:
        return choices, param.meaning
    return "choice", f"{param.meaning}{': ' if param.meaning else ''}{', '.join(param.choices)}"


def _choices(head: HeadSpec) -> tuple[str, str]:
    """Return the number of choices and their names; for a continuous head "" and its range."""
    if head.kind != "continuous":
        return str(head.size), ", ".join(head.labels) or head.meaning
    what = "an integer" if head.integer else "a number"
    if head.bounded:
        what += f" from {head.low:.9g} to {head.high:.9g}"
    elif head.half_open:
        what += f" from {head.low:.9g} on" if head.low > -OPEN else f" up to {head.high:.9g}"
    return "", what


def _shape(tensor: TensorSpec) -> str:
    return f"{tensor.dtype}[{', '.join(map(str, tensor.shape))}]"
