// The explanation of a game as the server declares it (ludus/games/guides/guide.py): what a choice does, what it costs,
// and why it is not possible now. No drawing, no socket.
import { nameOf } from "./moves.js";

const EVERY = "*"; // the text of all choices of a head

// Explanation of a choice: {does, needs, cost}, or null.
export function choiceGuide(hello, head, choice) {
  const texts = hello.guide?.choices?.[hello.heads[head]?.name];
  if (!texts) return null;
  const label = hello.heads[head].labels[choice] ?? String(choice); // of choices without labels single ones have a text
  return (Object.hasOwn(texts, label) && texts[label]) || (Object.hasOwn(texts, EVERY) ? texts[EVERY] : null);
}

// Money of the page's seat, undefined where the game has none or the page does not see it.
export function moneyOf({ moment, seat }) {
  const money = moment?.view?.money?.[seat];
  return Number.isFinite(money) ? money : undefined;
}

export function amount(value) {
  return Number(value).toLocaleString("en");
}

// Why a choice is not possible now, a sentence without its subject: "costs 100, you have 60".
export function reasonOf(game, head, choice) {
  const { hello, seat } = game;
  const guide = choiceGuide(hello, head, choice);
  if (game.over) return "is not possible: the match is over";
  if (game.isOut) return "is not possible: your seat is out of the match";
  if (hello.turn_based && !game.toAct.includes(seat)) return "has to wait: it is not your turn";
  const money = moneyOf(game);
  if (guide?.cost > 0 && money !== undefined && money < guide.cost) return `costs ${amount(guide.cost)}, you have ${amount(money)}`;
  if (guide?.needs) return `is not possible now: it needs ${guide.needs}`;
  return "is not possible now";
}

// Why an action is not possible, by the head that forbids it.
export function whyClosed(game, action, head) {
  const { hello, view } = game;
  const choice = action[head];
  const name = nameOf(hello, view, choice, head);
  return `${name} ${reasonOf(game, head, choice)}`;
}

// All that is said about a choice in one line: what it does, what it costs and, where it is closed, why.
export function aboutChoice(game, head, choice, closed) {
  const guide = choiceGuide(game.hello, head, choice);
  const name = nameOf(game.hello, game.view, choice, head);
  const parts = [guide?.does ?? ""];
  if (guide?.cost > 0) parts.push(`Costs ${amount(guide.cost)}.`);
  if (closed) parts.push(`Now it ${reasonOf(game, head, choice)}.`);
  return { name, text: parts.filter(Boolean).join(" ") };
}
