// Orders to the one unit that a seat has, by the mouse, a finger or keys, for games whose heads are order, target and
// place (heroes). A click on the ground goes there, a click on an enemy attacks it; an order that needs a target or a
// place takes it from the next click.
import { offsetOf } from "./units.js";
import { spoken } from "./moves.js";

const HEADS = ["order", "target", "place"];
const ARRIVED = 1.2; // cells
const PATIENCE = 500; // moments that an order waits until it is legal
const UNANSWERED = 60; // moments after which a decision counts as lost
const LEG = 40; // ticks until a part of a way is given again
const NOTHING = "noop";
const ABILITIES = { ability_1: "first ability", ability_2: "second ability" }; // as guides call them

export function ordersHero(hello) {
  return hello.view.input === "units" && hello.heads.length === HEADS.length && HEADS.every((name, i) => hello.heads[i].name === name);
}

export class HeroOrders {
  constructor(game) {
    this.game = game;
    this.single = true; // a click orders, since there is nothing to choose between
    const { heads } = game.hello;
    this.orders = heads[0].labels;
    this.offsets = heads[2].labels.map(offsetOf);
    this.waiting = null; // {name, target, x, y, age}
    this.leg = null; // {x, y, tick} of the part of a way that the hero walks
    this.aiming = ""; // the order that takes its target from the next click
    this.sent = null; // {echo, age} of the decision that has not been played yet
    this.tick = -1;
  }

  get seat() {
    return this.game.hello.you[0];
  }

  get units() {
    return this.game.moment.view?.units ?? [];
  }

  // The seat's own unit, undefined while it is dead.
  get hero() {
    const { view } = this.game.moment;
    const own = (view?.heroes ?? []).find((hero) => hero.seat === this.seat);
    return this.units.find((unit) => (own ? unit.id === own.id : unit.seat === this.seat));
  }

  get chosen() {
    return this.hero ? [this.hero] : [];
  }

  get selected() {
    return new Set(this.chosen.map((unit) => unit.id));
  }

  isMate(unit) {
    const { teams } = this.game.hello;
    return teams?.length ? teams[unit.seat] === teams[this.seat] : unit.seat === this.seat;
  }

  // Units in the order of the rows of the seat's observation: the team's own ones first.
  get rows() {
    return [...this.units.filter((unit) => this.isMate(unit)), ...this.units.filter((unit) => !this.isMate(unit))];
  }

  // Whether the seat's places are turned by half a turn: its base stands at the right.
  get turned() {
    const { hello, moment } = this.game;
    const base = this.units.find((unit) => this.isMate(unit) && moment.view.roles?.[unit.type] === "base");
    return hello.view.turned && base !== undefined && base.x > (moment.view.map.width - 1) / 2;
  }

  select() {
    this.game.change({ said: this.hero ? `${this.title(this.hero)} is yours` : "Your hero is not on the map" });
  }

  selectNext() {
    this.select();
  }

  stands() {
    return false;
  }

  title(unit) {
    return spoken(unit.type);
  }

  mask(head) {
    return this.game.moment.legal[this.seat]?.[head] ?? [];
  }

  // Row of a table of a head's mask after an order.
  table(head, order) {
    const { size } = this.game.hello.heads[head];
    return this.mask(head).slice(order * size, (order + 1) * size);
  }

  mayAny(name) {
    return this.mask(0)[this.orders.indexOf(name)] === 1;
  }

  // Whether an order takes a unit or a place, as far as is known now.
  takes(name) {
    const order = this.orders.indexOf(name);
    if (this.table(1, order).some(Boolean)) return "unit";
    return this.table(2, order).some(Boolean) ? "place" : "";
  }

  // An order by its button or key: carried out at once, or with the next click.
  press(name) {
    if (!this.hero) return this.game.refuse("Your hero is not on the map: it comes back soon");
    if (name !== NOTHING && !this.mayAny(name)) return this.game.refuse(`${spoken(name)} is not possible now`);
    const takes = this.takes(name);
    if (!takes) return this.give(name);
    this.aiming = name;
    const text = takes === "unit" ? "click its target" : "click where to";
    this.game.change({ notice: "", said: `${spoken(name)}: ${text}`, aim: `${spoken(name)}: ${text}. Escape cancels.` });
    return true;
  }

  cancel() {
    this.aiming = "";
    this.game.change({ aim: "", said: "cancelled" });
  }

  // A click on the map: on a unit, or on the ground.
  point(unit, x, y) {
    if (!this.hero) return this.game.refuse("Your hero is not on the map: it comes back soon");
    const { aiming } = this;
    if (aiming) {
      this.aiming = "";
      this.game.change({ aim: "" });
      const takes = this.takes(aiming);
      if (takes === "unit" && !unit) return this.game.refuse(`${spoken(aiming)} needs a unit as its target`);
      return this.give(aiming, takes === "unit" ? { target: unit } : { x, y });
    }
    if (unit && !this.isMate(unit)) return this.give("attack", { target: unit });
    return this.give("move", { x, y });
  }

  // Attack the enemy that is nearest.
  attackNearest() {
    const { hero } = this;
    const enemies = this.units.filter((unit) => !this.isMate(unit));
    const nearest = hero && enemies.sort((a, b) => Math.hypot(a.x - hero.x, a.y - hero.y) - Math.hypot(b.x - hero.x, b.y - hero.y))[0];
    return nearest ? this.give("attack", { target: nearest }) : this.game.refuse("There is no enemy in sight");
  }

  give(name, { target, x, y } = {}) {
    this.waiting = { name, target: target?.id, x, y, age: 0 };
    this.leg = null;
    const at = target ? ` ${this.title(target)}` : "";
    this.game.change({ notice: "", said: `${spoken(name)}${at}` });
    this.step();
    return true;
  }

  // A new moment: send what is wanted when it is legal.
  see() {
    const { tick } = this.game.moment;
    if (tick === this.tick || !this.game.playing || this.game.moment.paused) return;
    this.tick = tick;
    if (this.waiting && ++this.waiting.age > PATIENCE) this.waiting = null;
    this.step();
  }

  step() {
    const { game, waiting, hero } = this;
    if (!waiting || !hero || !game.moment.to_act.includes(this.seat) || this.unanswered()) return;
    const action = this.actionOf(waiting, hero);
    if (!action) return;
    const [dx, dy] = this.offset(action[2]);
    const far = waiting.name === "move" && Math.hypot(hero.x + dx - waiting.x, hero.y + dy - waiting.y) >= ARRIVED;
    this.waiting = far ? { ...waiting, age: 0 } : null;
    if (!game.act(action)) return;
    this.sent = { echo: game.echo, age: 0 };
    this.leg = { x: hero.x + dx, y: hero.y + dy, tick: game.moment.tick };
  }

  unanswered() {
    const { sent, game } = this;
    if (!sent || game.moment.echo >= sent.echo || game.refusedEcho >= sent.echo) return false;
    return ++sent.age < UNANSWERED;
  }

  offset(place) {
    const [dx, dy] = this.offsets[place] ?? [0, 0];
    return this.turned ? [-dx, -dy] : [dx, dy];
  }

  // The numbers of a decision, or null while it makes no sense.
  actionOf({ name, target, x, y }, hero) {
    const order = this.orders.indexOf(name);
    if (!this.mayAny(name)) return null;
    const targets = this.table(1, order);
    let row = 0;
    if (targets.some(Boolean)) {
      row = this.rows.findIndex((unit) => unit.id === target);
      if (row < 0 || targets[row] !== 1) return null;
    }
    const places = this.table(2, order).flatMap((open, place) => (open ? [place] : []));
    if (!places.length || x === undefined) return [order, row, places[0] ?? 0];
    if (name === "move" && this.walks(hero)) return null;
    const distance = (place) => Math.hypot(hero.x + this.offset(place)[0] - x, hero.y + this.offset(place)[1] - y);
    const best = places.reduce((a, b) => (distance(b) < distance(a) ? b : a));
    if (name === "move" && distance(best) >= Math.hypot(hero.x - x, hero.y - y)) {
      this.waiting = null; // as near as the places lead
      return null;
    }
    return [order, row, best];
  }

  // Whether the hero is still on a part of its way.
  walks(hero) {
    const { leg, game } = this;
    return leg !== null && game.moment.tick - leg.tick < LEG && Math.hypot(leg.x - hero.x, leg.y - hero.y) > ARRIVED;
  }

  // Buttons: every order but the ones that clicks give.
  get buttons() {
    const named = this.orders.filter((name) => ![NOTHING, "move", "attack"].includes(name));
    return [
      { label: "attack the nearest", name: "attack", give: () => this.attackNearest() },
      ...named.map((name) => ({ ...this.called(name), name, give: () => this.press(name) })),
    ];
  }

  // The name of an order on its button; an ability has the one of the hero's class: "strike".
  called(name) {
    const nth = ABILITIES[name];
    this.type = this.hero?.type ?? this.type; // also while it is dead
    const piece = (this.game.hello.guide?.pieces ?? []).find((one) => one.name === this.type);
    const about = piece?.facts.find(([fact]) => fact === nth)?.[1];
    return about ? { label: about.split(":", 1)[0], about: `${about}.` } : { label: spoken(name) };
  }
}
