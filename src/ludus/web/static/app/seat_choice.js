// Who sits at a seat: a person, a trained player, a bot, a search, or a version of a run by its strength.
import { html, useState } from "./html.js";

const PERSON = "person";
const LADDER = "ladder:";
const LOADING = "loading"; // until the players are known
const GROUPS = [["bot", "Bots"], ["search", "Searches"], ["plan", "Planners"], ["network", "Trained weights"]];

function rungText(rung) {
  const parts = [];
  if (Number.isFinite(rung.step)) parts.push(`step ${rung.step.toLocaleString("en")}`);
  if (Number.isFinite(rung.low)) parts.push(`win rate between ${percent(rung.low)} and ${percent(rung.high)}`);
  return parts.join(", ");
}

function percent(share) {
  return `${Math.round(100 * share)}%`;
}

// One slider over a run's versions, the weakest on the left, `random` at the foot.
function Ladder({ seat, ladder, player, onChoose }) {
  const rungs = ladder.versions;
  const at = Math.max(0, rungs.findIndex((rung) => rung.name === player));
  const rung = rungs[at];
  return html`<div class="ladder">
    <label for=${`strength-${seat}`}>Strength</label>
    <input id=${`strength-${seat}`} type="range" min="0" max=${rungs.length - 1} step="1" value=${at}
      aria-valuetext=${`${rung.label}, ${at + 1} of ${rungs.length}`}
      onInput=${(event) => onChoose(rungs[Number(event.target.value)].name)} />
    <output for=${`strength-${seat}`}><b>${rung.label}</b> <small>${rungText(rung)}</small></output>
  </div>`;
}

function has(ladder, player) {
  return ladder.versions.some((rung) => rung.name === player);
}

// Players that cannot play the game, with the reason of each: for those who look for one.
export function Refused({ players }) {
  const refused = players.filter((one) => one.reason);
  if (!refused.length) return null;
  const runs = refused.filter((one) => one.kind === "network").length;
  const others = refused.length - runs;
  const counted = [runs && `${runs} ${runs === 1 ? "run" : "runs"}`, others && `${others} ${others === 1 ? "search" : "searches"}`];
  return html`<details class="refused"><summary>not for this game: ${counted.filter(Boolean).join(", ")}</summary>
    <ul>${refused.map((one) => html`<li key=${one.name}><b>${one.label || one.name}</b>: ${one.reason}</li>`)}</ul></details>`;
}

export function SeatChoice({ seat, side, player, offer, trained = [], noPerson, onChoose }) {
  const players = offer?.players ?? [];
  const ladders = (offer?.ladders ?? []).filter((ladder) => ladder.versions.length > 0);
  const agent = trained.find((one) => one.name === player);
  const listed = Boolean(agent) || players.some((one) => one.name === player);
  const playable = Boolean(agent) || players.some((one) => one.name === player && !one.reason);
  // `random` is the foot of every ladder and a player of its own: the chosen run decides.
  const [run, setRun] = useState("");
  const ladder = ladders.find((one) => one.run === run && has(one, player)) ?? (listed ? undefined : ladders.find((one) => has(one, player)));
  const value = ladder ? LADDER + ladder.run : player || LOADING;
  const choose = (event) => {
    const chosen = ladders.find((one) => LADDER + one.run === event.target.value);
    setRun(chosen?.run ?? "");
    onChoose(chosen ? chosen.versions.at(-1).name : event.target.value);
  };
  return html`<div class="field"><label class="sr-only" for=${`seat-${seat}`}>Player of ${side || `seat ${seat}`}</label>
      <select id=${`seat-${seat}`} value=${value} onChange=${choose}>
        <option value=${PERSON} disabled=${noPerson}>You${noPerson ? ": no one plays this game on a page" : ""}</option>
        ${trained.length > 0 && html`<optgroup label="Trained players, from easy to hard">
          ${trained.map((one) => html`<option value=${one.name}>${one.word}: ${one.title}</option>`)}</optgroup>`}
        ${ladders.length > 0 && html`<optgroup label="Runs, by strength">
          ${ladders.map((one) => html`<option value=${LADDER + one.run}>${one.name}</option>`)}</optgroup>`}
        ${GROUPS.map(([kind, title]) => {
          const fitting = players.filter((one) => one.kind === kind && !one.reason);
          return fitting.length > 0 && html`<optgroup label=${title}>
            ${fitting.map((one) => html`<option value=${one.name}>${one.label || one.name}</option>`)}</optgroup>`;
        })}
        ${value && value !== PERSON && !playable && !ladder && html`<option value=${value}>${offer ? value : "Loading the players"}</option>`}
      </select></div>
    ${agent?.strength && html`<small class="strength" id=${`words-${seat}`}>${agent.strength}</small>`}
    ${ladder && html`<${Ladder} seat=${seat} ladder=${ladder} player=${player} onChoose=${onChoose} />`}`;
}
