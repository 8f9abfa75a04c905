"""Records for people: numbers of a small league by hand, and agreement with the live state."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from statistics import NormalDist

import pytest

from ludus.flow.league import Tally
from ludus.league.events import AnyEvent, Copied, Frozen, Joined, Reset, Results, to_row
from ludus.league.record import Entrant, Met, Record
from ludus.league.strengths import LEAST_SIGMA, _skills, strengths
from ludus.league.summary import against, lineage, payoff, players, status, the_newest, tree
from ludus.ratings.trueskill import POINTS
from ludus.reporting.run_view import RunView
from ludus.storage import CorruptFile
from ludus.storage.journal import Journal
from tests.unit.league.recorded import EVENTS, RATE, recorded_run
from tests.unit.league.run_league import Run


@pytest.fixture
def record() -> Record:
    return Record().read(to_row(e, n, 1e9 + n) for n, e in enumerate(EVENTS, 1))


def test_members_and_what_happened_to_them(record: Record) -> None:
    shown = status(record, "running")
    assert (shown.state, shown.events, shown.frozen, shown.ignored) == ("running", len(EVENTS), 3, {})
    assert shown.matches == 40 + 40 + 20 + 40 + 10 + 10  # without main against itself
    main, ex, p0, _ = shown.members
    assert (main.version, main.steps, main.frozen, main.last_frozen_steps) == (100, 1000, 2, 1000)
    assert (main.asked, ex.asked, p0.asked) == ("frozen main:100 (beats)", "reset seed", "mutated")
    assert p0.hyper == {RATE: 3e-4}
    assert p0.mean_return is None  # its weights are p1's
    assert main.win_rate == pytest.approx((31 / 42 + 39 / 42) / 2, abs=0.02)  # decayed: nearly all of 40
    assert ex.win_rate is None


def test_players_with_their_scores_and_files(record: Record) -> None:
    rows = {row.player: row for row in players(record, {"main:0"})}
    assert list(rows) == ["main", "ex", "p0", "p1", "random", "main:0", "main:100", "ex:50"]
    assert (rows["main:100"].parent, rows["main:100"].reason, rows["main:100"].steps) == (
        "main:0",
        "beats",
        1000,
    )
    assert (rows["random"].matches, rows["random"].score) == (60, (2 + 8) / 60)
    assert (rows["main:0"].file, rows["main:100"].file) == (True, False)
    assert rows["main"].matches == 40 + 40 + 40


def test_payoff_by_hand(record: Record) -> None:
    table = payoff(record, ["main:0", "random"])
    assert (table.wins[0][1], table.draws[0][1], table.losses[0][1]) == (12, 0, 8)
    assert table.rate[0][1] == pytest.approx((12 + 1) / 22)
    assert table.low[0][1] < table.rate[0][1] < table.high[0][1]
    assert table.rate[1][0] == pytest.approx(1 - table.rate[0][1])
    assert the_newest(record, 6) == ["main", "ex", "p0", "p1", "random", "ex:50"]
    hardest = against(record, "main")
    assert [(row.opponent, row.wins, row.losses) for row in hardest[-1:]] == [("random", 36, 0)]
    assert hardest[-1].tags == {"bot": 40}


def test_rates_fade_by_the_decay_of_the_run(tmp_path: Path) -> None:
    run = recorded_run(tmp_path / "run")
    assert payoff(RunView(run).league(), ["main", "main:0"]).rate[0][1] == pytest.approx(0.736, abs=0.001)
    run.config.write_text("[league]\ndecay = 0.5\n")
    assert payoff(RunView(run).league(), ["main", "main:0"]).rate[0][1] == pytest.approx(2.5 / 4, abs=0.001)
    run.config.write_text("[league]\ndecay = 7\n")
    with pytest.raises(CorruptFile, match=r"league\.decay"):
        RunView(run).league()


def test_lineage_starts_lines_of_their_own(record: Record) -> None:
    lines = tree(record)
    assert [line.split("  ")[0] for line in lines] == ["main:0", "main:100", "ex:50", "p0 copied p1"]
    more = [*EVENTS, Results("ex", 1, 900, 90, 90), Frozen("ex", 90, "beats")]
    grown = Record().read(to_row(e, n) for n, e in enumerate(more, 1))
    assert [m.what for m in lineage(grown)][-1] == "frozen"
    assert any(line.startswith("ex:90") for line in tree(grown))


def test_a_member_that_was_reset_to_its_seed_has_a_line_of_its_own() -> None:
    events: list[AnyEvent] = [
        Joined("ex", "learner", "fsp"),
        Frozen("ex", 0),
        Frozen("ex", 50),
        Reset("ex", "seed"),
        Frozen("ex", 90),
        Frozen("ex", 95),
    ]
    grown = Record().read(to_row(e, n) for n, e in enumerate(events, 1))
    lines = tree(grown)
    assert [line.split("  0 steps")[0] for line in lines] == ["ex:0", "  ex:90", "  ex:95", "ex:50"]


def test_events_that_the_league_ignores_change_nothing(record: Record) -> None:
    twice = [EVENTS[0], EVENTS[4], EVENTS[5], EVENTS[6], Reset("ex", "main:7"), Copied("p0", "p9", {})]
    before = len(record.entrants), len(record.history), len(record.milestones), status(record, "").members
    for number, event in enumerate(twice, len(EVENTS) + 1):
        record.add(to_row(event, number))
    assert sum(record.league.ignored.values()) >= len(twice)
    assert before == (
        len(record.entrants), len(record.history), len(record.milestones), status(record, "").members,
    )  # fmt: skip


def test_live_weights_are_a_new_entrant_after_each_freeze(record: Record) -> None:
    mains = [e for e in record.entrants if e.name == "main"]
    assert [e.shown for e in mains] == [False, False, True]
    assert isinstance(mains[0], Entrant)
    met = [record.entrants[h.i].shown for h in record.history if isinstance(h, Met)]
    assert met[0] is False  # main's matches before main:100 do not count for main today
    points, matches = record.points()
    assert points.sum() == matches.sum() / 2 == 160


def test_ratings_are_anchored_and_ordered(record: Record) -> None:
    shown = strengths(record)
    rated = {s.player: s for s in shown.players}
    assert shown.anchors == {"random": 0.0}
    assert (rated["random"].rating, rated["random"].error, rated["random"].skill) == (0.0, 0.0, 0.0)
    assert (rated["main:0"].rating or 0.0) > 0
    assert rated["main"].rating is not None  # ex met it since main:100
    assert (rated["ex"].rating, rated["ex"].matches) == (None, 0)  # new since its reset
    shares = [s.nash_share for s in shown.players if s.nash_share is not None]
    assert sum(shares) == pytest.approx(1.0)
    moved = {s.player: s for s in strengths(record, {"main:0": 500.0}).players}
    assert moved["main:0"].rating == 500.0
    with pytest.raises(ValueError, match="did you mean main:"):
        strengths(record, {"main:1": 0.0})


def test_skill_gives_the_probability_to_win() -> None:
    events: list[AnyEvent] = [
        Joined("main", "learner", "main"),
        Joined("random", "bot"),
        Joined("simple", "bot"),
        Frozen("main", 0),
    ]
    rounds: list[AnyEvent] = [
        Results(
            "main", k, k, k, k,
            (
                Tally("main:0", "random", 0, "rating", 80, 0, 20),
                Tally("main:0", "simple", 0, "rating", 50, 0, 50),
            ),
        )
        for k in range(200)
    ]  # fmt: skip
    record = Record().read(to_row(e, n) for n, e in enumerate([*events, *rounds], 1))
    rated = {s.player: s for s in strengths(record).players}
    lead = (rated["main:0"].skill or 0.0) - (rated["random"].skill or 0.0)
    assert NormalDist(sigma=POINTS).cdf(lead) == pytest.approx(0.8, abs=0.03)
    assert abs((rated["simple"].skill or 0.0) - (rated["main:0"].skill or 0.0)) < 0.1 * POINTS
    assert rated["main:0"].rating == pytest.approx(400 * 0.602, abs=5)  # odds of 4 to 1
    assert len(_skills(record)) == 3


def test_a_skill_that_is_known_may_change_after_a_freeze() -> None:
    tally = Tally("main", "random", 0, "bot", 500, 0, 500)
    events: list[AnyEvent] = [
        Joined("main", "learner", "main"),
        Joined("random", "bot"),
        Results("main", 0, 1, 1, 1, (tally,)),
        Frozen("main", 1),
    ]
    record = Record().read(to_row(e, n) for n, e in enumerate(events, 1))
    past, live = _skills(record)[0], _skills(record)[len(record.entrants) - 1]
    assert past.sigma < 0.5 < live.sigma == LEAST_SIGMA
    assert live.mu == past.mu


def test_pairs_that_never_met_count_as_their_ratings_expect() -> None:
    """main:2 beats main:1, which beats random: random has no share in a mixture that is not beaten."""
    events: list[AnyEvent] = [
        Joined("main", "learner", "main"),
        Joined("random", "bot"),
        Frozen("main", 1),
        Frozen("main", 2),
        Results(
            "main", 0, 1, 1, 1,
            (
                Tally("main:2", "main:1", 0, "rating", 80, 0, 20),
                Tally("main:1", "random", 0, "rating", 80, 0, 20),
            ),
        ),
    ]  # fmt: skip
    record = Record().read(to_row(e, n) for n, e in enumerate(events, 1))
    shares = {s.player: s.nash_share for s in strengths(record).players if s.nash_share is not None}
    assert shares["main:2"] == pytest.approx(1.0, abs=1e-3)
    assert shares["random"] == pytest.approx(0.0, abs=1e-3)


def test_a_killed_leagues_record_agrees_with_its_state(tmp_path: Path) -> None:
    path = tmp_path / "league.sqlite"
    run = Run(path)
    for _ in range(60):
        run.round()
    run.commit()
    with Journal.read(path) as journal:  # the writer is still open
        record = Record().read(journal.rows())
    assert [p.name for p in record.players] == [p.name for p in run.league.standings.players]
    mine, live = record.league.standings.payoff, run.league.standings.payoff
    assert mine.total() == live.total() > 0
    assert mine.state() == live.state()
    assert {m.name: m.hyper for m in record.members} == {
        m: s.hyper for m, s in run.league.standings.members.items()
    }
    run.journal.close()


@pytest.mark.parametrize(
    "event",
    [
        Joined("main\x1b[2J", "learner", "main"),
        Joined("main", "learner", "mian"),
        Joined("main", "learner", "main", {"a\nb": 1.0}),
    ],
)
def test_names_that_no_terminal_should_show_are_refused(event: Joined) -> None:
    with pytest.raises(ValueError, match="event 1"):
        Record().add(to_row(event, 1))


def test_reading_a_record_loads_no_torch() -> None:
    imports = "import sys, ludus.reporting.run_view, ludus.league.strengths"
    code = f"{imports}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
