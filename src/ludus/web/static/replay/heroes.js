// The table of heroes: a row each, of what is known about it. Numbers that are not known are -1 and shown as a dash.
import { element, seatChip, words } from "./dom.js";
import { frameAt } from "./data.js";

const KNOWN_IN_SIGHT = ["unit", "hp", "max_hp", "level", "tier"];

// Short and full names of the columns after the hero's own.
export const HERO_HEADINGS = [
  ["lv", "level and tier"], ["gold", "gold"], ["net", "net worth: gold and what it has spent"],
  ["hp", "hit points, or ticks until it is back"], ["mana", "mana"], ["cast", "ticks until each of the two abilities is ready"],
  ["k/d/l", "kills, deaths and last hits"],
];

const shown = (value) => (value >= 0 ? String(value) : "–");
const joined = (values) => (values.some((value) => value >= 0) ? values.map(shown).join("/") : "–");
const waiting = (value) => (value === 0 ? "✓" : shown(value));

// The texts of a hero's row, one a heading.
export function heroCells(hero) {
  return [
    joined([hero.level, hero.tier]), shown(hero.gold), shown(hero.worth), hero.respawn > 0 ? `↻${hero.respawn}` : shown(hero.hp),
    shown(hero.mana), hero.cooldown_1 >= 0 ? `${waiting(hero.cooldown_1)}/${waiting(hero.cooldown_2)}` : "–",
    joined([hero.kills, hero.deaths, hero.last_hits]),
  ];
}

// Heroes of a document of a live match, as far as it has them.
export function heroesOf(view) {
  const units = new Map((view?.units ?? []).map((unit) => [unit.id, unit]));
  return (view?.heroes ?? []).map((hero) => ({
    ...hero, hp: units.get(hero.id)?.hp ?? -1, cooldown_1: hero.cooldowns?.[0] ?? -1, cooldown_2: hero.cooldowns?.[1] ?? -1,
  }));
}

// Heroes at a tick of a recorded match, as a seat sees them; fog -1: all of them.
export function heroesAt(match, tick, scene, fog) {
  const { tracks } = match;
  const frame = frameAt(match.ticks, tick);
  return tracks.heroes.map((hero) => {
    const now = Object.fromEntries(tracks.hero_columns.map((name) => [name, hero[name][frame]]));
    const row = { seat: hero.seat, class: hero.class, ...now };
    if (fog < 0 || teamOf(match, hero.seat) === teamOf(match, fog)) return row;
    const inSight = scene.units.some((unit) => unit.track.id === row.unit);
    for (const name of tracks.hero_columns) if (!inSight || !KNOWN_IN_SIGHT.includes(name)) row[name] = -1;
    return { ...row, class: inSight ? row.class : "" };
  });
}

export function teamOf(match, seat) {
  return match.teams[seat] ?? seat;
}

// The seat whose colour and shape a unit has: of a team the first seat's.
export function sideOf(match, seat) {
  const { teams } = match;
  if (!teams?.length || seat < 0) return seat;
  return Math.max(0, teams.indexOf(teams[seat]));
}

// The first seat of each team that has heroes, in the order of the teams.
export function captains(match) {
  const first = new Map();
  for (const { seat } of match.tracks.heroes) {
    const team = teamOf(match, seat);
    first.set(team, Math.min(seat, first.get(team) ?? seat));
  }
  return [...first.keys()].sort((a, b) => a - b).map((team) => first.get(team));
}

// Net worth of each team, a number a frame, in the order of captains().
export function netWorth(match) {
  return captains(match).map((captain) => {
    const sum = new Int32Array(match.ticks.length);
    for (const hero of match.tracks.heroes) {
      if (teamOf(match, hero.seat) !== teamOf(match, captain)) continue;
      for (let f = 0; f < sum.length; f++) sum[f] += Math.max(0, hero.worth[f]);
    }
    return sum;
  });
}

// By how much the net worth of each of two teams is higher than the other's, never below zero.
export function netWorthLead(match) {
  const [a, b] = netWorth(match);
  return [[a, b], [b, a]].map(([own, other]) => own.map((worth, f) => Math.max(0, worth - other[f])));
}

// The table of the replay page. Rows stay; texts change.
export class HeroTable {
  constructor(box, match) {
    this.match = match;
    const head = HERO_HEADINGS.map(([short, full]) => element("th", { scope: "col", title: full, "aria-label": full }, short));
    this.rows = match.tracks.heroes.map((hero) => {
      const name = element("span", { class: "what" });
      const cells = HERO_HEADINGS.map(() => element("td"));
      const row = element("tr", {}, element("th", { scope: "row" }, seatChip(hero.seat),
        element("span", { class: "sr-only" }, `seat ${hero.seat}: `), name), ...cells);
      return { row, name, cells };
    });
    box.replaceChildren(element("table", { class: "heroes" },
      element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "hero"), ...head)),
      element("tbody", {}, ...this.rows.map(({ row }) => row))));
  }

  update(tick, scene, fog) {
    heroesAt(this.match, tick, scene, fog).forEach((hero, i) => {
      const { row, name, cells } = this.rows[i];
      row.classList.toggle("gone", hero.respawn > 0);
      write(name, hero.class ? words(hero.class) : "?");
      heroCells(hero).forEach((text, k) => write(cells[k], text));
    });
  }
}

function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
