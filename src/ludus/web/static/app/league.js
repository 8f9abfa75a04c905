// The page of a league: who beats whom, ratings over time, members, whom they meet, and the lineage.
import { useGet } from "./api.js";
import { Payoff } from "./heat_map.js";
import { ageText, countText, Header } from "./home.js";
import { Failure, html, useMemo, useState } from "./html.js";
import { HyperPanels } from "./hyper.js";
import { LineagePanel } from "./lineage.js";
import { labelled, PayoffPanel } from "./payoff.js";
import { ratingText, RatingsPanel } from "./ratings.js";
import { SortedTable } from "./sorted_table.js";

const EVERY_MS = 5000;
const SHOWN = 8; // members whose opponents are listed at first
const LARGE = 1000; // players: a league of more is asked for less often
const KINDS = { itself: "itself", live: "now", past: "of the past", bot: "bot" };
const id = encodeURIComponent;
const percent = (rate) => (rate === null || rate === undefined ? "" : `${Math.round(100 * rate)}%`);

function rateColumns(rows) {
  if (!rows.some((row) => row.received_per_s !== null)) return [];
  const column = (name, of) => ({ name, value: of, show: (row) => (of(row) === null ? "" : `${countText(Math.round(of(row)))}/s`), number: true });
  return [column("received", (row) => row.received_per_s), column("consumed", (row) => row.consumed_per_s)];
}

function Members({ status, ratings }) {
  const rated = new Map((ratings?.players ?? []).map((player) => [player.player, player]));
  const rows = status.members.map((member) => ({ key: member.name, ...member, elo: rated.get(member.name) }));
  const columns = [
    { name: "member", value: (row) => row.name },
    { name: "role", value: (row) => row.role.replaceAll("_", " ") },
    { name: "steps", value: (row) => row.steps, show: (row) => countText(row.steps), number: true },
    { name: "version", value: (row) => row.version, show: (row) => countText(row.version), number: true },
    { name: "frozen", value: (row) => row.frozen, number: true },
    { name: "against frozen", value: (row) => row.win_rate, show: (row) => percent(row.win_rate), number: true },
    { name: "Elo", value: (row) => row.elo?.rating, show: (row) => ratingText(row.elo), number: true },
    { name: "return", value: (row) => row.mean_return, show: (row) => (row.mean_return === null ? "" : Number(row.mean_return.toPrecision(3))), number: true },
    ...rateColumns(rows),
    { name: "last", value: (row) => (row.withdrawn ? `withdrawn: ${row.withdrawn}` : row.asked) },
  ];
  const settings = status.members.filter((member) => Object.keys(member.hyper).length);
  return html`<section class="panel" id="members"><h2>Members</h2><${SortedTable} id="member-table" label="Members" columns=${columns} rows=${rows} />
    ${rows.some((row) => row.win_rate !== null) && html`<p class="hint">Against frozen: the mean win rate against the frozen players and bots that the member has met; a draw is half a win.</p>`}
    ${rows.some((row) => row.received_per_s !== null) && html`<p class="hint">Received and consumed: decisions that the member receives from its matches and learns from, a second of its rounds.</p>`}
    ${settings.length > 0 && html`<details><summary>Settings of the members</summary><ul class="plain">${settings.map((member) => html`<li key=${member.name}>${member.name}
      <small> ${Object.entries(member.hyper).map(([name, value]) => `${name} ${Number(value.toPrecision(4))}`).join(", ")}</small></li>`)}</ul></details>`}
    ${Object.entries(status.ignored).map(([why, count]) => html`<p class="hint" key=${why}>Not counted, ${why}: ${countText(count)}</p>`)}</section>`;
}

// Shares of a member's matches by its opponents.
function Meetings({ meetings, members }) {
  const [all, setAll] = useState(false);
  const found = useMemo(() => members.map((member) => {
    const own = meetings.filter((row) => row.member === member);
    const total = own.reduce((sum, row) => sum + row.matches, 0);
    const groups = new Map();
    for (const row of own) {
      const name = row.kind === "past" ? `${row.opponent} ${KINDS.past}` : row.kind === "live" ? `${row.opponent} ${KINDS.live}` : row.kind === "bot" ? `${row.opponent} (bot)` : KINDS.itself;
      const group = groups.get(name) ?? { name, matches: 0, rules: new Set() };
      group.matches += row.matches;
      group.rules.add(row.tag);
      groups.set(name, group);
    }
    return { member, total, groups: [...groups.values()].sort((a, b) => b.matches - a.matches) };
  }).filter(({ total }) => total), [meetings, members]);
  return html`<section class="panel" id="meetings"><h2>Who plays whom</h2>
    ${found.length === 0 && html`<p class="hint">No matches yet.</p>`}
    ${(all ? found : found.slice(0, SHOWN)).map(({ member, total, groups }) => html`<div key=${member}><h3>${member}<small class="fact"> ${countText(total)} matches</small></h3>
      <ul class="bars shares">${groups.slice(0, 12).map((group) => html`<li key=${group.name}><span class="bar-label" title=${`drawn by: ${[...group.rules].join(", ")}`}>${group.name}</span>
        <meter min="0" max="1" value=${group.matches / total} aria-hidden="true"></meter><b>${(100 * group.matches / total).toFixed(group.matches / total < 0.0995 ? 1 : 0)}%</b></li>`)}</ul></div>`)}
    ${!all && found.length > SHOWN && html`<button type="button" onClick=${() => setAll(true)}>Show all ${found.length} members</button>`}
    ${found.length > 0 && html`<p class="hint">Shares of all matches so far that each member learned from or was measured in.</p>`}</section>`;
}

function Players({ players, ratings, hardest }) {
  const rated = new Map((ratings?.players ?? []).map((player) => [player.player, player]));
  const rows = players.map((player) => ({ key: player.player, ...player, elo: rated.get(player.player), worst: hardest(player.player) }));
  const columns = [
    { name: "player", value: (row) => labelled(row.player) },
    { name: "kind", value: (row) => (row.kind === "learner" ? "member" : row.kind) },
    { name: "steps", value: (row) => row.steps, show: (row) => countText(row.steps), number: true },
    { name: "Elo", value: (row) => row.elo?.rating, show: (row) => ratingText(row.elo), number: true },
    { name: "Nash share", value: (row) => row.elo?.nash_share, show: (row) => percent(row.elo?.nash_share), number: true },
    { name: "score", value: (row) => (row.matches ? row.score : null), show: (row) => (row.matches ? percent(row.score) : ""), number: true },
    { name: "matches", value: (row) => row.matches, show: (row) => countText(row.matches), number: true },
    { name: "hardest opponent", value: (row) => row.worst?.rate, show: (row) => (row.worst ? `${labelled(row.worst.name)} (${percent(row.worst.rate)})` : "") },
    { name: "from", value: (row) => labelled(row.parent) },
    { name: "why", value: (row) => (row.retired ? "retired" : row.kind === "frozen" && !row.file ? "no file" : row.reason) },
  ];
  return html`<section class="panel" id="players"><h2>Players</h2><${SortedTable} id="player-table" label="Players" columns=${columns} rows=${rows} first=${{ name: "Elo", down: true }} />
    ${rows.some((row) => row.matches) && html`<p class="hint">Score: points of all its matches, a draw is half a point. Nash share: its part in the mixture that no player beats.
      Hardest opponent: the lowest win rate, of those that it met in ten matches or more.</p>`}</section>`;
}

function factsText({ about, status }) {
  const counted = (count, one, many) => `${countText(count)} ${count === 1 ? one : many}`;
  const counts = [counted(status.matches, "match", "matches"), counted(status.frozen, "frozen player", "frozen players"), counted(status.members.length, "member", "members")];
  const last = status.last_time ? `; last event ${ageText(Date.now() / 1000 - status.last_time)}` : "";
  return `${about.game}: ${counts.join(", ")}${last}`;
}

export function LeaguePage({ id: run }) {
  const path = `/api/leagues/${id(run)}`;
  const first = useGet(path, {}, EVERY_MS);
  const large = (first.data?.players.length ?? 0) > LARGE;
  const live = first.data?.status.state === "running";
  const everyMs = live ? (large ? 6 * EVERY_MS : EVERY_MS) : 0;
  const ratings = useGet(first.data ? `${path}/ratings` : "", {}, everyMs);
  const all = useGet(first.data ? `${path}/payoff` : "", { newest: 60 }, live ? 6 * EVERY_MS : 0);
  const hardest = useMemo(() => {
    if (!all.data) return () => null;
    const payoff = new Payoff(all.data.pairs);
    const places = new Map(payoff.players.map((name, k) => [name, k]));
    const found = new Map();
    return (name) => {
      if (!found.has(name)) found.set(name, places.has(name) ? payoff.hardest(places.get(name)) : null);
      return found.get(name);
    };
  }, [all.data]);
  const { data, error } = first;
  const members = useMemo(() => (data?.status.members ?? []).map((member) => member.name), [data]);
  const status = data?.status;
  return html`<${Header} title=${`League ${data?.about.name ?? run}`}>
      ${data && html`<a class="button" href=${`/run/${id(run)}`}>The run</a>`}</${Header}>
    ${error && html`<${Failure}>${error}</${Failure}>`}
    ${!data && !error && html`<p class="hint">Reading the league</p>`}
    ${data && html`<p class="fact" id="league-facts"><span class=${`state state-${status.state}`}>${status.state}</span> ${factsText(data)}</p>
      <main class="league"><div class="run-main">
        <${PayoffPanel} run=${data.about} players=${data.players} ratings=${ratings.data?.ratings.players} everyMs=${everyMs} />
        <${Members} status=${status} ratings=${ratings.data?.ratings} />
        <${RatingsPanel} ratings=${ratings.data?.ratings} members=${members} events=${ratings.data?.events} error=${ratings.error} />
        <${HyperPanels} lineage=${data.lineage} members=${status.members} />
        <${LineagePanel} players=${data.players} members=${status.members} lineage=${data.lineage} milestones=${data.milestones} hardest=${hardest} />
        <${Players} players=${data.players} ratings=${ratings.data?.ratings} hardest=${hardest} /></div>
      <aside><${Meetings} meetings=${data.meetings} members=${members} /></aside></main>`}`;
}
