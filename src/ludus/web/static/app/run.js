// The page of a run: its state, its curves, its versions and replays.
import { useGet } from "./api.js";
import { Curve } from "./curve.js";
import { ageText, countText, Header, playLink, resultText } from "./home.js";
import { Failure, html, useMemo, useState } from "./html.js";

const EVERY_MS = 5000;
const POINTS = 600;
const MOST_CURVES = 12;
const MOST_VERSIONS = 30;
// Names that say most about a run, in this order; the others are a choice away.
const FIRST = [/^evaluation\//, /win_rate/, /^returns?\//, /return/, /score/, /loss$/, /entropy/, /per_second/];
const BOUNDS = /\/(ci_low|ci_high|ci|low|high)$/; // of an interval: they say little alone
const id = encodeURIComponent;

function Facts({ run }) {
  const facts = [
    ["state", html`<span class=${`state state-${run.state}`}>${run.state}</span>`], ["game", run.game], ["method", run.method],
    ["steps", countText(run.steps)], ["minutes", run.minutes?.toFixed(1)], ["best", run.best], ["changed", ageText(run.age_s)],
  ];
  return html`<dl class="numbers facts">${facts.map(([name, value]) => value && html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

// The series that are shown before anyone chooses.
export function firstSeries(names) {
  const found = new Set();
  for (const pattern of FIRST) for (const name of names) if (pattern.test(name) && found.size < 6) found.add(name);
  for (const name of names) if (found.size < 4 && !BOUNDS.test(name)) found.add(name);
  return [...found];
}

function Curves({ run, names, live }) {
  const [x, setX] = useState("steps");
  const [chosen, setChosen] = useState(null);
  const shown = chosen ?? firstSeries(names);
  const query = { x, points: POINTS, series: shown.join(",") };
  const { data, error } = useGet(shown.length ? `/api/runs/${id(run)}/curves` : "", query, live ? EVERY_MS : 0);
  const flip = (name, on) => setChosen(on ? [...shown, name].slice(-MOST_CURVES) : shown.filter((other) => other !== name));
  return html`<section class="panel" id="curves"><h2>Curves</h2>
    <label class="check">over <select id="curve-x" value=${x} onChange=${(event) => setX(event.target.value)}>
      <option value="steps">steps</option><option value="minutes">minutes</option></select></label>
    <details><summary>${shown.length} of ${names.length} series</summary><div class="series">
      ${names.map((name) => html`<label class="check" key=${name}><input type="checkbox" checked=${shown.includes(name)}
        onChange=${(event) => flip(name, event.target.checked)} /> ${name}</label>`)}</div></details>
    ${error && html`<${Failure}>${error}</${Failure}>`}
    ${names.length === 0 && html`<p class="hint">No metrics yet</p>`}
    <div class="curves">${data && shown.map((name) => data.series[name] && html`<${Curve} key=${name} name=${name} x=${x}
      columns=${[data.x, data.series[name].mean, data.series[name].low, data.series[name].high]} />`)}</div>
  </section>`;
}

function Versions({ about, versions }) {
  const names = useMemo(() => ["best", ...[...versions].reverse().slice(0, MOST_VERSIONS)], [versions]);
  if (versions.length === 0) return null;
  return html`<section class="panel" id="versions"><h2>Versions</h2><div class="scroll"><table>
    <tbody>${names.map((name) => html`<tr key=${name}><td>${about.name}@${name}</td>
      <td>${about.playable && html`<a class="button" href=${playLink(about, `${about.id}@${name}`)}>Play it</a>`}</td></tr>`)}</tbody>
  </table></div>${!about.playable && html`<p class="hint">Pages play compiled games that are installed here: ${about.game} is none.</p>`}</section>`;
}

function Replays({ run }) {
  const { data, error } = useGet("/api/replays", { run });
  const replays = data?.replays ?? [];
  return html`<section class="panel" id="run-replays"><h2>Replays</h2>
    ${error && html`<${Failure}>${error}</${Failure}>`}
    ${data && replays.length === 0 && html`<p class="hint">None yet</p>`}
    <ul class="plain">${replays.map((replay) => html`<li key=${replay.id}><a href=${`/replay/${id(replay.id)}`}>${replay.name}</a>
      <small> ${replay.players.join(" – ")}; ${resultText(replay)}</small></li>`)}</ul></section>`;
}

export function RunPage({ id: run }) {
  const { data, error } = useGet(`/api/runs/${id(run)}`, {}, EVERY_MS);
  const about = data?.about;
  return html`<${Header} title=${about?.name ?? run}>
      ${about?.best && about.playable && html`<a class="button primary" href=${playLink(about, `${about.id}@best`)}>Play the best</a>`}
    </${Header}>
    ${error && html`<${Failure}>${error}</${Failure}>`}
    ${data && html`<main class="run">
      <div class="run-main"><${Curves} run=${run} names=${data.series} live=${about.state === "running"} />
        ${data.log && html`<section class="panel"><h2>Log</h2><pre class="document" tabindex="0">${data.log}</pre></section>`}</div>
      <aside><section class="panel"><h2>Run</h2><${Facts} run=${about} /></section>
        <${Versions} about=${about} versions=${data.versions} /><${Replays} run=${run} />
        <section class="panel"><h2>Configuration</h2><details><summary>config.toml</summary>
          <pre class="document" tabindex="0">${data.config}</pre></details></section></aside>
    </main>`}`;
}
