"""A device that is not there is refused in one line, wherever a network may be asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import ludus
from ludus.cli.__main__ import main
from ludus.presets import card
from ludus.presets.card import CardFacts
from ludus.presets.errors import ConfigError

NONE = (
    'device = "cuda": no GPU that torch can use is there (torch X is built without CUDA); use "auto" or "cpu"'
)
GAME = "tic_tac_toe"
CALLS: dict[str, Callable[[Any], object]] = {
    "load_policy": lambda device: ludus.load_policy("no-run@best", device=device),
    "evaluate": lambda device: ludus.evaluate("random", "random", game=GAME, matches=1, device=device),
    "search": lambda device: ludus.search(ludus.Match(GAME, {}, seed=1), "mcts:2", device=device),
}
COMMANDS = (
    "eval random --against random --game tic_tac_toe",
    "rate random uniform --game tic_tac_toe",
    "gtp random",
    "serve . --no-browser",
    "search bench tic_tac_toe",
)


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(card, "facts", lambda: CardFacts("X"))


@pytest.mark.parametrize("name", CALLS)
def test_python_refuses_a_gpu_that_is_not_there(name: str) -> None:
    with pytest.raises(ConfigError) as refused:
        CALLS[name]("cuda")
    assert str(refused.value) == NONE


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    ("device", "hint"),
    [
        ("gpu", " (did you mean cpu?)"),
        ("CUDA", " (did you mean cuda?)"),
        ("x" * 999, " (devices: auto, cpu, cuda)"),
        ("", " (devices: auto, cpu, cuda)"),
        (7, " (devices: auto, cpu, cuda)"),
    ],
)
def test_python_refuses_an_unknown_device(name: str, device: object, hint: str) -> None:
    with pytest.raises(ConfigError) as refused:
        CALLS[name](device)
    text = str(refused.value)
    assert text.startswith("device = ")
    assert text.endswith(f": no such device{hint}")
    assert len(text.splitlines()) == 1
    assert len(text) < 200


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_refuse_a_gpu_that_is_not_there(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command.split(), "--device", "cuda"]) == 2
    assert capsys.readouterr().err == f"{NONE}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_refuse_an_unknown_device(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command.split(), "--device", "gpu"]) == 2
    error = capsys.readouterr().err
    assert '--device = "gpu": expected one of auto, cpu, cuda (did you mean cpu?)' in error
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize("device", ["auto", "cpu"])
def test_the_processor_is_always_there(device: str) -> None:
    assert CALLS["evaluate"](device) == ludus.evaluate("random", "random", game=GAME, matches=1)
