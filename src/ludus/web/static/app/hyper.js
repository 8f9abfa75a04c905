// Settings that a population changes, over the decisions of its members.
import { html, useMemo } from "./html.js";
import { Lines } from "./lines.js";

const PANELS = 12;
const LOG_FROM = 10; // times that the greatest value is the least one
const shown = (value) => String(Number(value.toPrecision(3)));

export function HyperPanels({ lineage, members }) {
  const panels = useMemo(() => {
    const paths = [...new Set(lineage.flatMap((m) => Object.keys(m.hyper)))].sort().slice(0, PANELS);
    return paths.map((path) => {
      const curves = members.flatMap(({ name, steps, hyper }) => {
        const values = new Map(lineage.filter((m) => m.member === name && path in m.hyper).map((m) => [m.steps, m.hyper[path]]));
        if (values.size === 0 && !(path in hyper)) return [];
        values.set(steps, hyper[path] ?? [...values.values()].at(-1));
        const ordered = [...values].sort((a, b) => a[0] - b[0]);
        return [{ name, x: ordered.map(([x]) => x), mean: ordered.map(([, value]) => value) }];
      });
      const all = curves.flatMap((curve) => curve.mean);
      return { path, curves, log: Math.min(...all) > 0 && Math.max(...all) / Math.min(...all) >= LOG_FROM };
    });
  }, [lineage, members]);
  return panels.map(({ path, curves, log }) => html`<section class="panel hyper" key=${path}><h2>${path} over steps</h2>
    <${Lines} name=${path} curves=${curves} xName="decisions" stepped=${true} log=${log} show=${shown} />
    ${log && html`<p class="hint">Logarithmic scale.</p>`}</section>`);
}
