// Colours. Seats are told apart by colour and by the shape of their plates, hit points by length and colour; no pair
// needs red against green. Values come from the style sheet, so that light and dark are decided in one place.

export const SEAT_NAMES = ["circle", "square", "hexagon", "diamond"];

export function readPalette(seats) {
  const style = getComputedStyle(document.documentElement);
  const get = (name) => style.getPropertyValue(name).trim();
  return {
    seat: Array.from({ length: Math.max(seats, 2) }, (_, i) => get(`--seat${i % 8}`)),
    glyph: get("--glyph"),
    ground: get("--ground"),
    margin: get("--margin"),
    grid: get("--grid"),
    wall: get("--wall"),
    fog: get("--fog"),
    ink: get("--ink"),
    muted: get("--muted"),
    line: get("--line"),
    card: get("--card"),
    gold: get("--gold"),
    hpHigh: get("--hp-high"),
    hpMiddle: get("--hp-middle"),
    hpLow: get("--hp-low"),
    hpBack: get("--hp-back"),
    alarm: get("--alarm"),
    accent: get("--accent"),
    board: get("--board"),
    boardLine: get("--board-line"),
    boardInk: get("--board-ink"),
    thought: get("--thought"),
    thoughtInk: get("--thought-ink"),
    woodThought: get("--wood-thought"),
    woodThoughtInk: get("--wood-thought-ink"),
    stone: [get("--stone0"), get("--stone1")],
    stoneLight: [get("--stone0-light"), get("--stone1-light")],
    stoneRim: [get("--stone0-rim"), get("--stone1-rim")],
  };
}

export function hpColour(palette, share) {
  return share > 0.5 ? palette.hpHigh : share > 0.2 ? palette.hpMiddle : palette.hpLow;
}
