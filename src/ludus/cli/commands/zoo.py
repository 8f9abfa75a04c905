"""``ludus zoo list | show | check``: the trained players that come with Ludus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec

from ludus.cli import console
from ludus.cli.arguments import QUIET, option, positional
from ludus.cli.errors import DONE, FAILED, INTERRUPTED, UserError
from ludus.cli.match_options import Count, Natural, hooks_of
from ludus.cli.words import said

if TYPE_CHECKING:
    from ludus.cli.progress import Progress
    from ludus.evaluation.zoo_check import FigureCheck
    from ludus.storage.zoo import Card, CardFigure

Names = Annotated[tuple[str, ...], positional("players (default: all)", "NAME")]
JSON = option("print one JSON document")


class ZooList(msgspec.Struct, frozen=True):
    """List the trained players that come with Ludus, from easy to hard.

    Each one plays wherever a player is named: ludus play zoo:NAME, ludus eval zoo:NAME --against BOT.
    """

    EXAMPLES: ClassVar = ("ludus zoo list", "ludus zoo list --json")

    json: Annotated[bool, JSON] = False

    def run(self) -> int:
        """Print the list and return the exit code."""
        from ludus.storage import zoo

        cards = zoo.by_level()
        if self.json:
            console.document(
                [
                    {"name": f"zoo:{name}", "bytes": _size(name), **msgspec.to_builtins(card)}
                    for name, card in cards
                ]
            )
            return DONE
        rows = [
            (
                f"zoo:{name}",
                card.game,
                zoo.LEVELS[card.level],
                f"{_size(name) / 1000:,.0f} kB",
                _first(card),
                card.strength,
            )
            for name, card in cards
        ]
        if not rows:
            console.note("this installation has no trained players")
            return DONE
        console.result(console.table(rows, ("player", "game", "level", "size", "first figure", "strength")))
        return DONE


class ZooShow(msgspec.Struct, frozen=True):
    """Show the card of a trained player: how it plays, how it was trained, how strong it is."""

    EXAMPLES: ClassVar = ("ludus zoo show minirts", "ludus zoo show minirts --json")

    name: Annotated[str, positional("the player, with or without zoo:", "NAME")]
    json: Annotated[bool, JSON] = False

    def run(self) -> int:
        """Print the card and return the exit code."""
        from ludus.storage import zoo

        card, name = zoo.card(self.name), zoo.plain_name(self.name)
        if self.json:
            document = {"name": f"zoo:{name}", "bytes": _size(name), **msgspec.to_builtins(card)}
            console.document(document)
            return DONE
        facts = [
            ("player", f"zoo:{name}"),
            ("title", card.title),
            ("game", card.game),
            ("level", f"{zoo.LEVELS[card.level]} ({card.level} of {max(zoo.LEVELS)})"),
            ("strength", card.strength),
            ("plays", _manner(card)),
            ("trained", card.trained),
            ("by", card.command),
            ("version", str(card.version)),
            ("weights", f"{_size(name):,} bytes, sha256 {card.sha256}"),
            ("record", f"benchmarks/results/{card.record}.json"),
        ]
        console.result(console.table([(a, b) for a, b in facts if b]))
        if card.figures:
            console.result("\n" + console.table([_row(f) for f in card.figures], ("figure", "", "floor", "")))
        console.result(f"\nludus play zoo:{name}")
        return DONE


class ZooCheck(msgspec.Struct, frozen=True):
    """Check trained players: their files, and whether they still play as their cards say.

    The sha256 of each file is compared with its card. Then the figures of the card are measured again, with
    fewer and other matches; a figure differs if a test of the difference refuses it at 0.1%, so that a right
    card fails about one time in a thousand. Exit code 1 if a file or a figure differs.
    """

    EXAMPLES: ClassVar = (
        "ludus zoo check",
        "ludus zoo check minirts --matches 400",
        "ludus zoo check --json",
    )

    names: Names = ()
    matches: Annotated[Count, option("matches or positions of a figure, at most the card's", "N")] = 50
    seed: Annotated[Natural, option("seed of the matches; the cards were measured with 1", "N")] = 2
    json: Annotated[bool, JSON] = False
    quiet: Annotated[bool, QUIET] = False

    def run(self) -> int:
        """Play, print what agrees, and return the exit code."""
        from ludus.storage import zoo

        names = [zoo.plain_name(name) for name in self.names] or [name for name, _ in zoo.by_level()]
        if not names:
            raise UserError("this installation has no trained players")
        found: list[dict[str, object]] = []
        failed = stopped = False
        for name in dict.fromkeys(names):
            rows, problem, stopped = self._player(name)
            bad = bool(problem) or any(row.verdict == "differs" for row in rows)
            failed |= bad
            found.append(
                {"name": f"zoo:{name}", "holds": not bad, "file": problem or "unchanged", "figures": rows}
            )
            if stopped:
                break
        if self.json:
            console.document(found)
        elif not stopped:
            bad_names = [str(row["name"]) for row in found if not row["holds"]]
            verdict = (
                f"differ from their cards: {', '.join(bad_names)}" if bad_names else "as their cards say"
            )
            console.result(f"{len(found)} player{'s' * (len(found) != 1)} checked, {verdict}")
        return INTERRUPTED if stopped else FAILED if failed else DONE

    def _player(self, name: str) -> tuple[list[FigureCheck], str, bool]:
        """Check one player: its figures, what is wrong with its files, whether Ctrl-C ended it."""
        from ludus.cli.progress import Progress
        from ludus.storage import StorageError, zoo

        try:
            card = zoo.card(name)
            zoo.path_of(name)
        except StorageError as error:
            if name not in zoo.names():
                raise
            self._show(f"zoo:{name}: {said(error)}")
            return [], said(error), False
        self._show(f"zoo:{name}: the file is the card's (sha256)")
        rows: list[FigureCheck] = []
        total = sum(min(self.matches, f.matches) if f.matches else 1 for f in card.figures)
        with Progress(total, f"matches and positions of zoo:{name}", quiet=self.quiet) as progress:
            for figure in card.figures:
                rows.append(self._figure(name, card, figure, progress))
                progress.clear()
                self._show(_verdict(rows[-1]))
                if progress.should_stop():
                    return rows, "", True
        return rows, "", False

    def _figure(self, name: str, card: Card, figure: CardFigure, progress: Progress) -> FigureCheck:
        from ludus.evaluation.zoo_check import check_figure

        over = progress.over
        count = min(self.matches, figure.matches) if figure.matches else 1
        made = check_figure(
            f"zoo:{name}", card, figure, self.matches, self.seed, hooks_of(progress), progress.count
        )
        progress.over = over + count  # also of what is skipped, or counted otherwise
        return made

    def _show(self, text: str) -> None:
        if not self.json:
            console.result(text)


def _size(name: str) -> int:
    from ludus.storage import zoo

    path = zoo.FOLDER / (name + zoo.SUFFIX)
    return path.stat().st_size if path.is_file() else 0


def _manner(card: Card) -> str:
    choice = "the most visited move" if card.play else "the likeliest choice"
    drawn = "moves drawn by visits at first" if card.play else "choices drawn"
    how = f"the network with {card.play}" if card.play else "the network"
    return f"{how}, {choice if card.greedy else drawn}"


def _first(card: Card) -> str:
    return " ".join(part for part in _row(card.figures[0])[:2] if part) if card.figures else "-"


def _row(figure: CardFigure) -> tuple[str, str, str, str]:
    """Return the measure, its number, its floor and the player of the floor."""
    from ludus.evaluation.zoo_check import figure_label, unit_of

    unit = unit_of(figure.measure)
    text = number(figure.value, unit)
    if figure.low < figure.high:
        text += f" [{figure.low:,g}, {figure.high:,g}]"
    if figure.matches:
        text += f" of {figure.matches:,}"
    floor = "" if figure.floor is None else number(figure.floor, unit)
    return figure_label(figure.against, figure.measure), text, floor, figure.floor_name


def number(value: float, unit: str) -> str:
    """Return a value in its unit: ``86.7%``, ``0.012 chips a match``."""
    return f"{value:,g}%" if unit == "%" else f"{value:,g}" if unit == "return" else f"{value:,g} {unit}"


def _verdict(row: FigureCheck) -> str:
    card = number(row.value, row.unit) + (f" of {row.matches:,}" if row.matches else "")
    if row.verdict == "skipped" or row.again is None:
        return f"  {row.figure}: skipped: {row.why}; the card has {card}"
    again = number(row.again, row.unit) + (f" of {row.matches_again:,}" if row.matches_again else "")
    return f"  {row.figure}: {row.verdict}: {again}, the card has {card}"
