"""Code around the methods names none of them: it reads the fields of ``Method``."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import ludus
from ludus.algorithms.registry import ACTOR_LEARNER, Method, methods

SOURCE = Path(ludus.__file__).parent
PACKAGES = (
    "training",
    "presets",
    "league",
    "evaluation",
    "bench",
    "cli",
    "rollouts",
    "gtp",
    "web",
    "reporting",
    "sweep",
)
BUILT_IN = {method.name: method for method in methods()}


def module_of(reference: object) -> str:
    """Return the module that a reference of the registry names, "" for none."""
    return reference.partition(":")[0] if isinstance(reference, str) else ""


def own_module(method: Method) -> str:
    """Return the module or package of one method: ``ludus.algorithms.dqn``."""
    return ".".join(module_of(method.learner).split(".")[:3])


def is_own(module: str, method: Method) -> bool:
    """Return whether ``module`` is the method's, or lies in its package."""
    return f"{module}.".startswith(f"{own_module(method)}.")


def own_folder(method: Method) -> Path:
    """Return the folder of the method's trainer, if it has one."""
    if method.trainer == ACTOR_LEARNER:
        return SOURCE / "nowhere"
    return SOURCE.parent.joinpath(*module_of(method.trainer).split(".")).parent


KINDS = (ast.Name, ast.Attribute, ast.ImportFrom, ast.Import, ast.Compare, ast.MatchValue)


def nodes_of(code: str) -> list[ast.AST]:
    """Yield the nodes of a module that may mention a method."""
    return [node for node in ast.walk(ast.parse(code)) if isinstance(node, KINDS)]


def mentions(nodes: Sequence[ast.AST], method: Method) -> Iterator[str]:
    """Yield each place that names the method's settings, imports its modules or compares with its name."""
    for node in nodes:
        if isinstance(node, (ast.Name, ast.Attribute)):
            name = node.id if isinstance(node, ast.Name) else node.attr
            if name == method.config.__name__:
                yield f"line {node.lineno}: {name}"
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            names = [alias.name for alias in node.names]
            modules = [module, *(f"{module}.{name}" for name in names)]
            if method.config.__name__ in names or any(is_own(m, method) for m in modules):
                yield f"line {node.lineno}: import from {module}"
        elif isinstance(node, ast.Import):
            if any(is_own(alias.name, method) for alias in node.names):
                yield f"line {node.lineno}: import"
        elif isinstance(node, (ast.Compare, ast.MatchValue)):
            constants = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant)]
            if method.name in constants:
                yield f'line {node.lineno}: a comparison with "{method.name}"'


@pytest.mark.parametrize("package", PACKAGES)
def test_no_package_around_the_methods_mentions_one(package: str) -> None:
    found: list[str] = []
    for path in sorted((SOURCE / package).rglob("*.py")):
        nodes = nodes_of(path.read_text("utf-8"))
        for method in BUILT_IN.values():
            if not path.is_relative_to(own_folder(method)):
                found += [f"{path.relative_to(SOURCE)}: {text}" for text in mentions(nodes, method)]
    assert found == []


@pytest.mark.parametrize(
    "code",
    [
        "isinstance(x, DqnConfig)",
        "from ludus.algorithms.dqn.size import x",
        "from ludus.algorithms import dqn",
        "import ludus.algorithms.dqn.learner",
        "from ludus.algorithms.config import DqnConfig as C",
        "import ludus.algorithms.registry as r; r.DqnConfig",
        'x = preset.algorithm.name == "dqn"',
        'x = name in ("a", "dqn")',
        'match name:\n    case "dqn":\n        pass',
    ],
)
def test_a_mention_is_found(code: str) -> None:
    assert list(mentions(nodes_of(code), BUILT_IN["dqn"]))
    assert not list(mentions(nodes_of(code), BUILT_IN["appo"]))


def test_only_a_trainer_of_its_own_may_know_a_method() -> None:
    folders = {name: own_folder(method) for name, method in BUILT_IN.items()}
    assert {name for name, folder in folders.items() if folder.is_dir()} == {"alphazero"}
    assert folders["alphazero"] == SOURCE / "training" / "alphazero"
