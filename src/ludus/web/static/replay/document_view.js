// A moment of a game that declares no drawing, as a table: a row for each field, grids of single signs as grids, lists of
// things as tables. Text goes in by textContent.
import { frameAt } from "./data.js";
import { element, words } from "./dom.js";

const LONGEST_VALUE = 2000; // characters of a value that is shown as text
const MOST_TABLE_ROWS = 200; // of a table
const MOST_SIGNS = 4096; // of a grid
const DEEPEST = 4; // tables in tables

// The rows of a grid, null for anything else: texts of one length, or lists of single letters or small numbers.
function gridRows(value) {
  if (!Array.isArray(value) || value.length < 2) return null;
  const rows = value.map((row) => (typeof row === "string" ? [...row] : row));
  const width = Array.isArray(rows[0]) ? rows[0].length : 0;
  const sign = (cell) => (typeof cell === "string" && [...cell].length <= 1) || (Number.isInteger(cell) && cell > -10 && cell < 100);
  const fits = width >= 2 && rows.length * width <= MOST_SIGNS && rows.every((row) => Array.isArray(row) && row.length === width && row.every(sign));
  return fits ? rows : null;
}

function isScalar(value) {
  return value === null || typeof value !== "object";
}

function signText(value) {
  const text = typeof value === "string" ? value : typeof value === "boolean" ? (value ? "yes" : "no") : JSON.stringify(value) ?? "";
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}…` : text;
}

function gridTable(rows) {
  return element("table", { class: "sign-grid" }, element("tbody", {}, ...rows.map((row) =>
    element("tr", {}, ...row.map((cell) => element("td", {}, String(cell).trim()))))));
}

// A list of things with fields: a column for each field.
function thingsTable(things, depth) {
  const names = [...new Set(things.flatMap((thing) => Object.keys(thing)))].slice(0, 24);
  const body = things.slice(0, MOST_TABLE_ROWS).map((thing) => element("tr", {}, ...names.map((name) => element("td", {}, valueNode(thing[name], depth + 1)))));
  return element("table", {}, element("thead", {}, element("tr", {}, ...names.map((name) => element("th", { scope: "col" }, words(name))))),
    element("tbody", {}, ...body));
}

function valueNode(value, depth) {
  if (value === undefined) return "";
  const grid = gridRows(value);
  if (grid) return gridTable(grid);
  if (isScalar(value) || depth > DEEPEST) return signText(value);
  if (!Array.isArray(value)) return fieldsTable(value, depth + 1);
  if (value.length && value.every((one) => !isScalar(one) && !Array.isArray(one))) return thingsTable(value, depth);
  if (value.every(isScalar)) return signText(value.length ? value.map(signText).join(", ") : "none");
  return signText(value);
}

function fieldsTable(fields, depth) {
  const rows = Object.entries(fields).slice(0, MOST_TABLE_ROWS).map(([name, value]) =>
    element("tr", {}, element("th", { scope: "row" }, words(name)), element("td", {}, valueNode(value, depth))));
  return element("table", { class: "fields-table" }, element("tbody", {}, ...rows));
}

// Stands beside a canvas that is not used.
export class DocumentView {
  constructor(canvas, match) {
    this.match = match;
    this.drawn = { characters: 0 };
    this.box = element("div", { class: "table-view document", tabindex: "0", role: "region", "aria-label": "The moment as the game describes it" });
    canvas.hidden = true;
    canvas.after(this.box);
  }

  get aspect() {
    return null;
  }

  draw({ tick }) {
    const view = this.match.views[frameAt(this.match.ticks, tick)];
    if (this.shown === view) return;
    this.shown = view;
    this.box.replaceChildren(isScalar(view) ? signText(view ?? null) : Array.isArray(view) ? valueNode(view, 0) : fieldsTable(view, 0));
    this.drawn = { characters: this.box.textContent.length };
  }

  pick() {
    return null;
  }
}
