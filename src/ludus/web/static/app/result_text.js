// Results of runs and matches in words.
import { intervalText, valueText } from "./curve.js";

// "87% against simple", "mean return 487".
export function runResultText({ against, kind, value }) {
  return kind === "rate" ? `${valueText(value.value, "rate")} against ${against}` : `mean return ${valueText(value.value, "number")}${against === "alone" ? "" : ` against ${against}`}`;
}

export function intervalOf({ kind, value }) {
  return intervalText(value, kind === "rate" ? "rate" : "number").replace(/^[^(]*/, "");
}

export function ageText(seconds) {
  if (!Number.isFinite(seconds)) return "";
  for (const [size, name] of [[86400, "day"], [3600, "hour"], [60, "minute"]]) {
    const n = Math.floor(seconds / size);
    if (n >= 1) return `${n} ${name}${n === 1 ? "" : "s"} ago`;
  }
  return "just now";
}

export function countText(n) {
  return Number.isFinite(n) ? n.toLocaleString("en") : "";
}

export function minutesText(minutes) {
  if (!Number.isFinite(minutes)) return "";
  if (minutes < 100) return `${minutes.toFixed(minutes < 10 ? 1 : 0)} min`;
  return minutes < 6000 ? `${(minutes / 60).toFixed(1)} h` : `${(minutes / 1440).toFixed(1)} days`;
}

export function resultText({ outcome, over, players, returns = [] }) {
  // What a seat alone has earned is its result, also where a limit of time has ended the match.
  if (returns.length === 1 && Number.isFinite(returns[0])) return `return ${Number(returns[0].toPrecision(4)).toLocaleString("en")}${over ? "" : ", cut off"}`;
  if (!over || outcome.length === 0) return "cut off";
  if (outcome.length === 1) return outcome[0] > 0 ? `won by ${players[0] ?? "seat 0"}` : outcome[0] < 0 ? "lost" : "over";
  const winners = outcome.flatMap((o, seat) => (o > 0 ? [players[seat] ?? `seat ${seat}`] : []));
  if (winners.length) return `won by ${winners.join(", ")}`;
  return outcome.every((o) => o === 0) ? "a draw" : "no one won";
}

const id = encodeURIComponent;

// The set-up page with a game, its parameters and an opponent chosen, as a run or a match has them.
export function playLink(run, player) {
  const params = Object.keys(run.params).length ? `&params=${id(JSON.stringify(run.params))}` : "";
  return `/play?game=${id(run.game)}${player && `&against=${id(player)}`}${params}`;
}
