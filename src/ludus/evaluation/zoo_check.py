"""Figures of the zoo's cards, measured again, and compared with the new result.

A figure is a win rate against an opponent, or one of the measures below. The new result comes from other
matches than the card's, so the two differ by chance: they disagree where a test of their difference refuses
it at 0.1% (:mod:`ludus.ratings.agreement`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import msgspec

from ludus.evaluation.results import ALONE
from ludus.evaluation.settings import NO_HOOKS, MatchHooks, MatchSettings
from ludus.ratings.agreement import counts_differ, deviation_of, means_differ
from ludus.ratings.interval import MeanInterval

if TYPE_CHECKING:
    from ludus.evaluation.results import EvalResult
    from ludus.storage.zoo import Card, CardFigure

VALUE_KEPT, EXPLOITABILITY, RETURN = "value kept", "exploitability", "return"
MEASURES = (VALUE_KEPT, EXPLOITABILITY, RETURN)
GNU_GO = "gnugo"  # first word of an opponent that is another program
EXACT = 0.002  # difference of an exact number, by rounding and by another processor's arithmetic

Verdict = Literal["agrees", "differs", "skipped"]


class FigureCheck(msgspec.Struct, frozen=True):
    """One figure of a card beside a new result.

    ``value`` and ``again`` are in ``unit``; ``matches`` and ``matches_again`` count matches or positions.
    ``why``: reason of a skipped figure.
    """

    figure: str
    unit: str
    value: float
    matches: int
    verdict: Verdict
    again: float | None = None
    matches_again: int = 0
    why: str = ""


def figure_label(against: str, measure: str) -> str:
    """Return the label of a figure in its record and for people: ``against simple``, ``value kept``."""
    return f"against {against}" if against else measure


def unit_of(measure: str) -> str:
    """Return the unit of a figure: ``%``, or of a return or an exploitability its own."""
    return {RETURN: "return", EXPLOITABILITY: "chips a match"}.get(measure, "%")


def check_figure(
    player: str,
    card: Card,
    figure: CardFigure,
    matches: int,
    seed: int,
    hooks: MatchHooks = NO_HOOKS,
    solved: Callable[[int], None] = lambda more: None,
) -> FigureCheck:
    """Measure a figure again and compare.

    Args:
        player: The player as it plays in matches: weights, with the search of its card.
        card: Its card.
        figure: One of the card's figures.
        matches: Number of matches or positions; at most the card's.
        seed: Seed of the matches, another than the record's.
        hooks: Called while matches are played.
        solved: Receives how many more positions are solved or decided.

    Raises:
        ConfigError: The player does not play any more.
    """
    label, unit = figure_label(figure.against, figure.measure), unit_of(figure.measure)
    known = FigureCheck(label, unit, figure.value, figure.matches, "skipped")
    if figure.against.split()[:1] == [GNU_GO]:
        why = "needs GNU Go and the repository: python -m tools.zoo measure"
        return msgspec.structs.replace(known, why=why)
    count = min(matches, figure.matches) if figure.matches else matches
    if figure.measure == EXPLOITABILITY:
        return _exact(known, player)
    if figure.measure == VALUE_KEPT:
        return _kept(known, player, card, count, seed, solved)
    result = _played(player, card, figure.against or ALONE, count, seed, hooks)
    if not result.matches:
        why = result.nothing_played or "interrupted before a match was over"
        return msgspec.structs.replace(known, why=why)
    if figure.measure == RETURN:
        return _returned(known, figure, result)
    return _counted(known, result.wins or 0, result.matches)


def _played(player: str, card: Card, against: str, matches: int, seed: int, hooks: MatchHooks) -> EvalResult:
    from ludus.evaluation.evaluate import evaluate

    greedy = card.greedy and not card.play  # a search of the card is greedy, its opponent's is not
    settings = MatchSettings(matches=matches, seed=seed, greedy=greedy)
    return evaluate(player, "" if against == ALONE else against, settings, hooks=hooks)


def _counted(known: FigureCheck, won: int, matches: int) -> FigureCheck:
    carded = round(known.value / 100.0 * known.matches), known.matches
    verdict: Verdict = "differs" if counts_differ(carded, (won, matches)) else "agrees"
    again = round(100.0 * won / matches, 1)
    return msgspec.structs.replace(known, verdict=verdict, again=again, matches_again=matches)


def _returned(known: FigureCheck, figure: CardFigure, result: EvalResult) -> FigureCheck:
    deviation = deviation_of(figure.low, figure.high, figure.matches)
    carded = MeanInterval(figure.value, figure.low, figure.high, deviation)
    found = MeanInterval(result.mean_return, result.return_low, result.return_high, result.return_deviation)
    differ = means_differ((carded, figure.matches), (found, result.matches))
    return msgspec.structs.replace(
        known,
        verdict="differs" if differ else "agrees",
        again=round(result.mean_return, 1),
        matches_again=result.matches,
    )


def _kept(
    known: FigureCheck,
    player: str,
    card: Card,
    count: int,
    seed: int,
    solved: Callable[[int], None],
) -> FigureCheck:
    from ludus.evaluation.evaluate import decide_game
    from ludus.evaluation.value_kept import moves_of, outcomes_of, solved_positions

    game, params = decide_game([player])
    positions = solved_positions(game, count, seed, solved)
    asked = [position.moves for position in positions]
    chosen = moves_of(player, game, params, asked, seed=seed, greedy=card.greedy)
    outcomes = outcomes_of(positions, chosen)
    return _counted(known, outcomes.count("w"), len(outcomes))


def _exact(known: FigureCheck, player: str) -> FigureCheck:
    again = exploitability_of(player)
    verdict: Verdict = "agrees" if abs(again - known.value) <= EXACT else "differs"
    return msgspec.structs.replace(known, verdict=verdict, again=round(again, 3))


def exploitability_of(player: str) -> float:
    """Return the exact exploitability of weights at a small game of two seats."""
    from ludus.evaluation.evaluate import decide_game
    from ludus.evaluation.exploitability import exploitability, plans_of, played_by, sequence_form
    from ludus.evaluation.weights import load_network
    from ludus.games import spec

    game, params = decide_game([player])
    form = sequence_form(game, params)
    network = load_network(player, spec(game, params), "cpu").network
    return exploitability(form, plans_of(form, played_by(network)))
