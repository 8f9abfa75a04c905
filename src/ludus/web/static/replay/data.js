// The match as the page holds it, read from the packed data (ludus/web/columns.py and rts/tracks.py
// write it; the files are one format).
import { inflate } from "./inflate.js";

export const FORMAT = 1;

export async function unpack(base64, useBrowser = typeof DecompressionStream === "function") {
  const packed = Uint8Array.from(atob(base64.trim()), (c) => c.charCodeAt(0));
  if (!useBrowser) return inflate(packed);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }
  uint() {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      if (this.at >= this.bytes.length) throw new Error("the data of the match ends early");
      const byte = this.bytes[this.at++];
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  }
  sint() {
    const value = this.uint();
    return value % 2 ? -(value + 1) / 2 : value / 2;
  }
  list(read) {
    const n = this.uint();
    if (n > this.bytes.length) throw new Error("the data of the match is damaged");
    return Array.from({ length: n }, () => read());
  }
  column(length) {
    const out = new Int32Array(length);
    let value = 0;
    let at = 0;
    for (let n = this.uint(); n > 0; n--) {
      const next = at + this.uint();
      if (next >= length) throw new Error("the data of the match is damaged");
      out.fill(value, at, next);
      at = next;
      value += this.sint();
    }
    return out.fill(value, at);
  }
}

function readUnit(reader, frames, columns) {
  const unit = { id: reader.sint(), seat: reader.sint(), type: reader.sint(), maxHp: reader.sint() };
  unit.first = reader.uint();
  unit.frames = reader.uint();
  if (unit.first + unit.frames > frames) throw new Error("the data of the match is damaged");
  for (const name of columns) unit[name] = reader.column(unit.frames);
  unit.cooldowns = reader.list(() => ({ kind: reader.uint(), left: reader.column(unit.frames) }));
  return unit;
}

function readFog(reader, frames, cells) {
  const stride = (cells + 7) >> 3;
  const fog = new Uint8Array(stride * frames);
  for (let f = 0; f < frames; f++) {
    const row = f * stride;
    if (f > 0) fog.copyWithin(row, row - stride, row);
    let cell = -1;
    for (let n = reader.uint(); n > 0; n--) {
      cell += reader.uint() + 1;
      if (cell < cells) fog[row + (cell >> 3)] ^= 1 << (cell & 7);
    }
  }
  return { stride, bits: fog };
}

function readTracks(reader, header) {
  const frames = reader.uint();
  const ticks = new Int32Array(frames);
  for (let f = 0, tick = 0; f < frames; f++) ticks[f] = tick += reader.uint();
  const cells = header.width * header.height;
  const match = { ...header, ticks, walls: reader.column(cells) };
  match.money = reader.list(() => reader.column(frames));
  match.fog = reader.list(() => readFog(reader, frames, cells));
  match.units = reader.list(() => readUnit(reader, frames, header.unit_columns));
  const scale = 1 / header.steps_per_cell;
  match.ghosts = reader.list(() => ({
    viewer: reader.sint(),
    id: reader.sint(),
    seat: reader.sint(),
    type: reader.sint(),
    x: reader.sint() * scale,
    y: reader.sint() * scale,
    first: reader.uint(),
    frames: reader.uint(),
  }));
  match.bullets = reader.list(() => {
    const bullet = { shooter: reader.sint(), first: reader.uint(), frames: reader.uint() };
    for (const name of ["x", "y", "state"]) bullet[name] = reader.column(bullet.frames);
    return bullet;
  });
  for (const hero of match.heroes ?? []) for (const name of header.hero_columns) hero[name] = reader.column(frames);
  return match;
}

// Numbers of each frame that the plots show: workers and troops a seat, or towers where they are what fights.
function countUnits(tracks, seats) {
  const frames = tracks.ticks.length;
  const counts = (role) => {
    const all = Array.from({ length: seats }, () => new Int32Array(frames));
    for (const unit of tracks.units) {
      if (tracks.types[unit.type].role !== role || !all[unit.seat]) continue;
      for (let f = unit.first; f < unit.first + unit.frames; f++) all[unit.seat][f]++;
    }
    return all;
  };
  tracks.workers = counts("worker");
  tracks.troops = counts(tracks.types.some((type) => type.role === "tower") ? "tower" : "troop");
}

function readDecisions({ ticks, seats, what, effects, texts }) {
  let tick = 0;
  return ticks.map((gap, i) => ({
    tick: (tick += gap),
    seat: seats[i],
    text: texts[what[i]],
    effect: texts[effects[i]] ?? "",
  }));
}

// bytes: what unpack gave. Returns the match: header fields, decisions, events, ticks of its frames, lastTick, and
// either tracks (of a map) or views (documents).
export function decode(bytes) {
  const reader = new Reader(bytes);
  const length = reader.uint();
  const text = new TextDecoder().decode(bytes.subarray(reader.at, reader.at + length));
  reader.at += length;
  const match = JSON.parse(text);
  if (match.format !== FORMAT) throw new Error(`this page reads format ${FORMAT}, the data is of format ${match.format}`);
  match.teams ??= [];
  match.decisions = readDecisions(match.decisions);
  match.decisionTicks = [...new Set(match.decisions.map((d) => d.tick))];
  match.events = match.events.map(([tick, kind, seat, unit, words]) => ({ tick, kind, seat, unit, text: words }));
  if (match.tracks) {
    match.tracks = readTracks(reader, match.tracks);
    countUnits(match.tracks, match.seats.length);
    match.ticks = match.tracks.ticks;
  } else {
    match.ticks = Int32Array.from(match.views, (view) => view.tick);
  }
  if (match.ticks.length === 0) throw new Error("the match has no frames");
  if (match.film) match.film.bytes = bytes.subarray(reader.at);
  match.firstTick = match.ticks[0];
  match.lastTick = match.ticks[match.ticks.length - 1];
  return match;
}

// The frame at or before tick.
export function frameAt(ticks, tick) {
  let low = 0;
  let high = ticks.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (ticks[middle] <= tick) low = middle;
    else high = middle - 1;
  }
  return low;
}
