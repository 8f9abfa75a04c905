"""SGF: known files are read, writing and reading are inverse, and hostile bytes raise an error."""

from __future__ import annotations

import contextlib
import random
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ludus.games.go_rules import rule_set
from ludus.games.records import sgf
from ludus.games.records.go_record import GoRecord, Setup, load, record
from ludus.games.records.go_record_text import tree
from ludus.games.records.sgf import MAX_DEPTH, Node, SgfError, parse, plain, write

FILE = r"""(;GM[1]FF[4]SZ[9]KM[6.5]PB[A \] B]C[back\\slash
second \
line]AB[cc:dd][aa]
;B[ee](;W[];B[tt];W[ff])(;W[gg]C[other]))"""


def test_a_file_is_read_as_written() -> None:
    (root,) = parse(FILE)
    assert root.first("PB") == "A ] B"
    assert root.first("C") == "back\\slash\nsecond line"
    line = list(root.main_line())
    assert [n.properties for n in line[1:]] == [{"B": ["ee"]}, {"W": [""]}, {"B": ["tt"]}, {"W": ["ff"]}]
    assert line[1].children[1].first("C") == "other"
    made = record(root)
    assert (made.size, made.komi, made.info["PB"]) == (9, 6.5, "A ] B")
    assert sorted(made.black) == [(0, 0), (2, 2), (2, 3), (3, 2), (3, 3)]
    assert made.moves == [("B", (4, 4)), ("W", None), ("B", None), ("W", (5, 5))]
    assert record(root, until=3).moves == made.moves[:2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "SGF line 1, column 1: expected '(;' at the start of a game"),
        ("hello", "SGF line 1, column 1: expected '(;' at the start of a game"),
        ("(;B[aa]", "SGF line 1, column 8: the file ends inside a game; expected ')'"),
        ("(;\nB[aa", "SGF line 2, column 2: the value of B has no end; expected ']'"),
        ("(;B aa])", "SGF line 1, column 5: expected '[' after B, found 'a'"),
        ("(;b[aa])", "SGF line 1, column 4: expected a property, found 'b'"),
        ("(;B[aa]x", "SGF line 1, column 9: expected '[' after x, found the end"),
        ("(;B[aa]1)", "SGF line 1, column 8: expected ';', '(' or ')', found '1'"),
        ("(;SZ;B[aa])", "SGF line 1, column 5: expected '[' after SZ, found ';'"),
        ("(;B;W[aa])", "SGF line 1, column 4: expected '[' after B, found ';'"),
        ("()", "SGF line 1, column 2: expected ';' after '(', found ')'"),
        ("(;" * 2000, f"variations nested deeper than {MAX_DEPTH}"),
    ],
)
def test_text_that_is_no_sgf_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(SgfError) as error:
        parse(text)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(;GM[2])", "SGF: GM[2]: expected 1, a game of Go"),
        ("(;SZ[21])", "SGF: SZ[21]: expected a square board of 2 to 19 lines"),
        ("(;SZ[9:13])", "SGF: SZ[9:13]: expected a square board of 2 to 19 lines"),
        ("(;SZ[nine])", "SGF: SZ[nine]: expected a square board of 2 to 19 lines"),
        ("(;SZ[9];B[jj])", "SGF: move 1, B[jj]: expected a point of a board of 9 lines"),
        ("(;SZ[9];B[aa];W[D4])", "SGF: move 2, W[D4]: expected a point of a board of 9 lines"),
        ("(;SZ[9];B[aa];AB[zz])", "SGF: node 2: AB[zz]: expected a point of a board of 9 lines"),
    ],
)
def test_a_file_without_a_match_of_go_is_refused(text: str, message: str) -> None:
    with pytest.raises(SgfError) as error:
        record(parse(text)[0])
    assert str(error.value) == message


def test_a_property_without_a_value_does_not_end_the_file() -> None:
    made = record(parse("(;SZ[9]KM;B[aa]XX(;W[bb]N)(;W[cc]))")[0])
    assert (len(made.moves), made.komi) == (2, None)
    assert parse(write(*parse("(;SZ[9]KM;B[aa]XX)"))) == parse("(;SZ[9]KM;B[aa]XX)")


TEXT = st.text(st.characters(blacklist_categories=["Cs"]), max_size=20).map(plain)
NAMES = st.text(string.ascii_uppercase, min_size=1, max_size=3)
NODES = st.recursive(
    st.dictionaries(NAMES, st.lists(TEXT, min_size=1, max_size=3), max_size=4).map(lambda p: Node(p)),
    lambda inner: st.builds(
        Node,
        st.dictionaries(NAMES, st.lists(TEXT, min_size=1, max_size=2), max_size=3),
        st.lists(inner, max_size=4),
    ),
    max_leaves=12,
)


@given(st.lists(NODES, min_size=1, max_size=3))
@settings(max_examples=80, deadline=None)
def test_reading_returns_the_tree_that_was_written(trees: list[Node]) -> None:
    assert parse(write(*trees)) == trees


@given(st.integers(2, 19), st.data())
@settings(max_examples=40, deadline=None)
def test_a_record_is_equal_after_writing_and_reading(size: int, data: st.DataObject) -> None:
    points = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1))
    stones = data.draw(st.lists(points, unique=True, max_size=8))
    made = GoRecord(
        size=size,
        komi=data.draw(st.integers(-20, 20)) / 2,
        handicap=data.draw(st.integers(0, 9)),
        black=stones[::2],
        white=stones[1::2],
        first=data.draw(st.sampled_from(["", "B", "W"])),
        moves=data.draw(st.lists(st.tuples(st.sampled_from("BW"), st.none() | points), max_size=30)),
        result=data.draw(st.sampled_from(["", "B+3.5", "W+R", "0"])),
        info={"PB": data.draw(TEXT)},
    )
    stone = data.draw(points)
    changes = st.sampled_from([Setup([stone]), Setup([], [stone], first="B"), Setup(first="W")])
    places = st.sets(st.integers(1, max(len(made.moves), 1)), max_size=2)
    made.setups = {n: data.draw(changes) for n in data.draw(places) if n <= len(made.moves)}
    if made.handicap > 1 and not made.black and not made.white:
        made.handicap = 0  # its stones would be added
    back = record(parse(write(tree(made)))[0])
    back.notes.clear()
    if not made.first and not made.moves and stones:
        made.first = "W" if made.handicap >= 2 and not made.white else "B"  # always written
    assert back == made


def test_every_file_decodes_in_some_encoding() -> None:
    assert record(parse("(;PB[Lee ☺])".encode())[0]).info["PB"] == "Lee ☺"
    assert record(parse(b"(;PB[Sj\xf6gren])")[0]).info["PB"] == "Sjögren"
    assert parse("(;PB[☺])".encode("utf-16"))[0].first("PB") == "☺"


def mutated(rng: random.Random, text: str) -> str:
    """Return ``text`` with a few bytes, brackets and pieces moved."""
    chars = list(text)
    for _ in range(rng.randint(1, 8)):
        at = rng.randrange(len(chars) + 1)
        kind = rng.random()
        if kind < 0.4 and chars:
            del chars[min(at, len(chars) - 1)]
        elif kind < 0.8:
            chars.insert(at, rng.choice("()[];\\:ABWKMSZ aet0\n\x00ÿ"))
        else:
            other = rng.randrange(len(chars) + 1)
            chars[at:at] = chars[min(at, other) : max(at, other)]
    return "".join(chars)


@pytest.mark.parametrize("count", [1000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_any_file_is_read_or_refused(count: int) -> None:
    rng = random.Random(5)
    read = 0
    refused: list[str] = []
    for _ in range(count):
        try:
            for root in parse(mutated(rng, FILE).encode("utf-8", errors="surrogateescape")):
                record(root)
                assert parse(write(root)) == [root]
                read += 1
        except SgfError as error:
            refused.append(str(error))
    assert all(text.startswith("SGF") for text in refused)
    assert count / 20 < read < count


@pytest.mark.parametrize(
    ("text", "moves", "note"),
    [
        (";SZ[9];B[ee](;W[cc];B[dd])(;W[gg]))", "ee cc dd", "1: a game without '(' at its start"),
        ("SZ[9];B[ee](;W[cc])(;W[gg])", "ee cc", "1: a game without '(' at its start"),
        ("(SZ[9];B[ee](W[cc])(;W[gg]))", "ee cc", "2: a node without ';' before it"),
        (";C[(;SZ[5\\];B[aa\\]) (;]SZ[9];B[ee]", "ee", "1: a game without '(' at its start"),
        ("(;SZ[9];B[ee]);W[cc])", "ee", "15: text behind the game is not read"),
        ("(;SZ[9];B[ee])(;SZ[5];B[aa])", "ee", "the file holds 2 games; the first is read"),
        ("(;SZ[9];B[ee])(;SZ[5];B[aa", "ee", "a game behind the first is not read: SGF line 1, column "),
        ("KM[5] of old (;SZ[9];B[ee])", "ee", "1: text before the game is not read"),
        ("well (;-) and (;hello you\n(;SZ[9];B[ee])", "ee", ""),
        ("(;SZ[9];B[ee])\0\x1a\n", "ee", ""),
    ],
)
def test_the_game_of_a_file_is_read_and_no_variation_instead(text: str, moves: str, note: str) -> None:
    made = load(text.encode())
    made.notes.remove("no komi (KM) in the file")
    assert made.size == 9
    assert " ".join(chr(97 + p[0]) + chr(97 + p[1]) for _, p in made.moves if p) == moves
    assert any(note in found for found in made.notes) if note else not made.notes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Game: SZ[9];B[ee](;W[cc])(;W[gg]))", "column 7: expected '(;' at the start of a game, found prop"),
        ("(;SZ[9];B[ee](;W[cc]);W[gg])", "column 22: expected '(' or ')' after a variation, found ';'"),
        ("(;SZ 9;B[ee](;W[cc];B[dd])(;W[gg]))", "column 6: expected '[' after SZ, found '9'"),
        (";SZ[9];B[ee](;W[cc]", "column 20: the file ends inside a game; expected ')'"),
    ],
)
def test_a_variation_that_stands_for_a_broken_game_is_refused(text: str, message: str) -> None:
    with pytest.raises(SgfError) as error:
        load(text.encode())
    assert f"SGF line 1, {message}" in str(error.value)


@pytest.mark.parametrize("text", ["A[\n", ";A[x]\n", "A[x]b c\n", "(; a", "(;A[])(;x", "A[\\]", "[;(B["])
def test_a_text_of_many_starts_is_read_once(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []
    nodes: list[int] = []
    place, node = sgf._Reader.place, sgf._Reader.node

    def counted_place(reader: sgf._Reader) -> str:
        counted.append(reader.at)
        return place(reader)

    def counted_node(reader: sgf._Reader) -> Node:
        nodes.append(reader.at)
        return node(reader)

    monkeypatch.setattr(sgf._Reader, "place", counted_place)
    monkeypatch.setattr(sgf._Reader, "node", counted_node)
    with contextlib.suppress(SgfError):
        parse(text * 1000)
    assert len(counted) <= 3
    assert len(nodes) <= min(2 * len(set(nodes)), 2001)


def test_values_hold_no_control_characters_but_line_breaks() -> None:
    values = {
        "\x1b[31mred\x9b0m": "\\x1b[31mred\\x9b0m", "a\r\nb\rc\n\rd\ne": "a\nb\nc\nd\ne", "a\tb\vc": "a b c",
        "\u202eevil\u2066": "\\u202eevil\\u2066", "x\u2028y\x85z\x00\x7f": "x\\u2028y\\x85z\\x00\\x7f",
        "Lee ☺ 이세돌": "Lee ☺ 이세돌",
    }  # fmt: skip
    for value, expected in values.items():
        expected = expected.replace("\\x9b", "\\u009b").replace("\\x85", "\\u0085")
        raw = value.replace("]", "\\]")
        (root,) = parse(f"(;C[{raw}]PB[{raw}]XX[{raw}])")
        assert root.properties == {name: [expected] for name in ("C", "PB", "XX")}
        written = write(Node({"C": [value]}))  # also what no file has
        assert all(c.isprintable() or c == "\n" for c in written)
        assert parse(written)[0].first("C") == expected


def test_names_of_rule_sets_are_read_in_one_place() -> None:
    names = {
        "chinese": "Chinese CN cn chinese-ogs CHINESE_KGS China 中国规则 中國 ＣＮ Chinese-Rules",
        "japanese": "Japanese jp JAP Japan 日本 日本ルール", "korean": "Korean KR kor 韩国 한국룰",
        "new-zealand": "NZ New-Zealand newzealand new_zealand", "tromp-taylor": "Tromp-Taylor tt TrompTaylor",
        "ing": "GOE Ing ING-rules 应氏", "aga": "AGA aga-button USA", "bga": "BGA", "french": "French ffg",
        "": "house Machine ingenious contest {} -",
    }  # fmt: skip
    for name, texts in names.items():
        for text in texts.split():
            assert rule_set(text) == name, text
            stones = record(parse(f"(;SZ[9]RU[{text}]KM[3.75];B[ee])")[0])
            assert stones.komi == (7.5 if name == "chinese" else None), text
    assert rule_set("rules: Chinese") == rule_set("Simplified Chinese") == "chinese"
    assert (rule_set("New Zealand"), rule_set("let us play")) == ("new-zealand", "")
