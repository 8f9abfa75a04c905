// Measures and series of runs as plots.
import { Curve, valueText } from "./curve.js";
import { useFresh } from "./fresh.js";
import { Failure, html, useMemo, useState } from "./html.js";
import { remember, remembered } from "./settings.js";

const POINTS = 600;
export const AXES = { rate: "win rate", return: "mean return", elo: "Elo", agreement: "agreement" };
export const RATES = new Set(["rate", "agreement"]);
const id = encodeURIComponent;

// A line of the server's as a line of a plot, over steps or minutes.
export function lineOf(line, x, name = line.name) {
  const part = (end) => line.values.map((value) => value[end]);
  return { name, x: x === "steps" ? line.steps : line.minutes, y: part("value"), low: part("low"), high: part("high") };
}

export function Measure({ measure, x, marks }) {
  const kind = RATES.has(measure.kind) ? "rate" : "number";
  const lines = useMemo(() => measure.lines.map((line) => lineOf(line, x)), [measure, x]);
  const levels = measure.levels.map((floor) => ({
    name: `floor: ${floor.what} ${valueText(floor.value.value, kind)}`,
    value: floor.value.value, of: floor.against,
  }));
  return html`<${Curve} title=${measure.title} axis=${AXES[measure.kind]} kind=${kind} x=${x} lines=${lines} levels=${levels} marks=${x === "steps" ? marks : []} />`;
}

// Curves of numbers that each update logs. A bucket of several updates has its mean, least and greatest value.
export function Series({ run, plots, x, live, player }) {
  const names = plots.map((plot) => plot.name);
  const { data, error } = useFresh(names.length ? `/api/runs/${id(run)}/curves` : "", { x, points: POINTS, name: names, ...(player && { player }) }, live);
  const lines = useMemo(() => {
    const found = new Map();
    for (const plot of plots) {
      const bucket = data?.series?.[plot.name];
      if (bucket) found.set(plot.name, [{ name: plot.title, x: data.x, y: bucket.mean, low: bucket.low, high: bucket.high }]);
    }
    return found;
  }, [data, names.join()]);
  return html`${error && html`<${Failure}>${error}</${Failure}>`}
    ${plots.map((plot) => lines.has(plot.name) && html`<${Curve} key=${plot.name} title=${plot.title} axis=${plot.unit}
      kind=${plot.kind} x=${x} lines=${lines.get(plot.name)} />`)}`;
}

function Group({ title, plots, ...more }) {
  const setting = `curves.${title}`;
  const [open, setOpen] = useState(remembered(setting, false));
  const flip = (event) => {
    setOpen(event.target.open);
    remember(setting, event.target.open);
  };
  return html`<details open=${open} onToggle=${flip}><summary>${title} <small>(${plots.length})</small></summary>
    ${open && html`<div class="curves"><${Series} plots=${plots} ...${more} /></div>`}</details>`;
}

// Plots of evaluations, then of training matches; `children` stand before the other numbers of the updates.
export function Measures({ page, run, live, children }) {
  const [x, setX] = useState("steps");
  const [member, setMember] = useState("");
  const player = page.players.includes(member) ? member : page.players[0] ?? "";
  const shown = page.measures.filter((measure) => !measure.player || measure.player === player);
  const leading = page.plots.filter((plot) => plot.leads);
  const groups = useMemo(() => {
    const found = new Map();
    for (const plot of page.plots) if (!plot.leads) found.set(plot.group, [...(found.get(plot.group) ?? []), plot]);
    return [...found];
  }, [page.plots]);
  const marks = page.marks.map(([at, name]) => ({ x: at, name }));
  const none = page.measures.length === 0 && leading.length === 0;
  return html`<section class="panel" id="curves"><h2>Learning</h2>
      <div class="filters">${none ? html`<p class="hint">No evaluation yet: a curve appears with the first one.</p>` : html`<label class="check">over
        <select id="curve-x" value=${x} onChange=${(event) => setX(event.target.value)}><option value="steps">steps</option><option value="minutes">minutes</option></select></label>`}
      ${page.players.length > 1 && html`<label class="check">member <select id="curve-player" value=${player} onChange=${(event) => setMember(event.target.value)}>
        ${page.players.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}</select></label>`}</div>
      <div class="curves wide-curves">${shown.map((measure) => html`<${Measure} key=${measure.title} measure=${measure} x=${x} marks=${marks} />`)}
        <${Series} run=${run} plots=${leading} x=${x} live=${live} player=${player} /></div>
    </section>
    ${children}
    ${groups.length > 0 && html`<section class="panel" id="more-curves"><h2>More curves</h2>
      ${groups.map(([title, plots]) => html`<${Group} key=${title} title=${title} run=${run} plots=${plots} x=${x} live=${live} player=${player} />`)}</section>`}`;
}
