// The start: runs, replays and matches of the folder that ludus serves.
import { RecordFile } from "./analysis.js";
import { useGet, useLink } from "./api.js";
import { Failure, html, useState } from "./html.js";
import { keep } from "./match_keys.js";

const EVERY_MS = 5000;
const SHOWN = 50;

export function Header({ title, children }) {
  const lost = useLink();
  return html`<header><a class="home" href="/">Ludus</a><h1 id="title">${title}</h1>${children}</header>
    ${lost && html`<p class="failure" role="alert" id="link">${lost}</p>`}`;
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

function Listing({ title, path, name, empty, columns, children }) {
  const { data, error } = useGet(path, {}, EVERY_MS);
  const [all, setAll] = useState(false);
  const rows = data?.[name] ?? [];
  return html`<section class="panel" id=${name} aria-label=${title}><h2>${title}</h2>
    ${error && html`<${Failure}>${error}</${Failure}>`}
    ${data && rows.length === 0 && html`<p class="hint">${empty}</p>`}
    ${rows.length > 0 && html`<div class="scroll"><table>
      <thead><tr>${columns.map((column) => html`<th scope="col">${column}</th>`)}</tr></thead>
      <tbody>${(all ? rows : rows.slice(0, SHOWN)).map(children)}</tbody></table></div>`}
    ${!all && rows.length > SHOWN && html`<button type="button" onClick=${() => setAll(true)}>Show all ${rows.length}</button>`}
  </section>`;
}

const id = encodeURIComponent;

// The set-up page with a game, its parameters and an opponent chosen, as a run or a match has them.
export function playLink(run, player) {
  const params = Object.keys(run.params).length ? `&params=${id(JSON.stringify(run.params))}` : "";
  return `/play?game=${id(run.game)}${player && `&against=${id(player)}`}${params}`;
}

export function resultText({ outcome, over, players, returns = [] }) {
  if (!over || outcome.length === 0) return "cut off";
  if (outcome.length === 1) {
    if (Number.isFinite(returns[0])) return `return ${Number(returns[0].toPrecision(4)).toLocaleString("en")}`;
    return outcome[0] > 0 ? `won by ${players[0] ?? "seat 0"}` : outcome[0] < 0 ? "lost" : "over";
  }
  const winners = outcome.flatMap((o, seat) => (o > 0 ? [players[seat] ?? `seat ${seat}`] : []));
  if (winners.length) return `won by ${winners.join(", ")}`;
  return outcome.every((o) => o === 0) ? "a draw" : "no one won";
}

export function HomePage() {
  return html`<${Header} title="Runs and matches"><a class="button primary" id="new-match" href="/play">Play a match</a></${Header}>
    <div class="home-lists">
      <${Listing} title="Matches" path="/api/matches" name="matches" columns=${["match", "game", "players", "tick", ""]}
        empty="No one plays here now.">
        ${(match) => html`<tr key=${match.id}>
          <td>${match.id}</td><td>${match.title}</td><td>${match.seats.map((seat) => seat.name).join(" – ")}</td>
          <td class="number">${match.state === "over" ? "over" : countText(match.tick)}</td>
          <td><span class="buttons">${match.state !== "over" && match.seats.some((seat) => seat.kind === "person") && html`<a class="button" href=${`/play/${id(match.id)}`}
              onClick=${() => keep(match.id, match.key)}>Join</a>`}
            <a class="button" href=${`/watch/${id(match.id)}`}>Watch</a></span></td>
        </tr>`}
      </${Listing}>
      <${Listing} title="Runs" path="/api/runs" name="runs" columns=${["run", "game", "state", "steps", "best", "changed", ""]}
        empty="No runs in this folder. ludus train makes one.">
        ${(run) => html`<tr key=${run.id}>
          <td>${run.problem ? run.name : html`<a href=${`/run/${id(run.id)}`}>${run.name}</a>`}</td><td>${run.game}</td>
          <td>${run.problem || html`<span class=${`state state-${run.state}`}>${run.state}</span>`}</td>
          <td class="number">${countText(run.steps)}</td><td>${run.best}</td><td>${ageText(run.age_s)}</td>
          <td>${run.best && run.playable && html`<a class="button" href=${playLink(run, `${run.id}@best`)}>Play it</a>`}</td>
        </tr>`}
      </${Listing}>
      <${Listing} title="Replays" path="/api/replays" name="replays" columns=${["match", "game", "players", "result", "recorded"]}
        empty="No replays in this folder. Every match that is played here is recorded.">
        ${(replay) => html`<tr key=${replay.id}>
          <td>${replay.problem ? replay.name : html`<a href=${`/replay/${id(replay.id)}`}>${replay.name}</a>`}</td>
          <td>${replay.problem || replay.game}</td><td>${replay.players.join(" – ")}</td><td>${resultText(replay)}</td>
          <td>${ageText(Date.now() / 1000 - replay.modified)}</td>
        </tr>`}
      </${Listing}>
      <${RecordFile} />
    </div>`;
}
