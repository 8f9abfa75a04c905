"""Runs as pages show them: lists, the page of a run, its curves. Everything is read, nothing is written."""

from ludus.web.serve.runs.curves import MOST_POINTS, Curves, XAxis, curves_of
from ludus.web.serve.runs.lines import RunLine, line_of
from ludus.web.serve.runs.pages import EvaluatedRate, RunPage, page_of, strengths

__all__ = [
    "MOST_POINTS",
    "Curves",
    "EvaluatedRate",
    "RunLine",
    "RunPage",
    "XAxis",
    "curves_of",
    "line_of",
    "page_of",
    "strengths",
]
