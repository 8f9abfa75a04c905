"""Options and arguments of a command, read from the fields of a frozen struct.

A field is an option (``run_dir`` is ``--run-dir DIR``, a bool is a flag, a tuple is repeatable) or, with
:func:`positional`, an argument. A field ``overrides: dict[str, str]`` takes the options of settings: every
option with a dot in its name, and others that the command does not have. Types and ranges come from the
struct, checked as in presets (:mod:`ludus.presets.schema`), so that messages about wrong values are the same
everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

import msgspec
import msgspec.inspect as mi

from ludus.cli.errors import UserError
from ludus.cli.words import said
from ludus.flow.names import did_you_mean, nearest
from ludus.flow.problem import quoted
from ludus.presets import schema

OVERRIDES = "overrides"
WIDTH = 110


class Command(Protocol):
    """A command: a frozen struct of its arguments with a ``run`` that returns the exit code."""

    def run(self) -> int:
        """Run the command and return its exit code (:mod:`ludus.cli.errors`)."""


C = TypeVar("C", bound=Command)


#: Short forms that an option has in every command, by its name.
SHORT = {"out": "-o"}


def option(text: str, metavar: str = "", short: str = "") -> msgspec.Meta:
    """Return the description of an option, a part of its annotation.

    Args:
        text: One line for the help page, such as ``how many``.
        metavar: Name of the value there, such as ``N``; the field's name by default.
        short: Another form of the option, such as ``-o``.
    """
    return msgspec.Meta(extra={"help": text, "metavar": metavar, "short": short})


def positional(text: str, metavar: str = "", *, blank: bool = False) -> msgspec.Meta:
    """Return the description of a positional argument; arguments as of :func:`option`.

    ``blank``: whether it may be an empty text.
    """
    return msgspec.Meta(extra={"help": text, "metavar": metavar, "positional": True, "blank": blank})


QUIET = option("show no progress")


class ArgumentField(msgspec.Struct, frozen=True):
    """One option or argument. ``kind`` is the type without its description."""

    name: str
    kind: mi.Type
    help: str
    metavar: str
    positional: bool
    required: bool
    default: object
    short: str = ""
    blank: bool = False

    @property
    def flag(self) -> str:
        """The option on the command line: ``--some-name``; ``from_``, a word of Python, is ``--from``."""
        return "--" + self.name.rstrip("_").replace("_", "-")

    @property
    def is_switch(self) -> bool:
        """Whether the option takes no value."""
        return isinstance(self.kind, mi.BoolType)

    @property
    def is_list(self) -> bool:
        """Whether the option or argument is repeatable."""
        return isinstance(self.kind, mi.VarTupleType)


def fields_of(command: type[Command]) -> list[ArgumentField]:
    """Return the options and arguments of a command in the order of its fields, overrides left out."""
    info = mi.type_info(command)
    out: list[ArgumentField] = []
    if not isinstance(info, mi.StructType):
        raise TypeError(f"{command.__name__} is no msgspec struct")
    shared = {name for base in command.__bases__ for name in getattr(base, "__struct_fields__", ())}
    for field in sorted(info.fields, key=lambda f: f.name in shared):
        kind = field.type
        extra: dict[str, Any] = {}
        while isinstance(kind, mi.Metadata):
            extra = {**(kind.extra or {}), **extra}
            kind = kind.type
        if field.name == OVERRIDES:
            continue
        out.append(
            ArgumentField(
                name=field.name,
                kind=kind,
                help=extra.get("help", ""),
                metavar=extra.get("metavar", "") or field.name.upper(),
                positional=extra.get("positional", False),
                required=field.required,
                default=field.default,
                short=extra.get("short", "") or SHORT.get(field.name, ""),
                blank=extra.get("blank", False),
            )
        )
    return out


def takes_overrides(command: type[Command]) -> bool:
    """Whether options with a dot (``--run.seed 3``) belong to this command."""
    return OVERRIDES in getattr(command, "__struct_fields__", ())


def parse(command: type[C], name: str, words: Sequence[str]) -> C:
    """Parse the words after the command's name into its struct. The caller handles ``--help``.

    Raises:
        UserError: A word does not fit; the message names the command's help page.
    """
    reader = _ArgumentReader(command, name)
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            for argument in rest:
                reader.argument(argument)
            break
        if word.startswith("-") and len(word) > 1:
            reader.option(word, rest)
        else:
            reader.argument(word)
    return reader.finish()


class _ArgumentReader:
    """Reader of words: collects plain values by field, then makes the struct."""

    def __init__(self, command: type[Command], name: str) -> None:
        self.command, self.name = command, name
        fields = fields_of(command)
        self.options = {f.flag: f for f in fields if not f.positional}
        self.shorts = {f.short: f for f in fields if f.short}
        self.places = [f for f in fields if f.positional]
        self.values: dict[str, object] = {}
        self.overrides: dict[str, str] = {}
        self.seen = 0

    def fail(self, text: str) -> UserError:
        return UserError(f"ludus {self.name}: {text}; see: ludus {self.name} --help")

    def option(self, word: str, rest: list[str]) -> None:
        flag, equals, inline = word.partition("=")
        field = self.options.get(flag) or self.shorts.get(flag)
        if field is not None and field.is_switch:
            if equals:
                raise self.fail(f"{flag} takes no value")
            self.values[field.name] = True
            return
        if field is None and not self.is_setting(flag, inline if equals else next(iter(rest), "")):
            flags = [*self.options, "--help"]
            near = did_you_mean(flag, flags, "options", most=len(flags))
            raise self.fail(f"unknown option {flag}{near}")
        if not equals:
            if not rest or rest[0].startswith("--"):
                raise self.fail(f"{flag}: missing value")
            inline = rest.pop(0)
        if field is None:
            self.overrides[flag[2:]] = inline
        else:
            self.store(field, inline)

    def is_setting(self, flag: str, value: str) -> bool:
        """Whether ``flag`` names a setting of a preset rather than an option of the command.

        A setting goes by its whole path, or by its last part if that is no misspelled option of the command.
        """
        if not flag.startswith("--") or not takes_overrides(self.command):
            return False
        if "." in flag:
            return True
        from ludus.presets.overrides import setting_paths  # heavier than this module

        name = flag[2:].replace("-", "_")
        if any(path.rpartition(".")[2] == name for path in setting_paths()):
            return True
        if not value or value.startswith("--"):
            return False
        return not nearest(flag, [*self.options, "--help"], 0.8)

    def argument(self, word: str) -> None:
        if self.seen >= len(self.places):
            raise self.fail(f"unexpected argument {quoted(word)}")
        field = self.places[self.seen]
        if not word.strip() and not field.blank:  # the messages of everything below would start with a blank
            raise self.fail(f"{field.metavar} = {quoted(word)}: expected a non-empty string")
        if not field.is_list:
            self.seen += 1
        self.store(field, word)

    def store(self, field: ArgumentField, text: str) -> None:
        kind = field.kind
        where = field.metavar if field.positional else field.flag
        if isinstance(kind, mi.VarTupleType):
            items = text.split(",") if isinstance(kind.item_type, mi.IntType) else [text]
            value: object = [schema.from_text(item, kind.item_type) for item in items]
            before = self.values.get(field.name, [])
            self.values[field.name] = [*before, *value] if isinstance(before, list) else value  # type: ignore[misc]
        else:
            if field.name in self.values:
                raise self.fail(f"{where} is given twice")
            value = self.values[field.name] = schema.from_text(text, kind)
        for problem in schema.check(value, kind, where):
            raise self.fail(said(problem))

    def finish(self) -> C:  # type: ignore[type-var]
        missing = [f for f in self.places if f.required and f.name not in self.values]
        missing += [f for f in self.options.values() if f.required and f.name not in self.values]
        if missing:
            field = missing[0]
            what = field.metavar if field.positional else f"{field.flag} {field.metavar}"
            raise self.fail(f"missing {what} ({field.help})")
        if takes_overrides(self.command):
            self.values[OVERRIDES] = self.overrides
        return msgspec.convert(self.values, self.command)  # type: ignore[return-value]


def usage(command: type[Command], name: str) -> str:
    """Return the help page of a command: its docstring, arguments, options and ``EXAMPLES``."""
    fields = fields_of(command)
    places = [f for f in fields if f.positional]
    options = [f for f in fields if not f.positional]
    words = ["usage: ludus", name]
    for f in places:
        word = f.metavar + (" ..." if f.is_list else "")
        words.append(word if f.required else f"[{word}]")
    words += [f"{f.flag} {f.metavar}" for f in options if f.required]
    words.append("[options]")
    if takes_overrides(command):
        words.append("[--section.key VALUE ...]")
    lines = [" ".join(words), "", _paragraph(command.__doc__ or "")]
    rows = [(f.metavar, _help(f)) for f in places]
    if rows:
        lines += ["", "arguments", *_table(rows)]
    rows = [(_form(f), _help(f)) for f in options]
    rows.append(("--help", "show this page"))
    lines += ["", "options", *_table(rows)]
    examples: Sequence[str] = getattr(command, "EXAMPLES", ())
    if examples:
        lines += ["", "examples", *(f"  {line}" for line in examples)]
    return "\n".join(lines)


def _form(field: ArgumentField) -> str:
    """Return an option as it is written: ``-o, --out FILE``."""
    short = f"{field.short}, " if field.short else ""
    return f"{short}{field.flag}" + ("" if field.is_switch else f" {field.metavar}")


def _help(field: ArgumentField) -> str:
    text = field.help
    if isinstance(field.kind, mi.LiteralType):
        text += f" ({', '.join(str(v) for v in field.kind.values if v != '')})"
    told = "(default:" in text  # where the value has a meaning that its number lacks
    if not told and not field.required and field.default not in ("", False, 0, (), None, msgspec.NODEFAULT):
        default = f"{field.default:g}" if isinstance(field.default, float) else str(field.default)
        text += f" (default: {default})"
    return text


def _paragraph(text: str) -> str:
    import textwrap

    first, _, rest = text.strip().partition("\n")
    return f"{first}\n{textwrap.dedent(rest)}".strip()


def _table(rows: Sequence[tuple[str, str]]) -> list[str]:
    import textwrap

    width = min(28, max(len(left) for left, _ in rows))
    lines: list[str] = []
    for left, right in rows:
        wrapped = textwrap.wrap(right, WIDTH - width - 4) or [""]
        if len(left) > width:
            lines.append(f"  {left}")
            left = ""
        lines.append(f"  {left:<{width}}  {wrapped[0]}")
        lines += [f"  {'':<{width}}  {line}" for line in wrapped[1:]]
    return lines
