// What stands under the board once the match is over, or the own seat is: why, and what one can do next.
import { Analyse } from "./analysis.js";
import { post } from "./api.js";
import { sentenceOf } from "./game.js";
import { playLink } from "./home.js";
import { html, useState } from "./html.js";
import { keep } from "./match_keys.js";

const SERVED = /^[A-Za-z0-9][\w.-]*@[\w:+.-]+$/; // RUN@VERSION, where RUN is an id of the server's

// The first other player, by the name that a set-up takes; "" where it has none.
function opponent({ seats }) {
  const others = seats.filter((seat) => seat.kind !== "person");
  return others.find((seat) => seat.kind !== "network" || SERVED.test(seat.name))?.name ?? "";
}

// Another match with the same players, at once.
function Rematch({ game }) {
  const [busy, setBusy] = useState(false);
  const [why, setWhy] = useState("");
  const ask = async (swap) => {
    setBusy(true);
    setWhy("");
    try {
      const { id, key } = await post("/api/rematch", { match: game.hello.match, key: game.connection.key, swap });
      keep(id, key);
      location.assign(`/play/${encodeURIComponent(id)}`);
    } catch (problem) {
      setWhy(problem.message);
      setBusy(false);
    }
  };
  return html`<button type="button" id="rematch" class="primary" disabled=${busy} onClick=${() => ask(false)}>Rematch</button>
    ${game.hello.seats.length > 1 && html`<button type="button" id="swap" disabled=${busy} onClick=${() => ask(true)}>Change sides</button>`}
    ${why && html`<span class="failure" role="alert">${why}</span>`}`;
}

export function Result({ game }) {
  const { over, hello } = game;
  if (!over) return null;
  const gone = game.link.state === "closed";
  return html`<div class="result" id="result">
    <span><b>${game.result(over)}</b>. ${sentenceOf(over.reason)}</span>
    ${gone && html`<span class="failure" id="ended">${game.link.why}: links lead nowhere</span>`}
    ${hello.again && !gone && html`<${Rematch} game=${game} />`}
    ${over.url && html`<a class="button" id="replay-link" href=${over.url}>Watch the replay</a>`}
    ${hello.you.length > 0 && html`<a class="button" id="new-match" href=${playLink(hello, opponent(hello))}>Other match</a>`}
    ${over.replay && html`<${Analyse} replay=${over.replay} />`}
  </div>`;
}

// A person whose seat is out of a match that continues is told why.
export function OutOfMatch({ game }) {
  if (game.over || !game.isOut) return null;
  return html`<div class="result" id="out" role="status">
    <span><b>You are out.</b> ${sentenceOf(game.outWhy || "your seat has had no turn for a second")} The match continues: watch on, or leave.</span>
    <a class="button" id="leave" href="/">Leave</a>
  </div>`;
}
