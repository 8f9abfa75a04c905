// Elements of the pages. Text goes in by textContent.
import { SEAT_NAMES } from "./palette.js";

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") made.className = value;
    else if (value !== null) made.setAttribute(name, value);
  }
  made.append(...children.map((c) => (typeof c === "number" ? String(c) : c)));
  return made;
}

export function words(name) {
  if (/^[A-Z]{1,3}\d+$/.test(name)) return name; // a point of a board
  return String(name).replaceAll("_", " ").toLowerCase();
}

export function seatChip(seat) {
  const chip = element("span", { class: `seat-mark seat-${SEAT_NAMES[seat % 4]}`, "aria-hidden": "true" });
  chip.style.setProperty("--mark", `var(--seat${seat % 8})`);
  return chip;
}

// +2.5, −1 or 0; at most three decimals.
export function signedNumber(value) {
  const text = String(Math.round(Math.abs(value) * 1000) / 1000);
  return value > 0 ? `+${text}` : value < 0 ? `−${text}` : "0";
}
