// The explanation of a game beside its match: shown before the first order, closed by Escape, opened again by "?".
import { html, useEffect, useLayoutEffect, useRef, useState } from "./html.js";
import { amount } from "./guide.js";
import { spoken } from "./moves.js";
import { remember, remembered } from "./settings.js";

const WIDE = "(min-width: 901px)"; // where the panel stands beside the board: as in app.css

function Pairs({ title, pairs, open }) {
  if (!pairs.length) return null;
  return html`<details open=${open}><summary>${title}</summary><dl class="guide-pairs">
    ${pairs.map(([name, text]) => html`<div key=${name}><dt>${name}</dt><dd>${text}</dd></div>`)}</dl></details>`;
}

function priced(text, cost) {
  return cost > 0 ? html`${text} <b>Costs ${amount(cost)}.</b>` : text;
}

// Choices of a head: label -> text. One text for all of them is listed under the head's name.
function choicePairs(name, texts, several) {
  const listed = ([label, guide]) => guide.does && !/^\d+$/.test(label); // a choice without a label has its text at its place
  return Object.entries(texts).filter(listed).map(([label, guide]) => [
    label === "*" ? spoken(name) : several ? `${spoken(name)}: ${spoken(label)}` : spoken(label), priced(guide.does, guide.cost)]);
}

function pieceText(piece) {
  const facts = piece.facts.map(([name, value]) => `${name} ${value}`).join(", ");
  return priced([piece.does, facts && `${facts.slice(0, 1).toUpperCase()}${facts.slice(1)}.`].filter(Boolean).join(" "), piece.cost);
}

// All texts of a guide. `open`: whether the lists are open from the start.
export function GuideText({ guide, open }) {
  const heads = Object.entries(guide.choices);
  const choices = heads.flatMap(([name, texts]) => choicePairs(name, texts, heads.length > 1));
  const ends = [guide.win, guide.lose, guide.draw].filter(Boolean);
  return html`<p class="aim">${guide.aim}</p>
    ${guide.how.length > 0 && html`<ol class="how">${guide.how.map((line) => html`<li>${line}</li>`)}</ol>`}
    ${ends.length > 0 && html`<ul class="ends">${ends.map((line) => html`<li>${line}</li>`)}</ul>`}
    <${Pairs} title="Orders and prices" pairs=${choices} open=${open} />
    <${Pairs} title="Units and pieces" pairs=${guide.pieces.map((piece) => [piece.title, pieceText(piece)])} open=${false} />
    <${Pairs} title="On the board" pairs=${guide.legend} open=${open} />
    <${Pairs} title="Words" pairs=${Object.entries(guide.words)} open=${false} />
    <${Pairs} title="Bots" pairs=${Object.entries(guide.bots)} open=${false} />`;
}

// Whether the explanation is shown, and how to change it. Closed once, it stays closed in later matches of the game.
export function useExplanation(hello) {
  const [open, setOpen] = useState(false);
  const name = `guide.${hello?.game ?? ""}`;
  useEffect(() => {
    if (hello?.guide) setOpen(remembered(name, true) === true);
  }, [hello?.match]);
  const asked = useRef(false); // whether a person has opened it: then the focus goes there and back
  const set = (on) => {
    remember(name, on);
    setOpen(on);
    const to = on ? "guide" : asked.current ? "how-to-play" : "";
    asked.current = on;
    document.activeElement?.blur(); // keys are the game's again
    if (to) setTimeout(() => document.getElementById(to)?.focus()); // once it is rendered
  };
  return [open && !!hello?.guide, set];
}

// Escape closes the explanation, "?" opens and closes it, wherever the focus is but in a field or a dialog.
function useGuideKeys(game, open, setOpen) {
  useLayoutEffect(() => { // at once: a key may come before the page is painted
    const down = (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey || !game.hello?.guide) return;
      if (event.target.closest?.("input:not([type=checkbox]), textarea, dialog[open]") || document.querySelector("dialog[open]")) return;
      if (event.key === "Escape" && open) setOpen(false);
      else if (event.key === "?") setOpen(!open);
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", down);
    return () => removeEventListener("keydown", down);
  }, [game, open, setOpen]);
}

export function Explanation({ game, open, setOpen }) {
  useGuideKeys(game, open, setOpen);
  if (!open) return null;
  return html`<section class="panel" id="guide" tabindex="-1" aria-label="How to play">
    <div class="guide-head"><h2>How to play ${game.hello.title}</h2>
      <button type="button" id="guide-close" onClick=${() => setOpen(false)}>Close <kbd>Esc</kbd></button></div>
    <${GuideText} guide=${game.hello.guide} open=${matchMedia(WIDE).matches} />
  </section>`;
}

export function HowToPlay({ game, open, setOpen }) {
  if (!game.hello?.guide) return null;
  return html`<button type="button" id="how-to-play" aria-expanded=${open ? "true" : "false"} aria-controls="guide"
    onClick=${() => setOpen(!open)}>How to play <kbd>?</kbd></button>`;
}
