"""A match of a game written in Python as a recording: what its process sends, as documents of a page."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from ludus.flow.inputs.decode import to_json
from ludus.flow.spec import GameSpec, decode_spec
from ludus.games import replays
from ludus.games.replays import ReplayInfo
from ludus.web.frames.looks import columns_of
from ludus.web.frames.messages import Begun, Decided, Frame, MatchEnded, PlayAgain, PlayLive
from ludus.web.frames.process import RenderFails, ShowError, Stage
from ludus.web.frames.texts import decision_text
from ludus.web.from_replay import facts_of, sides_of
from ludus.web.recording import Recording, SeatDecision
from ludus.web.thoughts.thought import Opinion, ThinkError

RENDERER = "frames"

Progress = Callable[[int, int], None]


@dataclass
class Film:
    """Moments of a match, thinned as its camera orders."""

    frames: list[Frame] = field(default_factory=list)
    begun: Begun | None = None
    ended: MatchEnded | None = None
    _stride: int = 1

    def take(self, message: Begun | Frame | MatchEnded) -> None:
        """Take the next message about the match."""
        if isinstance(message, Begun):
            self.begun = message
        elif isinstance(message, MatchEnded):
            self.ended = message
        else:
            if message.stride > self._stride:
                self._stride = message.stride
                self._thin()
            self.frames.append(message)

    def _thin(self) -> None:
        """Leave out moments; the first of those that look the same keeps its picture."""
        kept: list[Frame] = []
        look: Frame | None = None
        for frame in self.frames:
            look = look if frame.kind == "same" else frame
            if frame.tick % self._stride == 0:
                missing = frame.kind == "same" and look is not None
                kept.append(_as(frame, look) if missing and look not in kept[-1:] else frame)  # type: ignore[arg-type]
        self.frames = kept

    @property
    def spec(self) -> GameSpec:
        """The game."""
        assert self.begun is not None
        return decode_spec(self.begun.spec)

    def notes(self) -> Iterator[str]:
        """Yield the sentences below the pictures."""
        assert self.ended is not None
        if self.ended.difference:
            what = "this is not the recorded match, since the game depends on more than its seed"
            yield f"{what}: {self.ended.difference}"
        yield from self.ended.notes

    def documents(self) -> list[bytes]:
        """Return a view document for each moment."""
        assert self.ended is not None
        spec = self.spec
        out = []
        for number, frame in enumerate(self.frames):
            document: dict[str, object] = {
                "tick": frame.tick,
                "kind": frame.kind,
                "data": base64.b64encode(frame.data).decode(),
                "returns": frame.returns,
            }
            if number == 0:
                document["tensors"] = columns_of(spec)
                document["notes"] = list(self.notes())
            out.append(to_json(document))
        return out


def _as(frame: Frame, look: Frame) -> Frame:
    return Frame(frame.tick, frame.stride, look.kind, look.data, frame.returns)


def filmed(
    replay: bytes,
    game: str = "",
    think: Sequence[str] = (),
    progress: Progress | None = None,
    most_s: float = float("inf"),
) -> Recording:
    """Play a replay of a game written in Python again and return it with pictures.

    Args:
        replay: The bytes of a ``.ludus`` file.
        game: Reference of the game, from a person; empty: as the replay names it, if it is installed.
        think: Weights whose thoughts are wanted.
        progress: Called with the ticks that were played, and how many there are.
        most_s: Seconds after which the rest of the match is left out.

    Raises:
        ReplayError: The bytes are no replay.
        ParamError: There is no such game, or a person has to name it.
        ShowError: The match cannot be played. (Each of these is a ``ValueError``.)
    """
    about = replays.info(replay)
    reference, task = replays.python_game_of(about, game), _task(replay, about, think)
    task = msgspec.structs.replace(task, most_s=most_s)
    try:
        film = _filmed(reference, about, task, progress)
    except RenderFails:
        film = _filmed(reference, about, msgspec.structs.replace(task, draw=False), progress)
    return recording_of_film(film, about, task.decisions)


def _task(replay: bytes, about: ReplayInfo, think: Sequence[str]) -> PlayAgain:
    return PlayAgain(
        about.game,
        about.version,
        len(about.players),
        about.seed,
        about.match,
        about.ticks,
        about.hash_every,
        replays.hashes(replay),
        [Decided(d.tick, d.seat, d.action) for d in replays.decisions(replay)],
        tuple(think),
    )


def thoughts_about(replay: bytes, player: str, game: str = "", progress: Progress | None = None) -> Opinion:
    """Return the thoughts of weights about a replay of a game written in Python.

    Raises:
        ThinkError: No weights, or the match cannot be played again as it was recorded.
    """
    about = replays.info(replay)
    task = msgspec.structs.replace(_task(replay, about, (player,)), film=False, draw=False)
    try:
        ended = _filmed(replays.python_game_of(about, game), about, task, progress).ended
    except ShowError as error:
        raise ThinkError(str(error)) from None
    assert ended is not None
    if ended.difference:
        raise ThinkError(f"the replay does not follow its rules: {ended.difference}")
    return ended.thoughts[0]


def _filmed(reference: str, about: ReplayInfo, task: PlayAgain | PlayLive, progress: Progress | None) -> Film:
    film = Film()
    with Stage(reference, about.params) as stage:
        for message in stage.play(task):
            film.take(message)
            if progress is not None and isinstance(message, Frame):
                progress(message.tick, about.ticks)
    return film


def recording_of_film(film: Film, about: ReplayInfo, made: Iterable[Decided]) -> Recording:
    """Return a film as the page's input."""
    spec, ended = film.spec, film.ended
    assert ended is not None
    assert film.begun is not None
    decisions = tuple(SeatDecision(d.tick, d.seat, decision_text(d.action, spec)) for d in made)
    returns = ", ".join(f"{r:g}" for r in about.returns)
    facts = (("return", returns), *facts_of(about))
    return Recording(
        game=about.game,
        title=f"{spec.title}: {sides_of(about.players, spec)}",
        renderer=RENDERER,
        seats=about.players,
        views=film.documents(),
        outcome=about.outcome if about.over else (),
        teams=spec.teams,
        truncated=not about.over,
        decisions=decisions,
        facts=facts,
        ticks_per_s=film.begun.ticks_per_s,
        thoughts=ended.thoughts,
    )
