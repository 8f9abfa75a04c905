"""Hints for a person: what an advisor would do at a seat, from no more than that seat sees.

A network reads the observation of the seat; a search reads the whole state, so it advises only where the game
hides nothing. A value that depends on other seats' observations is never sent.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from ludus.flow.inputs.shown import visible
from ludus.flow.spec import GameSpec
from ludus.games.match import Match
from ludus.games.views import view_of
from ludus.mcts.text import ROLLOUTS, SUFFIX
from ludus.storage.errors import StorageError
from ludus.web.moves import Document, choice_name
from ludus.web.serve.messages import Hint, HintChoice, HintView, Refused, write
from ludus.web.serve.sentences import sentence
from ludus.web.thoughts.live import Onlooker
from ludus.web.thoughts.mind import Mind
from ludus.web.thoughts.mistakes import alternates
from ludus.web.thoughts.thought import HeadThought, ThinkError, Thought

SEARCH = f"{ROLLOUTS}:400"
VISITS = 200  # of a search with weights
LEAST_S = 0.2  # between two hints
MOST_CHOICES = 12  # of a head
MOST_LINE = 10
MOST_ASKED = 2  # a hint and the value for the bar
BUSY = "a hint is on its way"
REMEMBERS = "these weights remember the match from its start, and give no hints in its middle"


class Asker(Protocol):
    """A page that asks, as :class:`ludus.web.serve.session.Viewer`."""

    def send(self, text: str, moment: bool) -> None:
        """Send a message."""
        ...


class Advisor:
    """Gives hints about one match, in separate threads: loading weights and searching take time.

    Attributes:
        name: Name of the player that advises, as people read it.
    """

    def __init__(self, name: str, make: Callable[[], Mind]) -> None:
        """Advise by the player ``make()``, which is made when the first hint is asked for."""
        self.name, self._make = name, make
        self._mind: Mind | None = None
        self._thinking, self._counting = threading.Lock(), threading.Lock()
        self._asked = 0  # hints that were asked for and not yet given
        self._answered_at = -LEAST_S

    def refusal(self) -> str:
        """Return why no hint can be asked for now, or an empty text."""
        return BUSY if self._asked >= MOST_ASKED else ""

    def ask(self, match: Match, asked: Hint, asker: Asker) -> None:
        """Answer ``asker`` when the hint is there. ``match``: a copy that no one plays on."""
        with self._counting:
            if self._asked >= MOST_ASKED:
                return
            self._asked += 1
        threading.Thread(target=self._answer, args=(match, asked, asker), daemon=True, name="hint").start()

    def _answer(self, match: Match, asked: Hint, asker: Asker) -> None:
        with self._thinking:
            time.sleep(max(0.0, self._answered_at + LEAST_S - time.monotonic()))
            try:
                text = write(self.advise(match, asked))
            except (ValueError, OSError, StorageError, ImportError) as error:
                text = write(Refused(0, f"no hint: {sentence(error)}"))
            except Exception as error:  # the match continues without
                text = write(Refused(0, f"no hint: {type(error).__name__}"))
            self._answered_at = time.monotonic()
        with self._counting:
            self._asked -= 1
        asker.send(text, False)

    def advise(self, match: Match, asked: Hint) -> HintView:
        """Return the hint for a seat that may decide now. Raises ``ValueError``."""
        mind = self._mind = self._mind or self._make()
        if mind.kind == "search" and not match.spec.perfect_information:
            raise ThinkError("a search sees what the seat does not")
        thought = Onlooker(mind).think(match, asked.seat)
        known = thought.value is not None and mind.sees == "own"
        in_shares = mind.kind == "search" or alternates(match.spec)
        document = {} if asked.value_only else match.view()
        return HintView(
            seat=asked.seat,
            tick=match.tick,
            by=visible(mind.name),
            value=round(thought.value, 4) if known and thought.value is not None else None,
            wins=in_shares,
            value_only=asked.value_only,
            heads=() if asked.value_only else _heads(match.spec, thought, document),
            line=() if asked.value_only else _line(match.spec, thought, document),
        )


def _heads(spec: GameSpec, thought: Thought, document: Document) -> tuple[tuple[HintChoice, ...], ...]:
    return tuple(_choices(spec, k, head, document) for k, head in enumerate(thought.heads))


def _choices(spec: GameSpec, k: int, head: HeadThought, document: Document) -> tuple[HintChoice, ...]:
    found = []
    labels = spec.heads[k].labels
    for n, choice in enumerate(head.choices[:MOST_CHOICES]):
        label = labels[choice] if choice < len(labels) else str(choice)
        if len(spec.heads) == 1:
            label = choice_name((choice,), spec, view_of(spec.name), document)
        p, q = (head.p[n] if head.p else None), (head.q[n] if head.q else None)
        visits = head.visits[n] if head.visits else 0
        found.append(HintChoice(choice, label, _short(p), _short(q), visits))
    return tuple(found)


def _short(number: float | None) -> float | None:
    return None if number is None else round(number, 4)


def _line(spec: GameSpec, thought: Thought, document: Document) -> tuple[str, ...]:
    view = view_of(spec.name)
    return tuple(choice_name((move,), spec, view, document) for move in thought.line[:MOST_LINE])


def advisor_of(
    spec: GameSpec,
    params: Mapping[str, str],
    weights: Sequence[tuple[str, str]],
    searches: bool,
    device: str = "auto",
) -> Advisor | None:
    """Return who gives hints in a match; None where no one can.

    Args:
        spec: The game.
        params: Parameters of its rules.
        weights: Weights that may advise, the best suited first: name for people, and reference.
        searches: Whether the game can be searched.
        device: Device of networks.
    """
    searched = searches and spec.perfect_information
    if not weights and not searched:
        return None
    name, reference = weights[0] if weights else (SEARCH, SEARCH)

    def make() -> Mind:
        from ludus.web.thoughts.resolve import mind_of

        if weights and searched:
            with contextlib.suppress(ValueError):  # weights with a memory, or with values of choices only
                return mind_of(f"{reference}{SUFFIX}:{VISITS}", spec, params, device=device)
        mind = mind_of(reference, spec, params, device=device)
        network = getattr(mind, "network", None)
        if network is not None and network.memory_shape is not None:
            raise ThinkError(REMEMBERS)
        return mind

    return Advisor(name, make)
