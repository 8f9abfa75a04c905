"""``ludus replay info | verify | to-html | to-video``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec

from ludus.cli import console
from ludus.cli.arguments import option, positional
from ludus.cli.errors import DONE, CheckError, UserError
from ludus.cli.words import said
from ludus.flow.inputs.regular import open_regular, why_unusable

if TYPE_CHECKING:
    from ludus.games.replays import ReplayInfo

MAX_BYTES = 64 << 20
FILE = positional("a replay (.ludus)", "FILE")
JSON = option("print one JSON document")
GAME = option("code of a game that is neither built in nor installed (./my_game.py)", "GAME")


def read_replay(name: str) -> bytes:
    """Return the bytes of a replay file. Raise :class:`UserError` if there is none or it is too large."""
    from ludus.storage.errors import CorruptFile
    from ludus.storage.files import read_bounded

    path = Path(name)
    if why := why_unusable(path, "no such replay file"):
        raise UserError(f"{name}: {why}")
    try:
        return read_bounded(path, MAX_BYTES)
    except CorruptFile as error:
        raise UserError(f"{said(error)}; this is no replay") from None


class ReplayShow(msgspec.Struct, frozen=True):
    """Show the contents of a replay: game, seed, players, length, outcome."""

    EXAMPLES: ClassVar = ("ludus replay info match.ludus",)

    file: Annotated[str, FILE]
    json: Annotated[bool, JSON] = False

    def run(self) -> int:
        """Print the facts and return the exit code."""
        from ludus.games import replays
        from ludus.storage.references import labelled

        data = read_replay(self.file)
        try:
            info = replays.info(data)
        except ValueError as error:
            raise UserError(f"{self.file}: {said(error)}") from None
        if self.json:
            console.document({"file": self.file, "bytes": len(data), **msgspec.to_builtins(info)})
            return DONE
        outcome = ", ".join({1: "won", 0: "drawn", -1: "lost"}.get(int(o), str(o)) for o in info.outcome)
        short = replays.short_params(info.params)
        rows = [
            ("game", f"{info.game}, version {info.version}"),
            ("parameters", ", ".join(f"{k}={v}" for k, v in short.items()) or "defaults"),
            ("players", ", ".join(map(labelled, info.players))),
            *([("outcome", outcome)] if info.over and len(info.outcome) > 1 else []),
            *([] if info.over else [("outcome", "cut off")]),
            *_hosted_rows(info),
            ("ticks", str(info.ticks)),
            ("decisions", str(info.decisions)),
            ("seed, match", f"{info.seed}, {info.match}"),
            ("final hash", info.final_hash),
            ("size", f"{len(data)} bytes"),
        ]
        console.result(console.table(rows))
        return DONE


def _hosted_rows(info: ReplayInfo) -> list[tuple[str, str]]:
    """Return the rows for games written in Python."""
    if info.format == 1:
        return []
    words = {
        "yes": "yes, in everything that a match shows",
        "no": "no: the game depends on more than its seed",
    }
    return [
        ("returns", ", ".join(f"{x:g}" for x in info.returns)),
        ("reproduced", words.get(info.reproduced, "not tested; see: ludus replay verify")),
    ]


def passed_over(name: str) -> str:
    """Return the reason to skip a file: a folder, or a page or video made from a replay; "" = read it."""
    path = Path(name)
    if path.is_dir():
        return "skipped: a folder"
    if path.suffix == ".ludus" or not path.is_file():
        return ""
    from ludus.games.replays import MAGIC

    with open_regular(path) as file:
        return "" if file.read(len(MAGIC)) == MAGIC else "skipped: not a replay"


class ReplayVerify(msgspec.Struct, frozen=True):
    """Re-simulate replays and compare every hash.

    Exit code 3 if a replay differs, 2 if the only problem is a game that is not installed. Files that are
    not replays (pages, videos) are named and skipped.
    """

    EXAMPLES: ClassVar = ("ludus replay verify replays/*.ludus",)

    files: Annotated[tuple[str, ...], FILE]
    game: Annotated[str, GAME] = ""
    json: Annotated[bool, JSON] = False

    def run(self) -> int:
        """Verify the files, print a line for each and return the exit code."""
        from ludus.cli.params import typed
        from ludus.games import replays
        from ludus.games.names import UnknownGame

        rows: list[dict[str, object]] = []
        skipped: dict[str, str] = {}
        unknown = 0  # replays of games that are not loaded
        for name in self.files:
            if why := passed_over(name):
                skipped[name] = why
                continue
            data = read_replay(name)
            try:
                check = replays.verify(data, typed(self.game))
                rows.append({"file": name, **msgspec.to_builtins(check)})
            except ValueError as error:  # not a replay, damaged, of another version, or of an unknown game
                row = {"file": name, "same": False, "ticks": 0, "last_same": 0, "difference": said(error)}
                rows.append(row)
                unknown += isinstance(error, UnknownGame)
        for name, why in skipped.items():
            console.note(f"{name}: {why}")
        if not rows:
            raise UserError(f"no replay among {', '.join(self.files)}")
        if self.json:
            console.document(rows[0] if len(rows) == 1 else rows)
        else:
            for row in rows:
                good = f"reproduced, {row['ticks']} ticks"
                console.result(f"{row['file']}: {good if row['same'] else row['difference']}")
        wrong = [str(row["file"]) for row in rows if not row["same"]]
        if unknown and unknown == len(wrong):
            raise UserError(
                f"{unknown} of {len(rows)} replays are of games that are not loaded; see --game GAME"
            )
        if wrong:
            raise CheckError(f"{len(wrong)} of {len(rows)} replays do not verify: {', '.join(wrong)}")
        return DONE


class ReplayToHtml(msgspec.Struct, frozen=True):
    """Write a replay as one HTML page for any browser, offline: timeline, speed, fog of war of each seat."""

    EXAMPLES: ClassVar = (
        "ludus replay to-html match.ludus",
        "ludus replay to-html match.ludus --out page.html",
        "ludus replay to-html match.ludus --think runs/my-run@best --think mcts:400",
    )

    file: Annotated[str, FILE]
    out: Annotated[str, option("output file (default: the replay's name with .html)", "FILE")] = ""
    think: Annotated[
        tuple[str, ...],
        option("show the thoughts of weights or a search about each decision; repeatable once", "PLAYER"),
    ] = ()
    game: Annotated[str, GAME] = ""
    json: Annotated[bool, JSON] = False

    def run(self) -> int:
        """Write the page, print its path and return the exit code."""
        from ludus.cli.params import typed
        from ludus.cli.progress import Progress, Ticker
        from ludus.games.replays import MAGIC
        from ludus.web.recording import MOST_OPINIONS
        from ludus.web.replay_page import to_html

        data = read_replay(self.file)
        out = Path(self.out) if self.out else Path(self.file).with_suffix(".html")
        if out.resolve() == Path(self.file).resolve():
            raise UserError(f"{out}: would overwrite the replay; choose another name with --out")
        if len(self.think) > MOST_OPINIONS:
            raise UserError(f"--think: {len(self.think)} players, expected at most {MOST_OPINIONS}")
        in_python = data[len(MAGIC) : len(MAGIC) + 1] == b"\2"  # its format
        progress = Progress(0, "ticks" if in_python else "decisions")

        def count(done: int, total: int) -> None:
            progress.total = total
            progress.count(done - progress.over)

        try:
            with Ticker(progress.line, quiet=not (self.think or in_python)):
                page = to_html(data, game=typed(self.game), think=self.think, progress=count)
        except ValueError as error:
            raise UserError(f"{self.file}: {said(error)}") from None
        write_whole(out, page.encode())
        if self.json:
            console.document({"file": str(out), "bytes": len(page.encode())})
        else:
            console.result(str(out))
        return DONE


class ReplayToVideo(msgspec.Struct, frozen=True):
    """Write a replay as an MP4 video: maps, boards, and games in Python as they draw themselves."""

    EXAMPLES: ClassVar = ("ludus replay to-video match.ludus --speed 16 --width 1080",)

    file: Annotated[str, FILE]
    out: Annotated[str, option("output file (default: the replay's name with .mp4)", "FILE")] = ""
    game: Annotated[str, GAME] = ""
    width: Annotated[int, option("width in pixels", "N")] = 720
    speed: Annotated[
        float,
        option("times the game's own pace (50 ticks a second on a map); 0 = 4, or 1 in Python games", "X"),
    ] = 0.0
    seat: Annotated[int, option("show the fog of war of this seat; -1 = the whole map", "N")] = -1
    json: Annotated[bool, JSON] = False

    def run(self) -> int:
        """Write the video, print its path and return the exit code."""
        from ludus.cli.params import typed
        from ludus.web.video import FPS, to_video

        data = read_replay(self.file)
        out = Path(self.out) if self.out else Path(self.file).with_suffix(".mp4")
        if out.resolve() == Path(self.file).resolve():
            raise UserError(f"{out}: would overwrite the replay; choose another name with --out")
        try:
            frames = to_video(
                data, out, width=self.width, speed=self.speed or None, seat=self.seat, game=typed(self.game)
            )
        except ValueError as error:
            raise UserError(f"{self.file}: {said(error)}") from None
        except OSError as error:
            raise UserError(f"{out}: {error.strerror or error}") from None
        if self.json:
            console.document({"file": str(out), "frames": frames, "seconds": frames / FPS})
        else:
            console.result(str(out))
        return DONE


def write_whole(path: Path, data: bytes) -> None:
    """Write a temporary file and rename it, so that a full disk leaves no partial file.

    Raises:
        UserError: ``path`` is a device or a pipe, which the file would replace.
        OSError: It cannot be written.
    """
    from ludus.storage.files import write_atomic

    if path.exists() and not (path.is_file() or path.is_dir()):
        raise UserError(f"{path}: not a regular file; expected the name of a file to write")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, data)
