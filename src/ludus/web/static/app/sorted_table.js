// A table that a click on a column's name sorts.
import { html, useState } from "./html.js";

const SHOWN = 100;

const isKnown = (value) => value !== null && value !== undefined && value !== "";

// columns: [{name, value(row), show(row), number}]; rows have a `key`. A column without any value is left out.
export function SortedTable({ id, label, columns: every, rows, first = null }) {
  const [sort, setSort] = useState(first); // {name, down}
  const [all, setAll] = useState(false);
  const columns = every.filter((each, k) => k === 0 || rows.some((row) => isKnown(each.value(row))));
  const column = columns.find((each) => each.name === sort?.name);
  const sorted = [...rows];
  if (column) {
    const compared = (a, b) => {
      const [x, y] = [column.value(a), column.value(b)];
      if (!isKnown(x) || !isKnown(y)) return isKnown(y) - isKnown(x); // what is not known comes last
      const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y), "en", { numeric: true });
      return sort.down ? -order : order;
    };
    sorted.sort(compared);
  }
  const click = (each) => setSort(sort?.name === each.name ? { name: each.name, down: !sort.down } : { name: each.name, down: Boolean(each.number) });
  const shown = all ? sorted : sorted.slice(0, SHOWN);
  return html`<div class="scroll"><table id=${id} aria-label=${label} class="sorted"><thead><tr>${columns.map((each) => html`<th key=${each.name} scope="col" class=${each.number ? "number" : ""}
      aria-sort=${sort?.name === each.name ? (sort.down ? "descending" : "ascending") : "none"}><button type="button" onClick=${() => click(each)}>${each.name}<span aria-hidden="true">${sort?.name === each.name ? (sort.down ? " ▾" : " ▴") : ""}</span></button></th>`)}</tr></thead>
    <tbody>${shown.map((row) => html`<tr key=${row.key}>${columns.map((each) => html`<td key=${each.name} class=${each.number ? "number" : ""}>${(each.show ?? each.value)(row)}</td>`)}</tr>`)}</tbody></table></div>
    ${!all && sorted.length > SHOWN && html`<button type="button" onClick=${() => setAll(true)}>Show all ${sorted.length.toLocaleString("en")}</button>`}`;
}
