// Ways to play a decision beside the board: buttons, a pad of held keys, lists, and a field to type in.
import { html, useLayoutEffect, useMemo, useRef, useState } from "./html.js";
import { aboutChoice, amount, choiceGuide } from "./guide.js";
import { buttonsOf, labelOf, mayPlay, nameOf, placeHead, spoken } from "./moves.js";
import { holding } from "./pointer.js";

const ARROWS = { ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→", " ": "Space" };

// What explains a choice: a tooltip for the mouse, a description for screen readers, and the line below the board for
// whatever has the focus, which fingers give it too.
export function explained(game, head, choice, closed, more = "") {
  if (!game.hello.guide) return {};
  const about = aboutChoice(game, head, choice, closed);
  if (more) about.text = `${more} ${about.text}`;
  const show = () => game.change({ about });
  return { title: about.text, "aria-describedby": `does-${head}-${choice}`, onFocus: show, onPointerEnter: show, onPointerDown: show };
}

// The text that describes a choice, for screen readers.
function Description({ game, head, choice, closed }) {
  if (!game.hello.guide) return null;
  return html`<span id=${`does-${head}-${choice}`} hidden>${aboutChoice(game, head, choice, closed).text}</span>`;
}

function Price({ hello, head, choice }) {
  const cost = choiceGuide(hello, head, choice)?.cost;
  return cost > 0 ? html` <span class="price" aria-label=${`costs ${amount(cost)}`}>${amount(cost)}</span>` : null;
}

// A button for every choice that is no cell of the board: pass, orders, cards. Their places never change.
export function ChoiceButtons({ game, digits, onChoose }) {
  const { hello, moment, seat } = game;
  const choices = buttonsOf(hello, game.view);
  if (!choices.length) return null;
  const waits = hello.turn_based && !game.myTurn;
  return html`<div class=${`choices ${choices.length > 4 ? "many" : ""}`} role="group" aria-label="Choices">
    ${choices.map((choice, i) => {
      const closed = !game.playing || game.isOut || waits || (moment.legal[seat]?.[0] && !mayPlay({ ...moment, to_act: [seat] }, seat, choice));
      const label = spoken(labelOf(hello, choice));
      return html`<button type="button" data-choice=${choice} aria-disabled=${closed ? "true" : "false"} ...${explained(game, 0, choice, closed)}
        onClick=${(event) => onChoose(choice, event)}>${digits && i < 9 && html`<kbd>${i + 1}</kbd> `}${label}<${Price} ...${{ hello, head: 0, choice }} />
          <${Description} ...${{ game, head: 0, choice, closed }} /></button>`;
    })}
  </div>`;
}

// The keys of a real-time game as buttons that can be held, for fingers.
export function ButtonPad({ game, held }) {
  const { hello } = game;
  const handlers = useMemo(() => {
    const make = (choice) => holding({
      start: () => {
        held.press(choice);
        return true;
      },
      end: () => held.release(choice),
    });
    return new Map(hello.view.keys.map(([, choice]) => [choice, make(choice)]));
  }, [held, hello]);
  if (!hello.view.keys.length) return null;
  return html`<div class="pad" role="group" aria-label="Keys">
    ${hello.view.keys.map(([key, choice]) => html`<button type="button" data-choice=${choice} class=${`pad-${ARROWS[key] && key !== " " ? key : "other"}`}
      disabled=${!game.playing || game.isOut} title=${choiceGuide(hello, 0, choice)?.does} ...${handlers.get(choice)}
      onContextMenu=${(event) => event.preventDefault()}>
        <kbd>${ARROWS[key] ?? key}</kbd> ${spoken(labelOf(hello, choice))}</button>`)}
  </div>`;
}

// Orders to selected units that need no place on the map. Their places never change.
export function unitButtons(game) {
  if (game.units.buttons) return game.units.buttons;
  const { orders } = game.units;
  const unmade = new Set((game.hello.guide?.pieces ?? []).filter((piece) => !piece.made_by.length).map((piece) => `build_${piece.name}`));
  const builds = orders.filter((name) => name.startsWith("build") && !unmade.has(name)); // nobody makes a resource
  const others = orders.filter((name) => !["move", "attack", "gather"].includes(name) && !name.startsWith("build"));
  const gathers = orders.includes("gather"); // where there is money, the last target is the enemy's base
  return [
    ...(gathers ? [
      { label: "attack the base", name: "attack", give: () => game.units.give("attack", { target: null }) },
      { label: "gather", name: "gather", give: () => game.units.give("gather", { target: nearestResource(game) }) },
    ] : []),
    ...[...others, ...builds].map((name) => ({ label: spoken(name), name, give: () => game.units.give(name) })),
  ];
}

function nearestResource(game) {
  const [first] = game.units.chosen;
  const resources = game.units.units.filter((unit) => game.moment.view.roles?.[unit.type] === "resource");
  const distance = (unit) => (first ? Math.hypot(unit.x - first.x, unit.y - first.y) : 0);
  return resources.sort((a, b) => distance(a) - distance(b))[0];
}

export function UnitButtons({ game }) {
  const head = game.hello.heads.findIndex((one) => one.name === "order");
  return html`<div class="choices many" role="group" aria-label="Orders">
    ${unitButtons(game).map(({ label, name, give, about }, i) => {
      const choice = game.units.orders.indexOf(name);
      const closed = !game.playing || game.isOut || !game.units.mayAny(name);
      return html`<button type="button" data-order=${name} aria-disabled=${closed ? "true" : "false"} ...${explained(game, head, choice, closed, about)}
        onClick=${give}><kbd>${i + 1}</kbd> ${label}<${Price} ...${{ hello: game.hello, head, choice }} />
        <${Description} ...${{ game, head, choice, closed }} /></button>`;
    })}
  </div>
  <p class="hint" id="orders-hint">${game.aim || orderHint(game)}</p>`;
}

// How orders are given here, by what the device has.
function orderHint(game) {
  const fingers = matchMedia("(pointer: coarse)").matches;
  if (game.units.single) return `${fingers ? "Tap" : "Click"} the ground to go there, an enemy to attack it.`;
  if (fingers) return "Tap a unit or draw a box to select; then tap an enemy, a resource or the ground. Two fingers zoom.";
  return html`Click or draw a box to select (<kbd>N</kbd>: the next unit); the right button attacks, gathers or moves. The wheel zooms.`;
}

// A list for each head of a decision, for games whose decisions have several parts.
export function ChoiceLists({ game, onChoose }) {
  const { hello, moment, seat } = game;
  const [chosen, setChosen] = useState(hello.heads.map(() => null));
  const legal = useRef([]); // of the last moment at which the seat could decide
  legal.current = moment.legal[seat] ?? legal.current;
  const place = placeHead(hello, game.view);
  const choose = (head, choice) => {
    setChosen(chosen.map((old, i) => (i === head ? choice : old)));
    game.change({ about: aboutChoice(game, head, choice, closed(head, choice)) });
    if (head === place) game.change({ place: choice });
  };
  useLayoutEffect(() => {
    if (place >= 0 && game.place >= 0) choose(place, game.place); // clicked on the map
  }, [game.place]);
  const closed = (head, choice) => {
    const mask = legal.current[head];
    return mask?.length === hello.heads[head].size && !mask[choice];
  };
  // What the person has not chosen is the first choice that is open.
  const firstOpen = (head) => Math.max(0, Array.from({ length: hello.heads[head].size }, (_, i) => closed(head, i)).indexOf(false));
  const action = chosen.map((choice, head) => choice ?? firstOpen(head));
  return html`<form class="lists" onSubmit=${(event) => {
      event.preventDefault();
      onChoose(action, event);
    }}>
    ${hello.heads.map((head, i) => html`<label>${spoken(head.name)}
      <select value=${String(action[i])} onChange=${(event) => choose(i, Number(event.target.value))}
        ...${explained(game, i, action[i], closed(i, action[i]))}>
        ${Array.from({ length: head.size }, (_, choice) => html`<option value=${String(choice)} class=${closed(i, choice) ? "closed" : ""}
          title=${choiceGuide(hello, i, choice)?.does}>${optionText(game, i, choice, closed(i, choice))}</option>`)}
      </select><${Description} ...${{ game, head: i, choice: action[i], closed: closed(i, action[i]) }} /></label>`)}
    <button type="submit" class="primary" disabled=${!game.playing || game.isOut}>Play</button>
  </form>`;
}

// A closed option can be chosen: the line below the board then says why it is closed.
function optionText({ hello, view }, head, choice, closed) {
  const cost = choiceGuide(hello, head, choice)?.cost;
  return `${nameOf(hello, view, choice, head)}${cost > 0 ? ` (${amount(cost)})` : ""}${closed ? " – not now" : ""}`;
}

// A field for a move (d4, 3, pass). It shows the chosen cell, and its button plays what it shows.
export function MoveForm({ game, chosen, onSend }) {
  const [text, setText] = useState("");
  useLayoutEffect(() => setText(chosen >= 0 ? game.name(chosen) : ""), [chosen]);
  const send = (event) => {
    event.preventDefault();
    onSend(event.currentTarget.elements.move.value); // what the field shows, also before the next rendering
    if (!game.notice) setText("");
  };
  return html`<form class="move-form" onSubmit=${send}>
    <label for="move">Move</label>
    <input id="move" type="text" autocomplete="off" autocapitalize="none" spellcheck="false" maxlength="60"
      placeholder=${example(game)} value=${text} onInput=${(event) => setText(event.target.value)} />
    <button type="submit" id="play-move" class="primary" disabled=${!game.playing}>Play</button>
  </form>`;
}

function example(game) {
  const { size } = game.hello.heads[0];
  return `e.g. ${game.name(Math.floor(size / 2))}`;
}
