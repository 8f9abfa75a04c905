"""The error of a rule of one's own."""

from __future__ import annotations

from ludus.flow.problem import HasProblems


class RuleError(HasProblems):
    """A rule failed or gave an answer that the league refuses. It ends the run, which is saved.

    It is a mistake in code that the user gave, never a failure of the member that the rule decides for.
    """
