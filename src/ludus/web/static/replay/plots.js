// The timeline and the small plots. Each keeps its still picture in a second canvas and only draws the cursor again.

const ALARMS = new Set(["alarm", "razed", "over"]);

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

export class Timeline extends CachedCanvas {
  constructor(canvas, match, palette) {
    super(canvas);
    this.match = match;
    this.palette = palette;
    this.pad = 8;
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

  drawStill(ctx, { width, height }) {
    const { match, palette } = this;
    const middle = height / 2;
    ctx.strokeStyle = palette.line;
    ctx.beginPath();
    ctx.moveTo(this.pad, middle);
    ctx.lineTo(width - this.pad, middle);
    ctx.stroke();
    if (match.tracks) this.drawArmies(ctx, width, height);
    else this.drawDecisions(ctx, width, middle);
    for (const loud of [false, true]) {
      for (const event of match.events) if (ALARMS.has(event.kind) === loud) this.drawEvent(ctx, event, width, height);
    }
  }

  drawArmies(ctx, width, height) {
    const { match, palette } = this;
    const columns = Math.max(1, Math.floor(width - 2 * this.pad));
    const armies = match.tracks.troops.slice(0, 2);
    const top = Math.max(1, ...armies.map((a) => a.reduce((m, v) => Math.max(m, v), 0)));
    const room = height / 2 - 15;
    armies.forEach((army, seat) => {
      const side = seat === 0 ? -1 : 1;
      ctx.fillStyle = palette.seat[seat];
      ctx.globalAlpha = 0.55;
      peaks(army, match.ticks, match.firstTick, match.lastTick, columns).forEach((value, x) => {
        const h = (value / top) * room;
        if (h) ctx.fillRect(this.pad + x, height / 2 + (side < 0 ? -h - 0.5 : 0.5), 1, h);
      });
    });
    ctx.globalAlpha = 1;
  }

  drawDecisions(ctx, width, middle) {
    for (const { tick, seat } of this.match.decisions) {
      ctx.fillStyle = this.palette.seat[seat] ?? this.palette.muted;
      ctx.fillRect(this.xOf(tick, width) - 1.5, middle + (seat % 2 ? 2 : -14), 3, 12);
    }
  }

  // Lanes: seat 0 along the top edge, seat 1 along the bottom one.
  drawEvent(ctx, event, width, height) {
    const { palette } = this;
    const x = this.xOf(event.tick, width);
    const y = event.seat % 2 === 1 ? height - 8 : 8;
    ctx.fillStyle = palette.seat[event.seat] ?? palette.muted;
    ctx.beginPath();
    switch (event.kind) {
      case "built":
        ctx.rect(x - 3.5, y - 3.5, 7, 7);
        break;
      case "alarm":
        ctx.fillStyle = palette.alarm;
        ctx.moveTo(x, y - 5);
        ctx.lineTo(x + 5, y + 4);
        ctx.lineTo(x - 5, y + 4);
        break;
      case "razed":
      case "exhausted":
        ctx.lineWidth = 2;
        ctx.strokeStyle = event.kind === "razed" ? palette.alarm : palette.muted;
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

// One line a seat over time; seat 1 is dashed.
export class Plot extends CachedCanvas {
  constructor(canvas, match, palette, columns) {
    super(canvas);
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
    this.columns.forEach((column, seat) => {
      ctx.fillStyle = this.palette.seat[seat];
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
    this.columns.forEach((column, seat) => {
      ctx.strokeStyle = this.palette.seat[seat];
      ctx.lineWidth = 1.6;
      ctx.setLineDash(seat % 2 ? [5, 2.5] : []);
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
