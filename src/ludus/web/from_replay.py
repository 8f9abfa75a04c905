"""A recording for the page, made from the bytes of a ``.ludus`` file by playing the match again."""

from __future__ import annotations

from ludus.flow.spec import GameSpec
from ludus.games import find, replays, spec
from ludus.games.replays import ReplayDecision, ReplayInfo
from ludus.games.views import view_of
from ludus.web.recording import Recording, SeatDecision
from ludus.web.renderers import renderer_of

FRAMES = 2500  # about as many view documents a match; the page moves things smoothly between two of them
TICKS_PER_S = {"turns": 1.0, "ticks": 50.0}  # speed 1 where a game declares none (ELF draws a tick in 20 ms)


def recording_of(replay: bytes, every_ticks: int = 0, game: str = "") -> Recording:
    """Play ``replay`` again and view it every ``every_ticks`` (0: as often as suits its length).

    ``game``: the reference of a compiled game that is neither built in nor installed, from a person.
    Raises ``ReplayError`` (a ``ValueError``) when the bytes are no replay or do not fit the rules,
    ``ParamError`` (a ``ValueError``) when its game is not installed, ``ViewError`` or ``ExtensionError``
    (each a ``ValueError``) when its view cannot be used.
    """
    info = replays.info(replay)
    replays.load_game(info, game)
    find(info.game)  # a missing game is reported first
    declared = spec(info.game, info.params)
    every = every_ticks or max(1, -(-info.ticks // FRAMES))
    views, view = replays.frames(replay, every), view_of(info.game)
    pace = view.ticks_per_s if view is not None else 0.0
    return Recording(
        game=info.game,
        title=f"{declared.title}: {_sides(info.players, declared)}",
        renderer=renderer_of(info.game, view, views[0]),
        seats=info.players,
        views=views,
        outcome=info.outcome if info.over else (),
        truncated=not info.over,
        decisions=tuple(_named(d, declared) for d in replays.decisions(replay)),
        facts=_facts(info),
        ticks_per_s=pace or TICKS_PER_S["turns" if declared.turn_based else "ticks"],
    )


def _sides(players: tuple[str, ...], game: GameSpec) -> str:
    """Return ``version 7 and version 7 against simple and simple``; more than two equal ones are counted."""
    teams: list[str] = []
    for seat in range(len(players)):
        if any(game.together(seat, earlier) for earlier in range(seat)):
            continue
        teams.append(" and ".join(p for s, p in enumerate(players) if s == seat or game.together(seat, s)))
    if len(teams) < 3:
        return " against ".join(teams)
    counts = {name: teams.count(name) for name in teams}
    return " against ".join(name if n == 1 else f"{n} times {name}" for name, n in counts.items())


def _named(decision: ReplayDecision, game: GameSpec) -> SeatDecision:
    if decision.bot >= 0:
        return SeatDecision(decision.tick, decision.seat, game.bots[decision.bot].name)
    names = []
    for head, choice in zip(game.heads, decision.action, strict=False):
        if head.labels == ("no", "yes"):  # one of several that may be given at once
            names += [head.name] if choice == 1 else []
            continue
        label = head.labels[choice] if 0 <= choice < len(head.labels) else str(choice)
        names.append(label if len(game.heads) == 1 else f"{head.name} {label}")
    return SeatDecision(decision.tick, decision.seat, ", ".join(names) or "nothing")


def _facts(info: ReplayInfo) -> tuple[tuple[str, str], ...]:
    facts = [("seed", f"{info.seed}.{info.match}"), ("rules", f"{info.game} {info.version}")]
    return (
        *facts,
        *((name.replace("_", " "), value) for name, value in replays.short_params(info.params).items()),
    )
