// Candidate moves of an analyst on a board: the expected result and the visits of each, the owners of the cells, and what
// another analyst prefers. Colours tell how much worse a move is than the best one: teal, gold, magenta.

const MOST_SHOWN = 12;
const LEAST_SHARE = 0.015; // of the visits, for a disc with numbers
const LEAST_VISITS = 4;
const SMALL_LOSS = 0.06; // of a value in [-1, 1]
const LARGE_LOSS = 0.25;
const LEAST_OWNED = 0.12;
const TWO_LINES_PX = 30; // of a cell, for visits below the expected result
const NUMBER_PX = 15;
const DARK_TEXT = "#10151c";

// 0.2 of a value in [-1, 1] as percent of a win.
export function winPercent(value) {
  return Math.round(50 * (Math.max(-1, Math.min(1, value)) + 1));
}

export function countText(value) {
  if (value < 1000) return String(Math.round(value));
  return value < 1e6 ? `${Math.round(value / 100) / 10}k` : `${Math.round(value / 1e5) / 10}M`;
}

function colourOf(palette, loss) {
  if (loss < SMALL_LOSS) return [palette.hpHigh, DARK_TEXT];
  return loss < LARGE_LOSS ? [palette.hpMiddle, DARK_TEXT] : [palette.hpLow, "#ffffff"];
}

// view: a FlatView; overlay: {values: visits a choice, q: value a choice}. Returns how many discs and numbers were drawn.
export function drawCandidates(view, ctx, { values, q }) {
  const { palette, pixels } = view;
  const found = [];
  for (let choice = 0; choice < values.length; choice++) {
    const cell = values[choice] > 0 ? view.cellOfChoice(choice) : -1;
    if (cell >= 0 && view.cells[cell] === -1) found.push({ cell, visits: values[choice], value: q[choice] });
  }
  found.sort((a, b) => b.visits - a.visits);
  const total = found.reduce((sum, move) => sum + move.visits, 0);
  const best = found[0]?.value ?? 0;
  const px = pixels / (window.devicePixelRatio || 1);
  let numbers = 0;
  found.forEach(({ cell, visits, value }, rank) => {
    const [x, y] = view.middleOf(cell);
    const large = rank < MOST_SHOWN && visits >= Math.max(LEAST_SHARE * total, Math.min(LEAST_VISITS, found[0].visits));
    const [fill, ink] = colourOf(palette, best - value);
    ctx.globalAlpha = large ? 0.92 : 0.55;
    ctx.fillStyle = fill;
    ctx.beginPath();
    ctx.arc(x, y, large ? 0.45 : 0.1, 0, 2 * Math.PI);
    ctx.fill();
    ctx.globalAlpha = 1;
    if (rank === 0) {
      ctx.strokeStyle = view.thoughtColours[0];
      ctx.lineWidth = 0.07;
      ctx.stroke();
    }
    if (!large || px < NUMBER_PX) return;
    ctx.fillStyle = ink;
    const two = px >= TWO_LINES_PX;
    view.text(ctx, String(winPercent(value)), x, y - (two ? 0.1 : 0), two ? 0.38 : 0.44, 650);
    if (two) view.text(ctx, countText(visits), x, y + 0.22, 0.23);
    numbers++;
  });
  return { discs: found.length, numbers };
}

// owned: a number a cell, 100 where seat 0 owns it, -100 where seat 1 does. Returns how many cells were marked.
export function drawOwnership(view, ctx, owned) {
  const { palette } = view;
  let marked = 0;
  for (let cell = 0; cell < Math.min(owned.length, view.cells.length); cell++) {
    const share = Math.abs(owned[cell]) / 100;
    if (share < LEAST_OWNED) continue;
    const seat = owned[cell] > 0 ? 0 : 1;
    if (view.cells[cell] === seat) continue; // its stone tells
    const [x, y] = view.middleOf(cell);
    const side = 0.16 + 0.2 * share;
    ctx.globalAlpha = 0.35 + 0.55 * share;
    ctx.fillStyle = view.stones ? palette.stone[seat] : palette.seat[seat];
    ctx.fillRect(x - side / 2, y - side / 2, side, side);
    ctx.globalAlpha = 1;
    marked++;
  }
  return marked;
}

// A dashed ring where another analyst would move.
export function drawSecond(view, ctx, choice) {
  const cell = view.cellOfChoice(choice);
  if (cell < 0 || view.cells[cell] !== -1) return false;
  ctx.strokeStyle = view.stones ? view.palette.boardInk : view.palette.ink;
  ctx.lineWidth = 0.07;
  ctx.setLineDash([0.16, 0.12]);
  ctx.beginPath();
  ctx.arc(...view.middleOf(cell), 0.47, 0, 2 * Math.PI);
  ctx.stroke();
  ctx.setLineDash([]);
  return true;
}
