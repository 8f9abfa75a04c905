"""Thoughts about the decisions of a match that is looked at, of weights only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ludus.flow.slab import Array
from ludus.flow.spec import GameSpec
from ludus.mcts.text import is_search
from ludus.storage import zoo
from ludus.web.frames.messages import At
from ludus.web.thoughts.thought import HeadNames, Opinion, ThinkError, Thought

MOST_THOUGHTS = 20_000  # of a match
_CHUNK, _CHUNK_BYTES = 256, 32 << 20  # moments that are thought over at once

Deciding = Mapping[int, tuple[Mapping[str, Array], Array]]


class Thinkers:
    """Thoughts of some players about a match, moment by moment."""

    def __init__(
        self,
        players: Sequence[str],
        spec: GameSpec,
        params: Mapping[str, str],
        tell: Callable[[At], None],
        device: str = "auto",
    ) -> None:
        """Load the players.

        Raises:
            ThinkError: A player that gives no thoughts about such a game.
            ConfigError: Weights of another game.
            StorageError: No such run, version or file.
        """
        self._spec, self._tell = spec, tell
        self._minds = []
        for text in players:
            if is_search(zoo.played(text)[0]):
                raise ThinkError(f"{text}: only weights give thoughts about a game written in Python")
            from ludus.web.thoughts.resolve import mind_of  # torch: only where a player thinks

            self._minds.append(mind_of(text, spec, params, device=device))
        self._thoughts: list[list[Thought]] = [[] for _ in self._minds]
        self._waiting: list[list[object]] = [[] for _ in self._minds]
        self._held = 0
        self._latest: dict[int, Mapping[str, Array]] = {}
        self._seen = 0
        self._cut = False

    def see(self, tick: int, deciding: Deciding, decisions: Mapping[int, tuple[int, ...]]) -> None:
        """Take the decisions of a tick, with what their seats observed."""
        if not self._minds:
            return
        from ludus.web.thoughts.mind import Moment

        self._latest.update((seat, observed) for seat, (observed, _) in deciding.items())
        for seat, (observed, mask) in sorted(deciding.items()):
            if self._seen >= MOST_THOUGHTS:
                self._cut = True
                return
            self._seen += 1
            self._held += sum(a.nbytes for a in observed.values())
            action = decisions.get(seat, ())
            for mind, waiting in zip(self._minds, self._waiting, strict=True):
                others = None
                if mind.sees != "own":
                    others = {s: o for s, o in self._latest.items() if s != seat}
                waiting.append(Moment(tick, seat, observed, mask, action, others=others))
        if len(self._waiting[0]) >= _CHUNK or self._held > _CHUNK_BYTES:
            self._think(tick)

    def _think(self, tick: int) -> None:
        for mind, waiting, thoughts in zip(self._minds, self._waiting, self._thoughts, strict=True):
            self._tell(At(tick, "thinking"))
            thoughts += mind.think(waiting)  # type: ignore[arg-type]
            waiting.clear()
        self._held = 0

    def opinions(self) -> tuple[Opinion, ...]:
        """Return all thoughts."""
        if not self._minds:
            return ()
        self._think(0)
        names = tuple(HeadNames(head.name, head.labels) for head in self._spec.heads)
        return tuple(
            Opinion(m.name, names, m.kind, m.sees, m.tree, tuple(t), self._cut)
            for m, t in zip(self._minds, self._thoughts, strict=True)
        )
