"""The code of docs/guides/use_a_pool.md runs as printed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np

from ludus.native import core
from ludus.pool.native import NativePool

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "use_a_pool.md"


def test_the_guide_runs() -> None:
    names: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    assert len(blocks) == 4
    for block in blocks:
        exec(compile(block, str(GUIDE), "exec"), names)
    pool, slab, results = names["pool"], names["slab"], names["results"]
    assert isinstance(pool, NativePool)
    assert isinstance(results, list)
    assert len(results) > 64
    assert all("policy:0" in r.players and r.decisions > 0 for r in results)
    ended = slab.terminated.sum()  # type: ignore[attr-defined]
    assert ended == len(results)
    assert np.all(slab.active.sum(axis=1) == pool.rows)  # type: ignore[attr-defined]
    played, replay = names["played"], names["replay"]
    assert isinstance(played, list)
    assert isinstance(replay, bytes)
    assert len(played) == 200
    ordered = names["ordered"]
    assert isinstance(ordered, list)
    assert {r.tag for r in ordered} == {100, 101}
    assert names["won"] == sum(max(r.outcome) > 0 for r in played)
    assert json.loads(core.replay_verify(replay))["same"]
