// The page of a sweep: results of its cells with intervals and floors, curves by cell, and the state of each run.
import { useGet } from "./api.js";
import { short } from "./curve.js";
import { countText, Header } from "./home.js";
import { Failure, html, useMemo } from "./html.js";
import { Lines } from "./lines.js";
import { SortedTable } from "./sorted_table.js";

const EVERY_MS = 5000;
const id = encodeURIComponent;
const percent = (rate) => (rate === null ? "–" : `${(100 * rate).toFixed(1)}%`);
const returned = (value) => (value === null ? "–" : value.toLocaleString("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 }));
const WIDTH = 150;

export function durationText(minutes) {
  if (minutes === null || minutes === undefined) return "";
  const seconds = Math.round(60 * minutes);
  if (seconds < 60) return `${seconds} s`;
  const hours = Math.floor(seconds / 3600);
  const rest = Math.floor((seconds % 3600) / 60);
  return hours ? `${hours} h ${rest} min` : `${rest} min ${seconds % 60} s`;
}

// Centre and interval on the scale of a table, with a tick for each floor.
function Whisker({ summary, floors, least, most }) {
  const { centre, low = null, high = null } = summary;
  const at = (value) => 4 + ((value - least) / (most - least || 1)) * (WIDTH - 8);
  return html`<svg class="whisker" width=${WIDTH} height="20" viewBox=${`0 0 ${WIDTH} 20`} aria-hidden="true">
    <line class="scale" x1="4" x2=${WIDTH - 4} y1="10" y2="10" />
    ${floors.map((floor, k) => html`<line key=${k} class="floor" x1=${at(floor)} x2=${at(floor)} y1="3" y2="17" />`)}
    ${summary.values.map((value, k) => html`<circle key=${`v${k}`} class="seed" cx=${at(value)} cy="10" r="2" />`)}
    ${low !== null && high !== null && html`<line class="interval" x1=${at(low)} x2=${at(high)} y1="10" y2="10" />`}<circle class="centre" cx=${at(centre)} cy="10" r="4" /></svg>`;
}

function floorsOf(floors, result) {
  const own = floors.find((floor) => floor.cell === result.cell && floor.against === result.against);
  if (!own || result.play !== "drawn") return [];
  return [...(own.initial ? [["initial weights", own.initial.centre]] : []), ...(own.uniform ? [["uniform", own.uniform.value]] : [])];
}

// Results of one game, one way to play and one opponent: they compare.
function Results({ results, floors, baseline, runs, title }) {
  const { alone, against, play } = results[0];
  const show = alone ? returned : percent;
  const rows = results.map((result) => ({ key: result.cell, ...result, own: floorsOf(floors, result) }));
  const values = rows.flatMap((row) => [row.summary.low, row.summary.high, ...row.summary.values, ...row.own.map(([, value]) => value)].filter((value) => value !== null));
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const seeds = (row) => html`<span class="seeds">${row.seeds.map((seed, k) => {
    const run = runs.find((each) => each.cell === row.cell && each.seed === seed);
    const text = show(row.summary.values[k]);
    return html`<span key=${seed}>${run?.id ? html`<a href=${`/run/${id(run.id)}`} title=${`seed ${seed}`}>${text}</a>` : text}</span>`;
  })}</span>`;
  const columns = [
    { name: "cell", value: (row) => row.cell, show: (row) => html`${row.cell}${row.cell === baseline && html` <small class="fact">baseline</small>`}` },
    { name: rows.every((row) => row.summary.kind === rows[0].summary.kind) ? rows[0].summary.kind : "centre", value: (row) => row.summary.centre, show: (row) => html`<b>${show(row.summary.centre)}</b>`, number: true },
    { name: "95% interval", value: (row) => row.summary.low, show: (row) => row.summary.low !== null && html`<span class="unbroken">${show(row.summary.low)} to ${show(row.summary.high)}</span>` },
    { name: "", value: (row) => row.summary.centre, show: (row) => html`<${Whisker} summary=${row.summary} floors=${row.own.map(([, value]) => value)} least=${least} most=${most} />` },
    { name: "each seed", value: (row) => Math.max(...row.summary.values), show: seeds },
    ...(rows.some((row) => row.own.length) ? [{ name: "floor", value: (row) => row.own[0]?.[1], show: (row) => html`<span class="floor-text">${row.own.map(([name, value]) => `${name} ${show(value)}`).join(", ")}</span>` }] : []),
    ...(rows.some((row) => row.improvement) ? [
      { name: "P(better)", value: (row) => row.improvement?.probability, show: (row) => (row.improvement ? `${Math.round(100 * row.improvement.probability)}%` : ""), number: true },
      { name: "difference", value: (row) => row.improvement?.difference?.mean, number: true, show: (row) => {
        const difference = row.improvement?.difference;
        const signed = (value) => `${value > 0 ? "+" : ""}${alone ? returned(value) : (100 * value).toFixed(1)}`;
        return difference ? `${signed(difference.mean)} (${signed(difference.low)} to ${signed(difference.high)})` : "";
      } }] : []),
  ];
  const what = alone ? "Mean return" : `Win rate against ${against}`;
  return html`<section class="panel results"><h2>${title && `${title}: `}${what}, ${play === "drawn" ? "actions drawn" : "likeliest actions"}</h2>
    <${SortedTable} label=${what} columns=${columns} rows=${rows} />
    <p class="hint">${results[0].matches.toLocaleString("en")} final matches of each seed. Whiskers are 95% intervals, small dots the seeds${rows.some((row) => row.own.length) ? ", upright ticks the floors: results without training" : ""}.</p></section>`;
}

function Curves({ numbers }) {
  const { report, so_far: soFar } = numbers;
  const groups = useMemo(() => {
    const alone = new Set(report.results.filter((result) => result.alone).map((result) => result.cell));
    const found = new Map();
    for (const [cells, early] of [[report.curves, false], [soFar, true]]) {
      for (const [cell, curve] of Object.entries(cells)) {
        const game = report.games[cell] ?? "";
        const returns = alone.has(cell) || Math.max(...curve.mean) > 1 || Math.min(...curve.mean) < 0;
        const key = `${game}\n${returns}`;
        const group = found.get(key) ?? { game, returns, curves: [] };
        group.curves.push({ name: early ? `${cell} (so far)` : cell, x: curve.steps, mean: curve.mean, low: curve.low, high: curve.high });
        found.set(key, group);
      }
    }
    return [...found.values()].map((group) => ({ ...group, levels: levelsOf(report, group) }));
  }, [report, soFar]);
  if (groups.length === 0) return html`<section class="panel" id="sweep-curves"><h2>Learning curves</h2><p class="hint">None yet: the first run of a cell has to make some updates.</p></section>`;
  return groups.map(({ game, returns, curves, levels }) => html`<section class="panel" key=${`${game}${returns}`} id="sweep-curves"><h2>${groups.length > 1 && `${game}: `}${returns ? "Mean return" : "Win rate"} over decisions</h2>
    <${Lines} name="Learning curves" curves=${curves} levels=${levels} bounds=${returns ? null : [0, 1]} xName="decisions" show=${returns ? short : percent} />
    <p class="hint">The mean over the seeds of a cell with Student's 95% interval.${report.helped.length > 0 && ` The first part counts a curriculum's help in: ${report.helped.join(", ")}.`}</p></section>`);
}

// The floor of uniform play, where the cells of a plot agree about it.
function levelsOf(report, group) {
  const cells = new Set(group.curves.map((curve) => curve.name));
  const found = report.floors.filter((floor) => floor.uniform && cells.has(floor.cell));
  const values = found.map((floor) => floor.uniform.value);
  const opponents = new Set(found.map((floor) => floor.against));
  if (values.length === 0 || opponents.size > 1 || new Set(values).size > 1) return [];
  return [{ name: "uniform play", value: values[0] }];
}

function Runs({ runs, live }) {
  const rows = runs.map((run) => ({ key: run.name, ...run }));
  const columns = [
    { name: "run", value: (row) => row.name, show: (row) => (row.id ? html`<a href=${`/run/${id(row.id)}`}>${row.name}</a>` : row.name) },
    { name: "cell", value: (row) => row.cell },
    { name: "seed", value: (row) => row.seed, number: true },
    { name: "state", value: (row) => row.state, show: (row) => html`<span class=${`state state-${row.state}`}>${row.state}</span>${row.message && html` <small class="fact">${row.message}</small>`}` },
    ...(live ? [{ name: "progress", value: (row) => row.progress, number: true, show: (row) => html`<meter min="0" max="1" value=${row.progress} aria-hidden="true"></meter> ${Math.round(100 * row.progress)}%` }] : []),
    { name: "steps", value: (row) => row.steps, show: (row) => (row.steps ? countText(row.steps) : ""), number: true },
    { name: "time", value: (row) => row.minutes, show: (row) => (row.minutes ? durationText(row.minutes) : ""), number: true },
  ];
  return html`<section class="panel" id="sweep-runs"><h2>Runs</h2><${SortedTable} id="run-table" label="Runs" columns=${columns} rows=${rows} /></section>`;
}

function Settings({ settings }) {
  const cells = Object.keys(settings);
  const paths = Object.keys(settings[cells[0]] ?? {});
  if (paths.length === 0) return null;
  const text = (value) => (value === null || value === undefined ? "–" : typeof value === "object" ? JSON.stringify(value) : String(value));
  const columns = [{ name: "cell", value: (row) => row.cell }, ...paths.map((path) => ({ name: path, value: (row) => row.own[path], show: (row) => text(row.own[path]) }))];
  return html`<section class="panel" id="sweep-settings"><h2>Settings in which the cells differ</h2>
    <${SortedTable} label="Settings" columns=${columns} rows=${cells.map((cell) => ({ key: cell, cell, own: settings[cell] }))} /></section>`;
}

function Budgets({ budgets }) {
  if (budgets.length === 0) return null;
  const columns = [
    { name: "cell", value: (row) => row.cell },
    { name: "finished", value: (row) => row.runs, number: true },
    ...[["decisions", "steps"], ["updates", "updates"], ["gradient steps", "gradient_steps"]].map(([name, key]) => ({ name, value: (row) => row[key], show: (row) => countText(Math.round(row[key])), number: true })),
    { name: "time", value: (row) => row.minutes, show: (row) => durationText(row.minutes), number: true },
    { name: "processor time", value: (row) => row.cpu_minutes, show: (row) => durationText(row.cpu_minutes), number: true },
  ];
  return html`<section class="panel" id="sweep-budgets"><h2>Budget of a run, on average</h2><${SortedTable} label="Budget" columns=${columns} rows=${budgets.map((row) => ({ key: row.cell, ...row }))} /></section>`;
}

export function SweepPage({ id: sweep }) {
  const { data, error } = useGet(`/api/sweeps/${id(sweep)}`, {}, EVERY_MS);
  const report = data?.numbers.report;
  const groups = useMemo(() => {
    const found = new Map();
    for (const result of report?.results ?? []) {
      const key = JSON.stringify([result.game, result.play, result.against]);
      found.set(key, [...(found.get(key) ?? []), result]);
    }
    return [...found.values()];
  }, [report]);
  const games = new Set(groups.map(([result]) => result.game));
  const live = data?.state === "running";
  const failed = (data?.runs ?? []).filter((run) => run.state === "failed" || run.state === "damaged" || run.state === "lost").length;
  const running = (data?.runs ?? []).filter((run) => run.state === "running").length;
  return html`<${Header} title=${data?.title ?? `Sweep ${sweep}`}>
      ${data?.page && html`<a class="button" id="report" href=${`/sweep/${id(sweep)}/report.html`}>Report</a>`}</${Header}>
    ${error && html`<${Failure}>${error}</${Failure}>`}
    ${!data && !error && html`<p class="hint">Reading the sweep</p>`}
    ${data && html`<p class="fact" id="sweep-facts"><span class=${`state state-${data.state}`}>${data.state}</span> ${data.finished} of ${data.runs.length} runs finished${running > 0 && `, ${running} under way`}${failed > 0 && `, ${failed} failed`}${data.minutes_left !== null && `; about ${durationText(data.minutes_left)} left`}</p>
      <main class="sweep"><div class="run-main">
        ${data.numbers.problem && html`<${Failure}>${data.numbers.problem}</${Failure}>`}
        ${!data.numbers.problem && groups.length === 0 && html`<section class="panel"><h2>Results</h2><p class="hint">No run is finished: the results come from the final matches.</p></section>`}
        ${groups.map((results) => html`<${Results} key=${JSON.stringify([results[0].game, results[0].play, results[0].against])} results=${results} floors=${report.floors} baseline=${report.baseline} runs=${data.runs} title=${games.size > 1 ? results[0].game : ""} />`)}
        ${report?.results && html`<${Curves} numbers=${data.numbers} />`}
        <${Runs} runs=${data.runs} live=${live} />
        ${report?.settings && html`<${Settings} settings=${report.settings} />`}
        ${report?.budgets && html`<${Budgets} budgets=${report.budgets} />`}
        ${report?.damaged?.length > 0 && html`<section class="panel"><h2>Left out</h2><ul class="plain">${report.damaged.map((text) => html`<li key=${text}>${text}</li>`)}</ul></section>`}
        ${data.text && html`<section class="panel"><h2>Report</h2><details><summary>report.md</summary><pre class="document" tabindex="0">${data.text}</pre></details></section>`}
      </div></main>`}`;
}
