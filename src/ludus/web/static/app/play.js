// The page of a match: the board, the controls under it, the players and moves beside it.
import { Board } from "./board.js";
import { ButtonPad, ChoiceButtons, ChoiceLists, MoveForm, unitButtons, UnitButtons } from "./controls.js";
import { Explanation, HowToPlay, useExplanation } from "./explain.js";
import { LiveGame } from "./game.js";
import { HintButton, HintPanel, NoticeLine } from "./hints.js";
import { Failure, html, useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from "./html.js";
import { characterOf, HeldKeys } from "./keys.js";
import { buttonsOf, cellOfPlace, isOneChoice, mayPlay, needsLists, placeHead } from "./moves.js";
import { Heroes, LastMoves, Players, Thoughts } from "./players.js";
import { OutOfMatch, Result } from "./result.js";
import { remember, remembered } from "./settings.js";
import { ValueBar, ValueSwitch } from "./value_bar.js";

const PANEL_INTERVAL_MS = 100; // panels change slower than the board in real time
const RATES = [0.25, 0.5, 1, 2];
const DIGITS = /^[1-9]$/;
const LETTER = /^[a-z0-9]$/i;
const ARROW = /^Arrow(Left|Right|Up|Down)$/;
const BOARDS = ["cells", "columns"];

// What is shown at once whenever it changes: all but the moments of a game in real time.
function urgent({ hello, link, over, failed, notice, said, about, moment, view }) {
  return [hello, link, over, failed, notice, said, about, moment?.paused, view];
}

// Render again when the game changes: at once, moments of a game in real time ten times a second.
function useChanges(game) {
  const [, render] = useReducer((n) => n + 1, 0);
  useEffect(() => {
    let timer = 0;
    let last = 0;
    let shown = [];
    const show = () => {
      clearTimeout(timer);
      timer = 0;
      last = performance.now();
      render();
    };
    const stop = game.subscribe(() => {
      const now = urgent(game);
      if (game.hello?.turn_based || now.some((value, i) => value !== shown[i])) {
        shown = now;
        show();
      } else {
        timer ||= setTimeout(show, Math.max(0, last + PANEL_INTERVAL_MS - performance.now()));
      }
    });
    render();
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [game]);
}

// Write the character of a key into the field of moves. A key that writes it by itself has only to be there.
function write(event, character) {
  const field = document.getElementById("move");
  field?.focus();
  if (!field || character === event.key) return;
  field.value += character;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  event.preventDefault();
}

// Keys of the whole page: digits choose, held keys repeat. Fields keep their own.
function useKeys(game, held) {
  useEffect(() => {
    const inField = (event) => event.target.closest?.("input:not([type=checkbox]), select, textarea, dialog[open]");
    const down = (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey || inField(event) || !game.playing) return;
      const choice = held.choiceOf(event);
      const character = characterOf(event);
      if (choice !== undefined && (game.hello.view.input === "keys" || event.target.id === "map")) {
        if (!event.repeat) held.press(choice);
        event.preventDefault();
      } else if (game.units && event.key === "Escape" && game.units.aiming) {
        game.units.cancel();
      } else if (game.units && character.toLowerCase() === "n") {
        game.units.selectNext();
      } else if (game.units && DIGITS.test(character)) {
        unitButtons(game)[Number(character) - 1]?.give();
      } else if (ARROW.test(event.key) && event.target === document.body) {
        const board = document.getElementById("map");
        board.focus();
        board.dispatchEvent(new KeyboardEvent("keydown", { key: event.key, cancelable: true }));
        event.preventDefault(); // the page does not scroll
      } else if (BOARDS.includes(game.hello.view.input)) {
        if (LETTER.test(character)) write(event, character);
      } else if (DIGITS.test(character) && !event.repeat) {
        const button = buttonsOf(game.hello, game.view)[Number(character) - 1];
        if (button !== undefined) game.act([button]);
      }
    };
    const up = (event) => {
      const choice = held.choiceOf(event);
      if (choice === undefined) return;
      held.release(choice);
      if (game.hello?.view.input === "keys" && !inField(event)) event.preventDefault(); // Space presses no button
    };
    const leave = () => held.releaseAll();
    addEventListener("keydown", down);
    addEventListener("keyup", up);
    addEventListener("blur", leave);
    const stop = game.subscribe(() => {
      if (game.moment?.tick === held.tick) return;
      held.tick = game.moment?.tick;
      if (game.playing && !game.moment.paused) held.repeat();
    });
    return () => {
      stop();
      removeEventListener("keydown", down);
      removeEventListener("keyup", up);
      removeEventListener("blur", leave);
    };
  }, [game, held]);
}

function Status({ game }) {
  const { hello, moment, link, over, failed } = game;
  let text = "";
  let kind = "";
  if (failed) [text, kind] = [failed, "alarm"];
  else if (over) text = game.result(over);
  else if (link.state === "lost" || link.state === "closed") [text, kind] = [link.why, "alarm"];
  else if (!hello) text = "Opening the match";
  else if (game.waits) [text, kind] = [game.playing ? "Waiting for your first order" : "Waiting for the first order", "turn"];
  else if (game.isOut) text = `Your seat is out; the match continues (tick ${moment.tick.toLocaleString("en")})`;
  else if (moment.paused) text = `Paused${game.pausedWhy ? `: ${game.pausedWhy}` : ""}`;
  else if (hello.turn_based && game.myTurn) [text, kind] = ["Your turn", "turn"];
  else if (hello.turn_based && game.toAct.length) text = `${game.toAct.map((seat) => game.nameOfSeat(seat)).join(", ")} to move`;
  else if (game.decided.size) text = "Your move is on its way";
  else text = `Tick ${moment.tick.toLocaleString("en")}`;
  return html`<p class=${`status ${kind}`} id="match-status">${text}</p>`;
}

function sightText({ you }) {
  if (!you.length) return "you see what the seats of persons see";
  return you.length > 1 ? "you see what your seats see" : "you see what your seat sees";
}

// Resigning asks once, in a dialog apart from the other buttons.
function ResignDialog({ dialog, onResign }) {
  return html`<dialog ref=${dialog} aria-labelledby="resign-title" id="resign-dialog">
    <h2 id="resign-title">Resign the match?</h2>
    <p>It ends as lost.</p>
    <form method="dialog" class="buttons">
      <button type="submit" autofocus>Play on</button>
      <button type="submit" id="resign-yes" class="danger" onClick=${onResign}>Resign</button>
    </form>
  </dialog>`;
}

function MatchButtons({ game }) {
  const { hello, moment } = game;
  const dialog = useRef(null);
  const [rate, setRate] = useState(hello.rate);
  useEffect(() => setRate(hello.rate), [hello.rate]);
  const choose = (event) => {
    setRate(Number(event.target.value));
    game.send("rate", { value: Number(event.target.value) });
    event.target.blur(); // the arrow keys are the game's again
  };
  const mine = hello.you.length > 0;
  return html`<div class="match-buttons">
    ${game.waits && mine
      ? html`<button type="button" id="start" class="primary" onClick=${() => game.send("resume")}>Start the match</button>`
      : html`<button type="button" id="pause" disabled=${!!game.over} onClick=${() => game.send(game.moment.paused ? "resume" : "pause")}>
        ${moment.paused && !game.waits ? "Continue" : "Pause"}</button>`}
    ${mine && hello.turn_based && html`<button type="button" id="take-back" disabled=${!game.playing || !moment.can_take_back}
      onClick=${() => game.send("take_back")}>Take back</button>`}
    <${HintButton} game=${game} /><${ValueSwitch} game=${game} />
    ${!hello.turn_based && html`<label class="rate">Speed
      <select id="rate" value=${String(rate)} onChange=${choose}>
        ${[...new Set([...RATES, rate])].sort((a, b) => a - b).map((value) => html`<option value=${String(value)}>${value}×</option>`)}
      </select></label>`}
    ${mine && html`<button type="button" id="resign" class="apart" disabled=${!game.playing}
      onClick=${() => dialog.current.showModal()}>Resign</button>
      <${ResignDialog} dialog=${dialog} onResign=${() => game.send("resign")} />`}
  </div>`;
}

// Whether moves are confirmed: as this browser was set last, else where the server or a finger asks for it.
function useConfirm(hello) {
  const fingers = matchMedia("(pointer: coarse)").matches;
  const [confirm, setConfirm] = useState(remembered("confirm", fingers || hello?.confirm_default === true));
  const set = (on) => {
    remember("confirm", on);
    setConfirm(on);
  };
  return [confirm, set];
}

function Controls({ game, held, chosen, setChosen, confirm, setConfirm }) {
  const { hello } = game;
  // The result stands where the moves were given, so that the board keeps its size.
  if (game.over || !hello.you.length) return html`<div class="moves-row"><${Result} game=${game} /></div><${MatchButtons} game=${game} />`;
  const isBoard = BOARDS.includes(hello.view.input);
  // A double click on a button is one move where the game waits for moves. A mouse may pass twice; its double clicks are
  // counted by the browser, those of fingers and held keys are not.
  const press = (action, event) => {
    if (hello.turn_based && game.clicks.again(event, event.pointerType !== "mouse")) return;
    if (game.act(action)) game.clicks.played(event);
  };
  const send = (text) => {
    if (chosen >= 0 && text === game.name(chosen) ? game.act([chosen]) : game.type(text)) setChosen(-1);
  };
  return html`
    <${OutOfMatch} game=${game} />
    ${isOneChoice(hello) && hello.view.input === "keys" && html`<${ButtonPad} game=${game} held=${held} />`}
    <div class="moves-row">
      ${isOneChoice(hello) && hello.turn_based && html`<${MoveForm} game=${game} chosen=${chosen} onSend=${send} />`}
      ${game.units
        ? html`<${UnitButtons} game=${game} />`
        : needsLists(hello, game.view)
          ? html`<${ChoiceLists} game=${game} onChoose=${press} />`
          : html`<${ChoiceButtons} game=${game} digits=${!isBoard} onChoose=${(choice, event) => press([choice], event)} />`}
      ${isBoard && html`<label class="check"><input type="checkbox" id="confirm" checked=${confirm}
        onChange=${(event) => setConfirm(event.target.checked)} /> confirm moves</label>`}
    </div>
    <${MatchButtons} game=${game} />`;
}

function Match({ game, open, setOpen }) {
  const { hello } = game;
  const [chosen, setChosen] = useState(-1);
  const [confirm, setConfirm] = useConfirm(hello);
  const held = useMemo(() => new HeldKeys(hello?.view.keys ?? [], (choice) => game.act([choice])), [game, hello?.match]);
  useKeys(game, held);
  const tick = game.moment?.tick;
  useLayoutEffect(() => setChosen(-1), [tick]);
  const play = (choice, event) => {
    if (!game.act([choice])) return;
    setChosen(-1);
    if (event.type === "click") game.clicks.played(event);
  };
  const choose = (choice, event) => {
    // A cell that cannot be played gives its reason, however soon it is clicked.
    const timed = !game.myTurn || mayPlay(game.moment, game.seat, choice);
    if (event.type === "click" && game.clicks.again(event, timed)) return;
    const isPlace = placeHead(hello, game.view) >= 0;
    if (isPlace && !isOneChoice(hello)) {
      game.change({ place: choice, notice: "", said: `Place ${cellOfPlace(hello, game.view, choice).join(", ")} chosen` });
      return;
    }
    if (isPlace) {
      play(choice, event);
      return;
    }
    if (confirm && chosen !== choice && game.myTurn) {
      setChosen(choice);
      game.change({ notice: "", said: `${game.name(choice)} chosen. Enter plays it.` });
    } else {
      play(choice, event);
    }
  };
  return html`
    <main class=${open ? "explained" : ""}>
      <section id="stage" aria-label="Match" class=${hello && !game.over && !game.online ? "offline" : ""}>
        <${Status} game=${game} />
        <${ValueBar} game=${game} />
        <${Board} game=${game} chosen=${chosen} onChoose=${choose} />
        <${NoticeLine} game=${game} />
        <${About} game=${game} />
        ${hello && game.view && html`<div class="play-controls">
          <${Controls} ...${{ game, held, chosen, setChosen, confirm, setConfirm }} />
        </div>`}
      </section>
      <${Explanation} ...${{ game, open, setOpen }} />
      ${hello && html`<aside>
        <${Players} game=${game} />
        <${HintPanel} game=${game} />
        <${Heroes} game=${game} />
        <${Thoughts} game=${game} />
        <${LastMoves} game=${game} />
      </aside>`}
    </main>
    <p id="status" class="sr-only" role="status" aria-live="polite">${game.said}</p>`;
}

// What the button does that is looked at, and why it is closed.
function About({ game }) {
  const { about } = game;
  if (!game.playing || !game.hello.guide) return null;
  return html`<p class="about" id="about">${about ? html`<b>${about.name}</b> ${about.text}` : buttonsOf(game.hello, game.view).length > 0 && "Point at a button, or press it: what it does stands here."}</p>`;
}

export function PlayPage({ id, matchKey }) {
  const game = useMemo(() => new LiveGame(id, matchKey), [id, matchKey]);
  useEffect(() => () => game.close(), [game]);
  useEffect(() => {
    window.ludus = surface(game);
  }, [game]);
  useChanges(game);
  const { hello } = game;
  const [open, setOpen] = useExplanation(hello);
  useEffect(() => {
    document.title = hello ? `${hello.title} · Ludus` : "Ludus";
    document.body.classList.toggle("ready", !!hello);
  }, [hello]);
  return html`<header>
      <a class="home" href="/">Ludus</a>
      <h1 id="title">${hello?.title ?? "Match"}</h1>
      ${hello?.hidden && html`<span class="fact">${sightText(hello)}</span>`}
      <${HowToPlay} ...${{ game, open, setOpen }} />
    </header>
    ${hello && hello.renderer === "document" && !game.drawable && html`<${Failure}>This game shows its seats no board</${Failure}>`}
    <${Match} ...${{ game, open, setOpen }} key=${hello?.match ?? ""} />`;
}

// For tests and for people with a console.
function surface(game) {
  return {
    game,
    get tick() { return game.moment?.tick ?? -1; },
    get drawn() { return { ...game.view?.drawn }; },
    get drawnEcho() { return game.drawnEcho; },
    get latencies() { return game.latencies; },
    get over() { return game.over; },
    act: (...action) => game.act(action),
  };
}
