// A board seen from above: its cells, their names, and what a page marks on it. Kinds of boards extend it.
import { frameAt } from "./data.js";
import { countText, drawCandidates, drawOwnership, drawSecond } from "./candidates.js";
import { cellName, cellNamed } from "./coordinates.js";

export const MOST_CELLS = 1 << 12;
const MOST_NUMBERS = 24; // of an overlay: the largest values
const LABELS_PX = [9.5, 17]; // the smallest and the largest letters
const NO_MARKS = { hover: -1, chosen: -1, legal: null, seat: -1 };

export class FlatView {
  // match: {renderer, views, ticks, seats, view: {lines, coordinates}}; a live page replaces or lengthens `views` and `ticks`.
  constructor(canvas, match, palette, columns, rows) {
    this.canvas = canvas;
    this.match = match;
    this.palette = palette;
    this.columns = columns;
    this.rows = rows;
    this.coordinates = match.view?.coordinates ?? "";
    this.rim = { left: 0, right: 0, top: 0, bottom: 0 }; // in cells, around the cells
    // hover, chosen: a choice or -1; legal: an array of 0 and 1 by choice, or null; seat: who would play there.
    this.marks = { ...NO_MARKS };
    // {values, kind}: a number a choice, kind "policy" (0..1) or "visits" (counts); null for none. With visits also q: the
    // value of each choice. ownership: a number a cell or null; second: what another analyst prefers, or -1.
    this.overlay = null;
    this.drawn = { marks: 0 };
  }

  get across() {
    return this.rim.left + this.columns + this.rim.right;
  }

  get down() {
    return this.rim.top + this.rows + this.rim.bottom;
  }

  get aspect() {
    return this.across / this.down;
  }

  // The moment at a tick, and the one before it (null at the first).
  moment(tick) {
    const at = frameAt(this.match.ticks, tick);
    return { view: this.match.views[at] ?? {}, before: this.match.views[at - 1] ?? null };
  }

  draw({ tick }) {
    const { view, before } = this.moment(tick);
    const ctx = this.canvas.getContext("2d");
    const scale = this.canvas.width / this.across;
    this.pixels = scale > 0 ? scale : 1; // device pixels a cell
    ctx.setTransform(scale, 0, 0, scale, this.rim.left * scale, this.rim.top * scale);
    this.cells = this.cellsOf(view);
    this.drawn = { marks: 0, last: -1, fresh: [], labels: 0, winning: [], overlay: 0, numbers: 0, hover: -1, chosen: -1, legal: 0 };
    this.drawBoard(ctx, view, before ? this.cellsOf(before) : null);
    this.drawOverlay(ctx);
    this.drawMarks(ctx, view);
  }

  // Whole numbers of the document's cells, -1 for everything else.
  cellsOf(view) {
    const given = Array.isArray(view?.cells) ? view.cells : [];
    return Array.from({ length: this.columns * this.rows }, (_, i) => (Number.isInteger(given[i]) ? given[i] : -1));
  }

  // x, y: CSS pixels from the canvas's corner. null beside the cells.
  cellAt(x, y) {
    const scale = this.canvas.getBoundingClientRect().width / this.across;
    const column = Math.floor(x / scale - this.rim.left);
    const row = Math.floor(y / scale - this.rim.top);
    if (!(column >= 0 && column < this.columns && row >= 0 && row < this.rows)) return null;
    return { row, column, index: row * this.columns + column };
  }

  // The middle of a cell in CSS pixels from the canvas's corner.
  pointOf(column, row) {
    const scale = this.canvas.getBoundingClientRect().width / this.across;
    return [(column + 0.5 + this.rim.left) * scale, (row + 0.5 + this.rim.top) * scale];
  }

  // index: a cell, or a column where the columns are numbered.
  nameOf(index) {
    return cellName(this, index);
  }

  indexOf(text) {
    return cellNamed(this, text);
  }

  // The cell of a choice: the cell itself; of a column the lowest empty one. -1 for a choice that is no cell.
  cellOfChoice(choice) {
    if (!Number.isInteger(choice) || choice < 0 || choice >= this.columns * this.rows) return -1;
    if (this.coordinates !== "columns") return choice;
    const column = choice % this.columns;
    for (let row = this.rows - 1; row >= 0; row--) {
      const cell = row * this.columns + column;
      if ((this.cells?.[cell] ?? -1) === -1) return cell;
    }
    return -1;
  }

  middleOf(cell) {
    return [(cell % this.columns) + 0.5, Math.floor(cell / this.columns) + 0.5];
  }

  drawOverlay(ctx) {
    const { values, q, kind, ownership, second } = this.overlay ?? {};
    if (ownership) this.drawn.owned = drawOwnership(this, ctx, ownership);
    if (kind === "visits" && q) {
      const { discs, numbers } = drawCandidates(this, ctx, this.overlay);
      Object.assign(this.drawn, { overlay: discs, numbers });
    } else {
      this.drawShares(ctx, values, kind);
    }
    this.drawn.second = second >= 0 && drawSecond(this, ctx, second) ? second : -1;
  }

  drawShares(ctx, values, kind) {
    if (!values || typeof values.length !== "number") return;
    const shown = [];
    for (let choice = 0; choice < Math.min(values.length, this.columns * this.rows); choice++) {
      const value = values[choice];
      const cell = Number.isFinite(value) && value > 0 ? this.cellOfChoice(choice) : -1;
      if (cell >= 0 && this.cells[cell] === -1) shown.push({ cell, value });
    }
    shown.sort((a, b) => b.value - a.value);
    const top = shown[0]?.value ?? 1;
    shown.forEach(({ cell, value }, rank) => {
      const [x, y] = this.middleOf(cell);
      const r = 0.44 * Math.sqrt(value / top);
      ctx.fillStyle = this.thoughtColours[0];
      ctx.beginPath();
      ctx.arc(x, y, Math.max(0.05, r), 0, 2 * Math.PI);
      ctx.fill();
      this.drawn.overlay++;
      if (rank >= MOST_NUMBERS || r * this.pixels < 7) return;
      const text = kind === "policy" ? String(Math.round(100 * value)) : countText(value);
      ctx.fillStyle = this.thoughtColours[1];
      this.text(ctx, text, x, y, Math.min(0.42, (1.5 * r) / Math.max(1, 0.62 * text.length)), 600);
      this.drawn.numbers++;
    });
  }

  drawMarks(ctx, view) {
    const { hover, chosen, legal, seat } = { ...NO_MARKS, ...this.marks };
    if (legal) {
      ctx.fillStyle = this.palette.muted;
      for (let choice = 0; choice < Math.min(legal.length, this.columns * this.rows); choice++) {
        const cell = legal[choice] ? this.cellOfChoice(choice) : -1;
        if (cell < 0 || this.cells[cell] !== -1) continue;
        ctx.beginPath();
        ctx.arc(...this.middleOf(cell), 0.07, 0, 2 * Math.PI);
        ctx.fill();
        this.drawn.legal++;
      }
    }
    const who = seat >= 0 ? seat : Number.isInteger(view.to_move) ? view.to_move : 0;
    for (const [name, choice, alpha] of [["hover", hover, 0.45], ["chosen", chosen, 0.8]]) {
      const cell = this.cellOfChoice(choice);
      if (cell < 0) continue;
      this.drawn[name] = cell;
      const [x, y] = this.middleOf(cell);
      if (this.cells[cell] === -1) {
        ctx.globalAlpha = alpha;
        this.drawPiece(ctx, x, y, who);
        ctx.globalAlpha = 1;
      }
      ctx.strokeStyle = this.thoughtColours[0];
      ctx.lineWidth = name === "chosen" ? 0.09 : 0.05;
      ctx.setLineDash(name === "chosen" ? [] : [0.14, 0.1]);
      ctx.strokeRect(x - 0.47, y - 0.47, 0.94, 0.94);
      ctx.setLineDash([]);
    }
  }

  // Size in cells.
  text(ctx, text, x, y, size, weight = 500) {
    ctx.font = `${weight} ${size}px system-ui, sans-serif`;
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    ctx.fillText(text, x, y + 0.04 * size);
  }

  // Of an overlay's discs and marks, and of the numbers in the discs.
  get thoughtColours() {
    return [this.palette.thought, this.palette.thoughtInk];
  }

  // In cells: a third of a cell, within LABELS_PX.
  get labelSize() {
    const pixels = this.pixels / (window.devicePixelRatio || 1);
    return Math.max(LABELS_PX[0] / pixels, Math.min(0.36, LABELS_PX[1] / pixels));
  }

  // A piece of a seat with its middle at (x, y).
  drawPiece() {}

  pick() {
    return null;
  }
}

// The cells of a line of at least `least` equal pieces through `cell`; the longest one. [] without one.
export function lineThrough(cells, columns, rows, cell, least) {
  const seat = cells[cell];
  if (!(seat >= 0)) return [];
  const column = cell % columns;
  const row = Math.floor(cell / columns);
  let longest = [];
  for (const [dx, dy] of [[1, 0], [0, 1], [1, 1], [1, -1]]) {
    const line = [cell];
    for (const way of [1, -1]) {
      for (let n = 1; ; n++) {
        const x = column + way * n * dx;
        const y = row + way * n * dy;
        if (x < 0 || y < 0 || x >= columns || y >= rows || cells[y * columns + x] !== seat) break;
        line.push(y * columns + x);
      }
    }
    if (line.length >= least && line.length > longest.length) longest = line;
  }
  return longest.sort((a, b) => a - b);
}
