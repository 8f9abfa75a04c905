// The drawings by the names that games declare (ludus/games/views.py); the document itself for every other name.
import { frameAt } from "./data.js";
import { ArenaView } from "./arena_view.js";
import { MapView } from "./map_view.js";

class FlatView {
  constructor(canvas, match, palette) {
    this.canvas = canvas;
    this.match = match;
    this.palette = palette;
    this.drawn = { marks: 0 };
  }

  get aspect() {
    return 1;
  }

  draw({ tick }) {
    const view = this.match.views[frameAt(this.match.ticks, tick)];
    const ctx = this.canvas.getContext("2d");
    const scale = this.canvas.width;
    ctx.setTransform(scale, 0, 0, scale, 0, 0);
    ctx.fillStyle = this.palette.ground;
    ctx.fillRect(0, 0, 1, 1);
    this.drawn = { marks: this.drawBoard(ctx, view, this.match.views[frameAt(this.match.ticks, tick - 1)]) };
  }

  pick() {
    return null;
  }
}

class NoughtsView extends FlatView {
  drawBoard(ctx, view, before) {
    const cells = Array.isArray(view.cells) ? view.cells.slice(0, 9) : [];
    ctx.strokeStyle = this.palette.line;
    ctx.lineWidth = 0.008;
    ctx.lineCap = "round";
    ctx.beginPath();
    for (const at of [1 / 3, 2 / 3]) {
      ctx.moveTo(at, 0.06);
      ctx.lineTo(at, 0.94);
      ctx.moveTo(0.06, at);
      ctx.lineTo(0.94, at);
    }
    ctx.stroke();
    const row = winningRow(cells);
    cells.forEach((seat, cell) => {
      if (seat !== 0 && seat !== 1) return;
      const x = (cell % 3) / 3 + 1 / 6;
      const y = Math.floor(cell / 3) / 3 + 1 / 6;
      const fresh = before && before !== view && before.cells?.[cell] !== seat;
      if (row?.includes(cell) || fresh) {
        ctx.globalAlpha = row?.includes(cell) ? 0.2 : 0.1;
        ctx.fillStyle = this.palette.seat[seat];
        ctx.beginPath();
        ctx.roundRect(x - 0.145, y - 0.145, 0.29, 0.29, 0.03);
        ctx.fill();
        ctx.globalAlpha = 1;
      }
      ctx.strokeStyle = this.palette.seat[seat];
      ctx.lineWidth = 0.032;
      ctx.beginPath();
      if (seat === 0) {
        ctx.moveTo(x - 0.085, y - 0.085);
        ctx.lineTo(x + 0.085, y + 0.085);
        ctx.moveTo(x + 0.085, y - 0.085);
        ctx.lineTo(x - 0.085, y + 0.085);
      } else {
        ctx.arc(x, y, 0.09, 0, 2 * Math.PI);
      }
      ctx.stroke();
    });
    return cells.filter((seat) => seat === 0 || seat === 1).length;
  }
}

const WALL = -2;
const TREASURE = -3;

// cells[row * width + column]: a seat, -1 empty, WALL or TREASURE; `last` is the cell of the last move, where there is one.
class BoardView extends FlatView {
  constructor(canvas, match, palette) {
    super(canvas, match, palette);
    const { width, height } = match.views[0];
    this.columns = width;
    this.rows = height;
  }

  get aspect() {
    return this.columns / this.rows;
  }

  drawBoard(ctx, view, before) {
    const { palette, columns, rows } = this;
    const cells = Array.isArray(view.cells) ? view.cells.slice(0, columns * rows) : [];
    ctx.scale(1 / columns, 1 / columns); // a cell is 1 by 1
    ctx.fillStyle = palette.ground;
    ctx.fillRect(0, 0, columns, rows);
    ctx.strokeStyle = palette.grid;
    ctx.lineWidth = 0.03;
    ctx.beginPath();
    for (let column = 1; column < columns; column++) {
      ctx.moveTo(column, 0);
      ctx.lineTo(column, rows);
    }
    for (let row = 1; row < rows; row++) {
      ctx.moveTo(0, row);
      ctx.lineTo(columns, row);
    }
    ctx.stroke();
    let marks = 0;
    cells.forEach((what, cell) => {
      const x = cell % columns;
      const y = Math.floor(cell / columns);
      const fresh = before && before !== view && before.cells?.[cell] !== what;
      if (what >= 0) marks++;
      this.cell(ctx, x, y, what, fresh);
    });
    return marks;
  }

  cell(ctx, x, y, what, fresh) {
    const { palette } = this;
    if (what === WALL) {
      ctx.fillStyle = palette.wall;
      ctx.fillRect(x, y, 1, 1);
      return;
    }
    if (what < 0 && what !== TREASURE) return;
    ctx.fillStyle = what === TREASURE ? palette.gold : palette.seat[what % palette.seat.length];
    ctx.beginPath();
    ctx.arc(x + 0.5, y + 0.5, what === TREASURE ? 0.18 : 0.4, 0, 2 * Math.PI);
    ctx.fill();
    if (what < 0) return;
    ctx.strokeStyle = fresh ? palette.ink : palette.card;
    ctx.lineWidth = fresh ? 0.07 : 0.04;
    if (what % 2 === 1) {
      ctx.beginPath(); // odd seats have a ring, so that colour is not all that tells them apart
      ctx.arc(x + 0.5, y + 0.5, 0.24, 0, 2 * Math.PI);
    }
    ctx.stroke();
  }
}

function winningRow(cells) {
  const rows = [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]];
  return rows.find(([a, b, c]) => cells[a] >= 0 && cells[a] === cells[b] && cells[b] === cells[c]);
}

// The document as text, beside a canvas that is not used.
class DocumentView {
  constructor(canvas, match) {
    this.match = match;
    this.drawn = { characters: 0 };
    this.text = document.createElement("pre");
    this.text.className = "document";
    this.text.tabIndex = 0;
    this.text.setAttribute("aria-label", "The moment as the game writes it");
    canvas.hidden = true;
    canvas.after(this.text);
  }

  get aspect() {
    return null;
  }

  draw({ tick }) {
    const view = this.match.views[frameAt(this.match.ticks, tick)];
    this.text.textContent = JSON.stringify(view, null, 2);
    this.drawn = { characters: this.text.textContent.length };
  }

  pick() {
    return null;
  }
}

const RENDERERS = { map: MapView, board: BoardView, noughts: NoughtsView, arena: ArenaView, document: DocumentView };

export function drawingOf(canvas, match, palette) {
  const Renderer = Object.hasOwn(RENDERERS, match.renderer) ? RENDERERS[match.renderer] : DocumentView;
  return new Renderer(canvas, match, palette);
}
