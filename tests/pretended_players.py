"""Players on the pretended GPU: ``python -m tests.pretended_players FILE:CASE ...``.

Each case writes initial weights to its file and plays with them, on the processor and by ``--device cuda``,
which means the pretended GPU here. It prints as JSON what both answered, and the counts of the GPU.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import msgspec
import numpy as np

import ludus
from ludus.algorithms.config import AlphaZeroConfig
from ludus.cli.__main__ import main
from ludus.policies.weights import save_weights
from ludus.presets.checks.game import params_text
from ludus.presets.file import load_preset
from ludus.training.actor_learner.build import build_learner
from ludus.training.alphazero.components import build_alphazero
from ludus.web.serve.matches import rules_of
from ludus.web.serve.players import seat_of
from ludus.web.serve.table import Table
from tests.pretend import NAME, PretendedGpu, counts, run_apart

UNITS = "minirts-units policy.memory=gru policy.memory_size=8 game.params.tick_limit=120"
FAST = "minirts game.params.tick_limit=300"
BOARD = "tic_tac_toe-alphazero"
GO = "go5 game.params.size=9 game.params.komi=7.5 policy.blocks=1 policy.filters=4"


class Trained(NamedTuple):
    """Weights in a file, and the parameters of their game."""

    file: str
    params: dict[str, str]

    @property
    def options(self) -> list[str]:
        """The parameters as options of a command."""
        return [word for name, value in self.params.items() for word in ("--param", f"{name}={value}")]


def trained(preset: str, file: Path) -> Trained:
    """Write the initial weights of a preset, with changes of it, ``PATH=VALUE`` each."""
    name, *changes = preset.split()
    settings = {path: value for path, _, value in (c.partition("=") for c in changes)}
    chosen = load_preset(name, settings | {"run.threads": "1", "run.precision": "float32"}).preset
    if isinstance(chosen.algorithm, AlphaZeroConfig):
        components = build_alphazero(chosen)
        save_weights(components.learner.weights(), file)
        components.close()
    else:
        save_weights(build_learner(chosen).weights(), file)
    return Trained(str(file), params_text(chosen.game.params))


def command(*arguments: str, stdin: str = "") -> str:
    """Run a command in this process; return what it prints."""
    out = io.StringIO()
    given = io.TextIOWrapper(io.BytesIO(stdin.encode()))
    with contextlib.redirect_stdout(out), mock.patch.object(sys, "stdin", given):
        code = main(list(arguments))
    assert code == 0, f"ludus {' '.join(arguments)}: exit code {code}"
    return out.getvalue()


def _matches(verb: str, device: str, player: Trained, *more: str, search: str = "") -> object:
    """Play two matches by ``ludus eval`` or ``ludus rate``."""
    limits = ("--matches", "2", "--device", device, "--json")
    return msgspec.json.decode(command(verb, player.file + search, *more, *limits, *player.options))


def _spoken(player: Trained, device: str, search: str = "") -> object:
    asked = "genmove b\ngenmove w\nkata-raw-nn 1\nquit\n"
    options = ("--seed", "5", "--device", device, "--quiet", *player.options)
    return command("gtp", player.file + search, *options, stdin=asked)


def _searched(player: Trained, device: str) -> object:
    match = ludus.Match("tic_tac_toe", {}, seed=1)
    return ludus.search(match, f"{player.file}+search:16", device=device).value  # type: ignore[arg-type]


def _acted(player: Trained, device: str) -> object:
    policy = ludus.load_policy(player.file, device=device, seed=3)  # type: ignore[arg-type]
    match = ludus.Match("minirts", player.params, seed=1)
    chosen = [policy.act(match.observe(0), match.legal(0)) for _ in range(3)]
    return [np.asarray(action).tolist() for action in chosen]


def _watched(player: Trained, device: str) -> object:
    rules = rules_of("minirts", player.params)
    seats = [seat_of(player.file, rules, 1, None, device), seat_of("simple", rules, 2)]
    table = Table(ludus.Match("minirts", rules.params, seed=1, record=True), seats, 100)
    table.watch()
    while not table.last_thoughts():
        assert table.play()
    (thought,) = table.last_thoughts()
    assert thought.value is not None
    rounded = round(thought.value, 5)  # a program has a row for every seat: other sums, other last bits
    return msgspec.to_builtins(msgspec.structs.replace(thought, value=rounded))


#: Case -> the preset of its weights, and the function that plays with them on a device.
CASES: dict[str, tuple[str, Callable[[Trained, str], object]]] = {
    "eval": (UNITS, lambda player, device: _matches("eval", device, player, "--against", "random")),
    "rate": (FAST, lambda player, device: _matches("rate", device, player, "random")),
    "eval-search": (
        BOARD,
        lambda player, device: _matches(
            "eval", device, player, "--against", "random", search="+search:4,symmetries=all"
        ),
    ),
    "gtp": (GO, _spoken),
    "gtp-search": (GO, lambda player, device: _spoken(player, device, "+search:8")),
    "search": (BOARD, _searched),
    "load_policy": (UNITS, _acted),
    "watch": (UNITS, _watched),
}


def played(case: str) -> dict[str, object]:
    """Play a case, ``FILE:NAME``, by weights that it writes to the file, on both devices.

    Returns what each answered, and the counts of the GPU.
    """
    file, _, name = case.rpartition(":")
    preset, play = CASES[name]
    player = trained(preset, Path(file))

    def device_of(device: str, _: str = "") -> str:
        return NAME if device == "cuda" else "cpu"

    out = {"cpu": play(player, "cpu")}
    with PretendedGpu(), mock.patch("ludus.presets.hardware.device_of", device_of):
        out["cuda"] = play(player, "cuda")
    return out | counts


if __name__ == "__main__":
    run_apart(played, sys.argv[1:])
