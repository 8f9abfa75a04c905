// The timeline and the small plots. Each keeps its still picture in a second canvas and only draws the cursor again.
import { teamOf } from "./heroes.js";

const ALARMS = new Set(["alarm", "razed", "out", "over"]);

// Sizes a canvas to its CSS box. Returns the device pixels a CSS pixel; 0 while it is not laid out.
export function fitCanvas(canvas) {
  const box = canvas.getBoundingClientRect();
  const scale = window.devicePixelRatio || 1;
  const width = Math.round(box.width * scale);
  const height = Math.round(box.height * scale);
  if (width === 0 || height === 0) return 0;
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
  }
  return scale;
}

// The largest value of a column between two ticks' frames, for each of n pixels.
function peaks(column, ticks, first, last, n) {
  const out = new Float64Array(n);
  const span = Math.max(1, last - first);
  for (let f = 0; f < ticks.length; f++) {
    const from = Math.min(n - 1, Math.floor(((ticks[f] - first) / span) * n));
    const next = f + 1 < ticks.length ? ticks[f + 1] : last;
    const to = Math.max(from + 1, Math.min(n, Math.ceil(((next - first) / span) * n)));
    for (let x = from; x < to; x++) if (column[f] > out[x]) out[x] = column[f];
  }
  return out;
}

export class CachedCanvas {
  constructor(canvas) {
    this.canvas = canvas;
    this.still = document.createElement("canvas");
    this.key = "";
  }

  // Draws the still picture when the size changed, then copies it. Returns {ctx, width, height, scale} or null.
  begin(drawStill) {
    const scale = fitCanvas(this.canvas);
    if (!scale) return null;
    const { width, height } = this.canvas;
    const size = { width: width / scale, height: height / scale, scale };
    const key = `${width}x${height}`;
    if (key !== this.key) {
      this.still.width = width;
      this.still.height = height;
      const ctx = this.still.getContext("2d");
      ctx.setTransform(scale, 0, 0, scale, 0, 0);
      drawStill(ctx, size);
      this.key = key;
    }
    const ctx = this.canvas.getContext("2d");
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    ctx.clearRect(0, 0, width, height);
    ctx.drawImage(this.still, 0, 0);
    ctx.setTransform(scale, 0, 0, scale, 0, 0);
    return { ctx, ...size };
  }

  forget() {
    this.key = "";
  }
}

// A plot of values over a match, with a line at the tick that is shown. Who inherits it sets low and high, and draws the
// curves in drawStill(ctx, {width, height}).
export class MatchPlot extends CachedCanvas {
  constructor(canvas, match, palette) {
    super(canvas);
    this.match = match;
    this.palette = palette;
  }

  x(tick, width) {
    const { firstTick, lastTick } = this.match;
    return 4 + ((tick - firstTick) / Math.max(1, lastTick - firstTick)) * (width - 8);
  }

  y(value, height) {
    return height - 6 - ((value - this.low) / (this.high - this.low || 1)) * (height - 12);
  }

  draw(tick) {
    const made = this.begin((ctx, size) => this.drawStill(ctx, size));
    if (!made) return;
    const { ctx, width, height } = made;
    const x = this.x(tick, width);
    ctx.strokeStyle = this.palette.accent;
    ctx.lineWidth = 1;
    ctx.beginPath();
    ctx.moveTo(x, 0);
    ctx.lineTo(x, height);
    ctx.stroke();
  }
}

// The whole match from left to right. With a curve (of what decides the match) seat 0 is above the middle and seat 1
// below; without one every seat has a lane with its decisions and events.
export class Timeline extends CachedCanvas {
  // curve: {label, columns: two lists of a number a frame, seats: whose they are, 0 and 1 if absent} or null.
  constructor(canvas, match, palette, curve, stones) {
    super(canvas);
    this.match = match;
    this.palette = palette;
    this.curve = curve;
    this.stones = stones;
    this.lanes = curve ? 2 : Math.max(1, match.seats.length);
    this.pad = 8;
    this.drawn = { lanes: this.lanes, top: 0, events: 0, decisions: 0 };
  }

  xOf(tick, width) {
    const { firstTick, lastTick } = this.match;
    return this.pad + ((tick - firstTick) / Math.max(1, lastTick - firstTick)) * (width - 2 * this.pad);
  }

  tickAt(cssX) {
    const width = this.canvas.getBoundingClientRect().width - 2 * this.pad;
    const share = Math.max(0, Math.min(1, (cssX - this.pad) / Math.max(1, width)));
    return Math.round(this.match.firstTick + share * (this.match.lastTick - this.match.firstTick));
  }

  draw(tick) {
    const made = this.begin((ctx, size) => this.drawStill(ctx, size));
    if (!made) return;
    const { ctx, width, height } = made;
    const x = this.xOf(tick, width);
    ctx.fillStyle = this.palette.accent;
    ctx.globalAlpha = 0.06;
    ctx.fillRect(this.pad, 0, x - this.pad, height);
    ctx.globalAlpha = 1;
    ctx.fillRect(x - 1, 2, 2, height - 4);
    ctx.beginPath();
    ctx.arc(x, height / 2, 5.5, 0, 2 * Math.PI);
    ctx.fill();
    ctx.strokeStyle = this.palette.card;
    ctx.lineWidth = 2;
    ctx.stroke();
  }

  colour(seat) {
    return (this.stones ? this.palette.stone[seat] : this.palette.seat[seat]) ?? this.palette.muted;
  }

  drawStill(ctx, { width, height }) {
    const { match, palette } = this;
    this.drawn = { lanes: this.lanes, top: 0, events: 0, decisions: 0 };
    ctx.strokeStyle = palette.line;
    ctx.beginPath();
    for (let lane = 1; lane < this.lanes; lane++) {
      ctx.moveTo(this.pad, (height * lane) / this.lanes);
      ctx.lineTo(width - this.pad, (height * lane) / this.lanes);
    }
    ctx.stroke();
    if (this.curve) this.drawCurve(ctx, width, height);
    else this.drawDecisions(ctx, width, height);
    for (const loud of [false, true]) {
      for (const event of match.events) if (ALARMS.has(event.kind) === loud) this.drawEvent(ctx, event, width, height);
    }
  }

  drawCurve(ctx, width, height) {
    const { match, palette } = this;
    const seats = this.curve.seats ?? [0, 1];
    const columns = Math.max(1, Math.floor(width - 2 * this.pad));
    const sides = this.curve.columns.slice(0, 2);
    const top = Math.max(1, ...sides.map((side) => side.reduce((m, v) => Math.max(m, v), 0)));
    const room = height / 2 - 15;
    sides.forEach((side, half) => {
      const up = half === 0;
      const values = peaks(side, match.ticks, match.firstTick, match.lastTick, columns);
      ctx.fillStyle = this.colour(seats[half]);
      ctx.globalAlpha = this.stones ? 1 : 0.55;
      values.forEach((value, x) => {
        const h = (value / top) * room;
        if (h) ctx.fillRect(this.pad + x, height / 2 + (up ? -h - 0.5 : 0.5), 1, h);
      });
      ctx.globalAlpha = 1;
      if (!this.stones) return;
      ctx.strokeStyle = palette.muted; // one of the two stones is as bright as the card
      ctx.beginPath();
      values.forEach((value, x) => ctx.lineTo(this.pad + x, height / 2 + (up ? -1 : 1) * (value / top) * room));
      ctx.stroke();
    });
    this.drawn.top = top;
    this.drawScale(ctx, width, height, top, room);
  }

  // What is drawn, and how much the edge of each half is.
  drawScale(ctx, width, height, top, room) {
    const { palette } = this;
    ctx.strokeStyle = palette.line;
    ctx.setLineDash([2, 4]);
    ctx.beginPath();
    for (const y of [height / 2 - room, height / 2 + room]) {
      ctx.moveTo(this.pad, y);
      ctx.lineTo(width - this.pad, y);
    }
    ctx.stroke();
    ctx.setLineDash([]);
    ctx.font = "11px system-ui, sans-serif";
    ctx.textBaseline = "middle";
    ctx.lineWidth = 3;
    ctx.strokeStyle = palette.card;
    ctx.fillStyle = palette.muted;
    for (const [text, y] of [[`${this.curve.label} ${top}`, height / 2 - room], [String(top), height / 2 + room]]) {
      ctx.strokeText(text, this.pad + 3, y);
      ctx.fillText(text, this.pad + 3, y);
    }
    ctx.lineWidth = 1;
  }

  middleOf(seat, height) {
    return ((Math.max(0, Math.min(this.lanes - 1, seat)) + 0.5) * height) / this.lanes;
  }

  drawDecisions(ctx, width, height) {
    const tall = Math.min(14, height / this.lanes - 4);
    ctx.globalAlpha = this.match.events.length ? 0.35 : 1;
    ctx.strokeStyle = this.palette.muted;
    const drawn = [];
    for (const { tick, seat } of this.match.decisions) {
      ctx.fillStyle = this.colour(seat);
      const x = this.xOf(tick, width) - 1.5;
      if (x - (drawn[seat] ?? -9) < 3) continue; // as dense as a line already
      drawn[seat] = x;
      const y = this.middleOf(seat, height) - tall / 2;
      ctx.fillRect(x, y, 3, tall);
      if (this.stones) ctx.strokeRect(x, y, 3, tall);
      this.drawn.decisions++;
    }
    ctx.globalAlpha = 1;
  }

  // Whether an event of a seat belongs to the lower half.
  isLow(seat) {
    const other = this.curve.seats?.[1];
    return other === undefined ? seat % 2 === 1 : seat >= 0 && teamOf(this.match, seat) === teamOf(this.match, other);
  }

  // With a curve the first side along the top edge and the other along the bottom one, else in the middle of the lane.
  drawEvent(ctx, event, width, height) {
    const { palette } = this;
    const x = this.xOf(event.tick, width);
    const y = !this.curve ? this.middleOf(event.seat, height) : this.isLow(event.seat) ? height - 8 : 8;
    this.drawn.events++;
    ctx.fillStyle = palette.seat[event.seat] ?? palette.muted;
    ctx.beginPath();
    switch (event.kind) {
      case "built":
      case "taken":
        ctx.rect(x - 3.5, y - 3.5, 7, 7);
        break;
      case "alarm":
        ctx.fillStyle = palette.alarm;
        ctx.moveTo(x, y - 5);
        ctx.lineTo(x + 5, y + 4);
        ctx.lineTo(x - 5, y + 4);
        break;
      case "razed":
      case "out":
      case "exhausted":
        ctx.lineWidth = 2;
        ctx.strokeStyle = event.kind === "exhausted" ? palette.muted : palette.alarm;
        ctx.moveTo(x - 4, y - 4);
        ctx.lineTo(x + 4, y + 4);
        ctx.moveTo(x + 4, y - 4);
        ctx.lineTo(x - 4, y + 4);
        ctx.stroke();
        return;
      case "over":
        ctx.rect(x - 1.5, 3, 3, height - 6);
        break;
      case "trained":
      case "wood":
        ctx.globalAlpha = 0.75;
        ctx.rect(x - 0.75, y - 3, 1.5, 6);
        break;
      default:
        ctx.globalAlpha = 0.75;
        ctx.arc(x, y, 2, 0, 2 * Math.PI);
    }
    ctx.fill();
    ctx.globalAlpha = 1;
  }
}

// One line a column over time, every other one dashed; seats: whose columns they are, in order if absent.
export class Plot extends CachedCanvas {
  constructor(canvas, match, palette, columns, seats = null) {
    super(canvas);
    this.seats = seats ?? columns.map((_, seat) => seat);
    this.match = match;
    this.palette = palette;
    this.columns = columns;
    this.top = Math.max(1, ...columns.map((c) => c.reduce((m, v) => Math.max(m, v), 0)));
  }

  draw(tick, frame) {
    const made = this.begin((ctx, size) => this.drawStill(ctx, size));
    if (!made) return;
    const { ctx, width, height } = made;
    const { firstTick, lastTick } = this.match;
    const x = 2 + ((tick - firstTick) / Math.max(1, lastTick - firstTick)) * (width - 4);
    ctx.strokeStyle = this.palette.accent;
    ctx.lineWidth = 1;
    ctx.beginPath();
    ctx.moveTo(x, 0);
    ctx.lineTo(x, height);
    ctx.stroke();
    this.columns.forEach((column, i) => {
      ctx.fillStyle = this.palette.seat[this.seats[i]];
      ctx.beginPath();
      ctx.arc(x, this.yOf(column[frame], height), 3, 0, 2 * Math.PI);
      ctx.fill();
    });
  }

  yOf(value, height) {
    return height - 4 - (value / this.top) * (height - 18);
  }

  drawStill(ctx, { width, height }) {
    ctx.strokeStyle = this.palette.line;
    ctx.lineWidth = 1;
    ctx.strokeRect(0.5, 0.5, width - 1, height - 1);
    const n = Math.max(2, Math.floor(width - 4));
    this.columns.forEach((column, i) => {
      ctx.strokeStyle = this.palette.seat[this.seats[i]];
      ctx.lineWidth = 1.6;
      ctx.setLineDash(i % 2 ? [5, 2.5] : []);
      ctx.beginPath();
      peaks(column, this.match.ticks, this.match.firstTick, this.match.lastTick, n).forEach((value, x) => {
        ctx.lineTo(2 + x, this.yOf(value, height));
      });
      ctx.stroke();
    });
    ctx.setLineDash([]);
    ctx.fillStyle = this.palette.muted;
    ctx.font = "10px system-ui, sans-serif";
    ctx.textBaseline = "top";
    ctx.fillText(String(this.top), 4, 3);
  }
}
