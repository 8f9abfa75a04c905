"""The numbers of a position as cells of tables, and its page."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ludus.flow.inputs.shown import markup, visible
from ludus.games.views import view_of
from ludus.web.position.answer import PositionAnswer, PositionMove, PositionOpinion, Searched
from ludus.web.position.source import SearchPosition, side_name
from ludus.web.recording import MOST_OPINIONS
from ludus.web.replay_page import render

HEAD = ("", "move", "prior", "visits", "share", "value", "line")


def cells_of(candidate: PositionMove) -> tuple[str, ...]:
    """Return a candidate as the cells of a table, as :data:`HEAD` names them."""
    c = candidate
    return (
        c.mark,
        c.move,
        "-" if c.prior is None else share_text(c.prior),
        f"{c.visits:,}",
        share_text(c.share),
        "-" if c.value is None else value_text(c.value),
        " ".join(c.line),
    )


def value_text(value: float) -> str:
    """Return a value: ``+0.312``."""
    return f"{value:+.3f}"


def share_text(share: float) -> str:
    """Return 0.312 as ``31.2%``."""
    return f"{100 * share:.1f}%"


def head_line(answer: PositionAnswer, opinion: PositionOpinion) -> str:
    """Return what a player thinks of a position in one line."""
    parts = [
        f"{opinion.by}: {answer.side} plays {opinion.best}",
        f"value {value_text(opinion.value)}",
        f"{opinion.visits:,} visits",
    ]
    if opinion.score is not None:
        lead = opinion.score.lead
        side = side_name(view_of(answer.game), 0 if lead >= 0 else 1)
        how = "random continuations" if opinion.score.sampled else "network"
        ahead = f"{side} ahead by {abs(lead):.1f}" if lead else "even"
        parts.append(f"{ahead} +- {opinion.score.deviation:.1f} points ({how})")
    return ", ".join(parts)


def page_of(position: SearchPosition, answer: PositionAnswer, found: Sequence[Searched]) -> str:
    """Return the page: the match at the position with the candidates on the board, and their tables."""
    thoughts = tuple(one.thoughts for one in found[:MOST_OPINIONS])
    recording = msgspec.structs.replace(position.recording(), thoughts=thoughts, start=position.tick)
    return render(recording, more="\n".join(_section(answer, opinion) for opinion in answer.opinions))


def _section(answer: PositionAnswer, opinion: PositionOpinion) -> str:
    rows = [_row("td", cells_of(candidate)) for candidate in opinion.candidates]
    return "\n".join(
        [
            f'<section class="candidates"><h2>{markup(head_line(answer, opinion))}</h2>',
            f"<table><thead>{_row('th', HEAD)}</thead><tbody>",
            *rows,
            "</tbody></table></section>",
        ]
    )


def _row(tag: str, cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{markup(visible(cell))}</{tag}>" for cell in cells) + "</tr>"
