"""Files, functions and packages stay small enough to read."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[3] / "src" / "ludus"
MODULES = sorted(SOURCES.rglob("*.py"))
MAX_LINES = 450
MAX_PARAMETERS = 8
MAX_MODULES = 20


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    arguments = function.args
    named = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return named[1:] if named[:1] in (["self"], ["cls"]) else named


def _long_signatures(tree: ast.AST) -> list[str]:
    return [
        f"{node.name} ({len(_parameters(node))} parameters, line {node.lineno})"
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and len(_parameters(node)) > MAX_PARAMETERS
    ]


def test_modules_have_at_most_450_lines() -> None:
    lengths = {str(path.relative_to(SOURCES)): len(path.read_text().splitlines()) for path in MODULES}
    assert len(lengths) > 300
    assert {name: lines for name, lines in lengths.items() if lines > MAX_LINES} == {}


def test_packages_have_at_most_twenty_modules() -> None:
    packages = Counter(
        str(path.parent.relative_to(SOURCES)) for path in MODULES if path.name != "__init__.py"
    )
    assert len(packages) > 30
    assert {name: modules for name, modules in packages.items() if modules > MAX_MODULES} == {}


@pytest.mark.parametrize(
    "package", sorted(p.name for p in SOURCES.iterdir() if p.is_dir() and p.name != "cli")
)
def test_functions_have_at_most_eight_parameters(package: str) -> None:
    """The command line is exempt: its functions mirror options."""
    found = {
        str(path.relative_to(SOURCES)): long
        for path in MODULES
        if path.is_relative_to(SOURCES / package) and (long := _long_signatures(ast.parse(path.read_text())))
    }
    assert found == {}


def test_long_signatures_are_found() -> None:
    code = (
        "class A:\n    def f(self, a, b, c, d, *, e, f, g, h): ...\n"
        "    def g(self, a, b, c, d, e, f, g, h, i): ...\n"
    )
    assert _long_signatures(ast.parse(code)) == ["g (9 parameters, line 3)"]
