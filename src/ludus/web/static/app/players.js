// The panels beside the board: players with their clocks, moves, thoughts.
import { html, SeatMark, useEffect, useState } from "./html.js";
import { HERO_HEADINGS, heroCells, heroesOf } from "../replay/heroes.js";
import { spoken } from "./moves.js";

const SHOWN_MOVES = 60;
const SHOWN_CHOICES = 6;

// Seconds as m:ss, with tenths below ten seconds.
function clockText(seconds) {
  if (seconds < 10) return seconds.toFixed(1);
  const whole = Math.ceil(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

// A clock that runs between two messages of the server, which alone decides. stoodAt: when the link was lost, or 0: the
// server gives back the time since then.
function Clock({ left, runs, stoodAt }) {
  const [, tick] = useState(0);
  const [since, setSince] = useState(performance.now());
  useEffect(() => {
    if (!stoodAt) setSince(performance.now());
  }, [left, runs, stoodAt]);
  useEffect(() => {
    if (!runs) return undefined;
    const timer = setInterval(() => tick((n) => n + 1), 100);
    return () => clearInterval(timer);
  }, [runs]);
  const passed = Math.max(0, (stoodAt || performance.now()) - since);
  const shown = Math.max(0, left - (runs || stoodAt ? passed / 1000 : 0));
  return html`<b class=${`seat-clock ${shown < 5 ? "short" : ""}`} role="timer">${clockText(shown)}</b>`;
}

export function Players({ game }) {
  const { hello, moment, over } = game;
  const running = !moment.paused && !over;
  const numbers = game.view?.seatNumbers?.(moment.tick) ?? [];
  return html`<div id="seats" aria-label="Players">
    ${hello.seats.map((seat, i) => {
      const left = moment.left_s[i];
      const turn = hello.turn_based && !over && game.toAct.includes(i);
      const money = moment.view?.money?.[i] ?? moment.view?.score?.[i];
      return html`<section class=${`seat ${turn ? "to-move" : ""}`} key=${i}>
        <h2><${SeatMark} seat=${i} /><span class="seat-name" title=${seat.name}>${hello.you.includes(i) ? "You" : seat.short || seat.name}</span>
          ${seat.side && html`<span class="seat-side">${seat.side}</span>`}
          ${turn && html`<span class="badge">to move</span>`}
          ${over?.outcome[i] > 0 && html`<span class="badge won">won</span>`}</h2>
        <dl class="numbers">
          ${Number.isFinite(money) && html`<div><dt>${moment.view.money ? "money" : "score"}</dt><dd>${money}</dd></div>`}
          ${Object.entries(numbers[i] ?? {}).map(([name, value]) => html`<div key=${name}><dt title=${hello.guide?.words?.[name]}>${name}</dt><dd>${value}</dd></div>`)}
          ${left !== undefined && html`<div><dt>clock</dt><dd><${Clock} left=${left} runs=${running && game.online}
            stoodAt=${running && !game.online ? game.stoodAt : 0} /></dd></div>`}
        </dl>
      </section>`;
    })}
  </div>`;
}

// The table of heroes, as far as the page may know them.
export function Heroes({ game }) {
  const heroes = heroesOf(game.moment.view);
  if (!heroes.length) return null;
  return html`<section class="panel" id="heroes-panel"><h2>Heroes</h2><div id="heroes"><table class="heroes">
    <thead><tr><th scope="col">hero</th>
      ${HERO_HEADINGS.map(([short, full]) => html`<th scope="col" title=${full} aria-label=${full}>${short}</th>`)}</tr></thead>
    <tbody>${heroes.map((hero) => html`<tr key=${hero.seat} class=${hero.respawn > 0 ? "gone" : ""}>
      <th scope="row"><${SeatMark} seat=${hero.seat} /><span class="what">${hero.class ? spoken(hero.class) : "?"}</span></th>
      ${heroCells(hero).map((text) => html`<td>${text}</td>`)}</tr>`)}</tbody>
  </table></div></section>`;
}

export function LastMoves({ game }) {
  const { log, hello } = game;
  return html`<section class="panel" id="moves-panel"><h2 title="What the sides have done, the newest first">${hello.turn_based ? "Moves" : "Decisions"}</h2>
    ${log.length === 0 && html`<p class="hint">None yet</p>`}
    <ol class="log" id="moves" tabindex="0" aria-label="Last moves">
      ${log.slice(-SHOWN_MOVES).reverse().map((move) => html`<li class="row" key=${`${move.tick}/${move.seat}/${move.text}`}>
        <span class="row-tick">${move.tick}</span><${SeatMark} seat=${move.seat} /><span class="what">${game.words(move.text)}</span></li>`)}
    </ol>
  </section>`;
}

function Bars({ pairs, most, text }) {
  return html`<ul class="bars">${pairs.slice(0, SHOWN_CHOICES).map(([label, value]) => html`<li key=${label}>
    <span class="what">${spoken(label)}</span>
    <meter min="0" max=${most} value=${value}></meter>
    <b>${text(value)}</b></li>`)}</ul>`;
}

// A value with its sign, as the page of a replay writes it; one that rounds to zero has none.
function signed(value) {
  const text = Math.abs(value).toFixed(2);
  return Number(text) === 0 ? text : `${value < 0 ? "−" : "+"}${text}`;
}

function Thought({ thought, seat, name }) {
  const { heads, visits, value, line } = thought;
  return html`<section class="thought">
    <h3><${SeatMark} seat=${seat} /> ${name}
      ${Number.isFinite(value) && html`<span class="value">value ${signed(value)}</span>`}</h3>
    ${visits.length === 0 && heads.map((head) => html`<${Bars} pairs=${head} most=${1} text=${(p) => `${Math.round(100 * p)}%`} />`)}
    ${visits.length > 0 && html`<${Bars} pairs=${visits} most=${visits[0][1]} text=${(n) => n.toLocaleString("en")} />`}
    ${line.length > 0 && html`<p class="hint">line: ${line.map(spoken).join(" ")}</p>`}
  </section>`;
}

// Thoughts of the players, for those who look on at a match without persons.
export function Thoughts({ game }) {
  const { hello } = game;
  if (!game.maySeeThoughts) return null;
  return html`<section class="panel" id="thoughts"><h2>Thoughts</h2>
    <label class="check"><input type="checkbox" id="hints" checked=${game.hints}
      onChange=${(event) => game.showThoughts(event.target.checked)} /> show what the players think</label>
    ${game.hints && [...game.thoughts].sort(([a], [b]) => a - b).map(([seat, thought]) => html`<${Thought} key=${seat} seat=${seat}
      thought=${thought} name=${hello.seats[seat]?.name ?? `seat ${seat}`} />`)}
  </section>`;
}
