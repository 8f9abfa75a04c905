"""The gate: searches without noise, new matches, half a point for a draw; and minibatches that rounds owe."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from ludus.evaluation.play import MatchPlayer, play_matches, scripted_player
from ludus.evaluation.settings import MatchSettings
from ludus.flow import MatchResult
from ludus.mcts import SearchConfig, SearchText
from ludus.mcts.player import SearchPlayer
from ludus.mcts.trees import Trees
from ludus.presets.config import Preset
from ludus.presets.file import parse_preset
from ludus.storage import read_jsonl
from ludus.training.alphazero import gate
from ludus.training.alphazero.components import (
    RESIGN_ENOUGH,
    RESIGN_HIGHEST,
    RESIGN_STEP,
    build_alphazero,
    moved_threshold,
)
from ludus.training.alphazero.gate import CHUNK, Gate, GateResult
from ludus.training.runs import start_run

from .test_alphazero import TOML


def preset(**changes: str) -> Preset:
    return parse_preset(TOML.encode(), "test", overrides=changes).preset


# ---- noise -------------------------------------------------------------------------------------------

LOUD = {"algorithm.search.noise_share": "1.0", "algorithm.search.forced_playouts": "2.0"}


def moves_of(wanted: Preset) -> list[bytes]:
    """Return replays of matches that a judged player plays against random moves."""
    components = build_alphazero(wanted)
    player = Gate(wanted, components, "r@{}".format).player(components.learner.playing, seed=5, version=0)
    random = scripted_player("random", components.spec, 2)
    played = play_matches(
        components.spec, components.params, player, random, MatchSettings(matches=8, seed=3, record=8)
    )
    components.close()
    return [r.replay for r in played]


def test_a_judged_player_searches_without_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[SearchText] = []
    noisy: list[bool] = []
    made, run = SearchPlayer.__init__, Trees.run

    def looking(self: SearchPlayer, game: str, params: dict[str, str], text: SearchText, *more: object, **named: object) -> None:  # fmt: skip  # noqa: E501
        texts.append(text)
        made(self, game, params, text, *more, **named)  # type: ignore[arg-type]

    def running(self: Trees, slots: list[int], *, noise: bool = False, **named: object) -> None:
        noisy.append(noise)
        run(self, slots, noise=noise, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(SearchPlayer, "__init__", looking)
    monkeypatch.setattr(Trees, "run", running)
    assert moves_of(preset(**LOUD)) == moves_of(preset())
    assert noisy
    assert not any(noisy)
    assert {(t.search.noise_share, t.search.forced_playouts, t.search.gumbel_moves) for t in texts} == {
        (0.0, 0.0, 0)
    }


def test_only_self_play_has_noise() -> None:
    """A searched player decides the same for every noise setting of its search."""

    def found(share: float) -> list[tuple[list[float], list[int]]]:
        text = SearchText(search=SearchConfig(visits=16, noise_share=share), plies=0)
        player = SearchPlayer("tic_tac_toe", {}, text, seed=3)
        player.trees.reset(0, 1)
        out = []
        for _ in range(3):
            (decided,) = player.decide([0])
            out.append((decided.root.prior.tolist(), decided.root.move_visits.tolist()))
            player.play(0, decided.move)
        return out

    assert found(1.0) == found(0.0)


def test_a_judged_player_considers_all_moves() -> None:
    """Gumbel's sampled moves are only for self-play, too."""
    assert moves_of(preset(**{"algorithm.search.gumbel_moves": "2"})) == moves_of(preset())


# ---- the gate ------------------------------------------------------------------------------------------


def gated(
    monkeypatch: pytest.MonkeyPatch, outcomes: tuple[float, ...], **changes: str
) -> tuple[GateResult, list[int]]:
    """Return the result of a gate whose matches end with ``outcomes``, and the seeds of its matches."""
    wanted = preset(**{"algorithm.gate": "true"} | changes)
    components = build_alphazero(wanted)
    seeds: list[int] = []
    (template,) = play_matches(
        components.spec,
        components.params,
        scripted_player("random", components.spec, 1),
        scripted_player("random", components.spec, 2),
        MatchSettings(matches=1, seed=1),
    )

    def played(
        spec: object, params: object, player: object, against: object, settings: MatchSettings, hooks: object
    ) -> list[MatchResult]:
        seeds.append(settings.seed)
        return [
            msgspec.structs.replace(template, plan_of_seat=(0, 1), outcome=(o, -o), match=i)
            for i, o in zip(range(settings.matches), outcomes * settings.matches, strict=False)
        ]

    monkeypatch.setattr(gate, "play_matches", played)
    judge = Gate(wanted, components, "r@{}".format)
    network = components.learner.playing
    result = judge.gate((network, 2), (network, 1), 1, lambda: False)
    judge.gate((network, 3), (network, 1), 2, lambda: False)
    components.close()
    return result, seeds


def test_a_drawn_match_is_half_a_point_at_the_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    matches = {"algorithm.gate_matches": "20", "algorithm.gate_score": "0.5"}
    drawn, _ = gated(monkeypatch, (0.0,), **matches)
    assert (drawn.score, drawn.matches, drawn.passed) == (10.0, 20, True)
    mixed, _ = gated(monkeypatch, (1.0, 0.0, -1.0, 0.0), **matches)
    assert (mixed.score, mixed.passed) == (10.0, True)
    lost, _ = gated(monkeypatch, (0.0, -1.0), **matches)
    assert (lost.score, lost.passed) == (5.0, False)


def test_every_gate_and_every_chunk_of_one_plays_matches_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    _, seeds = gated(monkeypatch, (0.0,), **{"algorithm.gate_matches": str(3 * CHUNK)})
    assert len(seeds) >= 4
    assert len(set(seeds)) == len(seeds)


def test_a_judged_player_draws_from_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gates that shared the players' seeds would play the same moves even in other matches."""
    seen: list[int] = []
    made = Gate.player

    def looking(self: Gate, network: object, seed: int, *more: object) -> MatchPlayer:
        seen.append(seed)
        return made(self, network, seed, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(Gate, "player", looking)
    gated(monkeypatch, (0.0,), **{"algorithm.gate_matches": str(2 * CHUNK)})
    assert len(set(seen)) == len(seen) >= 4


# ---- resignation ---------------------------------------------------------------------------------------


def test_the_resignation_threshold_moves_towards_the_lowest_values_of_winners() -> None:
    """It rises while winners never had lower values, and falls where they won from below it."""
    safe = np.full(RESIGN_ENOUGH, 0.3, np.float32)
    assert moved_threshold(-1.0, safe, 0.05) == pytest.approx(-1.0 + RESIGN_STEP)
    assert moved_threshold(RESIGN_HIGHEST, safe, 0.05) == RESIGN_HIGHEST
    saved = np.linspace(-1.0, -0.7, RESIGN_ENOUGH).astype(np.float32)
    assert moved_threshold(-0.6, saved, 0.05) == pytest.approx(-0.6 - RESIGN_STEP)
    # The quantile itself where it is near: at most 5% of the winners would have given up.
    near = moved_threshold(-0.97, saved, 0.05)
    assert near == pytest.approx(float(np.quantile(saved, 0.05)))
    assert (saved < near).mean() <= 0.06
    assert moved_threshold(-0.97, saved, 0.2) > near
    assert moved_threshold(-0.8, safe[:-1], 0.05) == -0.8  # too few matches


# ---- owed minibatches ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("stepped_self_play")
def test_minibatches_that_a_round_owes_are_made_later(tmp_path: Path) -> None:
    """A run as a whole keeps ``reuse``, though each round may leave part of a minibatch over."""
    wanted = preset(
        **{
            "algorithm.round_positions": "40",
            "algorithm.batch_size": "64",
            "algorithm.sample_reuse": "1.0",
            "algorithm.window_matches_min": "1",
            "evaluation.final_matches": "0",
            "run.max_steps": "1000",
        }
    )
    start_run(wanted, tmp_path / "run")
    rows = [r for r in read_jsonl(tmp_path / "run" / "metrics.jsonl") if r["kind"] == "update"]
    learned = [msgspec.convert(r.get("learner/minibatches", 0), float) for r in rows]
    received = msgspec.convert(rows[-1]["received"], int)
    assert len(rows) >= 5
    assert sum(learned) == received // 64
