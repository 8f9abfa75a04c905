// The heat map of a league with its legend, the sentence about the cell under the cursor, and the matches of a cell.
import { post, useGet } from "./api.js";
import { HeatMap, Payoff, shade } from "./heat_map.js";
import { ageText, resultText } from "./home.js";
import { Failure, html, useEffect, useMemo, useRef, useState } from "./html.js";

const id = encodeURIComponent;
const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], PageUp: [-10, 0], PageDown: [10, 0] };
const CHOICES = [5, 10, 20, 60, 200, 600];
const HOW = matchMedia("(pointer: coarse)").matches
  ? "Tap a cell: its result is said here, its matches are listed below the map."
  : "Point at a cell, or choose one with the arrow keys; a click or Enter shows its matches.";
const percent = (rate) => `${Math.round(100 * rate)}%`;

// Version 0 is of no use to a reader who does not know what it is.
export const labelled = (name) => (name.endsWith(":0") ? `${name} (initial weights)` : name);

export function pairText(a, b, pair, window) {
  if (a === b) return `${labelled(a)} against itself`;
  if (!pair) return `${labelled(a)} and ${labelled(b)} have never met in this league`;
  const counts = `${pair.wins.toLocaleString("en")} won, ${pair.draws.toLocaleString("en")} drawn, ${pair.losses.toLocaleString("en")} lost`;
  const recent = pair.recent && pair.matches > window;
  const matches = recent ? `about the last ${Math.round(window)} of ${pair.matches.toLocaleString("en")}` : pair.matches.toLocaleString("en");
  const interval = `${Math.round(100 * pair.low)} to ${Math.round(100 * pair.high)}%`;
  const noun = pair.matches === 1 ? "match" : "matches";
  const rate = pair.draws
    ? `${labelled(a)} scores ${percent(pair.rate)} against ${labelled(b)} in ${matches} ${noun}`
    : `${labelled(a)} beats ${labelled(b)} in ${percent(pair.rate)} of ${matches} ${noun}`;
  return `${rate} (${interval}); ${counts}`;
}

// Neighbours in an order that belong together: [name, first row, rows].
function groupsOf(players, order, owner) {
  const groups = [];
  order.forEach((player, row) => {
    const name = owner(players[player]);
    if (groups.at(-1)?.[0] === name) groups.at(-1)[2]++;
    else groups.push([name, row, 1]);
  });
  return groups;
}

function Legend() {
  const bar = useRef(null);
  const [dark, setDark] = useState(0);
  useEffect(() => {
    const theme = matchMedia("(prefers-color-scheme: dark)");
    const change = () => setDark((count) => count + 1);
    theme.addEventListener("change", change);
    return () => theme.removeEventListener("change", change);
  }, []);
  useEffect(() => {
    const context = bar.current.getContext("2d");
    for (let k = 0; k < 11; k++) {
      context.fillStyle = `rgb(${shade(k / 10).join(" ")})`;
      context.fillRect(k * 14, 0, 14, 14);
    }
  }, [dark]);
  return html`<p class="map-legend"><span>win rate of the row's player</span><span class="map-scale">0%<canvas ref=${bar} width="154" height="14" aria-hidden="true"></canvas>100%</span>
    <span class="map-scale"><span class="never" aria-hidden="true"></span>striped: never met</span></p>
    <p class="hint">Blue: the player of the row beats the player of the column. Orange: it loses. A draw is half a win.</p>`;
}

function Watch({ run, seats }) {
  const [state, setState] = useState({ busy: false, error: "" });
  if (seats.length === 0) return null;
  const watch = async () => {
    setState({ busy: true, error: "" });
    try {
      const made = await post("/api/matches", { game: run.game, params: run.params, seats });
      location.href = `/watch/${id(made.id)}`;
    } catch (error) {
      setState({ busy: false, error: error.message });
    }
  };
  return html`<button type="button" class="primary" id="watch-pair" disabled=${state.busy} onClick=${watch}>${state.busy ? "Loading the players" : "Watch a match of the two"}</button>
    ${state.error && html`<${Failure}>${state.error}</${Failure}>`}`;
}

// The matches of two players: those that were recorded, one to watch now, and the command that records one.
function Matches({ run, a, b, text }) {
  const { data, error } = useGet(`/api/leagues/${id(run.id)}/matches`, { a, b });
  const box = useRef(null);
  useEffect(() => box.current?.scrollIntoView({ block: "nearest" }), [a, b, data]);
  return html`<div class="pair-matches" id="pair-matches" ref=${box}><h3>${labelled(a)} against ${labelled(b)}</h3>
    <p>${text}</p>
    ${error && html`<${Failure}>${error}</${Failure}>`}
    ${data?.replays.length === 0 && html`<p class="hint">No match of the two was recorded.</p>`}
    <ul class="plain">${data?.replays.map((replay) => html`<li key=${replay.id}><a href=${`/replay/${id(replay.id)}`}>${replay.players.join(" – ")}</a>
      <small> ${resultText(replay)}; ${replay.ticks.toLocaleString("en")} ticks; ${ageText(Date.now() / 1000 - replay.modified)}</small></li>`)}</ul>
    ${data?.left_off > 0 && html`<p class="hint">${data.left_off.toLocaleString("en")} older replays were not looked at.</p>`}
    ${data?.why && html`<p class="hint">They cannot play again: ${data.why}.</p>`}
    ${data && html`<div class="buttons start"><${Watch} run=${run} seats=${data.seats} /></div>`}
    ${data?.record && html`<p class="hint">Play and record one: <code>${data.record}</code></p>`}
  </div>`;
}

export function PayoffPanel({ run, players, ratings, everyMs }) {
  const [newest, setNewest] = useState(innerWidth < 640 ? 5 : 20);
  const [sorted, setSorted] = useState("member");
  const [cursor, setCursor] = useState(null); // names of the row's and the column's player
  const [opened, setOpened] = useState(null);
  const { data, error } = useGet(`/api/leagues/${id(run.id)}/payoff`, { newest }, newest > 100 ? 6 * everyMs : everyMs);
  const canvas = useRef(null);
  const map = useRef(null);
  const payoff = useMemo(() => data && new Payoff(data.pairs), [data]);
  const owners = useMemo(() => new Map(players.map((player) => [player.player, player])), [players]);
  const order = useMemo(() => {
    if (!payoff) return [];
    const found = payoff.players.map((_, k) => k);
    const name = (k) => payoff.players[k];
    if (sorted === "elo") {
      const rated = new Map((ratings ?? []).map((player) => [player.player, player.rating]));
      found.sort((a, b) => (rated.get(name(b)) ?? -Infinity) - (rated.get(name(a)) ?? -Infinity) || a - b);
    } else if (sorted === "steps") found.sort((a, b) => (owners.get(name(a))?.steps ?? -1) - (owners.get(name(b))?.steps ?? -1) || a - b);
    return found;
  }, [payoff, sorted, ratings, owners]);
  const groups = useMemo(() => {
    if (!payoff || sorted !== "member") return [];
    const owner = (name) => {
      const player = owners.get(name);
      return player?.kind === "frozen" ? player.member : player?.kind === "bot" ? "bots" : "members now";
    };
    return groupsOf(payoff.players, order, owner);
  }, [payoff, order, owners, sorted]);

  useEffect(() => {
    if (!payoff || !canvas.current) return undefined;
    map.current ??= new HeatMap(canvas.current);
    map.current.show(payoff, order, groups);
    window.ludus = { ...window.ludus, map: map.current, payoff };
    const again = () => map.current.show(payoff, order, groups);
    const sizes = new ResizeObserver(() => map.current.resize());
    sizes.observe(canvas.current.parentElement);
    const theme = matchMedia("(prefers-color-scheme: dark)");
    theme.addEventListener("change", again);
    return () => {
      sizes.disconnect();
      theme.removeEventListener("change", again);
    };
  }, [payoff, order, groups]);

  const rowOf = (name) => order.findIndex((k) => payoff.players[k] === name);
  const nameAt = (row) => payoff.players[order[row]];
  useEffect(() => {
    if (!map.current || !payoff) return;
    const place = cursor && cursor.map(rowOf);
    map.current.cursor = place && place.every((row) => row >= 0) ? place : null;
    map.current.draw();
  }, [cursor, payoff, order, groups]);

  const pick = (cell) => setCursor(cell && [nameAt(cell[0]), nameAt(cell[1])]);
  const under = (event) => map.current?.cellAt(event.offsetX, event.offsetY) ?? null;
  const open = (names) => names && names[0] !== names[1] && setOpened(names);
  const keyed = (event) => {
    const step = STEPS[event.key];
    if (event.key === "Enter" && cursor) open(cursor);
    else if (!step && event.key !== "Home" && event.key !== "End") return;
    event.preventDefault();
    if (event.key === "Enter") return;
    const bound = (place) => Math.max(0, Math.min(order.length - 1, place));
    const now = cursor && cursor.every((name) => rowOf(name) >= 0) ? cursor.map(rowOf) : [0, 0];
    const next = step ? (cursor ? [bound(now[0] + step[0]), bound(now[1] + step[1])] : now) : [now[0], event.key === "Home" ? 0 : order.length - 1];
    pick(next);
    const [x, y] = map.current.pointOf(...next);
    const box = canvas.current.parentElement;
    box.scrollTo({ left: x - box.clientWidth / 2, top: y - box.clientHeight / 2 });
  };
  const text = (names) => {
    const places = names.map((name) => payoff.players.indexOf(name));
    return pairText(...names, payoff.pair(...places), payoff.window);
  };
  const met = (data?.pairs.i.length ?? 0) > 0;
  return html`<section class="panel" id="payoff"><h2>Who beats whom</h2>
    ${error && html`<${Failure}>${error}</${Failure}>`}
    ${data && !met && html`<p class="hint">No player has met another yet: the league has just started, or its game has one seat.</p>`}
    <div class="map-choices" hidden=${!met}>
      <label class="check">frozen players of each member <select id="newest" value=${newest} onChange=${(event) => setNewest(Number(event.target.value))}>
        ${CHOICES.map((count) => html`<option key=${count} value=${count}>${count === CHOICES.at(-1) ? "as many as fit" : `the newest ${count}`}</option>`)}</select></label>
      <label class="check">order <select id="order" value=${sorted} onChange=${(event) => setSorted(event.target.value)}>
        <option value="member">by member</option><option value="elo">strongest first</option><option value="steps">by steps</option></select></label>
      ${data?.left > 0 && html`<span class="hint">${data.left.toLocaleString("en")} older frozen players are left out</span>`}</div>
    <p class="map-text" id="map-text" role="status" aria-live="polite" hidden=${!met}>${cursor && payoff && cursor.every((name) => payoff.players.includes(name)) ? text(cursor) : HOW}</p>
    <div class="map-box" hidden=${!met}><canvas ref=${canvas} id="heat-map" tabindex="0" role="application"
      aria-label="Payoff: how often the row's player beats the column's. Arrow keys choose a pair, Enter shows its matches."
      onKeyDown=${keyed} onPointerMove=${(event) => event.pointerType === "mouse" && pick(under(event))}
      onClick=${(event) => { const cell = under(event); pick(cell); if (cell) open(cell.map(nameAt)); }}></canvas></div>
    ${met && html`<${Legend} />`}
    ${opened && payoff && opened.every((name) => payoff.players.includes(name)) && html`<${Matches} run=${run} a=${opened[0]} b=${opened[1]} text=${text(opened)} />`}
  </section>`;
}
