"""Reports of a run about signatures of its checkpoints (decision 0016)."""

from __future__ import annotations

from ludus.training.run_context import RunContext


class Signatures:
    """Reports of one run."""

    def __init__(self, context: RunContext) -> None:
        """Report to the sinks of ``context``."""
        self._context = context
        self._reported = ""

    def after_checkpoint(self) -> None:
        """Report once why checkpoints are not signed."""
        why = self._context.directory.checkpoints.unsigned
        if why and not self._reported:
            self._context.report.problem(
                f"checkpoints are not signed: {why}; a resumed run restarts its matches"
            )
        self._reported = why

    def restart_matches(self, version: int, why: str) -> None:
        """Report that matches restart, and why."""
        self._context.report.message(
            f"matches restart (checkpoint of version {version}: {why}); weights, "
            "optimiser and counters continue"
        )
