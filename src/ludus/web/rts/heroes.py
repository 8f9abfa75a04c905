"""Heroes of a match on a map: for each its numbers over the frames, dead or alive."""

from __future__ import annotations

from ludus.web.columns import Column, Writer
from ludus.web.recording import ViewError
from ludus.web.rts.document import HeroView, RtsView, UnitView

#: Numbers of a hero in each frame; -1 where they are not known. ``unit`` is its id, or -1 while it is dead.
HERO_COLUMNS = (
    "unit", "hp", "max_hp", "level", "tier", "gold", "worth", "mana", "max_mana", "cooldown_1", "cooldown_2",
    "respawn", "kills", "deaths", "last_hits",
)  # fmt: skip


class HeroColumns:
    """Takes every view document in order (``see``), then gives ``header()`` and writes the columns."""

    def __init__(self) -> None:
        """Start with no document."""
        self._heroes: list[tuple[int, str]] | None = None  # seat and class
        self._columns: list[list[Column]] = []

    def see(self, view: RtsView) -> None:
        """Take the heroes of a document. Raises ``ViewError`` when they differ from the first document's."""
        heroes = [(hero.seat, hero.kind) for hero in view.heroes]
        if self._heroes is None:
            seats = [seat for seat, _ in heroes]
            if len(set(seats)) != len(seats) or any(not 0 <= s < len(view.amounts) for s in seats):
                raise ViewError(f"heroes of seats {seats}, expected at most one for each seat of the match")
            self._heroes = heroes
            self._columns = [[Column() for _ in HERO_COLUMNS] for _ in heroes]
        elif heroes != self._heroes:
            raise ViewError(f"the heroes are {heroes}, were {self._heroes}")
        units = {u.id: u for u in view.units} if heroes else {}
        for hero, columns in zip(view.heroes, self._columns, strict=True):
            for column, value in zip(columns, _numbers(hero, units.get(hero.id)), strict=True):
                column.add(value)

    def header(self) -> dict[str, object]:
        """Return seat and class of each hero, and the names of the columns."""
        heroes = [{"seat": seat, "class": kind} for seat, kind in self._heroes or ()]
        return {"heroes": heroes, "hero_columns": HERO_COLUMNS}

    def write(self, out: Writer) -> None:
        """Write the columns, hero by hero."""
        for columns in self._columns:
            for column in columns:
                out.column(column)


def _numbers(hero: HeroView, unit: UnitView | None) -> tuple[int, ...]:
    first, second = (*hero.cooldowns, -1, -1)[:2]
    hp, max_hp = (unit.hp, unit.max_hp) if unit is not None else (-1, -1)
    return (
        hero.id, hp, max_hp, hero.level, hero.tier, hero.gold, hero.worth, hero.mana, hero.max_mana,
        first, second, hero.respawn, hero.kills, hero.deaths, hero.last_hits,
    )  # fmt: skip
