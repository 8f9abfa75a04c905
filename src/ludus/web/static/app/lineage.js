// The lineage of a league: a lane for each member, a dot for each frozen player, and a line from what it came from.
import { html, useMemo } from "./html.js";
import { labelled } from "./payoff.js";
import { short } from "./curve.js";

const LANE = 46;
const WIDTH = 960;
const LEFT = 150;
const NEWEST = 100; // frozen players of a member that are drawn
const LANES = 24;
const EVENTS = 60; // rows of the table

const reasonOf = (milestone) => /\(([^()]*)\)$/.exec(milestone?.detail ?? "")?.[1] ?? "";
const WHAT = { joined: "joined", frozen: "frozen", reset: "continued from", copied: "copied", mutated: "changed settings" };

// A round number of which three to six fit.
function stepOf(most) {
  const size = 10 ** Math.floor(Math.log10(Math.max(1, most / 3)));
  return [5, 2, 1].map((n) => n * size).find((step) => most / step >= 3) ?? size;
}

function drawing(players, members, lineage) {
  const names = members.slice(0, LANES).map((member) => member.name);
  const parents = new Map(members.map((member) => [member.name, member.parent])); // of the weights now
  const lanes = new Map(names.map((name, k) => [name, k]));
  const frozen = names.flatMap((name) => players.filter((player) => player.kind === "frozen" && player.member === name).slice(-NEWEST));
  const live = players.filter((player) => player.kind === "learner" && lanes.has(player.member));
  const most = Math.max(1, ...[...frozen, ...live].map((player) => player.steps ?? 0));
  const at = (player) => [LEFT + 8 + ((player.steps ?? 0) / most) * (WIDTH - LEFT - 30), 24 + LANE * lanes.get(player.member)];
  const places = new Map(frozen.map((player) => [player.player, at(player)]));
  const lines = [...frozen, ...live].flatMap((player) => {
    const from = places.get(player.kind === "learner" ? parents.get(player.member) : player.parent);
    const to = at(player);
    if (!from) return [];
    const middle = (from[0] + to[0]) / 2;
    const path = from[1] === to[1] ? `M${from} L${to}` : `M${from} C${middle},${from[1]} ${middle},${to[1]} ${to}`;
    return [{ path, lane: lanes.get(player.member), key: `${player.parent}-${player.player}` }];
  });
  const crowd = Math.max(0, ...names.map((name) => frozen.filter((player) => player.member === name).length));
  const x = (steps) => LEFT + 8 + (Math.min(steps, most) / most) * (WIDTH - LEFT - 30);
  const y = (member) => 24 + LANE * lanes.get(member);
  const jumps = lineage.filter((m) => (m.what === "copied" || m.what === "reset") && lanes.has(m.member)).slice(-NEWEST * LANES).map((m) => ({
    key: `${m.member}-${m.steps}-${m.what}`, at: [x(m.steps), y(m.member)], lane: lanes.get(m.member),
    from: m.what === "copied" && lanes.has(m.detail) ? y(m.detail) : null,
    text: m.what === "copied" ? `${m.member} copied ${m.detail} at ${m.steps.toLocaleString("en")} steps`
      : `${m.member} continued from ${m.detail === "seed" ? "first weights" : m.detail} at ${m.steps.toLocaleString("en")} steps`,
  }));
  return { jumps, radius: crowd > 60 ? 3 : crowd > 30 ? 4.5 : 6, names, lanes, frozen, live, at, lines, most, height: 24 + LANE * names.length + 14 };
}

export function LineagePanel({ players, members, lineage, milestones, hardest }) {
  const drawn = useMemo(() => drawing(players, members, lineage), [players, members, lineage]);
  const reasons = useMemo(() => new Map(lineage.filter((m) => m.what === "frozen").map((m) => [m.detail.split(" ")[0], reasonOf(m)])), [lineage]);
  const about = (player) => {
    const found = hardest(player.player);
    return [labelled(player.player), `${(player.steps ?? 0).toLocaleString("en")} steps`, player.parent ? `from ${labelled(player.parent)}` : "from first weights",
      reasons.get(player.player), found && found.rate < 0.5 ? `beaten most by ${found.name} (${Math.round(100 - 100 * found.rate)}%)` : ""].filter(Boolean).join("; ");
  };
  const total = players.filter((player) => player.kind === "frozen").length;
  const rows = [...lineage].reverse().slice(0, EVENTS);
  const step = stepOf(drawn.most);
  const ticks = Array.from({ length: Math.floor(drawn.most / step) + 1 }, (_, k) => k * step);
  return html`<section class="panel" id="lineage"><h2>Lineage</h2>
    ${total === 0 && html`<p class="hint">Nothing is frozen yet.</p>`}
    <div class="scroll"><svg class="lineage" viewBox=${`0 0 ${WIDTH} ${drawn.height + 16}`} role="img"
      aria-label=${`Frozen players of ${drawn.names.length} members by steps, each with a line from the player that it came from`}>
      ${drawn.names.map((name, k) => html`<g key=${name}><line class="lane" x1=${LEFT} x2=${WIDTH - 10} y1=${24 + LANE * k} y2=${24 + LANE * k} />
        <text x=${LEFT - 8} y=${28 + LANE * k} text-anchor="end">${name.length > 20 ? `${name.slice(0, 19)}…` : name}</text></g>`)}
      ${ticks.map((tick) => html`<text key=${tick} class="tick" x=${LEFT + 8 + (tick / drawn.most) * (WIDTH - LEFT - 30)} y=${drawn.height + 10} text-anchor="middle">${short(tick)}</text>`)}
      ${drawn.lines.map(({ path, lane, key }) => html`<path key=${key} class=${`colour${lane % 8}`} d=${path} />`)}
      ${drawn.jumps.map(({ key, at: [x, y], from, lane, text }) => html`<g key=${key} class=${`jump colour${lane % 8}`}><title>${text}</title>
        ${from !== null && html`<line x1=${x} x2=${x} y1=${from} y2=${y} />`}<path d=${`M${x - 5},${y - 18} L${x + 5},${y - 18} L${x},${y - 9} Z`} /></g>`)}
      ${drawn.frozen.map((player) => html`<circle key=${player.player} class=${`colour${drawn.lanes.get(player.member) % 8}`} cx=${drawn.at(player)[0]} cy=${drawn.at(player)[1]} r=${drawn.radius}><title>${about(player)}</title></circle>`)}
      ${drawn.live.map((player) => html`<circle key=${player.player} class=${`live colour${drawn.lanes.get(player.member) % 8}`} cx=${drawn.at(player)[0]} cy=${drawn.at(player)[1]} r="6"><title>${player.player} now; ${(player.steps ?? 0).toLocaleString("en")} steps</title></circle>`)}
    </svg></div>
    <p class="hint">A dot is a frozen player, a ring the member now; a line leads to what continued from it.${drawn.jumps.length > 0 && " A triangle above a lane: the member went back to older weights, or copied the member at the other end of the dashed line."}
      ${total > drawn.frozen.length && ` ${drawn.frozen.length} of ${total.toLocaleString("en")} frozen players are drawn: the newest of each member.`}</p>
    <details><summary>Events: the last ${rows.length} of ${milestones.toLocaleString("en")}</summary><div class="scroll"><table id="milestones">
      <thead><tr><th scope="col">member</th><th scope="col" class="number">steps</th><th scope="col">event</th><th scope="col">player</th><th scope="col">its weights come from</th></tr></thead>
      <tbody>${rows.map((m, k) => html`<tr key=${milestones - k}><td>${m.member}</td><td class="number">${m.steps.toLocaleString("en")}</td><td>${WHAT[m.what] ?? m.what}</td>
        <td>${m.what === "reset" && m.detail === "seed" ? "first weights" : m.detail}</td><td>${m.parent || "first weights"}</td></tr>`)}</tbody></table></div></details>
  </section>`;
}
