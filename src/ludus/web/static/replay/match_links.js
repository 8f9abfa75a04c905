// Where a page of a replay leads: to a file of the match in its game's own format, and, on a page of ludus serve, to the
// start, to another analysis and to a match from the present moment.
import { element } from "./dom.js";

const SERVED = /^\/replay\/([^/]+)$/;

// The id of the replay on a page of ludus serve; "" in a file.
function servedId() {
  return location.protocol.startsWith("http") ? SERVED.exec(location.pathname)?.[1] ?? "" : "";
}

function retryAddress(tick, seat) {
  return `/retry/${servedId()}?tick=${Math.floor(tick)}${seat >= 0 ? `&seat=${seat}` : ""}`;
}

// A link to a match that starts before a decision; "" in a file.
export function retryLink(tick, seat) {
  return servedId() ? element("a", { class: "retry", href: retryAddress(tick, seat), title: "Play from here, in this seat" }, "Retry") : "";
}

function download({ text, suffix }, title) {
  const address = URL.createObjectURL(new Blob([text], { type: "application/octet-stream" }));
  const link = element("a", { href: address, download: `${title.replace(/[^\w.-]+/g, "-").slice(0, 80) || "match"}${suffix}` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

// match: the match of the page; tick: returns the present one.
export function addLinks(match, tick) {
  const box = document.getElementById("links");
  const id = servedId();
  if (id) box.append(element("a", { class: "button", href: "/" }, "All matches"));
  if (id && match.resumable) {
    const again = element("a", { class: "button", id: "play-from-here", href: retryAddress(0, -1) }, "Play from here");
    again.addEventListener("click", () => again.setAttribute("href", retryAddress(tick(), -1)));
    box.append(element("a", { class: "button", id: "analyse", href: `/analyse/${id}` }, "Analyse"), again);
  }
  if (match.record) {
    const save = element("button", { type: "button", id: "save-record", title: "Save the match as a file for other programs" }, match.record.suffix.slice(1).toUpperCase());
    save.addEventListener("click", () => download(match.record, match.title));
    box.append(save);
  }
}
