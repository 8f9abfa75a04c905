"""Packages, files and functions stay small enough to read, and a class name has one meaning."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[3] / "src" / "ludus"
MODULES = sorted(SOURCES.rglob("*.py"))
MAX_MODULES = 20
MAX_LINES = 450
MAX_PARAMETERS = 8


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


def _classes(tree: ast.AST) -> list[str]:
    return [node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]


def _repeated(trees: dict[str, ast.Module]) -> dict[str, list[str]]:
    """Class names with more than one definition -> files of the definitions."""
    files: dict[str, list[str]] = {}
    for file, tree in trees.items():
        for name in _classes(tree):
            files.setdefault(name, []).append(file)
    return {name: found for name, found in files.items() if len(found) > 1}


def _trees() -> dict[str, ast.Module]:
    return {str(path.relative_to(SOURCES)): ast.parse(path.read_text()) for path in MODULES}


def test_packages_have_at_most_20_modules() -> None:
    sizes = Counter(str(path.parent.relative_to(SOURCES)) for path in MODULES if path.name != "__init__.py")
    assert len(sizes) > 40
    assert {package: size for package, size in sizes.items() if size > MAX_MODULES} == {}


def test_modules_have_at_most_450_lines() -> None:
    lengths = {str(path.relative_to(SOURCES)): len(path.read_text().splitlines()) for path in MODULES}
    assert len(lengths) > 300
    assert {name: lines for name, lines in lengths.items() if lines > MAX_LINES} == {}


def test_functions_have_at_most_eight_parameters() -> None:
    assert {file: long for file, tree in _trees().items() if (long := _long_signatures(tree))} == {}


def test_class_names_are_defined_once() -> None:
    assert _repeated(_trees()) == {}


def test_repeated_class_names_are_found() -> None:
    once, twice = ast.parse("class A: ..."), ast.parse("class B:\n    class A: ...")
    assert _repeated({"one.py": once, "two.py": twice}) == {"A": ["one.py", "two.py"]}


def test_long_signatures_are_found() -> None:
    code = (
        "class A:\n    def f(self, a, b, c, d, *, e, f, g, h): ...\n"
        "    def g(self, a, b, c, d, e, f, g, h, i): ...\n"
    )
    assert _long_signatures(ast.parse(code)) == ["g (9 parameters, line 3)"]
