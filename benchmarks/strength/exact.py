"""Exact exploitability of mixtures of policies in two-player zero-sum games that are small enough.

A game is held in its sequence form (von Stengel 1996): a sequence is what a seat did on the way to a
position, ``payoff[i, j]`` is what seat 0 gets where the seats' sequences are i and j, times the probability
of the deal. A policy becomes a realisation plan: the product of its probabilities along each sequence.
Plans may be averaged: the mean of plans is the mixture in which a player is drawn before the match and
plays it to the end. The mean of action probabilities is another player.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from ludus.games.match import Match
from ludus.policies.protocol import Network
from ludus.ratings.nash import maximal_entropy_nash

Floats = npt.NDArray[np.float64]
Plans = tuple[Floats, Floats]  # a realisation plan a seat
Strategy = Callable[[Mapping[str, npt.NDArray[Any]], npt.NDArray[np.bool_]], Floats]

DEALS = {"kuhn_poker": 6, "leduc_poker": 120}  #: of the cards, all equally likely
SEARCHED = 20_000  # matches that are dealt until all deals are known


class InformationSet(NamedTuple):
    """Information set of a seat.

    Attributes:
        before: The seat's sequence that leads here.
        after: For each action the sequence that it makes of ``before``, or -1.
    """

    before: int
    after: tuple[int, ...]


class SequenceForm(NamedTuple):
    """``sets``: by seat, parents first. ``seen``: packed observations ``[I, ...]``, ``legal: bool[I, A]``."""

    payoff: Floats
    sets: tuple[list[InformationSet], list[InformationSet]]
    seen: tuple[dict[str, npt.NDArray[Any]], dict[str, npt.NDArray[Any]]]
    legal: tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]


class _Seat:
    """Information sets and sequences of one seat, collected while the tree is walked."""

    def __init__(self) -> None:
        self.sets: list[InformationSet] = []
        self.seen: list[dict[str, npt.NDArray[Any]]] = []
        self.legal: list[npt.NDArray[np.bool_]] = []
        self.sequences = 1  # the empty one
        self._index: dict[bytes, int] = {}

    def visit(self, match: Match, seat: int, before: int) -> InformationSet:
        seen, legal = match.observe(seat), match.legal(seat) > 0
        key = b"".join(a.tobytes() for a in seen.values())
        if key not in self._index:
            self._index[key] = len(self.sets)
            first = self.sequences
            self.sequences += int(legal.sum())
            after = np.where(legal, first + np.cumsum(legal) - 1, -1)
            self.sets.append(InformationSet(before, tuple(after.tolist())))
            self.seen.append({name: a.copy() for name, a in seen.items()})
            self.legal.append(legal)
        found = self.sets[self._index[key]]
        if found.before != before:
            raise ValueError(f"seat {seat} of {match.game} forgets what it did")
        return found


def sequence_form(game: str, params: Mapping[str, object] | None = None) -> SequenceForm:
    """Return the sequence form of ``matrix``, ``kuhn_poker`` or ``leduc_poker``."""
    seats = (_Seat(), _Seat())
    leaves: dict[tuple[int, int], float] = {}
    if game == "matrix":
        _matrix(Match(game, params), seats, leaves)
    else:
        for match in _deals(game):
            _walk(match, (0, 0), 1.0 / DEALS[game], seats, leaves)
    payoff = np.zeros((seats[0].sequences, seats[1].sequences))
    for at, value in leaves.items():
        payoff[at] = value
    one, other = ({k: np.stack([s[k] for s in seat.seen]) for k in seat.seen[0]} for seat in seats)
    return SequenceForm(
        payoff,
        (seats[0].sets, seats[1].sets),
        (one, other),
        (np.stack(seats[0].legal), np.stack(seats[1].legal)),
    )


def _matrix(match: Match, seats: tuple[_Seat, _Seat], leaves: dict[tuple[int, int], float]) -> None:
    rows, columns = (seats[seat].visit(match, seat, 0).after for seat in (0, 1))
    table = np.array(match.view()["payoff"], np.float64)
    table = table.reshape(sum(i >= 0 for i in rows), sum(j >= 0 for j in columns))
    for i, row in enumerate(i for i in rows if i >= 0):
        for j, column in enumerate(j for j in columns if j >= 0):
            leaves[row, column] = float(table[i, j])


def _deals(game: str) -> list[Match]:
    """Return one match for each deal of the cards."""
    found: dict[tuple[int, ...], Match] = {}
    for number in range(SEARCHED):
        match = Match(game, seed=1, match=number)
        found.setdefault(tuple(match.view()["cards"]), match)
        if len(found) == DEALS[game]:
            return list(found.values())
    raise ValueError(f"{game}: {len(found)} deals, expected {DEALS[game]}")


def _walk(
    match: Match,
    at: tuple[int, int],
    chance: float,
    seats: tuple[_Seat, _Seat],
    leaves: dict[tuple[int, int], float],
) -> None:
    if match.over:
        leaves[at] = leaves.get(at, 0.0) + chance * chips(match)
        return
    (seat,) = match.to_act
    for action, sequence in enumerate(seats[seat].visit(match, seat, at[seat]).after):
        if sequence >= 0:
            child = match.clone()
            child.play(action)
            _walk(child, (sequence, at[1]) if seat == 0 else (at[0], sequence), chance, seats, leaves)


def chips(match: Match) -> float:
    """Return seat 0's result of a match of poker: the other's stake, or minus its own."""
    view = match.view()
    if "paid" in view:
        paid = view["paid"]
    else:
        paid = [1 + sum(c == "bet" for c in view["choices"][seat::2]) for seat in (0, 1)]
    won = match.outcome[0]
    return float(won * (paid[1] if won > 0 else paid[0]))


def played_by(network: Network) -> Strategy:
    """Return the strategy of ``network``."""

    def strategy(seen: Mapping[str, npt.NDArray[Any]], legal: npt.NDArray[np.bool_]) -> Floats:
        rows = {name: torch.from_numpy(a) for name, a in seen.items()}
        with torch.no_grad():
            logits = network.step(rows, None, torch.ones(len(legal), dtype=torch.uint8)).logits
        masked = logits.double().masked_fill(torch.from_numpy(~legal), float("-inf"))
        probabilities: Floats = torch.softmax(masked, 1).numpy()
        return probabilities

    return strategy


def uniform(seen: Mapping[str, npt.NDArray[Any]], legal: npt.NDArray[np.bool_]) -> Floats:
    """Every legal action equally often."""
    shares: Floats = legal / legal.sum(1, keepdims=True)
    return shares


def kuhn_rule(bluff: float, call: float) -> Strategy:
    """Return a rule of Kuhn poker: bet and call with the king, never call with the jack.

    ``bluff``: share of the jacks that bet. ``call``: share of the queens that call.
    """

    def strategy(seen: Mapping[str, npt.NDArray[Any]], legal: npt.NDArray[np.bool_]) -> Floats:
        bits = np.unpackbits(seen["information_state"], axis=1, bitorder="little")
        card = bits[:, 2:5].argmax(1)  # jack, queen, king
        facing = (bits[:, 6] | bits[:, 8]) > 0  # a bet, the first or the second decision
        jack, queen = np.where(facing, 0.0, bluff), np.where(facing, call, 0.0)
        bet = np.choose(card, [jack, queen, np.ones(len(card))])
        shares: Floats = np.stack([1.0 - bet, bet], 1)
        return shares

    return strategy


def plans_of(form: SequenceForm, strategy: Strategy) -> Plans:
    """Return the realisation plans of a player that sits at either seat."""
    return _plan(form, 0, strategy), _plan(form, 1, strategy)


def _plan(form: SequenceForm, seat: int, strategy: Strategy) -> Floats:
    shares = strategy(form.seen[seat], form.legal[seat])
    plan = np.ones(form.payoff.shape[seat])
    for chosen, (before, after) in zip(shares, form.sets[seat], strict=True):
        for action, sequence in enumerate(after):
            if sequence >= 0:
                plan[sequence] = plan[before] * chosen[action]
    return plan


def mixture(plans: Sequence[Plans], shares: Floats | None = None) -> Plans:
    """Return a player drawn by ``shares: [N]`` (evenly without them) for the whole match."""
    one, other = (np.average([p[seat] for p in plans], axis=0, weights=shares) for seat in (0, 1))
    return one, other


def best_response(form: SequenceForm, seat: int, plan: Floats) -> float:
    """Return the most that ``seat`` gets, on average, against the ``plan`` of the other."""
    gains = form.payoff @ plan if seat == 0 else -form.payoff.T @ plan
    for before, after in reversed(form.sets[seat]):
        gains[before] += max(gains[s] for s in after if s >= 0)
    return float(gains[0])


def exploitability(form: SequenceForm, plans: Plans) -> float:
    """Return the gain of a best response to ``plans`` per match, mean of both seats; 0 in an equilibrium."""
    return (best_response(form, 0, plans[1]) + best_response(form, 1, plans[0])) / 2.0


def nash_mixture(form: SequenceForm, plans: Sequence[Plans]) -> Plans:
    """Return the mixture of ``plans`` that none of them beats."""
    ones, others = (np.array([p[seat] for p in plans]) for seat in (0, 1))
    gains = ones @ form.payoff @ others.T
    return mixture(plans, maximal_entropy_nash((gains - gains.T) / 2.0))
