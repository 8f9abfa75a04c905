// The match as the drawings of the replay page take it, made of the documents of a live one: of a map the tracks of one
// frame, of everything else the last two documents, so that a fresh stone can be told from the others.

const NOWHERE = [0, 0];

function numbers(names) {
  const index = new Map(names.map((name, i) => [name, i]));
  return (name) => {
    if (!index.has(name)) {
      index.set(name, names.length);
      names.push(name);
    }
    return index.get(name);
  };
}

// Tracks of one frame (see ../replay/data.js), of documents that ludus/web/rts/document.py describes.
class MapTracks {
  constructor(view) {
    const { width, height, terrain = [] } = view.map;
    const commands = ["idle"];
    this.types = [];
    this.typeOf = new Map();
    this.commandOf = numbers(commands);
    const walls = new Uint8Array(width * height);
    terrain.forEach((row, y) => [...row].forEach((what, x) => (walls[y * width + x] = what === "#" ? 1 : 0)));
    this.tracks = {
      width, height, walls, commands, types: this.types, steps_per_cell: 1, ticks: [0], fog: [], units: [], ghosts: [],
      bullets: [], counted: "money", money: [],
    };
  }

  type(name, roles) {
    if (!this.typeOf.has(name)) this.typeOf.set(name, this.types.push({ name, role: roles?.[name] ?? "troop" }) - 1);
    return this.typeOf.get(name);
  }

  see(view) {
    const { tracks } = this;
    tracks.heroes = (view.heroes ?? []).filter((hero) => hero.class);
    tracks.units = view.units.map((u) => {
      const to = u.to ?? NOWHERE;
      return {
        id: u.id, seat: u.seat, type: this.type(u.type, view.roles), maxHp: u.max_hp, first: 0, frames: 1,
        x: [u.x], y: [u.y], hp: [u.hp], command: [this.commandOf(u.command ?? "idle")], phase: [u.phase ?? 0],
        aim: [u.target >= 0 ? 1 : u.to ? 2 : 0], target: [u.target ?? -1], to_x: [to[0]], to_y: [to[1]],
        builds: [u.builds ? this.type(u.builds, view.roles) + 1 : 0], carries: [u.carries ? 1 : 0], cooldowns: [],
      };
    });
    const states = { ready: 0, explode1: 1, explode2: 2, explode3: 3 };
    tracks.bullets = (view.bullets ?? []).map((b) => ({
      shooter: b.shooter ?? -1, first: 0, frames: 1, x: [b.x], y: [b.y], state: [states[b.state ?? "ready"] ?? 3],
    }));
    tracks.seatOfUnit = undefined;
    tracks.fog = (view.seen ?? []).map((rows) => this.fog(rows));
  }

  // Cells that a seat sees, as bits; null where the document does not have them.
  fog(rows) {
    if (!rows?.length) return null;
    const { width, height } = this.tracks;
    const bits = new Uint8Array((width * height + 7) >> 3);
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < width; x++) {
        const cell = y * width + x;
        if (rows[y]?.[x] === "1") bits[cell >> 3] |= 1 << (cell & 7);
      }
    }
    return { stride: bits.length, bits };
  }
}

export class LiveMatch {
  constructor(hello) {
    this.renderer = hello.renderer;
    this.game = hello.game;
    const alone = hello.you.length === 1;
    this.seats = hello.seats.map((seat, i) => (alone && hello.you[0] === i ? "you" : seat.short || seat.name));
    this.teams = hello.teams ?? [];
    this.view = hello.view;
    this.you = hello.you;
    this.hidden = hello.hidden;
    this.persons = hello.seats.flatMap((seat, i) => (seat.kind === "person" ? [i] : []));
    this.views = [];
    this.ticks = [];
    this.events = [];
    this.decisions = [];
    this.map = null;
  }

  // Take the next document. Whether there is one that can be drawn.
  see(view) {
    if (!view) return false;
    if (this.renderer === "map") {
      if (!view.map || !Array.isArray(view.units)) return false;
      this.map ??= new MapTracks(view);
      this.map.see(view);
      this.tracks = this.map.tracks;
      this.ticks = this.tracks.ticks;
      this.views = [view];
      return true;
    }
    const last = this.views.at(-1);
    if (!last) this.views = [view];
    else if (last.tick < view.tick) this.views = [last, view];
    else if (last.tick === view.tick && this.views.length > 1) this.views = [this.views[0], view];
    else this.views = [view]; // a move was taken back
    this.ticks = this.views.map((document) => document.tick);
    return true;
  }

  // The seat whose view the page shows, -1 where it shows everything.
  get viewer() {
    if (this.tracks) {
      const seen = this.tracks.fog.flatMap((bits, seat) => (bits ? [seat] : []));
      if (seen.length === 1) return seen[0];
      return seen.includes(this.you[0]) ? this.you[0] : -1;
    }
    return this.hidden ? this.you[0] ?? this.persons[0] ?? -1 : -1;
  }

  // Options of a drawing: the newest document, in the fog of its viewer.
  get options() {
    return { tick: this.ticks.at(-1), fog: this.viewer, orders: true, bars: true, letters: true, selected: -1 };
  }
}
