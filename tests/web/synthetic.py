"""A synthetic RTS match as view documents, so that the page is tested without the compiled core.

It is no game: units walk to and fro on fixed rules, so that every thing that the page draws occurs
(gathering, building, training, fights, bullets, deaths, a razed base, walls, fog).
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from functools import cache

from ludus.web.recording import Recording, SeatDecision

SIDE = 20
SIGHT = {"resource": 0, "worker": 3, "melee_attacker": 3, "range_attacker": 5, "barracks": 5, "base": 5}
HP = {
    "resource": 1000,
    "worker": 50,
    "melee_attacker": 100,
    "range_attacker": 50,
    "barracks": 200,
    "base": 500,
}
ROLES = {
    "resource": "resource",
    "worker": "worker",
    "melee_attacker": "troop",
    "range_attacker": "troop",
    "barracks": "building",
    "base": "base",
}
BASES = ((3.0, 4.0), (16.0, 15.0))
MINES = ((6.0, 2.0), (13.0, 17.0))
ACTIONS = ("START", "BUILD_WORKER", "BUILD_BARRACK", "BUILD_MELEE_TROOP", "ATTACK", "DEFEND")


@dataclass
class Unit:
    id: int
    seat: int
    type: str
    x: float
    y: float
    hp: int
    born: int
    command: str = "idle"
    phase: int = 0
    since: int = 0
    target: int = -1
    to: tuple[float, float] | None = None
    builds: str = ""
    wait: int = 0

    def walk(self, x: float, y: float, speed: float) -> float:
        distance = math.hypot(x - self.x, y - self.y)
        if distance > 1e-9:
            step = min(speed, distance)
            self.x += (x - self.x) / distance * step
            self.y += (y - self.y) / distance * step
        return distance

    def order(self, tick: int, command: str, target: int = -1, builds: str = "") -> None:
        self.command, self.target, self.builds, self.since, self.phase = command, target, builds, tick, 0


@dataclass
class Fight:
    """Synthetic match that advances by ticks; ``document`` describes the current one."""

    ticks: int
    tick: int = 0
    units: list[Unit] = field(default_factory=list)
    money: list[int] = field(default_factory=lambda: [200, 200])
    bullets: list[dict[str, object]] = field(default_factory=list)
    winner: int = -1
    count: int = 0

    def __post_init__(self) -> None:
        for seat in (0, 1):
            self.add(seat, "base", *BASES[seat])
            self.add(seat, "resource", *MINES[seat])
            for i in range(3):
                worker = self.add(seat, "worker", BASES[seat][0] + i - 1, BASES[seat][1] + 1.2)
                worker.order(0, "gather")
                worker.wait = 13 * i

    def add(self, seat: int, unit_type: str, x: float, y: float) -> Unit:
        unit = Unit(self.count, seat, unit_type, x, y, HP[unit_type], self.tick)
        self.count += 1
        self.units.append(unit)
        return unit

    def first(self, seat: int, unit_type: str) -> Unit | None:
        return next((u for u in self.units if u.seat == seat and u.type == unit_type), None)

    def step(self) -> None:
        self.tick += 1
        self.bullets = [b for b in self.bullets if self.fly(b)]
        for unit in list(self.units):
            if unit.type == "worker":
                self.gather(unit)
            elif unit.type.endswith("attacker"):
                self.attack(unit)
        for seat in (0, 1):
            if self.tick == 300 + 80 * seat:
                self.add(seat, "barracks", BASES[seat][0] + 2 - 4 * seat, BASES[seat][1] + 3 - 6 * seat)
            barracks = self.first(seat, "barracks")
            if barracks is None:
                continue
            period = 160 - 20 * seat
            kind = "range_attacker" if self.tick // period % 3 == 0 else "melee_attacker"
            if self.tick % period == period - 50 and self.money[seat] >= 100:
                barracks.order(self.tick, "build", builds=kind)
                self.money[seat] -= 100
            elif self.tick % period == 0 and barracks.command == "build":
                barracks.command, barracks.builds = "idle", ""
                self.add(seat, kind, barracks.x + 1, barracks.y)
        for seat in (0, 1):
            if self.winner < 0 and self.first(seat, "base") is None:
                self.winner = 1 - seat

    def gather(self, unit: Unit) -> None:
        mine, base = self.first(unit.seat, "resource"), self.first(unit.seat, "base")
        if unit.wait > 0:
            unit.wait -= 1
            if unit.wait == 0 and unit.phase == 1 and mine:
                unit.phase = 2
                mine.hp -= 5
            return
        if mine is None or base is None:
            unit.command = "idle"
            return
        unit.target = mine.id
        goal = base if unit.phase == 2 else mine
        if unit.walk(goal.x, goal.y, 0.1) < 1:
            if unit.phase == 2:
                self.money[unit.seat] += 15
                unit.phase = 0
            else:
                unit.phase, unit.wait = 1, 40

    def attack(self, unit: Unit) -> None:
        foes = [u for u in self.units if u.seat != unit.seat and u.type != "resource"]
        if not foes or self.tick < unit.born + 400:
            return
        reach, speed = (5.0, 0.2) if unit.type == "range_attacker" else (1.2, 0.1)
        near = min(foes, key=lambda u: (math.hypot(u.x - unit.x, u.y - unit.y) > 4, u.type != "base", u.id))
        if unit.target != near.id:
            unit.order(self.tick, "attack", near.id)
        if math.hypot(near.x - unit.x, near.y - unit.y) > reach:
            unit.walk(near.x + 0.6 * (unit.id % 5 - 2), near.y + 0.6 * (unit.id % 3 - 1), speed)
        elif unit.wait > 0:
            unit.wait -= 1
        elif reach > 2:
            unit.wait = 10
            self.bullets.append(
                {"shooter": unit.id, "target": near.id, "x": unit.x, "y": unit.y, "state": "ready"}
            )
        else:
            unit.wait = 15
            self.hit(near, 6 - unit.seat)

    def fly(self, bullet: dict[str, object]) -> bool:
        states = ["ready", "explode1", "explode2", "explode3"]
        at = states.index(str(bullet["state"]))
        if at:
            bullet["state"] = states[min(at + 1, 3)]
            return at < 3
        target = next((u for u in self.units if u.id == bullet["target"]), None)
        if target is None:
            return False
        dot = Unit(-1, -1, "", float(str(bullet["x"])), float(str(bullet["y"])), 0, 0)
        if dot.walk(target.x, target.y, 0.2) < 0.3:
            bullet["state"] = "explode1"
            self.hit(target, 5)
        bullet["x"], bullet["y"] = dot.x, dot.y
        return True

    def hit(self, unit: Unit, loss: int) -> None:
        unit.hp -= loss
        if unit.hp <= 0 and unit in self.units:
            self.units.remove(unit)

    def seen(self, seat: int) -> list[str]:
        rows = [[False] * SIDE for _ in range(SIDE)]
        for u in self.units:
            if u.seat != seat:
                continue
            sight, cx, cy = SIGHT[u.type], int(u.x + 0.5), int(u.y + 0.5)
            for y in range(max(0, cy - sight), min(SIDE, cy + sight + 1)):
                width = sight - abs(y - cy)
                for x in range(max(0, cx - width), min(SIDE, cx + width + 1)):
                    rows[y][x] = True
        return ["".join("01"[cell] for cell in row) for row in rows]

    def document(self) -> bytes:
        base = {seat: self.first(seat, "base") for seat in (0, 1)}
        units = []
        for u in self.units:
            unit: dict[str, object] = {
                "id": u.id, "seat": u.seat, "type": u.type, "x": round(u.x, 5), "y": round(u.y, 5),
                "hp": u.hp, "max_hp": HP[u.type], "command": u.command, "cooldown": {},
            }  # fmt: skip
            if u.command != "idle":
                unit |= {"phase": u.phase, "since": u.since}
            if u.command in ("attack", "gather"):
                unit["target"] = u.target
            if u.command == "gather" and (home := base[u.seat]):
                unit["base"] = home.id
            if u.builds:
                unit["builds"] = u.builds
            if u.wait and u.type != "resource":
                kind, length = ("gather", 40) if u.type == "worker" else ("attack", 15)
                unit["cooldown"] = {kind: round(min(1.0, u.wait / length), 3)}
            units.append(unit)
        moment = {
            "game": "minirts",
            "tick": self.tick,
            "map": {"width": SIDE, "height": SIDE, "terrain": terrain()},
            "over": self.winner >= 0,
            "winner": self.winner,
            "money": self.money,
            "roles": ROLES,
            "units": units,
            "bullets": self.bullets,
            "seen": [self.seen(seat) for seat in (0, 1)],
        }
        return json.dumps(moment).encode()


def terrain() -> list[str]:
    rows = [["."] * SIDE for _ in range(SIDE)]
    for x, y in ((9, 9), (10, 9), (10, 10), (9, 2), (10, 2), (9, 17), (10, 17)):
        rows[y][x] = "#"
    return ["".join(row) for row in rows]


@cache
def documents(ticks: int, every: int) -> tuple[bytes, ...]:
    """Return documents of tick 0, every ``every`` ticks and the end: a base falls or ``ticks`` are over."""
    fight = Fight(ticks)
    moments = [fight.document()]
    while fight.tick < ticks and fight.winner < 0:
        fight.step()
        if fight.tick % every == 0 or fight.tick == ticks or fight.winner >= 0:
            moments.append(fight.document())
    return tuple(moments)


def recording(
    ticks: int = 4000, every: int = 4, seats: tuple[str, ...] = ("simple", "policy:0"),
    **changes: object,
) -> Recording:  # fmt: skip
    views = documents(ticks, every)
    last = json.loads(views[-1])
    decisions = tuple(
        SeatDecision(tick=t, seat=s, text=ACTIONS[(t // 50 * 7 + s * 3) % len(ACTIONS)])
        for t in range(0, int(last["tick"]), 50)
        for s in (0, 1)
    )
    winner = int(last["winner"])
    values: dict[str, object] = {
        "game": "minirts",
        "title": f"MiniRTS: {seats[0]} against {seats[1]}",
        "renderer": "map",
        "seats": seats,
        "views": views,
        "outcome": (0.0, 0.0) if winner < 0 else (1.0, -1.0) if winner == 0 else (-1.0, 1.0),
        "decisions": decisions,
        "facts": (("seed", "7"), ("rules", "minirts 1")),
        **changes,
    }
    return Recording(**values)  # type: ignore[arg-type]
