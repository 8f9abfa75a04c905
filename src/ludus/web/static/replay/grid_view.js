// A board of cells or of crossings: cells[row * width + column] is a seat, -1 empty, WALL or TREASURE; `last` is the cell
// of the last move. Go's documents have `komi`, `captured`, `margin`, `ko`, `passes` and `resigned` as well.
import { columnName } from "./coordinates.js";
import { signedNumber } from "./dom.js";
import { FlatView, lineThrough, MOST_CELLS } from "./flat_view.js";

const WALL = -2;
const TREASURE = -3;
const RIM = 0.95; // cells around a board whose rows and columns have names
const RIM_ABOVE = 0.5; // where only the columns have
const WINNING = 3; // pieces of the shortest row that wins in a game that is played here

export class GridView extends FlatView {
  constructor(canvas, match, palette) {
    const { width, height } = match.views[0];
    super(canvas, match, palette, width, height);
    this.crossings = match.view?.lines === "crossings";
    if (this.coordinates === "columns") this.rim = { ...this.rim, top: RIM_ABOVE };
    else if (this.coordinates) this.rim = { left: RIM, right: RIM, top: RIM, bottom: RIM };
    else if (this.crossings) this.rim = { left: 0.3, right: 0.3, top: 0.3, bottom: 0.3 };
  }

  static fits(view) {
    const { width, height } = view ?? {};
    return Number.isInteger(width) && Number.isInteger(height) && width >= 1 && height >= 1 && width * height <= MOST_CELLS;
  }

  // Whether the seats have stones, black and white.
  get stones() {
    return this.crossings;
  }

  get thoughtColours() {
    return this.crossings ? [this.palette.woodThought, this.palette.woodThoughtInk] : super.thoughtColours;
  }

  drawBoard(ctx, view, before) {
    const { cells } = this;
    this.ground(ctx);
    this.labels(ctx);
    this.drawn.stones = [0, 0];
    const last = Number.isInteger(view.last) ? view.last : -1;
    const row = view.over === true && Number.isInteger(view.winner) && !isGo(view) && cells[last] === view.winner
      ? lineThrough(cells, this.columns, this.rows, last, WINNING) : [];
    this.drawn.winning = row;
    this.drawn.ko = -1;
    cells.forEach((what, cell) => this.cell(ctx, cell, what, before ? before[cell] !== what : false));
    if (Number.isInteger(view.ko) && view.ko >= 0 && view.ko < cells.length) this.ko(ctx, view.ko);
    for (const cell of row) this.ring(ctx, cell, 0.44, 0.09);
    if (last >= 0 && last < cells.length && cells[last] >= 0) {
      this.drawn.last = last;
      this.ring(ctx, last, 0.2, 0.1);
    } else if (!Number.isInteger(view.last)) {
      for (const cell of this.drawn.fresh) if (cells[cell] >= 0) this.ring(ctx, cell, 0.2, 0.1);
    }
  }

  ground(ctx) {
    const { palette, columns, rows, rim } = this;
    ctx.fillStyle = this.crossings ? palette.board : palette.ground;
    ctx.fillRect(-rim.left, -rim.top, this.across, this.down);
    ctx.strokeStyle = this.crossings ? palette.boardLine : palette.grid;
    ctx.lineWidth = Math.max(0.03, 1 / this.pixels);
    ctx.beginPath();
    const [from, shift] = this.crossings ? [0, 0.5] : [1, 0];
    for (let column = from; column < columns; column++) {
      ctx.moveTo(column + shift, shift);
      ctx.lineTo(column + shift, rows - shift);
    }
    for (let row = from; row < rows; row++) {
      ctx.moveTo(shift, row + shift);
      ctx.lineTo(columns - shift, row + shift);
    }
    ctx.stroke();
    this.drawn.crossings = this.crossings ? columns * rows : 0;
    this.drawn.stars = 0;
    if (!this.crossings) return;
    ctx.fillStyle = palette.boardLine;
    for (const [column, row] of starPoints(columns, rows)) {
      ctx.beginPath();
      ctx.arc(column + 0.5, row + 0.5, Math.max(0.1, 2 / this.pixels), 0, 2 * Math.PI);
      ctx.fill();
      this.drawn.stars++;
    }
  }

  labels(ctx) {
    const { columns, rows, coordinates } = this;
    if (!coordinates) return;
    ctx.fillStyle = this.crossings ? this.palette.boardInk : this.palette.ink;
    const size = this.labelSize;
    const write = (text, x, y) => {
      this.text(ctx, text, x, y, size);
      this.drawn.labels++;
    };
    for (let column = 0; column < columns; column++) {
      const name = columnName(column, coordinates);
      write(name, column + 0.5, -this.rim.top / 2);
      if (coordinates !== "columns") write(name, column + 0.5, rows + RIM / 2);
    }
    if (coordinates === "columns") return;
    for (let row = 0; row < rows; row++) {
      write(String(rows - row), -RIM / 2, row + 0.5);
      write(String(rows - row), columns + RIM / 2, row + 0.5);
    }
  }

  cell(ctx, cell, what, fresh) {
    const { palette } = this;
    const [x, y] = this.middleOf(cell);
    if (fresh) this.drawn.fresh.push(cell);
    if (what === WALL) {
      ctx.fillStyle = palette.wall;
      ctx.fillRect(x - 0.5, y - 0.5, 1, 1);
    } else if (what === TREASURE) {
      this.disc(ctx, x, y, 0.18, palette.gold);
    } else if (what >= 0) {
      this.drawn.marks++;
      if (what < 2) this.drawn.stones[what]++;
      this.drawPiece(ctx, x, y, what);
    }
  }

  drawPiece(ctx, x, y, seat) {
    if (this.stones && seat < 2) this.stone(ctx, x, y, seat);
    else this.counter(ctx, x, y, seat);
  }

  counter(ctx, x, y, seat) {
    const { palette } = this;
    this.disc(ctx, x, y, 0.4, palette.seat[seat % palette.seat.length]);
    ctx.strokeStyle = palette.card;
    ctx.lineWidth = 0.05;
    ctx.stroke();
    if (seat % 2 === 0) return;
    ctx.beginPath(); // odd seats have a ring, so that colour is not all that tells them apart
    ctx.arc(x, y, 0.31, 0, 2 * Math.PI);
    ctx.stroke();
  }

  stone(ctx, x, y, seat) {
    const { palette } = this;
    const light = ctx.createRadialGradient(x - 0.16, y - 0.18, 0.04, x, y, 0.5);
    light.addColorStop(0, palette.stoneLight[seat]);
    light.addColorStop(1, palette.stone[seat]);
    this.disc(ctx, x, y, 0.46, light);
    ctx.strokeStyle = palette.stoneRim[seat];
    ctx.lineWidth = Math.max(0.03, 0.75 / this.pixels);
    ctx.stroke();
  }

  disc(ctx, x, y, r, fill) {
    ctx.fillStyle = fill;
    ctx.beginPath();
    ctx.arc(x, y, r, 0, 2 * Math.PI);
    ctx.fill();
  }

  // A ring in a colour that stands out from the piece: the last move (small), a winning row (large).
  ring(ctx, cell, r, width) {
    const seat = this.cells[cell];
    const { palette } = this;
    ctx.strokeStyle = this.stones && seat < 2 ? palette.stone[1 - seat] : r > 0.3 ? palette.ink : palette.glyph;
    ctx.lineWidth = width;
    ctx.beginPath();
    ctx.arc(...this.middleOf(cell), r, 0, 2 * Math.PI);
    ctx.stroke();
  }

  ko(ctx, cell) {
    const [x, y] = this.middleOf(cell);
    ctx.strokeStyle = this.palette.boardInk;
    ctx.lineWidth = 0.08;
    ctx.strokeRect(x - 0.2, y - 0.2, 0.4, 0.4);
    this.drawn.ko = cell;
  }

  // What stands beside each seat's name.
  seatNumbers(tick) {
    const { view } = this.moment(tick);
    const captured = Array.isArray(view.captured) ? view.captured : [];
    return this.match.seats.map((_, seat) => {
      const numbers = {};
      if (this.stones) numbers.stones = ["black", "white"][seat] ?? "";
      if (Number.isFinite(captured[seat])) numbers.captured = String(captured[seat]);
      if (seat === 1 && Number.isFinite(view.komi)) numbers.komi = String(view.komi);
      if (Number.isFinite(view.margin)) numbers.margin = signedNumber(seat === 0 ? view.margin : -view.margin);
      return numbers;
    });
  }

  get about() {
    const ko = isGo(this.match.views[0]) ? "; a small square is the point that ko forbids" : "";
    const timeline = this.curve ? "On the timeline a mountain above the middle is the margin of seat 0, below it that of seat 1."
      : "On the timeline every seat has a lane, and a stroke is a move.";
    return `A ring is the last move${ko}. ${timeline}`;
  }

  // Who leads by how much, for the timeline: Go's margin, above the middle for seat 0.
  get curve() {
    if (!Number.isFinite(this.match.views[0].margin)) return null;
    // One stone alone would own the whole board: nothing is counted before both have had some.
    const played = new Set();
    const margins = this.match.views.map((view) => {
      if (played.size < 2) for (const what of this.cellsOf(view)) if (what === 0 || what === 1) played.add(what);
      return played.size === 2 && Number.isFinite(view.margin) ? view.margin : 0;
    });
    return {
      label: "margin",
      columns: [margins.map((m) => Math.max(0, m)), margins.map((m) => Math.max(0, -m))],
    };
  }

  // How the match was won, for the banner; "" where the document does not contain it.
  get result() {
    const view = this.match.views.at(-1);
    if (view.over !== true || !isGo(view)) return "";
    if (view.resigned >= 0) return "by resignation";
    if (!Number.isFinite(view.margin) || view.margin === 0) return "";
    return `by ${Math.abs(view.margin)} ${Math.abs(view.margin) === 1 ? "point" : "points"}`;
  }
}

function isGo(view) {
  return Number.isFinite(view.komi);
}

// Star points of a Go board: on the third line below 13 lines, on the fourth from there; the middles of the sides from 19.
export function starPoints(columns, rows) {
  const marks = (n) => {
    if (n < 7) return n % 2 && n > 2 ? [(n - 1) / 2] : [];
    const edge = n < 13 ? 2 : 3;
    return n % 2 ? [edge, (n - 1) / 2, n - 1 - edge] : [edge, n - 1 - edge];
  };
  const across = marks(columns);
  const down = marks(rows);
  const points = across.flatMap((column) => down.map((row) => [column, row]));
  if (columns >= 19 && rows >= 19) return points;
  const middle = (at, n) => n % 2 === 1 && at === (n - 1) / 2;
  return points.filter(([column, row]) => middle(column, columns) === middle(row, rows));
}
