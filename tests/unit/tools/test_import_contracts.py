"""The import rules cover every package, and the project's own contract finds violations."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from grimp import ImportGraph

from tools.import_contracts import OnlyContract, PairsContract

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[3]


def contracts() -> list[dict[str, Any]]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    found = settings["tool"]["importlinter"]["contracts"]
    assert isinstance(found, list)
    return found


def packages() -> set[str]:
    return {p.parent.name for p in (ROOT / "src" / "ludus").glob("*/__init__.py")}


@pytest.mark.parametrize(
    ("number", "about"),
    [
        ("2", {"algorithms", "codecs", "policies", "mcts", "league", "ratings", "storage"}),
        ("3", {"flow", "games", "pool", "storage", "ratings", "league", "datasets"}),
    ],
)
def test_a_rule_names_every_package_that_it_is_about(number: str, about: set[str]) -> None:
    (contract,) = [c for c in contracts() if c["name"].startswith(number)]
    assert set(contract["source_modules"]) == {f"ludus.{name}" for name in about & packages()}


def graph_with(importer: str, imported: str) -> ImportGraph:
    graph = ImportGraph()
    graph.add_module("ludus.cli")
    graph.add_import(importer=importer, imported=imported, line_number=3, line_contents="")
    return graph


def only(home: str) -> OnlyContract:
    return OnlyContract("only", {}, {"homes": [home]})


def test_only_finds_an_import_from_elsewhere() -> None:
    graph = graph_with("ludus.training.actor_learner.trainer", "ray.util")
    assert not only("ray -> ludus.cluster").check(graph, False).kept


def test_only_allows_its_packages_and_what_is_not_there() -> None:
    graph = graph_with("ludus.cluster.processes.actors", "ray")
    assert only("ray -> ludus.cluster").check(graph, False).kept
    assert only("starlette -> ludus.web").check(graph, False).kept
    # A name that only starts with the same letters is another package.
    assert not only("ray -> ludus.clus").check(graph, False).kept


def test_only_refuses_a_line_that_it_cannot_read() -> None:
    with pytest.raises(ValueError, match="module"):
        only("ray ludus.cluster").check(ImportGraph(), False)


def test_pairs_finds_two_modules_that_import_each_other() -> None:
    graph = graph_with("ludus.pool.hosted.shard", "ludus.pool.single_agent")
    pairs = PairsContract("pairs", {}, {"root": "ludus"})
    assert pairs.check(graph, False).kept
    graph.add_import(
        importer="ludus.pool.single_agent",
        imported="ludus.pool.hosted.shard",
        line_number=1,
        line_contents="",
    )
    check = pairs.check(graph, False)
    assert check.metadata["broken"] == [
        "ludus.pool.hosted.shard and ludus.pool.single_agent import each other"
    ]
