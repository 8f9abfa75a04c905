"""Figures that papers report, beside this planner's figures for the same runs."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from ludus.cluster.plan.simulation import Loop, simulate


class Figure(msgspec.Struct, frozen=True):
    """One figure: ours, the paper's (two numbers: a range), and what ours is computed from."""

    name: str
    ours: float
    paper: tuple[float, float]
    source: str


def training_flops_per_s(parameters: float, decisions_per_s: float) -> float:
    """Return the operations of learning: 2 a parameter and decision forward, 4 backward."""
    return 6.0 * parameters * decisions_per_s


def games_needed(decisions_per_s: float, reuse: float, steps_per_s: float, seats: float) -> float:
    """Return the games that must run at once.

    Args:
        decisions_per_s: Learned from.
        reuse: How often each is learned from.
        steps_per_s: Time steps of a game a second.
        seats: Learning seats of a game, on average.
    """
    return decisions_per_s / reuse / (steps_per_s * seats)


def openai_five() -> list[Figure]:
    """Return figures of Dota 2 with Large Scale Deep Reinforcement Learning (Rerun)."""
    batch, step_s, steps = 983_040, 2.0, 32  # time steps of a gradient step, its seconds; steps a version
    heroes, parameters, days = 5, 158.5e6, 60.0
    game_steps, segment, teams = 7.5 / 2, 256, 0.8 * 2 + 0.2  # at half speed; 80% of games are self-play
    flops = training_flops_per_s(parameters, heroes * batch / step_s)
    segment_s = segment / game_steps
    games = games_needed(batch / step_s, 1.1, game_steps, teams)
    group = 64  # games simulated as one
    lag = simulate(
        Loop(
            round(games / group),
            segment_s,
            round(batch / (segment * teams) / group),
            step_s,
            2 * round(games / group),
            versions=40,
            updates_a_version=steps,
            swaps=True,
            spread=0.05,
        )
    ).lag_mean
    return [
        Figure(
            "compute, PFLOP/s-days",
            flops * days / 1e15,
            (145.0, 155.0),
            "6 x 158.5 M parameters x 5 heroes x 983,040 time steps each 2 s, 60 days",
        ),
        Figure(
            "seconds between two segments of a game",
            segment_s,
            (60.0, 60.0),
            "256 time steps at half of 7.5 a second; the paper: about once a minute",
        ),
        Figure(
            "staleness, versions",
            lag,
            (0.0, 1.0),
            f"simulation: {games:,.0f} games (reuse 1.1), 32 gradient steps a version, newest weights act",
        ),
    ]


def opengo() -> list[Figure]:
    """Return figures of ELF OpenGo."""
    games, minibatches, days = 20e6, 1.5e6, 16.0
    return [
        Figure(
            "games a minibatch",
            (games / (86_400 * days)) / (minibatches / (86_400 * days)),
            (13.0, 13.0),
            "20 M games and 1.5 M minibatches in 16 days",
        )
    ]


#: Table 3 of TLeague: processors, frames received and learned from a second.
_TLEAGUE = {
    "TStarBot-X": (4200, 1.7e3, 4.2e3),
    "ViZDoom": (1152, 6.0e3, 8.2e3),
    "Pommerman": (100, 2.9e3, 20.0e3),
}


def tleague() -> list[Figure]:
    """Return figures of TLeague."""
    figures = [
        Figure(
            "Dota 2 5v5: frames/s learned from",
            2e6 / 2.0,
            (1.0e6, 1.0e6),
            "2 M frames each 2 s (the paper of OpenAI Five)",
        )
    ]
    for name, (cores, received, learned) in _TLEAGUE.items():
        frames, slabs = 64, max(1, cores // 8)
        loop = Loop(cores, frames * cores / received, slabs, slabs * frames / received, 2 * cores)
        out = simulate(loop)
        ours, reuse = out.slabs_per_s * frames, learned / received
        rates = f"{cores:,} processors of {received / cores:.2g} frames/s each"
        figures += [
            Figure(f"{name}: frames/s received", ours, (received, received), f"simulation: {rates}"),
            Figure(
                f"{name}: frames/s learned from", ours * reuse, (learned, learned), f"each {reuse:.2f} times"
            ),
        ]
    return figures


PAPERS: dict[str, Callable[[], list[Figure]]] = {
    "openai-five": openai_five,
    "opengo": opengo,
    "tleague": tleague,
}
