// The canvas of a live match: drawn once a frame at most, clicked, and played on by keys.
import { drawingOf } from "../replay/board_views.js";
import { readPalette } from "../replay/palette.js";
import { fitCanvas } from "../replay/plots.js";
import { MapCamera } from "./camera.js";
import { html, useEffect, useLayoutEffect, useRef } from "./html.js";
import { cellCount, cellOfPlace, isOneChoice, mayPlay, placeHead, placeOf } from "./moves.js";
import { holding } from "./pointer.js";

const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const NO_CELL = -1;
const SMALLEST_BOX = 8; // pixels that a pointer moves before it is no click
const KEY_CELLS = 4; // that an arrow key sends units
const NO_MARKS = { hover: NO_CELL, chosen: NO_CELL, legal: null, seat: NO_CELL };

const SMALLEST = 240;
const MARGIN = 32;

const LABELS = {
  cells: "The board. Arrow keys move the cursor, Enter plays.",
  columns: "The board. Arrow keys choose the column, Enter plays.",
  keys: "The match. It is played by the keys below it.",
  places: "The map. A click chooses the place; the list below does so by keys.",
  orders: "The map. N selects the next unit, arrow keys send it, digits give orders.",
};

// Room for a canvas: what is left of the window beside the lines above and the controls below it.
function fit(canvas, stage, aspect) {
  const section = stage.parentElement;
  const others = section.getBoundingClientRect().height - stage.getBoundingClientRect().height;
  const above = section.getBoundingClientRect().top + window.scrollY;
  const tall = Math.max(SMALLEST, window.innerHeight - above - others - MARGIN);
  const width = Math.floor(Math.min(stage.clientWidth, tall * aspect));
  canvas.style.width = `${width}px`;
  canvas.style.height = `${Math.round(width / aspect)}px`;
}

class Painter {
  constructor(game, canvas, stage) {
    this.game = game;
    this.canvas = canvas;
    this.stage = stage;
    this.asked = 0;
    this.cursor = NO_CELL;
    this.hover = NO_CELL;
    this.chosen = NO_CELL;
    this.camera = new MapCamera(this);
    this.boxing = holding({
      start: (event) => this.startBox(event),
      move: (event) => this.stretchBox(event),
      end: (event, up) => (up ? this.endBox(event) : this.dropBox()),
    });
  }

  // The window or the controls have another size.
  refit() {
    this.unfitted = true;
    this.ask();
  }

  // Draw with the next frame of the screen: several messages before it cost one drawing.
  ask() {
    this.asked ||= requestAnimationFrame(() => {
      this.asked = 0;
      this.draw();
    });
  }

  draw() {
    const { game, canvas } = this;
    if (!game.drawable) return;
    if (!game.view || this.match !== game.match) this.build();
    if (game.view.aspect && this.unfitted) fit(canvas, this.stage, game.view.aspect);
    if (game.view.aspect) fitCanvas(canvas);
    this.unfitted = false;
    game.view.marks = this.marks();
    game.view.overlay = game.overlay;
    game.view.draw(game.match.options);
    if (game.units) this.drawSelection();
    else this.drawPlaces();
    game.drawn();
  }

  // Rings around selected units, and the box that selects.
  drawSelection() {
    const { game, canvas, box } = this;
    const ctx = canvas.getContext("2d");
    const scale = window.devicePixelRatio || 1;
    ctx.setTransform(scale, 0, 0, scale, 0, 0);
    ctx.strokeStyle = this.palette.ink;
    ctx.lineWidth = 2;
    ctx.setLineDash([5, 3]);
    const cell = game.view.pointOf(1, 0)[0] - game.view.pointOf(0, 0)[0];
    for (const unit of game.units.chosen) {
      ctx.beginPath();
      ctx.arc(...game.view.pointOf(unit.x, unit.y), 0.62 * cell, 0, 2 * Math.PI);
      ctx.stroke();
    }
    if (box && !game.units.single) ctx.strokeRect(box.x, box.y, box.toX - box.x, box.toY - box.y);
    ctx.setLineDash([]);
  }

  // Frames around the cell of the map under the pointer, if it may be chosen, and around the chosen one.
  drawPlaces() {
    const { game, canvas } = this;
    const { hover } = game.view.marks;
    if (placeHead(game.hello, game.view) < 0) return;
    const ctx = canvas.getContext("2d");
    const scale = window.devicePixelRatio || 1;
    ctx.setTransform(scale, 0, 0, scale, 0, 0);
    ctx.strokeStyle = this.palette.ink;
    ctx.lineWidth = 2;
    const places = [...new Set([hover, isOneChoice(game.hello) || !game.playing ? NO_CELL : game.place])].filter((place) => place >= 0);
    this.game.view.drawn.places = places.length;
    for (const place of places) {
      const [x, y] = cellOfPlace(game.hello, game.view, place);
      const [left, top] = game.view.pointOf(x - 0.5, y - 0.5);
      const [right] = game.view.pointOf(x + 0.5, y);
      ctx.strokeRect(left, top, right - left, right - left);
    }
  }

  // Where the pointer is: in pixels of the canvas, on the map, and the unit under it.
  placeOf(event) {
    const { view, units } = this.game;
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const [mapX, mapY] = view.mapPoint(x, y);
    const id = view.pick(x, y)?.track.id;
    return { x, y, mapX, mapY, unit: units.units.find((unit) => unit.id === id) ?? null };
  }

  // Whether a pointer starts a box.
  startBox(event) {
    if (!this.game.units || !this.game.view || event.button !== 0) return false;
    const { x, y } = this.placeOf(event);
    this.box = { x, y, toX: x, toY: y };
    return true;
  }

  // The browser has taken the pointer: nothing is selected.
  dropBox() {
    this.box = null;
    this.ask();
  }

  // Whether the pointer has moved so far that it draws a box.
  get dragging() {
    const { box } = this;
    return !!box && Math.hypot(box.toX - box.x, box.toY - box.y) >= SMALLEST_BOX;
  }

  stretchBox(event) {
    if (!this.box) return;
    const { x, y } = this.placeOf(event);
    Object.assign(this.box, { toX: x, toY: y });
    this.ask();
  }

  // A box selects what is in it; a click selects a unit; a tap beside own units orders what is selected.
  endBox(event) {
    const { box, game } = this;
    if (!box) return; // two fingers have taken it
    this.dropBox();
    const { unit, mapX, mapY } = this.placeOf(event);
    if (game.units.single) {
      game.units.point(unit, mapX, mapY);
    } else if (Math.hypot(box.toX - box.x, box.toY - box.y) >= SMALLEST_BOX) {
      const inside = (x, y) => x >= Math.min(box.x, box.toX) && x <= Math.max(box.x, box.toX) && y >= Math.min(box.y, box.toY) && y <= Math.max(box.y, box.toY);
      const found = game.units.units.filter((other) => inside(...game.view.pointOf(other.x, other.y)));
      const walking = found.filter((other) => other.seat === game.units.seat && !game.units.stands(other));
      game.units.select(walking.length ? walking : found, event.shiftKey);
    } else if (event.pointerType === "touch" && game.units.selected.size && unit?.seat !== game.seat) {
      game.units.point(unit, mapX, mapY);
    } else {
      const kind = (other) => other.seat === game.units.seat && other.type === unit.type;
      const alike = event.detail > 1 && unit ? game.units.units.filter(kind) : []; // a double click: all of a kind
      game.units.select(alike.length ? alike : unit ? [unit] : [], event.shiftKey || event.ctrlKey);
    }
  }

  order(event) {
    if (!this.game.units) return;
    event.preventDefault();
    const { unit, mapX, mapY } = this.placeOf(event);
    this.game.units.point(unit, mapX, mapY);
  }

  build() {
    const { game, canvas } = this;
    this.match = game.match;
    for (const text of this.stage.querySelectorAll("pre.document, .table-view")) text.remove();
    canvas.hidden = false;
    this.palette = readPalette(game.match.seats.length);
    game.view = drawingOf(canvas, game.match, this.palette);
    document.body.classList.toggle("stones", game.view.stones === true);
    this.cursor = this.hover = this.chosen = NO_CELL;
    this.unfitted = true;
    game.change({});
  }

  recolour() {
    if (this.palette) Object.assign(this.palette, readPalette(this.game.match.seats.length));
    this.ask();
  }

  // Choices that the drawing marks: under the pointer, or the cursor where the keyboard is used, and the chosen one.
  marks() {
    const { game, chosen } = this;
    if (!game.myTurn) return NO_MARKS;
    const shown = this.hover >= 0 || !this.focused ? this.hover : this.cursor;
    const choice = shown < 0 ? NO_CELL : this.choiceAt(shown);
    const listed = placeHead(game.hello, game.view) >= 0 && !isOneChoice(game.hello);
    const legal = choice >= 0 && (listed || mayPlay(game.moment, game.seat, choice));
    return { hover: legal && choice !== chosen ? choice : NO_CELL, chosen, legal: null, seat: game.seat };
  }

  get columns() {
    return this.game.view?.columns ?? 1;
  }

  // The choice that a cell of the board means.
  choiceAt(index) {
    return this.game.hello.view.input === "columns" ? index % this.columns : index;
  }

  // The cell under the pointer, NO_CELL beside the board.
  cellAt(event) {
    const { hello, view, playing, units } = this.game;
    const { input } = hello.view;
    const box = this.canvas.getBoundingClientRect();
    if (playing && !units && placeHead(hello, view) >= 0) {
      const [left, top] = view.pointOf(-0.5, -0.5);
      const cell = view.pointOf(0.5, 0)[0] - left;
      const [x, y] = [event.clientX - box.left - left, event.clientY - box.top - top].map((at) => Math.floor(at / cell));
      const inside = x >= 0 && y >= 0 && x < view.tracks.width && y < view.tracks.height;
      return inside ? placeOf(hello, view, x, y) : NO_CELL;
    }
    if (input !== "cells" && input !== "columns") return NO_CELL;
    return this.game.view?.cellAt?.(event.clientX - box.left, event.clientY - box.top)?.index ?? NO_CELL;
  }

  // Move the cursor. Whether the key was one of the board's.
  step(key) {
    const way = STEPS[key];
    const { game, columns } = this;
    if (way && game.units) {
      const [first] = game.units.chosen;
      if (first && game.units.single) game.units.point(null, first.x + KEY_CELLS * way[0], first.y + KEY_CELLS * way[1]);
      else if (first) game.units.give("move", { x: first.x + KEY_CELLS * way[0], y: first.y + KEY_CELLS * way[1] });
      return true;
    }
    const cells = game.hello.view.input === "columns" ? columns : cellCount(game.hello, game.view);
    if (!way || !cells) return false;
    const rows = Math.max(1, Math.floor(cells / columns));
    const at = this.cursor < 0 ? Math.floor(rows / 2) * columns + Math.floor(columns / 2) : this.cursor;
    const moved = this.cursor < 0 ? [0, 0] : way;
    const column = Math.max(0, Math.min(columns - 1, (at % columns) + moved[0]));
    const row = Math.max(0, Math.min(rows - 1, Math.floor(at / columns) + moved[1]));
    this.cursor = row * columns + column;
    game.change({ said: this.describe() });
    return true;
  }

  // The cursor's cell in words.
  describe() {
    const { game } = this;
    const name = game.name(this.choiceAt(this.cursor));
    if (game.hello.view.input === "columns") return `column ${name}`;
    const seat = game.view.cells?.[this.cursor];
    return `${name}, ${seat >= 0 ? game.hello.seats[seat]?.name ?? `seat ${seat}` : "empty"}`;
  }
}

// onChoose(choice, event): a cell was clicked, or Enter pressed on it. chosen: the choice that waits to be confirmed, or -1.
export function Board({ game, chosen, onChoose, onKey }) {
  const canvas = useRef(null);
  const stage = useRef(null);
  const painter = useRef(null);
  useLayoutEffect(() => {
    const mine = new Painter(game, canvas.current, stage.current);
    painter.current = mine;
    const stop = game.subscribe(() => mine.ask());
    const sizes = new ResizeObserver(() => mine.refit());
    sizes.observe(stage.current.parentElement);
    const resize = () => mine.refit();
    addEventListener("resize", resize);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const recolour = () => mine.recolour();
    dark.addEventListener("change", recolour);
    mine.ask();
    return () => {
      stop();
      sizes.disconnect();
      removeEventListener("resize", resize);
      dark.removeEventListener("change", recolour);
    };
  }, [game]);
  useEffect(() => {
    painter.current.chosen = chosen;
    painter.current.ask();
  }, [chosen]);
  const mine = () => painter.current;
  const hover = (index) => {
    if (mine().hover === index) return;
    mine().hover = index;
    mine().ask();
  };
  const focus = (focused) => {
    mine().focused = focused;
    mine().ask();
  };
  const press = (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const { cursor } = mine();
    if ((event.key === "Enter" || event.key === " ") && cursor >= 0) {
      if (!event.repeat) onChoose(mine().choiceAt(cursor), event);
    } else if (!mine().step(event.key)) {
      onKey?.(event);
      return;
    }
    event.preventDefault();
  };
  const places = game.hello && game.view && placeHead(game.hello, game.view) >= 0;
  const input = game.units ? "orders" : places ? "places" : game.hello?.view.input;
  return html`<div class="board" ref=${stage}>
    <canvas id="map" ref=${canvas} class=${game.units ? "drags" : ""} tabindex="0" role="application" aria-roledescription="board"
      aria-label=${LABELS[input] ?? "The match"}
      onPointerDown=${(event) => mine().camera.down(event) || mine().boxing.onPointerDown(event)}
      onPointerUp=${(event) => {
        mine().camera.up(event);
        mine().boxing.onPointerUp(event);
      }}
      onPointerCancel=${(event) => {
        mine().camera.up(event);
        mine().boxing.onPointerCancel(event);
      }}
      onWheel=${(event) => mine().camera.wheel(event)}
      onLostPointerCapture=${(event) => mine().boxing.onLostPointerCapture(event)}
      onContextMenu=${(event) => mine().order(event)}
      onPointerMove=${(event) => {
        if (!mine().camera.move(event)) mine().boxing.onPointerMove(event);
        if (event.pointerType === "mouse") hover(mine().cellAt(event));
      }}
      onPointerLeave=${() => hover(NO_CELL)}
      onClick=${(event) => {
        const cell = mine().cellAt(event);
        if (cell >= 0) onChoose(mine().choiceAt(cell), event);
      }}
      onFocus=${() => focus(true)} onBlur=${() => focus(false)} onKeyDown=${press}></canvas>
  </div>`;
}
