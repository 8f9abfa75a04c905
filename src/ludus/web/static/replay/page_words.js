// What the words of the pages mean: a tooltip for every button, label and heading that has none. The words of a game
// (its terms and bots) come with its explanation.

const EVERY_S = 0.4; // between two looks at what has changed
const EXPLAINABLE = "button, a.button, label, summary, th, dt, legend, h2, h3, .status";
const PAGE_WORDS = {
  // Playing.
  "start the match": "Begins the match; it waits for this or for your first order.",
  pause: "Stops the match and its clock until you continue.",
  continue: "Lets the match go on.",
  "how to play": "Shows what the game is about, what each order does and how one wins. Key: ?",
  resign: "Ends the match as lost. You are asked once.",
  "take back": "Returns to before your last move, the answer included.",
  hint: "Shows what a strong player would do now.",
  "value bar": "Shows how likely you are to win, beside the board.",
  "confirm moves": "Asks before a move is played: the first click chooses, the second one plays.",
  move: "The move to play, by its name on the board.",
  play: "Plays the chosen move, or starts the recording.",
  speed: "How fast the match runs, in times of the game's own speed.",
  rematch: "Starts another match with the same players on the same sides.",
  "change sides": "Starts another match in which the players change sides.",
  "other match": "Opens the set-up with the same opponent.",
  "watch the replay": "Opens the recording of this match.",
  leave: "Goes to the start page; the match continues without you.",
  you: "Your side of the match, with its colour.",
  person: "A person at a page.",
  "you won": "Your side has won the match.",
  "you lost": "Your side has lost the match.",
  "a draw": "No side has won.",
  "no result": "The match ended before it was decided.",
  "match over": "The match has ended.",
  "your turn": "The match waits for your move.",
  "opening match": "The page connects to the match.",
  "to move": "This side moves next.",
  won: "This side has won the match.",
  // The set-up.
  game: "The game to play.",
  parameters: "Settings of the game's rules; each has a line that says what it does.",
  "who sits where": "The player of each side.",
  time: "How fast the match runs, or how long a move may take.",
  "orders and prices": "What each order does, and what it costs.",
  "units and pieces": "The units of the game and their numbers.",
  "on the board": "What the signs on the board mean.",
  words: "What the terms of the game mean.",
  bots: "How the built-in players decide.",
  blue: "The side that is drawn blue.",
  orange: "The side that is drawn orange.",
  green: "The side that is drawn green.",
  pink: "The side that is drawn pink.",
  violet: "The side that is drawn violet.",
  olive: "The side that is drawn olive.",
  black: "The side that plays the black stones.",
  white: "The side that plays the white stones.",
  crosses: "The side that plays the crosses.",
  noughts: "The side that plays the noughts.",
  // Replays and analysis.
  keys: "Lists the keys of this page.",
  "all matches": "Opens the list of runs, matches and replays.",
  "back to the match": "Opens the page on which this match was played.",
  "play from here": "Starts a match from this moment, with you at one side.",
  analyse: "Asks a strong player what it thinks of each move.",
  analyst: "The player that is asked about each move.",
  "second opinion": "Another player that is asked too.",
  orders: "Shows lines from units to their targets.",
  "hit points": "Shows bars of what units can lose before they fall.",
  letters: "Shows the first letter of each unit's order.",
  spectator: "Shows everything, without fog.",
  seat: "A side of the match. Where it can be chosen: shows what this side sees.",
  "selected unit": "The unit that was clicked, with its numbers.",
  decisions: "What the players decided, the newest first.",
  events: "What happened: fights, buildings, losses.",
  heroes: "The heroes with their levels, gold and hit points.",
  hero: "The class of a hero.",
  thoughts: "What a player thinks of its decisions.",
  "base hp": "Hit points of the side's base.",
  army: "Fighting units of the side.",
  workers: "Units that gather money.",
  resources: "Money that is still on the map.",
  towers: "Towers of the side.",
  score: "Points of the side.",
  return: "Sum of the rewards so far.",
  card: "The card of a side; a question mark is one that you do not see.",
  "chips in the pot": "Chips that the side has put in.",
  bets: "What the sides have bet, in order.",
  row: "A choice of the first side.",
  column: "A choice of the second side, or a file of the board.",
};

function plainWord(text) {
  return text.toLowerCase().replace(/[\d.,:;()×%+\-–↑↓←→/#_?]+/g, " ").replace(/\s+/g, " ").trim();
}

// The longest run of words of a text that has a meaning, as that meaning.
function meaningOf(text, meanings) {
  const parts = plainWord(text).split(" ");
  for (let size = parts.length; size > 0; size--) {
    for (let from = 0; from + size <= parts.length; from++) {
      const found = meanings.get(parts.slice(from, from + size).join(" "));
      if (found) return found;
    }
  }
  return "";
}

// The text of a node without what is in fields and keys.
function ownText(node) {
  const own = [...node.childNodes].filter((child) => child.nodeType === 3 || !child.matches?.("kbd, select, input, output, svg, canvas, [hidden]"));
  return own.map((child) => child.textContent).join(" ");
}

// Give a tooltip to what has none. words: the game's own, name -> meaning.
export function describePage(root, words) {
  const meanings = new Map([...Object.entries(PAGE_WORDS), ...Object.entries(words).map(([name, text]) => [plainWord(name), text])]);
  for (const node of root.querySelectorAll(EXPLAINABLE)) {
    if (node.title && node.dataset.described === undefined) continue;
    const text = ownText(node);
    if (node.dataset.described === text) continue;
    node.dataset.described = text;
    node.title = meaningOf(text, meanings);
  }
}

// Keep tooltips as the page changes. words(): the game's own now.
export function keepDescribed(root, words) {
  let timer = 0;
  const look = () => {
    timer = 0;
    describePage(root, words());
  };
  new MutationObserver(() => (timer ||= setTimeout(look, 1000 * EVERY_S))).observe(root, { childList: true, subtree: true, characterData: true });
  look();
}
