// The list of runs: filtered, sorted, grouped; a sweep is one line. Chosen ones are compared.
import { useGet } from "./api.js";
import { Failure, html, useMemo, useState } from "./html.js";
import { ageText, countText, intervalOf, minutesText, playLink, runResultText } from "./result_text.js";
import { remember, remembered } from "./settings.js";

const EVERY_MS = 5000;
const SHOWN = 50;
const MOST_BESIDE = 8;
const id = encodeURIComponent;
const first = (run) => run.results?.[0]?.value.value ?? -Infinity;
const ORDERS = {
  newest: (a, b) => a.age_s - b.age_s,
  result: (a, b) => first(b) - first(a),
  steps: (a, b) => (b.steps ?? -1) - (a.steps ?? -1),
  minutes: (a, b) => (b.minutes ?? -1) - (a.minutes ?? -1),
  name: (a, b) => a.name.localeCompare(b.name, "en", { numeric: true }),
};
const SETTING = "setting:"; // a group by a setting: its path follows
const GROUPS = { nothing: () => "", game: (run) => run.title || run.game || "unknown", state: (run) => run.state || "unreadable", method: (run) => run.method || "unknown" };

// Runs and sweeps as lines: all runs of a sweep are one.
export function linesOf(runs) {
  const sweeps = new Map();
  const lines = [];
  for (const run of runs) {
    if (!run.sweep) {
      lines.push(run);
      continue;
    }
    const inside = sweeps.get(run.sweep);
    if (inside) inside.push(run);
    else sweeps.set(run.sweep, [run]);
  }
  for (const [sweep, inside] of sweeps) lines.push(sweepLine(sweep, inside));
  return lines;
}

function sweepLine(sweep, inside) {
  const count = (state) => inside.filter((run) => run.state === state).length;
  const best = inside.reduce((a, b) => (first(b) > first(a) ? b : a));
  const running = count("running");
  const states = ["running", "finished", "interrupted", "failed", "lost"].filter(count).map((state) => `${count(state)} ${state}`);
  return {
    ...best, id: sweep, name: sweep, runs: inside, of: best.name, best: "", problem: "", told: states.join(", "),
    state: running ? "running" : count("finished") === inside.length ? "finished" : "interrupted",
    steps: sum(inside, "steps"), minutes: sum(inside, "minutes"), age_s: Math.min(...inside.map((run) => (run.problem ? Infinity : run.age_s))),
  };
}

function sum(runs, name) {
  const known = runs.map((run) => run[name]).filter(Number.isFinite);
  return known.length ? known.reduce((a, b) => a + b, 0) : null;
}

export function matchesText(run, text) {
  const all = [run.name, run.title, run.game, run.method, run.state, ...(run.runs ?? []).map((one) => one.name)].join(" ").toLowerCase();
  return text.toLowerCase().split(/\s+/).every((word) => all.includes(word));
}

function Result({ run }) {
  const [strongest] = run.results ?? [];
  if (!strongest) return html`<small>${run.state === "running" ? "no evaluation yet" : "not evaluated"}</small>`;
  return html`<span class="result-cell" title=${`${run.measured}: ${run.results.map(runResultText).join(", ")}`}><b>${runResultText(strongest)}</b> <small>${intervalOf(strongest)}${run.runs && `, best of ${run.runs.length}: ${run.of}`}</small></span>`;
}

function Action({ run }) {
  if (run.runs) return html`<a class="button" href=${`/sweep/${id(run.id)}`}>Cells</a>`;
  return html`<span class="buttons start">
    ${run.best && run.playable && html`<a class="button" href=${playLink(run, `${run.id}@best`)}>Play it</a>`}
    ${run.best && run.hosted && html`<a class="button" href=${`/film/${id(run.id)}`}>Watch</a>`}
    ${run.league && html`<a class="button" href=${`/league/${id(run.id)}`}>League</a>`}</span>`;
}

function Row({ run, chosen, onChoose }) {
  const kind = run.runs ? html`<small class="kind">sweep of ${run.runs.length} runs</small>` : run.league ? html`<small class="kind">league</small>` : "";
  if (run.problem) return html`<tr><td></td><td>${run.name}</td><td colspan="6">${run.problem}</td></tr>`;
  return html`<tr class=${chosen ? "chosen" : ""}>
    <td>${!run.runs && html`<label class="check"><input type="checkbox" checked=${chosen} aria-label=${`compare ${run.name}`} onChange=${(event) => onChoose(event.target.checked)} /></label>`}</td>
    <td><a href=${run.runs ? `/sweep/${id(run.id)}` : `/run/${id(run.id)}`}>${run.name}</a>${kind}</td>
    <td>${run.title || run.game}</td>
    <td><${Result} run=${run} /></td>
    <td><span class=${`state state-${run.state}`} title=${run.told ?? ""}>${run.state}</span></td>
    <td class="number steps">${countText(run.steps)}</td><td class="number unbroken">${minutesText(run.minutes)}</td>
    <td class="unbroken">${ageText(run.age_s)}</td><td><${Action} run=${run} /></td></tr>`;
}

function Choice({ name, label, value, options, onOpen, onChange }) {
  return html`<label class="check">${label} <select id=${`runs-${name}`} value=${value} onFocus=${onOpen} onPointerEnter=${onOpen} onChange=${(event) => onChange(event.target.value)}>
    ${options.map(([key, text]) => html`<option key=${key} value=${key}>${text}</option>`)}</select></label>`;
}

export function Runs({ chosen: given }) {
  const { data, error } = useGet("/api/runs", {}, EVERY_MS);
  const [asked, setAsked] = useState({ text: "", game: "", state: "", order: remembered("runs.order", "newest"), group: remembered("runs.group", "nothing") });
  const [chosen, setChosen] = useState(given);
  const [grouped, setGrouped] = useState(asked.group.startsWith(SETTING)); // settings are read once a person may want them
  const [all, setAll] = useState(false);
  const differ = useGet(grouped ? "/api/grouping" : "");
  const settings = differ.data?.settings ?? [];
  const lines = useMemo(() => linesOf(data?.runs ?? []), [data]);
  const set = (name, value) => {
    setAsked((now) => ({ ...now, [name]: value }));
    if (name === "order" || name === "group") remember(`runs.${name}`, value);
  };
  const games = [...new Map(lines.map((run) => [run.game, run.title || run.game]))].filter(([name]) => name);
  const states = [...new Set(lines.map((run) => run.state).filter(Boolean))];
  const found = lines.filter((run) => matchesText(run, asked.text) && (!asked.game || run.game === asked.game) && (!asked.state || run.state === asked.state));
  found.sort(ORDERS[asked.order] ?? ORDERS.newest);
  const bySetting = settings.find((setting) => SETTING + setting.path === asked.group);
  const group = bySetting ? (run) => `${bySetting.name} = ${bySetting.values[run.id] ?? "of a sweep"}` : GROUPS[asked.group] ?? GROUPS.nothing;
  const groups = Map.groupBy ? Map.groupBy(found, group) : found.reduce((made, run) => made.set(group(run), [...(made.get(group(run)) ?? []), run]), new Map());
  const flip = (run, on) => setChosen((now) => (on ? [...now.filter((one) => one !== run.id), run.id].slice(-MOST_BESIDE) : now.filter((one) => one !== run.id)));
  let room = all ? Infinity : SHOWN;
  const compare = `/?${new URLSearchParams(chosen.map((one) => ["compare", one]))}`;
  return html`<section class="panel" id="runs" aria-label="Runs"><h2>Runs</h2>
    ${error && html`<${Failure}>${error}</${Failure}>`}
    ${!data && !error && html`<p class="hint">Loading</p>`}
    ${data && lines.length === 0 && html`<p class="hint">No runs in this folder. ludus train makes one.</p>`}
    ${lines.length > 1 && html`<div class="filters">
      <label class="check">find <input id="runs-text" type="text" value=${asked.text} onInput=${(event) => set("text", event.target.value)} /></label>
      ${games.length > 1 && html`<${Choice} name="game" label="game" value=${asked.game} options=${[["", "all"], ...games]} onChange=${(value) => set("game", value)} />`}
      ${states.length > 1 && html`<${Choice} name="state" label="state" value=${asked.state} options=${[["", "all"], ...states.map((state) => [state, state])]} onChange=${(value) => set("state", value)} />`}
      <${Choice} name="order" label="sort by" value=${asked.order} options=${Object.keys(ORDERS).map((name) => [name, name])} onChange=${(value) => set("order", value)} />
      <${Choice} name="group" label="group by" value=${asked.group} options=${[...Object.keys(GROUPS).map((name) => [name, name]), ...settings.map((setting) => [SETTING + setting.path, setting.name])]}
        onOpen=${() => setGrouped(true)} onChange=${(value) => set("group", value)} />
      ${chosen.length > 1 ? html`<a class="button primary" id="compare" href=${compare}>Compare ${chosen.length} runs</a>` : html`<span class="hint">Mark two runs to compare them.</span>`}</div>`}
    ${[...groups].map(([name, runs]) => {
      const shown = runs.slice(0, Math.max(0, room));
      room -= shown.length;
      return shown.length > 0 && html`${name && html`<h3 class="group">${name} <small>${runs.length}</small></h3>`}<div class="scroll"><table class="runs-table" key=${name}>
        <thead><tr><th scope="col"></th>${["run", "game", "result", "state", "steps", "trained for", "changed", ""].map((column) => html`<th scope="col" class=${column === "steps" || column === "trained for" ? "number" : ""}>${column}</th>`)}</tr></thead>
        <tbody>${shown.map((run) => html`<${Row} key=${run.id} run=${run} chosen=${chosen.includes(run.id)} onChoose=${(on) => flip(run, on)} />`)}</tbody></table></div>`;
    })}
    ${data && lines.length > 0 && found.length === 0 && html`<p class="hint">No run fits.</p>`}
    ${!all && found.length > SHOWN && html`<button type="button" onClick=${() => setAll(true)}>Show all ${found.length}</button>`}
  </section>`;
}
