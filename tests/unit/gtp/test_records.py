"""``loadsgf`` and ``printsgf``: positions, rules, names, paths, and failures that change nothing."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ludus.games.match import Match
from ludus.games.records import go_record, sgf
from ludus.gtp import console
from ludus.gtp.engine import Engine
from ludus.gtp.players import BotPlayer, MoveChoice
from tests.unit.gtp.test_engine import ask, ok


class Loader:
    """An engine that loads records, and the notes of the last one."""

    def __init__(self, folder: Path, **params: str) -> None:
        self.path = folder / "x.sgf"
        self.notes: list[str] = []
        self.engine = Engine(BotPlayer("random"), {"size": "9", "komi": "7", **params}, log=self.notes.append)

    def load(self, text: str, until: str = "") -> str:
        """Return the answer."""
        self.notes.clear()
        self.path.write_text(text, encoding="utf-8")
        (answer,) = ask(self.engine, f"loadsgf {self.path}{until}")
        return answer

    def board(self) -> str:
        """Rows from the top, without coordinates."""
        rows = ok(self.engine, "showboard").split("\n")[1:-2]
        return "/".join("".join(c for c in row if c in ".XO") for row in rows)


@pytest.fixture
def loader(tmp_path: Path) -> Loader:
    return Loader(tmp_path)


def test_stones_set_up_in_the_middle_stay_and_the_match_continues(loader: Loader) -> None:
    assert loader.load("(;SZ[5]KM[7];B[bb];W[cc];AB[dd]AE[cc];W[ee])") == "= black"
    assert loader.board() == "...../.X.../...../...X./....O"
    ok(loader.engine, "play b c1")
    # The stones stay under another komi, and a move that is taken back does not take them away.
    ok(loader.engine, "komi 3.5", "undo", "undo")
    assert loader.board() == "...../.X.../...../...X./....."
    ok(loader.engine, "undo")
    assert loader.board() == "...../.X.../...../...../....."
    assert ask(loader.engine, "undo", "undo") == ["=", "? cannot undo"]
    assert loader.load("(;SZ[5]KM[7];B[];AB[cc][cd]AW[aa])") == "= white"
    assert loader.board() == "O..../...../..X../..X../....."
    text = ok(loader.engine, "printsgf")
    before = loader.board()
    assert loader.load(text) == "= white"
    assert loader.board() == before
    dead = loader.load("(;SZ[5];B[aa];AW[ab][ba])")
    assert dead.startswith("? cannot load file: after move 1: invalid stones")


def test_the_side_to_move_is_that_of_the_record(loader: Loader) -> None:
    for text, mover in {
        "(;SZ[9];B[dd];PL[B])": "black", "(;SZ[9];B[dd];PL[W])": "white", "(;SZ[9]PL[white])": "white",
        "(;SZ[9];B[dd];AW[ee])": "white", "(;SZ[9];B[dd];AW[ee];PL[b])": "black", "(;SZ[9]AB[dd])": "black",
        "(;SZ[9]HA[2]AB[dd][ff];W[])": "black", "(;SZ[9]HA[2]AB[dd][ff])": "white",
        "(;SZ[9];B[dd];PL[?])": "white",
    }.items():  # fmt: skip
        assert loader.load(text) == f"= {mover}", text
    assert loader.load("(;SZ[9];B[dd];B[ee];W[cc])", " 2") == "= black"
    assert loader.load("(;SZ[9];W[dd])", " 1") == "= white"
    ok(loader.engine, "komi 0.5")
    assert ok(loader.engine, "printsgf").count("PL[W]") == 1


KO = "(;SZ[5]KM[7]RU[Japanese];B[ba];W[ca];B[ab];W[db];B[bc];W[cc];B[cb];W[bb]%s)"


def test_a_record_is_replayed_by_rules_that_allow_its_moves(loader: Loader) -> None:
    # Black takes the ko back at once, and after a threat and its answer.
    back = KO % ";B[cb]"
    later = KO % ";B[ee];W[ed];B[cb];W[aa];B[bb];W[];B[aa]"
    assert loader.load(back) == "= white"
    assert loader.notes == [
        "loadsgf: move 9, B C4: forbidden under ko = positional, suicide = forbidden",
        "loadsgf: replayed, and continued, under ko = none, suicide = forbidden",
        "loadsgf: RU[Japanese]: the rules stay ko = none, suicide = forbidden, scoring = chinese",
    ]
    assert loader.board() == ".XO../X.XO./.XO../...../....."
    assert loader.load(later).startswith("= ")
    # Superko: the position comes back by two kos' worth of passes; the record's own rules allow it.
    loader = Loader(loader.path.parent)
    assert loader.load(KO % ";B[];W[];B[cb];W[];B[];W[bb]") == "= black"
    assert loader.engine.session.base["ko"] == "simple"
    assert "under ko = simple" in loader.notes[1]
    # The controller's own rules are back on the next board.
    ok(loader.engine, "clear_board")
    assert loader.engine.session.base["ko"] == "positional"
    suicide = "(;SZ[5]KM[7]RU[%s];B[ba];W[ee];B[bb];W[de];B[ac];W[ab];B[];W[aa];B[aa])"
    assert loader.load(suicide % "NZ") == "= white"
    assert loader.engine.session.base["suicide"] == "allowed"
    assert Loader(loader.path.parent).load(suicide % "Chinese") == "= white"


def test_a_move_that_cannot_be_played_is_named_and_nothing_changes(
    loader: Loader, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert loader.load("(;SZ[7]KM[5.5]PB[A]PW[B];B[cc];W[dd])") == "= black"
    ok(loader.engine, "play b c2")
    state = ("showboard", "printsgf", "kata-get-rules")
    before = [ok(loader.engine, command) for command in state]
    taken = "? cannot load file: move 2, W A9: the point is taken"
    assert loader.load("(;SZ[9]KM[3];B[aa];W[aa])") == taken
    for text, reason in {
        "(;SZ[9]KM[3];B[aa];W[jj])": "SGF: move 2, W[jj]: expected a point of a board of 9 lines",
        "(;SZ[9]KM[3]AB[aa]AW[ab][ba];B[ee])": "invalid stones",
        "(;SZ[9]KM[3];B[ee];AB[zz])": "SGF: node 2: AB[zz]: expected a point",
        "(;SZ[21];B[ee])": "SGF: SZ[21]: expected a square board",
        "(;GM[2];B[ee])": "SGF: GM[2]: expected 1",
        "(;B[ee": "SGF line 1, column 4: the value of B has no end",
        "": "expected '(;'",
        "(;SZ[9]" + ";B[]" * 600 + ";AB[aa]" + ";B[]" * 425: "move 1025, B pass: illegal move: the match has",
        "(;SZ[9]" + ";B[aa]" * 2: "move 2, B A9: the point is taken",
    }.items():
        assert reason in loader.load(text + ")" * (text.count("(") - text.count(")"))), text
    monkeypatch.chdir(loader.path.parent)  # a long path is cut in the middle
    assert ask(loader.engine, "loadsgf x.none") == ["? cannot load file: x.none: no such file"]
    assert "not a regular file" in ask(loader.engine, f"loadsgf {loader.path.parent}")[0]
    assert [ok(loader.engine, command) for command in state] == before


def test_a_player_that_cannot_play_a_record_leaves_the_match_as_it_was(loader: Loader) -> None:
    class Picky(BotPlayer):
        def prepare(self, params: object) -> None:
            assert isinstance(params, dict)
            if params["size"] == "5" or params["komi"] == "1":
                raise ValueError("no")

    loader.engine = Engine(Picky("random"), {"size": "9", "komi": "7"})
    ok(loader.engine, "play b e5")
    before = ok(loader.engine, "showboard")
    assert loader.load("(;SZ[5]KM[7];B[aa])") == "? no"
    assert ask(loader.engine, "komi 1", "boardsize 5") == ["? no", "? no"]
    assert ok(loader.engine, "showboard") == before
    assert ask(loader.engine, "undo", "undo") == ["=", "? cannot undo"]


def test_values_of_a_record_that_are_not_used_are_noted(loader: Loader) -> None:
    assert loader.load("(;SZ[9]KM[375]RU[Japanese]HA[2];W[ee])") == "= black"
    assert loader.notes == [
        "loadsgf: KM[375]: read as 7.5 points",
        "loadsgf: HA[2]: no handicap stones in the file; the fixed points get them",
        "loadsgf: RU[Japanese]: the rules stay ko = positional, suicide = forbidden, scoring = chinese",
    ]
    assert loader.board().count("X") == 2
    assert loader.load("(;SZ[9]KM[1000]HA[2];W[gc])") == "= black"
    assert loader.notes[1:] == [
        "loadsgf: komi stays 7.5",
        "loadsgf: HA[2]: no handicap stones in the file; placed none: the moves do not fit the fixed points",
    ]
    assert "X" not in loader.board()
    for rules in ("Chinese", "chinese-ogs", "cn", "中国规则", ""):
        assert loader.load(f"(;SZ[9]KM[7]RU[{rules}])") == "= black"
        assert loader.notes == [], rules
    own = ok(loader.engine, "kata-get-rules")
    others = ("AGA", "NZ", "Korean", "Tromp-Taylor", "GOE", "house rules", "koSIMPLEscoreTERRITORYsui0", "{")
    for rules in others:
        loader.load(f"(;SZ[9]KM[7]RU[{rules}])")
        assert loader.notes[0].startswith(f"loadsgf: RU[{rules}]: "), rules
    assert ok(loader.engine, "kata-get-rules") == own


def test_names_events_and_results_survive_loading_and_printing(loader: Loader) -> None:
    loader.load("(;SZ[9]KM[7]PB[Lee \\] ☺]PW[B]BR[9p]DT[2016]RU[Japanese]RE[W+R]C[x];B[aa];W[];B[])")
    root = sgf.parse(ok(loader.engine, "printsgf"))[0]
    kept = {name: root.first(name) for name in ("PB", "PW", "BR", "DT", "RU", "RE", "C", "KM")}
    assert kept == {
        "PB": "Lee ] ☺", "PW": "B", "BR": "9p", "DT": "2016", "RU": "Japanese", "RE": "W+R", "C": "x",
        "KM": "7",
    }  # fmt: skip
    ok(loader.engine, "genmove w")
    root = sgf.parse(ok(loader.engine, "printsgf"))[0]
    assert (root.first("PB"), root.first("PW"), root.first("RE")) == ("Lee ] ☺", "Ludus random", "")
    assert root.first("RU") == "Chinese"
    loader.load(f"{sgf.write(root)}", " 2")
    assert "RE[" not in ok(loader.engine, "printsgf")
    ok(loader.engine, "clear_board")
    assert "PB[Opponent]" in ok(loader.engine, "printsgf")


@pytest.mark.parametrize(
    "name",
    ["dir with space/out.sgf", "a  b.sgf", "my#1.sgf", "game 12", "é ☺.sgf", "7", "it's.sgf", "-x", "a\tb"],
)
def test_paths_are_whole_lines(loader: Loader, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(loader.path.parent)
    Path("dir with space").mkdir()
    e = loader.engine
    ok(e, "play b c3", "play w d4", f"printsgf {name}  # a comment")
    assert sorted(p.name for p in Path().rglob("*")) == sorted({"dir with space", Path(name).name})
    ok(e, "clear_board", f"3 loadsgf {name}".removeprefix("3 "))
    assert len(e.session.moves) == 2
    ok(e, f'loadsgf "{name}" 2')
    assert len(e.session.moves) == 1
    ok(e, f"loadsgf {name} 1", f'printsgf "{name}"', f"loadsgf {Path(name).absolute()}")
    assert not e.session.moves
    assert ask(e, f"12 loadsgf {name} 0")[0].startswith("?12 ")


def test_a_record_replaces_only_records(loader: Loader, monkeypatch: pytest.MonkeyPatch) -> None:
    e, folder = loader.engine, loader.path.parent
    ok(e, "play b c3", f"printsgf {loader.path}", "play w d4", f"printsgf {loader.path}")
    assert ok(e, "printsgf -") == ok(e, "printsgf")
    assert len(go_record.load(loader.path.read_bytes()).moves) == 2
    (folder / "empty").touch()
    (folder / "other.sgf").write_text("\ufeff\n ( ;GM[1])")
    ok(e, f"printsgf {folder}/empty", f"printsgf {folder}/other.sgf")
    notes = folder / "notes.txt"
    notes.write_text("(see below)")
    (folder / "link").symlink_to(loader.path)
    os.mkfifo(folder / "pipe")
    monkeypatch.chdir(folder)  # a long path is cut in the middle
    (answer,) = ask(e, "printsgf notes.txt")
    assert answer.endswith("notes.txt: exists and is no SGF record")
    for name in ("link", "pipe", "none/x.sgf", "x" * 300, ""):
        assert ask(e, f"printsgf {folder}/{name}")[0].startswith("? cannot write file: "), name
    assert notes.read_text() == "(see below)"


def spoken(text: bytes, folder: Path) -> list[str]:
    out = io.StringIO()
    console.run(Engine(BotPlayer("random"), {"size": "19"}), io.BytesIO(text), out)
    return out.getvalue().split("\n\n")[:-1]


def test_a_user_loads_a_record_and_writes_it_again(tmp_path: Path) -> None:
    (tmp_path / "a game.sgf").write_bytes(
        b"(;CA[Shift_JIS]PB[\x83\x5c]SZ[19:19]KM[375]HA[2]RU[Japanese]AP[foxwq];W[qq];B[dd];AE[qq];PL[W])"
    )
    lines = (
        b"\xef\xbb\xbfloadsgf a game.sgf\nget_komi\nprintsgf out put.sgf\nloadsgf no.sgf\ngenmov w\nquit\n"
    )
    command = [sys.executable, "-m", "ludus.cli", "gtp", "random", "--seed", "1"]
    done = subprocess.run(command, input=lines, capture_output=True, cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.decode().split("\n\n")[:-1] == [
        "= white",
        "= 7.5",
        "=",
        "? cannot load file: no.sgf: no such file",
        "? unknown command (did you mean genmove?)",
        "=",
    ]
    assert done.stderr.decode().splitlines() == [
        "random: seed 1",
        "loadsgf: KM[375]: read as 7.5 points",
        "loadsgf: HA[2]: no handicap stones in the file; the fixed points get them",
        "loadsgf: RU[Japanese]: the rules stay ko = positional, suicide = forbidden, scoring = chinese",
    ]
    root = sgf.parse((tmp_path / "out put.sgf").read_bytes())[0]
    assert (root.first("PB"), root.first("RU"), root.first("KM")) == ("ソ", "Japanese", "7.5")
    assert root.properties["AB"] == ["pd", "dp"]


def test_byte_order_marks_are_no_part_of_a_command(tmp_path: Path) -> None:
    mark = "\ufeff".encode()
    assert spoken(mark + b"boardsize 9\nquery_boardsize\n", tmp_path) == ["=", "= 9"]
    assert spoken(b"name\r\n" + mark + b"5 query_boardsize\r\n", tmp_path) == ["= Ludus", "=5 19"]
    assert spoken("\ufeffboardsize 9\r\nquery_boardsize\r\n".encode("utf-16-le"), tmp_path) == ["=", "= 9"]
    assert spoken(mark + b"# only a comment\n" + mark + b"\n", tmp_path) == []


def test_paths_keep_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff b.sgf"
    lines = b"play b c3\nprintsgf " + path + b"\nloadsgf " + path + b"\n"
    assert spoken(lines, tmp_path) == ["=", "=", "= white"]
    (answer,) = spoken(b"loadsgf " + path + b"x\n", tmp_path)
    assert answer.endswith("no such file")
    assert spoken(b"\xff\xffplay b c3\nkata-set-rules \xff\n", tmp_path)[1].startswith("? rules ")


def test_a_closed_input_is_the_end() -> None:
    out = io.StringIO()
    console.run(Engine(BotPlayer("random"), {}), None, out)
    assert out.getvalue() == ""


def test_an_input_that_cannot_be_read_is_the_end() -> None:
    class Gone(io.BytesIO):
        def readline(self, size: int | None = -1, /) -> bytes:
            line = super().readline(size)
            if not line:
                raise OSError(errno.EIO, "Input/output error")
            return line

    logged: list[str] = []
    out = io.StringIO()
    console.run(Engine(BotPlayer("random"), {}, log=logged.append), Gone(b"name\n"), out)
    assert (out.getvalue(), logged) == ("= Ludus\n\n", ["the input ends: Input/output error"])


def test_unknown_commands_name_the_nearest(loader: Loader) -> None:
    assert ask(loader.engine, "genmov b", "5 Komi", "lz-analyse", "load_sgf", "kgs-game_over", "xyz") == [
        "? unknown command (did you mean genmove?)",
        "?5 unknown command (did you mean komi?)",
        "? unknown command (did you mean lz-analyze?)",
        "? unknown command (did you mean loadsgf?)",
        "? unknown command",
        "? unknown command",
    ]


def test_nothing_that_gtp_prints_acts_on_a_terminal(loader: Loader) -> None:
    loader.load("(;SZ[9]PB[\x9b31mred]PW[\x1b[31mx]C[\u202e a\r\nb]RU[\x1b]RE[\x07];B[ee]BL[\x1b])")
    hostile = "\x1b[31m\x9b\u202e\u2028"
    said = [
        ok(loader.engine, "printsgf"),
        *ask(loader.engine, f"loadsgf {hostile}", f"printsgf none/{hostile}", f"kata-set-rules {hostile}"),
        *ask(loader.engine, hostile, f"play b {hostile}", f"kata-analyze {hostile}", f"komi {hostile}"),
        *loader.notes,
    ]
    for text in said:
        assert all(c.isprintable() or c == "\n" for c in text), repr(text)
    assert "PW[\\\\x1b[31mx]" in said[0]

    class Named(BotPlayer):  # a player's name is a folder's
        def choose(self, match: Match, seconds: float | None) -> MoveChoice:
            return BotPlayer("random").choose(match, seconds)

    loader.engine = Engine(Named(f"{hostile}@1"), {"size": "9"})
    ok(loader.engine, "genmove w")
    for command in ("printsgf", "version", "lz-analyze"):
        (text,) = ask(loader.engine, command)
        assert all(c.isprintable() or c == "\n" for c in text), repr(text)


def test_handicaps_and_komi_of_a_controller_are_written_as_they_are_read(loader: Loader) -> None:
    e = loader.engine
    for commands, header, mover in (
        (["fixed_handicap 2"], "HA[2]", "= white"),
        (["set_free_handicap a1 b2 c3"], "HA[3]", "= white"),
        (["place_free_handicap 4", "play w e5"], "HA[4]", "= black"),
        (["komi 375"], "KM[375]", "= black"),
        (["boardsize 5", "komi -275"], "KM[-275]", "= black"),
        (["boardsize 9", "komi 7"], "KM[7]", "= black"),
    ):
        ok(e, "clear_board", *commands)
        text, board, komi = ok(e, "printsgf"), loader.board(), ok(e, "get_komi")
        assert header in text
        assert loader.load(text) == mover
        assert (loader.board(), ok(e, "get_komi")) == (board, komi)
    # Stones without HA are no handicap, and HA without its stones is not written.
    assert loader.load("(;SZ[9]KM[7]AB[dd][cc])") == "= black"
    assert loader.load(ok(e, "printsgf")) == "= black"
    assert "HA[" not in ok(e, "printsgf")
    assert loader.load("(;SZ[9]KM[7]HA[2];W[gc])") == "= black"
    ok(e, "undo")
    assert loader.load(ok(e, "printsgf")) == "= white"
    assert "X" not in loader.board()


def test_chinese_rules_have_one_meaning_by_every_name(loader: Loader) -> None:
    for name in ("Chinese", "CN", "中国", "chinese-kgs"):
        assert loader.load(f"(;SZ[9]RU[{name}]KM[3.75];B[ee])") == "= white"
        assert (ok(loader.engine, "get_komi"), loader.notes) == (
            "7.5",
            ["loadsgf: KM[3.75]: read as 7.5 points"],
        )
