// The drawings by the names that games declare (ludus/games/views.py); a table of the document for every other
// name, and for a match whose first document lacks what its drawing needs.
import { ArenaView } from "./arena_view.js";
import { DocumentView } from "./document_view.js";
import { FramesView } from "./frames_view.js";
import { GridView } from "./grid_view.js";
import { MapView } from "./map_view.js";
import { NoughtsView } from "./noughts_view.js";
import { CardsView, PayoffView } from "./table_views.js";

const RENDERERS = {
  map: MapView, board: GridView, noughts: NoughtsView, arena: ArenaView, cards: CardsView, table: PayoffView, frames: FramesView, document: DocumentView,
};

export function drawingOf(canvas, match, palette) {
  const Renderer = Object.hasOwn(RENDERERS, match.renderer) ? RENDERERS[match.renderer] : DocumentView;
  const fits = !Renderer.fits || Renderer.fits(match.views?.[0], match);
  return new (fits ? Renderer : DocumentView)(canvas, match, palette);
}
