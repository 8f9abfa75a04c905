"""Ratings of a league's players from its record, in three ways that answer different questions.

*Bradley-Terry* decides: ratings under which all results are likeliest, with errors. *TrueSkill* is shown: the
scale of OpenAI Five, where uniformly random play is 0 and a lead of d points wins with probability
Phi(d / 9.862). *Nash averaging* finds who matters: the share of each player in the mixture that none beats,
which copies of a player do not change. Every pair counts as if it had met in a few further matches as
Bradley-Terry expects, since most pairs of a league never met.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np

from ludus.flow.names import did_you_mean
from ludus.league.payoff import Floats
from ludus.league.record import Began, Met, Record
from ludus.ratings import bradley_terry, nash_average
from ludus.ratings.sparse import Pairs, groups_of, ratings_of_pairs
from ludus.ratings.trueskill import SIGMA, Skill, rate_match

RANDOM = "random"  # the bot that is 0 on both scales
Z95 = 1.959964
MAX_SKILL_MATCHES = 30_000  # of TrueSkill, which takes them one by one; some seconds
MAX_URN = 10**9  # matches that numpy draws from without replacement; of more, replacement changes nothing
MAX_NASH = 200  # players of Nash averaging
MAX_DENSE = 600  # entrants rated by tables
EXPECTED = 4.0  # matches of each pair that Nash averaging takes from Bradley-Terry
LEAST_SIGMA = SIGMA / 4.0  # of weights that continue from a player whose skill is known


class PlayerStrength(msgspec.Struct, frozen=True):
    """One player. Ratings are None before its first match.

    ``rating``: Bradley-Terry, in Elo, with its standard ``error``; ``skill``: TrueSkill with its deviation.
    ``nash_share``, ``nash_rating``: from Nash averaging, the rating in Elo against the mixture. ``steps``:
    steps of the member when the player was frozen, or now; None for a bot.
    """

    player: str
    kind: str
    member: str
    steps: int | None
    matches: int
    rating: float | None = None
    error: float | None = None
    skill: float | None = None
    skill_error: float | None = None
    nash_share: float | None = None
    nash_rating: float | None = None


class Strengths(msgspec.Struct, frozen=True):
    """``anchors``: ratings that were given; without any, the mean Bradley-Terry rating is 0.

    ``groups``: shown players that met, directly or through a third; ratings compare only within a group.
    """

    anchors: dict[str, float]
    players: tuple[PlayerStrength, ...]
    groups: tuple[tuple[str, ...], ...] = ()


def strengths(record: Record, anchors: Mapping[str, float] | None = None) -> Strengths:
    """Rates all players of ``record``: bots, frozen players, and members as they are now.

    ``anchors``: ratings of bots or frozen players that stay, in Elo; by default ``random`` = 0 if it was
    met. Live weights of the past take part as separate players. ``ValueError`` for another anchor.
    """
    pairs = record.pairs()
    played: Floats = np.zeros(len(record.entrants))
    for places_of in (pairs.i, pairs.j):
        played += np.bincount(places_of, pairs.matches, len(record.entrants))
    met = [int(i) for i in np.flatnonzero(played > 0)]
    names = [record.entrants[i].name for i in met]
    fixed = dict(anchors) if anchors else ({RANDOM: 0.0} if RANDOM in names else {})
    places = _places(record, met, fixed)
    rated: dict[int, dict[str, float]] = {i: {} for i in met}
    if met:
        for i, rating, error in _rated(record, met, pairs, places):
            rated[i] |= {"rating": rating} | ({} if error is None else {"error": error})
    for i, skill in _skills(record).items():
        if i in rated:
            rated[i] |= {"skill": skill.mu, "skill_error": skill.sigma}
    shown = [i for i in met if record.entrants[i].shown][-MAX_NASH:]
    if shown:
        nash = nash_average(*_expected(shown, pairs, rated))
        for k, i in enumerate(shown):
            rated[i] |= {"nash_share": float(nash.share[k]), "nash_rating": float(nash.rating[k])}
    entrants = [[record.entrants[i] for i in group] for group in groups_of(met, pairs)]
    groups = [tuple(e.name for e in group if e.shown) for group in entrants]
    return Strengths(fixed, tuple(_rows(record, played, rated)), tuple(g for g in groups if g))


def _rated(
    record: Record, met: Sequence[int], pairs: Pairs, places: Mapping[int, float]
) -> Iterator[tuple[int, float, float | None]]:
    """Yield entrant, rating and error; with very many entrants, no live weights of the past."""
    if len(met) <= MAX_DENSE:
        points, matches = tables(met, pairs)
        table = bradley_terry(points, matches, places)
        for k, (i, error) in enumerate(zip(met, table.error(), strict=True)):
            yield i, float(table.rating[k]), float(error)
        return
    place = np.full(len(record.entrants), -1)
    place[list(met)] = np.arange(len(met))
    here = Pairs(place[pairs.i], place[pairs.j], pairs.points, pairs.matches)
    shown = [k for k, i in enumerate(met) if record.entrants[i].shown]
    rating, error = ratings_of_pairs(len(met), here, places, shown)
    errors = dict(zip(shown, map(float, error), strict=True))
    for k, i in enumerate(met):
        yield i, float(rating[k]), errors.get(k)


def tables(chosen: Sequence[int], pairs: Pairs) -> tuple[Floats, Floats]:
    """``points`` and ``matches: [N, N]`` of ``chosen`` entrants against each other."""
    place = np.full(1 + max([*chosen, *pairs.i.tolist(), *pairs.j.tolist()], default=0), -1)
    place[list(chosen)] = np.arange(len(chosen))
    i, j = place[pairs.i], place[pairs.j]
    both = (i >= 0) & (j >= 0)
    i, j = i[both], j[both]
    points, matches = np.zeros((len(chosen), len(chosen))), np.zeros((len(chosen), len(chosen)))
    points[i, j], points[j, i] = pairs.points[both], pairs.matches[both] - pairs.points[both]
    matches[i, j] = matches[j, i] = pairs.matches[both]
    return points, matches


def _expected(
    shown: Sequence[int], pairs: Pairs, rated: Mapping[int, Mapping[str, float]]
) -> tuple[Floats, Floats]:
    """Points and matches of ``shown``, with ``EXPECTED`` matches of each pair as their ratings expect."""
    points, matches = tables(shown, pairs)
    ratings = np.array([rated[i]["rating"] for i in shown])
    score = 1.0 / (1.0 + 10.0 ** ((ratings[None, :] - ratings[:, None]) / 400.0))
    others = EXPECTED * (1.0 - np.eye(len(shown)))
    return points + others * score, matches + others


def _places(record: Record, met: Sequence[int], fixed: Mapping[str, float]) -> dict[int, float]:
    """Anchors by their place in ``met``."""
    stays = {
        record.entrants[i].name: k
        for k, i in enumerate(met)
        if record.players[record.entrants[i].player].kind != "learner"
    }
    for name in fixed:
        if name not in stays:
            hint = did_you_mean(name, stays, "players")
            raise ValueError(f"anchor {name!r}: expected a bot or a frozen player that was met{hint}")
    return {stays[name]: rating for name, rating in fixed.items()}


def _rows(record: Record, played: Floats, rated: dict[int, dict[str, float]]) -> Iterator[PlayerStrength]:
    for i, entrant in enumerate(record.entrants):
        if entrant.shown:
            player = record.players[entrant.player]
            yield PlayerStrength(
                entrant.name, player.kind, player.member, entrant.steps, int(played[i]), **rated.get(i, {})
            )


def _skills(record: Record) -> dict[int, Skill]:
    """TrueSkill of all entrants by their index. Of many matches an even share is taken."""
    games = [e for e in record.history if isinstance(e, Met)]
    total = sum(g.wins + g.draws + g.losses for g in games)
    draw = min(max(sum(g.draws for g in games) / max(total, 1), 0.001), 0.9)
    skills = {i: Skill(0.0, 0.0) for i, e in enumerate(record.entrants) if e.name == RANDOM}
    taken = sample_matches(games, MAX_SKILL_MATCHES)
    for entry in record.history:
        if isinstance(entry, Began):
            source = skills.get(entry.old) if entry.old is not None else None
            if source is not None:
                skills[entry.new] = Skill(source.mu, max(source.sigma, LEAST_SIGMA))
            continue
        for outcome in next(taken):
            pair = skills.get(entry.i, Skill()), skills.get(entry.j, Skill())
            (skills[entry.i],), (skills[entry.j],) = rate_match([pair[0]], [pair[1]], outcome, draw)
    return skills


def sample_matches(games: Sequence[Met], most: int) -> Iterator[list[float]]:
    """Yield outcomes of each meeting, evenly mixed: all, or ``most`` matches.

    The matches are drawn without replacement over all meetings, so each has the same probability, and each
    outcome its share, however few matches a pair has. Equal records give equal samples.
    """
    rest = sum(g.wins + g.draws + g.losses for g in games)
    quota = min(most, rest)
    stream = np.random.default_rng(0)
    for game in games:
        placed: list[tuple[float, float]] = []
        for outcome, count in ((1.0, game.wins), (0.0, game.draws), (-1.0, game.losses)):
            taken = _share(stream, count, rest, quota)
            rest, quota = rest - count, quota - taken
            placed += [((k + 0.5) / taken, outcome) for k in range(taken)]
        yield [outcome for _, outcome in sorted(placed)]


def _share(stream: np.random.Generator, count: int, rest: int, quota: int) -> int:
    """Draw how many of ``count`` matches are among ``quota`` of ``rest``."""
    if count == 0 or quota >= rest:
        return count
    if rest < MAX_URN:
        return int(stream.hypergeometric(count, rest - count, quota))
    return min(int(stream.binomial(count, quota / rest)), quota)
