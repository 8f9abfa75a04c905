"""Below the command line no message names an option: settings and arguments are data there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import ludus

SOURCE = Path(ludus.__file__).parent
OPTION = re.compile(r"(?<![\w-])--[a-z]")
#: Commands that a reader can paste, and that programs run.
COMMAND = re.compile(r"\b(ludus [a-z]+|cmake|docker build|ray start|srun|torchrun|python -m [\w.]+) ")
#: Modules that write whole commands in parts, or style sheets.
WRITERS = (
    "cli/",
    "cluster/render/job.py",
    "cluster/render/slurm.py",
    "gtp/matches.py",
    "sweep/loop.py",
    "reporting/page.py",
    "presets/options.py",
    "storage/packaged.py",
    "native/__main__.py",
)


def texts(tree: ast.AST) -> Iterator[str]:
    """Yield the strings of a module, without docstrings."""
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    inner |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
            yield node.value


def test_only_commands_to_paste_have_options_below_the_command_line() -> None:
    files = {str(path.relative_to(SOURCE)): path for path in SOURCE.rglob("*.py")}
    assert len(files) > 400
    found = [
        f"{name}: {text}"
        for name, path in files.items()
        if not name.startswith(WRITERS)
        for text in texts(ast.parse(path.read_text()))
        if OPTION.search(text) and not COMMAND.search(text)
    ]
    assert found == []


def test_the_search_finds_an_option_in_a_message() -> None:
    tree = ast.parse(
        '"""--docs"""\nraise E(f"{x}: name it (--game)")\nf("a--b", "ludus train --x 1 ", "--y")'
    )
    assert [text for text in texts(tree) if OPTION.search(text)] == [
        "X: name it (--game)",
        "ludus train --x 1 ",
        "--y",
    ]
