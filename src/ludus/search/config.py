"""What a search is told, in presets and in code."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

Visits = Annotated[int, msgspec.Meta(ge=1, le=1 << 24)]
Natural = Annotated[int, msgspec.Meta(ge=0)]
NonNegative = Annotated[float, msgspec.Meta(ge=0)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]

_FPU = {"parent": 0, "zero": 1, "loss": 2}


class SearchConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """PUCT and its relatives. The defaults are ELF OpenGo's (paper 003, table S1), noise apart.

    ``visits``: until the root has that many, those kept from the move before included. ``c_base`` above 0
    makes ``c_puct`` grow as in AlphaZero. ``fpu``: what an untried move is worth: the node's mean less
    ``fpu_reduction``, a draw, or a loss. ``noise_share`` of the root's prior is Dirichlet(``noise_alpha``),
    0 = 10.83 over the number of legal moves; only self-play has noise. ``gumbel_moves`` above 0: so many
    moves are considered at the root, by sequential halving. ``forced_playouts``: k of KataGo's rule (2
    there), in searches with noise, with the policy target and the drawn move pruned. ``leaves``: of one tree
    in a batch, for single matches; more than 1 uses ``virtual_loss``. ``cache``: positions whose evaluation
    is remembered. ``solver``: ends of matches are proofs; outcomes that follow from them are exact, and a
    search whose root is proven ends. ``endgame_plies``: leaves with at most so many plies to the game's limit
    are searched to the end in at most ``endgame_nodes`` positions, and what is found is a proof too: worth
    much where boards fill up and who moves last decides, which networks foretell badly. The root's own moves
    have ``endgame_root_nodes`` instead, if that is above 0. ``score_share``: of what the end of a match is
    worth, where the game counts it (Go does), so much is the margin over the number of points instead of who
    won.
    """

    visits: Visits = 400
    c_puct: NonNegative = 1.5
    c_base: NonNegative = 0.0
    fpu: Literal["parent", "zero", "loss"] = "parent"
    fpu_reduction: NonNegative = 0.0
    virtual_loss: NonNegative = 1.0
    leaves: Visits = 1
    reuse: bool = True
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
        """As the core takes them."""
        plain = msgspec.to_builtins(self)
        plain["fpu"] = _FPU[self.fpu]
        del plain["cache"]
        return {name: float(value) for name, value in plain.items()}


class SelfPlayConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How matches against oneself are played and what of them is learned.

    Moves are drawn by visits to the power of 1 / ``temperature`` for ``temperature_plies`` plies, then with
    ``temperature_end`` (0 = the most visited). ``full_share`` of the moves are searched in full and
    learned, the
    others have ``cheap_visits`` and no noise (playout-cap randomisation). With ``resign`` a seat gives up
    where
    its value falls below a threshold that is tracked so that at most ``resign_errors`` of the matches that
    would have been given up are not lost; ``never_resign_share`` of the matches, played to their end, tell.
    ``random_share`` of the matches begin with 1 to ``random_plies`` random moves, which are not learned:
    positions that good play never leads to are learned from too. ``proven_share`` of all matches end where a
    search has proven its root (``search.solver``), with what is proven.
    """

    slots: Annotated[int, msgspec.Meta(ge=1, le=1 << 16)] = 64  # matches at once of a thread
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
        """As the core takes them, the threshold of giving up apart."""
        plain = msgspec.to_builtins(self)
        del plain["resign"], plain["resign_errors"]
        return {name: float(value) for name, value in plain.items()}
