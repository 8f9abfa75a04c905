// The analysis of a recorded match: who is asked, the wait, and matches that start from one of its moments. Records of
// other programs (SGF) come in here too.
import { get, post, postFile, useGet } from "./api.js";
import { Header } from "./home.js";
import { Failure, html, SeatMark, useEffect, useState } from "./html.js";
import { keep } from "./match_keys.js";
import { SeatChoice } from "./seat_choice.js";

const PERSON = "person";
const SEARCH = "mcts:400";
const id = encodeURIComponent;

// Seconds since a moment, while it is one.
function useSeconds(since) {
  const [, tick] = useState(0);
  useEffect(() => {
    if (!since) return undefined;
    const timer = setInterval(() => tick((n) => n + 1), 500);
    return () => clearInterval(timer);
  }, [since]);
  return since ? Math.floor((performance.now() - since) / 1000) : 0;
}

function AnalystChoice({ label, name, analysts, value, none, onChoose }) {
  return html`<label class="field-line">${label}
    <select id=${name} value=${value} onChange=${(event) => onChoose(event.target.value)}>
      ${none && html`<option value="">${none}</option>`}
      ${analysts.map((one) => html`<option value=${one.name}>${one.label}</option>`)}
    </select></label>`;
}

// A choice of one analyst or two, and the button that asks them. The page of the replay opens when they have answered.
export function Analyse({ replay }) {
  const { data, error } = useGet(`/api/replays/${id(replay)}/match`);
  const [first, setFirst] = useState("");
  const [second, setSecond] = useState("");
  const [since, setSince] = useState(0);
  const [why, setWhy] = useState("");
  const seconds = useSeconds(since);
  if (error) return html`<${Failure}>${error}</${Failure}>`;
  if (!data) return html`<div class="analyse"><p class="hint">Looking for who can analyse it</p></div>`; // buttons stay where they are
  if (!data.analysts.length) return html`<p class="hint">No one can analyse this match: the game cannot be searched, and no weights here fit it.</p>`;
  const chosen = first || data.analysts[0].name;
  const start = async () => {
    const query = new URLSearchParams([chosen, second].filter((name) => name).map((name) => ["with", name])).toString();
    setSince(performance.now());
    setWhy("");
    try {
      await get(`/api/replays/${id(replay)}/analysis?${query}`);
      location.assign(`/replay/${id(replay)}?${query}`);
    } catch (problem) {
      setWhy(problem.message);
    }
    setSince(0);
  };
  return html`<div class="analyse" id="analyse">
    <${AnalystChoice} label="Analyst" name="analyst" analysts=${data.analysts} value=${chosen} onChoose=${setFirst} />
    ${data.analysts.length > 1 && html`<${AnalystChoice} label="Second opinion" name="second" none="none"
      analysts=${data.analysts.filter((one) => one.name !== chosen)} value=${second} onChoose=${setSecond} />`}
    <button type="button" id="analyse-start" class="primary" disabled=${!!since} onClick=${start}>Analyse</button>
    ${data.record && html`<a class="button" id="record" title="Save the match as a file for other programs" href=${`/api/replays/${id(replay)}/record`} download>${data.record.slice(1).toUpperCase()}</a>`}
    ${since > 0 && html`<p class="hint" role="status">Thinking about ${data.decisions.toLocaleString("en")} decisions, ${seconds} s</p>`}
    ${why && html`<${Failure}>${why}</${Failure}>`}
  </div>`;
}

// What of a file that was sent is not in its match: behind the # of the address.
function notesOfFile() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return "";
  }
}

export function AnalysePage({ id: replay }) {
  const { data, error } = useGet(`/api/replays/${id(replay)}/match`);
  return html`<${Header} title="Analyse a match"><a class="button" href=${`/replay/${id(replay)}`}>Replay</a></${Header}>
    ${error && html`<${Failure}>${error}</${Failure}>`}
    ${data && html`<main class="single"><section class="panel"><h2>${data.title}</h2>
      <p>${data.players.map((name, seat) => html`<span class="player"><${SeatMark} seat=${seat} /> ${name || `seat ${seat}`}</span> `)}
        <span class="hint">${data.ticks.toLocaleString("en")} ticks</span></p>
      ${notesOfFile() && html`<ul id="file-notes">${notesOfFile().split("; ").map((note) => html`<li>${note}</li>`)}</ul>`}
      <${Analyse} replay=${replay} />
      <p class="hint">The page of the match opens with the value after each decision, the moves that the analyst prefers, and the ten largest mistakes.
        A search with random matches needs no training; weights know more.</p>
    </section></main>`}`;
}

// The player of a seat in a new match: the one of the recorded match where the server has it, else a search, else a bot.
function usual(name, offer) {
  const players = (offer?.players ?? []).filter((one) => !one.reason);
  const versions = (offer?.ladders ?? []).flatMap((ladder) => ladder.versions);
  if ([...players, ...versions].some((one) => one.name === name)) return name;
  if (/^mcts:[1-9]\d{0,4}$/.test(name) && players.some((one) => one.name === SEARCH)) return name;
  return (players.find((one) => one.name === SEARCH) ?? players.find((one) => one.kind === "bot") ?? players[0])?.name ?? "";
}

// A match from a moment of a recorded one.
export function RetryPage({ id: replay, query }) {
  const { data, error } = useGet(`/api/replays/${id(replay)}/match`);
  const offer = useGet(data ? "/api/players" : "", data ? { game: data.game, params: JSON.stringify(data.params) } : {});
  const [own, setOwn] = useState(Number(query.get("seat") ?? -1));
  const [others, setOthers] = useState({});
  const [why, setWhy] = useState("");
  const [busy, setBusy] = useState(false);
  const tick = Math.max(0, Math.floor(Number(query.get("tick")) || 0));
  if (error) return html`<${Header} title="Play from here" /><${Failure}>${error}</${Failure}>`;
  if (!data || (!offer.data && !offer.error)) return html`<${Header} title="Play from here" /><p class="hint">Loading the match</p>`;
  const seats = data.players.map((_, seat) => seat);
  const seat = seats.includes(own) ? own : data.turn_based && seats.length === 2 ? tick % 2 : 0;
  const chosen = seats.map((one) => (one === seat ? PERSON : others[one] ?? usual(data.players[one], offer.data)));
  const start = async (event) => {
    event.preventDefault();
    setBusy(true);
    setWhy("");
    try {
      const made = await post("/api/matches", { game: data.game, seats: chosen, from: { replay, tick } });
      keep(made.id, made.key);
      location.assign(`/play/${id(made.id)}`);
    } catch (problem) {
      setWhy(problem.message);
      setBusy(false);
    }
  };
  return html`<${Header} title="Play from here"><a class="button" href=${`/replay/${id(replay)}#tick=${tick}`}>Replay</a></${Header}>
    ${offer.error && html`<${Failure}>${offer.error}</${Failure}>`}
    ${!data.playable && html`<${Failure}>No one plays ${data.title} on a page</${Failure}>`}
    <form class="setup" onSubmit=${start}>
      <section class="panel"><h2>${data.title}, tick ${tick.toLocaleString("en")} of ${data.ticks.toLocaleString("en")}</h2>
        <label class="field-line">Your seat
          <select id="own-seat" value=${String(seat)} onChange=${(event) => setOwn(Number(event.target.value))}>
            ${seats.map((one) => html`<option value=${String(one)}>seat ${one}, of ${data.players[one] || "no name"}</option>`)}
          </select></label>
        ${seats.filter((one) => one !== seat).map((one) => html`<fieldset class="seat-choice" key=${one}>
          <legend><${SeatMark} seat=${one} /> seat ${one}</legend>
          <${SeatChoice} seat=${one} player=${chosen[one]} offer=${offer.data} noPerson=${false}
            onChoose=${(name) => setOthers({ ...others, [one]: name })} /></fieldset>`)}
      </section>
      ${why && html`<${Failure}>${why}</${Failure}>`}
      <button type="submit" id="start" class="primary wide" disabled=${busy || !data.playable || !offer.data}>Play from tick ${tick.toLocaleString("en")}</button>
    </form>`;
}

// A file of a match, chosen or dropped: a replay, or a game of Go in SGF. Its page opens.
export function RecordFile() {
  const [why, setWhy] = useState("");
  const [over, setOver] = useState(false);
  const send = async (file) => {
    if (!file) return;
    setWhy("");
    try {
      const made = await postFile("/api/records", file);
      location.assign(`/analyse/${id(made.id)}${made.notes.length ? `#${id(made.notes.join("; ").slice(0, 1000))}` : ""}`);
    } catch (problem) {
      setWhy(problem.message);
    }
  };
  const drop = (event) => {
    event.preventDefault();
    setOver(false);
    send(event.dataTransfer.files[0]);
  };
  return html`<section class=${`panel record-file ${over ? "over" : ""}`} id="record-file" aria-label="A match in a file"
      onDragOver=${(event) => {
        event.preventDefault();
        setOver(true);
      }} onDragLeave=${() => setOver(false)} onDrop=${drop}>
    <h2>A match in a file</h2>
    <label>Drop a game of Go (.sgf) or a replay (.ludus) here, or choose it:
      <input type="file" id="record-input" accept=".sgf,.ludus" onChange=${(event) => send(event.target.files[0])} /></label>
    ${why && html`<${Failure}>${why}</${Failure}>`}
  </section>`;
}
