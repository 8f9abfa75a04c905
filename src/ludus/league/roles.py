"""Roles: named choices of opponents, of freezes and of the weights to continue from. No class, no code.

``kind`` is how other members see it: ``among = ["mains"]`` means members of kind ``main``. TLeague's
classes of players are roles too: its names are beside them.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from ludus.league.config import (
    AnyFreeze,
    AnyMeet,
    AnyOrigin,
    Beats,
    Best,
    Cycle,
    Elo,
    FreezeOfRole,
    Fsp,
    Itself,
    Latest,
    Main,
    Nearest,
    Never,
    OriginOfRole,
    Period,
    Pfsp,
    PlayerConfig,
    Psro,
    Quality,
    Seed,
    Uniform,
    Updates,
    Verification,
)

RoleKind = Literal["main", "exploiter", "population"]


class Role(msgspec.Struct, frozen=True):
    """Choices of all players of a role."""

    kind: RoleKind
    meet: tuple[AnyMeet, ...]
    freeze: AnyFreeze
    origin: AnyOrigin = Itself()


_ALPHASTAR_MAIN = (Pfsp(weight=0.5), Verification(weight=0.15), Main(weight=0.35))
_EXPLOITER = (Main(above=0.1),)
_MAINS = ("mains",)

ROLES: dict[str, Role] = {
    # AlphaStar (Vinyals et al. 2019).
    "main": Role("main", _ALPHASTAR_MAIN, Beats()),
    "main_exploiter": Role("exploiter", _EXPLOITER, Beats(against=_MAINS), Seed()),
    "league_exploiter": Role(
        "exploiter", (Pfsp(weighting="linear_capped"),), Beats(), Seed(probability=0.25)
    ),
    "population": Role("population", (Elo(),), Never()),
    # Plain self-play, and the papers' mixtures.
    "self_play": Role("main", (Latest(),), Never()),
    "uniform": Role("main", (Uniform(),), Period()),  # TLeague's SelfPlay
    "fsp": Role("main", (Fsp(),), Period()),
    "pfsp": Role("main", (Latest(weight=0.35), Pfsp(weight=0.65)), Period()),  # its Pommerman settings
    "openai_five": Role("main", (Latest(weight=0.8), Quality(weight=0.2)), Updates(every=10)),
    "psro": Role(  # TLeague's PSRO
        "main", (Psro(weight=0.6), Latest(weight=0.2), Fsp(weight=0.2)), Period(), Itself()
    ),
    # TLeague's AEMatchMaking.
    "periodic_main": Role("main", _ALPHASTAR_MAIN, Period()),  # MA
    "sound_main": Role("main", _ALPHASTAR_MAIN, Beats(max_steps=0)),  # SK
    "specific_exploiter": Role(
        "exploiter", (Main(above=0.1, anyway=0.15),), Beats(against=_MAINS), Seed()
    ),  # ME, SE
    "evolutionary_exploiter": Role(  # EE
        "exploiter", _EXPLOITER, Beats(against=_MAINS), Best(only_after_timeout=True)
    ),
    "adaptive_exploiter": Role("exploiter", _EXPLOITER, Beats(against=_MAINS), Nearest()),  # AEE
    "cyclic_exploiter": Role("exploiter", _EXPLOITER, Beats(against=_MAINS), Cycle()),  # CE
}


class Choices(msgspec.Struct, frozen=True):
    """Choices of a player, its role's filled in. ``rule``: the rule of one's own that decides, if any."""

    kind: RoleKind
    meet: tuple[AnyMeet, ...]
    freeze: AnyFreeze
    origin: AnyOrigin
    rule: str = ""


def choices_of(player: PlayerConfig) -> Choices:
    """Return the player's choices, its role's where it makes none. ``KeyError`` for an unknown role."""
    role = ROLES[player.role]
    if player.rule:
        return Choices(role.kind, (), Never(), Itself(), player.rule)
    return Choices(
        role.kind,
        player.meet or role.meet,
        role.freeze if isinstance(player.freeze, FreezeOfRole) else player.freeze,
        role.origin if isinstance(player.origin, OriginOfRole) else player.origin,
    )
