// Keys of matches, kept by this tab: a page that is loaded again joins its match again.
const PREFIX = "ludus.key.";
const kept = new Map();

export function keep(id, key) {
  kept.set(id, key);
  try {
    sessionStorage.setItem(PREFIX + id, key);
  } catch {
    // as long as the page lasts
  }
}

export function keyOf(id) {
  if (kept.has(id)) return kept.get(id);
  try {
    return sessionStorage.getItem(PREFIX + id) ?? "";
  } catch {
    return "";
  }
}
