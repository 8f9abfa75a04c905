// Who sits at a seat: a person, a bot, a search, or a version of a run by its strength.
import { html, useState } from "./html.js";

const PERSON = "person";
const LADDER = "ladder:";
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

export function SeatChoice({ seat, player, offer, noPerson, onChoose }) {
  const players = offer?.players ?? [];
  const ladders = (offer?.ladders ?? []).filter((ladder) => ladder.versions.length > 0);
  const listed = players.some((one) => one.name === player);
  // `random` is the foot of every ladder and a player of its own: the chosen run decides.
  const [run, setRun] = useState("");
  const ladder = ladders.find((one) => one.run === run && has(one, player)) ?? (listed ? undefined : ladders.find((one) => has(one, player)));
  const value = ladder ? LADDER + ladder.run : player;
  const choose = (event) => {
    const chosen = ladders.find((one) => LADDER + one.run === event.target.value);
    setRun(chosen?.run ?? "");
    onChoose(chosen ? chosen.versions.at(-1).name : event.target.value);
  };
  return html`<div class="field"><label class="sr-only" for=${`seat-${seat}`}>Player of seat ${seat}</label>
      <select id=${`seat-${seat}`} value=${value} onChange=${choose}>
        <option value=${PERSON} disabled=${noPerson}>You${noPerson ? ": no one plays this game on a page" : ""}</option>
        ${ladders.length > 0 && html`<optgroup label="Runs, by strength">
          ${ladders.map((one) => html`<option value=${LADDER + one.run}>${one.name}</option>`)}</optgroup>`}
        ${GROUPS.map(([kind, title]) => {
          const fitting = players.filter((one) => one.kind === kind);
          return fitting.length > 0 && html`<optgroup label=${title}>
            ${fitting.map((one) => html`<option value=${one.name} disabled=${!!one.reason}>
              ${one.label || one.name}${one.reason ? `: ${one.reason}` : ""}</option>`)}</optgroup>`;
        })}
        ${value && value !== PERSON && !listed && !ladder && html`<option value=${value}>${value}</option>`}
      </select></div>
    ${ladder && html`<${Ladder} seat=${seat} ladder=${ladder} player=${player} onChoose=${onChoose} />`}`;
}
