// Decisions: their names, whether they are legal, and how a typed text becomes one. No drawing, no socket.

export const MOST_BUTTONS = 64;

export function isOneChoice(hello) {
  return hello.heads.length === 1;
}

// Whether decisions are chosen from lists, a list per head: they have several parts, or too many choices for buttons.
export function needsLists(hello, view) {
  if (!isOneChoice(hello)) return true;
  const { input, keys } = hello.view;
  return !cellCount(hello, view) && !(input === "keys" && keys.length) && hello.heads[0].size > MOST_BUTTONS;
}

export function labelOf(hello, choice, head = 0) {
  return hello.heads[head]?.labels?.[choice] || String(choice);
}

export function spoken(label) {
  return label.replaceAll("_", " ");
}

// The name of a choice as the board writes it (d4, 3), a cell of a map by its column and row (7, 3), else its label.
export function nameOf(hello, view, choice, head = 0) {
  const { input } = hello.view;
  if (isOneChoice(hello) && (input === "cells" || input === "columns") && choice < cellCount(hello, view)) {
    const name = view?.nameOf?.(choice);
    if (name) return name;
    if (input === "columns") return String(choice + 1);
  }
  if (placeHead(hello, view) === head && !hello.heads[head].labels.length) return cellOfPlace(hello, view, choice).join(", ");
  return spoken(labelOf(hello, choice, head));
}

// Choices that are cells of the board, or its columns: the others are buttons, such as pass.
export function cellCount(hello, view) {
  const size = hello.heads[0].size;
  const { input } = hello.view;
  if (input === "columns") return Math.min(size, view?.columns ?? size);
  if (input !== "cells") return 0;
  return Math.min(size, view?.columns ? view.columns * view.rows : size);
}

// The head whose choices are the cells of a map, -1 where there is none: a click on the map chooses there.
export function placeHead(hello, view) {
  if (hello.renderer !== "map" || !view?.tracks) return -1;
  const { width, height } = view.tracks;
  return hello.heads.findIndex((head) => head.cells && head.size >= width * height);
}

// The choice of a cell of the map, and the cell [x, y] of a choice.
export function placeOf(hello, view, x, y) {
  const { width, height } = view.tracks;
  return hello.heads[placeHead(hello, view)].cells === "columns" ? x * height + y : y * width + x;
}

export function cellOfPlace(hello, view, choice) {
  const { width, height } = view.tracks;
  if (hello.heads[placeHead(hello, view)].cells === "columns") return [Math.floor(choice / height), choice % height];
  return [choice % width, Math.floor(choice / width)];
}

// Choices with a button of their own.
export function buttonsOf(hello, view) {
  if (!isOneChoice(hello)) return [];
  const size = hello.heads[0].size;
  const first = cellCount(hello, view);
  if (hello.view.input === "keys" && hello.view.keys.length) return [];
  return size - first <= MOST_BUTTONS ? Array.from({ length: size - first }, (_, i) => first + i) : [];
}

function plain(text) {
  return text.trim().toLowerCase().replaceAll(/[\s_-]+/g, " ");
}

// The choice that a text names: a cell (d4), a column (3), a label (pass, build worker) or the only label with
// that start. {choice} or {why}.
export function choiceOf(hello, view, text) {
  const wanted = plain(text);
  if (!wanted) return { why: "Type a move first" };
  const size = hello.heads[0].size;
  const names = Array.from({ length: size }, (_, i) => plain(nameOf(hello, view, i)));
  const labels = Array.from({ length: size }, (_, i) => plain(labelOf(hello, i)));
  const exact = [names, labels].map((list) => list.indexOf(wanted)).find((i) => i >= 0);
  if (exact !== undefined) return { choice: exact };
  if (hello.view.input === "choices" && /^\d+$/.test(wanted) && Number(wanted) >= 1 && Number(wanted) <= size) {
    return { choice: Number(wanted) - 1 };
  }
  const starting = new Set([names, labels].flatMap((list) => list.flatMap((name, i) => (name.startsWith(wanted) ? [i] : []))));
  if (starting.size === 1) return { choice: [...starting][0] };
  const near = [...starting].slice(0, 4).map((i) => names[i]);
  const example = near.length ? `: did you mean ${near.join(", ")}?` : `, expected for example ${names[0]}`;
  return { why: `There is no move ${text.trim().slice(0, 40)}${example}` };
}

// The head whose mask forbids an action of a seat now, -1 if none does. The mask of a head that depends on others is
// longer than the head; then the server judges.
export function closedHead(hello, moment, seat, action) {
  const legal = moment.legal[seat];
  if (!legal) return -1;
  for (const [head, choice] of action.entries()) {
    const mask = legal[head];
    if (mask?.length !== hello.heads[head].size || mask[choice] === 1) continue;
    return head;
  }
  return -1;
}

export function mayPlay(moment, seat, choice) {
  return moment.to_act.includes(seat) && moment.legal[seat]?.[0]?.[choice] !== 0;
}

// The seat that a person moves now: of several own seats the one whose turn it is. `toAct`: seats that have a turn.
export function seatToMove(hello, toAct) {
  return hello.you.find((seat) => toAct.includes(seat)) ?? hello.you[0] ?? -1;
}
