// Draws the scene of an RTS match on a canvas.
import { drawFlag, drawIcon, plateRadius } from "./icons.js";
import { hpColour } from "./palette.js";
import { captains, netWorthLead, sideOf } from "./heroes.js";
import { MapWindow } from "./map_window.js";
import { orderOf, sceneAt } from "./scene.js";

const MARGIN = 0.7; // cells of ground around the map, where bars and plates of units at its edge are drawn
const DASHES = { M: [0.12, 0.14], G: [0.03, 0.12], B: [0.25, 0.12] };

export class MapView {
  constructor(canvas, match, palette) {
    this.canvas = canvas;
    this.match = match;
    this.tracks = match.tracks;
    this.palette = palette;
    this.window = new MapWindow(match.tracks, MARGIN);
    this.drawn = { units: 0, enemies: 0, ghosts: 0, bullets: 0, orders: 0, fogged: 0 };
  }

  get fogSeats() {
    return this.tracks.fog.length;
  }

  get aspect() {
    return this.window.aspect;
  }

  get about() {
    const { label } = this.curve;
    const [up, down] = this.curve.seats ?? [0, 1];
    return `Click a unit to select it. On the timeline the upper half is seat ${up}, the lower half seat ${down}: mountains are the ${label}, `
      + "▲ a building under attack, ■ a building finished, • a unit lost, ✕ a building lost.";
  }

  // What decides the match, for the timeline: the score, where the game counts one, the net worth of two teams of
  // heroes, else the armies.
  get curve() {
    const { tracks } = this;
    const sides = tracks.heroes?.length ? captains(this.match) : [];
    if (sides.length === 2) return { label: "lead in net worth", columns: netWorthLead(this.match), seats: sides };
    if (tracks.counted === "score") return { label: "score", columns: tracks.money };
    return { label: tracks.types.some((type) => type.role === "tower") ? "towers" : "army", columns: tracks.troops };
  }

  // options: {tick, fog, orders, bars, letters, selected}. Sizes inside are in cells.
  draw(options) {
    const { canvas, tracks } = this;
    const ctx = canvas.getContext("2d");
    const scale = canvas.width / this.window.width;
    const scene = sceneAt(tracks, options.tick, options.fog);
    this.scene = scene;
    this.heroNames = this.heroes;
    ctx.setTransform(scale, 0, 0, scale, -this.window.left * scale, -this.window.top * scale);
    this.drawGround(ctx, scale);
    const fogged = this.drawFog(ctx, scene, options.fog);
    this.drawn = { units: scene.units.length, ghosts: scene.ghosts.length, bullets: scene.bullets.length, orders: 0, fogged };
    this.drawn.enemies = options.fog < 0 ? 0 : scene.units.filter((u) => u.track.seat !== options.fog).length;
    for (const ghost of scene.ghosts) this.drawGhost(ctx, ghost);
    const layer = (unit) => (["resource", "base", "building", "tower", "flag"].includes(this.role(unit)) ? 0 : 1);
    const ordered = [...scene.units].sort((a, b) => layer(a) - layer(b) || a.track.id - b.track.id);
    if (options.orders) for (const unit of ordered) this.drawOrder(ctx, unit, scene, options);
    for (const unit of ordered) this.drawUnit(ctx, unit, options);
    for (const bullet of scene.bullets) this.drawBullet(ctx, bullet);
    for (const unit of ordered) this.drawMarks(ctx, unit, scene, options);
  }

  // The role of a unit for the drawing; units that heroes are have their own.
  role(unit) {
    const { name, role } = this.tracks.types[unit.track.type];
    return (this.heroNames ?? this.heroes).has(name) ? "hero" : role;
  }

  // Names of the types that are heroes.
  get heroes() {
    this.heroTypes ??= new Set(); // classes become known one after the other in fog
    for (const hero of this.tracks.heroes ?? []) this.heroTypes.add(hero.class);
    return this.heroTypes;
  }

  drawGround(ctx, scale) {
    const { tracks, palette } = this;
    ctx.fillStyle = palette.margin;
    ctx.fillRect(-0.5 - MARGIN, -0.5 - MARGIN, tracks.width + 2 * MARGIN, tracks.height + 2 * MARGIN);
    ctx.fillStyle = palette.ground;
    ctx.fillRect(-0.5, -0.5, tracks.width, tracks.height);
    ctx.strokeStyle = palette.grid;
    ctx.lineWidth = 1 / scale;
    ctx.beginPath();
    for (let x = 1; x < tracks.width; x++) {
      ctx.moveTo(x - 0.5, -0.5);
      ctx.lineTo(x - 0.5, tracks.height - 0.5);
    }
    for (let y = 1; y < tracks.height; y++) {
      ctx.moveTo(-0.5, y - 0.5);
      ctx.lineTo(tracks.width - 0.5, y - 0.5);
    }
    ctx.stroke();
    ctx.fillStyle = palette.wall;
    tracks.walls.forEach((wall, cell) => {
      if (wall) ctx.fillRect((cell % tracks.width) - 0.5, Math.floor(cell / tracks.width) - 0.5, 1.01, 1.01);
    });
  }

  drawFog(ctx, scene, fog) {
    if (fog < 0 || !this.tracks.fog[fog]) return 0;
    let fogged = 0;
    ctx.fillStyle = this.palette.fog;
    for (let y = 0; y < this.tracks.height; y++) {
      for (let x = 0; x < this.tracks.width; ) {
        const start = x;
        while (x < this.tracks.width && !scene.sees(x, y)) x++;
        fogged += x - start;
        if (x > start) ctx.fillRect(start - 0.5, y - 0.5, x - start, 1);
        else x++;
      }
    }
    ctx.beginPath(); // nobody sees beyond the edge either
    ctx.rect(-0.5 - MARGIN, -0.5 - MARGIN, this.tracks.width + 2 * MARGIN, this.tracks.height + 2 * MARGIN);
    ctx.rect(-0.5, -0.5, this.tracks.width, this.tracks.height);
    ctx.fill("evenodd");
    return fogged;
  }

  drawGhost(ctx, ghost) {
    ctx.save();
    ctx.globalAlpha = 0.3;
    ctx.translate(ghost.x, ghost.y);
    const type = this.tracks.types[ghost.type];
    drawIcon(ctx, this.palette, type, sideOf(this.match, ghost.seat), plateRadius(type.role));
    ctx.restore();
  }

  drawUnit(ctx, unit, options) {
    const type = this.tracks.types[unit.track.type];
    const r = plateRadius(this.role(unit));
    ctx.save();
    ctx.translate(unit.x, unit.y);
    drawIcon(ctx, this.palette, type, sideOf(this.match, unit.track.seat), r);
    if (unit.track.carries?.[unit.i]) {
      ctx.save();
      ctx.translate(0.2, -0.45);
      drawFlag(ctx, this.palette, 0.36);
      ctx.restore();
    }
    if (unit.track.id === options.selected) {
      ctx.strokeStyle = this.palette.ink;
      ctx.lineWidth = 0.07;
      ctx.setLineDash([0.22, 0.12]);
      ctx.beginPath();
      ctx.arc(0, 0, r + 0.18, 0, 2 * Math.PI);
      ctx.stroke();
    }
    ctx.restore();
  }

  drawOrder(ctx, unit, scene, options) {
    if (options.fog >= 0 && unit.track.seat !== options.fog) return;
    const order = orderOf(this.tracks, unit, scene);
    if (!order?.to) return;
    const length = Math.hypot(order.to[0] - unit.x, order.to[1] - unit.y);
    const edge = order.target >= 0 ? plateRadius(this.role(scene.byId.get(order.target))) + 0.08 : 0;
    if (length < edge + 0.4) return;
    // The line ends at the edge of a target's plate, where its tip can be seen.
    const share = (length - edge) / length;
    const x = unit.x + (order.to[0] - unit.x) * share;
    const y = unit.y + (order.to[1] - unit.y) * share;
    this.drawn.orders++;
    const chosen = unit.track.id === options.selected;
    ctx.save();
    ctx.globalAlpha = chosen ? 0.95 : 0.42;
    ctx.strokeStyle = ctx.fillStyle = this.palette.seat[sideOf(this.match, unit.track.seat)] ?? this.palette.muted;
    ctx.lineWidth = chosen ? 0.08 : 0.05;
    ctx.lineCap = "round";
    ctx.setLineDash(DASHES[order.letter] ?? []);
    ctx.beginPath();
    ctx.moveTo(unit.x, unit.y);
    ctx.lineTo(x, y);
    ctx.stroke();
    ctx.setLineDash([]);
    ctx.translate(x, y);
    ctx.rotate(Math.atan2(y - unit.y, x - unit.x));
    ctx.beginPath();
    if (order.letter === "A") {
      ctx.moveTo(0, 0);
      ctx.lineTo(-0.34, -0.15);
      ctx.lineTo(-0.34, 0.15);
    } else {
      ctx.arc(0, 0, 0.1, 0, 2 * Math.PI);
    }
    ctx.fill();
    ctx.restore();
  }

  drawBullet(ctx, { x, y, dx, dy, state, seat }) {
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = this.palette.seat[sideOf(this.match, seat)] ?? this.palette.ink;
    if (state > 0) {
      ctx.globalAlpha = 1 - 0.25 * state;
      ctx.lineWidth = 0.07;
      ctx.beginPath();
      ctx.arc(x, y, 0.14 + 0.12 * state, 0, 2 * Math.PI);
      ctx.stroke();
    } else {
      const length = Math.hypot(dx, dy) || 1;
      ctx.lineWidth = 0.1;
      ctx.lineCap = "round";
      ctx.beginPath();
      ctx.moveTo(x - (0.35 * dx) / length, y - (0.35 * dy) / length);
      ctx.lineTo(x, y);
      ctx.stroke();
      ctx.beginPath();
      ctx.arc(x, y, 0.11, 0, 2 * Math.PI);
      ctx.fillStyle = this.palette.ink;
      ctx.fill();
    }
    ctx.restore();
  }

  // Hit points above the unit, the letter of its command beside them.
  drawMarks(ctx, unit, scene, options) {
    const { palette, tracks } = this;
    const { track } = unit;
    const role = this.role(unit);
    const r = plateRadius(role);
    const share = track.maxHp > 0 ? Math.max(0, Math.min(1, unit.hp / track.maxHp)) : 0;
    const width = ["base", "building", "hero"].includes(role) ? 1.15 : 0.78;
    const top = unit.y - r - 0.2;
    const left = unit.x - width / 2;
    if (options.bars && role !== "flag" && (role !== "resource" || share < 1 || track.id === options.selected)) {
      ctx.fillStyle = palette.hpBack;
      ctx.fillRect(left - 0.03, top - 0.03, width + 0.06, 0.18);
      ctx.fillStyle = role === "resource" ? palette.gold : hpColour(palette, share);
      ctx.fillRect(left, top, width * share, 0.12);
    }
    if (role === "hero") this.drawName(ctx, unit, r);
    if (!options.letters || (options.fog >= 0 && track.seat !== options.fog)) return;
    const order = orderOf(tracks, unit, scene);
    if (!order) return;
    ctx.font = "700 0.42px system-ui, sans-serif";
    ctx.textAlign = "left";
    ctx.textBaseline = "middle";
    ctx.lineWidth = 0.12;
    ctx.lineJoin = "round";
    ctx.strokeStyle = palette.ground;
    const x = unit.x + Math.max(width / 2, r) + 0.06;
    ctx.strokeText(order.letter, x, top + 0.1);
    ctx.fillStyle = palette.ink;
    ctx.fillText(order.letter, x, top + 0.1);
  }

  // The name of a hero below it; the own one is "you".
  drawName(ctx, unit, r) {
    const own = this.match.you?.length === 1 && this.match.you[0] === unit.track.seat;
    const name = own ? "you" : this.tracks.types[unit.track.type].name.replaceAll("_", " ");
    ctx.font = "700 0.44px system-ui, sans-serif";
    ctx.textAlign = "center";
    ctx.textBaseline = "top";
    ctx.lineWidth = 0.12;
    ctx.lineJoin = "round";
    ctx.strokeStyle = this.palette.ground;
    ctx.strokeText(name, unit.x, unit.y + r + 0.04);
    ctx.fillStyle = this.palette.ink;
    ctx.fillText(name, unit.x, unit.y + r + 0.04);
  }

  // Where a point of the map is on the canvas, in CSS pixels.
  pointOf(x, y) {
    const scale = this.canvas.getBoundingClientRect().width / this.window.width;
    return [(x - this.window.left) * scale, (y - this.window.top) * scale];
  }

  // The point of the map at a point of the canvas, in CSS pixels.
  mapPoint(cssX, cssY) {
    const scale = this.canvas.getBoundingClientRect().width / this.window.width;
    return [cssX / scale + this.window.left, cssY / scale + this.window.top];
  }

  // The drawn unit nearest to a point of the canvas in CSS pixels, or null.
  pick(cssX, cssY) {
    const [x, y] = this.mapPoint(cssX, cssY);
    let best = null;
    let bestDistance = Infinity;
    for (const unit of this.scene?.units ?? []) {
      const distance = Math.hypot(unit.x - x, unit.y - y);
      if (distance < plateRadius(this.role(unit)) + 0.15 && distance < bestDistance) {
        best = unit;
        bestDistance = distance;
      }
    }
    return best;
  }
}
