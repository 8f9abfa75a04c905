"""Ladders in records of Go: folders of SGF files with lists of positions.

This is the form of the ladder suite of ELF OpenGo: files ``ladder_list`` and
``ladder_magic_list``, whose lines name a record and a number of moves (``406958.sgf 12``), and the records
beside them or in the folder ``ladder``. The position is the one after so many moves.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ludus.flow.inputs.decode import TextError, from_json, text_of
from ludus.flow.inputs.regular import open_regular
from ludus.flow.inputs.shown import shown
from ludus.flow.inputs.whole import whole_text
from ludus.games import replays
from ludus.games.go_ladders import LadderReading, LadderScenario, Role, chain_liberties, read_ladder
from ludus.games.match import Match
from ludus.games.records import go_match, sgf
from ludus.games.records.go_record import GoRecord, load
from ludus.games.records.sgf import SgfError

LISTS = ("ladder_list", "ladder_magic_list")
RECORDS = "ladder"  # folder of the records, if they are not beside the lists
LEAST = 5  # plies of what counts as a ladder in a match
_MAX_LIST = 1 << 20  # bytes
_MAX_POSITIONS = 10_000


class LadderFileError(ValueError):
    """A folder that holds no lists of ladders, or a list that cannot be read. Names the place."""


class LadderFiles(NamedTuple):
    """Ladders of a folder.

    Attributes:
        scenarios: The ladders, in the order of the lists.
        left_out: Positions without a ladder and records that cannot be read: ``FILE MOVE`` and the reason.
    """

    scenarios: tuple[LadderScenario, ...]
    left_out: tuple[tuple[str, str], ...]


class _Listed(NamedTuple):
    file: str
    moves: int

    def __str__(self) -> str:
        return f"{shown(self.file)} {self.moves}"


def scenarios_from_sgf(folder: Path) -> LadderFiles:
    """Read the ladders of a folder in the form of ELF OpenGo's suite.

    Raises:
        LadderFileError: No list in the folder, or a list that is too large or has another form.
        OSError: A list that cannot be opened.
    """
    lists = [folder / name for name in LISTS if (folder / name).exists()]
    if not lists:
        raise LadderFileError(f"{folder}: no list of ladders, expected {' or '.join(LISTS)}")
    found: list[LadderScenario] = []
    left_out: list[tuple[str, str]] = []
    records: dict[str, GoRecord] = {}
    for listed in dict.fromkeys(entry for path in lists for entry in _entries(path)):
        try:
            if listed.file not in records:
                records[listed.file] = _load(folder, listed.file)
            found.append(scenario_of(records[listed.file], listed.moves, str(listed)))
        except (SgfError, OSError) as error:
            left_out.append((str(listed), str(error)))
    return LadderFiles(tuple(found), tuple(left_out))


def _entries(path: Path) -> Iterator[_Listed]:
    with open_regular(path) as file:
        data = file.read(_MAX_LIST + 1)
    if len(data) > _MAX_LIST:
        raise LadderFileError(f"{path}: more than {_MAX_LIST} bytes")
    try:
        lines = [(number, line.split()) for number, line in enumerate(text_of(data).splitlines(), 1)]
    except TextError as error:
        raise LadderFileError(f"{path}: {error}") from None
    named = [(number, words) for number, words in lines if words]
    if len(named) > _MAX_POSITIONS:
        raise LadderFileError(f"{path}: {len(named)} positions, expected at most {_MAX_POSITIONS}")
    for number, words in named:
        moves = whole_text(words[-1]) if len(words) == 2 else None
        if moves is None or moves < 0:
            raise LadderFileError(f"{path}:{number}: expected a record and a number of moves, as 'a.sgf 12'")
        yield _Listed(words[0], moves)


def _load(folder: Path, name: str) -> GoRecord:
    """Read a record that lies in the folder itself. Raises ``SgfError`` or ``OSError``."""
    if Path(name).name != name or name.startswith("."):
        raise SgfError("not the name of a file in the folder")
    path = next((p for p in (folder / name, folder / RECORDS / name) if p.exists()), None)
    if path is None:
        raise SgfError(f"no such record in the folder, or in its {RECORDS}/")
    if path.is_symlink():
        raise SgfError("a link, expected a file")
    with open_regular(path) as file:
        return load(file.read(sgf.MAX_BYTES + 1))


def scenario_of(record: GoRecord, moves: int, name: str) -> LadderScenario:
    """Return the longest ladder of the position after ``moves`` moves of a record.

    Where the next move of the record starts or answers a ladder, that one is meant. Past positions and a ko
    are not part of it.

    Raises:
        SgfError: Fewer moves, moves that the rules refuse, or no ladder of at least :data:`LEAST` plies.
    """
    if moves > len(record.moves):
        raise SgfError(f"the record has {len(record.moves)} moves, expected at least {moves}")
    cut = dataclasses.replace(record, moves=record.moves[:moves])
    converted = go_match.replay_of(cut)
    if converted.moves < moves:
        raise SgfError(f"the rules allow {converted.moves} of {moves} moves")
    view = from_json(replays.frames(converted.replay, 1 << 20)[-1])
    cells: list[int] = view["cells"]
    seat, played = int(view["to_move"]), -1
    if moves < len(record.moves):
        colour, point = record.moves[moves]
        seat = "BW".index(colour)
        played = -1 if point is None else point[1] * record.size + point[0]
    stones = [frozenset(p for p, c in enumerate(cells) if c == s) for s in (0, 1)]
    ladders = list(_ladders(record.size, stones, seat))
    if not ladders:
        raise SgfError(f"no ladder of at least {LEAST} plies for the side to move")
    chain, role, reading = max(ladders, key=lambda x: (played in x[2].tries, len(x[2].line), -x[0]))
    return LadderScenario(
        name=name,
        size=record.size,
        black=tuple(sorted(stones[0])),
        white=tuple(sorted(stones[1])),
        chain=chain,
        seat=seat,
        to_move=role,
        length=len(reading.line),
        works=reading.taken,
        moves=reading.right or reading.tries,
        right=reading.right,
    )


def _ladders(size: int, stones: list[frozenset[int]], seat: int) -> Iterator[tuple[int, Role, LadderReading]]:
    """Yield a stone, the role of ``seat`` and the reading of each ladder."""
    position = LadderScenario(
        name="", size=size, black=tuple(stones[0]), white=tuple(stones[1]), chain=0, seat=seat,
        to_move="attacker", length=0, works=False, moves=(), right=(),
    )  # fmt: skip
    match: Match = position.match()
    roles: tuple[tuple[int, Role, int], ...] = ((1 - seat, "attacker", 2), (seat, "defender", 1))
    for owner, role, liberties in roles:
        left = set(stones[owner])
        while left:
            point = min(left)
            chain, free = chain_liberties(size, stones[owner], stones[1 - owner], point)
            left -= chain
            if len(free) != liberties:
                continue
            reading = read_ladder(match, point, role == "defender")
            if reading.settled and len(reading.line) >= LEAST:
                yield point, role, reading
