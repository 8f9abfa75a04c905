"""An RTS match as tracks: for each unit, memory and bullet its numbers over the frames in which it was there.

A frame is one view document. Tracks make scrubbing free in the page (the state of a unit at a frame is one
array index) and the data small (a standing unit costs nothing, a walking one two bytes a frame before
compression).
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ludus.flow.inputs.decode import from_json
from ludus.web.columns import Column, Writer
from ludus.web.recording import ViewError
from ludus.web.rts.document import BulletView, MapView, RtsView, UnitView
from ludus.web.rts.events import EventLog
from ludus.web.rts.heroes import HeroColumns
from ludus.web.rts.orders import OrderLog

STEPS_PER_CELL = 64  # positions are rounded to this for drawing
COOLDOWN_STEPS = 64  # and shares of a cooldown to this
MAX_CELLS = 1 << 16
MAX_SEATS = 16
MAX_COORDINATE = 1e6
BULLET_REACH = 0.3  # cells a tick that a bullet may move and still be the same one
BULLET_STATES = {"ready": 0, "explode1": 1, "explode2": 2, "explode3": 3, "done": 4}
UNIT_COLUMNS = ("x", "y", "hp", "command", "phase", "aim", "target", "to_x", "to_y", "builds", "carries")
AIM_NOTHING, AIM_UNIT, AIM_POINT = 0, 1, 2
WALKING_HOME = 2  # the phase of `gather` that goes to the base


class _Numbering:
    """Numbers for names, in order of appearance."""

    def __init__(self, *first: str) -> None:
        self.names: list[str] = list(first)
        self._number = {name: i for i, name in enumerate(first)}

    def number(self, name: str) -> int:
        if name not in self._number:
            self._number[name] = len(self.names)
            self.names.append(name)
        return self._number[name]


class _Track:
    """Columns of one thing from frame ``first`` on. ``head`` are the numbers that never change."""

    __slots__ = ("columns", "first", "frames", "head")

    def __init__(self, first: int, head: tuple[int, ...], columns: int) -> None:
        self.first = first
        self.frames = 0
        self.head = head
        self.columns = [Column() for _ in range(columns)]

    def add(self, values: Iterable[int]) -> None:
        for column, value in zip(self.columns, values, strict=True):
            column.add(value)
        self.frames += 1

    def write(self, out: Writer) -> None:
        for value in self.head:
            out.sint(value)
        out.uint(self.first)
        out.uint(self.frames)
        for column in self.columns:
            out.column(column)


class _UnitTrack(_Track):
    __slots__ = ("cooldowns", "to")

    def __init__(self, first: int, head: tuple[int, ...]) -> None:
        super().__init__(first, head, len(UNIT_COLUMNS))
        self.to = (
            0,
            0,
        )  # the last point that a command named; kept where none does, since a change costs bytes
        self.cooldowns: dict[int, Column] = {}

    def write(self, out: Writer) -> None:
        super().write(out)
        out.uint(len(self.cooldowns))
        for kind, column in self.cooldowns.items():
            out.uint(kind)
            out.column(column)


def _place(value: float) -> int:
    if not -MAX_COORDINATE < value < MAX_COORDINATE:
        raise ViewError(f"a coordinate is {value}")
    return round(value * STEPS_PER_CELL)


class RtsTracks:
    """Takes every view document in order (``see``), then gives ``header()`` and ``data()``."""

    def __init__(self) -> None:
        """Start with no document."""
        self.events = EventLog()
        self.orders = OrderLog()
        self._heroes = HeroColumns()
        self._ticks: list[int] = []
        self._map = MapView(0, 0)
        self._types = _Numbering()
        self._commands = _Numbering("idle")
        self._cooldowns = _Numbering()
        self._amounts: list[Column] = []
        self._counted = "money"
        self._roles: dict[str, str] = {}
        self._fog: list[int] = []  # the last bitmap of each seat: cell 0 is the highest bit
        self._fog_data: list[Writer] = []
        self._units: list[_UnitTrack] = []
        self._unit_now: dict[int, _UnitTrack] = {}
        self._memory: list[dict[int, tuple[int, UnitView]]] = []  # a seat: unit -> cell, as last seen
        self._ghosts: list[_Track] = []
        self._ghost_now: dict[tuple[int, ...], _Track] = {}
        self._bullets: list[_Track] = []
        self._bullet_now: list[tuple[BulletView, _Track]] = []

    def see(self, document: bytes | str) -> None:
        """Take the next view document. Raises ``ViewError`` when it does not fit the ones before."""
        try:
            view = from_json(document, RtsView)
        except msgspec.MsgspecError as error:
            raise ViewError(f"frame {len(self._ticks)}: {error}") from None
        try:
            self._see(view)
        except ViewError as error:
            raise ViewError(f"tick {view.tick}: {error}") from None

    def _see(self, view: RtsView) -> None:
        frame = len(self._ticks)
        if frame == 0:
            self._start(view)
        elif view.tick <= self._ticks[-1]:
            raise ViewError(f"it comes after tick {self._ticks[-1]}")
        elif (view.map.width, view.map.height) != (self._map.width, self._map.height):
            raise ViewError(
                f"the map is {view.map.width}x{view.map.height}, was {self._map.width}x{self._map.height}"
            )
        if len(view.amounts) != len(self._amounts):
            raise ViewError(f"{self._counted} of {len(view.amounts)} seats, expected {len(self._amounts)}")
        step = view.tick - self._ticks[-1] if self._ticks else 1
        self._ticks.append(view.tick)
        for column, amount in zip(self._amounts, view.amounts, strict=True):
            column.add(amount)
        self._see_fog(view)
        self._see_units(view, frame)
        self._record_memory(view, frame)
        self._see_bullets(view, frame, step)
        self._heroes.see(view)
        self.events.see(view)
        self.orders.see(view)

    def _start(self, view: RtsView) -> None:
        width, height, terrain = view.map.width, view.map.height, view.map.terrain
        if width < 1 or height < 1 or width * height > MAX_CELLS:
            raise ViewError(f"a map of {width}x{height} cells cannot be drawn (1..{MAX_CELLS} cells)")
        self._counted = "score" if view.score else "money"
        self._roles = dict(view.roles)
        if not 1 <= len(view.amounts) <= MAX_SEATS:
            raise ViewError(f"{self._counted} of {len(view.amounts)} seats, expected 1..{MAX_SEATS}")
        if terrain and [len(row) for row in terrain] != [width] * height:
            raise ViewError(f"terrain is not {height} rows of {width} characters")
        if len(view.seen) not in (0, len(view.amounts)):
            raise ViewError(f"seen of {len(view.seen)} seats, expected {len(view.amounts)}")
        self._map = view.map
        self._amounts = [Column() for _ in view.amounts]
        self._fog = [0] * len(view.seen)
        self._fog_data = [Writer() for _ in view.seen]
        self._memory = [{} for _ in view.seen]

    def _see_fog(self, view: RtsView) -> None:
        """Write the cells that changed in a frame: their number, then the gaps between them."""
        cells = self._map.width * self._map.height
        if len(view.seen) != len(self._fog):
            raise ViewError(f"seen of {len(view.seen)} seats, expected {len(self._fog)}")
        for seat, rows in enumerate(view.seen):
            text = "".join(rows)
            if len(text) != cells or text.strip("01"):
                raise ViewError(f"seen of seat {seat} is not {cells} characters 0 or 1")
            bitmap = int(text, 2)
            changed = bitmap ^ self._fog[seat]
            self._fog[seat] = bitmap
            out, last = self._fog_data[seat], -1
            out.uint(changed.bit_count())
            while changed:
                cell = cells - changed.bit_length()
                changed ^= 1 << (changed.bit_length() - 1)
                out.uint(cell - last - 1)
                last = cell

    def _see_units(self, view: RtsView, frame: int) -> None:
        now: dict[int, _UnitTrack] = {}
        for u in view.units:
            track, head = self._unit_now.get(u.id), (u.id, u.seat, self._types.number(u.type), u.max_hp)
            if track is None or track.head != head:  # a hero grows
                track = _UnitTrack(frame, head)
                self._units.append(track)
            if u.id in now:
                raise ViewError(f"unit {u.id} is there twice")
            now[u.id] = track
            self._see_cooldowns(u, track)
            target = u.base if u.command == "gather" and u.phase == WALKING_HOME else u.target
            aim = AIM_UNIT if target >= 0 else AIM_POINT if u.to is not None else AIM_NOTHING
            if u.to is not None:
                track.to = (_place(u.to[0]), _place(u.to[1]))
            builds = self._types.number(u.builds) + 1 if u.builds else 0
            track.add((_place(u.x), _place(u.y), u.hp, self._commands.number(u.command), u.phase, aim, target,
                       *track.to, builds, u.carries))  # fmt: skip
        self._unit_now = now

    def _see_cooldowns(self, u: UnitView, track: _UnitTrack) -> None:
        for name in u.cooldown:
            kind = self._cooldowns.number(name)
            if kind not in track.cooldowns:
                track.cooldowns[kind] = Column(track.frames)
        for kind, column in track.cooldowns.items():
            share = u.cooldown.get(self._cooldowns.names[kind], 0.0)
            column.add(round(max(0.0, min(1.0, share)) * COOLDOWN_STEPS))

    def _cell(self, u: UnitView) -> int:
        """Return the cell that a unit is in, or -1 outside the map."""
        x, y = int(u.x + 0.5), int(u.y + 0.5)
        return y * self._map.width + x if 0 <= x < self._map.width and 0 <= y < self._map.height else -1

    def _record_memory(self, view: RtsView, frame: int) -> None:
        """Record where each seat last saw units of the others that it does not see now.

        A remembered unit does not move: it is an interval of frames, and another one once it changes.
        """
        cells = self._map.width * self._map.height
        placed = [(u, self._cell(u)) for u in view.units]
        now: dict[tuple[int, ...], _Track] = {}
        for viewer, memory in enumerate(self._memory):
            fog = self._fog[viewer]
            gone = [uid for uid, (cell, _) in memory.items() if fog >> (cells - 1 - cell) & 1]
            for uid in gone:
                del memory[uid]
            for u, cell in placed:
                if u.seat != viewer and cell >= 0 and fog >> (cells - 1 - cell) & 1:
                    memory[u.id] = (cell, u)
            for cell, u in memory.values():
                if fog >> (cells - 1 - cell) & 1:
                    continue
                head = (viewer, u.id, u.seat, self._types.number(u.type), _place(u.x), _place(u.y))
                track = self._ghost_now.get(head)
                if track is None:
                    track = _Track(frame, head, 0)
                    self._ghosts.append(track)
                track.add(())
                now[head] = track
        self._ghost_now = now

    def _see_bullets(self, view: RtsView, frame: int, step: int) -> None:
        """Match bullets, which have no id: the same shooter's nearest one within reach is the same."""
        before = list(self._bullet_now)
        now: list[tuple[BulletView, _Track]] = []
        for b in view.bullets:
            if b.state not in BULLET_STATES:
                raise ViewError(f"bullet state `{b.state}`, expected one of {', '.join(BULLET_STATES)}")
            best, best_distance = -1, (BULLET_REACH * step) ** 2
            for i, (old, _) in enumerate(before):
                distance = (old.x - b.x) ** 2 + (old.y - b.y) ** 2
                if (
                    old.shooter == b.shooter
                    and BULLET_STATES[old.state] <= BULLET_STATES[b.state]
                    and distance <= best_distance
                ):
                    best, best_distance = i, distance
            if best >= 0:
                track = before.pop(best)[1]
            else:
                track = _Track(frame, (b.shooter,), 3)
                self._bullets.append(track)
            track.add((_place(b.x), _place(b.y), BULLET_STATES[b.state]))
            now.append((b, track))
        self._bullet_now = now

    def header(self) -> dict[str, object]:
        """Return the map, the names and the counts that the columns need."""
        return {
            "width": self._map.width,
            "height": self._map.height,
            "steps_per_cell": STEPS_PER_CELL,
            "cooldown_steps": COOLDOWN_STEPS,
            "types": [{"name": name, "role": self._roles.get(name, "troop")} for name in self._types.names],
            "counted": self._counted,
            "commands": self._commands.names,
            "cooldowns": self._cooldowns.names,
            "unit_columns": UNIT_COLUMNS,
            **self._heroes.header(),
        }

    def data(self) -> bytes:
        """Return the columns. Each list starts with its length.

        Ticks, terrain, money or score, fog, units, ghosts, bullets; then the heroes' columns.
        """
        out = Writer()
        out.uint(len(self._ticks))
        out.uints(b - a for a, b in zip([0, *self._ticks], self._ticks, strict=False))
        walls = Column()
        for cell in "".join(self._map.terrain):
            walls.add(0 if cell == "." else 1)
        out.column(walls)
        out.uint(len(self._amounts))
        for column in self._amounts:
            out.column(column)
        out.uint(len(self._fog_data))
        for fog in self._fog_data:
            out.data += fog.data
        for tracks in (self._units, self._ghosts, self._bullets):
            out.uint(len(tracks))
            for track in tracks:
                track.write(out)
        self._heroes.write(out)
        return bytes(out.data)
