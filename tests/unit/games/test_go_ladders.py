"""Ladders of Go: the solver against a slow search, generated suites, and scoring."""

from __future__ import annotations

import functools
import random

import pytest

from ludus.games.go import point_of
from ludus.games.go_ladders import (
    LadderScenario,
    chain_liberties,
    ladder_suite,
    read_ladder,
    score,
)
from ludus.games.match import Match
from ludus.native import ParamError

SIZE = 7
Stones = tuple[frozenset[int], frozenset[int]]


# --- a separate search over sets of points ---------------------------------


def _free(stones: Stones, colour: int, point: int) -> frozenset[int]:
    return chain_liberties(SIZE, stones[colour], stones[1 - colour], point)[1]


def _play(stones: Stones, ko: int, colour: int, point: int) -> tuple[Stones, int] | None:
    """The stones and the point of a ko after a move; None: it is not allowed."""
    if point in stones[0] | stones[1] or point == ko:
        return None
    mine, others = stones[colour] | {point}, stones[1 - colour]
    taken: set[int] = set()
    for q in others & _around(point):
        chain, free = chain_liberties(SIZE, others, mine, q)
        if not free:
            taken |= chain
    others -= taken
    chain, free = chain_liberties(SIZE, mine, others, point)
    if not free:
        return None
    next_ko = min(taken) if len(taken) == 1 and len(chain) == 1 and len(free) == 1 else -1
    after = (mine, others) if colour == 0 else (others, mine)
    return after, next_ko


def _replies(stones: Stones, owner: int, point: int) -> set[int]:
    chain, free = chain_liberties(SIZE, stones[owner], stones[1 - owner], point)
    tries = set(free)
    for q in stones[1 - owner] & frozenset().union(*map(_around, chain)):
        last = _free(stones, 1 - owner, q)
        tries |= last if len(last) == 1 else set()
    return tries


@functools.cache
def _around(point: int) -> frozenset[int]:
    row, column = divmod(point, SIZE)
    cells = ((row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1))
    return frozenset(r * SIZE + c for r, c in cells if 0 <= r < SIZE and 0 <= c < SIZE)


def _taken(stones: Stones, ko: int, owner: int, point: int, owner_moves: bool) -> bool:
    """Whether ataris alone take the chain."""
    return bool(_right(stones, ko, owner, point, owner_moves)) != owner_moves


@functools.cache
def _right(stones: Stones, ko: int, owner: int, point: int, owner_moves: bool) -> set[int]:
    """First moves that reach the aim of the side to move."""
    free = _free(stones, owner, point)
    right = set()
    if owner_moves:
        for q in _replies(stones, owner, point):
            played = _play(stones, ko, owner, q)
            if played is None:
                continue
            left = len(_free(played[0], owner, point))
            if left > 2 or (left == 2 and not _taken(*played, owner, point, False)):
                right.add(q)
        return right
    for q in free if len(free) <= 2 else ():
        played = _play(stones, ko, 1 - owner, q)
        if played is None:
            continue
        if len(free) == 1 or _taken(*played, owner, point, True):
            right.add(q)
    return right


def _position(rng: random.Random) -> Stones | None:
    points = rng.sample(range(SIZE * SIZE), rng.randint(6, 26))
    cut = rng.randint(len(points) // 3, 2 * len(points) // 3)
    stones = (frozenset(points[:cut]), frozenset(points[cut:]))
    alive = all(_free(stones, c, p) for c in (0, 1) for p in stones[c])
    return stones if alive else None


def _scenario(stones: Stones, seat: int) -> LadderScenario:
    return LadderScenario(
        name="", size=SIZE, black=tuple(stones[0]), white=tuple(stones[1]), chain=0, seat=seat,
        to_move="attacker", length=0, works=False, moves=(), right=(),
    )  # fmt: skip


@pytest.mark.parametrize("count", [40, pytest.param(200, marks=pytest.mark.slow)])
def test_the_solver_agrees_with_a_slow_search_on_random_positions(count: int) -> None:
    rng = random.Random(5)
    positions = ladders = taken = 0
    while positions < count:
        stones = _position(rng)
        if stones is None:
            continue
        positions += 1
        for seat in (0, 1):
            match = _scenario(stones, seat).match()
            for owner_moves in (False, True):
                owner = seat if owner_moves else 1 - seat
                for point in sorted(stones[owner])[:4]:
                    if len(_free(stones, owner, point)) > (1 if owner_moves else 2):
                        continue
                    reading = read_ladder(match, point, owner_moves)
                    assert reading.settled
                    assert set(reading.right) == _right(stones, -1, owner, point, owner_moves)
                    assert reading.taken == _taken(stones, -1, owner, point, owner_moves)
                    ladders += 1
                    taken += reading.taken
    assert ladders > 2 * count
    assert 0.2 < taken / ladders < 0.95


@pytest.mark.parametrize(("size", "count"), [(9, 24), (13, 8), (19, 8)])
def test_a_suite_has_the_answers_of_the_solver(size: int, count: int) -> None:
    suite = ladder_suite(size, seed=3, count=count)
    assert suite == ladder_suite(size, seed=3, count=count)
    assert suite != ladder_suite(size, seed=4, count=count)
    assert len({s.name for s in suite}) == len({(s.black, s.white) for s in suite}) == count
    assert sum(s.works for s in suite) == sum(s.pays for s in suite) == count // 2
    assert {s.to_move for s in suite} == {"attacker", "defender"}
    for s in suite:
        match = s.match()
        assert match.to_act == (s.seat,)
        reading = read_ladder(match, s.chain, s.to_move == "defender")
        assert (reading.taken, len(reading.line), reading.settled) == (s.works, s.length, True)
        assert set(s.right) == (set(s.moves) if s.pays else set())
        assert set(s.right) <= set(reading.right)
        assert set(s.moves) <= set(reading.tries)
        assert s.moves
        owner = s.black if s.chain in s.black else s.white
        assert (owner == (s.black, s.white)[s.seat]) == (s.to_move == "defender")
        for move in s.moves:
            assert match.legal(s.seat)[move]


def test_pairs_differ_by_a_stone_and_by_the_answer() -> None:
    suite = ladder_suite(9, seed=1, count=40)
    lengths = []
    for a, b in zip(suite[::2], suite[1::2], strict=True):
        assert (a.works, a.moves, a.chain, a.seat) == (not b.works, b.moves, b.chain, b.seat)
        one, other = ({*((0, p) for p in s.black), *((1, p) for p in s.white)} for s in (a, b))
        assert len(one ^ other) == 1
        lengths.append(max(a.length, b.length))
    assert lengths == sorted(lengths)
    assert lengths[-1] >= 2 * lengths[0]
    assert {s.seat for s in suite} == {0, 1}
    assert len({s.chain for s in suite}) > 10


def test_ladders_of_large_boards_are_long() -> None:
    assert max(s.length for s in ladder_suite(19, count=20)) > 30


def test_a_reader_scores_everything_and_a_coin_half() -> None:
    suite = ladder_suite(9, seed=2, count=60)
    far = [next(p for p in range(81) if p not in {*s.moves, *s.black, *s.white}) for s in suite]
    perfect = []
    for s, other in zip(suite, far, strict=True):
        right = read_ladder(s.match(), s.chain, s.to_move == "defender").right
        perfect.append(right[0] if right else other)
    result = score(suite, perfect)
    assert result.overall == result.overall._replace(right=60) == (60, 60)
    assert (result.paying, result.failing) == ((30, 30), (30, 30))
    assert result.roles == {"attacker": (30, 30), "defender": (30, 30)}
    assert sum(t.total for t in result.lengths.values()) == 60
    runner = score(suite, [s.moves[0] for s in suite])
    assert (runner.paying, runner.failing) == ((30, 30), (0, 30))
    coin = random.Random(7)
    thrown = [
        score(suite, [s.moves[0] if coin.random() < 0.5 else o for s, o in zip(suite, far, strict=True)])
        for _ in range(40)
    ]
    mean = sum(t.overall.right for t in thrown) / (40 * 60)
    assert abs(mean - 0.5) < 4 * (0.25 / (40 * 60)) ** 0.5


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="size is 6, expected 7 to 19"):
        ladder_suite(6)
    with pytest.raises(ValueError, match="count is 3, expected an even number from 2"):
        ladder_suite(9, count=3)
    with pytest.raises(ValueError, match="count is 10002, expected an even number from 2 to 10000"):
        ladder_suite(9, count=10_002)
    with pytest.raises(ValueError, match="1 answers to 2 ladders"):
        score(ladder_suite(9, count=2), [0])
    go = Match("go", {"size": 9})
    with pytest.raises(ParamError, match="budget: expected 1 to 1000000"):
        read_ladder(go, 0, False, 0)
    with pytest.raises(ParamError, match="go: no point 81"):
        read_ladder(go, 81, False)
    with pytest.raises(ParamError, match="expected a match of go"):
        read_ladder(Match("tic_tac_toe"), 0, False)


def test_a_small_budget_is_not_a_wrong_answer() -> None:
    (working,) = [s for s in ladder_suite(19, count=2) if s.works]
    whole = read_ladder(working.match(), working.chain, working.to_move == "defender")
    assert whole.taken
    short = read_ladder(working.match(), working.chain, working.to_move == "defender", 3)
    assert not short.settled
    assert short.line == ()
    assert point_of("A1", SIZE) == 42
    assert not read_ladder(Match("go", {"size": 9}), 40, False).taken
