"""SGF: known files are read, writing and reading are inverse, and hostile bytes raise an error."""

from __future__ import annotations

import random
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ludus.games.go_record import GoRecord, Setup, record, tree
from ludus.games.sgf import MAX_DEPTH, Node, SgfError, parse, write

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


TEXT = st.text(st.characters(blacklist_categories=["Cs"]), max_size=20).map(lambda s: s.replace("\r", ""))
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
