// Hints for the person who asks: one for each press, and the value bar where it is turned on. The server computes them from
// what the seat sees.
import { html } from "./html.js";
import { cellCount, isOneChoice, nameOf, spoken } from "./moves.js";
import { winPercent } from "../replay/candidates.js";

const SHOWN_HEADS = 4;
const SHOWN_CHOICES = 3;
const STANDS_MS = 6000; // a hint of a game that does not wait

// A hint has come.
export function hinted(game, message) {
  const { valueNow } = game;
  if (message.value !== null) {
    if (valueNow && valueNow.seat === message.seat && valueNow.tick < message.tick) game.valueBefore = valueNow;
    else if (valueNow?.tick !== message.tick) game.valueBefore = null; // a move was taken back
    game.valueNow = message;
  }
  if (message.value_only) return;
  game.hint = { ...message, at: performance.now() };
  game.said = `Hint: ${hintText(game)}`;
}

// Whether the newest hint is about what the page shows.
export function currentHint(game) {
  const { hint, hello, moment } = game;
  if (!hint || !moment || game.over) return null;
  const old = hello.turn_based ? hint.tick !== moment.tick : performance.now() - hint.at > STANDS_MS;
  return old ? null : hint;
}

// The hint for the board, where its choices are cells; null without one.
export function hintOverlay(game) {
  const hint = currentHint(game);
  if (!hint || !isOneChoice(game.hello) || !cellCount(game.hello, game.view)) return null;
  const choices = hint.heads[0] ?? [];
  const values = new Float64Array(game.hello.heads[0].size);
  const searched = choices.some((one) => one.visits > 0);
  const q = searched ? new Float64Array(values.length) : null;
  for (const one of choices) {
    values[one.choice] = searched ? one.visits : one.p ?? 0;
    if (q) q[one.choice] = one.q ?? 0;
  }
  return { values, kind: searched ? "visits" : "policy", q };
}

export function ask(game, value_only) {
  if (game.seat >= 0) game.send("hint", { seat: game.seat, value_only });
}

function name(game, head, one) {
  return head === 0 && isOneChoice(game.hello) ? nameOf(game.hello, game.view, one.choice) : spoken(one.label);
}

function shareText(one, head) {
  const visits = head.reduce((sum, other) => sum + other.visits, 0);
  if (visits > 0) return `${winPercent(one.q ?? 0)}% to win`;
  return one.p === null ? "" : `${Math.round(100 * one.p)}%`;
}

// The best choice of each head.
function bestText(game) {
  const several = game.hint.heads.length > 1;
  return game.hint.heads.slice(0, several ? SHOWN_HEADS : 1).flatMap((head, k) => {
    const [best] = head;
    if (!best) return [];
    const share = shareText(best, head);
    return [`${several ? `${spoken(game.hello.heads[k].name)} ` : ""}${name(game, k, best)}${share && ` (${share})`}`];
  }).join(", ");
}

// A hint in words: the best choices of each head.
export function hintText(game) {
  const { heads, line } = game.hint;
  const several = heads.length > 1;
  const parts = heads.slice(0, SHOWN_HEADS).map((head, k) => {
    const named = head.slice(0, several ? 1 : SHOWN_CHOICES).map((one) => {
      const share = shareText(one, head);
      return `${name(game, k, one)}${share && ` (${share})`}`;
    });
    return `${several ? `${spoken(game.hello.heads[k].name)}: ` : ""}${named.join(", ")}`;
  });
  const then = line.length > 1 ? `; expects ${line.map((move) => game.words(move)).slice(0, 5).join(" ")}` : "";
  return parts.filter((part) => part).join("; ") + then;
}

// The button that asks for a hint, and the switch of the value bar.
export function HintButton({ game }) {
  const { hello } = game;
  if (!hello.advisor || !hello.you.length || game.over) return null;
  const open = game.playing && !game.isOut && !game.moment.paused && (game.myTurn || !hello.turn_based);
  return html`<button type="button" id="hint" title=${`Ask ${hello.advisor}`} disabled=${!open} onClick=${() => ask(game, false)}>Hint</button>`;
}

// The line below the board, which keeps its height: why a move was refused, else the best choice of a hint.
export function NoticeLine({ game }) {
  const hint = game.notice ? null : currentHint(game);
  return html`<p class=${hint ? "notice hinted" : "notice"} id="notice">${hint ? `Hint: ${bestText(game)}` : game.notice}</p>`;
}

// All of a hint, beside the board.
export function HintPanel({ game }) {
  const hint = currentHint(game);
  return hint && html`<section class="panel" id="hint-panel"><h2>Hint of ${hint.by}</h2><p id="hint-line">${hintText(game)}</p></section>`;
}
