"""The method of docs/guides/add_a_method.md: registered by one line, trained, resumed, rated, reported."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import ludus
from ludus.algorithms import registry
from ludus.cli import __main__ as cli
from ludus.evaluation.evaluate import evaluate
from ludus.evaluation.settings import MatchSettings
from ludus.flow.process.extensions import ExtensionError
from ludus.presets.file import PresetError, load_preset, parse_preset
from ludus.reporting.run_view import RunView

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs" / "guides" / "add_a_method.md").read_text("utf-8")
(METHOD,) = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
REGISTERED = f"{METHOD}\nfrom ludus.algorithms.registry import register\nregister(METHOD)\n"
(PRESET,) = re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL)
ENTRY_POINTS = "reinforce = reinforce:METHOD\nbad = nowhere:M\n"
QUICK = {"run.threads": 1}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield a folder with the guide's files; methods registered there are dropped at the end."""
    monkeypatch.chdir(tmp_path)
    for name in ("_registered", "_found"):
        monkeypatch.setattr(registry._METHODS, name, {})
    Path("reinforce.py").write_text(METHOD)
    Path("reinforce.toml").write_text(PRESET)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("reinforce", None)


def test_the_method_of_the_guide_is_the_example() -> None:
    assert (ROOT / "examples" / "reinforce.py").read_text("utf-8") == METHOD


@pytest.mark.slow
def test_the_method_of_the_guide_trains_resumes_and_is_reported(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(METHOD.splitlines()) < 70
    with pytest.raises(PresetError, match=r'algorithm\.name = "reinforce": expected one of appo, a2c, '):
        load_preset("reinforce.toml")
    exec(REGISTERED, {"__name__": "reinforce"})
    result = ludus.train("reinforce.toml", "run", settings=QUICK)
    (final,) = result.final
    still = QUICK | {"run.max_steps": 1, "algorithm.learning_rate": 1e-12}
    (untrained,) = ludus.train("reinforce.toml", "untrained", settings=still).final
    assert final.won[1] > max(0.7, untrained.won[2])
    metrics = RunView.open(Path("run")).metrics()[0]
    assert {"loss/policy", "loss/value", "policy/entropy", "learner/grad_norm"} <= metrics[-1].numbers.keys()
    assert "policy/clip_fraction" not in metrics[-1].numbers
    assert cli.main(["resume", "run", "--run.max-steps", str(result.steps + 2000), "--quiet"]) == 0
    assert "reinforce" in Path("run/report.md").read_text()
    assert cli.main(["eval", "run@last", "--against", "random", "--matches", "50"]) == 0
    assert evaluate("run@last", "random", MatchSettings(matches=100)).won[0] > 0.65
    capsys.readouterr()
    again = RunView.open(Path("run")).metrics()[0]
    assert again[-1].version > metrics[-1].version


def test_settings_of_a_registered_method_are_checked(folder: Path) -> None:
    exec(REGISTERED, {"__name__": "reinforce"})
    for change, message in (
        ({"algorithm.baselin": "true"}, r"unknown key algorithm\.baselin \(did you mean baseline\?\)"),
        ({"algorithm.clip_ratio": "0.1"}, 'this key needs algorithm.name = "appo", here it is "reinforce"'),
        ({"algorithm.discount": "2"}, "algorithm.discount = 2: expected a number from 0 to 1"),
        ({"policy.network": "resnet"}, "needs policy.network"),
        ({"algorithm.name": "reinforc"}, r"did you mean reinforce\?"),
    ):
        with pytest.raises(PresetError, match=message):
            load_preset("reinforce.toml", change)


def test_names_of_methods_that_come_with_ludus_are_taken() -> None:
    appo = registry.find("appo")
    assert appo is not None
    with pytest.raises(ExtensionError, match="method 'appo': the name of a method that comes with Ludus"):
        registry.register(appo)


def test_an_installed_method_is_found_and_a_broken_one_affects_no_other(folder: Path) -> None:
    about = folder / "reinforce-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: reinforce\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[ludus.methods]\nreinforce = reinforce:METHOD\nbad = nowhere:M\n"
    )
    loaded = load_preset("reinforce.toml", {"algorithm.baseline": "false"})
    assert loaded.preset.algorithm == registry.method_of(loaded.preset.algorithm).config(
        learning_rate=2e-3, discount=1.0, minibatches=2, baseline=False
    )
    load_preset("tic_tac_toe")
    with pytest.raises(PresetError, match=r"method 'bad': the entry point nowhere:M of reinforce 1\.0"):
        parse_preset(b'[game]\nname = "tic_tac_toe"\n[algorithm]\nname = "bad"\n', "x.toml")


def test_reading_a_preset_imports_no_torch() -> None:
    code = (
        "import sys; from ludus.presets.file import load_preset; load_preset('tic_tac_toe-alphazero'); "
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
