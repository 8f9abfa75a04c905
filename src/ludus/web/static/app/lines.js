// Several curves in one plot by uPlot: a mean with its band each, a list of names that shows and hides them, and the
// values under the cursor.
import { short } from "./curve.js";
import { html, useEffect, useMemo, useRef, useState } from "./html.js";
import UPlot from "../vendor/uplot.mjs";

const COLOURS = 8; // --seat0 to --seat7
const MOST_DOTS = 20;
const SHOWN = 8; // curves that are drawn before anyone chooses
const DASHES = [[], [8, 4], [2, 3]];

const colourOf = (k) => getComputedStyle(document.documentElement).getPropertyValue(`--seat${k % COLOURS}`).trim();

// One axis for curves whose points differ: x of all of them, with null where a curve has none.
function aligned(curves) {
  const xs = [...new Set(curves.flatMap((curve) => curve.x))].sort((a, b) => a - b);
  const place = new Map(xs.map((x, k) => [x, k]));
  const columns = [xs];
  for (const curve of curves) {
    for (const name of ["mean", "low", "high"]) {
      const column = new Array(xs.length).fill(null);
      curve.x.forEach((x, k) => { column[place.get(x)] = curve[name]?.[k] ?? null; });
      columns.push(column);
    }
  }
  return columns;
}

function options(curves, numbers, { width, height, levels, bounds, xName, stepped, log, say }) {
  const style = getComputedStyle(document.documentElement);
  const get = (name) => style.getPropertyValue(name).trim();
  const axis = { stroke: get("--muted"), grid: { stroke: get("--line"), width: 1 }, ticks: { stroke: get("--line"), width: 1 }, font: "12px system-ui, sans-serif" };
  const hidden = { stroke: "transparent", spanGaps: true, points: { show: false } };
  const series = [{ label: "x" }];
  const bands = [];
  curves.forEach((curve, k) => {
    const colour = colourOf(numbers[k]);
    const dots = curve.x.length <= MOST_DOTS;
    series.push({ label: curve.name, ...(stepped && { paths: UPlot.paths.stepped({ align: 1 }) }), stroke: colour, width: 2, spanGaps: true, dash: DASHES[Math.floor(numbers[k] / COLOURS) % DASHES.length], points: { show: dots, size: 6, fill: colour } }, hidden, hidden);
    bands.push({ series: [3 * k + 3, 3 * k + 2], fill: `${colour}2e` });
  });
  const range = (_, low, high) => {
    const values = levels.map((level) => level.value);
    const [least, most] = bounds ?? [Math.min(low ?? 0, ...values), Math.max(high ?? 1, ...values)];
    return bounds ?? UPlot.rangeNum(least, most === least ? least + 1 : most, 0.08, true);
  };
  const drawLevels = (plot) => {
    const { ctx } = plot;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = get("--muted");
    ctx.setLineDash([5 * devicePixelRatio, 4 * devicePixelRatio]);
    ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
    for (const { name, value } of levels) {
      const y = plot.valToPos(value, "y", true);
      ctx.beginPath();
      ctx.moveTo(plot.bbox.left, y);
      ctx.lineTo(plot.bbox.left + plot.bbox.width, y);
      ctx.stroke();
      const text = name.length > 40 ? `${name.slice(0, 39)}…` : name;
      const right = plot.bbox.left + plot.bbox.width - 4 * devicePixelRatio;
      ctx.textAlign = "right";
      ctx.globalAlpha = 0.8;
      ctx.fillStyle = get("--card");
      ctx.fillRect(right - ctx.measureText(text).width - 3, y - 15 * devicePixelRatio, ctx.measureText(text).width + 6, 14 * devicePixelRatio);
      ctx.globalAlpha = 1;
      ctx.fillStyle = get("--muted");
      ctx.fillText(text, right, y - 4 * devicePixelRatio);
    }
    ctx.restore();
  };
  return {
    width, height, legend: { show: false }, cursor: { y: false }, series, bands,
    scales: { x: { time: false }, y: log ? { distr: 3 } : { range } },
    axes: [{ ...axis, label: xName, labelSize: 18, labelFont: "12px system-ui, sans-serif", size: 30, values: (_, ticks) => ticks.map(short) },
      { ...axis, size: 56, ...(log && { filter: (_, ticks) => ticks.map((tick) => (/^1(e|0*$)/.test(tick.toExponential()) ? tick : null)) }), values: (_, ticks) => ticks.map((tick) => (bounds?.[1] === 1 ? `${Math.round(100 * tick)}%` : short(tick))) }],
    hooks: { draw: [drawLevels], setCursor: [(plot) => say(plot.cursor.idx ?? null)] },
  };
}

// curves: [{name, x, mean, low, high}]; levels: [{name, value}] across the plot; show(value): text of a value; stepped: a
// value stays until the next one; log: a logarithmic scale.
export function Lines({ name, curves, levels = [], bounds = null, xName, height = 260, show = short, stepped = false, log = false }) {
  const box = useRef(null);
  const plot = useRef(null);
  const [at, setAt] = useState(null);
  const [chosen, setChosen] = useState(null);
  const shown = chosen ?? curves.slice(0, SHOWN).map((curve) => curve.name);
  const drawn = useMemo(() => curves.filter((curve) => shown.includes(curve.name)), [curves, chosen]);
  const numbers = drawn.map((curve) => curves.indexOf(curve));
  const columns = useMemo(() => aligned(drawn), [drawn]);
  const key = JSON.stringify([drawn.map((curve) => curve.name), numbers, levels, bounds, xName, stepped, log]);
  useEffect(() => {
    const make = () => {
      plot.current?.destroy();
      plot.current = new UPlot(options(drawn, numbers, { width: box.current.clientWidth, height, levels, bounds, xName, stepped, log, say: setAt }), columns, box.current);
    };
    make();
    const sizes = new ResizeObserver(() => plot.current?.setSize({ width: box.current.clientWidth, height }));
    sizes.observe(box.current);
    const theme = matchMedia("(prefers-color-scheme: dark)");
    theme.addEventListener("change", make);
    return () => {
      sizes.disconnect();
      theme.removeEventListener("change", make);
      plot.current.destroy();
      plot.current = null;
    };
  }, [key]);
  useEffect(() => plot.current?.setData(columns), [columns]);
  const value = (k) => {
    const column = columns[3 * k + 1] ?? [];
    const found = at === null ? column.findLast((v) => v !== null) : column[at];
    return found === null || found === undefined ? "" : show(found);
  };
  const flip = (curve, on) => setChosen(on ? [...shown, curve] : shown.filter((other) => other !== curve));
  return html`<figure class="lines" aria-label=${name}><div ref=${box}></div>
    <figcaption class="line-names">${at !== null && columns[0][at] !== undefined && html`<span class="fact">${xName} ${columns[0][at].toLocaleString("en")}</span>`}
      ${curves.map((curve, k) => html`<label class="check" key=${curve.name}><input type="checkbox" checked=${shown.includes(curve.name)}
        onChange=${(event) => flip(curve.name, event.target.checked)} /><span class=${`swatch colour${k % COLOURS}`} aria-hidden="true"></span>
        <span class="line-name">${curve.name}</span> <b>${drawn.includes(curve) ? value(drawn.indexOf(curve)) : ""}</b></label>`)}</figcaption></figure>`;
}
