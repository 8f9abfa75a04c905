// A film of a game that draws itself: pictures, texts or tables of what its seats observe (ludus/web/frames/packing.py writes
// it), with each seat's return over the match.
import { frameAt } from "./data.js";
import { element, seatChip, signedNumber } from "./dom.js";
import { MatchPlot } from "./plots.js";

const MOST_DECODED = 96; // pictures that are kept ready
const AHEAD = 12; // of them, before their moment
const TERMINAL = ["#3b4048", "#c0392b", "#2e8b57", "#b8860b", "#2f6fb5", "#8e4ba8", "#23778a", "#c8ccd2"];
const COLOUR = /\u001b\[([0-9;]{0,20})m/g;

// One line a seat over the match; every other one dashed.
class ReturnPlot extends MatchPlot {
  constructor(canvas, match, palette) {
    super(canvas, match, palette);
    const all = match.film.returns.flat().filter(Number.isFinite);
    this.low = all.reduce((m, v) => Math.min(m, v), 0);
    this.high = all.reduce((m, v) => Math.max(m, v), 0);
  }

  drawStill(ctx, { width, height }) {
    const { match, palette } = this;
    ctx.strokeStyle = palette.line;
    ctx.lineWidth = 1;
    ctx.strokeRect(0.5, 0.5, width - 1, height - 1);
    for (const seat of match.seats.keys()) {
      ctx.strokeStyle = palette.seat[seat] ?? palette.muted;
      ctx.lineWidth = 1.6;
      ctx.setLineDash(seat % 2 ? [5, 2.5] : []);
      ctx.beginPath();
      match.film.returns.forEach((row, i) => {
        if (!Number.isFinite(row[seat])) return;
        const y = this.y(row[seat], height);
        if (i > 0) ctx.lineTo(this.x(match.ticks[i], width), this.y(match.film.returns[i - 1][seat], height));
        ctx.lineTo(this.x(match.ticks[i], width), y);
      });
      ctx.stroke();
    }
    ctx.setLineDash([]);
    ctx.font = "11px system-ui, sans-serif";
    ctx.lineWidth = 3;
    ctx.strokeStyle = palette.card;
    ctx.fillStyle = palette.muted;
    for (const [value, baseline, y] of [[this.high, "top", 4], [this.low, "bottom", height - 3]]) {
      ctx.textBaseline = baseline;
      ctx.strokeText(signedNumber(value), 6, y);
      ctx.fillText(signedNumber(value), 6, y);
    }
  }
}

export class FramesView {
  static fits(_, match) {
    return match.film !== undefined;
  }

  constructor(canvas, match, palette) {
    this.canvas = canvas;
    this.match = match;
    this.drawn = { pictures: 0, texts: 0, tables: 0, kind: "" };
    this.about = "Pictures as the game draws them.";
    const { film } = match;
    let at = 0;
    this.blobs = film.sizes.map((size) => film.bytes.subarray(at, (at += size)));
    this.bitmaps = new Map(); // number of a blob -> its picture, the oldest first
    this.waiting = new Set();
    this.ratio = film.kinds.includes("picture") ? 4 / 3 : null; // until the first picture is there
    this.box = element("div", { class: "look", tabindex: "0", role: "region", "aria-label": "The moment as the game shows it" });
    canvas.after(this.box);
    const plot = element("canvas", { class: "plot values", role: "img", "aria-label": "Return of each seat over time" });
    this.plot = new ReturnPlot(plot, match, palette);
    document.getElementById("seats").after(element("section", { class: "panel" },
      element("figure", {}, element("figcaption", {}, "Return so far"), plot)));
    const notes = film.notes.map((note) => element("p", { class: "hint" }, `${note[0]?.toUpperCase() ?? ""}${note.slice(1)}.`));
    document.querySelector(".controls").after(element("div", { id: "film-notes" }, ...notes));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.plot.forget());
    const first = film.kinds.indexOf("picture");
    if (first >= 0) this.decode(first).then(() => dispatchEvent(new Event("resize")));
  }

  get aspect() {
    return this.ratio;
  }

  // What the banner at the end says beside the outcome.
  get result() {
    const last = this.match.film.returns.at(-1) ?? [];
    return last.length === 1 ? `return ${signedNumber(last[0])}` : "";
  }

  pick() {
    return null;
  }

  async decode(number) {
    if (this.bitmaps.has(number) || this.waiting.has(number)) return;
    this.waiting.add(number);
    try {
      const bitmap = await createImageBitmap(new Blob([this.blobs[number]], { type: typeOf(this.blobs[number]) }));
      this.bitmaps.set(number, bitmap);
      if (this.drawn.pictures === 0) this.ratio = Math.max(0.4, Math.min(3, bitmap.width / bitmap.height));
      for (const oldest of this.bitmaps.keys()) {
        if (this.bitmaps.size <= MOST_DECODED) break;
        if (oldest === this.wanted) continue;
        this.bitmaps.get(oldest).close();
        this.bitmaps.delete(oldest);
      }
    } catch {
      this.bitmaps.delete(number);
      this.broken = true;
    } finally {
      this.waiting.delete(number);
    }
    if (this.wanted === number) this.paint(number);
  }

  draw({ tick }) {
    const { film, ticks } = this.match;
    const frame = frameAt(ticks, tick);
    const number = film.at[frame];
    this.wanted = number;
    this.plot.draw(tick);
    const kind = film.kinds[number];
    this.drawn.kind = kind;
    this.canvas.classList.toggle("away", kind !== "picture");
    this.box.hidden = kind === "picture";
    if (kind !== "picture") {
      this.write(number, kind);
      return;
    }
    if (this.bitmaps.has(number)) this.paint(number);
    else this.decode(number);
    for (let i = frame + 1; i <= Math.min(frame + AHEAD, film.at.length - 1); i++) {
      if (film.kinds[film.at[i]] === "picture") this.decode(film.at[i]);
    }
  }

  paint(number) {
    const bitmap = this.bitmaps.get(number);
    if (!bitmap) return;
    const { width, height } = this.canvas;
    const scale = Math.min(width / bitmap.width, height / bitmap.height);
    const ctx = this.canvas.getContext("2d");
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    ctx.clearRect(0, 0, width, height);
    ctx.imageSmoothingEnabled = scale < 1.6;
    const [w, h] = [bitmap.width * scale, bitmap.height * scale];
    ctx.drawImage(bitmap, (width - w) / 2, (height - h) / 2, w, h);
    this.drawn.pictures++;
  }

  write(number, kind) {
    if (this.written === number) return;
    this.written = number;
    const text = new TextDecoder().decode(this.blobs[number]);
    if (kind === "table") {
      this.box.replaceChildren(...this.tables(JSON.parse(text)));
      this.drawn.tables++;
    } else {
      this.box.replaceChildren(element("pre", {}, ...coloured(text)));
      this.drawn.texts++;
    }
  }

  tables(seats) {
    return seats.map(({ seat, tensors }) => element("section", {},
      seats.length > 1 || this.match.seats.length > 1 ? element("h3", {}, seatChip(seat), ` ${this.match.seats[seat] ?? `seat ${seat}`}`) : "",
      ...tensors.map((values, k) => this.tensor(this.match.film.tensors[k] ?? {}, values))));
  }

  tensor({ name = "", shape = [], labels = [], meaning = "" }, values) {
    const whole = shape.reduce((product, n) => product * n, 1);
    const caption = element("caption", { title: meaning }, element("b", {}, name), ` [${shape.join(", ")}]`,
      whole > values.length ? `, the first ${values.length}` : "");
    const rows = labels.length
      ? values.map((value, i) => element("tr", {}, element("th", { scope: "row" }, String(labels[i] ?? i)), element("td", { class: "number" }, number(value))))
      : inRows(values, shape).map((row) => element("tr", {}, ...row.map((value) => element("td", { class: "number" }, number(value)))));
    return element("table", {}, caption, element("tbody", {}, ...rows));
  }

  seatNumbers(tick) {
    const { film, ticks } = this.match;
    const frame = frameAt(ticks, tick);
    return this.match.seats.map((_, seat) => {
      const now = film.returns[frame]?.[seat] ?? 0;
      const before = film.returns[frame - 1]?.[seat] ?? 0;
      return { return: signedNumber(now), reward: signedNumber(now - before) };
    });
  }
}

// The type of an image file by its first byte.
function typeOf(bytes) {
  return { 0x89: "image/png", 0x52: "image/webp", 0xff: "image/jpeg", 0x47: "image/gif" }[bytes[0]] ?? "";
}

function number(value) {
  return Number.isFinite(value) ? String(value).replace("-", "−") : "–";
}

function inRows(values, shape) {
  const columns = Math.max(1, Math.min(8, shape.length > 1 ? shape[shape.length - 1] : 8));
  return Array.from({ length: Math.ceil(values.length / columns) }, (_, i) => values.slice(i * columns, (i + 1) * columns));
}

// A text with a terminal's colours as spans.
function coloured(text) {
  const parts = [];
  let at = 0;
  let style = {};
  const add = (piece) => {
    if (!piece) return;
    const span = element("span", {}, piece);
    Object.assign(span.style, style);
    parts.push(span);
  };
  for (const found of text.matchAll(COLOUR)) {
    add(text.slice(at, found.index));
    at = found.index + found[0].length;
    for (const code of found[1].split(";").map(Number)) {
      if (code === 0) style = {};
      else if (code === 1) style = { ...style, fontWeight: "700" };
      else if (code >= 30 && code < 38) style = { ...style, color: TERMINAL[code - 30] };
      else if (code >= 90 && code < 98) style = { ...style, color: TERMINAL[code - 90] };
      else if (code >= 40 && code < 48) style = { ...style, background: TERMINAL[code - 40], color: "#ffffff" };
    }
  }
  add(text.slice(at));
  return parts;
}
