// One plot a measure, by uPlot: lines with their intervals as bands, floors as dashed levels, words in place of series.
//
// <Curve title="Win rate against simple" kind="rate" x="steps" lines=${[{ name, x, y, low, high }]} levels=${[{ name, value }]} />
//   axis:   title of the axis of values, with its unit
//   kind:   "rate" (an axis from 0% to 100%) or "number" (an axis that contains every value, band and level)
//   lines:  each with its own ascending x; `y` may have null; `low` and `high` may be left out; `dots`: draw the points
//   levels: players whose strength stays, `of`: name of the line whose colour a level has, if it belongs to one
//   marks:  [{ x, name }] dashed upright lines
//   Few values are no curve: a single one is a text.
import { html, useEffect, useMemo, useRef } from "./html.js";
import UPlot from "../vendor/uplot.mjs";

const HEIGHT = 220;
const MOST_DOTS = 40; // values of a line that are drawn as dots, too
const FURTHEST = 1e300; // differences of values up to this one are finite
const SEATS = 8; // colours of the pages
const ACROSS = { steps: "decisions of the policy", minutes: "minutes of training" };

function colour(index) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--seat${index % SEATS}`).trim();
}

const bounded = (value) => Math.min(Math.max(value, -FURTHEST), FURTHEST);
const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

// 1.2k, 3M: numbers of an axis.
export function short(value) {
  if (!isNumber(value)) return "";
  const size = Math.abs(value);
  if (size >= 1e12 || (size > 0 && size < 1e-4)) return value.toExponential(1);
  for (const [unit, name] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) if (size >= unit) return `${Number((value / unit).toPrecision(3))}${name}`;
  return String(Number(value.toPrecision(3)));
}

// 87%, 86.5% between two of them; numbers as they are.
export function valueText(value, kind) {
  if (!isNumber(value)) return "";
  if (kind === "rate") return `${Number((100 * value).toFixed(1))}%`;
  return Math.abs(value) >= 10 && Math.abs(value) < 1e5 ? value.toLocaleString("en", { maximumFractionDigits: 1 }) : short(value);
}

export function intervalText({ value, low, high }, kind) {
  const ends = isNumber(low) && isNumber(high) && low !== high ? ` (${valueText(low, kind)} to ${valueText(high, kind)})` : "";
  return valueText(value, kind) + ends;
}

// The ends of the axis of values: 0 to 1 for rates; else all that is drawn with a tenth around it.
export function rangeOf(kind, values) {
  if (kind === "rate") return [0, 1];
  let least = Infinity;
  let greatest = -Infinity;
  for (const value of values) {
    if (!isNumber(value)) continue;
    least = Math.min(least, bounded(value));
    greatest = Math.max(greatest, bounded(value));
  }
  if (least > greatest) return [0, 1];
  const room = greatest / 10 - least / 10 || Math.abs(least) / 10 || 1;
  return [least - room / 2, greatest + room / 2];
}

// Lines that have places of their own on the axis, as the columns of one table.
export function columnsOf(lines) {
  const xs = [...new Set(lines.flatMap((line) => line.x.filter(isNumber)))].sort((a, b) => a - b);
  const places = new Map(xs.map((x, place) => [x, place]));
  const spread = (x, values) => {
    const column = new Array(xs.length).fill(null);
    x.forEach((at, i) => isNumber(at) && isNumber(values?.[i]) && (column[places.get(at)] = bounded(values[i])));
    return column;
  };
  return [xs, ...lines.flatMap(({ x, y, low, high }) => [spread(x, y), spread(x, low), spread(x, high)])];
}

function drawLevels(plot, levels, marks, ink) {
  const { ctx, bbox } = plot;
  const scale = devicePixelRatio || 1;
  ctx.save();
  ctx.font = `${11 * scale}px system-ui, sans-serif`;
  ctx.lineWidth = scale;
  for (const { value, name, stroke } of levels) {
    const y = Math.round(plot.valToPos(bounded(value), "y", true));
    ctx.strokeStyle = stroke ?? ink;
    ctx.fillStyle = ink;
    ctx.setLineDash([5 * scale, 4 * scale]);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    ctx.textAlign = "right";
    ctx.textBaseline = "bottom";
    if (levels.length === 1) ctx.fillText(name, bbox.left + bbox.width - 4 * scale, y - 3 * scale, bbox.width * 0.9);
  }
  for (const { x, name } of marks) {
    const at = Math.round(plot.valToPos(x, "x", true));
    if (at < bbox.left || at > bbox.left + bbox.width) continue;
    ctx.strokeStyle = ink;
    ctx.setLineDash([2 * scale, 3 * scale]);
    ctx.beginPath();
    ctx.moveTo(at, bbox.top);
    ctx.lineTo(at, bbox.top + bbox.height);
    ctx.stroke();
    ctx.textBaseline = "alphabetic";
    const late = at > bbox.left + bbox.width / 2;
    ctx.textAlign = late ? "right" : "left";
    ctx.fillText(name, at + (late ? -4 : 4) * scale, bbox.top + 12 * scale, bbox.width * 0.5);
  }
  ctx.restore();
}

function options({ axis: up, kind, x, lines, levels, marks }, width, readout) {
  const style = getComputedStyle(document.documentElement);
  const [ink, grid] = ["--muted", "--line"].map((name) => style.getPropertyValue(name).trim());
  const axis = {
    stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 },
    font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif", labelSize: 20, labelGap: 0,
  };
  const end = { stroke: "transparent", spanGaps: true, points: { show: false } };
  const series = [{ label: x }];
  const bands = [];
  const strokes = lines.map((line, index) => colour(line.colour ?? index));
  lines.forEach((line, index) => {
    const few = line.dots ?? line.y.filter(isNumber).length <= MOST_DOTS;
    const at = series.length;
    series.push({ label: line.name, stroke: strokes[index], width: 1.75, spanGaps: true, points: { show: few, size: 5 } }, end, end);
    bands.push({ series: [at + 2, at + 1], fill: `${strokes[index]}2e` });
  });
  const coloured = levels.map((level) => ({ ...level, stroke: strokes[lines.findIndex((line) => line.name === level.of)] }));
  const range = (plot) => rangeOf(kind, [...plot.data.slice(1).flat(), ...levels.map((level) => level.value)]);
  return {
    width, height: HEIGHT, legend: { show: false }, cursor: { y: false, drag: { x: false, y: false } },
    scales: { x: { time: false, range: (_, least, greatest) => [Math.min(0, least), greatest > 0 ? greatest : 1] }, y: { range } },
    axes: [
      { ...axis, size: 30, label: ACROSS[x] ?? x, values: (_, ticks) => ticks.map(short) },
      { ...axis, size: 52, ...(up && { label: up }), values: (_, ticks) => ticks.map((tick) => (kind === "rate" ? valueText(tick, kind) : short(tick))) },
    ],
    series, bands,
    hooks: {
      draw: [(plot) => drawLevels(plot, coloured, marks, ink)],
      setCursor: [(plot) => readout(plot.cursor.idx, plot.data)],
    },
  };
}

// What a reader who sees no plot needs: from where to where each line goes.
export function spokenText(title, kind, lines) {
  const parts = lines.map((line) => {
    const values = line.y.filter(isNumber);
    return `${line.name}: ${values.length} values, from ${valueText(values[0], kind)} to ${valueText(values.at(-1), kind)}`;
  });
  return `${title}. ${parts.join(". ")}`;
}

// The newest value of a line; its floor too where several have one, whose names would overlap in the plot.
function Key({ line, index, kind, several, levels }) {
  const at = line.y.findLastIndex(isNumber);
  const shown = intervalText({ value: line.y[at], low: line.low?.[at], high: line.high?.[at] }, kind);
  const floors = levels.length > 1 ? levels.filter((level) => level.of === line.name) : [];
  return html`<li><i class=${`key-mark c${(line.colour ?? index) % SEATS}`} aria-hidden="true"></i>${several && html`<span>${line.name}</span>`} <b>${shown}</b>${floors.map((level) => html` <small>${level.name}</small>`)}</li>`;
}

export function Curve({ title, axis = "", kind = "number", x = "steps", lines, levels = [], marks = [] }) {
  const box = useRef(null);
  const plot = useRef(null);
  const output = useRef(null);
  const columns = useMemo(() => columnsOf(lines), [lines]);
  const newest = useRef(null);
  newest.current = { columns, axis, kind, x, lines, levels, marks };
  const drawn = columns[0].length > 1;
  const shape = JSON.stringify([axis, kind, x, lines.map((line) => line.name), levels, marks]);
  useEffect(() => {
    if (!drawn) return undefined;
    const readout = (at, data) => {
      const texts = at === null || at === undefined ? [] : newest.current.lines.map((line, i) => {
        const [value, low, high] = [1, 2, 3].map((k) => data[3 * i + k]?.[at]);
        return isNumber(value) ? `${newest.current.lines.length > 1 ? `${line.name} ` : ""}${intervalText({ value, low, high }, kind)}` : "";
      }).filter(Boolean);
      if (output.current) output.current.textContent = texts.length ? `at ${short(data[0][at])} ${x}: ${texts.join(", ")}` : "";
    };
    const make = () => {
      plot.current?.destroy();
      plot.current = new UPlot(options(newest.current, box.current.clientWidth, readout), newest.current.columns, box.current);
    };
    make();
    const sizes = new ResizeObserver(() => plot.current?.setSize({ width: box.current.clientWidth, height: HEIGHT }));
    sizes.observe(box.current);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", make);
    return () => {
      sizes.disconnect();
      dark.removeEventListener("change", make);
      plot.current?.destroy();
      plot.current = null;
    };
  }, [shape, drawn]);
  useEffect(() => plot.current?.setData(columns), [columns]);
  const several = lines.length > 1;
  return html`<figure class="curve"><figcaption>${title}</figcaption>
    ${drawn && html`<div ref=${box} role="img" aria-label=${spokenText(title, kind, lines)}></div>`}
    <ul class="keys">${lines.map((line, index) => html`<${Key} key=${line.name} line=${line} index=${index} kind=${kind} several=${several} levels=${levels} />`)}
      ${!drawn && columns[0].length === 1 && html`<li class="hint">at ${short(columns[0][0])} ${x}, the only value so far</li>`}
      ${!drawn && levels.length === 1 && levels.map((level) => html`<li class="hint">${level.name}</li>`)}</ul>
    ${drawn && html`<output class="hint" ref=${output}></output>`}
  </figure>`;
}
