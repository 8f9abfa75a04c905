// The pages by their addresses.
import { AnalysePage, RetryPage } from "./analysis.js";
import { HomePage } from "./home.js";
import { Failure, html, render, useErrorBoundary } from "./html.js";
import { LeaguePage } from "./league.js";
import { keep, keyOf } from "./match_keys.js";
import { keepDescribed } from "../replay/page_words.js";
import { PlayPage } from "./play.js";
import { RunPage } from "./run.js";
import { SetupPage } from "./setup.js";
import { SweepPage } from "./sweep.js";

// The key of a match: from the address that ludus opened, or kept by this tab.
function matchKey(id, query) {
  const given = query.get("key");
  if (given) keep(id, given);
  return given ?? keyOf(id);
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // no id of the server's has such a form: it answers that there is none
  }
}

// A page that fails says so.
function Page() {
  const [error] = useErrorBoundary((problem) => console.error(problem));
  return error ? html`<${Failure}>This page failed: ${error.message}. <a href="">Load it again</a></${Failure}>` : page();
}

function page() {
  const query = new URLSearchParams(location.search);
  const [, kind, id] = /^\/(\w*)(?:\/(.*))?$/.exec(location.pathname) ?? [];
  const name = decoded(id ?? "");
  if (kind === "") return html`<${HomePage} />`;
  if (kind === "play" && !name) return html`<${SetupPage} query=${query} />`;
  if (kind === "play") return html`<${PlayPage} id=${name} matchKey=${matchKey(name, query)} />`;
  if (kind === "watch") return html`<${PlayPage} id=${name} matchKey="" />`;
  if (kind === "analyse") return html`<${AnalysePage} id=${name} />`;
  if (kind === "retry") return html`<${RetryPage} id=${name} query=${query} />`;
  if (kind === "run") return html`<${RunPage} id=${name} />`;
  if (kind === "league") return html`<${LeaguePage} id=${name} />`;
  if (kind === "sweep") return html`<${SweepPage} id=${name} />`;
  return html`<${Failure}>There is no page ${location.pathname}. <a href="/">To the start</a></${Failure}>`;
}

render(html`<${Page} />`, document.getElementById("app"));
keepDescribed(document.getElementById("app"), () => {
  const guide = window.ludus?.game?.hello?.guide;
  return guide ? { ...guide.words, ...guide.bots } : {};
});
