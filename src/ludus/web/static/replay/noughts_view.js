// Noughts and crosses: cells[9], 0 a cross, 1 a nought.
import { FlatView, lineThrough } from "./flat_view.js";

export class NoughtsView extends FlatView {
  constructor(canvas, match, palette) {
    super(canvas, match, palette, 3, 3);
  }

  static fits(view) {
    return Array.isArray(view?.cells);
  }

  drawBoard(ctx, view, before) {
    const { palette, cells } = this;
    ctx.fillStyle = palette.ground;
    ctx.fillRect(0, 0, 3, 3);
    ctx.strokeStyle = palette.muted;
    ctx.lineWidth = 0.03;
    ctx.lineCap = "round";
    ctx.beginPath();
    for (const at of [1, 2]) {
      ctx.moveTo(at, 0.1);
      ctx.lineTo(at, 2.9);
      ctx.moveTo(0.1, at);
      ctx.lineTo(2.9, at);
    }
    ctx.stroke();
    const lines = cells.map((_, cell) => lineThrough(cells, 3, 3, cell, 3));
    const row = lines.find((line) => line.length) ?? [];
    this.drawn.winning = row;
    cells.forEach((seat, cell) => {
      const [x, y] = this.middleOf(cell);
      if (this.coordinates) {
        ctx.fillStyle = palette.muted;
        this.text(ctx, this.nameOf(cell), x - 0.36, y - 0.37, this.labelSize);
        this.drawn.labels++;
      }
      if (seat !== 0 && seat !== 1) return;
      this.drawn.marks++;
      const fresh = before && before[cell] !== seat;
      if (fresh) this.drawn.last = cell;
      if (row.includes(cell) || fresh) {
        ctx.globalAlpha = row.includes(cell) ? 0.24 : 0.12;
        ctx.fillStyle = palette.seat[seat];
        ctx.beginPath();
        ctx.roundRect(x - 0.44, y - 0.44, 0.88, 0.88, 0.09);
        ctx.fill();
        ctx.globalAlpha = 1;
      }
      this.drawPiece(ctx, x, y, seat);
    });
  }

  drawPiece(ctx, x, y, seat) {
    ctx.strokeStyle = this.palette.seat[seat] ?? this.palette.muted;
    ctx.lineWidth = 0.1;
    ctx.lineCap = "round";
    ctx.beginPath();
    if (seat === 0) {
      for (const way of [-1, 1]) {
        ctx.moveTo(x - 0.25, y - 0.25 * way);
        ctx.lineTo(x + 0.25, y + 0.25 * way);
      }
    } else {
      ctx.arc(x, y, 0.27, 0, 2 * Math.PI);
    }
    ctx.stroke();
  }
}
