// Everything beside the map: seats, plots, the selected unit, decisions, events, legend. Text goes in by textContent.
import { frameAt } from "./data.js";
import { element, seatChip, words } from "./dom.js";
import { captains, HeroTable, netWorth } from "./heroes.js";
import { iconCanvas } from "./icons.js";
import { hpColour } from "./palette.js";
import { Plot } from "./plots.js";
import { between, orderOf } from "./scene.js";

const ROWS_BEFORE = 5;
const ROWS_AFTER = 3;

export class Panels {
  constructor(match, palette, seek) {
    this.match = match;
    this.palette = palette;
    this.seek = seek;
    this.plots = [];
    this.logKey = "";
    this.eventKey = "";
    this.captains = match.tracks?.heroes?.length ? captains(match) : null;
    this.buildSeats();
    if (this.captains) {
      document.getElementById("heroes-panel").hidden = false;
      this.heroes = new HeroTable(document.getElementById("heroes"), match);
    }
    if (match.tracks) this.buildPlots();
    if (match.tracks) this.buildLegend();
    else for (const id of ["plots", "selection", "legend"]) document.getElementById(id).hidden = true;
    if (match.events.length === 0) document.getElementById("events-panel").hidden = true;
    if (match.decisions.length === 0) document.getElementById("decisions-panel").hidden = true;
  }

  buildSeats() {
    const box = document.getElementById("seats");
    this.seatNumbers = this.match.seats.map((name, seat) => {
      const numbers = element("dl", { class: "numbers" });
      const outcome = this.match.outcome[seat];
      const badge = outcome > 0 ? "won" : outcome < 0 ? "lost" : outcome === 0 && this.match.seats.length > 1 ? "drew" : "";
      box.append(
        element(
          "section",
          { class: "seat", "aria-label": `Seat ${seat}: ${name}` },
          element("h2", {}, seatChip(seat), element("span", { class: "seat-name", title: name }, name),
            badge ? element("span", { class: `badge ${badge}` }, badge) : ""),
          numbers,
        ),
      );
      if (!this.match.tracks || (this.captains && !this.captains.includes(seat))) {
        numbers.hidden = true;
        return {};
      }
      const add = (label) => {
        const value = element("dd", {}, "0");
        numbers.append(element("div", {}, element("dt", {}, label), value));
        return value;
      };
      const { tracks } = this.match;
      const has = (role) => tracks.types.some((type) => type.role === role);
      if (this.captains) return { troops: add("towers"), base: add("base hp") };
      return {
        resources: add(tracks.counted === "score" ? "score" : "resources"),
        workers: has("worker") ? add("workers") : null,
        troops: add(has("tower") ? "towers" : "army"),
        base: add("base hp"),
      };
    });
  }

  buildPlots() {
    const box = document.getElementById("plots");
    const { tracks } = this.match;
    const towers = tracks.types.some((type) => type.role === "tower");
    const amounts = tracks.counted === "score" ? "Score" : "Resources";
    const plots = this.captains
      ? [["Net worth", netWorth(this.match), this.captains], ["Towers", this.captains.map((seat) => tracks.troops[seat]), this.captains]]
      : [[amounts, tracks.money], [towers ? "Towers" : "Army", tracks.troops]];
    for (const [label, columns, seats] of plots) {
      const canvas = element("canvas", { class: "plot", role: "img", "aria-label": `${label} of each ${this.captains ? "team" : "seat"} over time` });
      box.append(element("figure", {}, element("figcaption", {}, label), canvas));
      this.plots.push(new Plot(canvas, this.match, this.palette, columns, seats));
      canvas.addEventListener("click", (event) => {
        const rect = canvas.getBoundingClientRect();
        const { firstTick, lastTick } = this.match;
        this.seek(firstTick + ((event.clientX - rect.left) / rect.width) * (lastTick - firstTick));
      });
    }
  }

  buildLegend() {
    const { tracks } = this.match;
    const box = document.getElementById("legend-items");
    box.replaceChildren();
    for (const type of tracks.types) {
      box.append(element("li", {}, ...owners(tracks, type).map((seat) => iconCanvas(this.palette, type, seat, 20)), words(type.name)));
    }
    const commands = tracks.commands.slice(1).filter((name) => name);
    for (const name of commands) box.append(element("li", {}, element("b", { class: "letter" }, name[0].toUpperCase()), words(name)));
  }

  // The theme changed: everything that was drawn with the old colours goes.
  recolour() {
    for (const plot of this.plots) plot.forget();
    if (this.match.tracks) this.buildLegend();
    this.selectionKey = "";
  }

  update(tick, scene, { selected, fog }) {
    const frame = frameAt(this.match.ticks, tick);
    if (this.match.tracks) this.updateSeats(frame);
    this.heroes?.update(tick, scene, fog);
    for (const plot of this.plots) plot.draw(tick, frame);
    if (this.match.tracks) this.updateSelection(tick, frame, scene, selected);
    this.updateDecisions(tick);
    this.updateEvents(tick);
  }

  // What a board's view says beside each seat's name: an object of labels and texts a seat.
  updateNumbers(seats) {
    if (!seats) return;
    document.querySelectorAll("#seats .numbers").forEach((box, seat) => {
      const entries = Object.entries(seats[seat] ?? {});
      const key = JSON.stringify(entries);
      if (box.dataset.key === key) return;
      box.dataset.key = key;
      box.hidden = entries.length === 0;
      box.replaceChildren(...entries.map(([label, text]) => element("div", {}, element("dt", {}, label), element("dd", {}, text))));
    });
  }

  updateSeats(frame) {
    const { tracks } = this.match;
    this.seatNumbers.forEach((at, seat) => {
      const set = (node, value) => {
        if (node && node.textContent !== value) node.textContent = value;
      };
      set(at.resources, String(tracks.money[seat]?.[frame] ?? 0));
      set(at.workers, String(tracks.workers[seat][frame]));
      set(at.troops, String(tracks.troops[seat][frame]));
      if (!at.base) return;
      const base = tracks.units.find((u) => u.seat === seat && tracks.types[u.type].role === "base" && frame >= u.first
        && frame < u.first + u.frames);
      set(at.base, base ? String(base.hp[frame - base.first]) : "–");
    });
  }

  updateSelection(tick, frame, scene, selected) {
    const box = document.getElementById("selection-body");
    const unit = scene.units.find((u) => u.track.id === selected);
    if (!unit) {
      const track = this.match.tracks.units.find((u) => u.id === selected);
      const text = selected < 0 ? "Click a unit on the map, or press N."
        : track && frame >= track.first && frame < track.first + track.frames ? "Out of this seat's sight."
        : "Not on the map at this tick.";
      if (this.selectionKey !== text) box.replaceChildren(element("p", { class: "hint" }, text));
      this.selectionKey = text;
      return;
    }
    const { track, i } = unit;
    const type = this.match.tracks.types[track.type];
    const key = `unit ${track.id} ${track.first}`;
    if (this.selectionKey !== key) this.buildSelection(box, track, type);
    this.selectionKey = key;
    const at = this.selectionNodes;
    at.hp.textContent = `${unit.hp} / ${track.maxHp}`;
    const share = Math.max(0, Math.min(1, unit.hp / Math.max(1, track.maxHp)));
    at.hpBar.style.width = `${100 * share}%`;
    at.hpBar.style.background = hpColour(this.palette, share);
    at.place.textContent = `${unit.x.toFixed(1)}, ${unit.y.toFixed(1)}`;
    at.command.textContent = this.commandText(unit, scene);
    track.cooldowns.forEach((cooldown, k) => {
      const left = between(cooldown.left, i, unit.part) / this.match.tracks.cooldown_steps;
      at.cooldowns[k].text.textContent = left > 0 ? `${Math.round(100 * left)}% left` : "ready";
      at.cooldowns[k].bar.style.width = `${100 * (1 - left)}%`;
    });
  }

  commandText(unit, scene) {
    const order = orderOf(this.match.tracks, unit, scene);
    if (!order) return "idle";
    const parts = [words(order.name)];
    if (order.builds) parts.push(words(order.builds));
    if (order.target >= 0) {
      const target = this.match.tracks.units.find((u) => u.id === order.target);
      parts.push("→", target ? unitName(this.match.tracks, target) : "a unit");
    } else if (order.to) {
      parts.push("→", order.to.map((v) => v.toFixed(1)).join(", "));
    }
    if (order.phase) parts.push(`(phase ${order.phase})`);
    return parts.join(" ");
  }

  buildSelection(box, track, type) {
    const nodes = { cooldowns: [] };
    const bar = () => element("span", { class: "meter-fill" });
    const row = (label, node) => element("div", {}, element("dt", {}, label), element("dd", {}, node));
    nodes.hp = element("span");
    nodes.hpBar = bar();
    nodes.place = element("span");
    nodes.command = element("span");
    const list = element("dl", { class: "numbers" }, row("command", nodes.command), row("position", nodes.place));
    for (const cooldown of track.cooldowns) {
      const text = element("span");
      const fill = bar();
      list.append(element("div", {}, element("dt", {}, `${words(this.match.tracks.cooldowns[cooldown.kind])} cooldown`),
        element("dd", {}, element("span", { class: "meter thin" }, fill), text)));
      nodes.cooldowns.push({ text, bar: fill });
    }
    box.replaceChildren(
      element("p", { class: "unit-title" }, iconCanvas(this.palette, type, track.seat, 36),
        element("span", {}, element("b", {}, words(type.name)), element("small", {}, track.seat < 0 ? `unit ${track.id}` : `seat ${track.seat} · unit ${track.id}`))),
      element("p", { class: "hp-row" }, element("span", { class: "meter" }, nodes.hpBar), nodes.hp),
      list,
    );
    this.selectionNodes = nodes;
  }

  // Rows around now, one a tick at which anybody decided.
  updateDecisions(tick) {
    const ticks = this.match.decisionTicks;
    if (ticks.length === 0) return;
    const now = tick < ticks[0] ? -1 : frameAt(ticks, tick);
    if (this.logKey === String(now)) return;
    this.logKey = String(now);
    this.byTick ??= Map.groupBy?.(this.match.decisions, (d) => d.tick) ?? groupByTick(this.match.decisions);
    const from = Math.max(0, Math.min(now - ROWS_BEFORE, ticks.length - 1 - ROWS_BEFORE - ROWS_AFTER));
    const rows = ticks.slice(from, from + ROWS_BEFORE + ROWS_AFTER + 1).map((at, i) => {
      const choices = this.byTick.get(at).map((d) => this.choice(d));
      return this.row(at, from + i === now, from + i > now, choices);
    });
    document.getElementById("decisions").replaceChildren(...rows);
  }

  // A seat's strategy and the orders that it led to. A bot's name says nothing here: its orders do.
  choice(decision) {
    const { seat, text, effect } = decision;
    const bot = this.match.tracks && text === this.match.seats[seat];
    const what = bot
      ? element("span", { class: effect ? "what" : "what nothing", title: effect }, effect || "no new order")
      : element("span", { class: "what", title: effect }, words(text), effect ? element("small", {}, effect) : "");
    return element("span", { class: "choice" }, seatChip(seat), element("span", { class: "sr-only" }, `seat ${seat}: `), what);
  }

  updateEvents(tick) {
    const { events } = this.match;
    if (events.length === 0) return;
    const past = events[0].tick > tick ? -1 : frameAt(events.map((e) => e.tick), tick);
    if (this.eventKey === String(past)) return;
    this.eventKey = String(past);
    const from = Math.max(0, Math.min(past - ROWS_BEFORE, events.length - 1 - ROWS_BEFORE - ROWS_AFTER));
    const rows = events.slice(from, from + ROWS_BEFORE + ROWS_AFTER + 1).map((event, i) =>
      this.row(event.tick, from + i === past, from + i > past, [
        element("span", { class: `choice event-${event.kind}` }, event.seat >= 0 ? seatChip(event.seat) : "",
          element("span", { class: "sr-only" }, event.seat >= 0 ? `seat ${event.seat}: ` : ""),
          element("span", { class: "what" }, event.text)),
      ]));
    document.getElementById("events").replaceChildren(...rows);
  }

  row(tick, current, future, content) {
    const button = element("button", { type: "button", class: future ? "row future" : "row" },
      element("span", { class: "row-tick" }, tick.toLocaleString("en")), ...content);
    if (current) button.setAttribute("aria-current", "step");
    button.addEventListener("click", () => this.seek(tick));
    return element("li", {}, button);
  }
}

function unitName(tracks, unit) {
  const name = words(tracks.types[unit.type].name);
  return unit.seat < 0 ? name : `${name} of seat ${unit.seat}`;
}

// The seats whose units of a type are ever on the map; both where nobody has one yet.
function owners(tracks, type) {
  const seats = new Set(tracks.units.filter((u) => tracks.types[u.type] === type).map((u) => u.seat));
  return seats.size ? [...seats].sort((a, b) => a - b) : [0, 1];
}

function groupByTick(decisions) {
  const groups = new Map();
  for (const decision of decisions) {
    if (!groups.has(decision.tick)) groups.set(decision.tick, []);
    groups.get(decision.tick).push(decision);
  }
  return groups;
}
