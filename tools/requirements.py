"""Print the requirements of ``ludus-rl[EXTRAS]`` from pyproject.toml, one a line.

    python -m tools.requirements train,cli,dev

With it the needed packages can be fetched while the core is still compiled (tools/install.sh).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    from pip._vendor import tomli as tomllib

PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
OWN = re.compile(r"ludus-rl\[([\w\-, ]+)\]")


class UnknownExtra(ValueError):
    """An extra that pyproject.toml does not have."""


def requirements(
    base: Sequence[str], optional: Mapping[str, Sequence[str]], extras: Iterable[str]
) -> list[str]:
    """Return the requirements of the package and these extras, each once, with ``ludus-rl[...]`` expanded."""
    found = dict.fromkeys(base)
    seen: set[str] = set()
    todo = [e.strip() for e in extras if e.strip()]
    while todo:
        extra = todo.pop(0)
        if extra in seen:
            continue
        seen.add(extra)
        if extra not in optional:
            raise UnknownExtra(f"ludus has no extra '{extra}', it has: {', '.join(sorted(optional))}")
        for requirement in optional[extra]:
            own = OWN.fullmatch(requirement.strip())
            if own is None:
                found[requirement] = None
            else:
                todo += [e.strip() for e in own[1].split(",")]
    return list(found)


def main(argv: Sequence[str]) -> None:
    if len(argv) != 1:
        sys.exit(__doc__)
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    try:
        print(
            *requirements(project["dependencies"], project["optional-dependencies"], argv[0].split(",")),
            sep="\n",
        )
    except UnknownExtra as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(sys.argv[1:])
