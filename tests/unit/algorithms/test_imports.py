"""Number of files that a reader of one method opens."""

from __future__ import annotations

import ast
from pathlib import Path

import ludus.algorithms

ROOT = Path(ludus.algorithms.__file__).parent


def imported(module: str, seen: dict[str, Path]) -> None:
    """Add ``module`` of ``ludus.algorithms``, its packages and all that they import there to ``seen``."""
    path = ROOT.joinpath(*module.split(".")[2:])
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if module.split(".")[:2] != ["ludus", "algorithms"] or module in seen or not file.is_file():
        return
    seen[module] = file
    imported(module.rpartition(".")[0], seen)
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            imported(node.module, seen)


def test_the_ppo_learner_imports_at_most_thirty_files_of_its_package() -> None:
    seen: dict[str, Path] = {}
    imported("ludus.algorithms.appo", seen)
    assert {"ludus.algorithms.returns", "ludus.algorithms.actor_critic.learner"} <= seen.keys()
    assert len(seen) <= 30, sorted(seen)
