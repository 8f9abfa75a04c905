"""Matches of a run's newest weights at a game written in Python, one after the other, each as a page.

A match is played whole, then shown; the next one is played while a page shows it. Playing takes no more of
the processor than that, with the lowest claim to it.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from dataclasses import dataclass

import msgspec

from ludus.evaluation.evaluate import decide_game
from ludus.flow.inputs.shown import shell, shown
from ludus.flow.spec import decode_spec
from ludus.games import replays
from ludus.games.registry import is_python
from ludus.presets.errors import ConfigError
from ludus.storage.errors import StorageError
from ludus.web.frames.film import Film, recording_of_film
from ludus.web.frames.messages import Frame, PlayLive
from ludus.web.frames.players import check_opponent
from ludus.web.frames.process import RenderFails, ShowError, Stage
from ludus.web.replay_page import render
from ludus.web.serve.library import Library, Run
from ludus.web.serve.sentences import sentence

NEWEST = "last"
MOST_SHOWS = 2  # at a time
MOST_TICKS, MOST_S = 20_000, 60.0  # of a match
IDLE_S = 120.0  # without a page, until the process that plays ends
SHARE = 0.25  # of the time that a match is shown, after which the next one is played
KEPT_PAGES = 2


@dataclass(frozen=True)
class ShowOptions:
    """How a run is watched.

    ``game``: reference of its game, from a person. ``against``: player of the other seats; empty: the same
    weights. ``rate``: speed, in times of the game's own. ``keep``: how many replays stay, 0 for all.
    """

    game: str = ""
    against: str = ""
    rate: float = 1.0
    keep: int = 100


class Show:
    """Matches of one run. Its thread plays; any thread may ask for a page."""

    def __init__(self, run: Run, library: Library, options: ShowOptions, device: str) -> None:
        """Check that the run can be watched.

        Raises:
            ShowError: A compiled game.
            ConfigError: A game that a person has to name, or an opponent that cannot play here.
            StorageError: The run has no weights.
        """
        self.run, self._library, self._options, self._device = run, library, options, device
        self._game, self._params = self._decided()
        if not is_python(self._game):
            raise ShowError(f"{run.name}: a run of {self._game}, expected one of a game written in Python")
        from ludus.policies.weights import load_meta  # torch: only where weights play

        self.spec = decode_spec(load_meta(library.weights_path(run, NEWEST)).spec)
        check_opponent(options.against, self.spec)
        self.asked = time.monotonic()
        self.progress = 0
        self._stage: Stage | None = None
        self._draw = True
        self._pages: dict[int, str] = {}
        self._made, self._wanted = 0, 1  # numbers of matches
        self._due = float("inf")  # when the next match is played, though no page waits for it
        self._seconds = 0.0  # that the newest match is shown
        self._problem = ""
        self._closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name=f"show-{run.id}", daemon=True)
        self._thread.start()

    @property
    def _weights(self) -> str:
        return f"{self.run.path}@{NEWEST}"

    def _decided(self) -> tuple[str, dict[str, str]]:
        """Return the game and its parameters."""
        try:
            return decide_game([self._weights], self._options.game)
        except ConfigError:
            if self._options.game:
                raise
            how = f"ludus watch {shell(self.run.name)} --game ./my_game.py"
            raise ShowError(
                f"{self.run.name}: a run of {shown(self.run.directory.info().game)}, whose code a person has "
                f"to name: {how}"
            ) from None

    @property
    def made(self) -> int:
        """Number of the newest match that is ready; 0 before the first."""
        return self._made

    def page(self, after: int, seconds: float) -> str | None:
        """Return the page of the first match behind number ``after``; None where it is not ready in time.

        Raises:
            ShowError: The match cannot be shown; the next call tries again.
        """
        with self._changed:
            self.asked = time.monotonic()
            self._wanted = max(self._wanted, min(after, self._made) + 1)
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._next(after) or self._problem or self._closed, seconds)
            if (number := self._next(after)) is not None:
                if number == self._made and self._due == float("inf"):
                    self._due = time.monotonic() + SHARE * self._seconds
                    self._changed.notify_all()
                return self._pages[number]
            if self._problem:
                why, self._problem = self._problem, ""
                raise ShowError(why)
            return None

    def _next(self, after: int) -> int | None:
        after = min(after, self._made) if self._made else 0
        return next((number for number in sorted(self._pages) if number > after), None)

    def close(self) -> None:
        """End the process that plays; idempotent."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._end_stage()

    def _end_stage(self) -> None:
        stage, self._stage = self._stage, None
        if stage is not None:
            stage.close()

    def _work(self) -> None:
        while self._waits():
            try:
                page, seconds = self._play(self._made + 1)
            except (ValueError, OSError, StorageError, ImportError) as error:
                self._end_stage()
                with self._changed:
                    self._problem, self._wanted = sentence(error), self._made
                    self._due = float("inf")
                    self._changed.notify_all()
                continue
            with self._changed:
                self._made += 1
                self._pages[self._made] = page
                for old in sorted(self._pages)[:-KEPT_PAGES]:
                    del self._pages[old]
                self._due, self._seconds = float("inf"), seconds  # until a page has it
                self._changed.notify_all()
        self._end_stage()

    def _waits(self) -> bool:
        """Wait until a match is to be played. False at the end."""
        with self._changed:
            while not self._closed:
                now = time.monotonic()
                if self._wanted > self._made:
                    return True
                idle = now - self.asked > IDLE_S
                if now >= self._due and not idle:
                    return True
                if idle:
                    self._end_stage()
                left = self._due - now
                self._changed.wait(min(10.0, left) if left > 0 else 10.0)
            return False

    def _play(self, number: int) -> tuple[str, float]:
        """Play a match. Returns its page, and the seconds that it is shown at the game's own pace."""
        if not (self.run.path / "run.json").is_file():
            raise ShowError(f"the run {self.run.name} has been removed")
        try:
            film = self._film(number)
        except RenderFails:
            self._end_stage()
            self._draw = False
            film = self._film(number)
        ended = film.ended
        assert ended is not None
        follows = f"match {number} of the newest weights; the next one follows when it is over"
        film.ended = msgspec.structs.replace(ended, notes=(*ended.notes, follows))
        self._keep(ended.replay)
        about = replays.info(ended.replay)
        recording = recording_of_film(film, about, ended.decisions)
        rate = recording.ticks_per_s * self._options.rate
        recording = msgspec.structs.replace(recording, ticks_per_s=rate)
        page = render(recording, follows=f"/film/{self.run.id}?after={number}")
        return page, about.ticks / rate

    def _film(self, number: int) -> Film:
        if self._stage is None:
            self._stage = Stage(self._game, self._params, quiet=True)
        seed = secrets.randbelow(2**31 - 1) + 1
        task = PlayLive(self._players(number), seed, 0, MOST_TICKS, MOST_S, self._device, self._draw)
        film = Film()
        self.progress = 0
        for message in self._stage.play(task):
            film.take(message)
            if isinstance(message, Frame):
                self.progress = message.tick
        return film

    def _players(self, number: int) -> tuple[str, ...]:
        first, other = (number - 1) % self.spec.seats, self._options.against or self._weights
        together = self.spec.together
        return tuple(self._weights if together(first, s) else other for s in range(self.spec.seats))

    def _keep(self, replay: bytes) -> None:
        with contextlib.suppress(OSError, StorageError):  # a full disk: the match is shown all the same
            self._library.keep(replay, self.spec.name, self.run.id, self._options.keep)


class Shows:
    """The shows of a server, by run. Threads may share it."""

    def __init__(self, library: Library, device: str = "auto") -> None:
        """Show runs of ``library``; networks are on ``device``."""
        self._library, self._device = library, device
        self._options: dict[str, ShowOptions] = {}
        self._shows: dict[str, Show] = {}
        self._lock = threading.Lock()

    def set_options(self, run: str, options: ShowOptions) -> None:
        """Say how a run is watched, as the command line does."""
        self._options[run] = options

    def show(self, run: str) -> Show:
        """Return the show of a run by id, started where there is none.

        Raises:
            UnknownId: There is no such run.
            ShowError: It cannot be watched. (``ParamError`` and ``StorageError`` too.)
        """
        found = self._library.run(run)
        with self._lock:
            if run not in self._shows:
                made = Show(found, self._library, self._options.get(run, ShowOptions()), self._device)
                for old in sorted(self._shows, key=lambda name: self._shows[name].asked)[: 1 - MOST_SHOWS]:
                    self._shows.pop(old).close()
                self._shows[run] = made
            return self._shows[run]

    def close(self) -> None:
        """End all processes."""
        with self._lock:
            for show in self._shows.values():
                show.close()
            self._shows.clear()
