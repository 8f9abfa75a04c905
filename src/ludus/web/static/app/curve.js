// A curve of a run by uPlot: the mean of each bucket, and the band from its smallest to its largest value.
import { html, useEffect, useRef } from "./html.js";
import UPlot from "../vendor/uplot.mjs";

const HEIGHT = 180;
const MOST_DOTS = 40; // values of a curve that are drawn as dots, too

function colours() {
  const style = getComputedStyle(document.documentElement);
  const get = (name) => style.getPropertyValue(name).trim();
  return { line: get("--seat0"), ink: get("--muted"), grid: get("--line") };
}

// A value that never changes has an axis around it; zero has 0 to 1.
function range(_, least, greatest) {
  if (least === null || (least === 0 && greatest === 0)) return [0, 1];
  return UPlot.rangeNum(least, greatest, 0.1, true);
}

// Evaluations are rarer than updates: the line goes on over places without a value, and few values are dots.
function options(name, x, width, means) {
  const { line, ink, grid } = colours();
  const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 }, font: "12px system-ui, sans-serif" };
  const band = { stroke: "transparent", spanGaps: true, points: { show: false } };
  const dots = means.filter((value) => value !== null).length <= MOST_DOTS;
  return {
    width, height: HEIGHT, legend: { show: false }, cursor: { y: false },
    scales: { x: { time: false }, y: { range } },
    axes: [{ ...axis, size: 34, values: (_, ticks) => ticks.map(short) }, { ...axis, size: 56, values: (_, ticks) => ticks.map(short) }],
    series: [{ label: x }, { label: name, stroke: line, width: 1.5, spanGaps: true, points: { show: dots, size: 5 } }, band, band],
    bands: [{ series: [3, 2], fill: `${line}33` }],
  };
}

// 1.2k, 3M: numbers of an axis.
export function short(value) {
  if (value === null || value === undefined) return "";
  const size = Math.abs(value);
  for (const [unit, name] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) if (size >= unit) return `${Number((value / unit).toPrecision(3))}${name}`;
  return String(Number(value.toPrecision(3)));
}

// columns: x, mean, least and greatest value of each bucket.
export function Curve({ name, columns, x }) {
  const box = useRef(null);
  const plot = useRef(null);
  const newest = useRef(columns);
  newest.current = columns;
  useEffect(() => {
    const make = () => {
      plot.current?.destroy();
      plot.current = new UPlot(options(name, x, box.current.clientWidth, newest.current[1]), newest.current, box.current);
    };
    make();
    const sizes = new ResizeObserver(() => plot.current?.setSize({ width: box.current.clientWidth, height: HEIGHT }));
    sizes.observe(box.current);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", make);
    return () => {
      sizes.disconnect();
      dark.removeEventListener("change", make);
      plot.current.destroy();
      plot.current = null;
    };
  }, [name, x]);
  useEffect(() => plot.current?.setData(columns), [columns[1]]);
  const last = columns[1].findLast((value) => value !== null);
  return html`<figure class="curve"><figcaption>${name} <b>${short(last)}</b></figcaption><div ref=${box}></div></figure>`;
}
