// Thoughts of players about the decisions of the match (ludus/web/thoughts/page.py writes them): the value over the match,
// the choices of the decision at hand, and the decisions that are worth a look.
import { frameAt } from "./data.js";
import { element, seatChip, words } from "./dom.js";
import { retryLink } from "./match_links.js";
import { MatchPlot } from "./plots.js";

const UNKNOWN = -1 - 2 ** 31;
const THOUSANDTHS = 1000;
const CHANCE_UNIT = 100000;
const MOST_ROWS = 6; // of a head
const MOST_LINE = 10; // moves of an expected line
const KINDS = { network: "network", q: "network of Q-values", search: "search" };

class Opinion {
  constructor(data) {
    Object.assign(this, data);
    this.ownership ??= [];
    let tick = 0;
    this.ticks = data.ticks.map((gap) => (tick += gap));
    this.columns = data.heads.map((head) => {
      let at = 0;
      return { ...head, labels: new Map(head.labels), starts: head.counts.map((n) => (at += n) - n) };
    });
    this.bySeat = new Map(); // seat -> its thoughts: their indices and their ticks
    data.seats.forEach((seat, i) => {
      if (!this.bySeat.has(seat)) this.bySeat.set(seat, { indices: [], ticks: [] });
      this.bySeat.get(seat).indices.push(i);
      this.bySeat.get(seat).ticks.push(this.ticks[i]);
    });
  }

  // A value that depends on the observations of other seats is for spectators.
  valuesShown(fog) {
    return fog < 0 || this.sees === "own";
  }

  value(i) {
    return this.values[i] === UNKNOWN ? null : this.values[i] / THOUSANDTHS;
  }

  chance(i) {
    return this.chances[i] < 0 ? null : this.chances[i] / CHANCE_UNIT;
  }

  // The thought of a seat at or before a tick; -1 before its first.
  at(seat, tick) {
    const { indices, ticks } = this.bySeat.get(seat) ?? { indices: [] };
    return indices.length === 0 || ticks[0] > tick ? -1 : indices[frameAt(ticks, tick)];
  }

  label(k, choice) {
    return this.columns[k].labels.get(choice) ?? String(choice);
  }

  // The choices of head k, the most preferred first: {choice, label, p, q, visits, made}; p, q and visits may be null.
  choices(i, k) {
    const { starts, counts, choices, made, p, q, visits } = this.columns[k];
    return Array.from({ length: counts[i] }, (_, n) => {
      const at = starts[i] + n;
      return {
        choice: choices[at],
        label: this.label(k, choices[at]),
        p: p.length ? p[at] / THOUSANDTHS : null,
        q: q.length ? q[at] / THOUSANDTHS : null,
        visits: visits.length ? visits[at] : null,
        made: made[i] === choices[at],
      };
    });
  }

  // Mean, and one deviation below and above, of a continuous head; null for others.
  number(i, k) {
    const { numbers } = this.columns[k];
    return numbers.length ? numbers.slice(3 * i, 3 * i + 3).map((n) => n / THOUSANDTHS) : null;
  }

  // The name of the decision that the player prefers; "" where it is the one that was made.
  preferred(i) {
    const names = [];
    this.columns.forEach((head, k) => {
      const [best] = this.choices(i, k);
      if (best && !best.made) names.push(this.columns.length > 1 ? `${head.name} ${best.label}` : best.label);
    });
    return names.join(", ");
  }

  // A switch of its own among several: choices no and yes.
  isSwitch(k) {
    const { labels } = this.columns[k];
    return this.columns.length > 1 && labels.size > 0 && [...labels].every(([choice, text]) => text === ["no", "yes"][choice]);
  }
}

export function readThoughts(opinions) {
  return opinions.map((data) => new Opinion(data));
}

// The value of each seat over the match: the chosen opinion in full, the other one thin. Odd seats are dashed.
class ValuePlot extends MatchPlot {
  constructor(canvas, match, palette) {
    super(canvas, match, palette);
    this.drawn = { curves: 0, points: 0 };
  }

  show(opinions, chosen, fog) {
    const key = `${chosen} ${fog}`;
    if (key === this.shown) return;
    this.shown = key;
    this.fog = fog;
    this.curves = [];
    opinions.forEach((opinion, number) => {
      if (!opinion.valuesShown(fog)) return;
      for (const [seat, { indices }] of opinion.bySeat) {
        if (fog >= 0 && seat !== fog) continue;
        const points = indices.filter((i) => opinion.value(i) !== null).map((i) => [opinion.ticks[i], opinion.value(i)]);
        if (points.length) this.curves.push({ seat, points, main: number === chosen });
      }
    });
    const values = this.curves.flatMap((curve) => curve.points.map(([, value]) => value));
    this.low = values.reduce((m, v) => Math.min(m, v), values[0] ?? 0);
    this.high = values.reduce((m, v) => Math.max(m, v), values[0] ?? 0);
    this.forget();
  }

  drawStill(ctx, { width, height }) {
    const { palette } = this;
    ctx.strokeStyle = palette.line;
    ctx.lineWidth = 1;
    ctx.strokeRect(0.5, 0.5, width - 1, height - 1);
    if (this.low < 0 && this.high > 0) {
      ctx.setLineDash([2, 4]);
      ctx.strokeStyle = palette.muted;
      ctx.beginPath();
      ctx.moveTo(4, this.y(0, height));
      ctx.lineTo(width - 4, this.y(0, height));
      ctx.stroke();
    }
    this.drawn = { curves: 0, points: 0 };
    for (const curve of [...this.curves].sort((a, b) => a.main - b.main)) this.drawCurve(ctx, curve, width, height);
    ctx.setLineDash([]);
    ctx.globalAlpha = 1;
    ctx.font = "11px system-ui, sans-serif";
    ctx.lineWidth = 3;
    ctx.strokeStyle = palette.card;
    ctx.fillStyle = palette.muted;
    for (const [value, baseline] of [[this.high, "top"], [this.low, "bottom"]]) {
      ctx.textBaseline = baseline;
      const y = baseline === "top" ? 4 : height - 3;
      ctx.strokeText(gainText(value), 6, y);
      ctx.fillText(gainText(value), 6, y);
    }
  }

  drawCurve(ctx, { seat, points, main }, width, height) {
    ctx.strokeStyle = this.palette.seat[seat] ?? this.palette.muted;
    ctx.lineWidth = main ? 2 : 1;
    ctx.globalAlpha = main ? 1 : 0.6;
    ctx.setLineDash(seat % 2 ? [5, 2.5] : []);
    ctx.lineJoin = "round";
    ctx.beginPath();
    for (const [tick, value] of points) ctx.lineTo(this.x(tick, width), this.y(value, height));
    ctx.stroke();
    if (points.length === 1) ctx.fillRect(this.x(points[0][0], width) - 1.5, this.y(points[0][1], height) - 1.5, 3, 3);
    this.drawn.curves++;
    this.drawn.points += points.length;
  }
}

export class Thoughts {
  // seek: goes to a tick. change: sets fields of the page's state ({opinion, policy}).
  constructor(match, palette, view, { panels, seek, change }) {
    this.match = match;
    this.view = view;
    this.panels = panels;
    this.opinions = match.thoughts;
    this.texts = new Map(match.decisions.map((d) => [`${d.tick} ${d.seat}`, d.text]));
    // Where a choice is a cell of the board or a column, and the drawing takes an overlay.
    this.onBoard = "overlay" in view && Boolean(match.view?.coordinates);
    this.drawn = { bars: 0, overlay: 0 };
    document.getElementById("thoughts-panel").hidden = false;
    this.build(document.getElementById("thoughts"), change);
    this.plot = new ValuePlot(this.canvas, match, palette);
    this.canvas.addEventListener("click", (event) => {
      const box = this.canvas.getBoundingClientRect();
      seek(match.firstTick + ((event.clientX - box.left - 4) / Math.max(1, box.width - 8)) * (match.lastTick - match.firstTick));
    });
  }

  build(box, change) {
    this.canvas = element("canvas", { class: "plot values", role: "img", "aria-label": "Value of each seat over time" });
    this.about = element("p", { class: "hint" });
    this.now = element("div", { class: "thoughts-now" });
    this.switch = element("fieldset", { class: "segments opinions" }, element("legend", { class: "sr-only" }, "Whose thoughts"));
    this.opinions.forEach((opinion, i) => {
      const input = element("input", { type: "radio", name: "opinion", value: String(i), id: `opinion${i}` });
      input.addEventListener("change", () => change({ opinion: i }));
      this.switch.append(input, element("label", { for: `opinion${i}`, title: opinion.name }, element("span", { class: "sight" }, shortName(opinion.name))));
    });
    this.switch.hidden = !this.several;
    const policy = element("input", { type: "checkbox", id: "policy" });
    policy.addEventListener("change", () => change({ policy: policy.checked }));
    const owned = element("input", { type: "checkbox", id: "owned" });
    owned.addEventListener("change", () => {
      this.owned = owned.checked;
      change({});
    });
    const ownership = element("label", {}, owned, " who owns what");
    ownership.hidden = !this.opinions.some((opinion) => opinion.ownership.length);
    const layer = element("div", { class: "on-board" }, element("label", {}, policy, " on the board"), ownership);
    layer.hidden = !this.onBoard;
    this.caption = element("figcaption", {}, "Value");
    this.lists = {};
    const lists = [["drops", "Largest mistakes: what the value lost"], ["rare", "Least expected decisions"]].map(([name, title], i) => {
      const list = element("ol", { class: "log" });
      const details = element("details", { class: "marks", ...(i === 0 ? { open: "" } : {}) }, element("summary", {}, title), list);
      this.lists[name] = { list, details };
      return details;
    });
    const legend = element("p", { class: "hint curves" });
    for (const seat of this.match.seats.keys()) {
      legend.append(element("span", {}, seatChip(seat), seat % 2 ? " dashed" : " solid"));
    }
    box.append(this.switch, this.about, element("figure", {}, this.caption, this.canvas), legend, layer, this.now, ...lists);
  }

  get several() {
    return this.opinions.length > 1;
  }

  // Ticks of the listed decisions of the chosen opinion, rising.
  marks({ opinion, fog }) {
    const chosen = this.opinions[opinion];
    const listed = [...this.listed(chosen, "drops", fog), ...this.listed(chosen, "rare", fog)];
    return [...new Set(listed.map((i) => chosen.ticks[i]))].sort((a, b) => a - b);
  }

  listed(opinion, name, fog) {
    if (name === "drops" && !opinion.valuesShown(fog)) return [];
    return opinion[name].filter((i) => fog < 0 || opinion.seats[i] === fog);
  }

  // Before the board is drawn: the choices of the decision at this very tick go to the drawing.
  overlay({ tick, opinion, fog, policy }) {
    this.drawn.overlay = 0;
    if (!this.onBoard) return;
    this.view.overlay = null;
    const chosen = this.opinions[opinion];
    if (!policy || chosen.kind === "q") return;
    const at = Math.floor(tick);
    const i = chosen.ticks.findIndex((t, n) => t === at && (fog < 0 || chosen.seats[n] === fog));
    if (i < 0) return;
    const kind = chosen.kind === "search" ? "visits" : "policy";
    const choices = chosen.choices(i, 0);
    const values = new Float64Array(1 + choices.reduce((most, c) => Math.max(most, c.choice), 0));
    for (const c of choices) values[c.choice] = (kind === "visits" ? c.visits : c.p) ?? 0;
    const q = kind === "visits" ? new Float64Array(values.length) : null;
    if (q) for (const c of choices) q[c.choice] = c.q ?? 0;
    this.view.overlay = { values, kind, q, ownership: this.owned ? chosen.ownership[i] ?? null : null, second: this.second(opinion, at, chosen.seats[i]) };
    this.drawn.overlay = choices.length;
  }

  // The choice that the other analyst prefers at a decision; -1 without one.
  second(opinion, tick, seat) {
    const other = this.opinions[(opinion + 1) % this.opinions.length];
    const i = this.several ? other.at(seat, tick) : -1;
    return i >= 0 && other.ticks[i] === tick && other.kind !== "q" ? other.choices(i, 0)[0]?.choice ?? -1 : -1;
  }

  forget() {
    this.plot.forget();
  }

  update({ tick, opinion, fog, policy }) {
    const chosen = this.opinions[opinion];
    this.plot.show(this.opinions, opinion, fog);
    this.plot.draw(tick);
    document.getElementById("policy").checked = policy;
    document.getElementById(`opinion${opinion}`).checked = true;
    const seats = [...chosen.bySeat.keys()].sort((a, b) => a - b).filter((seat) => fog < 0 || seat === fog);
    const thoughts = seats.map((seat) => chosen.at(seat, tick)).filter((i) => i >= 0);
    const key = `${opinion} ${fog} ${thoughts}`;
    if (key === this.key) return;
    if (!this.key?.startsWith(`${opinion} ${fog} `)) this.buildLists(chosen, fog);
    this.key = key;
    this.drawn.bars = 0;
    this.now.replaceChildren(...thoughts.map((i) => this.thought(chosen, i, fog)));
    if (thoughts.length === 0) this.now.append(element("p", { class: "hint" }, "No decision yet."));
  }

  buildLists(opinion, fog) {
    const tree = opinion.tree ? `, ${opinion.tree} tree at each decision` : "";
    const cut = opinion.cut ? `; the first ${opinion.ticks.length.toLocaleString("en")} decisions` : "";
    const shown = opinion.valuesShown(fog) ? "" : ", and is for spectators";
    const sees = opinion.sees === "own" ? "" : `. Its value sees ${opinion.sees === "team" ? "the team's" : "all"} seats${shown}`;
    this.about.textContent = `${opinion.name}: ${KINDS[opinion.kind]}${tree}${cut}${sees}`;
    this.caption.textContent = opinion.kind === "search" ? "Value: −1 lost, +1 won" : "Value: return that the seat expects";
    for (const [name, { list, details }] of Object.entries(this.lists)) {
      const indices = this.listed(opinion, name, fog);
      details.hidden = indices.length === 0;
      list.replaceChildren(...indices.map((i) => this.mark(opinion, i, name)));
    }
  }

  mark(opinion, i, name) {
    const seat = opinion.seats[i];
    const amount = name === "drops" ? gainText(opinion.falls[opinion.drops.indexOf(i)] / THOUSANDTHS) : shareText(opinion.chance(i));
    const row = this.panels.row(opinion.ticks[i], false, false, [
      element("span", { class: "choice" }, seatChip(seat), element("span", { class: "sr-only" }, `seat ${seat}: `),
        element("span", { class: "what" }, this.made(opinion, i)), name === "drops" ? this.better(opinion, i) : ""),
      element("b", { class: "amount" }, amount),
    ]);
    if (name === "drops") row.append(retryLink(opinion.ticks[i], seat));
    return row;
  }

  made(opinion, i) {
    return words(this.texts.get(`${opinion.ticks[i]} ${opinion.seats[i]}`) ?? "no recorded decision");
  }

  // What the player would have done in place of a mistake.
  better(opinion, i) {
    const text = opinion.preferred(i);
    return text ? element("span", { class: "better" }, element("span", { "aria-hidden": "true" }, " → "), element("span", { class: "sr-only" }, ", better "), words(text)) : "";
  }

  thought(opinion, i, fog) {
    const seat = opinion.seats[i];
    const value = opinion.valuesShown(fog) ? opinion.value(i) : null;
    const chance = opinion.chance(i);
    const block = element("section", { class: "thought", "aria-label": `Thought about seat ${seat}, tick ${opinion.ticks[i]}` },
      element("h3", {}, seatChip(seat), element("span", { class: "what" }, `${opinion.ticks[i].toLocaleString("en")}: ${this.made(opinion, i)}`),
        chance === null ? "" : element("span", { class: "amount", title: "How often this player decides so" }, shareText(chance)),
        value === null ? "" : element("b", { class: "amount", title: "Value" }, gainText(value))));
    const switches = [];
    opinion.columns.forEach((head, k) => {
      const number = opinion.number(i, k);
      const choices = opinion.choices(i, k);
      if (number) block.append(this.heading(opinion, k), this.numberRow(number));
      else if (opinion.isSwitch(k)) switches.push(...choices.filter((c) => c.choice === 1).map((c) => ({ ...c, label: head.name })));
      else if (choices.length) block.append(this.heading(opinion, k), this.bars(choices, opinion.kind));
    });
    if (switches.length) block.append(this.bars(switches, opinion.kind, switches.length));
    if (this.several) block.append(this.otherOpinion(opinion, i, fog));
    const line = opinion.lines[i] ?? [];
    if (line.length) {
      const moves = line.slice(0, MOST_LINE).map((move) => words(this.moveName(opinion, move)));
      block.append(element("p", { class: "line" }, element("span", {}, "expects "), moves.join(" ")));
    }
    return block;
  }

  // What the other analyst prefers at the same decision, and its value.
  otherOpinion(opinion, i, fog) {
    const other = this.opinions.find((one) => one !== opinion);
    const j = other.at(opinion.seats[i], opinion.ticks[i]);
    if (j < 0 || other.ticks[j] !== opinion.ticks[i]) return "";
    const value = other.valuesShown(fog) ? other.value(j) : null;
    const prefers = other.columns.flatMap((head, k) => {
      const [best] = other.isSwitch(k) ? [] : other.choices(j, k);
      return best ? [words(other.columns.length > 1 ? `${head.name} ${best.label}` : best.label)] : [];
    });
    const text = prefers.length ? `prefers ${prefers.join(", ")}` : "has no choice";
    return element("p", { class: "line other" }, element("span", {}, `${shortName(other.name)} `), text, value === null ? "" : ` (${gainText(value)})`);
  }

  moveName(opinion, move) {
    return opinion.label(0, move);
  }

  heading(opinion, k) {
    return opinion.columns.length > 1 ? element("h4", {}, words(opinion.columns[k].name)) : "";
  }

  numberRow([mean, low, high]) {
    return element("p", { class: "line" }, `${plainText(mean)} (${plainText(low)} to ${plainText(high)})`);
  }

  // A bar for a choice: its probability, its share of the visits, or its rank among Q-values.
  bars(choices, kind, most = MOST_ROWS) {
    const shown = choices.slice(0, most);
    const made = choices.find((c) => c.made);
    if (made && !shown.includes(made)) shown.push(made);
    const visits = choices.reduce((sum, c) => sum + (c.visits ?? 0), 0);
    const best = choices.reduce((m, c) => Math.max(m, c.q ?? m), -Infinity);
    const worst = choices.reduce((m, c) => Math.min(m, c.q ?? m), Infinity);
    const list = element("ul", { class: "bars" });
    for (const c of shown) {
      const share = kind === "search" ? c.visits / Math.max(1, visits) : kind === "q" ? (c.q - worst) / (best - worst || 1) : c.p;
      const fill = element("span", { class: "bar-fill" });
      fill.style.width = `${100 * Math.max(0, Math.min(1, share))}%`;
      const texts = [c.visits === null ? "" : c.visits.toLocaleString("en"), c.p === null ? "" : shareText(c.p), c.q === null ? "" : gainText(c.q)];
      list.append(element("li", { class: c.made ? "made" : null },
        element("span", { class: "bar-label", title: c.label }, words(c.label), c.made ? element("span", { class: "sr-only" }, " (played)") : ""),
        element("span", { class: "bar" }, fill), element("span", { class: "bar-text" }, texts.filter((t) => t).join(" · "))));
      this.drawn.bars++;
    }
    return list;
  }
}

// Of a path its last part.
function shortName(name) {
  return name.split("/").pop() || name;
}

function plainText(value) {
  const size = Math.abs(value);
  const text = size >= 100 ? String(Math.round(size)) : size.toFixed(size >= 10 ? 1 : size >= 0.0995 || size === 0 ? 2 : 3);
  return Number(text) !== 0 && value < 0 ? `−${text}` : text;
}

function gainText(value) {
  const text = plainText(value);
  return value > 0 && Number(text) !== 0 ? `+${text}` : text;
}

function shareText(share) {
  const percent = 100 * share;
  if (percent === 0) return "<0.01%";
  return `${percent >= 9.95 || percent === 0 ? Math.round(percent) : percent >= 0.095 ? percent.toFixed(1) : percent.toFixed(2)}%`;
}
