"""The guide "From Python" as a program, and the package's front door: import, names, ``python -m ludus``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import ludus
from tests.unit.api.from_folder import python, run

GUIDE = (Path(__file__).parents[3] / "docs" / "guides" / "from_python.md").read_text("utf-8")
README = (Path(__file__).parents[3] / "README.md").read_text("utf-8")


def blocks(page: str) -> list[str]:
    """Its Python programs."""
    return re.findall(r"```python\n(.*?)```", page, re.DOTALL)


@pytest.mark.slow
def test_the_guide_runs_from_top_to_bottom(tmp_path: Path) -> None:
    """Run the guide as one program in an empty folder, then the README's lines on its run."""
    readme = next(b for b in blocks(README) if "load_policy" in b)
    asked = readme.replace("RUN@best", "runs/first@best").replace('"simple"', '"random"')
    program = "\n".join(blocks(GUIDE)).replace("80_000", "8_000").replace("20_000", "4_000")
    output = python(tmp_path, f"{program}\n{asked}\nprint(type(action).__name__, result.matches)\n")
    watched = [line for line in output.splitlines() if " decisions" in line]
    assert watched[0].startswith("0 decisions: [('random', 0.")
    assert re.match(r"4096 decisions, value loss [\d.]+$", watched[1])
    lines = [line for line in output.splitlines() if line not in watched]
    assert lines[0].startswith("max_steps = 8000 reached")
    assert re.fullmatch(r"won \d+% \(95% interval \d+% to \d+%\)", lines[1])
    assert lines[2] in ("1.0", "0.0", "-1.0")
    assert lines[-1] == "int64 200"
    assert python(tmp_path, 'import ludus\nprint(ludus.resume("runs/first").version > 0)\n') == "True\n"


def test_importing_the_package_is_cheap(tmp_path: Path) -> None:
    program = (
        "import sys, time\nbefore = time.process_time()\nimport ludus\n"
        "seconds = time.process_time() - before\n"
        "print(seconds, [m for m in ('numpy', 'torch', 'msgspec') if m in sys.modules])\n"
    )
    runs = (python(tmp_path, program).split(maxsplit=1) for _ in range(12))
    seconds, loaded = next((run for run in runs if float(run[0]) < 0.1), ("1.0", ""))
    assert (float(seconds) < 0.1, loaded.strip()) == (True, "[]")


@pytest.mark.parametrize(
    "first",
    [
        "import ludus",
        pytest.param("import ludus.training.runs, ludus.mcts.trees", marks=pytest.mark.slow),
        pytest.param("from ludus import train, search", marks=pytest.mark.slow),
    ],
)
def test_every_listed_name_exists_after_any_import(first: str, tmp_path: Path) -> None:
    """Names of the API do not depend on the modules that were imported before."""
    program = (
        f"{first}\nimport ludus\n"
        "assert all(callable(getattr(ludus, n)) for n in ludus.__all__ if n != '__version__')\n"
        "assert set(ludus.__all__) <= set(dir(ludus))\n"
        "import ludus.presets.config, ludus.mcts.text\n"
        "print(ludus.search(ludus.Match('tic_tac_toe'), 'mcts:30').move in range(9))\n"
        "try:\n    ludus.train('no_such_preset')\nexcept ValueError as error:\n    print(error)\n"
    )
    output = python(tmp_path, program).splitlines()
    assert output[0] == "True"
    assert output[1].startswith("no_such_preset: no such preset")


def test_settings_are_those_of_the_command_line(tmp_path: Path) -> None:
    """Numbers, lists and truth values by path; a wrong one is refused in the same words."""
    from ludus.presets.file import PresetError
    from ludus.training import api

    with pytest.raises(PresetError, match=r"unknown key algorithm.clip_ratoi .did you mean clip_ratio"):
        ludus.train("tic_tac_toe", tmp_path / "run", settings={"algorithm.clip_ratoi": 0.2})
    assert not (tmp_path / "run").exists()
    settings: dict[str, object] = {
        "run.max_steps": 100,
        "policy.hidden": [8, 8],
        "policy.dense": [],
        "policy.normalise_values": False,
        "run.threads": 1,
        "evaluation.final_matches": 2,
        "evaluation.every_steps": 0,
    }
    ludus.train("tic_tac_toe", tmp_path / "run", settings=settings)  # type: ignore[arg-type]
    written = (tmp_path / "run" / "config.toml").read_text()
    assert "hidden = [8, 8]" in written
    assert "dense = []" in written
    assert "normalise_values = false" in written
    assert [api._option("run.x", v) for v in (True, [8, 4], 1e-3, "gru")] == [
        "true",
        "8,4",
        "0.001",
        "gru",
    ]


def test_search_refuses_games_that_it_cannot_search() -> None:
    from ludus.presets.errors import ConfigError

    with pytest.raises(ConfigError, match="perfect: expected mcts:VISITS or WEIGHTS"):
        ludus.search(ludus.Match("tic_tac_toe"), "perfect")
    match = ludus.Match("tic_tac_toe")
    for cell in (0, 3, 1, 4, 2):
        match.play(cell)
    with pytest.raises(ConfigError, match="the match is over"):
        ludus.search(match)


def test_python_minus_m_runs_the_command_line(tmp_path: Path) -> None:
    done = run(tmp_path, sys.executable, "-m", "ludus", "games", "list")
    assert done.returncode == 0
    assert "tic_tac_toe" in done.stdout
    assert run(tmp_path, sys.executable, "-m", "ludus", "gmaes").returncode == 2
