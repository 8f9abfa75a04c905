"""``ludus data info | check | export``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec

from ludus.cli import console
from ludus.cli.arguments import QUIET, option, positional
from ludus.cli.commands.data.texts import described
from ludus.cli.errors import DONE, USAGE, UserError

if TYPE_CHECKING:
    from ludus.cli.progress import Progress
    from ludus.datasets.export import Form

NAME = positional("folder of the data set", "NAME")
GAME = option("the game's reference, where it is not part of Ludus", "GAME")
_NAMED = 20  # faults


class DataInfo(msgspec.Struct, frozen=True):
    """Show what a data set holds: matches, rules, sources, what was left out."""

    EXAMPLES: ClassVar = ("ludus data info sets/pro", "ludus data info sets/pro --json")

    name: Annotated[str, NAME]
    json: Annotated[bool, option("print the manifest as one JSON document")] = False

    def run(self) -> int:
        """Print the content and return the exit code."""
        from ludus.datasets import DataSet

        data = DataSet.open(Path(self.name))
        if self.json:
            console.document(data.manifest)
        else:
            console.result(described(data.path, data.manifest))
        return DONE


class DataCheck(msgspec.Struct, frozen=True):
    """Check a data set: the hashes of its files, and every match by the rules of its game.

    Exit code 2 if anything differs; the shard and the match are named.
    """

    EXAMPLES: ClassVar = ("ludus data check sets/pro",)

    name: Annotated[str, NAME]
    game: Annotated[str, GAME] = ""
    json: Annotated[bool, option("print one JSON document")] = False
    quiet: Annotated[bool, QUIET] = False

    def run(self) -> int:
        """Check, print the faults and return the exit code."""
        from ludus.cli.params import typed
        from ludus.cli.progress import Progress
        from ludus.datasets import DataSet

        data = DataSet.open(Path(self.name))
        progress = Progress(len(data), quiet=self.quiet)
        with progress:
            faults = data.check(typed(self.game) if self.game else "", _counting(progress))
        if self.json:
            console.document(
                {"holds": not faults, "faults": faults, "matches": len(data), "sha256": data.sha256}
            )
        elif not faults:
            console.result(f"{data.path}: {len(data):,} matches checked, all as in the manifest")
        for fault in faults[:_NAMED]:
            console.note(f"{data.path}: {fault}")
        if len(faults) > _NAMED:
            console.note(f"and {len(faults) - _NAMED:,} more faults")
        return USAGE if faults else DONE


class DataExport(msgspec.Struct, frozen=True, kw_only=True):
    """Write the matches of a data set as files: SGF for Go, arrays of NumPy, or replays.

    SGF keeps rules, players, date, result, source and licence; an import of it gives the same data set.
    """

    EXAMPLES: ClassVar = (
        "ludus data export sets/pro --sgf games",
        "ludus data export sets/pro --npz arrays",
    )

    name: Annotated[str, NAME]
    sgf: Annotated[str, option("write a .sgf file a match", "DIR")] = ""
    npz: Annotated[str, option("write a .npz file a shard: moves, results, players", "DIR")] = ""
    ludus: Annotated[str, option("write a .ludus replay a match", "DIR")] = ""
    json: Annotated[bool, option("print one JSON document")] = False
    quiet: Annotated[bool, QUIET] = False

    def run(self) -> int:
        """Write the files and return the exit code."""
        from ludus.cli.progress import Progress
        from ludus.datasets import DataSet
        from ludus.datasets.export import export

        forms: tuple[tuple[Form, str], ...] = (("sgf", self.sgf), ("npz", self.npz), ("ludus", self.ludus))
        wanted = [(form, folder) for form, folder in forms if folder]
        if not wanted:
            raise UserError("ludus data export: say what to write: --sgf DIR, --npz DIR or --ludus DIR")
        data = DataSet.open(Path(self.name))
        done = []
        for form, folder in wanted:
            progress = Progress(len(data), f"matches as {form}", quiet=self.quiet)
            with progress:
                count = export(data, Path(folder), form, _counting(progress))
            done.append({"form": form, "folder": folder, "files": count, "matches": len(data)})
        if self.json:
            console.document(done)
        else:
            console.result("\n".join(f"{d['folder']}: {d['files']:,} files" for d in done))
        return DONE


def _counting(progress: Progress) -> Callable[[], None]:
    """Return a function that counts a match, and ends the work where Ctrl-C has asked for it."""

    def count() -> None:
        progress.count(1)
        if progress.should_stop():
            raise KeyboardInterrupt

    return count
