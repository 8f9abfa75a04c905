"""The code of docs/guides/add_a_game.md."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs" / "guides" / "add_a_game.md").read_text("utf-8")


def test_the_state_of_the_guide_has_no_padding(tmp_path: Path, cxx: str) -> None:
    """The compiler checks the ``static_assert`` of the guide."""
    (state,) = re.findall(r"```cpp\n(.*?)```", GUIDE, re.DOTALL)
    assert "has_unique_object_representations" in state
    source = tmp_path / "state.cpp"
    source.write_text(
        f'#include <array>\n#include <cstdint>\n#include <type_traits>\n#include "base/rng.hpp"\n'
        f"namespace ludus {{\n{state}\nstatic_assert(std::is_trivially_copyable_v<State>);\n}}\n"
    )
    command = [cxx, "-std=c++20", "-Wall", "-Werror", "-fsyntax-only", f"-I{ROOT / 'cpp'}", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_commands_of_the_guide_use_the_environment() -> None:
    """``python`` and ``ludus`` without a path may belong to another environment."""
    commands = [
        line
        for block in GUIDE.split("```")[1::2]
        for line in block.splitlines()[1:]  # the first names the language
        if re.match(r"(\.venv/bin/)?(python|ludus)\b", line)
    ]
    assert len(commands) >= 3
    assert [c for c in commands if not c.startswith(".venv/bin/")] == []


@pytest.mark.slow
def test_the_codec_and_the_view_of_the_guide_work(tmp_path: Path) -> None:
    """A separate process keeps the registrations away from other tests."""
    (block,) = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    program = (
        block
        + """
import torch
from ludus.codecs.forms import decoded
from ludus.codecs.registry import layout_of
from ludus.games.python_game import tensor
from ludus.games.views import view_of
cells = tensor("cells", (2, 3), "u8", low=0, high=255, codec="skirmish_cells")
planes = decoded(cells, layout_of(cells), torch.full((4, 2, 3), 0x21, dtype=torch.uint8))
print(tuple(planes.shape), planes[0, :, 0, 0].tolist(), view_of("skirmish").renderer)
"""
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.stdout == "(4, 2, 2, 3) [1.0, 2.0] board\n", done.stderr
