// Buttons, sliders, keys. Each action has one name; buttons and keys both call it.
import { characterOf } from "./keyboard.js";

export const SPEEDS = [0.25, 0.5, 1, 2, 4, 8, 16, 32];

// keys, action, their names in the help and its text, and what the match must have for it: units, fog, thoughts, opinions, overlay.
export const KEYS = [
  [[" ", "k"], "toggle", "Space, K", "play or pause"],
  [["ArrowRight"], "nextDecision", "→", "next decision"],
  [["ArrowLeft"], "previousDecision", "←", "previous decision"],
  [["."], "nextTick", ".", "one tick on"],
  [[","], "previousTick", ",", "one tick back"],
  [["]"], "nextEvent", "]", "next event"],
  [["["], "previousEvent", "[", "previous event"],
  [["PageDown"], "jumpOn", "Page down", "on by a twentieth of the match"],
  [["PageUp"], "jumpBack", "Page up", "back by a twentieth of the match"],
  [["Home"], "first", "Home", "start"],
  [["End"], "last", "End", "end"],
  [["ArrowUp", "+", "="], "faster", "↑, +", "faster"],
  [["ArrowDown", "-"], "slower", "↓, −", "slower"],
  [["f"], "cycleFog", "F", "fog: spectator, then each seat", "fog"],
  [["o"], "toggleOrders", "O", "orders on or off", "units"],
  [["b"], "toggleBars", "B", "hit points on or off", "units"],
  [["l"], "toggleLetters", "L", "command letters on or off", "units"],
  [["n"], "selectNext", "N", "select the next unit", "units"],
  [["p"], "selectPrevious", "P", "select the previous unit", "units"],
  [["e"], "nextMark", "E", "next large drop of the value or unexpected decision", "thoughts"],
  [["w"], "previousMark", "W", "previous one", "thoughts"],
  [["t"], "nextOpinion", "T", "thoughts of the other player", "opinions"],
  [["v"], "togglePolicy", "V", "thoughts on the board on or off", "overlay"],
  [["Escape"], "unselect", "Esc", "select nothing", "units"],
  [["?", "h"], "help", "?, H", "this help"],
];

const ACTION_OF_KEY = new Map(KEYS.flatMap(([keys, action]) => keys.map((key) => [key, action])));

export function bindKeys(actions, isHelpOpen) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const character = characterOf(event);
    const key = character.length === 1 ? character.toLowerCase() : character;
    const action = ACTION_OF_KEY.get(key);
    if (!action || (isHelpOpen() && action !== "help")) return;
    const target = event.target;
    // A control that has the focus keeps the keys that it understands itself.
    if (target instanceof HTMLButtonElement && target.offsetParent && (key === " " || key === "Enter")) return;
    if (target instanceof HTMLInputElement && target.type === "checkbox" && key === " ") return;
    if (target instanceof HTMLInputElement && target.type === "range" && /^(Arrow|Page|Home|End)/.test(key)) return;
    if (target instanceof HTMLInputElement && target.type === "radio" && /^(Arrow| )/.test(key)) return;
    event.preventDefault();
    actions[action]();
  });
}

// has: which of these the match has.
export function fillHelp(list, has) {
  for (const [, , keys, meaning, needs] of KEYS) {
    if (needs && !has.includes(needs)) continue;
    const term = document.createElement("dt");
    for (const key of keys.split(", ")) {
      const cap = document.createElement("kbd");
      cap.textContent = key;
      term.append(cap, " ");
    }
    const text = document.createElement("dd");
    text.textContent = meaning;
    list.append(term, text);
  }
}

// Buttons carry the name of their action in data-action.
export function bindButtons(actions) {
  for (const button of document.querySelectorAll("button[data-action]")) {
    button.addEventListener("click", () => actions[button.dataset.action]());
  }
}

// Dragging on the timeline. tickAt: CSS x to tick.
export function bindTimeline(canvas, tickAt, seek) {
  const go = (event) => seek(tickAt(event.clientX - canvas.getBoundingClientRect().left));
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    go(event);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (canvas.hasPointerCapture(event.pointerId)) go(event);
  });
}

export function speedText(speed) {
  return speed < 1 ? { 0.25: "¼×", 0.5: "½×" }[speed] : `${speed}×`;
}
