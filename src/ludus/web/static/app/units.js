// Orders to units by the mouse, for games whose heads are unit, order, target and place (MiniRTS, `commands = "units"`).
// A decision orders one unit, and of two that reach the server within a tick the newer one is played. So orders wait
// here, and one leaves when the one before it was played. A far place is reached in steps: the head has places up to 8
// cells away.

const HEADS = ["unit", "order", "target", "place"];
const ARRIVED = 1.2; // cells
const PATIENCE = 600; // moments that an order waits until it is legal
const UNANSWERED = 60; // moments after which a decision counts as lost

export function ordersUnits(hello) {
  return hello.view.input === "units" && HEADS.every((name, i) => hello.heads[i]?.name === name) && hello.heads.length === HEADS.length;
}

// dx, dy of a place by its label: nw4 is four cells left and up.
export function offsetOf(label) {
  const parts = /^([ns]?)([we]?)(\d+)$/.exec(label);
  if (!parts) return [0, 0];
  const [, vertical, horizontal, cells] = parts;
  const n = Number(cells);
  return [horizontal === "w" ? -n : horizontal === "e" ? n : 0, vertical === "n" ? -n : vertical === "s" ? n : 0];
}

export class UnitOrders {
  constructor(game) {
    this.game = game;
    this.selected = new Set();
    this.waiting = new Map(); // unit id -> {order, target, x, y, age}
    const { heads } = game.hello;
    this.orders = heads[1].labels;
    this.offsets = heads[3].labels.map(offsetOf);
    this.tick = -1;
    this.sent = null; // {echo, age} of the decision that has not been played yet
  }

  get seat() {
    return this.game.hello.you[0];
  }

  get units() {
    return this.game.moment.view?.units ?? [];
  }

  // Units in the order of the rows of the seat's observation: own ones first.
  get rows() {
    const own = this.units.filter((unit) => unit.seat === this.seat);
    return [...own, ...this.units.filter((unit) => unit.seat !== this.seat)];
  }

  get chosen() {
    return this.units.filter((unit) => this.selected.has(unit.id));
  }

  select(units, more = false) {
    if (!more) this.selected.clear();
    for (const unit of units) if (unit.seat === this.seat) this.selected.add(unit.id);
    this.game.change({ said: this.chosen.length ? `${this.chosen.map((unit) => unit.type.replaceAll("_", " ")).join(", ")} selected` : "nothing selected" });
  }

  // Select the next own unit that can be ordered.
  selectNext() {
    const own = this.rows.filter((unit) => unit.seat === this.seat && this.mask(0)[this.rows.indexOf(unit)] === 1);
    const at = own.findIndex((unit) => this.selected.has(unit.id));
    if (own.length) this.select([own[(at + 1) % own.length]]);
  }

  mask(head) {
    return this.game.moment.legal[this.seat]?.[head] ?? [];
  }

  // Whether an order is legal for a unit now.
  may(row, order) {
    return this.mask(0)[row] === 1 && this.mask(1)[row * this.orders.length + order] === 1;
  }

  mayAny(name) {
    const order = this.orders.indexOf(name);
    const { rows } = this;
    return this.chosen.some((unit) => this.may(rows.indexOf(unit), order));
  }

  // Give an order to what is selected. target: a unit, or null for the enemy's base; x, y: where to move.
  give(name, { target, x, y } = {}) {
    const order = this.orders.indexOf(name);
    const able = this.chosen.filter((unit) => !this.hopeless(unit, name));
    if (!able.length) return this.game.refuse(this.selected.size ? `What is selected cannot ${name.replaceAll("_", " ")}` : "Select units first");
    const builds = name.startsWith("build");
    for (const unit of builds ? able.slice(0, 1) : able) {
      this.waiting.set(unit.id, { order, target: target === undefined ? -1 : target?.id ?? null, x, y, age: 0 });
    }
    this.game.change({ notice: "", said: `${spokenOrder(name)}: ${able.length} ${able.length === 1 ? "unit" : "units"}` });
    this.step();
    return true;
  }

  role(unit) {
    return this.game.moment.view.roles?.[unit.type];
  }

  stands(unit) {
    return ["base", "building", "resource"].includes(this.role(unit));
  }

  // Whether a unit cannot do what it is asked for: buildings do not walk, workers alone gather.
  hopeless(unit, name) {
    if (["move", "attack", "gather"].includes(name)) return this.stands(unit) || (name === "gather" && this.role(unit) !== "worker");
    return !this.may(this.rows.indexOf(unit), this.orders.indexOf(name));
  }

  // What a click with the right button means: attack an enemy, gather at a resource, move to the ground.
  point(unit, x, y) {
    if (unit && this.role(unit) === "resource" && this.mayAny("gather")) return this.give("gather", { target: unit });
    if (unit && this.role(unit) === "flag" && this.orders.includes("get_flag")) return this.give("get_flag");
    if (unit && unit.seat !== this.seat && unit.seat >= 0) return this.give("attack", { target: unit });
    return this.give("move", { x, y });
  }

  // A new moment: forget what is gone, and send the next order that is legal.
  see() {
    const { tick } = this.game.moment;
    if (tick === this.tick || !this.game.playing || this.game.moment.paused) return;
    this.tick = tick;
    const alive = new Set(this.units.map((unit) => unit.id));
    for (const id of this.selected) if (!alive.has(id)) this.selected.delete(id);
    for (const [id, order] of this.waiting) if (!alive.has(id) || ++order.age > PATIENCE) this.waiting.delete(id);
    this.step();
  }

  step() {
    if (!this.game.moment.to_act.includes(this.seat) || this.unanswered()) return;
    const { rows } = this;
    for (const [id, order] of this.waiting) {
      const row = rows.findIndex((unit) => unit.id === id);
      const action = this.may(row, order.order) ? this.actionOf(rows, row, order) : null;
      if (!action) continue;
      const walks = order.x !== undefined && !this.near(rows[row], order, action);
      this.waiting.delete(id);
      if (walks) this.waiting.set(id, { ...order, age: 0 }); // behind the others
      if (this.game.act(action)) this.sent = { echo: this.game.echo, age: 0 };
      return;
    }
  }

  // Whether the last decision is still on its way.
  unanswered() {
    if (!this.sent || this.game.moment.echo >= this.sent.echo || this.game.refusedEcho >= this.sent.echo) return false;
    return ++this.sent.age < UNANSWERED;
  }

  // Whether the step of this action leads to where the unit shall go.
  near(unit, { x, y }, action) {
    const [dx, dy] = this.offsets[action[3]];
    return Math.hypot(unit.x + dx - x, unit.y + dy - y) < ARRIVED;
  }

  // The numbers of a decision, or null while it makes no sense: the unit walks, the target is out of sight.
  actionOf(rows, row, { order, target, x, y }) {
    const unit = rows[row];
    let aim = 0;
    if (this.table(2, order).some(Boolean)) {
      const count = this.game.hello.heads[2].size;
      aim = target === null ? count - 1 : rows.findIndex((other) => other.id === target);
      if (aim < 0 || this.table(2, order)[aim] !== 1) return null;
    }
    const places = this.table(3, row).map((ok, place) => (ok && this.table(3, this.game.hello.heads[0].size + order)[place] ? place : -1)).filter((place) => place >= 0);
    if (!places.length) return [row, order, aim, 0];
    if (x === undefined) return [row, order, aim, places[0]];
    if (unit.command !== "idle") {
      const aims = unit.to && unit.to.length === 2 && unit.command === "move";
      if (aims && Math.hypot(unit.to[0] - x, unit.to[1] - y) < Math.hypot(unit.x - x, unit.y - y) && Math.hypot(unit.to[0] - unit.x, unit.to[1] - unit.y) > ARRIVED) return null;
    }
    const distance = (place) => Math.hypot(unit.x + this.offsets[place][0] - x, unit.y + this.offsets[place][1] - y);
    const best = places.reduce((a, b) => (distance(b) < distance(a) ? b : a));
    if (distance(best) >= Math.hypot(unit.x - x, unit.y - y)) {
      this.waiting.delete(unit.id); // as near as the places lead
      return null;
    }
    return [row, order, aim, best];
  }

  // Row of a table of a head's mask: the legal choices after the choice `before` of the head that it depends on.
  table(head, before) {
    const { size } = this.game.hello.heads[head];
    return this.mask(head).slice(before * size, (before + 1) * size);
  }
}

export function spokenOrder(name) {
  return name.replaceAll("_", " ");
}
