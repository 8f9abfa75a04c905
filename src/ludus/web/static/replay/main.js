// The page: state, the loop, and what the keys do.
import { drawingOf } from "./board_views.js";
import { bindButtons, bindKeys, bindTimeline, fillHelp, SPEEDS, speedText } from "./controls.js";
import { decode, frameAt, unpack } from "./data.js";
import { element, seatChip } from "./dom.js";
import { heroesAt } from "./heroes.js";
import { addLinks } from "./match_links.js";
import { keepDescribed } from "./page_words.js";
import { readPalette } from "./palette.js";
import { Panels } from "./panels.js";
import { fitCanvas, Timeline } from "./plots.js";
import { readThoughts, Thoughts } from "./thoughts.js";

const PANEL_INTERVAL_MS = 80; // panels change slower than the map while it plays
const FOLLOW_MS = 2500; // from the end of a match to the next one
const byId = (id) => document.getElementById(id);

// The result of a match without a winner.
function withoutWinner({ outcome, truncated, seats }) {
  if (truncated) return "Cut off: no one won";
  if (outcome.length === 1) return outcome[0] < 0 ? `${seats[0]} lost` : "The match is over";
  return outcome.every((o) => o < 0) ? "No one won" : "A draw";
}

class Page {
  constructor(match) {
    this.match = match;
    this.state = {
      tick: match.start >= 0 ? match.start : match.firstTick, playing: false, speed: 2, fog: -1, orders: true, bars: true, letters: true, selected: -1, opinion: 0, policy: true,
    };
    this.palette = readPalette(match.seats.length);
    this.canvas = byId("map");
    this.view = drawingOf(this.canvas, match, this.palette);
    document.body.classList.toggle("stones", this.view.stones === true);
    document.body.classList.toggle("flat", match.renderer !== "map" && match.renderer !== "arena");
    this.timeline = new Timeline(byId("timeline"), match, this.palette, this.view.curve ?? null, this.view.stones === true);
    this.panels = new Panels(match, this.palette, (tick) => this.seek(tick));
    match.thoughts = readThoughts(match.thoughts ?? []);
    this.thoughts = match.thoughts.length ? new Thoughts(match, this.palette, this.view, {
      panels: this.panels, seek: (tick) => this.seek(tick), change: (fields) => this.set(fields),
    }) : null;
    this.panelsDrawn = 0;
    this.actions = this.makeActions();
    this.buildHeader();
    addLinks(match, () => this.state.tick);
    this.buildFog();
    this.bind();
    this.readAddress();
    this.layout();
  }

  makeActions() {
    const { match, state } = this;
    const step = (ticks, way) => {
      const next = way > 0 ? ticks.find((t) => t > state.tick) : ticks.findLast((t) => t < Math.floor(state.tick));
      this.seek(next ?? (way > 0 ? match.lastTick : match.firstTick));
    };
    const eventTicks = match.events.map((e) => e.tick);
    const jump = Math.max(1, Math.round((match.lastTick - match.firstTick) / 20));
    const mark = (way) => () => {
      const ticks = this.thoughts?.marks(state) ?? [];
      const next = way > 0 ? ticks.find((t) => t > state.tick) : ticks.findLast((t) => t < Math.floor(state.tick));
      if (next !== undefined) this.seek(next);
    };
    const flip = (name) => () => this.set({ [name]: !state[name] });
    return {
      toggle: () => this.play(!state.playing),
      nextDecision: () => step(match.decisionTicks, 1),
      previousDecision: () => step(match.decisionTicks, -1),
      nextEvent: () => step(eventTicks, 1),
      previousEvent: () => step(eventTicks, -1),
      nextTick: () => this.seek(Math.floor(state.tick) + 1),
      previousTick: () => this.seek(Math.ceil(state.tick) - 1),
      jumpOn: () => this.seek(state.tick + jump),
      jumpBack: () => this.seek(state.tick - jump),
      first: () => this.seek(match.firstTick),
      last: () => this.seek(match.lastTick),
      faster: () => this.set({ speed: Math.min(SPEEDS.length - 1, state.speed + 1) }),
      slower: () => this.set({ speed: Math.max(0, state.speed - 1) }),
      cycleFog: () => this.set({ fog: state.fog + 1 < this.fogSeats ? state.fog + 1 : -1 }),
      toggleOrders: flip("orders"),
      toggleBars: flip("bars"),
      toggleLetters: flip("letters"),
      selectNext: () => this.selectStep(1),
      selectPrevious: () => this.selectStep(-1),
      nextMark: mark(1),
      previousMark: mark(-1),
      nextOpinion: () => match.thoughts.length && this.set({ opinion: (state.opinion + 1) % match.thoughts.length }),
      togglePolicy: flip("policy"),
      unselect: () => this.set({ selected: -1 }),
      help: () => (byId("help").open ? byId("help").close() : byId("help").showModal()),
    };
  }

  get fogSeats() {
    return this.view.fogSeats ?? 0;
  }

  buildHeader() {
    const { match } = this;
    byId("title").textContent = match.title;
    for (const [name, value] of match.facts) {
      byId("facts").append(element("li", {}, element("span", {}, name), " ", element("b", {}, value)));
    }
    const winners = match.outcome.flatMap((o, seat) => (o > 0 ? [seat] : []));
    const banner = byId("banner");
    if (match.outcome.length === 0) banner.append("The recording ends here");
    else if (winners.length === 0) banner.append(withoutWinner(match));
    else banner.append(...winners.map(seatChip), element("b", { class: "what" }, winners.map((s) => match.seats[s]).join(", ")), element("span", {}, "wins"));
    if (this.view.result) banner.append(element("span", {}, this.view.result));
    banner.append(element("small", {}, `tick ${match.lastTick.toLocaleString("en")}`));
  }

  buildFog() {
    const box = byId("fog");
    const choices = ["spectator", ...this.match.seats.slice(0, this.fogSeats)];
    choices.forEach((label, i) => {
      const input = element("input", { type: "radio", name: "fog", value: String(i - 1), id: `fog${i - 1}` });
      input.addEventListener("change", () => this.set({ fog: i - 1 }));
      box.append(input, element("label", { for: `fog${i - 1}` }, ...(i > 0 ? [seatChip(i - 1), element("span", { class: "sr-only" }, `seat ${i - 1}: `)] : []), element("span", { class: "sight", title: label }, label)));
    });
    if (this.fogSeats === 0) box.hidden = true;
    if (!this.match.tracks) byId("layers").hidden = true;
    if (this.match.decisions.length === 0) for (const b of document.querySelectorAll(".by-decision")) b.disabled = true;
  }

  bind() {
    const help = byId("help");
    const { thoughts } = this;
    const has = { units: this.match.tracks, fog: this.fogSeats, thoughts, opinions: thoughts?.several, overlay: thoughts?.onBoard };
    fillHelp(byId("keys"), Object.keys(has).filter((name) => has[name]));
    byId("about").textContent = `${this.view.about ?? ""} Drag on the timeline, or click a plot, a decision or an event, to go there.`.trim();
    bindButtons(this.actions);
    bindKeys(this.actions, () => help.open);
    help.addEventListener("click", (event) => event.target === help && help.close());
    bindTimeline(byId("timeline"), (x) => this.timeline.tickAt(x), (tick) => this.seek(tick));
    byId("speed").max = String(SPEEDS.length - 1);
    byId("speed").addEventListener("input", (event) => this.set({ speed: Number(event.target.value) }));
    for (const name of ["orders", "bars", "letters"]) {
      byId(name).addEventListener("change", (event) => this.set({ [name]: event.target.checked }));
    }
    this.canvas.addEventListener("click", (event) => {
      const box = this.canvas.getBoundingClientRect();
      const unit = this.view.pick(event.clientX - box.left, event.clientY - box.top);
      this.set({ selected: unit ? unit.track.id : -1 });
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      Object.assign(this.palette, readPalette(this.match.seats.length));
      this.timeline.forget();
      this.panels.recolour();
      this.thoughts?.forget();
      this.draw();
    });
    new ResizeObserver(() => this.layout()).observe(byId("stage"));
    addEventListener("resize", () => this.layout());
    addEventListener("hashchange", () => this.readAddress());
  }

  // #tick=1200&fog=0&unit=5&play: where a link points.
  readAddress() {
    const wanted = new URLSearchParams(location.hash.slice(1));
    const number = (name) => (/^-?\d+$/.test(wanted.get(name) ?? "") ? Number(wanted.get(name)) : null);
    if (number("tick") !== null) this.seek(number("tick"));
    if (number("fog") !== null) this.set({ fog: Math.max(-1, Math.min(this.fogSeats - 1, number("fog"))) });
    if (number("unit") !== null) this.set({ selected: number("unit") });
    if (number("speed") !== null) this.set({ speed: Math.max(0, Math.min(SPEEDS.length - 1, number("speed"))) });
    if (wanted.has("play") || this.match.follows) this.play(true);
  }

  layout() {
    const aspect = this.view.aspect;
    if (aspect) {
      const room = byId("stage").clientWidth;
      const tall = Math.max(280, window.innerHeight - (window.innerWidth < 900 ? 120 : 285));
      const width = Math.floor(Math.min(room, tall * aspect));
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${Math.round(width / aspect)}px`;
    }
    this.draw();
  }

  set(change) {
    Object.assign(this.state, change);
    this.draw();
  }

  seek(tick) {
    const { firstTick, lastTick } = this.match;
    this.set({ tick: Math.max(firstTick, Math.min(lastTick, tick)) });
  }

  play(playing) {
    if (playing && this.state.tick >= this.match.lastTick) this.state.tick = this.match.firstTick;
    this.state.playing = playing;
    this.lastTime = null;
    this.draw();
    if (playing) requestAnimationFrame((time) => this.advance(time));
  }

  advance(time) {
    const { state, match } = this;
    if (!state.playing) return;
    // A tab that slept goes on where it was.
    const elapsed = this.lastTime === null ? 0 : Math.min(250, time - this.lastTime) / 1000;
    this.lastTime = time;
    state.tick = Math.min(match.lastTick, state.tick + elapsed * match.ticks_per_s * SPEEDS[state.speed]);
    if (state.tick >= match.lastTick) {
      state.playing = false;
      this.follow();
    }
    this.draw(time);
    if (state.playing) requestAnimationFrame((next) => this.advance(next));
  }

  // The next match of a series, unless the viewer has gone back meanwhile.
  follow() {
    const { state, match } = this;
    if (!match.follows?.startsWith("/")) return;
    setTimeout(() => {
      if (!state.playing && state.tick >= match.lastTick) location.replace(`${match.follows}#speed=${state.speed}`);
    }, FOLLOW_MS);
  }

  selectStep(way) {
    const ids = (this.view.scene?.units ?? []).map((u) => u.track.id);
    if (ids.length === 0) return;
    const at = ids.indexOf(this.state.selected);
    this.set({ selected: ids[at < 0 ? (way > 0 ? 0 : ids.length - 1) : (at + way + ids.length) % ids.length] });
  }

  draw(time = null) {
    const { state, match } = this;
    this.thoughts?.overlay(state);
    if (this.view.aspect ? fitCanvas(this.canvas) : true) this.view.draw(state);
    this.timeline.draw(state.tick);
    if (time === null || !state.playing || time - this.panelsDrawn >= PANEL_INTERVAL_MS) {
      this.panels.update(state.tick, this.view.scene, state);
      this.thoughts?.update(state);
      this.panels.updateNumbers(this.view.seatNumbers?.(state.tick));
      this.panelsDrawn = time ?? performance.now();
    }
    this.drawControls();
    byId("banner").classList.toggle("shown", state.tick >= match.lastTick && state.tick !== match.start);
  }

  drawControls() {
    const { state, match } = this;
    const tick = Math.floor(state.tick);
    byId("tick").textContent = tick.toLocaleString("en");
    byId("last-tick").textContent = match.lastTick.toLocaleString("en");
    const timeline = byId("timeline");
    timeline.setAttribute("aria-valuemin", String(match.firstTick));
    timeline.setAttribute("aria-valuemax", String(match.lastTick));
    timeline.setAttribute("aria-valuenow", String(tick));
    timeline.setAttribute("aria-valuetext", `tick ${tick} of ${match.lastTick}`);
    byId("play").setAttribute("aria-label", state.playing ? "Pause" : "Play");
    byId("play").classList.toggle("playing", state.playing);
    byId("speed").value = String(state.speed);
    byId("speed").setAttribute("aria-valuetext", `${SPEEDS[state.speed]} times`);
    byId("speed-text").textContent = speedText(SPEEDS[state.speed]);
    for (const name of ["orders", "bars", "letters"]) byId(name).checked = state[name];
    const fog = byId(`fog${state.fog}`);
    if (fog) fog.checked = true;
    if (!state.playing) this.announce(tick);
  }

  announce(tick) {
    const sight = this.state.fog < 0 ? "spectator" : `fog of ${this.match.seats[this.state.fog]}`;
    const text = this.match.tracks ? `Tick ${tick}, ${sight}, ${this.view.drawn.units} units in sight.` : `Tick ${tick}.`;
    clearTimeout(this.announcing);
    this.announcing = setTimeout(() => (byId("status").textContent = text), 400);
  }
}

// For tests and for people with a console.
function surface(page) {
  const { state, match } = page;
  return {
    match,
    get tick() { return Math.floor(state.tick); },
    get frame() { return frameAt(match.ticks, state.tick); },
    get playing() { return state.playing; },
    get speed() { return SPEEDS[state.speed]; },
    get fog() { return state.fog; },
    get selected() { return state.selected; },
    get thoughts() {
      const { thoughts } = page;
      return thoughts && { opinion: state.opinion, policy: state.policy, marks: thoughts.marks(state), ...thoughts.drawn, ...thoughts.plot.drawn };
    },
    get options() { return { orders: state.orders, bars: state.bars, letters: state.letters }; },
    get timeline() { return { ...page.timeline.drawn, curve: page.timeline.curve?.label ?? "" }; },
    get view() { return page.view; },
    redraw: () => page.draw(),
    get drawn() { return { ...page.view.drawn }; },
    get scene() { return page.view.scene; },
    get heroes() { return match.tracks?.heroes?.length ? heroesAt(match, state.tick, page.view.scene, state.fog) : []; },
    pointOf: (x, y) => page.view.pointOf(x, y),
    seek: (tick) => page.seek(tick),
    set: (change) => page.set(change),
    unpack,
  };
}

async function start() {
  try {
    const match = decode(await unpack(byId("match-data").textContent));
    window.ludus = surface(new Page(match));
    keepDescribed(document.body, () => match.words ?? {});
    document.body.classList.add("ready");
  } catch (error) {
    byId("failure").hidden = false;
    byId("failure-text").textContent = error.message;
    throw error;
  }
}

start();
