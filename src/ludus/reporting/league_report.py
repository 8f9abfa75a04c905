"""The part of ``report.md`` about a league, and its plots in separate files."""

from __future__ import annotations

from ludus.flow.inputs.shown import fenced, markdown
from ludus.league.record import Record
from ludus.league.strengths import Z95, PlayerStrength, Strengths, strengths
from ludus.league.summary import payoff, status, the_newest, tree
from ludus.reporting.league_plots import heat_map, ratings_plot, settings_plot

MAP_PLAYERS = 40
LISTED = 30  # lines of a table
PAYOFF, RATINGS, SETTINGS = "league_payoff.svg", "league_ratings.svg", "league_settings.svg"


def league_part(record: Record) -> tuple[list[str], dict[str, str]]:
    """Return the lines of the report about ``record``, and its plots by the names of their files."""
    rated, met = strengths(record), record.anybody_met()
    plots: dict[str, str] = {}
    if met:
        plots[PAYOFF] = heat_map(payoff(record, the_newest(record, MAP_PLAYERS)))
        plots[RATINGS] = ratings_plot(rated, [m.name for m in record.members])
    if any(m.hyper for m in record.members):
        plots[SETTINGS] = settings_plot(record)
    lines = ["## League", "", *_member_table(record), ""]
    if met:
        lines += [f"![Payoff: how often the row's player beats the column's]({PAYOFF})", ""]
        lines += [f"![Elo over steps, with 95% intervals]({RATINGS})", "", *_rating_table(rated), ""]
    if SETTINGS in plots:
        lines += [f"![Settings of the members over steps]({SETTINGS})", ""]
    grown = tree(record)
    more = [f"... {len(grown) - LISTED} more: ludus league lineage"] if len(grown) > LISTED else []
    lines += ["What each frozen player came from:", "", *fenced("\n".join(grown[:LISTED] + more)), ""]
    return lines, plots


def _member_table(record: Record) -> list[str]:
    met = record.anybody_met()
    head = ["member", "role", "steps", "version", "frozen", *["against frozen"] * met, "return", "last"]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for m in status(record, "").members:
        rate = "-" if m.win_rate is None else f"{m.win_rate:.1%}"
        mean = "-" if m.mean_return is None else f"{m.mean_return:.3g}"
        cells = [markdown(m.name), markdown(m.role), f"{m.steps:,}", str(m.version), str(m.frozen)]
        lines.append(f"| {' | '.join([*cells, *[rate] * met, mean])} | {markdown(m.asked)} |")
    return lines


def _rating_table(rated: Strengths) -> list[str]:
    """Return the strongest players by Bradley-Terry."""
    known = sorted((s for s in rated.players if s.rating is not None), key=lambda s: -(s.rating or 0.0))
    return [
        "| player | Elo | 95% interval | TrueSkill | Nash share | matches |",
        "|---|---|---|---|---|---|",
        *(_rating_row(s) for s in known[:LISTED]),
    ]


def _rating_row(s: PlayerStrength) -> str:
    rating, half = s.rating or 0.0, Z95 * (s.error or 0.0)
    skill = "-" if s.skill is None else f"{s.skill:.1f}"
    share = "-" if s.nash_share is None else f"{s.nash_share:.1%}"
    return (
        f"| {markdown(s.player)} | {rating:+.0f} | {rating - half:+.0f} to {rating + half:+.0f} "
        f"| {skill} | {share} | {s.matches:,} |"
    )
