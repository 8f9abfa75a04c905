"""``ludus replay info | verify | to-html | to-video``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from ludus.cli import console
from ludus.cli.arguments import option, positional
from ludus.cli.errors import DONE, CheckError, UserError

if TYPE_CHECKING:
    from ludus.games.replays import ReplayInfo as ReplayFacts

MAX_BYTES = 64 << 20
FILE = positional("a recorded match (.ludus)", "FILE")
JSON = option("one JSON document on stdout")
GAME = option("the code of a game that is neither built in nor installed (./my_game.py)", "GAME")


def read_replay(name: str) -> bytes:
    """The bytes of a replay file. Raises :class:`UserError`."""
    from ludus.storage.errors import CorruptFile
    from ludus.storage.files import read_bounded

    path = Path(name)
    if not path.is_file():
        raise UserError(f"{name}: no such replay file")
    try:
        return read_bounded(path, MAX_BYTES)
    except CorruptFile as error:
        raise UserError(f"{error}; this is no replay") from None


class ReplayInfo(msgspec.Struct, frozen=True):
    """What a recorded match holds: game, seed, players, length, outcome."""

    file: Annotated[str, FILE]
    json: Annotated[bool, JSON] = False

    def run(self) -> int:
        from ludus.games import replays

        data = read_replay(self.file)
        try:
            info = replays.info(data)
        except ValueError as error:
            raise UserError(f"{self.file}: {error}") from None
        if self.json:
            console.document({"file": self.file, "bytes": len(data), **msgspec.to_builtins(info)})
            return DONE
        outcome = ", ".join({1: "won", 0: "drawn", -1: "lost"}.get(int(o), str(o)) for o in info.outcome)
        short = replays.short_params(info.params)
        rows = [
            ("game", f"{info.game}, version {info.version}"),
            ("parameters", ", ".join(f"{k}={v}" for k, v in short.items()) or "defaults"),
            ("players", ", ".join(info.players)),
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


def _hosted_rows(info: ReplayFacts) -> list[tuple[str, str]]:
    """What is only said of games written in Python."""
    if info.format == 1:
        return []
    words = {
        "yes": "came out the same, judged by what the match shows",
        "no": "came out otherwise: the game does not depend on its seed alone",
    }
    return [
        ("returns", ", ".join(f"{x:g}" for x in info.returns)),
        ("played again", words.get(info.reproduced, "not yet; ludus replay verify does")),
    ]


def passed_over(name: str) -> str:
    """Why a file among replays is none: a folder, or a page or video made of one; "" = read it."""
    path = Path(name)
    if path.is_dir():
        return "skipped: a folder"
    if path.suffix == ".ludus" or not path.is_file():
        return ""
    from ludus.games.replays import MAGIC

    with path.open("rb") as file:
        return "" if file.read(len(MAGIC)) == MAGIC else "skipped: not a replay"


class ReplayVerify(msgspec.Struct, frozen=True):
    """Plays recorded matches again and compares every hash. Exit code 3 if one comes out otherwise, 2 if all
    that is wrong is that a game is not there.

    Files that are no replays (pages, videos) are named and skipped."""

    files: Annotated[tuple[str, ...], FILE]
    game: Annotated[str, GAME] = ""
    json: Annotated[bool, JSON] = False

    def run(self) -> int:
        from ludus.cli.params import typed
        from ludus.games import replays
        from ludus.games.names import UnknownGame

        rows: list[dict[str, object]] = []
        skipped: dict[str, str] = {}
        unknown = 0  # of games that are not here, or that --game has to name
        for name in self.files:
            if why := passed_over(name):
                skipped[name] = why
                continue
            data = read_replay(name)
            try:
                check = replays.verify(data, typed(self.game))
                rows.append({"file": name, **msgspec.to_builtins(check)})
            except ValueError as error:  # not a replay, damaged, of another version, or of no game here
                row = {"file": name, "same": False, "ticks": 0, "last_same": 0, "difference": str(error)}
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
                good = f"plays out the same, {row['ticks']} ticks"
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
    """One HTML file that shows the match in any browser, offline: timeline, speed, fog of either seat."""

    file: Annotated[str, FILE]
    out: Annotated[str, option("where to write (default: beside the replay, .html)", "FILE")] = ""
    game: Annotated[str, GAME] = ""
    json: Annotated[bool, JSON] = False

    def run(self) -> int:
        from ludus.cli.params import typed
        from ludus.web.replay_page import to_html

        data = read_replay(self.file)
        out = Path(self.out) if self.out else Path(self.file).with_suffix(".html")
        if out.resolve() == Path(self.file).resolve():
            raise UserError(f"{out}: would overwrite the replay; choose another name with --out")
        try:
            page = to_html(data, game=typed(self.game))
        except ValueError as error:
            raise UserError(f"{self.file}: {error}") from None
        write_whole(out, page.encode())
        if self.json:
            console.document({"file": str(out), "bytes": len(page.encode())})
        else:
            console.result(str(out))
        return DONE


class ReplayToVideo(msgspec.Struct, frozen=True):
    """An MP4 file of a match on a map (MiniRTS, Capture the Flag, Tower Defense, rulebooks)."""

    file: Annotated[str, FILE]
    out: Annotated[str, option("where to write (default: beside the replay, .mp4)", "FILE")] = ""
    game: Annotated[str, GAME] = ""
    width: Annotated[int, option("pixels across")] = 720
    speed: Annotated[float, option("times the game's own speed of 50 ticks a second")] = 4.0
    seat: Annotated[int, option("whose fog of war is shown; -1: the whole map")] = -1
    json: Annotated[bool, JSON] = False

    def run(self) -> int:
        from ludus.cli.params import typed
        from ludus.web.video import FPS, to_video

        data = read_replay(self.file)
        out = Path(self.out) if self.out else Path(self.file).with_suffix(".mp4")
        if out.resolve() == Path(self.file).resolve():
            raise UserError(f"{out}: would overwrite the replay; choose another name with --out")
        try:
            frames = to_video(
                data, out, width=self.width, speed=self.speed, seat=self.seat, game=typed(self.game)
            )
        except ValueError as error:
            raise UserError(f"{self.file}: {error}") from None
        except OSError as error:
            raise UserError(f"{out}: {error.strerror or error}") from None
        if self.json:
            console.document({"file": str(out), "frames": frames, "seconds": frames / FPS})
        else:
            console.result(str(out))
        return DONE


def write_whole(path: Path, data: bytes) -> None:
    """Writes aside and renames, so that a full disk leaves no half file."""
    from ludus.storage.files import write_atomic

    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, data)
