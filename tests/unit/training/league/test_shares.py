"""The matches of a league follow its rules: a rule's share of them is its share of the draws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from ludus.flow import Order
from ludus.league.orders import OrderBook
from ludus.league.quotas import Key, Matchup, Quotas, QuotaState
from ludus.presets.file import parse_preset
from ludus.storage import RunDirectory
from ludus.storage.journal import Journal
from ludus.training.runs import start_run

SHARES = """
[game]
name = "{game}"
[pool]
slots = 16
rollout_length = 16
threads = 1
[policy]
dense = []
hidden = [4]
[algorithm]
minibatches = 1
[evaluation]
every_steps = 0
matches = 0
final_matches = 0
[run]
max_steps = {steps}
lag = "sync"
threads = 1
precision = "float32"
[league]
rating_share = 0.1
lanes = {lanes}
[[league.players]]
name = "main"
meet = [{{rule = "pfsp", weight = 0.65}}, {{rule = "latest", weight = 0.35}}]
freeze = {{rule = "period", steps = {freeze}}}
[[league.players]]
name = "exploiter"
role = "main_exploiter"
freeze = {{rule = "period", steps = {freeze}}}
"""

WEIGHTS = {
    "main": {"pfsp": 0.585, "latest": 0.315, "rating": 0.1},
    "exploiter": {"main": 0.9, "rating": 0.1},
}


def shares(directory: Path, game: str, lanes: int, steps: int) -> tuple[int, dict[str, dict[str, float]]]:
    """Matches of a run in all, and by member and tag."""
    text = SHARES.format(game=game, lanes=lanes, steps=steps, freeze=steps // 12)
    start_run(parse_preset(text.encode(), "shares").preset, directory)
    counts: dict[str, Counter[str]] = {name: Counter() for name in WEIGHTS}
    with Journal.read(RunDirectory.open(directory).league) as journal:
        for row in journal.rows():
            for t in row.tallies:
                counts[row.member][t.tag] += t.wins + t.draws + t.losses
    found = {name: {tag: n / of.total() for tag, n in of.items()} for name, of in counts.items()}
    return sum(of.total() for of in counts.values()), found


@pytest.mark.parametrize(
    "lanes", [pytest.param(4, marks=pytest.mark.slow), 8, pytest.param(16, marks=pytest.mark.slow)]
)
def test_matches_follow_the_weights(tmp_path: Path, lanes: int) -> None:
    matches, found = shares(tmp_path / "run", "matrix", lanes, 12_000)
    assert matches > 8_000
    for name, weights in WEIGHTS.items():
        assert found[name] == pytest.approx(weights, abs=0.015), name


@pytest.mark.slow
@pytest.mark.parametrize("game", ["matrix", "kuhn_poker"])
@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_fifty_thousand_matches_follow_the_weights(tmp_path: Path, game: str, lanes: int) -> None:
    matches, found = shares(tmp_path / "run", game, lanes, 70_000)
    assert matches > 40_000
    for name, weights in WEIGHTS.items():
        assert found[name] == pytest.approx(weights, abs=0.01), name


class Pool:
    """A pool in which the players decide how long a match lasts, with a batch of orders each round."""

    def __init__(self, lanes: int, slots: int = 32, ticks: int = 20) -> None:
        self.lanes, self.slots, self.ticks = lanes, slots, ticks
        self.quotas, self.random = Quotas(QuotaState()), np.random.default_rng(7)
        self.played, self.drawn = Counter[Key](), Counter[Key]()
        self.orders = 0
        self.standing: list[Key] = []
        self.in_play: list[Key] = []
        self.left = [0.0] * slots

    def draw(self) -> Order:
        """Draw one of ten opponents, by weight, for half of the orders, and a pair for one in ten."""
        mark = self.random.random()
        players, tag = ("main", "main"), "latest"
        if mark < 0.5:
            players, tag = ("main", f"g{self.random.choice(10, p=np.arange(1, 11) / 55)}"), "pfsp"
        elif mark < 0.6:
            first, second = self.random.choice(30, 2, replace=False)
            players, tag = (f"r{first}", f"r{second}"), "rating"
        self.orders += 1
        return Order(self.orders, "main", players, (tag,))

    def fits(self, matchups: Sequence[Matchup]) -> bool:
        return len({p for m in matchups for p in m.players if p != "main"}) <= self.lanes // 2

    def round(self) -> None:
        now = Counter(self.in_play)
        matches = self.quotas.missing(self.slots, now)
        orders = [self.draw() for _ in range(min(matches, 512))]
        self.drawn.update((o.players, o.tags) for o in orders)
        self.quotas.enter(orders, matches, now)
        batch = self.quotas.next_batch(self.slots, self.slots, now, self.fits)
        assert sum(placed.slots for placed in batch) == self.slots
        assert self.fits([placed.matchup for placed in batch]) or len(batch) == 1
        self.standing = [(p.matchup.players, p.matchup.tags) for p in batch for _ in range(p.slots)]
        self.in_play = self.in_play or list(self.standing)
        for slot in range(self.slots):
            self.left[slot] += self.ticks
            while self.left[slot] >= (length := self.length(self.in_play[slot])):
                self.left[slot] -= length
                self.played[self.in_play[slot]] += 1
                self.quotas.played(Order(0, "main", *self.in_play[slot]), 1)
                self.in_play[slot] = self.standing[slot]

    def length(self, key: Key) -> float:
        """Ticks of a match: ten times as many against oneself."""
        return {"latest": 20.0, "pfsp": 2.0, "rating": 7.0}[key[1][0]]


@pytest.mark.parametrize(
    "lanes", [2, pytest.param(4, marks=pytest.mark.slow), 8, pytest.param(16, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("ticks", [3, 20, 70])
def test_neither_batches_nor_lengths_of_matches_change_the_shares(lanes: int, ticks: int) -> None:
    pool = Pool(lanes, ticks=ticks)
    while pool.played.total() < 30_000:
        pool.round()
    total = pool.played.total()
    tags = Counter[str]()
    for (_, (tag,)), matches in pool.played.items():
        tags[tag] += matches
    assert {tag: n / total for tag, n in tags.items()} == pytest.approx(
        {"latest": 0.4, "pfsp": 0.5, "rating": 0.1}, abs=0.01
    )
    opponents = [pool.played[("main", f"g{k}"), ("pfsp",)] / tags["pfsp"] for k in range(10)]
    assert opponents == pytest.approx(np.arange(1, 11) / 55, abs=0.02)
    if lanes >= 4 and ticks <= 20:  # chi-square, 9 degrees of freedom, 99.9%
        expected = np.arange(1, 11) / 55
        assert tags["pfsp"] * ((np.array(opponents) - expected) ** 2 / expected).sum() < 27.9


def test_a_league_of_poker_counts_chips(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every result that is counted has the returns of its match, and the range of the preset."""
    seen: list[float] = []
    attribute = OrderBook.attribute

    def watched(self: OrderBook, *args: object, **more: object) -> None:
        assert more["score_range"] == 4.0
        seen.extend(args[1])  # type: ignore[arg-type]
        attribute(self, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(OrderBook, "attribute", watched)
    text = SHARES.format(game="kuhn_poker", lanes=8, steps=1000, freeze=200)
    text = text.replace("[league]", '[league]\nscore = "return"\nscore_range = 4')
    start_run(parse_preset(text.encode(), "chips").preset, tmp_path / "run")
    assert set(seen) == {-2.0, -1.0, 1.0, 2.0}
    with Journal.read(RunDirectory.open(tmp_path / "run").league) as journal:
        tallies = [t for row in journal.rows() for t in row.tallies]
    assert sum(t.wins for t in tallies) > 50
    assert sum(t.losses for t in tallies) > 50
