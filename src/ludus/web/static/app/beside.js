// Several runs beside each other: one plot a measure with a line for each run, and the settings in which they differ.
import { Curve } from "./curve.js";
import { useFresh } from "./fresh.js";
import { Failure, html, useMemo, useState } from "./html.js";
import { AXES, RATES, lineOf } from "./measures.js";
import { intervalOf, runResultText } from "./result_text.js";

const EVERY_MS = 5000;
const id = encodeURIComponent;

// Names of the lines: runs of the same name, in different sweeps, have what differs beside it.
function namesOf(runs) {
  const names = runs.map((run) => run.about.name);
  return runs.map((run, place) => {
    const alone = names.filter((name) => name === names[place]).length === 1;
    return alone ? names[place] : `${names[place]} (${run.label || run.about.id})`;
  });
}

function Row(setting) {
  return html`<tr key=${setting.path}><td title=${setting.path}>${setting.name}</td>${setting.values.map((value, place) => html`<td key=${place}>${value ?? "–"}</td>`)}</tr>`;
}

function Shared({ measure, names, x }) {
  const lines = useMemo(() => measure.lines.map((line, k) => ({ ...lineOf(line, x, names[measure.runs[k]]), colour: measure.runs[k] })), [measure, names.join(), x]);
  return html`<${Curve} title=${measure.title} axis=${AXES[measure.kind]} kind=${RATES.has(measure.kind) ? "rate" : "number"} x=${x} lines=${lines} />`;
}

export function Beside({ runs }) {
  const [x, setX] = useState("steps");
  const { data, error } = useFresh("/api/beside", { run: runs }, EVERY_MS);
  const names = data ? namesOf(data.runs) : [];
  const some = (data?.settings ?? []).filter((setting) => setting.values.includes(null));
  const every = (data?.settings ?? []).filter((setting) => !setting.values.includes(null));
  return html`<section class="panel" id="beside" aria-label="Runs beside each other"><h2>${runs.length} runs beside each other</h2>
    ${error && html`<${Failure}>${error}</${Failure}>`}
    ${!data && !error && html`<p class="hint">Loading</p>`}
    ${data && html`<label class="check">over <select id="beside-x" value=${x} onChange=${(event) => setX(event.target.value)}>
        <option value="steps">steps</option><option value="minutes">minutes</option></select></label>
      <div class="curves wide-curves">${data.measures.map((measure) => html`<${Shared} key=${measure.title} measure=${measure} names=${names} x=${x} />`)}</div>
      ${data.measures.length === 0 && html`<p class="hint">None of these runs has an evaluation yet.</p>`}
      <div class="scroll" tabindex="0"><table class="beside-table"><thead><tr><th scope="col">setting</th>${data.runs.map(({ about }, place) => html`<th scope="col" key=${about.id}><i class=${`key-mark c${place}`} aria-hidden="true"></i> <a href=${`/run/${id(about.id)}`}>${about.name}</a></th>`)}</tr></thead>
        <tbody><tr><td>result</td>${data.runs.map(({ about }) => html`<td key=${about.id}>${about.results[0] ? html`${runResultText(about.results[0])} <small>${intervalOf(about.results[0])}</small>` : "not evaluated"}</td>`)}</tr>
          ${every.map(Row)}</tbody></table></div>
      ${some.length > 0 && html`<details><summary>${some.length} more that not all of these runs have</summary><div class="scroll" tabindex="0"><table class="beside-table"><tbody>${some.map(Row)}</tbody></table></div></details>`}
      ${data.settings.length === 0 && html`<p class="hint">All their settings are equal but the seed.</p>`}`}
  </section>`;
}
