// Requests to the server that sent this page. An error is one sentence.
//
// A dead link fails no request: it hangs. So a small request asks every few seconds whether the server can be reached,
// and all others end with an error once it has been silent for too long.
import { useEffect, useState } from "./html.js";

const BEAT_MS = 2000; // until the server says its own
const MISSING = 3; // signs of life after which the server is lost
const CHECKS = 8; // during one
const REFUSED = "The server does not answer. Is ludus still running?";
const LOST = "Connection lost: the server has not answered for some seconds. Trying again";

class Link {
  constructor() {
    this.beat = BEAT_MS;
    this.why = ""; // why the server cannot be reached
    this.listeners = new Set();
    this.waiting = new Set(); // AbortControllers of requests
    this.awaitedFrom = performance.now(); // the last sign of life, or later where the page itself stood
    this.looked = performance.now();
    this.asking = false;
    this.askedAt = -Infinity;
  }

  start() {
    this.watching ??= setInterval(() => this.look(), this.beat / CHECKS);
  }

  setBeat(beat) {
    if (beat === this.beat) return;
    this.beat = beat;
    clearInterval(this.watching);
    this.watching = null;
    this.start();
  }

  look() {
    const now = performance.now();
    const stood = now - this.looked > this.beat; // this page itself: what it missed is still to be read
    this.looked = now;
    if (document.hidden) this.awaitedFrom = now;
    else if (stood) this.awaitedFrom = Math.max(this.awaitedFrom, now - (MISSING - 1) * this.beat);
    else if (now - this.awaitedFrom >= MISSING * this.beat) this.lose(this.why || LOST);
    if (!this.asking && !document.hidden && now - this.askedAt >= this.beat) this.ask();
  }

  async ask() {
    this.asking = true;
    this.askedAt = performance.now();
    try {
      const [response, text] = await this.fetch("/api/alive", { cache: "no-store" });
      if (response.ok) this.setBeat(1000 * JSON.parse(text).beat_s);
    } catch {
      // the page says so by then
    }
    this.asking = false;
  }

  // As the browser's fetch, for all requests of the page. Raises an Error with a sentence.
  async fetch(path, options) {
    const controller = new AbortController();
    this.waiting.add(controller);
    try {
      const response = await fetch(path, { ...options, signal: controller.signal });
      this.awaitedFrom = performance.now();
      const text = await response.text();
      this.awaitedFrom = performance.now();
      this.tell("");
      return [response, text];
    } catch {
      if (!controller.signal.aborted) this.tell(REFUSED);
      throw new Error(this.why || REFUSED);
    } finally {
      this.waiting.delete(controller);
    }
  }

  lose(why) {
    this.awaitedFrom = this.looked; // the next requests have as long again
    this.tell(why);
    for (const controller of this.waiting) controller.abort();
  }

  tell(why) {
    if (this.why === why) return;
    this.why = why;
    for (const listener of this.listeners) listener(why);
  }
}

const link = new Link();

// Why the server cannot be reached now, "" while it can.
export function useLink() {
  const [why, setWhy] = useState(link.why);
  useEffect(() => {
    link.start();
    link.listeners.add(setWhy);
    setWhy(link.why);
    return () => link.listeners.delete(setWhy);
  }, []);
  return why;
}

async function answerOf(path, options) {
  const [response, text] = await link.fetch(path, options);
  let body = null;
  try {
    body = JSON.parse(text);
  } catch {
    // an answer of plain text
  }
  if (!response.ok) throw new Error(body?.why ?? (text.slice(0, 300) || `the server answered ${response.status}`));
  return body;
}

export function get(path, params = {}) {
  const query = new URLSearchParams(params).toString();
  return answerOf(path + (query && `?${query}`), { headers: { Accept: "application/json" } });
}

export async function post(path, body) {
  const headers = { "Content-Type": "application/json" };
  try {
    return await answerOf(path, { method: "POST", headers, body: JSON.stringify(body) });
  } catch (error) {
    throw link.why ? new Error("There was no answer. Try again once the server can be reached") : error;
  }
}

// Send a file as it is.
export async function postFile(path, file) {
  const headers = { "Content-Type": "application/octet-stream" };
  return answerOf(path, { method: "POST", headers, body: file });
}

// What a path answers: {data, error}, both null while it loads. Asked again every `everyMs` if that is not 0, while
// someone can see the page, and after a lost connection.
export function useGet(path, params = {}, everyMs = 0) {
  const query = JSON.stringify(params);
  const [state, setState] = useState({ data: null, error: null });
  useEffect(() => {
    if (!path) return undefined;
    let gone = false;
    let timer = 0;
    const ask = async () => {
      let next = everyMs;
      if (document.hidden && everyMs) {
        timer = setTimeout(ask, everyMs);
        return;
      }
      try {
        const data = await get(path, JSON.parse(query));
        if (!gone) setState({ data, error: null });
      } catch (error) {
        // The header of the page says that the server cannot be reached.
        if (link.why) next ||= link.beat;
        if (!gone) setState((before) => ({ data: before.data, error: link.why ? null : error.message }));
      }
      if (!gone && next) timer = setTimeout(ask, next);
    };
    setState((before) => ({ data: everyMs ? before.data : null, error: null }));
    ask();
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [path, query, everyMs]);
  return state;
}
