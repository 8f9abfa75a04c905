// The part of a map that is drawn: the ground that units can reach with a rim of wall, or less of it when zoomed.

const WALL_RIM = 1; // rows of wall that stay around the open ground
const LEAST_CUT = 4; // rows of nothing but wall at an edge that are worth leaving out
const MOST_ZOOM = 6;

// Rectangle {x, y, width, height} in cells around the open ground of a map.
export function openGround({ width, height, walls }) {
  const open = (cell) => !walls[cell];
  const rows = [];
  const columns = [];
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      if (!open(y * width + x)) continue;
      rows[y] = columns[x] = true;
    }
  }
  const span = (used, size) => {
    const first = used.findIndex(Boolean);
    if (first < 0) return [0, size];
    const start = first >= LEAST_CUT ? first - WALL_RIM : 0;
    const end = size - used.length >= LEAST_CUT ? used.length + WALL_RIM : size;
    return [start, end - start];
  };
  const [x, w] = span(columns, width);
  const [y, h] = span(rows, height);
  return { x, y, width: w, height: h };
}

export class MapWindow {
  // margin: cells of ground around the map.
  constructor(tracks, margin) {
    const ground = openGround(tracks);
    this.ground = ground;
    this.whole = { left: ground.x - 0.5 - margin, top: ground.y - 0.5 - margin, width: ground.width + 2 * margin, height: ground.height + 2 * margin };
    this.zoom = 1;
    this.left = this.whole.left;
    this.top = this.whole.top;
  }

  get width() {
    return this.whole.width / this.zoom;
  }

  get height() {
    return this.whole.height / this.zoom;
  }

  get aspect() {
    return this.whole.width / this.whole.height;
  }

  // Zoom by a factor; the point x, y of the map stays where it is.
  zoomAt(factor, x, y) {
    const before = this.zoom;
    this.zoom = Math.max(1, Math.min(MOST_ZOOM, before * factor));
    this.left = x - ((x - this.left) * before) / this.zoom;
    this.top = y - ((y - this.top) * before) / this.zoom;
    this.pan(0, 0);
  }

  // Move the window by cells, as far as the map goes.
  pan(dx, dy) {
    const { whole } = this;
    this.left = Math.max(whole.left, Math.min(whole.left + whole.width - this.width, this.left + dx));
    this.top = Math.max(whole.top, Math.min(whole.top + whole.height - this.height, this.top + dy));
  }
}
