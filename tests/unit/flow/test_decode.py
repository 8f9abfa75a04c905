"""Decoding of JSON and TOML within bounds: hostile files are refused, files that Ludus writes are read."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from ludus.flow.inputs.decode import MAX_DEPTH, TextError, TomlError, from_json, from_toml, text_of, to_json

SOURCE = Path(__file__).parents[3] / "src" / "ludus"
DEEP = {
    "objects": '{"a":' * 5000 + "1" + "}" * 5000,
    "objects that the decoder would take": '{"a":' * 500 + "1" + "}" * 500,
    "lists": "[" * 5000 + "]" * 5000,
    "lists and objects": '[{"a":' * 200 + "1" + "}]" * 200,
    "lists behind a string": '{"a":"x\\"}}}","b":' + "[" * 99 + "]" * 99 + "}",
    "never closed": "[" * 100_000,
    "many": "[" + "[" * 70 + "]" * 70 + ",[{}]" * 10_000 + "]",
}


@pytest.mark.parametrize("kind", DEEP)
@pytest.mark.parametrize("wanted", [dict[str, object], object, dict[str, msgspec.Raw]])
def test_deeply_nested_json_is_refused(kind: str, wanted: type[object]) -> None:
    with pytest.raises(msgspec.DecodeError):
        from_json(DEEP[kind], wanted)
    with pytest.raises(msgspec.DecodeError):
        from_json(DEEP[kind].encode(), wanted)


@pytest.mark.parametrize("text", ["1" + "0" * 10_000, "-" + "9" * 21, '{"steps":' + "1" * 400 + "}"])
def test_long_integers_in_json_are_refused(text: str) -> None:
    with pytest.raises(msgspec.DecodeError):
        from_json(text)


@pytest.mark.parametrize("data", [b"\xff", b'"\xff"', '"\ud800"', b"", "nothing"])
def test_text_that_is_no_json_raises_one_type_of_error(data: bytes | str) -> None:
    with pytest.raises(msgspec.DecodeError):
        from_json(data)


def test_json_within_the_bounds_is_read() -> None:
    assert from_json(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)
    for value in (2**64 - 1, -(2**63), 1e300, 0.12345678901234567, "1" * 50, "[" * 500 + '"\\{'):
        assert from_json(msgspec.json.encode({"value": [value]})) == {"value": [value]}
    assert from_json("[1" + "0" * 30 + ".5, 1e+0000000000000000000000003]") == [1e30, 1000.0]
    assert from_json(msgspec.Raw(b"[1]"), list[int]) == [1]


BOMBS = {
    "an integer": "a = 1" + "0" * 10_000,
    "an integer with underscores": "a = 1" + "_0" * 10_000,
    "a hexadecimal integer": "a = 0x" + "f" * 10_000,
    "an integer that Python takes": "[a]\nb = " + "9" * 400,
    "a dotted key": ".".join("a" * 3000) + " = 1",
    "a dotted key of quoted parts": " . ".join(['"a b"'] * 100_000) + " = 1",
    "a key behind strings": "x = '\\'\ny = '''\\'''\nz = \"\"\"\\\"\"\"\"\n"
    + ".".join("a" * 300_000)
    + " = 1",
    "a table's name": "[" + ".".join("a" * 3000) + "]",
    "a list": "a = " + "[" * 3000 + "]" * 3000,
    "a list that Python takes": "a = " + "[" * 90 + "]" * 90,
    "inline tables": "a = " + "{a = " * 90 + "1" + "}" * 90,
}


@pytest.mark.timeout(30)
@pytest.mark.parametrize("kind", BOMBS)
def test_toml_out_of_bounds_is_refused(kind: str) -> None:
    with pytest.raises(TomlError, match=r"nested more than|too many digits"):
        from_toml(BOMBS[kind])


def test_toml_within_the_bounds_is_read() -> None:
    rows = ".a." * 300
    text = f'title = "{rows}" # {rows}\nmap = """\n{rows}\n"""\nrates = [{"1.5, " * 300}]\n'
    text += '[tune."a.b.c"]\nlow = 1\n'
    document = from_toml(text)
    assert document["title"] == rows
    assert document["tune"] == {"a.b.c": {"low": 1}}
    assert from_toml(".".join("a" * 30) + f" = {2**63 - 1}")


@pytest.mark.parametrize("text", ["", "a = 1\n", "# \u8c61\r\n[b]\r\nc = 2\r\n"])
def test_a_byte_order_mark_is_no_part_of_the_text(text: str) -> None:
    lines = text.replace("\r\n", "\n")
    assert text_of(text.encode("utf-8-sig")) == text_of(text.encode()) == lines
    assert from_toml("\ufeff" + text) == from_toml(text)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_another_encoding_is_named_in_the_error(encoding: str) -> None:
    mark = "" if encoding in ("utf-16", "utf-32") else "\ufeff"
    with pytest.raises(TextError, match=rf"^{encoding[:6].upper()} text .*expected UTF-8"):
        text_of((mark + "a = 1\n").encode(encoding))
    with pytest.raises(TextError, match=r"^not UTF-8 text .byte 4.$"):
        text_of("a = 'é'".encode("latin-1").replace(b"'", b"", 1))


def test_paths_that_are_not_utf8_are_written_with_escapes() -> None:
    row = {"command": ("a\udcff", "é"), "at": {"b\udce9": 1}}
    assert from_json(to_json(row)) == {"command": ["a\\udcff", "é"], "at": {"b\\udce9": 1}}


def test_every_reader_decodes_within_the_bounds() -> None:
    """Only text of the core, in the loop of a match, is decoded without bounds."""
    unsafe = re.compile(r"msgspec\.json\.(?:decode|Decoder)\(|(?<!\w)json\.loads?\(|tomllib\.loads?\(")
    found = [
        str(path.relative_to(SOURCE))
        for path in sorted(SOURCE.rglob("*.py"))
        if unsafe.search(path.read_text("utf-8"))
    ]
    assert found == ["flow/inputs/decode.py", "pool/native.py"]
