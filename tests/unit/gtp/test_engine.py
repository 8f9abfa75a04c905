"""GTP: what each command answers, and what no line can do."""

from __future__ import annotations

import io
import itertools
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from ludus.games import go
from ludus.games.match import Match
from ludus.gtp import console
from ludus.gtp.clock import Clock
from ludus.gtp.engine import COMMANDS, STREAMS, Engine
from ludus.gtp.players import (
    RESIGN,
    BotPlayer,
    Expectation,
    MoveCandidate,
    MoveChoice,
    Restriction,
    SearchReport,
)


def engine(bot: str = "random", **params: str) -> Engine:
    return Engine(BotPlayer(bot), {"size": "9", "komi": "7", **params})


def ask(e: Engine, *lines: str) -> list[str]:
    """Answers without the empty line at their end."""
    out = []
    for line in lines:
        text = e.handle(line)
        assert text.endswith("\n\n"), (line, text)
        out.append(text[:-2])
    return out


def ok(e: Engine, *lines: str) -> str:
    """Return the last answer; all must be good."""
    answers = ask(e, *lines)
    assert all(a.startswith("=") for a in answers), answers
    return answers[-1][1:].strip()


def test_the_form_of_answers() -> None:
    e = engine()
    assert e.handle("  \t# only a comment\r\n") == ""
    assert ask(e, "12 protocol_version", "name # who", "7 quit\t", "13") == [
        "=12 2",
        "= Ludus",
        "=7",
        "?13 unknown command",
    ]
    assert e.done
    assert ask(engine(), "nonsense", "5 nonsense", "known_command play", "known_command plai") == [
        "? unknown command", "?5 unknown command", "= true", "= false"
    ]  # fmt: skip


def test_all_commands_that_gtp_requires_exist() -> None:
    required = (
        "protocol_version name version known_command list_commands quit boardsize clear_board komi "
        "fixed_handicap place_free_handicap set_free_handicap play genmove undo time_settings time_left "
        "final_score final_status_list loadsgf reg_genmove showboard"
    ).split()
    listed = ok(engine(), "list_commands").split("\n")
    assert set(required) <= set(listed)
    assert set(listed) == {*COMMANDS, *STREAMS}


def test_moves_captures_and_undo() -> None:
    e = engine()
    ok(e, "play b d4", "play W D5", "play black E5", "play white pass", "play b C5", "play b d6")
    assert go.is_legal(e.session.match, go.BLACK, go.point_of("d5", 9) or 0)  # taken
    assert "captured by black 1" in ok(e, "showboard")
    ok(e, "undo")
    assert "captured by black 0" in ok(e, "showboard")
    assert ask(e, "play w d4", "play w z9", "play w i5", "play x d5", "play w", "play w a10") == [
        "? illegal move",
        "? syntax error: expected a vertex such as D4, or pass",
        "? syntax error: expected a vertex such as D4, or pass",
        "? syntax error: expected a colour, b or w",
        "? syntax error: expected play COLOUR VERTEX",
        "? syntax error: expected a vertex such as D4, or pass",
    ]
    for _ in range(5):
        ok(e, "undo")
    assert ask(e, "undo") == ["? cannot undo"]


def test_the_match_continues_after_two_passes_and_out_of_turn() -> None:
    e = engine()
    ok(e, "play b pass", "play w pass")
    assert ok(e, "genmove b") != ""
    ok(e, "play b a1", "play b a2")
    assert len(e.session.moves) == 5


def test_size_komi_and_handicap() -> None:
    e = engine()
    assert ask(e, "boardsize 1", "boardsize 20", "boardsize x", "komi x", "komi 0.3", "komi nan") == [
        "? unacceptable size",
        "? unacceptable size",
        "? syntax error: expected a size from -1000000000 to 1000000000",
        "? syntax error: expected points",
        "? unacceptable komi: go.komi = 0.3: expected a multiple of 0.5",
        "? syntax error: expected points",
    ]
    ok(e, "boardsize 19", "komi -3.5")
    assert ok(e, "get_komi") == "-3.5"
    assert ok(e, "fixed_handicap 3") == "D16 Q16 D4"
    assert ask(e, "fixed_handicap 2") == ["? board not empty"]
    ok(e, "clear_board", "set_free_handicap A1 C3 T19")
    assert ok(e, "is_legal b c3") == "0"
    assert e.session.to_move == go.WHITE
    ok(e, "clear_board", "boardsize 9")
    assert ask(e, "set_free_handicap A1 A1", "set_free_handicap A1 pass", "fixed_handicap 10") == [
        "? bad vertex list", "? bad vertex list", "? syntax error: expected stones from 2 to 9"
    ]  # fmt: skip
    assert len(ok(e, "place_free_handicap 40").split()) == 9
    ok(e, "boardsize 5")
    assert ask(e, "fixed_handicap 2") == ["? invalid number of stones"]


def test_boards_of_two_to_four_lines() -> None:
    e = engine(scoring="tromp_taylor", ko="none")
    ok(e, "boardsize 2", "komi 0", "play b a1", "play w a2", "play b b2")  # takes a2
    assert ask(e, "play w c1") == ["? syntax error: expected a vertex such as D4, or pass"]
    assert ok(e, "is_legal w b1") == "0"  # no liberty, and nothing taken
    ok(e, "play w pass", "play b pass")
    assert ok(e, "final_score") == "B+4"
    ok(e, "boardsize 4", "genmove b")


def test_komi_changes_in_the_middle_of_a_match() -> None:
    e = engine(scoring="tromp_taylor")
    ok(e, "play b e5", "komi 0.5")
    assert ok(e, "final_score") == "B+80.5"
    ok(e, "komi 100")
    assert ok(e, "final_score") == "W+19"
    assert len(e.session.moves) == 1


def test_scores_and_dead_stones() -> None:
    # Black has the left (36 points), White the right (45); a black stone stands inside White's area without
    # hope. While it lives, the empty points around it are neutral: 37 points against 14. Komi is 7.
    for scoring, score, dead in (("tromp_taylor", "B+16", ""), ("chinese", "W+16", "J1")):
        e = engine(scoring=scoring, komi="7")
        for row in range(1, 10):
            for column, colour in (("D", "b"), ("E", "w")):
                ok(e, f"play {colour} {column}{row}")
        for stone in ("B2", "B4", "B6"):
            ok(e, f"play b {stone}")
        for stone in ("G2", "G4", "G6", "H2", "H8"):
            ok(e, f"play w {stone}")
        ok(e, "play b J1")
        assert ok(e, "final_score") == score
        assert ok(e, "final_status_list dead") == dead
        assert ok(e, "final_status_list seki") == ""
        assert ("J1" in ok(e, "final_status_list alive").split()) == (dead == "")
    assert ask(e, "final_status_list sleeping") == ["? syntax error: expected alive, dead or seki"]


def test_records_survive_a_round_trip(tmp_path: Path) -> None:
    e = engine()
    ok(e, "set_free_handicap c3 g7", "play w e5", "play b pass", "play w d5")
    board = ok(e, "showboard")
    path = tmp_path / "x.sgf"
    ok(e, f"printsgf {path}")
    other = engine("tactical")
    ok(other, f"loadsgf {path}")
    assert ok(other, "showboard") == board
    ok(other, f"loadsgf {path} 2")
    assert len(other.session.moves) == 1
    assert ask(other, f"loadsgf {tmp_path}/none", f"loadsgf {tmp_path}")[0].startswith("? cannot load file")
    assert ok(other, f"loadsgf {path}") == "black"
    assert ok(other, f"loadsgf {path} 1") == "white"


class Thinker:
    """A player with fixed moves, for the parts of the engine that a bot does not use."""

    name = "thinker"
    needs: Mapping[str, str] = {"size": "9"}

    def __init__(self, move: int, value: float) -> None:
        self.move, self.value = move, value
        self.seconds: list[float | None] = []

    def prepare(self, params: Mapping[str, str]) -> None:
        assert params["size"] == "9"

    def choose(self, match: Match, seconds: float | None) -> MoveChoice:
        self.seconds.append(seconds)
        return MoveChoice(
            self.move, self.value, (MoveCandidate(self.move, 10, self.value, 0.5, (self.move,)),)
        )

    def analyse(
        self, match: Match, interval: float, restrictions: Sequence[Restriction] = ()
    ) -> Iterator[SearchReport]:
        self.restrictions = tuple(restrictions)
        for visits in itertools.count(100, 100):
            yield report(visits)

    def deliberate(
        self,
        match: Match,
        seconds: float | None,
        interval: float,
        restrictions: Sequence[Restriction] = (),
    ) -> Iterator[SearchReport]:
        self.seconds.append(seconds)
        yield from (report(visits) for visits in (100, 200))

    def decide(self, match: Match) -> MoveChoice:
        return MoveChoice(self.move, self.value)

    def expect(self, matches: Sequence[Match]) -> list[Expectation]:
        return [Expectation(3.5 - m.tick, 2.0, (0.5,) * 81) for m in matches]


def report(visits: int) -> SearchReport:
    """Two moves with visits, two without."""
    tried = (
        MoveCandidate(40, visits, 0.2, 0.25, (40, 41), (visits, visits // 2)),
        MoveCandidate(0, 3, -1.0, 0.0),
    )
    return SearchReport(
        visits + 4, 0.1, (*tried, MoveCandidate(7, 0, 0.1, 0.05), MoveCandidate(8, 0, 0.1, 0.4))
    )


def test_resignation_illegal_choices_and_fixed_size() -> None:
    logged: list[str] = []
    e = Engine(Thinker(40, -0.95), resign=0.9, log=logged.append)
    assert ok(e, "genmove b") == "resign"
    assert ok(e, "reg_genmove w") == "resign"
    assert ask(e, "boardsize 13") == ["? unacceptable size"]
    e = Engine(Thinker(40, 0.0), log=logged.append)
    assert ok(e, "genmove b") == "E5"
    assert ok(e, "genmove w") == "pass"
    assert "illegal" in logged[-2]
    assert Engine(Thinker(RESIGN, 0.0)).handle("genmove b") == "= resign\n\n"


def test_analysis_continues_until_the_next_line() -> None:
    out = io.StringIO()
    lines = io.BytesIO(
        b"1 lz-analyze b 10\n2 kata-analyze interval 5\nname\n" + b"x" * 100_000 + b"\n5 quit\n"
    )
    console.run(Engine(Thinker(40, 0.0)), lines, out)
    answers = out.getvalue().split("\n\n")
    assert answers[0].startswith(
        "=1\ninfo move E5 visits 100 winrate 6000 prior 2500 lcb 3551 order 0 pv E5 F5 info move A9"
    )
    assert answers[1].startswith("=2\ninfo move E5 visits 100 utility 0.2 winrate 0.6 scoreMean ")
    assert answers[2:5] == ["= Ludus", "? line too long", "=5"]
    assert ask(engine(), "lz-analyze") == ["? random cannot analyse"]
    genmove = Engine(Thinker(40, 0.0)).handle("9 lz-genmove_analyze b 10")
    first, second, play = genmove.split("\n")[1:4]
    assert first.startswith("info move E5 visits 100 ")
    assert second.startswith("info move E5 visits 200 ")
    assert play == "play E5"


class Waits(io.BytesIO):
    """Lines of a controller that takes its time before each: until ``ready`` returns true."""

    def __init__(self, text: bytes, ready: Callable[[int], bool]) -> None:
        super().__init__(text)
        self._ready, self._count = ready, 0

    def readline(self, size: int | None = -1, /) -> bytes:
        deadline = time.monotonic() + 100
        while not self._ready(self._count) and time.monotonic() < deadline:
            time.sleep(0.001)
        self._count += 1
        return super().readline(size)


def test_the_player_ponders_after_its_own_move_until_the_next_line() -> None:
    looks: list[int] = []  # moves on the board at every look

    class Ponderer(Thinker):
        def analyse(
            self, match: Match, interval: float, restrictions: Sequence[Restriction] = ()
        ) -> Iterator[SearchReport]:
            for report in super().analyse(match, interval):
                looks.append(match.tick)
                yield report

    player = Ponderer(40, 0.0)
    out = io.StringIO()
    # White's answer comes after 50 looks at the position after Black's move, and then the search stops.
    lines = Waits(b"genmove b\nplay w a1\nquit\n", lambda n: n != 1 or len(looks) >= 50)
    console.run(Engine(player), lines, out, ponder=True)
    assert out.getvalue() == "= E5\n\n=\n\n=\n\n"
    assert len(looks) >= 50
    assert set(looks) == {1}
    # A fault ends only the pondering, and a complete search stops.
    logged: list[str] = []

    class Faulty(Thinker):
        def analyse(
            self, match: Match, interval: float, restrictions: Sequence[Restriction] = ()
        ) -> Iterator[SearchReport]:
            raise ValueError("no")

    broken = Engine(Faulty(40, 0.0), log=logged.append)
    assert ok(broken, "genmove b") == "E5"
    assert list(broken.ponder()) == []
    assert "pondering" in logged[-1]
    assert list(engine().ponder()) == []


def test_time_settings_bound_the_seconds_of_a_move() -> None:
    clock = Clock()
    assert clock.seconds(0, 81, 0) is None
    clock.settings(0, 10, 0)
    assert clock.seconds(0, 81, 0) is None
    clock.settings(60, 0, 0)
    first = clock.seconds(0, 81, 0)
    assert first is not None
    assert 1.0 < first < 6.0
    clock.settings(0, 30, 10)
    byo = clock.seconds(1, 81, 50)
    assert byo is not None
    assert 2.0 < byo < 3.0
    clock.left[0] = (0.1, 0)
    clock.settings(10, 0, 0)
    clock.spent(0, 9.95)
    assert clock.seconds(0, 81, 20) == 0.0
    # Whatever is spent as allowed, the time of a whole match is kept.
    clock.settings(60, 0, 0)
    for move in range(300):
        allowed = clock.seconds(0, 361, 2 * move)
        assert allowed is not None
        clock.spent(0, allowed)
    assert clock.left[0][0] > 0
    player = Thinker(40, 0.0)
    ok(Engine(player), "time_settings 100 0 0", "time_left b 50 0", "reg_genmove b")
    assert player.seconds[0] is not None
    assert 0.5 < player.seconds[0] < 5.0


WORDS = [
    *COMMANDS, *STREAMS, "b", "w", "black", "d4", "pass", "J9", "0", "-1", "9", "19", "361", "1e9", "dead",
    "nan", "\x00", "=", "?", "é☺", "#", "9999999999999999999999", "٣", "A0", "[]", "interval", "+5", "\t",
]  # fmt: skip
COMMON = (
    "play play genmove undo komi boardsize set_free_handicap final_score reg_genmove time_left "
    "final_status_list"
).split()


def garbage(rng: random.Random) -> str:
    """Return a line that may be a command, nearly one, or anything."""
    kind = rng.random()
    if kind < 0.1:
        return "".join(
            chr(rng.choice([rng.randrange(128), rng.randrange(0x2000)])) for _ in range(rng.randrange(40))
        )
    words = [rng.choice(WORDS) for _ in range(rng.randrange(6))]
    if kind < 0.7:
        words.insert(0, rng.choice(COMMON))
    if rng.random() < 0.3:
        words.insert(0, str(rng.randrange(1000)))
    return " ".join(words)


@pytest.mark.parametrize("count", [3000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_any_line_gets_one_answer_and_the_engine_continues(
    count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # printsgf writes files
    rng = random.Random(11)
    faults: list[str] = []
    e = Engine(BotPlayer("random"), {"size": "9"}, log=faults.append)
    good = 0
    for _ in range(count):
        line = garbage(rng)
        text = e.handle(line)
        clean = "".join(
            c for c in line.partition("#")[0] if c == "\t" or (ord(c) >= 32 and ord(c) != 127)
        ).split()
        if not clean:
            assert text == "", line
            continue
        number = clean.pop(0) if clean[0].isascii() and clean[0].isdigit() else ""
        assert text.endswith("\n\n"), line
        assert "\n\n" not in text[:-2], line
        assert text[0] in "=?", line
        assert text[1:].startswith(number[:20]), line
        good += text[0] == "="
        if not clean or clean[0] not in {*COMMANDS, *STREAMS}:
            assert text.startswith(f"?{number[:20]} unknown command"), line
        e.done = False
    assert good > count / 10
    assert not [f for f in faults if "internal error" in f]
    assert ok(e, "boardsize 9", "clear_board", "genmove b")
