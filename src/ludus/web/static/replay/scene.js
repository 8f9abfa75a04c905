// What is on the map at a tick, and what of it a seat sees. No drawing here.
import { frameAt } from "./data.js";

const AIM_UNIT = 1;
const AIM_POINT = 2;

// A column at frame index i, moved on by part (0..1) of the way to the next frame.
export function between(column, i, part) {
  const here = column[i];
  return i + 1 < column.length ? here + (column[i + 1] - here) * part : here;
}

function cellOf(value) {
  return Math.floor(value + 0.5);
}

// fog: a seat, or -1 for everything. Units of the seat itself are always seen; others where their cell is.
export function sceneAt(rts, tick, fog) {
  const frame = frameAt(rts.ticks, tick);
  const span = frame + 1 < rts.ticks.length ? rts.ticks[frame + 1] - rts.ticks[frame] : 1;
  const part = Math.min(1, Math.max(0, (tick - rts.ticks[frame]) / span));
  const scale = 1 / rts.steps_per_cell;
  const sees = visibility(rts, frame, fog);
  const units = [];
  for (const track of rts.units) {
    const i = frame - track.first;
    if (i < 0 || i >= track.frames) continue;
    if (track.seat !== fog && !sees(track.x[i] * scale, track.y[i] * scale)) continue;
    units.push({
      track,
      i,
      part,
      x: between(track.x, i, part) * scale,
      y: between(track.y, i, part) * scale,
      hp: track.hp[i],
    });
  }
  const ghosts = fog < 0 ? [] : rts.ghosts.filter((g) => g.viewer === fog && frame >= g.first && frame < g.first + g.frames
    && !sees(g.x, g.y));
  const bullets = [];
  for (const track of rts.bullets) {
    const i = frame - track.first;
    if (i < 0 || i >= track.frames || !sees(track.x[i] * scale, track.y[i] * scale)) continue;
    const x = between(track.x, i, part) * scale;
    const y = between(track.y, i, part) * scale;
    const dx = i + 1 < track.frames ? track.x[i + 1] - track.x[i] : i > 0 ? track.x[i] - track.x[i - 1] : 0;
    const dy = i + 1 < track.frames ? track.y[i + 1] - track.y[i] : i > 0 ? track.y[i] - track.y[i - 1] : 0;
    bullets.push({ x, y, dx, dy, state: track.state[i], seat: seatOf(rts, track.shooter) });
  }
  return { frame, units, ghosts, bullets, sees };
}

function visibility(rts, frame, fog) {
  const seat = fog < 0 ? null : rts.fog[fog];
  if (!seat) return () => true;
  const row = frame * seat.stride;
  return (x, y) => {
    const cx = cellOf(x);
    const cy = cellOf(y);
    if (cx < 0 || cy < 0 || cx >= rts.width || cy >= rts.height) return false;
    const cell = cy * rts.width + cx;
    return ((seat.bits[row + (cell >> 3)] >> (cell & 7)) & 1) === 1;
  };
}

function seatOf(rts, id) {
  rts.seatOfUnit ??= new Map(rts.units.map((u) => [u.id, u.seat]));
  return rts.seatOfUnit.get(id) ?? -1;
}

// The order of a unit, null when it is idle. `to` is where it points: the target unit if it is in the scene, the point
// otherwise, null when there is neither.
export function orderOf(rts, unit, scene) {
  const { track, i } = unit;
  if (track.command[i] === 0) return null;
  const name = rts.commands[track.command[i]];
  const order = {
    name,
    letter: (name[0] ?? "?").toUpperCase(),
    phase: track.phase[i],
    target: track.aim[i] === AIM_UNIT ? track.target[i] : -1,
    builds: rts.types[track.builds[i] - 1]?.name ?? "",
    to: null,
  };
  if (track.aim[i] === AIM_UNIT) {
    scene.byId ??= new Map(scene.units.map((u) => [u.track.id, u]));
    const other = scene.byId.get(track.target[i]);
    if (other) order.to = [other.x, other.y];
  } else if (track.aim[i] === AIM_POINT) {
    const scale = 1 / rts.steps_per_cell;
    order.to = [track.to_x[i] * scale, track.to_y[i] * scale];
  }
  return order;
}
