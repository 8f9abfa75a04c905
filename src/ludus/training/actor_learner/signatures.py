"""What a run reports about signatures of its checkpoints (decision 0016)."""

from __future__ import annotations

from ludus.training.run_context import RunContext


class Signatures:
    """Of one run."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._reported = ""

    def after_checkpoint(self) -> None:
        """Reports once why checkpoints are not signed."""
        why = self._context.directory.checkpoints.unsigned
        if why and not self._reported:
            self._context.report.problem(
                f"checkpoints are not signed: {why}; a resumed run begins its matches anew"
            )
        self._reported = why

    def begin_anew(self, version: int, why: str) -> None:
        """Reports that matches begin anew, and why."""
        self._context.report.message(
            f"matches begin anew (checkpoint of version {version}: {why}); weights, "
            "optimiser and counters go on"
        )
