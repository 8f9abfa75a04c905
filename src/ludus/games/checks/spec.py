"""Check of a Python game's spec, and the failure that every check of a game raises."""

from __future__ import annotations

from ludus.flow.spec import GameSpec, scores_problem


class CheckFailure(Exception):
    """A check that failed."""

    def __init__(self, check: str, detail: str) -> None:
        """Fail ``check``, one of :data:`CHECKS`, for the reason ``detail``."""
        super().__init__(detail)
        self.check, self.detail = check, detail


def check_spec(spec: GameSpec) -> None:
    """Refuse a spec without seats, tensors or heads, or with names, shapes or sizes that cannot be played."""
    if spec.seats < 1 or not spec.observation or not spec.heads:
        raise CheckFailure(
            "spec", f"{spec.seats} seats, {len(spec.observation)} tensors, {len(spec.heads)} heads"
        )
    for kind, names in (
        ("tensors", [t.name for t in spec.observation]),
        ("heads", [h.name for h in spec.heads]),
    ):
        if len(set(names)) != len(names):
            raise CheckFailure("spec", f"two {kind} have one name: {names}")
    if problem := scores_problem(spec.scores):
        raise CheckFailure("spec", problem)
    for t in spec.observation:
        if not t.shape or min(t.shape) < 1:
            raise CheckFailure("spec", f"tensor {t.name}: shape {t.shape}, expected sizes of at least 1")
    for h in spec.heads:
        if h.size < 1 or (h.kind == "continuous" and (h.size != 2 or h.low > h.high)):
            raise CheckFailure("spec", f"head {h.name}: size {h.size}, {h.low:g} to {h.high:g}")
        if h.labels and len(h.labels) != h.size:
            raise CheckFailure("spec", f"head {h.name}: {len(h.labels)} labels for {h.size} choices")
