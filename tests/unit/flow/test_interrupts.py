"""One list of the stop signals, and commands that end in order on each of them."""

from __future__ import annotations

import ast
import signal
from collections.abc import Iterator
from pathlib import Path

from ludus.flow.process import interrupts

SOURCES = Path(interrupts.__file__).parents[2]
LIST = SOURCES / "flow" / "process" / "interrupts.py"
NAMES = {signal.Signals(number).name for number in interrupts.every_stop_signal()}
#: Modules that set or restore the handler of a single signal other than a stop signal.
SETTERS = {"games/contained.py", "web/frames/camera.py"}


def names_of_signals(node: ast.AST) -> set[str]:
    """Return the stop signals that a node names, as attributes or as text."""
    found = {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}
    found |= {str(part.value) for part in ast.walk(node) if isinstance(part, ast.Constant)}
    return {name for name in found if name in NAMES}


def lists(tree: ast.AST) -> Iterator[ast.expr]:
    """Yield the lists, tuples, sets and dictionaries that name a stop signal."""
    for node in ast.walk(tree):
        if isinstance(node, ast.List | ast.Tuple | ast.Set | ast.Dict) and names_of_signals(node):
            yield node


def setters(tree: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls that set a handler of a signal, on whatever module, loop or server."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            on_signal = isinstance(node.func.value, ast.Name) and node.func.value.id == "signal"
            if (node.func.attr == "signal" and on_signal) or node.func.attr == "add_signal_handler":
                yield node


def test_no_other_module_lists_stop_signals_or_sets_their_handlers() -> None:
    wrong: list[str] = []
    for path in SOURCES.rglob("*.py"):
        if path == LIST:
            continue
        name, tree = path.relative_to(SOURCES).as_posix(), ast.parse(path.read_text())
        wrong += [f"{name}:{node.lineno} lists" for node in lists(tree)]
        wrong += [f"{name}:{node.lineno} sets" for node in setters(tree) if name not in SETTERS]
    assert wrong == []


def test_the_search_finds_lists_and_setters() -> None:
    text = "import signal\nboth = (signal.SIGINT, signal.SIGTERM)\nnamed = ['SIGHUP']\n"
    text += (
        "signal.signal(signal.SIGHUP, print)\nloop.add_signal_handler(1, print)\nx = {signal.SIGQUIT: 1}\n"
    )
    tree = ast.parse(text)
    assert [node.lineno for node in lists(tree)] == [2, 3, 6]
    assert [node.lineno for node in setters(tree)] == [4, 5]
    assert list(lists(ast.parse("crashes = (signal.SIGSEGV, signal.SIGABRT)"))) == []


def test_handlers_that_a_library_replaces_are_put_back() -> None:
    came: list[int] = []
    before = {number: signal.getsignal(number) for number in interrupts.every_stop_signal()}
    with interrupts.kept_handlers():
        for number in before:
            signal.signal(number, lambda number, frame: came.append(number))
    assert {number: signal.getsignal(number) for number in before} == before
    assert came == []
