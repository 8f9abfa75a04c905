"""A live match: one thread owns it, keeps its clock and checks every decision before it is played.

Pages join and leave, and send messages; only the thread handles them. A person who decides nothing plays
nothing in a game that does not wait. Without pages, the match pauses for :data:`GRACE_S` seconds, and
clocks stop at the last sign of life of a page.
"""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Callable
from typing import NamedTuple, Protocol

import msgspec

from ludus.web.serve import messages
from ludus.web.serve.clock import MoveClock, TickSchedule
from ludus.web.serve.live.ends import Ended, Saved, over
from ludus.web.serve.messages import FromPage, FromServer
from ludus.web.serve.sentences import sentence
from ludus.web.serve.table import Table

GRACE_S = 600.0  # without a page
SHOWN_PER_S = 60.0  # most moments that a page gets
LATE_S = 2.0  # decisions of a page that shows an older moment come too late
BETWEEN_S = 3.0  # from the end of a watched match to the next
LOST = "no page is connected"


class Viewer(Protocol):
    """A page, called by the thread.

    ``plays``: whether it decides for the persons of the match or only watches. ``name``: under which it
    connects again, or empty. ``heard_at``: time of its last sign of life.
    """

    plays: bool
    name: str
    heard_at: float

    def send(self, text: str, moment: bool) -> None:
        """Send a message; a ``moment`` may be left out if a later one waits already."""
        ...


class _Join(NamedTuple):
    viewer: Viewer


class _Leave(NamedTuple):
    viewer: Viewer


class _Post(NamedTuple):
    viewer: Viewer
    message: FromPage


class _End(NamedTuple):
    why: str


_Item = _Join | _Leave | _Post | _End


class Session(threading.Thread):
    """The thread of a match.

    Attributes:
        schedule: The ticks, with their timing.
        closed: Whether the match is over for good.
        stopping: Whether the match was asked to end.
        repeats: Whether another match follows each.
        visited: Whether a page has ever been connected.
        waits: Whether the match has not started: it waits for the first decision of a person.
    """

    def __init__(
        self,
        match: str,
        key: str,
        deal: Callable[[], Table],
        save: Callable[[Table], Saved],
        *,
        rate: float = 1.0,
        clock_s: float = 0.0,
        repeats: bool = False,
        beat_s: float = messages.BEAT_S,
    ) -> None:
        """Prepare the match; :meth:`start` plays it.

        Args:
            match: Id of the match.
            key: Key of the pages that play.
            deal: Makes a match with its seats; called again for each next match.
            save: Writes a match that has ended.
            rate: Speed, in times of the game's own.
            clock_s: Seconds a decision of a person; 0 = any time.
            repeats: Whether another match follows, until :meth:`stop`.
            beat_s: Seconds between two signs of life of a page.
        """
        super().__init__(name=f"match {match}", daemon=True)
        self.match, self.key, self.repeats = match, key, repeats
        self.closed = self.stopping = self.visited = False
        self.table = deal()
        self.schedule = TickSchedule(0.0)
        self._deal, self._save, self._rate, self._beat_s = deal, save, rate, beat_s
        self._clock = MoveClock(0.0 if self.table.real_time else clock_s)
        self._inbox: queue.SimpleQueue[_Item] = queue.SimpleQueue()
        self._viewers: list[Viewer] = []
        self.waits = False  # for the first decision of a person
        self.again = False  # whether a rematch may be asked for
        self.recorded = ""  # page of the newest match that has ended
        self._end: dict[bool, FromServer] | None = None  # for pages that play, and for those that look on
        self._ended: Ended | None = None
        self._paused = False  # by a page
        self._lost_at: float | None = time.monotonic()  # since when no page is connected
        self._shown_at = -math.inf
        self._stopping = False

    # Called by other threads.

    def wait_for_order(self) -> None:
        """Let a game in real time start with the first decision of a person; before :meth:`start`."""
        self.waits = self.table.real_time and bool(self.table.persons)

    def join_viewer(self, viewer: Viewer) -> None:
        """Connect a page; it takes the place of the one that had its name."""
        self.visited = True
        self._inbox.put(_Join(viewer))

    def leave_viewer(self, viewer: Viewer) -> None:
        """Disconnect a page."""
        self._inbox.put(_Leave(viewer))

    def post(self, viewer: Viewer, message: FromPage) -> None:
        """Pass a message of a page on."""
        self._inbox.put(_Post(viewer, message))

    def stop(self, why: str = "the server stops") -> None:
        """End the match; it is saved."""
        self.stopping = True
        self._inbox.put(_End(why))
        self.table.hurry()

    # The thread.

    def run(self) -> None:
        """Play until the match is over, then answer pages that still come."""
        try:
            while True:
                self._play()
                self._finish()
                if not self.repeats or self._stopping:
                    break
                self._rest(BETWEEN_S)
                if self._stopping:
                    break
                self.table = self._deal()
                self._end = self._ended = None
                self._greet()
        except Exception as error:  # a page learns it, and the match up to here is kept
            failed = messages.Failed(f"the match failed: {sentence(error)}")
            self._end = {True: failed, False: failed}
            self._tell(failed)
            if self._ended is None:
                self._save(self.table)
        self.closed = True
        while not self._stopping and not self._forgotten(time.monotonic()):
            self._rest(GRACE_S)

    def _play(self) -> None:
        self._set_pace()
        self._clock.clear()
        self.schedule.restart(time.monotonic())
        while self._ended is None:
            now = time.monotonic()
            if self._forgotten(now):
                self._ended = Ended((), f"no page was connected for {GRACE_S / 60:.0f} minutes: cut off")
            elif not self._paused and self._lost_at is None and (seat := self._clock.late(now)) is not None:
                if self._in_doubt(now):  # time that a dead link took is given back
                    self._handle_one(self._beat_s / 4)
                    continue
                self.table.out_of_time(seat)
                self._ended = Ended(())
            elif (until := self._next(now)) > now:
                self._handle_one(until - now)
            else:
                self._tick(now)

    def _next(self, now: float) -> float:
        """Return when the thread has something to do by itself."""
        if self._lost_at is not None:
            return math.inf if self.repeats else self._lost_at + GRACE_S
        if self._paused or self.waits:
            return math.inf
        if self.table.waits_for():
            self._start_clocks(now)
            return self._clock.ends
        return self.schedule.due

    def _start_clocks(self, now: float) -> None:
        for seat in self.table.waits_for():
            self._clock.start(seat, now)

    def _tick(self, started: float) -> None:
        table = self.table
        while not self._inbox.empty():  # what was sent up to now counts for this tick
            self._handle(self._inbox.get())
        if self._ended is not None or self._stands_still or table.waits_for():
            return
        played = table.play()
        self._report_refused()
        if played:
            self._clock.clear()
        ended = time.monotonic()
        self.schedule.advance(started, ended)
        if table.over:
            self._ended = Ended(table.match.outcome)
        elif table.too_long:
            self._ended = Ended((), f"time is up: the limit of {table.limit:,} ticks was reached")
        due = ended - self._shown_at >= 1.0 / SHOWN_PER_S
        if due or table.decided or self._ended is not None or not table.real_time:
            self._show()

    def _finish(self) -> None:
        assert self._ended is not None
        saved = self._save(self.table)
        self.table.forget()
        self.recorded = saved.url
        self._end = {plays: over(self.table, self._ended, saved, plays) for plays in (True, False)}
        for viewer in self._viewers:
            self._send(viewer, self._end[viewer.plays])

    def _rest(self, seconds: float) -> None:
        """Answer pages for ``seconds``, or until the session is to stop."""
        end = time.monotonic() + seconds
        while not self._stopping and (left := end - time.monotonic()) > 0:
            if not self._handle_one(left):
                return

    def _forgotten(self, now: float) -> bool:
        """Whether no page has come back for too long; a match that repeats waits for the next page."""
        return self._lost_at is not None and not self.repeats and now - self._lost_at >= GRACE_S

    def _set_pace(self) -> None:
        table = self.table
        # A game that waits for a person is answered at once; without one it is played to be watched.
        per_s = 0.0 if table.persons and not table.real_time else table.ticks_per_s * self._rate
        self.schedule.set_rate(per_s)

    # Messages.

    def _handle_one(self, seconds: float) -> bool:
        try:
            self._handle(self._inbox.get(timeout=None if math.isinf(seconds) else max(0.0, seconds)))
        except queue.Empty:
            return False
        return True

    def _handle(self, item: _Item) -> None:
        match item:
            case _Join(viewer):
                self._joined(viewer)
            case _Leave(viewer):
                self._left(viewer)
            case _End(why):
                self._stopping = True
                self._ended = self._ended or Ended((), f"{why}: cut off")
            case _Post(viewer, message):
                self._obey(viewer, message)

    def _in_doubt(self, now: float) -> bool:
        """Whether the pages that may decide owe a sign of life, so that they may be lost."""
        silent = now - max((v.heard_at for v in self._viewers if self._controls(v)), default=now)
        return 1.5 * self._beat_s < silent < (messages.MISSING + 1) * self._beat_s

    def _joined(self, viewer: Viewer) -> None:
        if viewer.name:
            self._viewers = [v for v in self._viewers if v.name != viewer.name]
        if self._lost_at is not None and self._controls(viewer):
            self._lost_at = None
            self._runs_again()
        self._viewers.append(viewer)
        self._greet([viewer])

    def _left(self, viewer: Viewer) -> None:
        if viewer in self._viewers:
            self._viewers.remove(viewer)
        if not any(map(self._controls, self._viewers)) and self._lost_at is None:
            self._lost_at = time.monotonic()
            if self._end is None:
                self._stands(LOST, viewer.heard_at)

    def _controls(self, viewer: Viewer) -> bool:
        """Whether a page may stop the clock: one that plays, or any where no person does."""
        return viewer.plays or not self.table.persons

    def _obey(self, viewer: Viewer, message: FromPage) -> None:
        if viewer not in self._viewers:  # sent before it was lost: the page may have sent it again
            return
        echo = message.echo if isinstance(message, messages.Act) else 0
        if why := self._refusal(viewer, message):
            self._send(viewer, messages.Refused(echo, why))
            return
        match message:
            case messages.Act(echo, _, seat, action):
                self.table.offer(seat, viewer, echo, action)
                self._report_refused()
                self._begin()
            case messages.Pause():
                if not self._paused and not self.waits:
                    self._paused = True
                    self._stands("a page stopped the clock")
            case messages.ResumeClock():
                if self._paused:
                    self._paused = False
                    self._runs_again()
                self._begin()
            case messages.SetRate(value):
                self._rate = value
                self._set_pace()
                self._greet()
            case messages.TakeBack():
                self.table.take_back()
                self._clock.clear()
                self._show()
            case messages.Resign():
                self._resign()
            case messages.Hint():
                self.table.ask_hint(message, viewer)
            case messages.Hints(on):
                self.table.thinks = on
                for thought in self.table.last_thoughts() if on else ():
                    self._send(viewer, thought)

    def _refusal(self, viewer: Viewer, message: FromPage) -> str:
        """Return why a message has no effect now, or an empty text."""
        table = self.table
        if self._end is not None or self._ended is not None:
            return "" if isinstance(message, messages.Hints) else "the match is over"
        if isinstance(message, messages.Act):
            return self._late(viewer, message)
        if not self._controls(viewer):
            return "this page looks on: only a page that plays may do this"
        if isinstance(message, messages.Hint):
            return table.no_hint(message.seat)
        if isinstance(message, messages.TakeBack) and not table.can_take_back:
            return "there is no decision to take back"
        if isinstance(message, messages.Resign) and not table.persons:
            return "no person plays here"
        if isinstance(message, messages.Hints) and message.on and table.persons:
            return "hints are off while a person plays"
        if isinstance(message, messages.SetRate) and table.persons and not table.real_time:
            return "this game waits for decisions: it has no rate"
        return ""

    def _late(self, viewer: Viewer, act: messages.Act) -> str:
        table = self.table
        if not viewer.plays or act.seat not in table.persons:
            yours = ", ".join(map(str, table.persons)) if viewer.plays else "none"
            return f"seat {act.seat} is not of this page (its seats: {yours})"
        if self._paused:
            return "the match is paused: continue first"
        behind = table.match.tick - act.tick
        allowed = LATE_S * table.ticks_per_s * self._rate if table.real_time else 0
        if behind < 0 or behind > max(allowed, 2 if table.real_time else 0):
            return f"a decision for tick {act.tick}, the match is at tick {table.match.tick}"
        if not table.real_time and act.seat not in table.match.to_act:
            return f"it is not seat {act.seat}'s turn"
        return table.malformed(act.seat, act.action)

    @property
    def _stands_still(self) -> bool:
        return self._paused or self.waits or self._lost_at is not None

    def _begin(self) -> None:
        """Start a match that has waited for the first decision."""
        if self.waits:
            self.waits = False
            self._runs_again()

    def _resign(self) -> None:
        outcome = self.table.resign()
        self._ended = Ended(self.table.match.outcome if self.table.over else outcome)
        if self.table.over:
            self._show()

    def _stands(self, why: str, since: float | None = None) -> None:
        self._clock.stand(time.monotonic() if since is None else since)
        self._tell(messages.Paused(why))

    def _runs_again(self) -> None:
        if self._stands_still or self._end is not None:
            return
        now = time.monotonic()
        self._clock.run(now)
        self.schedule.restart(now)
        self._tell(messages.ClockResumed())

    # To the pages.

    def _greet(self, viewers: list[Viewer] | None = None) -> None:
        for viewer in self._viewers if viewers is None else viewers:
            table, key = self.table, self.key if viewer.plays else ""
            hello = table.hello(viewer.plays, self._moment(viewer.plays))
            own = {"match": self.match, "key": key, "rate": self._rate, "clock_s": self._clock.seconds}
            own |= {"beat_s": self._beat_s, "again": self.again and viewer.plays}
            self._send(viewer, msgspec.structs.replace(hello, **own))
            if self._end is not None:
                self._send(viewer, self._end[viewer.plays])

    def _moment(self, plays: bool) -> messages.MomentView:
        now, stands = time.monotonic(), self._stands_still
        if not stands and self._ended is None:
            self._start_clocks(now)
        moment = self.table.moment(plays, self._clock.left(now), stands)
        return msgspec.structs.replace(moment, waits=True) if self.waits else moment

    def _show(self) -> None:
        """Send the present moment, and thoughts about the last decisions."""
        self._shown_at = time.monotonic()
        written: dict[bool, str] = {}
        for viewer in self._viewers:
            if viewer.plays not in written:
                written[viewer.plays] = messages.write(self._moment(viewer.plays))
            viewer.send(written[viewer.plays], True)
        for thought in self.table.shown():
            self._tell(thought)

    def _report_refused(self) -> None:
        for offer, why in self.table.refused():
            viewer = next((v for v in self._viewers if v is offer.sender), None)
            if viewer is not None:
                self._send(viewer, messages.Refused(offer.echo, why))

    def _tell(self, message: FromServer) -> None:
        text = messages.write(message)
        for viewer in self._viewers:
            viewer.send(text, False)

    def _send(self, viewer: Viewer, message: FromServer) -> None:
        viewer.send(messages.write(message), False)
