"""Ladders of Go: positions in which one is decided, with the answers of an exact reader.

A ladder is a run of ataris at a chain that has at most two liberties. Its outcome is far away from where it
starts, so it shows whether a player reads (Tian et al. 2019, ELF OpenGo, section 4). :func:`ladder_suite`
builds positions of growing length, :mod:`ludus.games.records.ladder_files` reads the authors' own.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Literal, NamedTuple

import msgspec

from ludus.flow.inputs.decode import from_json
from ludus.games.go import vertex
from ludus.games.match import Match
from ludus.native import core

BUDGET = 20_000  # moves that are read of a ladder
#: Sizes of boards with room for ladders.
SIZES = range(7, 20)
MOST = 10_000  # scenarios of a suite
_LEAST = 3  # plies of a ladder of a suite
_TRIES = 400  # positions that are drawn for a pair
_CELLS = ((1, 0), (-1, 0), (0, 1), (0, -1))

Role = Literal["attacker", "defender"]


class LadderReading(msgspec.Struct, frozen=True):
    """Outcome of a ladder for a chain.

    Attributes:
        taken: Whether the chain is taken when both sides play their best moves of the ladder.
        settled: Whether the budget was enough. Otherwise ``taken`` is false unless it is certain.
        reads: Moves that were read.
        line: Principal line, point by point: the winner takes the shortest way, the loser the longest.
        tries: First moves that were read: ataris, or moves that may save the chain.
        right: The moves of ``tries`` that take or save it.
    """

    taken: bool
    settled: bool
    reads: int
    line: tuple[int, ...]
    tries: tuple[int, ...]
    right: tuple[int, ...]


def read_ladder(match: Match, point: int, owner_moves: bool, budget: int = BUDGET) -> LadderReading:
    """Read the ladder of a chain of one or two liberties, or of one in atari if its owner moves.

    A chain with more liberties is not taken. Simple ko is respected; a chain that its owner leaves in atari
    counts as taken.

    Args:
        match: A match of Go.
        point: A stone of the chain.
        owner_moves: Whether the owner of the chain moves first.
        budget: The largest number of moves that are read, 1 to 1,000,000.

    Raises:
        ParamError: A match of another game, no such point, or a budget out of range.
    """
    return from_json(core.go_read_ladder(match.handle, point, owner_moves, budget), LadderReading)


class LadderScenario(msgspec.Struct, frozen=True):
    """A position with one question: does it pay to run the ladder?

    Attributes:
        name: Name of the scenario within its suite.
        size: Lines of the board.
        black: Points of Black's stones.
        white: Points of White's stones.
        chain: A stone of the chain that the ladder is about.
        seat: The side to move, 0 = Black.
        to_move: Whether the side to move attacks the chain or owns it.
        length: Plies of the ladder until it is decided.
        works: Whether the chain is taken if the side to move plays its best.
        moves: Moves that run the ladder: ataris, or moves that might save the chain.
        right: The moves of ``moves`` that reach their aim; empty where running does not pay.
    """

    name: str
    size: int
    black: tuple[int, ...]
    white: tuple[int, ...]
    chain: int
    seat: int
    to_move: Role
    length: int
    works: bool
    moves: tuple[int, ...]
    right: tuple[int, ...]

    @property
    def pays(self) -> bool:
        """Whether running the ladder pays for the side to move."""
        return self.works == (self.to_move == "attacker")

    def params(self) -> dict[str, str]:
        """Return the parameters of the game ``go`` that set the position up."""
        stones = []
        for colour, points in (("black", self.black), ("white", self.white)):
            if points:
                stones += [colour, *(vertex(p, self.size).lower() for p in points)]
        first = ("black", "white")[self.seat]
        return {"size": str(self.size), "setup": " ".join(stones), "first": first}

    def match(self) -> Match:
        """Return a match in the position."""
        return Match("go", self.params())

    def answered(self, move: int) -> bool:
        """Return whether ``move`` is right: one that reaches its aim, or any other where none does."""
        return move in self.right if self.pays else move not in self.moves


class LadderTally(NamedTuple):
    """Right answers among scenarios."""

    right: int
    total: int


class LadderScore(msgspec.Struct, frozen=True):
    """Answers to a suite.

    Attributes:
        overall: All scenarios.
        paying: Scenarios in which running pays.
        failing: The others.
        roles: The scenarios of each role.
        lengths: The scenarios of each length in plies, rising.
    """

    overall: LadderTally
    paying: LadderTally
    failing: LadderTally
    roles: dict[str, LadderTally]
    lengths: dict[int, LadderTally]


def score(scenarios: Sequence[LadderScenario], answers: Sequence[int]) -> LadderScore:
    """Count right answers, one move a scenario. A coin that runs half of the ladders gets half of a suite.

    Raises:
        ValueError: Not as many answers as scenarios.
    """
    if len(scenarios) != len(answers):
        raise ValueError(f"{len(answers)} answers to {len(scenarios)} ladders")
    right = [s.answered(move) for s, move in zip(scenarios, answers, strict=True)]

    def tally(wanted: Iterable[bool]) -> LadderTally:
        mine = [r for r, w in zip(right, wanted, strict=True) if w]
        return LadderTally(sum(mine), len(mine))

    return LadderScore(
        overall=LadderTally(sum(right), len(right)),
        paying=tally(s.pays for s in scenarios),
        failing=tally(not s.pays for s in scenarios),
        roles={role: tally(s.to_move == role for s in scenarios) for role in ("attacker", "defender")},
        lengths={n: tally(s.length == n for s in scenarios) for n in sorted({s.length for s in scenarios})},
    )


def ladder_suite(size: int, seed: int = 1, count: int = 100) -> tuple[LadderScenario, ...]:
    """Return ladders on a board of ``size`` lines, shortest first; half of them pay.

    They come in pairs: one stone makes a ladder that works fail, or one that fails work. Both roles, colours
    and all eight symmetries of the board occur. Equal arguments give equal suites.

    Args:
        size: Lines of the board, 7 to 19.
        seed: Determines the positions.
        count: Scenarios, an even number from 2 to 10,000.

    Raises:
        ValueError: An argument out of range.
    """
    if size not in SIZES:
        raise ValueError(f"size is {size}, expected {SIZES[0]} to {SIZES[-1]}")
    if not 2 <= count <= MOST or count % 2:
        raise ValueError(f"count is {count}, expected an even number from 2 to {MOST}")
    rng = random.Random(f"{size} {seed}")
    pairs: list[tuple[LadderScenario, LadderScenario]] = []
    seen: set[tuple[object, ...]] = set()
    while len(pairs) < count // 2:
        role: Role = "attacker" if len(pairs) % 2 == 0 else "defender"
        pair = _pair(size, role, rng)
        key = tuple((s.black, s.white, s.seat) for s in pair)
        if key not in seen:
            seen.add(key)
            pairs.append(pair)
    pairs.sort(key=lambda pair: max(s.length for s in pair))
    numbered = enumerate((s for pair in pairs for s in pair), 1)
    return tuple(msgspec.structs.replace(s, name=f"{size}x{size}-{n:03}") for n, s in numbered)


class _Board(NamedTuple):
    """Stones of a ladder; the chain is the defender's."""

    size: int
    attacker: frozenset[int]
    defender: frozenset[int]
    chain: int

    def scenario(self, role: Role, colours: tuple[int, int]) -> LadderScenario:
        """Return the position with ``colours`` of attacker and defender, without an answer."""
        stones = {colours[0]: self.attacker, colours[1]: self.defender}
        black, white = (tuple(sorted(stones[c])) for c in (0, 1))
        seat = colours[0] if role == "attacker" else colours[1]
        return LadderScenario(
            name="", size=self.size, black=black, white=white, chain=self.chain, seat=seat, to_move=role,
            length=0, works=False, moves=(), right=(),
        )  # fmt: skip

    def near(self, points: Iterable[int], distance: int) -> set[int]:
        """Return the points within ``distance`` columns and rows of ``points``."""
        out: set[int] = set()
        for p in points:
            row, column = divmod(p, self.size)
            rows = range(max(row - distance, 0), min(row + distance + 1, self.size))
            columns = range(max(column - distance, 0), min(column + distance + 1, self.size))
            out |= {r * self.size + c for r in rows for c in columns}
        return out

    def with_stone(self, attacks: bool, point: int) -> _Board:
        """Return the board with one stone more."""
        if attacks:
            return self._replace(attacker=self.attacker | {point})
        return self._replace(defender=self.defender | {point})

    def turned(self, symmetry: int) -> _Board:
        """Return the board under one of the eight symmetries."""

        def turn(p: int) -> int:
            row, column = divmod(p, self.size)
            if symmetry & 1:
                row = self.size - 1 - row
            if symmetry & 2:
                column = self.size - 1 - column
            if symmetry & 4:
                row, column = column, row
            return row * self.size + column

        return _Board(
            self.size,
            frozenset(map(turn, self.attacker)),
            frozenset(map(turn, self.defender)),
            turn(self.chain),
        )


def _read(board: _Board, role: Role) -> LadderReading:
    scenario = board.scenario(role, (0, 1))
    return read_ladder(scenario.match(), board.chain, role == "defender")


def _pair(size: int, role: Role, rng: random.Random) -> tuple[LadderScenario, LadderScenario]:
    """Return two positions that differ by a stone and by the ladder's outcome, in a random order."""
    for _ in range(_TRIES):
        works = _opened(size, role, rng)
        if works is None:
            continue
        line = _read(works, role).line
        fails = _changed(works, role, works=False, path=line, rng=rng)
        if fails is None:
            continue
        if rng.random() < 0.5:  # the pair differs by a stone of the attacker
            again = _changed(fails, role, works=True, path=line, rng=rng)
            works = again or works
        pair = _decorated(works, fails, role, rng)
        if pair is not None:
            return pair
    raise RuntimeError(f"no ladder of a {role} in {_TRIES} positions on {size}x{size}")


def _opened(size: int, role: Role, rng: random.Random) -> _Board | None:
    """Return a ladder that works, towards the lower right, some plies after its start."""
    far = rng.randint(1, size - 3)
    column, row = rng.sample((far, rng.randint(1, far)), 2)

    def at(dx: int, dy: int) -> int:
        return (row + dy) * size + column + dx

    board = _Board(size, frozenset((at(-1, 0), at(0, -1), at(-1, 1))), frozenset((at(0, 0),)), at(0, 0))
    plies = rng.choice((0, 2, 4)) + (role == "defender")
    for ply, point in enumerate(_read(board, "attacker").line[:plies]):
        board = board.with_stone(ply % 2 == 0, point)
    reading = _read(board, role)
    return board if reading.taken and reading.settled and len(reading.line) >= _LEAST else None


def _changed(
    board: _Board, role: Role, *, works: bool, path: Sequence[int], rng: random.Random
) -> _Board | None:
    """Return the board with one stone more, near the ladder's path, so that the ladder ``works`` or not."""
    first = {board.chain, *path[:1]}
    free = board.near(path, 1) - board.attacker - board.defender - first
    candidates = sorted(free)
    rng.shuffle(candidates)
    for point in candidates:
        changed = board.with_stone(works, point)
        if not _stands(changed):
            continue
        reading = _read(changed, role)
        if reading.taken == works and reading.settled and len(reading.line) >= _LEAST:
            return changed
    return None


def _stands(board: _Board) -> bool:
    """Return whether every chain of the board has a liberty."""
    sides = ((board.attacker, board.defender), (board.defender, board.attacker))
    return all(chain_liberties(board.size, mine, other, p)[1] for mine, other in sides for p in mine)


def chain_liberties(
    size: int, mine: Set[int], others: Set[int], point: int
) -> tuple[frozenset[int], frozenset[int]]:
    """Return the stones and the liberties of the chain at ``point``.

    Args:
        size: Lines of the board.
        mine: Stones of the chain's colour.
        others: Stones of the other colour.
        point: A stone of the chain.
    """
    chain, grown, liberties = {point}, [point], set()
    while grown:
        for q in _neighbours(grown.pop(), size):
            if q in mine and q not in chain:
                chain.add(q)
                grown.append(q)
            elif q not in mine and q not in others:
                liberties.add(q)
    return frozenset(chain), frozenset(liberties)


def _neighbours(point: int, size: int) -> Iterator[int]:
    row, column = divmod(point, size)
    for dx, dy in _CELLS:
        if 0 <= row + dy < size and 0 <= column + dx < size:
            yield (row + dy) * size + column + dx


def _decorated(
    works: _Board, fails: _Board, role: Role, rng: random.Random
) -> tuple[LadderScenario, LadderScenario] | None:
    """Return both boards as scenarios, with stones far from the ladder, turned; None: a stone changed it."""
    readings = (_read(works, role), _read(fails, role))
    stones = works.attacker | works.defender | fails.attacker | fails.defender
    zone = works.near([*stones, *readings[0].line, *readings[1].line], 2)
    boards = [works, fails]
    for _ in range(rng.randint(0, works.size)):
        free = sorted(set(range(works.size**2)) - zone)
        if not free:
            break
        point, attacks = rng.choice(free), rng.random() < 0.5
        boards = [board.with_stone(attacks, point) for board in boards]
        zone |= works.near([point], 1)
    symmetry, colours = rng.randrange(8), rng.choice(((0, 1), (1, 0)))
    turned = [board.turned(symmetry) for board in boards]
    scenarios = [board.scenario(role, colours) for board in turned]
    final = [read_ladder(s.match(), s.chain, role == "defender") for s in scenarios]
    if [r.taken for r in final] != [True, False] or not all(r.settled for r in final):
        return None
    if [len(r.line) for r in final] != [len(r.line) for r in readings]:
        return None
    asked = final[0].right if role == "attacker" else final[1].right
    done = [
        msgspec.structs.replace(
            s, length=len(r.line), works=r.taken, moves=asked, right=asked if r.right else ()
        )
        for s, r in zip(scenarios, final, strict=True)
    ]
    rng.shuffle(done)
    return done[0], done[1]
