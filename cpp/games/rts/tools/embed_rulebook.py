"""Writes a rulebook (TOML) as the flat text that the C++ core has built in.

Usage: embed_rulebook.py RULEBOOK.toml NAME OUTPUT.hpp

Every leaf becomes a line ``path.to.key=value``: lists are joined by commas, booleans are 0 or 1. The
core parses and validates the lines when rules are made, so this script only flattens.
"""

from __future__ import annotations

import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def flatten(table: dict[str, object], prefix: str = "") -> list[str]:
    """The lines of a table, in the order of the file."""
    lines: list[str] = []
    for key, value in table.items():
        path = f"{prefix}{key}"
        if isinstance(value, dict):
            lines += flatten(value, f"{path}.")
        elif isinstance(value, bool):
            lines.append(f"{path}={int(value)}")
        elif isinstance(value, list):
            lines.append(f"{path}={','.join(map(str, value))}")
        else:
            lines.append(f"{path}={value}")
    return lines


def main(source: str, name: str, output: str) -> None:
    lines = flatten(tomllib.loads(Path(source).read_text(encoding="utf-8")))
    body = "\n".join(f'    "{line}\\n"' for line in lines)
    text = (
        f"// Generated from {Path(source).name} by embed_rulebook.py.\n#pragma once\n\n"
        f"namespace ludus::rts {{\n\ninline constexpr const char* {name} =\n{body};\n\n}}\n"
    )
    target = Path(output)
    if not target.exists() or target.read_text(encoding="utf-8") != text:
        target.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], sys.argv[3])
