// Requests to the server that sent this page. An error is one sentence.
import { useEffect, useState } from "./html.js";

async function answerOf(request) {
  let response;
  try {
    response = await request;
  } catch {
    throw new Error("The server does not answer. Is ludus still running?");
  }
  const text = await response.text();
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
  return answerOf(fetch(path + (query && `?${query}`), { headers: { Accept: "application/json" } }));
}

export function post(path, body) {
  const headers = { "Content-Type": "application/json" };
  return answerOf(fetch(path, { method: "POST", headers, body: JSON.stringify(body) }));
}

// What a path answers: {data, error}, both null while it loads. Asked again every `everyMs` if that is not 0, while
// someone can see the page.
export function useGet(path, params = {}, everyMs = 0) {
  const query = JSON.stringify(params);
  const [state, setState] = useState({ data: null, error: null });
  useEffect(() => {
    if (!path) return undefined;
    let gone = false;
    let timer = 0;
    const ask = async () => {
      if (document.hidden && everyMs) {
        timer = setTimeout(ask, everyMs);
        return;
      }
      try {
        const data = await get(path, JSON.parse(query));
        if (!gone) setState({ data, error: null });
      } catch (error) {
        if (!gone) setState((before) => ({ data: before.data, error: error.message }));
      }
      if (!gone && everyMs) timer = setTimeout(ask, everyMs);
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
