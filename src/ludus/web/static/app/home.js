// The start: runs, replays and matches of the folder that ludus serves.
import { RecordFile } from "./analysis.js";
import { useGet, useLink } from "./api.js";
import { Beside } from "./beside.js";
import { Failure, html, useState } from "./html.js";
import { keep } from "./match_keys.js";
import { ageText, countText, resultText } from "./result_text.js";
import { Runs } from "./runs.js";

export { ageText, countText, playLink, resultText } from "./result_text.js";

const EVERY_MS = 5000;
const SHOWN = 20;
const id = encodeURIComponent;

export function Header({ title, children }) {
  const lost = useLink();
  return html`<header><a class="home" href="/">Ludus</a><h1 id="title">${title}</h1>${children}</header>
    ${lost && html`<p class="failure" role="alert" id="link">${lost}</p>`}`;
}

function Listing({ title, path, name, empty, columns, children }) {
  const { data, error } = useGet(path, {}, EVERY_MS);
  const [all, setAll] = useState(false);
  const rows = data?.[name] ?? [];
  return html`<section class="panel" id=${name} aria-label=${title}><h2>${title}</h2>
    ${error && html`<${Failure}>${error}</${Failure}>`}
    ${!data && !error && html`<p class="hint">Loading</p>`}
    ${data && rows.length === 0 && html`<p class="hint">${empty}</p>`}
    ${rows.length > 0 && html`<div class="scroll"><table>
      <thead><tr>${columns.map((column) => html`<th scope="col">${column}</th>`)}</tr></thead>
      <tbody>${(all ? rows : rows.slice(0, SHOWN)).map(children)}</tbody></table></div>`}
    ${!all && rows.length > SHOWN && html`<button type="button" onClick=${() => setAll(true)}>Show all ${rows.length}</button>`}
    ${data?.left_off > 0 && html`<p class="hint">${countText(data.left_off)} older ones were not looked at.</p>`}
  </section>`;
}

function MatchRow(match) {
  const playing = match.state !== "over";
  const names = match.seats.map((seat) => seat.name).join(" – ");
  return html`<tr key=${match.id} id=${`match-${match.id}`}>
    <td>${match.title}</td><td>${names}</td><td class="number">${playing ? `tick ${countText(match.tick)}` : "over"}</td>
    <td><span class="buttons start">${playing && match.seats.some((seat) => seat.kind === "person") && html`<a class="button" href=${`/play/${id(match.id)}`}
        onClick=${() => keep(match.id, match.key)}>Join</a>`}
      <a class="button" href=${`/watch/${id(match.id)}`}>Watch</a></span></td></tr>`;
}

export function HomePage() {
  const chosen = new URLSearchParams(location.search).getAll("compare");
  return html`<${Header} title=${chosen.length > 1 ? "Runs beside each other" : "Runs and matches"}><a class="button primary" id="new-match" href="/play">Play a match</a></${Header}>
    <div class="home-lists">
      ${chosen.length > 1 && html`<${Beside} runs=${chosen} />`}
      <${Listing} title="Matches" path="/api/matches" name="matches" columns=${["game", "players", "state", ""]}
        empty="No one plays here now.">${MatchRow}</${Listing}>
      <${Runs} chosen=${chosen} />
      <${Listing} title="Replays" path="/api/replays" name="replays" columns=${["match", "game", "players", "result", "recorded"]}
        empty="No replays in this folder. Every match that is played here is recorded.">
        ${(replay) => html`<tr key=${replay.id}>
          <td>${replay.problem ? replay.name : html`<a href=${`/replay/${id(replay.id)}`}>${replay.title || replay.name}</a>`}</td>
          <td>${replay.problem || replay.game}</td><td>${replay.players.join(" – ")}</td><td>${!replay.problem && resultText(replay)}</td>
          <td>${ageText(Date.now() / 1000 - replay.modified)}</td>
        </tr>`}
      </${Listing}>
      <${RecordFile} />
    </div>`;
}
