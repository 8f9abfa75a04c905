// The value of the match for the person's seat beside the board, as an advisor sees it. Off until the person turns it on.
import { ask } from "./hints.js";
import { html, useEffect, useRef } from "./html.js";
import { remember, remembered } from "./settings.js";
import { winPercent } from "../replay/candidates.js";

const AFTER_MS = 350; // from the turn to the question: the server answers one at a time
const LEAST_CHANGE = 3; // percent
const EVERY_MS = 2000; // in a game that does not wait

// Ask for the value at each turn of the seat, or every two seconds.
function useQuestions(game) {
  const on = isOn(game);
  const { hello, moment } = game;
  const tick = hello?.turn_based ? moment?.tick : -1;
  const turn = game.myTurn;
  useEffect(() => {
    if (!on || !hello?.advisor || (hello.turn_based && !turn)) return undefined;
    const question = () => {
      if (game.playing && game.online && !game.moment.paused && game.valueNow?.tick !== game.moment.tick) ask(game, true);
    };
    const timer = hello.turn_based ? setTimeout(question, AFTER_MS) : setInterval(question, EVERY_MS);
    return () => (hello.turn_based ? clearTimeout(timer) : clearInterval(timer));
  }, [game, on, tick, turn, hello?.advisor]);
}

function isOn(game) {
  return game.valueBar ?? remembered("value-bar", false);
}

// How a move and its answer have changed the chance to win, where they have; by it a person knows what to take back.
function changeText({ hello, valueNow, valueBefore }) {
  if (!hello.turn_based || !valueNow.wins || !valueBefore) return "";
  const change = winPercent(valueNow.value) - winPercent(valueBefore.value);
  return Math.abs(change) < LEAST_CHANGE ? "" : `, ${change > 0 ? "+" : "−"}${Math.abs(change)} since your last turn`;
}

export function ValueBar({ game }) {
  useQuestions(game);
  const range = useRef(1); // of returns, which have no bounds
  const fill = useRef(null);
  const { hello, valueNow } = game;
  const shown = isOn(game) && !game.over && hello?.advisor && hello.you.length > 0;
  const value = valueNow?.value ?? null;
  if (value !== null) range.current = Math.max(range.current, Math.abs(value));
  const percent = value === null ? 50 : valueNow.wins ? winPercent(value) : Math.round(50 + (50 * value) / range.current);
  const seat = valueNow?.seat ?? hello?.you[0] ?? 0;
  useEffect(() => {
    fill.current?.style.setProperty("width", `${percent}%`);
    fill.current?.style.setProperty("background", `var(--seat${seat % 8})`);
  });
  if (!shown) return null;
  const now = valueNow?.wins ? `${percent}% to win` : `expected return ${value?.toFixed(2).replace("-", "−")}`;
  const text = value === null ? "no value yet" : now + changeText(game);
  return html`<div class="value-bar" id="value-bar" role="meter" aria-label="Value of the match for you" aria-valuemin="0" aria-valuemax="100"
      aria-valuenow=${percent} aria-valuetext=${text}>
    <span class="value-fill" ref=${fill}></span><span class="value-text">${text}${valueNow ? ` · ${valueNow.by}` : ""}</span></div>`;
}

export function ValueSwitch({ game }) {
  if (!game.hello.advisor || !game.hello.you.length || game.over) return null;
  const turn = (event) => {
    remember("value-bar", event.target.checked);
    game.change({ valueBar: event.target.checked });
  };
  return html`<label class="check"><input type="checkbox" id="value-on" checked=${isOn(game)} onChange=${turn} /> value bar</label>`;
}
