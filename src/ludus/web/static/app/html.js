// Preact with htm's templates: html`<b>${text}</b>`. Texts become text nodes, never markup.
import { h, render } from "../vendor/preact.mjs";
import htm from "../vendor/htm.mjs";

export { useEffect, useErrorBoundary, useLayoutEffect, useMemo, useReducer, useRef, useState } from "../vendor/hooks.mjs";
export { render };
export const html = htm.bind(h);

const SEAT_SHAPES = ["circle", "square", "hexagon", "diamond"];

// The mark of a seat: colour and shape, as on the board.
export function SeatMark({ seat }) {
  const paint = (node) => node?.style.setProperty("--mark", `var(--seat${seat % 8})`);
  return html`<span ref=${paint} class=${`seat-mark seat-${SEAT_SHAPES[seat % 4]}`} aria-hidden="true"></span>`;
}

export function Failure({ children }) {
  return html`<p class="failure" role="alert">${children}</p>`;
}
