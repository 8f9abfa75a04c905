// Answers that a page asks for again and again: the server says "unchanged" to a page that knows the newest stamp.
import { get, useLink } from "./api.js";
import { useEffect, useRef, useState } from "./html.js";

// What `path` answers, asked again every `everyMs` (0: once) while someone can see the page. `params`: of its query;
// lists are given once for each entry. {data, error}: what was read before stays beside an error.
export function useFresh(path, params = {}, everyMs = 0) {
  const query = JSON.stringify(params);
  const [state, setState] = useState({ data: null, error: null, of: "" });
  const stamp = useRef("");
  const lost = useLink();
  useEffect(() => {
    if (!path) return undefined;
    let gone = false;
    let timer = 0;
    stamp.current = "";
    const of = path + query;
    const ask = async () => {
      if (document.hidden && stamp.current) {
        timer = setTimeout(ask, everyMs || 1000);
        return;
      }
      try {
        const pairs = Object.entries(JSON.parse(query)).flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
        const data = await get(path, [...pairs, ...(stamp.current ? [["known", stamp.current]] : [])]);
        if (gone) return;
        stamp.current = data.stamp ?? "";
        setState((before) => (data.unchanged ? { ...before, error: null } : { data, error: null, of }));
      } catch (error) {
        if (gone) return;
        setState((before) => ({ ...before, error: error.message, of: before.data ? before.of : of }));
      }
      if (!gone && everyMs) timer = setTimeout(ask, everyMs);
    };
    ask();
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [path, query, everyMs, Boolean(lost)]);
  return { data: state.data, error: lost ? null : state.error }; // the header of the page says that the server is lost
}
