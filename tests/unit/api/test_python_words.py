"""Front door for Python: help, signatures, errors in a program's words, a callback, ``print(policy)``."""

from __future__ import annotations

import inspect
import pydoc
from pathlib import Path

import numpy as np
import pytest

import ludus
from ludus.presets.errors import ConfigError, RunFailed
from ludus.presets.file import PresetError

SHORT: dict[str, object] = {
    "run.max_steps": 100_000,
    "run.threads": 1,
    "pool.slots": 8,
    "policy.hidden": [8],
    "policy.dense": [8],
    "evaluation.final_matches": 2,
    "evaluation.every_steps": 0,
}


@pytest.mark.parametrize("name", ["train", "resume", "evaluate", "search", "load_policy", "make_pool"])
def test_help_and_signature_are_those_of_the_function(name: str) -> None:
    function = getattr(ludus, name)
    arguments = inspect.signature(function).parameters
    assert "args" not in arguments
    shown = pydoc.plain(pydoc.render_doc(function))
    assert "PACKAGE CONTENTS" not in shown
    assert "Args:" in shown
    for argument, about in arguments.items():
        assert about.annotation is not inspect.Parameter.empty
        assert f"\n        {argument}: " in shown, f"{name}: {argument} is not described"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"run.max_step": 5},
            r'^settings\["run.max_step"\]: unknown key run.max_step \(did you mean max_steps',
        ),
        ({"pool.slots": "x"}, r'^settings\["pool.slots"\]: pool.slots = "x": expected an integer'),
        ({"policy.inputs": ["x"]}, r'^settings\["policy.inputs.0"\]: .*unknown observation x'),
        ({"game.name": "chess"}, r'^settings\["game.name"\]: .*unknown game chess'),
        ({"game.params.size": 3}, r'^settings\["game.params.size"\]: unknown parameter'),
        ({"--run.max-step": 5}, r'^settings\["--run.max-step"\]: unknown key run.max_step'),
        ({"nothing": 1}, r'^settings\["nothing"\]: unknown setting'),
        ({"run": "x"}, r'^settings\["run"\]: run is a table'),
        ({"algorithm.clip": 1, "run.sed": 1}, r'settings\["run.sed"\]: unknown key run.sed'),
    ],
)
def test_a_wrong_setting_is_named_as_python_wrote_it(settings: dict[str, object], message: str) -> None:
    with pytest.raises(PresetError, match=message) as caught:
        ludus.train("tic_tac_toe", "runs/never", settings=settings)  # type: ignore[arg-type]
    typed = any(key.startswith("--") for key in settings)
    assert typed or "--" not in str(caught.value).replace("PRESET --explain", "")
    assert "\n".join(caught.value.lines) == str(caught.value)


@pytest.mark.parametrize("value", [None, {"max_steps": 5}, [None], object()])
def test_a_setting_of_another_type_is_named(value: object) -> None:
    with pytest.raises(ConfigError, match=r"settings\['run'\] = .*: expected a string, a number"):
        ludus.train("tic_tac_toe", "runs/never", settings={"run": value})  # type: ignore[dict-item]


def test_numbers_of_numpy_are_settings() -> None:
    wrong = {"run.max_steps": np.int64(5), "algorithm.learning_rate": np.float32(0.5), "run.sed": np.bool_(1)}
    with pytest.raises(PresetError) as caught:
        ludus.train("tic_tac_toe", "runs/never", settings=wrong)  # type: ignore[arg-type]
    assert len(caught.value.lines) == 1


def test_errors_of_other_functions_name_arguments() -> None:
    with pytest.raises(ConfigError, match=r"name one \(game=\.\.\.\)"):
        ludus.evaluate("random", "uniform")
    with pytest.raises(
        ValueError, match=r"^unknown game 'conect_four' \(did you mean connect_four"
    ) as caught:
        ludus.Match("conect_four")
    assert "--" not in str(caught.value)


def test_a_callback_sees_every_update_and_ends_the_run(tmp_path: Path) -> None:
    seen: list[tuple[str, int]] = []

    def callback(metrics: object) -> bool:
        seen.append((metrics.kind, metrics.steps))  # type: ignore[attr-defined]
        return len(seen) < 3

    result = ludus.train("tic_tac_toe", tmp_path / "run", settings=SHORT, callback=callback)  # type: ignore[arg-type]
    assert result.reason == "stopped by the callback"
    assert result.steps < 100_000
    assert [kind for kind, _ in seen][-2:] == ["update", "update"]
    assert len(seen) == 3
    policy = ludus.load_policy(f"{tmp_path}/run@last")
    assert str(policy).splitlines()[0] == f"policy of tic_tac_toe, version {result.version} of its weights"
    assert "observes board bits[2, 3, 3]" in str(policy)
    assert "chooses  cell: one of 9 (a3, b3," in str(policy)
    assert repr(policy).startswith(f"LoadedPolicy(tic_tac_toe, version {result.version}: board bits[2, 3, 3]")
    with pytest.raises(
        RunFailed, match=r"^the callback raised ZeroDivisionError: .* was saved at version \d+"
    ):
        ludus.resume(tmp_path / "run", callback=lambda metrics: 1 // 0)
    with pytest.raises(TypeError, match="callback: int, expected a function"):
        ludus.resume(tmp_path / "run", callback=5)  # type: ignore[arg-type]
