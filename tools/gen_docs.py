"""Writes the tables of ``docs/games/<game>.md`` from the games' own specs, and the page of the Python API.

A page holds pairs of lines ``<!-- spec: SECTION -->`` and ``<!-- end -->``; the text between them is
rewritten (sections: facts, guide, observation, actions, parameters, bots).
``<!-- spec: SECTION key=value -->`` is that section under other parameters of the game.
``--check`` writes nothing and lists the pages that are out of date (exit code 3). A game without a page is an
error: every game has one.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from ludus.flow.spec import GameSpec, TensorSpec
from ludus.games import rulebook, spec
from ludus.games.guides.lookup import guide_of
from ludus.games.registry import BUILT_IN
from ludus.storage.errors import StorageError
from tools import api_page, guide_sections, vizdoom_page, zoo_page

Params = Mapping[str, str]
Section = Callable[[GameSpec, Params], str]
PAGES = Path(__file__).resolve().parent.parent / "docs" / "games"
_BLOCK = re.compile(r"(<!-- spec: (\w+)((?: \w+=\S+)*) -->\n).*?(<!-- end -->)", re.DOTALL)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [" | ".join(head), " | ".join("---" for _ in head)]
    lines += [" | ".join(_cell(c) for c in row) for row in rows]
    return "".join(f"| {line} |\n" for line in lines)


def _code(text: str) -> str:
    return f"`{text}`"


def _number(value: float) -> str:
    return f"{value:g}" if abs(value) < 1e6 else f"{value:.0f}"


MANY_LABELS = 64  # beyond this a table of a head's choices is not readable
SYMMETRIES = {"none": "none", "mirror": "left to right", "dihedral": "the eight of the square"}


def facts(s: GameSpec, _: Params) -> str:
    """Seats, turns, information, frame skip, versions."""
    return _table(
        ("", ""),
        [
            ("name on the command line", _code(s.name)),
            ("rules version", str(s.version)),
            ("seats", str(s.seats)),
            ("turns", "one seat at a time" if s.turn_based else "all seats at once"),
            ("information", "perfect" if s.perfect_information else "each seat sees its own part"),
            ("symmetry of the board", SYMMETRIES[s.symmetry]),
            ("default frame skip", f"{s.default_frame_skip} ticks between two decisions"),
            ("longest match", f"{s.max_ticks} ticks" if s.max_ticks else "unbounded"),
            ("observation, packed", f"{sum(_packed_bytes(t) for t in s.observation)} bytes"),
            *([("counted at the end", f"the owners of {s.counted_cells} cells")] if s.counted_cells else []),
        ],
    )


def _packed_bytes(t: TensorSpec) -> int:
    size = t.packed_dtype.itemsize
    for extent in t.packed_shape:
        size *= extent
    return size


def observation(s: GameSpec, _: Params) -> str:
    """One row a tensor, then the planes or columns of each."""
    rows = [
        (
            _code(t.name),
            _code(f"{t.dtype}[{', '.join(map(str, t.shape))}]"),
            f"{_number(t.low)} .. {_number(t.high)}",
            _code(t.codec),
            t.meaning,
        )
        for t in s.observation
    ]
    text = _table(("tensor", "packed as", "range", "codec", "meaning"), rows)
    for t in s.observation:
        if t.labels:
            numbered = _table(("", t.name), [(str(n), label) for n, label in enumerate(t.labels)])
            text += f"\nParts of `{t.name}`:\n\n{numbered}"
    return text


def guide(s: GameSpec, params: Params) -> str:
    """The explanation that pages show."""
    return guide_sections.guide(s, guide_of(s.name, params), _table)


def actions(s: GameSpec, params: Params) -> str:
    """One row a head, then its choices."""
    explained = guide_of(s.name, params)
    rows = [
        (
            _code(h.name),
            str(h.size),
            ", ".join(_code(s.heads[i].name) for i in h.depends_on) or "-",
            h.meaning,
        )
        for h in s.heads
    ]
    text = _table(("head", "choices", "mask depends on", "meaning"), rows)
    whole = [h for h in s.heads if not h.labels or h.labels == ("no", "yes")]
    said = "".join(f"- `{h.name}`: {guide_sections.every(explained, h).strip()}\n" for h in whole)
    text += f"\n{said}" if said else ""
    for h in s.heads:
        if len(h.labels) > MANY_LABELS:
            first, last = (", ".join(map(_code, part)) for part in (h.labels[:3], h.labels[-3:]))
            text += f"\nChoices of `{h.name}`: {first}, ..., {last}\n\n"
            text += guide_sections.every(explained, h).rstrip("\n") + "\n"
        elif h.labels and h.labels != ("no", "yes"):
            numbered = guide_sections.choices(h, explained, _table)
            text += f"\nChoices of `{h.name}`:\n\n{numbered}"
    return text


def parameters(s: GameSpec, _: Params) -> str:
    """One row a parameter."""
    if not s.params:
        return "None.\n"
    rows = []
    for p in s.params:
        if p.kind == "text":
            bounds = ", ".join(map(_code, p.choices)) or "any text"
        else:
            bounds = f"{_number(p.low)} .. {_number(p.high)}"
        default = _code(p.default_value) if p.default_value else "-"
        rows.append((_code(p.name), p.kind, default, bounds, p.meaning))
    return _table(("parameter", "kind", "default", "allowed", "meaning"), rows)


def bots(s: GameSpec, params: Params) -> str:
    """One row a bot."""
    return guide_sections.bots(s, guide_of(s.name, params), _table)


def rulebook_keys(_: GameSpec, __: Params) -> str:
    """One row a key of a rulebook, from its schema."""
    rows: list[tuple[str, ...]] = []

    def walk(node: dict[str, Any], path: str) -> None:
        if node.get("type") != "object":
            rows.append((_code(path), _allowed(node), str(node.get("description", "-"))))
            return
        for name, child in node.get("properties", {}).items():
            walk(child, f"{path}.{name}" if path else name)
        for child in node.get("patternProperties", {}).values():
            walk(child, f"{path}.NAME")

    walk(rulebook.schema(), "")
    return _table(("key", "allowed", "meaning"), rows)


def _allowed(node: dict[str, Any]) -> str:
    if "minimum" in node:
        noun = "integer" if node["type"] == "integer" else "number"
        return f"{noun}, {_number(node['minimum'])} .. {_number(node['maximum'])}"
    if node["type"] == "array":
        choices = node["items"].get("enum")
        return "list of " + (", ".join(map(_code, choices)) if choices else "names")
    if "enum" in node:
        return ", ".join(map(_code, node["enum"]))
    return {"boolean": "true, false", "string": "string"}.get(str(node["type"]), str(node["type"]))


#: Sections that only some pages have.
OPTIONAL: dict[str, Section] = {"rulebook": rulebook_keys}

SECTIONS: dict[str, Section] = {
    "facts": facts,
    "guide": guide,
    "observation": observation,
    "actions": actions,
    "parameters": parameters,
    "bots": bots,
}


def fill(page: str, s: GameSpec) -> str:
    """``page`` with every block rewritten. Raises ``ValueError`` on an unknown or a missing section."""
    seen = []

    def block(match: re.Match[str]) -> str:
        name = match.group(2)
        section = {**SECTIONS, **OPTIONAL}.get(name)
        if section is None:
            raise ValueError(f"unknown section {name!r}; there are {', '.join(SECTIONS)}")
        params = dict(pair.split("=", 1) for pair in match.group(3).split())
        if not params:
            seen.append(name)
        shown = spec(s.name, params) if params else s
        return f"{match.group(1)}\n{section(shown, params)}\n{match.group(4)}"

    filled = _BLOCK.sub(block, page)
    missing = [name for name in SECTIONS if name not in seen]
    if missing:
        raise ValueError(f"lacks <!-- spec: {missing[0]} --> ... <!-- end -->")
    return filled


def main() -> int:
    parser = argparse.ArgumentParser(description="Tables of docs/games from the specs.")
    parser.add_argument("--check", action="store_true", help="write nothing; say which pages are out of date")
    check = parser.parse_args().check
    stale = 0
    try:
        if not api_page.write(check=check):
            said = "out of date; run: make docs" if check else "rewritten"
            print(f"docs/reference/api.md: {said}", file=sys.stderr if check else sys.stdout)
            stale += check
    except api_page.MissingText as error:
        print(f"docs/reference/api.md: {error}", file=sys.stderr)
        return 1
    try:
        if not zoo_page.write(check=check):
            said = "out of date; run: make docs" if check else "table rewritten"
            print(f"docs/guides/zoo.md: {said}", file=sys.stderr if check else sys.stdout)
            stale += check
    except (ValueError, StorageError) as error:
        print(f"docs/guides/zoo.md: {error}", file=sys.stderr)
        return 1
    if not vizdoom_page.write(check=check):
        said = "out of date; run: make docs" if check else "table rewritten"
        print(f"docs/guides/vizdoom.md: {said}", file=sys.stderr if check else sys.stdout)
        stale += check
    for name in BUILT_IN:
        path = PAGES / f"{name}.md"
        if not path.exists():
            print(f"docs/games/{name}.md: missing; copy docs/games/tic_tac_toe.md", file=sys.stderr)
            return 1
        page = path.read_text("utf-8")
        try:
            filled = fill(page, spec(name))
        except ValueError as error:
            print(f"docs/games/{name}.md: {error}", file=sys.stderr)
            return 1
        if filled == page:
            continue
        if check:
            print(f"docs/games/{name}.md: out of date; run: make docs", file=sys.stderr)
            stale += 1
        else:
            path.write_text(filled, "utf-8")
            print(f"docs/games/{name}.md: tables rewritten")
    return 3 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
