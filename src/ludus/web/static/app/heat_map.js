// The payoff of a league on a canvas: how often the row's player beats the column's.
//
// Blue is won, orange is lost (colour-blind people can tell them apart, and the sentence below the map says it in
// words); striped: the two have never met. The cells are one small picture that is drawn large, so that hundreds of
// players cost a few milliseconds.

const LARGEST = 34; // of a cell, in pixels
const SMALLEST = 3;
const SMALLEST_FOR_FINGERS = 12; // the map scrolls instead
const NAMED = 13; // cells from this size on have names beside them
const NUMBERED = 22; // and from this size on their number
const SPACED = 9; // and from this one on a gap
const LONGEST_NAME = 170;
const FONT = "12px system-ui, sans-serif";
const SHADES = 200;

export const EVEN = { light: [246, 246, 244], dark: [44, 52, 63] };
const WON = { light: [0, 104, 171], dark: [86, 180, 250] };
const LOST = { light: [205, 84, 0], dark: [250, 140, 50] };

const isDark = () => matchMedia("(prefers-color-scheme: dark)").matches;

// The colour of a rate in 0..1: red, green, blue.
export function shade(rate, theme = isDark() ? "dark" : "light") {
  const share = Math.min(1, Math.abs(2 * rate - 1));
  const end = (rate > 0.5 ? WON : LOST)[theme];
  return EVEN[theme].map((even, k) => Math.round(even + (end[k] - even) * share));
}

// Stripes of those that have never met.
export function stripes(context) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const paint = tile.getContext("2d");
  const style = getComputedStyle(document.documentElement);
  paint.fillStyle = style.getPropertyValue("--card").trim();
  paint.fillRect(0, 0, 6, 6);
  paint.strokeStyle = style.getPropertyValue("--line").trim();
  paint.lineWidth = 1.2;
  for (const x of [-3, 3, 9]) {
    paint.beginPath();
    paint.moveTo(x - 3, 6);
    paint.lineTo(x + 3, 0);
    paint.stroke();
  }
  return context.createPattern(tile, "repeat");
}

// Numbers of pairs by row and column, in a given order of the players.
export class Payoff {
  constructor({ players, i, j, wins, draws, losses, rate, weight, recent, window }) {
    this.players = players;
    this.window = window;
    this.columns = { i, j, wins, draws, losses, rate, weight, recent };
    this.at = new Int32Array(players.length * players.length).fill(-1); // place of a pair in the columns
    for (let k = 0; k < i.length; k++) this.at[i[k] * players.length + j[k]] = this.at[j[k] * players.length + i[k]] = k;
  }

  // {wins, draws, losses, matches, rate, low, high, recent} of player a against player b, null if they have not met.
  pair(a, b) {
    const k = this.at[a * this.players.length + b];
    if (k < 0 || a === b) return null;
    const { i, wins, draws, losses, rate, weight, recent } = this.columns;
    const own = i[k] === a;
    const found = own ? rate[k] / 1e6 : 1 - rate[k] / 1e6;
    const half = 1.959964 * Math.sqrt((found * (1 - found)) / (weight[k] / 1e3 + 1));
    return {
      wins: own ? wins[k] : losses[k], draws: draws[k], losses: own ? losses[k] : wins[k],
      matches: wins[k] + draws[k] + losses[k],
      rate: found, low: Math.max(0, found - half), high: Math.min(1, found + half), recent: recent[k] === 1,
    };
  }

  // The opponent with the lowest rate of player a, of those with some matches; null without any.
  hardest(a, least = 10) {
    let found = null;
    for (let b = 0; b < this.players.length; b++) {
      const pair = this.pair(a, b);
      if (pair && pair.matches >= least && (!found || pair.rate < found.rate)) found = { ...pair, name: this.players[b] };
    }
    return found;
  }
}

export class HeatMap {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.payoff = null;
    this.order = [];
    this.groups = [];
    this.cursor = null; // [row, column]
    this.picture = null;
    this.drawnMs = 0;
  }

  // payoff: a Payoff; order: indices of its players; groups: [name, first row, rows] of neighbours in it.
  show(payoff, order, groups) {
    const started = performance.now();
    [this.payoff, this.order, this.groups] = [payoff, order, groups];
    if (this.cursor && Math.max(...this.cursor) >= order.length) this.cursor = null;
    this.paint();
    this.resize();
    this.drawnMs = performance.now() - started;
  }

  // The cells as a picture of one pixel each.
  paint() {
    const n = this.order.length;
    const theme = isDark() ? "dark" : "light";
    const shades = Array.from({ length: SHADES + 1 }, (_, k) => shade(k / SHADES, theme));
    const picture = new ImageData(Math.max(1, n), Math.max(1, n));
    const { at, columns, players } = this.payoff;
    for (let row = 0; row < n; row++) {
      const a = this.order[row];
      for (let column = 0; column < n; column++) {
        const k = at[a * players.length + this.order[column]];
        if (k < 0 || row === column) continue; // transparent
        const rate = columns.i[k] === a ? columns.rate[k] : 1e6 - columns.rate[k];
        const colour = shades[Math.round((rate * SHADES) / 1e6)];
        const to = 4 * (row * n + column);
        picture.data[to] = colour[0];
        picture.data[to + 1] = colour[1];
        picture.data[to + 2] = colour[2];
        picture.data[to + 3] = 255;
      }
    }
    this.picture ??= document.createElement("canvas");
    this.picture.width = this.picture.height = Math.max(1, n);
    this.picture.getContext("2d").putImageData(picture, 0, 0);
  }

  // Sizes for the room that the map has, and a drawing of it.
  resize() {
    const n = Math.max(1, this.order.length);
    const room = this.canvas.parentElement.clientWidth;
    this.context.font = FONT;
    const widest = Math.max(0, ...this.order.map((player) => this.context.measureText(this.payoff.players[player]).width));
    const named = Math.min(LONGEST_NAME, widest) + 10;
    const grouped = Math.min(LONGEST_NAME, Math.max(0, ...this.groups.map(([name]) => this.context.measureText(name).width))) + 14;
    const fits = (margin) => Math.floor((room - margin - 1) / n);
    const most = Math.min(named, room / 3);
    this.named = fits(most) >= NAMED;
    this.margin = Math.ceil(this.named ? most : Math.min(grouped, room / 3));
    const least = matchMedia("(pointer: coarse)").matches ? SMALLEST_FOR_FINGERS : SMALLEST;
    this.cell = Math.max(least, Math.min(LARGEST, fits(this.margin)));
    const size = this.margin + this.cell * n + 1;
    const dots = devicePixelRatio || 1;
    this.canvas.style.width = this.canvas.style.height = `${size}px`;
    this.canvas.width = this.canvas.height = Math.round(size * dots);
    this.context.setTransform(dots, 0, 0, dots, 0, 0);
    this.draw();
  }

  draw() {
    const { context, margin, cell } = this;
    const n = this.order.length;
    const side = cell * n;
    const style = getComputedStyle(document.documentElement);
    const [ink, muted, card, line] = ["--ink", "--muted", "--card", "--line"].map((name) => style.getPropertyValue(name).trim());
    context.clearRect(0, 0, margin + side + 1, margin + side + 1);
    context.fillStyle = stripes(context);
    context.fillRect(margin, margin, side, side);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.picture, margin, margin, side, side);
    context.fillStyle = card;
    if (cell >= SPACED) for (let k = 0; k <= n; k++) {
      context.fillRect(margin + k * cell - 1, margin, 1, side);
      context.fillRect(margin, margin + k * cell - 1, side, 1);
    }
    context.fillStyle = line;
    for (let k = 0; k < n; k++) context.fillRect(margin + k * cell, margin + k * cell, Math.max(1, cell - 1), Math.max(1, cell - 1));
    context.fillStyle = muted;
    for (const [, first] of this.groups) if (first) {
      context.fillRect(margin + first * cell - 1, margin, 1, side);
      context.fillRect(margin, margin + first * cell - 1, side, 1);
    }
    context.font = FONT;
    context.textBaseline = "middle";
    if (cell >= NUMBERED) this.drawNumbers();
    const labels = this.named
      ? this.order.map((player, k) => [this.payoff.players[player], k + 0.5, this.cursor])
      : this.groups.filter(([, , rows]) => rows * cell >= 12).map(([name, first, rows]) => [name, first + rows / 2, null]);
    for (const [name, middle, cursor] of labels) {
      const k = Math.floor(middle);
      context.fillStyle = cursor?.[0] === k ? ink : muted;
      this.label(name, margin - 6, margin + middle * cell, false, margin - 8);
      context.fillStyle = cursor?.[1] === k ? ink : muted;
      this.label(name, margin + middle * cell, margin - 6, true, margin - 8);
    }
    if (this.cursor) {
      const [row, column] = this.cursor;
      context.strokeStyle = ink;
      context.lineWidth = 2;
      context.strokeRect(margin + column * cell - 1, margin + row * cell - 1, cell + 1, cell + 1);
      context.globalAlpha = 0.45;
      context.lineWidth = 1;
      context.strokeRect(margin, margin + row * cell - 0.5, side, cell);
      context.strokeRect(margin + column * cell - 0.5, margin, cell, side);
      context.globalAlpha = 1;
    }
  }

  // A name beside the map that ends at x, y, or above it, where it starts there; cut to the room that it has.
  label(name, x, y, turned, room) {
    const { context } = this;
    let text = name;
    if (context.measureText(text).width > room) {
      while (text.length > 1 && context.measureText(`${text}…`).width > room) text = text.slice(0, -1);
      text += "…";
    }
    context.save();
    context.translate(x, y);
    if (turned) context.rotate(-Math.PI / 2);
    context.textAlign = turned ? "left" : "right";
    context.fillText(text, 0, 0);
    context.restore();
  }

  drawNumbers() {
    const { context, margin, cell } = this;
    const dark = isDark();
    context.textAlign = "center";
    this.order.forEach((a, row) => this.order.forEach((b, column) => {
      const pair = this.payoff.pair(a, b);
      if (!pair) return;
      const strong = Math.abs(pair.rate - 0.5) > 0.3;
      context.fillStyle = strong ? (dark ? "#0d1117" : "#ffffff") : dark ? "#ffffff" : "#161b22";
      context.fillText(String(Math.round(100 * pair.rate)), margin + (column + 0.5) * cell, margin + (row + 0.5) * cell + 0.5);
    }));
  }

  // [row, column] at a place of the canvas, null beside the map.
  cellAt(x, y) {
    const row = Math.floor((y - this.margin) / this.cell);
    const column = Math.floor((x - this.margin) / this.cell);
    const n = this.order.length;
    return row >= 0 && column >= 0 && row < n && column < n ? [row, column] : null;
  }

  // The middle of a cell, for tests and to scroll there.
  pointOf(row, column) {
    return [this.margin + (column + 0.5) * this.cell, this.margin + (row + 0.5) * this.cell];
  }
}
