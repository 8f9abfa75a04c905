// Zoom and movement of the map under the wheel, the middle button and two fingers. A finger that draws a box goes on
// drawing it.

const WHEEL = 1.0015; // a pixel of the wheel
const MIDDLE = 1;

export class MapCamera {
  // painter: {canvas, game, ask(), dragging, dropBox()}
  constructor(painter) {
    this.painter = painter;
    this.fingers = new Map(); // pointer id -> [x, y] on the canvas
    this.panned = null; // the middle button's last place
    this.pinching = false;
  }

  get window() {
    const { game } = this.painter;
    return game.units ? game.view?.window : undefined;
  }

  at(event) {
    const box = this.painter.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  zoom(factor, x, y) {
    this.window.zoomAt(factor, ...this.painter.game.view.mapPoint(x, y));
    this.painter.ask();
  }

  pan(from, to) {
    const { view } = this.painter.game;
    const [x0, y0] = view.mapPoint(...from);
    const [x1, y1] = view.mapPoint(...to);
    this.window.pan(x0 - x1, y0 - y1);
    this.painter.ask();
  }

  wheel(event) {
    if (!this.window || event.ctrlKey) return;
    const [x, y] = this.at(event);
    if (event.deltaY > 0 && this.window.zoom === 1) return; // the page scrolls
    event.preventDefault();
    this.zoom(WHEEL ** -event.deltaY, x, y);
  }

  // Whether the pointer is the camera's.
  down(event) {
    if (!this.window) return false;
    if (event.pointerType === "mouse") {
      if (event.button !== MIDDLE) return false;
      this.panned = this.at(event);
      event.preventDefault();
      return true;
    }
    this.fingers.set(event.pointerId, this.at(event));
    if (this.fingers.size !== 2 || this.painter.dragging) return false;
    this.pinching = true;
    this.painter.dropBox();
    return true;
  }

  move(event) {
    if (this.panned) {
      const to = this.at(event);
      this.pan(this.panned, to);
      this.panned = to;
      return true;
    }
    const before = this.fingers.get(event.pointerId);
    if (!before) return false;
    const now = this.at(event);
    const other = [...this.fingers].find(([id]) => id !== event.pointerId)?.[1];
    this.fingers.set(event.pointerId, now);
    if (!this.pinching || !other) return this.pinching;
    const spread = (a) => Math.max(1, Math.hypot(a[0] - other[0], a[1] - other[1]));
    const middle = (a) => [(a[0] + other[0]) / 2, (a[1] + other[1]) / 2];
    this.pan(middle(before), middle(now));
    this.zoom(spread(now) / spread(before), ...middle(now));
    return true;
  }

  // Whether the pointer was the camera's.
  up(event) {
    if (event.pointerType === "mouse") {
      const mine = this.panned !== null && event.button === MIDDLE;
      if (mine) this.panned = null;
      return mine;
    }
    this.fingers.delete(event.pointerId);
    const mine = this.pinching;
    if (this.fingers.size === 0) this.pinching = false;
    return mine;
  }
}
