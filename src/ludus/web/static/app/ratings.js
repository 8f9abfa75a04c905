// Ratings of a league's players over the decisions of their members, with 95% intervals.
import { html, useMemo } from "./html.js";
import { Lines } from "./lines.js";

const Z95 = 1.959964;
const LEVELS = 6; // bots that are drawn as lines
const signed = (value) => `${value >= 0 ? "+" : "−"}${Math.abs(Math.round(value))}`;

export function ratingText(player) {
  if (player?.rating == null) return "";
  return `${signed(player.rating)}${player.error == null ? "" : ` ± ${Math.round(Z95 * player.error)}`}`;
}

export function RatingsPanel({ ratings, members, events, error }) {
  const { curves, levels } = useMemo(() => {
    const known = (ratings?.players ?? []).filter((player) => player.rating !== null);
    const found = members.flatMap((name) => {
      const own = known.filter((player) => player.member === name && player.steps !== null).sort((a, b) => a.steps - b.steps);
      const at = (sign) => own.map((player) => player.rating + sign * Z95 * (player.error ?? 0));
      return own.length ? [{ name, x: own.map((player) => player.steps), mean: at(0), low: at(-1), high: at(1) }] : [];
    });
    const bots = known.filter((player) => player.kind === "bot").slice(0, LEVELS).map((bot) => ({ name: bot.player, value: bot.rating }));
    return { curves: found, levels: bots };
  }, [ratings, members]);
  const anchors = Object.entries(ratings?.anchors ?? {});
  const scale = anchors.length ? anchors.map(([name, rating]) => `${name} is ${Math.round(rating)}`).join(", ") : "the mean of all is 0";
  return html`<section class="panel" id="ratings"><h2>Elo over steps</h2>
    ${error && html`<p class="failure" role="alert">${error}</p>`}
    ${ratings && curves.length === 0 && html`<p class="hint">No player has a rating yet.</p>`}
    ${curves.length > 0 && html`<${Lines} name="Elo over steps" curves=${curves} levels=${levels} xName="decisions" show=${signed} />
      <p class="hint">Bradley-Terry ratings of the frozen players and, last, of each member as it is now; bands are 95% intervals; ${scale}.
        ${ratings.groups.length > 1 && ` ${ratings.groups.length} groups of players have not met: ratings compare within a group only.`}
        ${events ? ` Of ${events.toLocaleString("en")} events.` : ""}</p>`}
  </section>`;
}
