// The page of a run: its curves, results, versions, settings, replays and log, as they are now.
import { post, useGet } from "./api.js";
import { valueText } from "./curve.js";
import { useFresh } from "./fresh.js";
import { Header } from "./home.js";
import { Failure, html, useState } from "./html.js";
import { keep } from "./match_keys.js";
import { Measures } from "./measures.js";
import { ageText, countText, intervalOf, minutesText, playLink, resultText, runResultText } from "./result_text.js";

const LIVE_MS = 3000;
const EVERY_MS = 10000;
const SHOWN = 12; // versions and replays before a person asks for all
const id = encodeURIComponent;

function Facts({ run, events }) {
  const started = Date.parse(run.started);
  const facts = [
    ["state", html`<span class=${`state state-${run.state}`}>${run.state}</span>`], ["game", run.title || run.game], ["method", run.method],
    ["steps", countText(run.steps)], ["trained for", minutesText(run.minutes)],
    ["started", Number.isFinite(started) && ageText((Date.now() - started) / 1000)], ["changed", ageText(run.age_s)],
    ["problems", events.filter((event) => event.event === "problem").length || ""],
  ];
  return html`<dl class="numbers facts">${facts.map(([name, value]) => value && html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

function Links({ about, page }) {
  const links = [
    page.has_report && [`/run/${id(about.id)}/report`, "Report"],
    about.league && [`/league/${id(about.id)}`, "League"],
    about.sweep && [`/sweep/${id(about.sweep)}`, "Sweep"],
    about.hosted && about.best && [`/film/${id(about.id)}`, "Watch it play"],
  ].filter(Boolean);
  return links.length > 0 && html`<p class="buttons start">${links.map(([href, text]) => html`<a class="button" key=${href} href=${href}>${text}</a>`)}</p>`;
}

// The result that people look for, in large letters.
function Headline({ about }) {
  const [first, ...others] = about.results;
  if (!first) return null;
  return html`<p class="headline" role="status"><b>${runResultText(first)}</b> <span>${intervalOf(first)}</span>
    <small>${about.measured}${others.length > 0 && `; ${others.map(runResultText).join(", ")}`}</small></p>`;
}

function Results({ rows }) {
  if (rows.length === 0) return null;
  const count = (row, name) => countText(row.counts[name]);
  const rates = rows.some((row) => row.result.kind === "rate");
  return html`<section class="panel" id="results"><h2>Results at the end of the run</h2><div class="scroll" tabindex="0"><table>
    <thead><tr><th scope="col">matches of</th><th scope="col">against</th><th scope="col" class="number">matches</th>
      ${rates && html`<th scope="col" class="number">won</th><th scope="col" class="number">drawn</th><th scope="col" class="number">lost</th>`}
      <th scope="col" class="number">${rates ? "win rate" : "mean return"}</th><th scope="col">95% interval</th></tr></thead>
    <tbody>${rows.map((row) => html`<tr key=${row.stage + row.result.against}><td>${row.stage}</td><td>${row.result.against === "alone" ? "" : row.result.against}</td>
      <td class="number">${count(row, "matches")}</td>
      ${rates && ["wins", "draws", "losses"].map((name) => html`<td class="number" key=${name}>${count(row, name)}</td>`)}
      <td class="number">${valueText(row.result.value.value, row.result.kind === "rate" ? "rate" : "number")}</td><td class="unbroken">${intervalOf(row.result).replace(/[()]/g, "")}</td></tr>`)}</tbody>
  </table></div></section>`;
}

// A match of a version against the opponent that it was evaluated against, or against itself.
function WatchButton({ about, version, against }) {
  const [why, setWhy] = useState("");
  const [busy, setBusy] = useState(false);
  const watch = async () => {
    setBusy(true);
    const own = `${about.id}@${version}`;
    for (const other of [against, own].filter(Boolean)) {
      try {
        const seats = Array.from({ length: about.seats }, (_, seat) => (seat === 0 ? own : other));
        const made = await post("/api/matches", { game: about.game, params: about.params, seats });
        keep(made.id, made.key);
        location.assign(`/watch/${id(made.id)}`);
        return;
      } catch (problem) {
        setWhy(problem.message);
      }
    }
    setBusy(false);
  };
  return html`<button type="button" disabled=${busy} onClick=${watch}>Watch</button>${why && html`<span class="failure" role="alert">${why}</span>`}`;
}

function Versions({ about, weights }) {
  const [all, setAll] = useState(false);
  if (weights.length === 0) return null;
  const newest = [...weights].reverse();
  const shown = all ? newest : newest.slice(0, SHOWN);
  return html`<section class="panel" id="versions"><h2>Versions</h2><div class="scroll"><table>
    <tbody>${shown.map(({ name, steps, results }) => html`<tr key=${name}>
      <td><b>${name}</b>${name === about.best && html` <span class="state">best</span>`}
        <br />${results[0] ? html`${runResultText(results[0])} <small>${intervalOf(results[0])}</small>` : html`<small>not evaluated</small>`}
        ${Number.isFinite(steps) && html`<br /><small>${countText(steps)} steps</small>`}</td>
      <td>${about.playable && html`<span class="buttons start"><a class="button" href=${playLink(about, `${about.id}@${name}`)}>Play</a>
        <${WatchButton} about=${about} version=${name} against=${results[0]?.against} /></span>`}</td></tr>`)}</tbody>
  </table></div>
    ${newest.length > shown.length && html`<button type="button" onClick=${() => setAll(true)}>Show all ${newest.length}</button>`}
    ${!about.playable && html`<p class="hint">Pages play compiled games that are installed here: ${about.title || about.game} is none.</p>`}</section>`;
}

function Replays({ run }) {
  const [all, setAll] = useState(false);
  const { data, error } = useGet("/api/replays", { run }, EVERY_MS);
  const replays = data?.replays ?? [];
  return html`<section class="panel" id="run-replays"><h2>Replays</h2>
    ${error && html`<${Failure}>${error}</${Failure}>`}
    ${data && replays.length === 0 && html`<p class="hint">None yet</p>`}
    <ul class="plain">${(all ? replays : replays.slice(0, SHOWN)).map((replay) => html`<li key=${replay.id}><a href=${`/replay/${id(replay.id)}`}>${replay.title || replay.name}</a>
      <small> ${replay.problem || `${replay.players.join(" – ")}; ${resultText(replay)}`}</small></li>`)}</ul>
    ${!all && replays.length > SHOWN && html`<button type="button" onClick=${() => setAll(true)}>Show all ${replays.length}</button>`}</section>`;
}

// Every match of the evaluations, once a person asks for them.
function EvaluatedMatches({ run, every }) {
  const [open, setOpen] = useState(false);
  const { data, error } = useGet(open ? `/api/runs/${id(run)}/matches` : "", {}, every);
  const rows = data?.matches ?? [];
  return html`<section class="panel" id="run-matches"><h2>Matches</h2>
    <details onToggle=${(event) => setOpen(event.target.open)}><summary>Matches of the evaluations</summary>
      ${error && html`<${Failure}>${error}</${Failure}>`}
      ${open && !data && !error && html`<p class="hint">Loading the matches</p>`}
      ${data && rows.length === 0 && html`<p class="hint">None yet</p>`}
      ${rows.length > 0 && html`<div class="scroll" tabindex="0"><table>
        <thead><tr><th scope="col">matches of</th><th scope="col">players</th><th scope="col">result</th><th scope="col" class="number">ticks</th><th scope="col">seed</th></tr></thead>
        <tbody>${rows.map((row, k) => html`<tr key=${k}><td>${row.evaluation}</td><td>${row.players.join(" – ")}</td>
          <td>${row.why || resultText(row)}</td><td class="number">${countText(row.ticks)}</td><td>${row.seed}</td></tr>`)}</tbody></table></div>`}
      ${data?.left_off && html`<p class="hint">Older ones are in matches.jsonl of the run.</p>`}
    </details></section>`;
}

const ORIGINS = { resume: "changed at a resume", "command line": "command line", preset: "preset", default: "default" };

function Settings({ settings, config }) {
  const changed = settings.filter((setting) => setting.origin !== "default");
  const about = (row) => [row.origin !== "default" && ORIGINS[row.origin], row.default && `default ${row.default}`].filter(Boolean).join("; ");
  const table = (rows) => html`<table class="settings"><thead><tr><th scope="col">setting</th><th scope="col">value</th></tr></thead>
    <tbody>${rows.map((row) => html`<tr key=${row.path}><td>${row.path.split(".").map((part, k) => html`${k > 0 && html`.<wbr />`}${part}`)}</td>
      <td>${row.value || html`<small>empty</small>`}${about(row) && html`<br /><small>${about(row)}</small>`}</td></tr>`)}</tbody></table>`;
  return html`<section class="panel" id="settings"><h2>Settings</h2>
    <details><summary>${changed.length} that are not the default</summary>${table(changed)}</details>
    <details><summary>${settings.length - changed.length} defaults</summary>${table(settings.filter((setting) => setting.origin === "default"))}</details>
    <details><summary>config.toml</summary><pre class="document" tabindex="0">${config}</pre></details></section>`;
}

function eventText(event) {
  const { time, event: kind, text, reason, ...more } = event;
  const rest = Object.entries(more).map(([name, value]) => `${name} ${typeof value === "object" ? JSON.stringify(value) : value}`);
  return [text ?? reason, ...rest].filter(Boolean).join(", ");
}

function Log({ events, log }) {
  return html`<section class="panel" id="log"><h2>Events and log</h2>
    <ul class="plain events">${events.slice(-20).reverse().map((event) => html`<li><time>${String(event.time ?? "").replace("T", " ").replace("Z", "")}</time> <b>${String(event.event ?? "")}</b> ${eventText(event)}</li>`)}</ul>
    ${log && html`<details><summary>End of log.txt</summary><pre class="document" tabindex="0">${log}</pre></details>`}</section>`;
}

export function RunPage({ id: run }) {
  const [every, setEvery] = useState(LIVE_MS);
  const { data, error } = useFresh(`/api/runs/${id(run)}`, {}, every);
  const about = data?.about;
  const live = about?.state === "running";
  if (data && (live ? LIVE_MS : EVERY_MS) !== every) setEvery(live ? LIVE_MS : EVERY_MS);
  return html`<${Header} title=${about?.name ?? run}>
      ${about?.best && about.playable && html`<a class="button primary" href=${playLink(about, `${about.id}@best`)}>Play the best</a>`}
    </${Header}>
    ${error && html`<${Failure}>${error}${data && ". What was read before is below."}</${Failure}>`}
    ${!data && !error && html`<p class="hint">Loading the run</p>`}
    ${data && html`<main class="run">
      <div class="run-main">
        <section class="panel" id="about"><h2>Run</h2><${Headline} about=${about} /><${Facts} run=${about} events=${data.events} />
          ${about.problem && html`<${Failure}>${about.problem}</${Failure}>`}
          ${data.strength && html`<p class="told">${data.strength}</p>`}${data.told && html`<p class="told">${data.told}</p>`}<${Links} about=${about} page=${data} /></section>
        <${Measures} page=${data} run=${run} live=${live ? LIVE_MS : 0}><${Results} rows=${data.results} /></${Measures}>
        <${EvaluatedMatches} run=${run} every=${every} />
        <${Log} events=${data.events} log=${data.log} /></div>
      <aside><${Versions} about=${about} weights=${data.weights} /><${Replays} run=${run} /><${Settings} settings=${data.settings} config=${data.config} /></aside>
    </main>`}`;
}
