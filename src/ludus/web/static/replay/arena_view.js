// Agents, bombs and walls on a square board: agents and bombs move smoothly between two steps, everything else belongs to the earlier one.
import { frameAt } from "./data.js";
import { tracePlate } from "./icons.js";

const MOST_SIDE = 64;
const RIGID = 1;
const WOOD = 2;
const POWER_UPS = { 6: "bomb", 7: "range", 8: "kick" };
const MOVES = [[0, 0], [-1, 0], [1, 0], [0, -1], [0, 1]];

export class ArenaView {
  constructor(canvas, match, palette) {
    this.canvas = canvas;
    this.match = match;
    this.palette = palette;
    this.drawn = { agents: 0, bombs: 0, flames: 0, walls: 0 };
    const first = match.views[0];
    this.size = first.size;
    this.radius = Number.isInteger(first.view_radius) ? first.view_radius : 0;
  }

  static fits(view) {
    return Number.isInteger(view?.size) && view.size >= 1 && view.size <= MOST_SIDE && Array.isArray(view.board);
  }

  get about() {
    return "On the timeline every seat has a lane: • a bomb placed or exploded, ■ a power-up taken, ✕ out.";
  }

  get aspect() {
    return 1;
  }

  // Every seat's fog can be looked through where there is fog.
  get fogSeats() {
    return this.radius > 0 ? this.match.seats.length : 0;
  }

  // What stands beside each seat's name.
  seatNumbers(tick) {
    const view = this.match.views[frameAt(this.match.ticks, tick)];
    return this.match.seats.map((_, seat) => {
      const agent = agentOf(view, seat);
      if (!agent) return {};
      const numbers = { alive: agent.alive ? "yes" : "no" };
      if (Number.isFinite(agent.ammo)) numbers.bombs = String(agent.ammo);
      if (Number.isFinite(agent.blast)) numbers.range = String(agent.blast - 1);
      if (typeof agent.can_kick === "boolean") numbers.kick = agent.can_kick ? "yes" : "no";
      return numbers;
    });
  }

  draw({ tick, fog }) {
    const at = frameAt(this.match.ticks, tick);
    const view = this.match.views[at];
    const next = this.match.views[at + 1];
    const part = next ? Math.min(1, Math.max(0, (tick - view.tick) / (next.tick - view.tick))) : 0;
    const ctx = this.canvas.getContext("2d");
    const cell = this.canvas.width / this.size;
    ctx.setTransform(cell, 0, 0, cell, cell / 2, cell / 2); // (column, row) is a cell's middle
    const viewer = fog >= 0 && fog < this.fogSeats ? agentOf(view, fog) : null;
    const sees = (row, column) => !viewer || Math.max(Math.abs(row - viewer.row), Math.abs(column - viewer.column)) <= this.radius;
    this.drawn = { agents: 0, bombs: 0, flames: 0, walls: 0 };
    this.ground(ctx);
    this.cells(ctx, view, sees, !viewer);
    for (const flame of list(view.flames)) if (sees(flame.row, flame.column)) this.flame(ctx, flame);
    for (const bomb of list(view.bombs)) if (sees(bomb.row, bomb.column)) this.bomb(ctx, bomb, part);
    for (const agent of list(view.agents)) {
      if (sees(agent.row, agent.column)) this.agent(ctx, agent, agentOf(next, agent.seat), part);
    }
    if (viewer) this.fog(ctx, sees);
  }

  ground(ctx) {
    const { palette, size } = this;
    ctx.fillStyle = palette.ground;
    ctx.fillRect(-0.5, -0.5, size, size);
    ctx.strokeStyle = palette.grid;
    ctx.lineWidth = 0.03;
    ctx.beginPath();
    for (let i = 1; i < size; i++) {
      ctx.moveTo(i - 0.5, -0.5);
      ctx.lineTo(i - 0.5, size - 0.5);
      ctx.moveTo(-0.5, i - 0.5);
      ctx.lineTo(size - 0.5, i - 0.5);
    }
    ctx.stroke();
  }

  cells(ctx, view, sees, all) {
    for (let row = 0; row < this.size; row++) {
      for (let column = 0; column < this.size; column++) {
        if (!sees(row, column)) continue;
        const item = view.board?.[row]?.[column];
        if (item === RIGID || item === WOOD) this.wall(ctx, row, column, item, all ? view.hidden?.[row]?.[column] : 0);
        else if (Object.hasOwn(POWER_UPS, item)) this.powerUp(ctx, row, column, POWER_UPS[item], 1);
      }
    }
  }

  wall(ctx, row, column, item, hidden) {
    const { palette } = this;
    this.drawn.walls++;
    ctx.fillStyle = item === RIGID ? palette.wall : palette.gold;
    ctx.globalAlpha = item === RIGID ? 1 : 0.55;
    ctx.beginPath();
    ctx.roundRect(column - 0.46, row - 0.46, 0.92, 0.92, item === RIGID ? 0.06 : 0.14);
    ctx.fill();
    if (item === WOOD) {
      ctx.strokeStyle = palette.ink;
      ctx.globalAlpha = 0.28;
      ctx.lineWidth = 0.04;
      ctx.beginPath();
      for (const y of [-0.16, 0.16]) {
        ctx.moveTo(column - 0.46, row + y);
        ctx.lineTo(column + 0.46, row + y);
      }
      ctx.stroke();
    }
    ctx.globalAlpha = 1;
    if (item === WOOD && Object.hasOwn(POWER_UPS, hidden)) this.powerUp(ctx, row, column, POWER_UPS[hidden], 0.5);
  }

  powerUp(ctx, row, column, kind, scale) {
    const { palette } = this;
    const r = 0.34 * scale;
    ctx.save();
    ctx.translate(column, row);
    ctx.fillStyle = palette.card;
    ctx.strokeStyle = palette.ink;
    ctx.lineWidth = 0.05 * scale;
    ctx.beginPath();
    ctx.roundRect(-r, -r, 2 * r, 2 * r, 0.3 * r);
    ctx.fill();
    ctx.stroke();
    ctx.fillStyle = ctx.strokeStyle = palette.ink;
    ctx.lineWidth = 0.16 * r;
    ctx.lineCap = "round";
    ctx.beginPath();
    if (kind === "bomb") {
      ctx.arc(0, 0.1 * r, 0.5 * r, 0, 2 * Math.PI);
      ctx.fill();
    } else if (kind === "range") {
      for (const [dy, dx] of MOVES.slice(1)) {
        ctx.moveTo(0, 0);
        ctx.lineTo(0.66 * r * dx, 0.66 * r * dy);
      }
      ctx.stroke();
    } else {
      ctx.moveTo(-0.6 * r, 0);
      ctx.lineTo(0.55 * r, 0);
      ctx.moveTo(0.15 * r, -0.4 * r);
      ctx.lineTo(0.55 * r, 0);
      ctx.lineTo(0.15 * r, 0.4 * r);
      ctx.stroke();
    }
    ctx.restore();
  }

  flame(ctx, { row, column, life }) {
    this.drawn.flames++;
    ctx.fillStyle = this.palette.alarm;
    ctx.globalAlpha = 0.25 + 0.2 * life;
    ctx.beginPath();
    for (let i = 0; i < 16; i++) {
      const r = i % 2 ? 0.28 : 0.48;
      ctx.lineTo(column + r * Math.cos((Math.PI * i) / 8), row + r * Math.sin((Math.PI * i) / 8));
    }
    ctx.fill();
    ctx.globalAlpha = 1;
  }

  bomb(ctx, bomb, part) {
    const { palette } = this;
    this.drawn.bombs++;
    const [dy, dx] = MOVES[bomb.moving] ?? MOVES[0];
    ctx.save();
    ctx.translate(bomb.column + part * dx, bomb.row + part * dy);
    ctx.fillStyle = palette.ink;
    ctx.strokeStyle = palette.seat[bomb.seat] ?? palette.muted;
    ctx.lineWidth = 0.09;
    ctx.beginPath();
    ctx.arc(0, 0, 0.33, 0, 2 * Math.PI);
    ctx.fill();
    ctx.stroke();
    ctx.fillStyle = palette.card;
    this.text(ctx, bomb.life, 0.34);
    ctx.restore();
  }

  agent(ctx, agent, next, part) {
    const { palette } = this;
    if (!agent.alive) {
      ctx.strokeStyle = palette.seat[agent.seat] ?? palette.muted;
      ctx.globalAlpha = 0.45;
      ctx.lineWidth = 0.08;
      ctx.beginPath();
      for (const way of [-1, 1]) {
        ctx.moveTo(agent.column - 0.2, agent.row - 0.2 * way);
        ctx.lineTo(agent.column + 0.2, agent.row + 0.2 * way);
      }
      ctx.stroke();
      ctx.globalAlpha = 1;
      return;
    }
    this.drawn.agents++;
    const to = next ?? agent;
    ctx.save();
    ctx.translate(agent.column + part * (to.column - agent.column), agent.row + part * (to.row - agent.row));
    ctx.fillStyle = palette.seat[agent.seat] ?? palette.muted;
    tracePlate(ctx, agent.seat, 0.36);
    ctx.fill();
    ctx.fillStyle = palette.glyph;
    this.text(ctx, agent.seat, 0.42);
    ctx.restore();
  }

  text(ctx, value, size) {
    ctx.font = `650 ${size}px system-ui, sans-serif`;
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    ctx.fillText(String(value), 0, 0.03);
  }

  fog(ctx, sees) {
    ctx.fillStyle = this.palette.fog;
    for (let row = 0; row < this.size; row++) {
      for (let column = 0; column < this.size; column++) {
        if (!sees(row, column)) ctx.fillRect(column - 0.5, row - 0.5, 1, 1);
      }
    }
  }

  pick() {
    return null;
  }
}

// The agent of a seat; undefined where a viewer does not see it.
function agentOf(view, seat) {
  return list(view?.agents).find((agent) => agent.seat === seat);
}

// The objects of a list; everything else in it is left out.
function list(value) {
  return Array.isArray(value) ? value.filter((item) => item !== null && typeof item === "object") : [];
}
