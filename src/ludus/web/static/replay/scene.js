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
export function sceneAt(tracks, tick, fog) {
  const frame = frameAt(tracks.ticks, tick);
  const span = frame + 1 < tracks.ticks.length ? tracks.ticks[frame + 1] - tracks.ticks[frame] : 1;
  const part = Math.min(1, Math.max(0, (tick - tracks.ticks[frame]) / span));
  const scale = 1 / tracks.steps_per_cell;
  const sees = visibility(tracks, frame, fog);
  const units = [];
  for (const track of tracks.units) {
    const i = frame - track.first;
    if (i < 0 || i >= track.frames) continue;
    const known = track.seat === fog || tracks.types[track.type]?.role === "flag"; // every seat knows where it is
    if (!known && !sees(track.x[i] * scale, track.y[i] * scale)) continue;
    units.push({
      track,
      i,
      part,
      x: between(track.x, i, part) * scale,
      y: between(track.y, i, part) * scale,
      hp: track.hp[i],
    });
  }
  const ghosts = fog < 0 ? [] : tracks.ghosts.filter((g) => g.viewer === fog && frame >= g.first && frame < g.first + g.frames
    && !sees(g.x, g.y));
  const bullets = [];
  for (const track of tracks.bullets) {
    const i = frame - track.first;
    if (i < 0 || i >= track.frames || !sees(track.x[i] * scale, track.y[i] * scale)) continue;
    const x = between(track.x, i, part) * scale;
    const y = between(track.y, i, part) * scale;
    const dx = i + 1 < track.frames ? track.x[i + 1] - track.x[i] : i > 0 ? track.x[i] - track.x[i - 1] : 0;
    const dy = i + 1 < track.frames ? track.y[i + 1] - track.y[i] : i > 0 ? track.y[i] - track.y[i - 1] : 0;
    bullets.push({ x, y, dx, dy, state: track.state[i], seat: seatOf(tracks, track.shooter) });
  }
  return { frame, units, ghosts, bullets, sees };
}

function visibility(tracks, frame, fog) {
  const seat = fog < 0 ? null : tracks.fog[fog];
  if (!seat) return () => true;
  const row = frame * seat.stride;
  return (x, y) => {
    const cx = cellOf(x);
    const cy = cellOf(y);
    if (cx < 0 || cy < 0 || cx >= tracks.width || cy >= tracks.height) return false;
    const cell = cy * tracks.width + cx;
    return ((seat.bits[row + (cell >> 3)] >> (cell & 7)) & 1) === 1;
  };
}

function seatOf(tracks, id) {
  tracks.seatOfUnit ??= new Map(tracks.units.map((u) => [u.id, u.seat]));
  return tracks.seatOfUnit.get(id) ?? -1;
}

// The order of a unit, null when it is idle. `to` is where it points: the target unit if it is in the scene, the point
// otherwise, null when there is neither.
export function orderOf(tracks, unit, scene) {
  const { track, i } = unit;
  if (track.command[i] === 0) return null;
  const name = tracks.commands[track.command[i]];
  const order = {
    name,
    letter: (name[0] ?? "?").toUpperCase(),
    phase: track.phase[i],
    target: track.aim[i] === AIM_UNIT ? track.target[i] : -1,
    builds: tracks.types[track.builds[i] - 1]?.name ?? "",
    to: null,
  };
  if (track.aim[i] === AIM_UNIT) {
    scene.byId ??= new Map(scene.units.map((u) => [u.track.id, u]));
    const other = scene.byId.get(track.target[i]);
    if (other) order.to = [other.x, other.y];
  } else if (track.aim[i] === AIM_POINT) {
    const scale = 1 / tracks.steps_per_cell;
    order.to = [track.to_x[i] * scale, track.to_y[i] * scale];
  }
  return order;
}
