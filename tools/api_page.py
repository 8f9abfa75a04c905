"""Writes ``docs/reference/api.md``: every public name of ``import ludus``, from signatures and docstrings.

A public function, method or property without a docstring is an error, and so is an argument that its
docstring does not describe. ``python -m tools.gen_docs`` calls it.
"""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "api.md"

HEAD = """# The Python API

<!-- Written by python -m tools.gen_docs from the docstrings. -->

Every public name. The names of `ludus` are imported with `import ludus`, which loads neither numpy nor torch;
the others say where they are from. Names that are not on this page may change with any version.
[From Python](../guides/from_python.md) shows them at work.

In signatures, a `Setting` is a string, a number, true or false, or a list of them; a `Callback` takes
`UpdateMetrics` or `EvaluationMetrics`; a `ParamValue` is a string, a number, true or false.
"""

#: Heading -> the module and the names below it; "" = every other name of ``ludus.__all__``.
SECTIONS: dict[str, tuple[tuple[str, str], ...]] = {
    "Functions": tuple(
        ("ludus", n)
        for n in (
            *("train", "resume", "evaluate", "load_policy", "export_onnx", "search", "list_games"),
            "make_pool",
            "register_encoder",
        )
    ),
    "Classes": (
        *(
            ("ludus", n)
            for n in ("LoadedPolicy", "Match", "Sink", "Slab", "Lineup", "SeatPlan", "Controller")
        ),
        ("ludus.pool", "Pool"),
    ),
    "Results and metrics": (
        ("ludus.training.runs", "RunResult"),
        ("ludus.evaluation.results", "EvalResult"),
        ("ludus.mcts.player", "SearchResult"),
        ("ludus.reporting.metrics", "UpdateMetrics"),
        ("ludus.reporting.metrics", "EvaluationMetrics"),
    ),
    "Environments of Gymnasium": (("ludus.gymnasium", "LudusEnv"), ("ludus.gymnasium", "LudusVectorEnv")),
    "Errors": (
        ("ludus.presets.file", "PresetError"),
        ("ludus.presets.errors", "ConfigError"),
        ("ludus.presets.errors", "RunFailed"),
        ("ludus.presets.errors", "Interrupted"),
        ("ludus.storage.errors", "StorageError"),
        ("ludus.storage.errors", "RunExists"),
        ("ludus.storage.errors", "RunNotFound"),
        ("ludus.storage.errors", "CorruptFile"),
        ("ludus.native", "ParamError"),
        ("ludus.native", "GameError"),
        ("ludus.pool.errors", "PoolError"),
    ),
}

#: Errors of the compiled core, whose docstrings are Python's.
_COMPILED = {
    "ParamError": "An unknown game, parameter, seat or bot, or a value that a parameter does not take.",
    "GameError": "The rules refuse a decision.",
}

_SECTION = re.compile(r"^(Args|Returns|Raises):$", re.MULTILINE)
_ENTRY = re.compile(r"^(\w[\w, ]*):[ \n]", re.MULTILINE)
_ROLE = re.compile(r":\w+:`~?([^`]+)`")
_FIELD = re.compile(r"^    (\w+): ([^=#\n]+?)(?: = ([^#\n]+?))?(?:  # ([^\n]*))?$", re.MULTILINE)
_ATTRIBUTE = re.compile(r"^ +#: ([^\n]*)\n((?: +#: [^\n]*\n)*) +(?:self\.)?([a-z]\w*)\b", re.MULTILINE)


class MissingText(ValueError):
    """A public name that nothing describes."""


def page() -> str:
    """Return the whole page. Raises :class:`MissingText`."""
    import ludus

    listed = {name for section in SECTIONS.values() for module, name in section if module == "ludus"}
    if missing := set(ludus.__all__) - listed - {"__version__"}:
        raise MissingText(f"{', '.join(sorted(missing))}: public, and in no section of tools/api_page.py")
    parts = [HEAD]
    for title, names in SECTIONS.items():
        parts.append(f"## {title}\n")
        for module, name in names:
            value = getattr(importlib.import_module(module), name)
            if title == "Errors":
                parts.append(_error(module, name, value))
            else:
                parts.append("\n".join(_described(module, name, value)))
    return "\n".join(parts).rstrip() + "\n"


def _error(module: str, name: str, value: type) -> str:
    bases = ", ".join(
        f"`{base.__name__}`" for base in value.__mro__[1:] if base not in (object, BaseException)
    )
    return f"- `{module}.{name}` ({bases}): {_prose(_doc(name, value)).split(chr(10) * 2)[0]}"


def _described(module: str, name: str, value: object) -> Iterator[str]:
    yield f"### `{module}.{name}`\n"
    if not _is_result(module) and not getattr(value, "_is_protocol", False):
        yield from _code(f"{name}{_signature(value)}")
    yield _text(name, value)
    if not isinstance(value, type):
        return
    fields = [f"- `{field}`" + (f": {about}" if about else "") for field, about in _fields(value)]
    yield from [*fields, ""] if fields else []
    for member, item in vars(value).items():
        if member.startswith("_") or inspect.isclass(item) or _is_inherited(value, member):
            continue
        if isinstance(item, property):
            yield f"#### `{name}.{member}`\n"
            yield _text(f"{name}.{member}", item)
        elif callable(item) or isinstance(item, (classmethod, staticmethod)):
            function = getattr(value, member)
            yield f"#### `{name}.{member}()`\n"
            yield from _code(f"{member}{_signature(function, method=inspect.isfunction(item))}")
            yield _text(f"{name}.{member}", function)


def _is_result(module: str) -> bool:
    """Whether names of the module are returned and never made by a user: their fields say enough."""
    return any(module == m for m, _ in SECTIONS["Results and metrics"])


def _is_inherited(owner: type, member: str) -> bool:
    """Whether a member only carries out what a library's base class documents."""
    return any(
        member in vars(base) and base.__module__.partition(".")[0] != "ludus"
        for base in owner.__mro__[1:]
        if base is not object
    )


def _doc(name: str, value: object) -> str:
    doc = inspect.getdoc(value)
    if not doc:
        raise MissingText(f"{name}: public, without a docstring")
    return doc


def _text(name: str, value: object) -> str:
    """Return the docstring as Markdown: prose, then a list for each of arguments, result and errors."""
    head, *sections = _SECTION.split(_doc(name, value))
    lines = [_prose(head.strip()), ""]
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        body = textwrap.dedent(body.strip("\n")).strip()
        if title == "Returns":
            lines += [f"**Returns** {_joined(body)}", ""]
            continue
        entries = _ENTRY.split(body)[1:]
        if title == "Args":
            _check_arguments(name, value, entries[::2])
        lines += [f"**{'Arguments' if title == 'Args' else title}**", ""]
        lines += [f"- `{e}`: {_joined(t)}" for e, t in zip(entries[::2], entries[1::2], strict=True)] + [""]
    return "\n".join(lines)


def _check_arguments(name: str, value: object, described: list[str]) -> None:
    parameters = inspect.signature(value).parameters  # type: ignore[arg-type]
    taken = [p for p in parameters if p not in ("self", "cls")]
    if missing := [p for p in taken if p not in described]:
        raise MissingText(f"{name}: no word about the arguments {', '.join(missing)}")
    if unknown := [p for p in described if p not in parameters]:
        raise MissingText(f"{name}: describes {', '.join(unknown)}, which it does not take")


def _prose(text: str) -> str:
    """Paragraphs on a line each; reStructuredText's marks become Markdown's. Blocks of code stay."""
    paragraphs = re.split(r"\n\s*\n", text)
    return "\n\n".join(
        "\n".join(["```python", textwrap.dedent(p), "```"]) if p.startswith("    ") else _joined(p)
        for p in paragraphs
    )


def _joined(text: str) -> str:
    return _ROLE.sub(r"`\1`", " ".join(text.split())).replace("``", "`")


def _code(text: str) -> list[str]:
    return ["```python", text, "```", ""]


def _signature(value: object, *, method: bool = False) -> str:
    """Return ``(a: int, b: str = "") -> float``, on several lines where one is too long."""
    if not callable(value):
        return ""
    signature = inspect.signature(value)
    parameters = [p for p in signature.parameters.values() if not (method and p.name == "self")]
    returned = signature.return_annotation
    end = "" if returned is inspect.Signature.empty or isinstance(value, type) else f" -> {_type(returned)}"
    parts: list[str] = []
    starred = False
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        mark = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
        starred = starred or p.kind is p.VAR_POSITIONAL
        kind = "" if p.annotation is p.empty else f": {_type(p.annotation)}"
        default = "" if p.default is p.empty else f"{' = ' if kind else '='}{_default(p.default)}"
        parts.append(f"{mark}{p.name}{kind}{default}")
    flat = f"({', '.join(parts)}){end}"
    if len(flat) <= 60:
        return flat
    return "(\n" + "".join(f"    {part},\n" for part in parts) + f"){end}"


def _default(value: object) -> str:
    """As code has it, without addresses."""
    if isinstance(value, str):
        return f'"{value}"'
    return str(getattr(value, "__name__", "...")) if "<" in repr(value) else repr(value)


def _type(annotation: object) -> str:
    if isinstance(annotation, str):
        return annotation.strip("'\"")
    text = annotation.__name__ if isinstance(annotation, type) and not hasattr(annotation, "__args__") else ""
    return text or re.sub(r"\b(?:typing|ludus[\w.]*)\.", "", str(annotation))


def _fields(value: type) -> Iterator[tuple[str, str]]:
    """Fields of a struct and attributes that ``#:`` describes, with their comments."""
    source = textwrap.dedent(inspect.getsource(value))
    code = re.sub(r'""".*?"""', "", source, flags=re.DOTALL)
    if hasattr(value, "__struct_fields__") or hasattr(value, "__dataclass_fields__"):
        body = code.partition("\n    def ")[0].partition("\n    @")[0]
        for name, kind, default, comment in _FIELD.findall(body):
            yield f"{name}: {kind}" + (f" = {default}" if default else ""), _joined(comment)
        return
    for first, more, name in _ATTRIBUTE.findall(code):
        yield name, _joined(" ".join([first, *re.findall(r"#: (.*)", more)]))


def write(*, check: bool) -> bool:
    """Write the page; with ``check`` only return whether it is up to date."""
    text = page()
    if PAGE.is_file() and PAGE.read_text("utf-8") == text:
        return True
    if not check:
        PAGE.write_text(text, "utf-8")
    return False
