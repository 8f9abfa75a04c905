"""The check of include directions finds forbidden includes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.check_includes import check_tree, violation

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("source", "included"),
    [
        ("game/spec.hpp", "base/rng.hpp"),
        ("games/go/go.cpp", "game/game.hpp"),
        ("games/go/go.cpp", "games/go/board.hpp"),
        ("games/registry.cpp", "games/go/go.hpp"),
        ("games/rts/minirts/minirts.cpp", "games/rts/engine/map.hpp"),
        ("games/rts/engine/path.cpp", "games/rts/engine/astar.hpp"),
        ("pool/pool.cpp", "game/game.hpp"),
        ("bind/pool.cpp", "games/registry.hpp"),
        ("tests/test_pool.cpp", "games/go/go.hpp"),
    ],
)
def test_allowed_includes_pass(source: str, included: str) -> None:
    assert violation(source, included) is None


@pytest.mark.parametrize(
    ("source", "included"),
    [
        ("base/rng.hpp", "game/spec.hpp"),
        ("game/game.hpp", "games/go/go.hpp"),
        ("game/game.hpp", "pool/pool.hpp"),
        ("pool/pool.cpp", "games/registry.hpp"),
        ("pool/pool.cpp", "search/tree.hpp"),
        ("search/tree.cpp", "pool/pool.hpp"),
        ("games/go/go.cpp", "games/tic_tac_toe/tic_tac_toe.hpp"),
        ("games/go/go.cpp", "games/registry.hpp"),
        ("games/go/go.cpp", "pool/pool.hpp"),
        ("games/rts/engine/map.cpp", "games/rts/minirts/minirts.hpp"),
        ("games/rts/capture_the_flag/rules.cpp", "games/rts/minirts/minirts.hpp"),
        ("bind/pool.cpp", "tools/arguments.hpp"),
        ("tools/gamectl.cpp", "bind/bind.hpp"),
        ("game/game.hpp", "../base/rng.hpp"),
        ("game/game.hpp", "spec.hpp"),
        ("newcomer/a.hpp", "base/rng.hpp"),
    ],
)
def test_forbidden_includes_are_reported(source: str, included: str) -> None:
    assert violation(source, included) is not None


def test_python_headers_stay_in_bind() -> None:
    assert violation("bind/pool.cpp", "nanobind/nanobind.h", quoted=False) is None
    assert violation("pool/pool.cpp", "nanobind/nanobind.h", quoted=False) is not None
    assert violation("pool/pool.cpp", "torch/torch.h", quoted=False) is not None
    assert violation("pool/pool.cpp", "vector", quoted=False) is None


def test_one_wrong_line_in_a_tree_is_reported(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "a.hpp").write_text(
        '#pragma once\n/* #include "games/x.hpp"\n */\n// #include "pool/y.hpp"\n#include <vector>\n'
        '#  include "game/spec.hpp"\n'
    )
    assert [line.split(": ")[0] for line in check_tree(tmp_path)] == ["cpp/base/a.hpp:6"]


def test_the_tree_of_ludus_passes() -> None:
    assert check_tree(ROOT / "cpp") == []
