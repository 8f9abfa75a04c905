// The drawings by the names that games declare (ludus/games/views.py); the document itself for every other name, and
// for a match whose first document lacks what its drawing needs.
import { frameAt } from "./data.js";
import { ArenaView } from "./arena_view.js";
import { FramesView } from "./frames_view.js";
import { GridView } from "./grid_view.js";
import { MapView } from "./map_view.js";
import { NoughtsView } from "./noughts_view.js";
import { CardsView, PayoffView } from "./table_views.js";

const LONGEST_TEXT = 200_000; // characters of a document

// The document as text, beside a canvas that is not used.
class DocumentView {
  constructor(canvas, match) {
    this.match = match;
    this.drawn = { characters: 0 };
    this.text = document.createElement("pre");
    this.text.className = "document";
    this.text.tabIndex = 0;
    this.text.setAttribute("aria-label", "The moment as the game writes it");
    canvas.hidden = true;
    canvas.after(this.text);
  }

  get aspect() {
    return null;
  }

  draw({ tick }) {
    const view = this.match.views[frameAt(this.match.ticks, tick)];
    const text = JSON.stringify(view, null, 2) ?? "";
    this.text.textContent = text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}\n…` : text;
    this.drawn = { characters: this.text.textContent.length };
  }

  pick() {
    return null;
  }
}

const RENDERERS = {
  map: MapView, board: GridView, noughts: NoughtsView, arena: ArenaView, cards: CardsView, table: PayoffView, frames: FramesView, document: DocumentView,
};

export function drawingOf(canvas, match, palette) {
  const Renderer = Object.hasOwn(RENDERERS, match.renderer) ? RENDERERS[match.renderer] : DocumentView;
  const fits = !Renderer.fits || Renderer.fits(match.views?.[0], match);
  return new (fits ? Renderer : DocumentView)(canvas, match, palette);
}
