// The start: runs, replays and matches of the folder that ludus serves.
import { useGet } from "./api.js";
import { Failure, html, useState } from "./html.js";

const EVERY_MS = 3000;
const SHOWN = 50;

export function Header({ title, children }) {
  return html`<header><a class="home" href="/">Ludus</a><h1 id="title">${title}</h1>${children}</header>`;
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

export function HomePage() {
  return html`<${Header} title="Runs and matches"><a class="button primary" id="new-match" href="/play">Play a match</a></${Header}>
    <div class="home-lists">
      <${Listing} title="Runs" path="/api/runs" name="runs" columns=${["run", "game", "state", "steps", "best", "changed", ""]}
        empty="No runs in this folder. ludus train makes one.">
        ${(run) => html`<tr key=${run.name}>
          <td><a href=${`/run/${id(run.name)}`}>${run.name}</a></td><td>${run.title || run.game}</td>
          <td><span class=${`state state-${run.state}`}>${run.state}</span></td><td class="number">${countText(run.steps)}</td>
          <td>${run.best}</td><td>${ageText(run.age_s)}</td>
          <td>${run.best && html`<a class="button" href=${`/play?game=${id(run.game)}&against=${id(`${run.name}@best`)}`}>Play it</a>`}</td>
        </tr>`}
      </${Listing}>
      <${Listing} title="Replays" path="/api/replays" name="replays" columns=${["match", "game", "players", "result", "recorded"]}
        empty="No replays in this folder. Every match that is played here is recorded.">
        ${(replay) => html`<tr key=${replay.id}>
          <td><a href=${`/replay/${id(replay.id)}`}>${replay.name}</a></td><td>${replay.title || replay.game}</td>
          <td>${(replay.players ?? []).join(" – ")}</td><td>${replay.result}</td><td>${ageText(replay.age_s)}</td>
        </tr>`}
      </${Listing}>
    </div>`;
}
