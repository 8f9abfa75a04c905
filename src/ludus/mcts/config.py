"""Search settings, for presets and for code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
import msgspec.inspect as mi

from ludus.flow.inputs.whole import whole_text

Visits = Annotated[int, msgspec.Meta(ge=1, le=1 << 24)]
Natural = Annotated[int, msgspec.Meta(ge=0)]
NonNegative = Annotated[float, msgspec.Meta(ge=0)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]

_FPU = {"parent": 0, "zero": 1, "loss": 2}


class SearchConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of a tree search (PUCT). The defaults are ELF OpenGo's (table S1), except for noise.

    The core has the list of names, limits and defaults (``cpp/search/options.hpp``).

    Args:
        visits: Visits of the root at which a search ends, including visits of a reused tree.
        c_puct: Exploration constant of PUCT.
        c_base: AlphaZero's growth of ``c_puct`` with visits; 0 = constant.
        fpu: First-play urgency, the value of an unvisited move: the parent's mean less ``fpu_reduction``,
            zero, or a loss.
        virtual_loss: Visits lost that a pending leaf adds along its path, where ``leaves`` > 1.
        leaves: Leaves of one tree in a batch; for single matches.
        reuse_tree: Keep the subtree of the played move.
        noise_share: Share of Dirichlet noise in the root's prior; only in self-play.
        noise_alpha: Parameter of the Dirichlet noise; 0 = 10.83 / number of legal moves.
        gumbel_moves: Moves that sequential halving considers at the root (Danihelka et al. 2022); 0 = PUCT.
        gumbel_scale: Scale of the Gumbel noise.
        gumbel_visit: c_visit of the value transformation.
        gumbel_value: c_scale of the value transformation.
        forced_playouts: k of forced playouts with policy target pruning (KataGo, section 3.2; 2 there), in
            searches with noise; 0 = off.
        solver: Back up proven outcomes. A search ends once its root is proven.
        endgame_plies: Leaves with at most this many plies to the game's limit are solved exactly; 0 = off.
        endgame_nodes: Node limit of one such alpha-beta search.
        endgame_root_nodes: Node limit for the root's own moves; 0 = ``endgame_nodes``.
        score_share: Share of the score margin (over the number of points) in the value of a finished match,
            where the game counts one (Go); the rest is win or loss.
        cache: Positions whose evaluation is cached.
    """

    visits: Visits = 400
    c_puct: NonNegative = 1.5
    c_base: NonNegative = 0.0
    fpu: Literal["parent", "zero", "loss"] = "parent"
    fpu_reduction: NonNegative = 0.0
    virtual_loss: NonNegative = 1.0
    leaves: Annotated[int, msgspec.Meta(ge=1, le=4096)] = 1
    reuse_tree: bool = True
    noise_share: Share = 0.25
    noise_alpha: NonNegative = 0.0
    gumbel_moves: Natural = 0
    gumbel_scale: NonNegative = 1.0
    gumbel_visit: NonNegative = 50.0
    gumbel_value: NonNegative = 0.1
    forced_playouts: NonNegative = 0.0
    solver: bool = False
    endgame_plies: Annotated[int, msgspec.Meta(ge=0, le=64)] = 0
    endgame_nodes: Annotated[int, msgspec.Meta(ge=1, le=1 << 24)] = 500
    endgame_root_nodes: Annotated[int, msgspec.Meta(ge=0, le=1 << 24)] = 0
    score_share: Share = 0.0
    cache: Natural = 0

    def settings(self) -> dict[str, float]:
        """Return the settings in the form that the core reads."""
        plain = msgspec.to_builtins(self)
        plain["fpu"] = _FPU[self.fpu]
        del plain["cache"]
        return {name: float(value) for name, value in plain.items()}


class SelfPlayConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of self-play: how moves are drawn and which positions are learned.

    Args:
        slots: Matches in parallel, for each thread.
        temperature: Moves are drawn in proportion to visits ** (1 / temperature).
        temperature_plies: Plies that use ``temperature``; later ones use ``temperature_end``.
        temperature_end: As ``temperature``; 0 = the most visited move.
        full_share: Share of moves with a full search, which are learned (playout-cap randomisation, KataGo,
            section 3.1).
        cheap_visits: Visits of the other moves, which have no noise and are not learned.
        resign: A seat resigns once its value falls below a threshold.
        resign_errors: Highest share of resigned matches that would not have been lost; the threshold follows.
        resign_plies: Plies before the first resignation.
        never_resign_share: Share of matches played to the end, to measure ``resign_errors``.
        random_share: Share of matches that start with random moves, which are not learned.
        random_plies: Highest number of such moves.
        proven_share: Share of matches that end, with the proven outcome, once a search proves its root
            (needs ``solver``).
    """

    slots: Annotated[int, msgspec.Meta(ge=1, le=1 << 16)] = 64
    temperature: NonNegative = 1.0
    temperature_plies: Natural = 30
    temperature_end: NonNegative = 0.0
    full_share: Share = 1.0
    cheap_visits: Natural = 0
    resign: bool = False
    resign_errors: Share = 0.05
    resign_plies: Natural = 0
    never_resign_share: Share = 0.1
    random_share: Share = 0.0
    random_plies: Annotated[int, msgspec.Meta(ge=0, le=1 << 15)] = 0
    proven_share: Share = 0.0

    def settings(self) -> dict[str, float]:
        """Return the settings in the form that the core reads, without the resignation threshold."""
        plain = msgspec.to_builtins(self)
        del plain["resign"], plain["resign_errors"]
        return {name: float(value) for name, value in plain.items()}


def with_integers(given: Mapping[str, object], kind: type[msgspec.Struct]) -> dict[str, object]:
    """Return the texts of settings, by name; :mod:`ludus.flow.inputs.whole` reads integers of ``kind``."""
    info = mi.type_info(kind)
    assert isinstance(info, mi.StructType)
    integers = {f.name for f in info.fields if isinstance(f.type, mi.IntType)}
    found = {name: whole_text(text) for name, text in given.items() if isinstance(text, str)}
    return {n: v if n not in integers or found.get(n) is None else found[n] for n, v in given.items()}
