"""Data sets as files for other programs: SGF, NumPy arrays, replays."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from ludus.datasets.content import MOST_NAME, player_name
from ludus.datasets.dataset import DataSet, RecordedMatch
from ludus.datasets.errors import DataSetError
from ludus.datasets.from_replay import GO
from ludus.datasets.from_sgf import OWN, OwnRules
from ludus.games import go, replays
from ludus.games.match import Match
from ludus.games.records import go_record_text, sgf
from ludus.games.records.go_record import GoRecord
from ludus.storage.files import TEMPORARY, fsync_directory, open_new, own_folder, remove_tree

Form = Literal["sgf", "npz", "ludus"]
_WINNERS: dict[tuple[float, ...], str] = {(1.0, -1.0): "B+", (-1.0, 1.0): "W+", (0.0, 0.0): "0"}


def export(data: DataSet, folder: Path, form: Form, beat: Callable[[], None] | None = None) -> int:
    """Write all matches of a data set into a new folder, whole or not at all.

    Args:
        data: The data set.
        folder: Where the files appear; it must not exist, or be empty.
        form: ``sgf``: a file a match, for Go. ``npz``: a file of arrays a shard. ``ludus``: a replay a match.
        beat: Called once a match.

    Returns:
        The number of files.

    Raises:
        DataSetError: The folder is in use, or the game has no such form.
        OSError: A file cannot be written.
    """
    if form == "sgf" and data.manifest.game != GO:
        raise DataSetError(f"{data.path}: matches of {data.manifest.game}; SGF is for Go")
    own_folder(folder)
    if folder.is_dir() and any(folder.iterdir()):
        raise DataSetError(f"{folder}: a folder with files; choose another name")
    data.check_game() if form == "sgf" else None
    aside = folder.with_name(folder.name + TEMPORARY)
    remove_tree(aside)
    aside.mkdir(parents=True)
    count = 0
    try:
        for name, content in _files(data, form, beat or (lambda: None)):
            with open_new(aside / name) as out:
                out.write(content)
            count += 1
        if folder.is_dir():
            folder.rmdir()
        os.replace(aside, folder)
    except BaseException:
        remove_tree(aside)
        raise
    fsync_directory(folder.parent)
    return count


def _files(data: DataSet, form: Form, beat: Callable[[], None]) -> Iterator[tuple[str, bytes]]:
    if form == "npz":
        yield from _arrays(data, beat)
        return
    for index in range(len(data)):
        match = data.match(index)
        text = match.replay if form == "ludus" else sgf_of(data, match).encode()
        beat()
        yield f"{index:07d}.{form}", text


def sgf_of(data: DataSet, match: RecordedMatch) -> str:
    """Return a match of Go as SGF, from which an import makes the same match again."""
    about = replays.info(match.replay)
    board = Match(GO, about.params, seed=about.seed, match=about.match)
    view = board.view()
    size = int(view["width"])
    made = GoRecord(size=size, komi=float(view["komi"]), handicap=int(about.params.get("handicap", "0")))
    for cell, what in enumerate(view["cells"]):
        if what in (go.BLACK, go.WHITE):
            (made.black if what == go.BLACK else made.white).append((cell % size, cell // size))
    if made.black or made.white or board.to_act == (go.WHITE,):
        made.first = "BW"[board.to_act[0]]
    resigned = False
    for decision in replays.decisions(match.replay):
        (point,) = decision.action
        if point > size * size:
            resigned = True
        else:
            made.moves.append(
                ("BW"[decision.seat], None if point == size * size else (point % size, point // size))
            )
    result = match.result or ("?" if match.outcome is None else _WINNERS.get(match.outcome, "?"))
    made.result = result
    for name, text in zip(("PB", "PW"), match.players, strict=True):
        if text:
            made.info[name] = text
    if match.date:
        made.info["DT"] = date_text(match.date)
    source = data.manifest.sources[match.source].name
    more = {"SO": source, "CP": data.manifest.licence}
    made.info |= {name: text for name, text in more.items() if text}
    own = OwnRules(dict(about.params), about.seed, about.match, resigned)
    return sgf.write(go_record_text.tree(made, {OWN: msgspec.json.encode(own).decode()}))


def date_text(date: int) -> str:
    """Return a stored date as ``2016-03-09``, without what is unknown of it."""
    year, month, day = date // 10_000, date // 100 % 100, date % 100
    parts = [f"{year:04d}", *([f"{month:02d}"] if month else []), *([f"{day:02d}"] if month and day else [])]
    return "-".join(parts)


def _arrays(data: DataSet, beat: Callable[[], None]) -> Iterator[tuple[str, bytes]]:
    """Yield a file of arrays a shard, and a document with the sets of parameters."""
    import io

    held = np.zeros(len(data), bool)
    held[data.indices("held_out")] = True
    start = 0
    for number, entry in enumerate(data.manifest.shards):
        tensors = data.shard(number)
        players, rows, counts = [], [], []
        for index in range(start, start + entry.matches):
            match = data.match(index)
            made = replays.decisions(match.replay)
            heads = max((len(d.action) for d in made), default=1) or 1
            rows.append(
                np.array([(d.tick, d.seat, d.bot, *(d.action or (-1,) * heads)) for d in made], np.int32)
            )
            counts.append(len(made))
            players.append([player_name(name) for name in match.players])
            beat()
        widest = max(row.shape[1] for row in rows)
        whole = np.concatenate(
            [np.pad(r, ((0, 0), (0, widest - r.shape[1])), constant_values=-1) for r in rows]
        )
        out = io.BytesIO()
        np.savez_compressed(
            out,
            moves=whole[:, 3:],
            tick=whole[:, 0],
            seat=whole[:, 1],
            bot=whole[:, 2],
            offset=np.cumsum([0, *counts], dtype=np.int64),
            outcome=np.where(tensors.known[:, None] == 1, tensors.outcome, np.nan),
            result=np.array([tensors.match(i).result for i in range(entry.matches)], "U16"),
            date=tensors.date,
            source=tensors.source,
            params=tensors.params,
            held_out=held[start : start + entry.matches],
            players=np.array(players, f"U{MOST_NAME}" if any(map(any, players)) else "U1"),
        )
        yield f"{number:06d}.npz", out.getvalue()
        start += entry.matches
    about = {
        "game": data.manifest.game,
        "version": data.manifest.version,
        "sha256": data.sha256,
        "licence": data.manifest.licence,
        "params": data.manifest.params,
        "sources": [s.name for s in data.manifest.sources],
    }
    yield "about.json", msgspec.json.format(msgspec.json.encode(about), indent=1)
