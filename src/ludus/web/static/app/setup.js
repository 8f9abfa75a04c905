// The set-up of a match: the game and its parameters, who sits where, the speed or the clock.
import { post, useGet } from "./api.js";
import { Header } from "./home.js";
import { Failure, html, SeatMark, useEffect, useMemo, useState } from "./html.js";
import { keep } from "./match_keys.js";
import { GuideText } from "./explain.js";
import { Refused, SeatChoice } from "./seat_choice.js";

const RATES = [0.25, 0.5, 1, 2];
const PERSON = "person";

// The value that a field's text means, undefined for the default.
function valueOf(param, text) {
  if (text === undefined || text === "") return undefined;
  if (param.kind === "integer" || param.kind === "real") return Number(text);
  if (param.kind === "flag" || param.kind === "boolean") return text === "true";
  return text;
}

export function rangeText(param) {
  if (param.choices?.length || !["integer", "real"].includes(param.kind)) return "";
  return `${param.low} to ${param.high}`;
}

function ParamField({ param, text, onChange }) {
  const id = `param-${param.name}`;
  const number = param.kind === "integer" || param.kind === "real";
  const choices = param.choices?.length ? param.choices : ["flag", "boolean"].includes(param.kind) ? ["false", "true"] : null;
  const change = (event) => onChange(event.target.value);
  const value = text ?? param.default_value;
  return html`<div class="field"><label for=${id}>${param.name.replaceAll("_", " ")}</label>
    ${choices
      ? html`<select id=${id} value=${value} onChange=${change}>${choices.map((choice) => html`<option value=${choice}>${choice}</option>`)}</select>`
      : html`<input id=${id} type=${number ? "number" : "text"} value=${value} onChange=${change}
          min=${number ? param.low : undefined} max=${number ? param.high : undefined} step=${param.kind === "real" ? "any" : undefined} />`}
    <small>${param.meaning} ${rangeText(param)}</small></div>`;
}

function useGame(games, wanted) {
  const [name, setName] = useState(wanted);
  const game = games.find((one) => one.name === name) ?? games[0];
  return [game, setName];
}

// Parameters that a link gives, as texts of the fields; none where they cannot be read.
function linkedParams(query) {
  try {
    const given = Object.entries(JSON.parse(query.get("params") ?? "{}"));
    return Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
  } catch {
    return {};
  }
}

function Setup({ games, first, zoo, query }) {
  const [game, setName] = useGame(games, query.get("game") || first);
  const trained = zoo[game.name] ?? []; // from easy to hard
  const persons = () => Object.fromEntries(game.view.persons);
  const isLinked = () => query.get("game") === game.name && (query.get("against") || query.get("params"));
  // A link to weights has their parameters, a trained player its own; without one, a person plays as the game suggests.
  const linked = () => (isLinked() ? linkedParams(query) : trained.length > 0 ? trained[0].params : persons());
  const [texts, setTexts] = useState(linked);
  const [seats, setSeats] = useState({});
  const [pace, setPace] = useState({ rate: 1, clock_s: 0, seed: "", start: "order" });
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const params = useMemo(() => {
    const all = (game.params ?? []).map((param) => [param.name, valueOf(param, texts[param.name])]);
    return Object.fromEntries(all.filter(([, value]) => value !== undefined));
  }, [game, texts]);
  const players = useGet("/api/players", { game: game.name, params: JSON.stringify(params) });
  const { data: explained } = useGet("/api/guide", { game: game.name, params: JSON.stringify(params) });
  useEffect(() => {
    setTexts(linked());
    setSeats({});
  }, [game.name]);
  const easiest = isLinked() ? "" : trained[0]?.name;
  const otherwise = (seat) => (seat === 0 ? PERSON : query.get("game") === game.name && query.get("against") || easiest || firstPlayer(players.data));
  const chosen = Array.from({ length: game.seats }, (_, seat) => seats[seat] ?? otherwise(seat));
  // A trained player brings the parameters that it plays under; without one, they are again those for persons.
  const choose = (seat, name) => {
    const found = trained.find((one) => one.name === name);
    const were = chosen.some((player) => trained.some((one) => one.name === player));
    const remain = chosen.some((player, at) => at !== seat && trained.some((one) => one.name === player));
    if (found) setTexts(found.params);
    else if (were && !remain) setTexts(persons());
    setSeats({ ...Object.fromEntries(chosen.map((player, at) => [at, player])), [seat]: name });
  };
  const start = async (event) => {
    event.preventDefault();
    setBusy(true);
    setError("");
    try {
      const body = { game: game.name, params, seats: chosen };
      if (!game.turn_based) Object.assign(body, { rate: Number(pace.rate), start: pace.start }); // what another game was given is not this one's
      else if (chosen.includes(PERSON)) body.clock_s = Number(pace.clock_s);
      if (pace.seed !== "") body.seed = Number(pace.seed);
      const { id, key } = await post("/api/matches", body);
      keep(id, key);
      location.assign(chosen.includes(PERSON) ? `/play/${encodeURIComponent(id)}` : `/watch/${encodeURIComponent(id)}`);
    } catch (problem) {
      setError(problem.message);
      setBusy(false);
    }
  };
  const set = (values) => setPace({ ...pace, ...values });
  return html`<form class="setup" onSubmit=${start}>
    <section class="panel"><h2>Game</h2>
      <div class="field"><label for="game">Game</label>
        <select id="game" value=${game.name} onChange=${(event) => setName(event.target.value)}>
          ${games.map((one) => html`<option value=${one.name}>${one.title}</option>`)}</select></div>
      ${game.params?.length > 0 && html`<details><summary>Parameters</summary><div class="fields">
        ${game.params.map((param) => html`<${ParamField} key=${param.name} param=${param} text=${texts[param.name]}
          onChange=${(text) => setTexts({ ...texts, [param.name]: text })} />`)}</div></details>`}
    </section>
    ${explained?.guide && html`<section class="panel setup-guide" aria-label="How to play"><p class="aim">${explained.guide.aim}</p>
      <details><summary>How to play</summary><div id="setup-guide"><${GuideText} guide=${explained.guide} open=${false} /></div></details></section>`}
    <section class="panel" aria-label="Players"><h2>Who sits where</h2>
      ${players.error && html`<${Failure}>${players.error}</${Failure}>`}
      ${chosen.map((player, seat) => html`<fieldset class="seat-choice" key=${seat}>
        <legend><${SeatMark} seat=${seat} /> ${game.sides?.[seat] ?? `seat ${seat}`}</legend>
        <${SeatChoice} seat=${seat} side=${game.sides?.[seat]} player=${player} offer=${players.data} trained=${trained}
          noPerson=${game.view.input === "none"} onChoose=${(name) => choose(seat, name)} />
      </fieldset>`)}
      ${!players.data && !players.error && html`<p class="hint" id="loading">Loading the players</p>`}
      <${Refused} players=${players.data?.players ?? []} />
    </section>
    <section class="panel"><h2>Time</h2><div class="fields">
      ${game.turn_based
        ? html`<div class="field"><label for="clock">Seconds for each move of a person</label>
            <input id="clock" type="number" min="0" max="3600" step="any" value=${pace.clock_s} onChange=${(event) => set({ clock_s: event.target.value })} />
            <small>0: no clock</small></div>`
        : html`<div class="field"><label for="rate">Speed</label>
            <select id="rate" value=${String(pace.rate)} onChange=${(event) => set({ rate: event.target.value })}>
              ${RATES.map((rate) => html`<option value=${String(rate)}>${rate}×</option>`)}</select>
            <small>1×: ${game.view.ticks_per_s || 50} ticks a second</small></div>
          ${chosen.includes(PERSON) && html`<div class="field"><label for="match-start">The match begins</label>
            <select id="match-start" value=${pace.start} onChange=${(event) => set({ start: event.target.value })}>
              <option value="order">with your first order</option><option value="now">now</option></select>
            <small>until then the clock stands</small></div>`}`}
      <div class="field"><label for="seed">Seed</label>
        <input id="seed" type="number" min="0" step="1" value=${pace.seed} onChange=${(event) => set({ seed: event.target.value })} />
        <small>empty: another one for each match</small></div>
    </div></section>
    ${error && html`<${Failure}>${error}</${Failure}>`}
    <button type="submit" id="start" class="primary wide" disabled=${busy || !players.data}>
      ${busy ? "Loading the players" : "Start the match"}</button>
  </form>`;
}

// A bot of the game that is not the weakest, for the seats that no one has chosen yet.
function firstPlayer(offer) {
  const fitting = (offer?.players ?? []).filter((player) => !player.reason && player.kind !== PERSON);
  return (fitting.find((player) => player.kind === "bot") ?? fitting[0])?.name ?? "";
}

export function SetupPage({ query }) {
  const { data, error } = useGet("/api/games");
  const wanted = query.get("game");
  const unknown = data && wanted && !data.games.some((one) => one.name === wanted);
  return html`<${Header} title="Play a match" />
    ${error && html`<${Failure}>${error}</${Failure}>`}
    ${!data && !error && html`<p class="hint">Loading the games</p>`}
    ${unknown && html`<${Failure}>${wanted} cannot be played on a page: pages play compiled games that are installed here.
      ${" "}<a id="other-game" href="/play">Choose another game</a></${Failure}>`}
    ${data && !unknown && html`<${Setup} games=${data.games} first=${data.first} zoo=${data.zoo ?? {}} query=${query} />`}`;
}
