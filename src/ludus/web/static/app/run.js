// The page of a run: its state, its curves, its versions and replays.
import { useGet } from "./api.js";
import { Curve } from "./curve.js";
import { ageText, countText, Header } from "./home.js";
import { Failure, html, useState } from "./html.js";
import { spoken } from "./moves.js";

const EVERY_MS = 3000;
const id = encodeURIComponent;

function Facts({ run }) {
  const facts = [
    ["state", html`<span class=${`state state-${run.state}`}>${run.state}</span>`], ["game", run.title || run.game],
    ["method", run.method], ["steps", countText(run.steps)],
    ["minutes", Number.isFinite(run.minutes) ? run.minutes.toFixed(1) : ""], ["best", run.best], ["changed", ageText(run.age_s)],
  ];
  return html`<dl class="numbers facts">${facts.map(([name, value]) => value && html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

function Curves({ name, live }) {
  const [x, setX] = useState("steps");
  const { data, error } = useGet(`/api/runs/${id(name)}/curves`, { x, points: 600 }, live ? EVERY_MS : 0);
  return html`<section class="panel" id="curves"><h2>Curves</h2>
    <label class="check">over <select id="curve-x" value=${x} onChange=${(event) => setX(event.target.value)}>
      <option value="steps">steps</option><option value="minutes">minutes</option></select></label>
    ${error && html`<${Failure}>${error}</${Failure}>`}
    ${data && data.series.length === 0 && html`<p class="hint">No metrics yet</p>`}
    <div class="curves">${data?.series.map((series) => html`<${Curve} key=${series.name} series=${series} x=${x} />`)}</div>
  </section>`;
}

function Versions({ run }) {
  const versions = run.versions ?? [];
  if (versions.length === 0) return null;
  return html`<section class="panel" id="versions"><h2>Versions</h2><div class="scroll"><table>
    <thead><tr><th scope="col">version</th><th scope="col">steps</th><th scope="col"></th></tr></thead>
    <tbody>${versions.map((version) => html`<tr key=${version.name}>
      <td>${version.label || version.name}</td><td class="number">${countText(version.step)}</td>
      <td><a class="button" href=${`/play?game=${id(run.game)}&against=${id(version.name)}`}>Play it</a></td></tr>`)}</tbody>
  </table></div></section>`;
}

function Replays({ name }) {
  const { data, error } = useGet("/api/replays", { run: name });
  const replays = data?.replays ?? [];
  return html`<section class="panel" id="run-replays"><h2>Replays</h2>
    ${error && html`<${Failure}>${error}</${Failure}>`}
    ${data && replays.length === 0 && html`<p class="hint">None yet</p>`}
    <ul class="plain">${replays.map((replay) => html`<li key=${replay.id}><a href=${`/replay/${id(replay.id)}`}>${replay.name}</a>
      <small> ${(replay.players ?? []).map(spoken).join(" – ")} ${replay.result}</small></li>`)}</ul></section>`;
}

export function RunPage({ id: name }) {
  const { data: run, error } = useGet(`/api/runs/${id(name)}`, {}, EVERY_MS);
  return html`<${Header} title=${name}>
      ${run?.best && html`<a class="button primary" href=${`/play?game=${id(run.game)}&against=${id(`${name}@best`)}`}>Play the best</a>`}
    </${Header}>
    ${error && html`<${Failure}>${error}</${Failure}>`}
    ${run && html`<main class="run">
      <div class="run-main"><${Curves} name=${name} live=${run.state === "running"} /></div>
      <aside><section class="panel"><h2>Run</h2><${Facts} run=${run} /></section>
        <${Versions} run=${run} /><${Replays} name=${name} /></aside>
    </main>`}`;
}
