"""Options and arguments from the fields of a struct."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
import pytest

from ludus.cli.arguments import fields_of, option, parse, positional, usage
from ludus.cli.commands.replay import ReplayToHtml, ReplayToVideo
from ludus.cli.commands.report import Report
from ludus.cli.commands.surgery import Surgery
from ludus.cli.errors import UserError


class Sample(msgspec.Struct, frozen=True):
    """Do something.

    In detail.
    """

    name: Annotated[str, positional("what it is called")]
    count: Annotated[int, msgspec.Meta(ge=1), option("how many", "N")] = 4
    mode: Annotated[Literal["fast", "slow"], option("how")] = "fast"
    param: Annotated[tuple[str, ...], option("may be repeated", "K=V")] = ()
    skips: Annotated[tuple[int, ...], option("numbers", "N,N")] = ()
    json: Annotated[bool, option("as JSON")] = False
    overrides: dict[str, str] = {}

    def run(self) -> int:
        return 0


class Plain(msgspec.Struct, frozen=True):
    """Takes files."""

    files: Annotated[tuple[str, ...], positional("files")]
    out: Annotated[str, option("where to", "FILE")]

    def run(self) -> int:
        return 0


def words(text: str) -> list[str]:
    return text.split()


def test_options_arguments_and_overrides_are_parsed_together() -> None:
    got = parse(
        Sample, "sample", words("--count=7 x --mode slow --param a=1 --param b=2,3 --skips 1,2 --json")
    )
    assert got == Sample("x", 7, "slow", ("a=1", "b=2,3"), (1, 2), True, {})


def test_fields_left_out_have_their_defaults() -> None:
    assert parse(Sample, "sample", ["x"]) == Sample("x")


def test_options_with_a_dot_are_overrides_kept_as_text() -> None:
    got = parse(Sample, "sample", words("x --run.max-minutes 3 --policy.channels=[1,2] --a.b -1"))
    assert got.overrides == {"run.max-minutes": "3", "policy.channels": "[1,2]", "a.b": "-1"}


def test_a_command_without_overrides_refuses_them() -> None:
    with pytest.raises(UserError, match=r"unknown option --run\.seed"):
        parse(Plain, "plain", words("a --out b --run.seed 3"))


def test_double_dash_ends_options() -> None:
    assert parse(Plain, "plain", words("--out o -- --a -b")).files == ("--a", "-b")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x --cout 3", "unknown option --cout (did you mean --count?)"),
        ("x --count 0", "--count = 0: expected an integer >= 1"),
        ("x --count two", '--count = "two": expected an integer >= 1'),
        (
            "x --count 99999999999999999999",
            "--count = 99999999999999999999: expected an integer >= 1, at most 9223372036854775807",
        ),
        ("x --mode slwo", '--mode = "slwo": expected one of fast, slow (did you mean slow?)'),
        ("x --count", "--count: missing value"),
        ("x --count --json", "--count: missing value"),
        ("x --count 3 --count 4", "--count is given twice"),
        ("x --json=yes", "--json takes no value"),
        ("x y", 'unexpected argument "y"'),
        ("", "missing NAME (what it is called)"),
    ],
)
def test_mistakes_name_the_value_and_what_was_expected(line: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        parse(Sample, "sample", words(line))
    assert str(caught.value) == f"ludus sample: {message}; see: ludus sample --help"


def test_a_required_option() -> None:
    with pytest.raises(UserError, match=r"missing --out FILE \(where to\)"):
        parse(Plain, "plain", ["a"])


def test_help_shows_every_field_with_its_default() -> None:
    page = usage(Sample, "sample")
    assert page.startswith("usage: ludus sample NAME [options] [--section.key VALUE ...]\n\nDo something.")
    for field in fields_of(Sample):
        assert field.help in page
    assert "--count N" in page
    assert "how many (default: 4)" in page
    assert "how (fast, slow) (default: fast)" in page
    assert "overrides" not in page.lower()


def test_required_options_are_in_the_usage_line() -> None:
    assert usage(Plain, "plain").startswith("usage: ludus plain FILES ... --out FILE [options]\n")


def test_a_short_form_is_the_option_itself() -> None:
    long, short = (
        parse(Surgery, "surgery", ["RUN", "--to", "a.toml", f, "w.safetensors"]) for f in ("--out", "-o")
    )
    assert long == short
    assert "-o, --out FILE" in usage(Surgery, "surgery")
    with pytest.raises(UserError, match="unknown option -x"):
        parse(Surgery, "surgery", ["RUN", "-x", "1"])
    with pytest.raises(UserError, match="--out is given twice"):
        parse(Surgery, "surgery", ["RUN", "-o", "a", "--out", "b"])


def test_out_has_one_short_form_in_every_command() -> None:
    for command in (ReplayToHtml, ReplayToVideo, Surgery, Report):
        (out,) = (f for f in fields_of(command) if f.name == "out")
        assert out.short == "-o", command
    assert parse(Report, "report", ["a", "-o", "b"]) == Report(("a",), out="b")
