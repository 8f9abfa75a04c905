"""Records of Go: headers are read as by other programs, and notes name those that cannot be read."""

from __future__ import annotations

import pytest

from ludus.games.records.go_record import GoRecord, Setup, leading_number, load


def read(text: str | bytes, until: int | None = None) -> GoRecord:
    return load(text.encode() if isinstance(text, str) else text, until)


def komi(value: str, size: int = 19, more: str = "") -> float | None:
    return read(f"(;SZ[{size}]KM[{value}]{more};B[aa])").komi


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("6.5", 6.5), ("7,5", 7.5), ("+7.5", 7.5), ("-3", -3),
        ("−0.5", -0.5), (".5", 0.5), ("7.", 7), (" 7 ", 7),
        ("７．５", 7.5), ("1e1", 10), ("6.5 points", 6.5), ("6½", 6.5), ("½", 0.5), ("6 1/2", 6.5),
        ("6 and a half", 6.5),
        ("6目半", 6.5), ("6目", 6), ("3又3/4子", 7.5), ("3.75子", 7.5), ("-6½", -6.5), ("5.5pts", 5.5),
        ("6.5.1", 6.5),
        ("many", None), ("", None), ("黑贴6目半", None), ("nan", None), ("inf", None),
        ("--7", None), ("W+6.5", None),
    ],
)  # fmt: skip
def test_a_header_is_read_by_the_number_that_it_starts_with(text: str, value: float | None) -> None:
    number = leading_number(text)
    assert (None if number is None else number.value) == value


def test_komi_of_go_servers_is_read_in_points() -> None:
    units = {"375": 7.5, "750": 7.5, "325": 6.5, "650": 6.5, "275": 5.5, "550": 5.5, "350": 7, "700": 7}
    units["450"] = 4.5
    assert {text: komi(text) for text in units} == units
    assert komi("375", 9) == 7.5
    made = read("(;SZ[19]KM[375]RU[Chinese]AP[foxwq];B[pd])")
    assert made.notes == ["KM[375]: read as 7.5 points"]
    # Stones of the Chinese count, as books write them.
    assert (komi("3.75", more="RU[Chinese]"), komi("2.75", more="RU[中国规则]")) == (7.5, 5.5)
    for text in ("-650", "1000", "362", "3.75", "6.7", "7.25"):
        made = read(f"(;SZ[19]KM[{text}];B[pd])")
        assert (made.komi, len(made.notes), len(made.moves)) == (None, 1, 1), text
    for text in ("-375", "-275", "-350"):
        assert komi(text) is None
    assert (komi("184.25", more="RU[Chinese]"), str(komi("-0"))) == (None, "0.0")
    assert read("(;SZ[19]KM[65];B[pd])").notes == ["KM[65]: read as 65 points"]
    assert (komi("361"), komi("-20"), komi("81", 9), komi("82", 9), komi("0")) == (361, -20, 81, None, 0)


def test_a_number_with_words_is_read_and_named() -> None:
    for text, value in (("6.5 points", 6.5), ("6½", 6.5), ("6.5.1", 6.5), ("6 1/2", 6.5)):
        made = read(f"(;SZ[9]KM[{text}];B[ee])")
        assert made.komi == value
        assert made.notes[0].startswith("KM["), text
        assert f"read as {value:g}" in made.notes[0]
    made = read("(;SZ[9]KM[黑贴6目半]HA[four]PL[x]GM[Go];B[ee])")
    assert (made.komi, made.handicap, made.first, len(made.moves)) == (None, 0, "", 1)
    assert [note.partition("[")[0] for note in made.notes] == ["GM", "KM", "HA", "PL"]
    assert read("(;SZ[9];B[ee])").notes == ["no komi (KM) in the file"]


def test_sizes_are_read_as_they_are_written() -> None:
    texts = {"19:19": 19, "9x9": 9, " 13 ": 13, "09": 9, "19.0": 19, "１９": 19, "9 lines": 9, "": 19}
    assert {text: read(f"(;SZ[{text}]KM[0];B[aa])").size for text in texts} == texts
    assert read("(;Sz[9]km[5.5];B[aa])").komi == 5.5
    late = read("(;GM[1];SZ[9]KM[5.5];B[ee])")
    assert (late.size, late.komi) == (9, 5.5)
    assert "behind the root" in late.notes[0]
    assert "two values" in read("(;SZ[9][13]KM[0];B[ee])").notes[0]


SHIFT_JIS, GBK = "CA[Shift_JIS]", "CA[GBK]"


@pytest.mark.parametrize(
    ("head", "name", "charset"),
    [
        (b"\x83\x5c", "ソ", SHIFT_JIS),
        (b"\x83\x5d", "ゾ", SHIFT_JIS),
        (b"\x81\x5c", b"\x81\x5c".decode("gbk"), GBK),
        (b"\x81\x5d", b"\x81\x5d".decode("gbk"), GBK),
        (b"\xa5\x5c", b"\xa5\x5c".decode("big5"), "CA[Big5]"),
        (b"\x83\x5c", "ソ", ""),
        (b"\x83\x5d\x83\x93", "ゾン", ""),
        (b"\xb0\x5c\xb9\xfa", b"\xb0\x5c\xb9\xfa".decode("gbk"), ""),
        (b"\xb0\x5d", b"\xb0\x5d".decode("gbk"), ""),
        ("Sjögren".encode("latin-1"), "Sjögren", ""),
        ("José Müßig".encode("latin-1"), "José Müßig", ""),
        ("André".encode("latin-1"), "André", ""),
        ("李世石".encode("gbk"), "李世石", ""),
        ("李世石".encode(), "李世石", ""),
        ("李世石".encode(), "李世石", "CA[UTF-8]"),
        ("李世石".encode(), "李世石", "CA[klingon]"),
        ("조훈현".encode("euc-kr"), "조훈현", "CA[EUC-KR]"),
        ("Ñandú".encode("cp1252"), "Ñandú", "CA[Windows-1252]"),
    ],
)
def test_text_is_decoded_by_its_label_or_by_the_encoding_that_fits(
    head: bytes, name: str, charset: str
) -> None:
    for text in (
        b"(;%sPB[%s]PW[x]SZ[9]KM[6.5];B[ee];W[cc];B[dd])" % (charset.encode(), head),
        b"(;SZ[9]KM[6.5]PW[x]PB[%s]%s;B[ee];W[cc];B[dd])" % (head, charset.encode()),
    ):
        made = load(text)
        assert (made.size, made.komi, len(made.moves), made.info["PW"]) == (9, 6.5, 3, "x")
        assert made.info["PB"] == name
    comment = load(b"(;SZ[9]KM[6.5]%s;B[ee]C[%s];W[cc];B[dd])" % (charset.encode(), head))
    assert len(comment.moves) == 3


def test_a_label_that_does_not_fit_is_named() -> None:
    made = load(b"(;CA[EUC-JP]PB[\x83\x5d\x83\x93]SZ[9]KM[0];B[ee])")
    assert (made.info["PB"], made.size) == ("ゾン", 9)
    assert made.notes[0] == "CA[EUC-JP]: the bytes do not fit; read as Shift_JIS"
    for label in ("GBK", "Shift_JIS", "ISO-8859-1", "EUC-KR", "windows-1251"):
        made = load(f"(;CA[{label}]PB[李世石]PW[x]SZ[9]KM[0];B[ee];W[cc])".encode())
        assert (made.info["PB"], made.info["PW"], made.size) == ("李世石", "x", 9)
        assert made.notes in ([f"CA[{label}]: the text is UTF-8"], [f"CA[{label}]: the bytes do not fit"])
    # The words CA[...] within a comment are no label.
    made = load("(;SZ[9]KM[0]C[CA[Shift_JIS\\]]PB[李];B[ee])".encode())
    assert made.info["PB"] == "李"
    made = load(b"(;C[CA[UTF-7\\]CA[Big5\\]]ca[Shift_JIS]PB[\x83\x5d]SZ[9]KM[0];B[ee])")
    assert (made.info["PB"], made.notes) == ("ゾ", [])
    # Python's codecs that are no encodings of text are not used.
    for name in ("rot13", "utf-7", "unicode_escape", "idna", "hex", "punycode", "base64", "mbcs"):
        made = load(b"(;CA[%s]PB[\xc3\xa9+AGE- \\u0041]SZ[9]KM[0];B[ee])" % name.encode())
        assert made.info["PB"].startswith("é+AGE-")


def test_stones_are_set_up_anywhere() -> None:
    made = read("(;SZ[9]KM[0];B[dd];W[cc];AB[ee]AE[cc];PL[B]AW[ff][ee];B[gg])")
    assert made.moves == [("B", (3, 3)), ("W", (2, 2)), ("B", (6, 6))]
    assert made.setups == {2: Setup([], [(5, 5), (4, 4)], [(2, 2)], "B")}
    assert read("(;SZ[9]KM[0]AB[];AB[aa];AE[aa]AW[bb];W[cc])").white == [(1, 1)]
    assert read("(;SZ[9]KM[0];B[dd];PL[B])").setups == {1: Setup(first="B")}
    # A part of a record ends before the move, with the stones and the turn that the move was played under.
    text = "(;SZ[9]KM[0]AB[aa];B[dd];B[ee]AB[ff];W[cc])"
    assert read(text, 1).first == "B"
    assert read(text, 2).setups == {1: Setup([(5, 5)], first="B")}
    assert (read(text, 99).moves, read(text, 99).setups) == (read(text).moves, read(text).setups)


def test_a_handicap_without_stones_gets_the_fixed_points() -> None:
    made = read("(;SZ[19]HA[4]KM[0.5];W[qd])")
    assert made.black == [(3, 3), (15, 3), (3, 15), (15, 15)]
    assert (made.assumed, made.first) == (4, "W")
    assert made.as_written().black == []
    assert len(read("(;SZ[9]KM[0]HA[2 stones];W[ee])").black) == 2
    assert len(read("(;SZ[19]KM[0]HA[9])").black) == 9
    # Stones that are set up, or are played as moves, are not placed twice.
    assert read("(;SZ[19]KM[0]HA[2]AB[pd][dp];W[qq])").notes == []
    assert read("(;SZ[19]KM[0]HA[2];B[pd];B[dp];W[qq])").notes == []
    for text in ("HA[3]AB[pd][dp];W[qq]", "HA[2];B[pd];W[qq]", "HA[12];W[qq]", "HA[-2];W[qq]", "HA[2.5]"):
        made = read(f"(;SZ[19]KM[0]{text})")
        assert (made.assumed, len(made.notes)) == (0, 1), text
        assert made.notes[0].startswith("HA["), text
    assert read("(;SZ[19]KM[0]HA[1];B[qq])").notes == []


def test_a_file_of_several_games_notes_that_the_first_is_read() -> None:
    made = read("(;SZ[9]KM[0];B[aa])(;SZ[13];B[bb])")
    assert (made.size, made.notes) == (9, ["the file holds 2 games; the first is read"])
