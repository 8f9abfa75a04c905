// A match as the page knows it: the newest messages of the server, and the decisions that it sends.
import { Connection } from "./connection.js";
import { HeroOrders, ordersHero } from "./hero_orders.js";
import { LiveMatch } from "./live_match.js";
import { DoubleClicks } from "./pointer.js";
import { hinted, hintOverlay } from "./hints.js";
import { ordersUnits, UnitOrders } from "./units.js";
import { whyClosed } from "./guide.js";
import { cellCount, choiceOf, closedHead, isOneChoice, nameOf, seatToMove, spoken } from "./moves.js";

const LOG_LENGTH = 400;
const LATENCIES = 2000;
const NOTICE_MS = 3000; // that a reason stands in a game that does not wait

export class LiveGame {
  constructor(id, key) {
    this.listeners = new Set();
    this.hello = null;
    this.moment = null;
    this.match = null;
    this.view = null; // the drawing, set by the board
    this.over = null;
    this.failed = "";
    this.link = { state: "opening", why: "", heardAt: 0 };
    this.notice = ""; // why the last decision had no effect
    this.noticeAt = 0;
    this.about = null; // {name, text} of the choice that is looked at
    this.said = ""; // the newest line of the live region
    this.log = [];
    this.thoughts = new Map(); // the newest of each seat
    this.newest = null; // of them
    this.hints = true;
    this.hint = null; // the newest that was asked for
    this.valueNow = null; // the newest value for the seat
    this.valueBefore = null; // the one of the turn before
    this.place = -1; // of the map that was clicked, where a decision has further parts
    this.aim = ""; // what the next click on the map is for
    this.units = null; // orders to units, where the game has them
    this.clicks = new DoubleClicks();
    this.echo = 0; // of the last decision that was sent
    this.refusedEcho = 0;
    this.answeredEcho = 0; // of the last decision that the server has played or refused
    this.decided = new Map(); // seat -> echo of its decision for this moment, in a game that waits
    this.commandAt = -Infinity; // when something else was sent
    this.turnTick = 0; // when the seat could last decide
    this.stoodAt = 0; // when the link was lost
    this.drawnEcho = 0;
    this.sentAt = new Map();
    this.sentActions = new Map(); // echo -> numbers of a decision that has not been answered
    this.latencies = [];
    this.connection = new Connection(id, key, (message) => this.receive(message), (link) => this.linked(link));
  }

  subscribe(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  change(values) {
    Object.assign(this, values);
    for (const listener of this.listeners) listener(this);
  }

  get online() {
    return this.link.state === "open";
  }

  // Whether the last decision has been sent and neither played nor refused.
  get unanswered() {
    return this.echo > this.answeredEcho;
  }

  // Whether the seat has had no turn for a second of a game that does not wait: it is out of the match.
  get isOut() {
    const { hello, moment } = this;
    if (this.playing && this.outWhy) return true;
    return this.playing && !hello.turn_based && moment.tick - this.turnTick > hello.ticks_per_s;
  }

  // Why the own seat is out, "" while it is in.
  get outWhy() {
    return this.moment?.out?.[this.seat] ?? "";
  }

  // Whether the match has not begun: it waits for the first order.
  get waits() {
    return this.moment?.waits === true && !this.over;
  }

  linked(link) {
    const lost = link.state !== "open" && this.online;
    if (lost) this.stoodAt = link.heardAt; // the last sign of life
    this.change({ link });
    if (lost && this.playing && this.unanswered) this.refuse("The last move has not been confirmed");
    else if (lost && this.commandAt > link.heardAt) this.refuse("The last command has not been confirmed");
  }

  get playing() {
    return this.hello !== null && this.hello.you.length > 0 && !this.over && !this.failed;
  }

  get seat() {
    return this.hello && this.moment ? seatToMove(this.hello, this.toAct) : -1;
  }

  // Seats that have a turn and whose decision is not yet on its way.
  get toAct() {
    return this.moment.to_act.filter((seat) => !this.decided.has(seat));
  }

  get myTurn() {
    return this.playing && this.toAct.includes(this.seat);
  }

  receive(message) {
    const handle = {
      hello: () => this.meet(message),
      moment: () => this.see(message),
      thought: () => {
        this.thoughts.set(message.seat, message);
        this.newest = message;
      },
      hint: () => hinted(this, message),
      refused: () => {
        this.refusedEcho = Math.max(this.refusedEcho, message.echo);
        this.answeredEcho = Math.max(this.answeredEcho, message.echo);
        for (const [seat, echo] of this.decided) if (echo === message.echo) this.decided.delete(seat);
        this.refuse(this.inWords(message));
      },
      paused: () => this.say(`Paused: ${message.why}`, { pausedWhy: message.why, moment: { ...this.moment, paused: true } }),
      resumed: () => this.say("The match continues", { pausedWhy: "", moment: { ...this.moment, paused: false, waits: false } }),
      over: () => this.end(message),
      failed: () => this.change({ failed: message.why, said: message.why }),
    }[message.type];
    handle?.();
    this.change({});
  }

  meet(hello) {
    const again = this.hello?.match === hello.match && !this.over; // another match may follow on the same socket
    if (!again) Object.assign(this, { match: new LiveMatch(hello), view: null, log: [], over: null, thoughts: new Map(), newest: null, place: -1, hint: null, valueNow: null, valueBefore: null });
    this.log = hello.moves.map(([tick, seat, text]) => ({ tick, seat, text }));
    if (again) this.resume(hello.first.echo);
    else this.turnTick = hello.first.tick;
    this.hello = hello;
    if (!again) this.units = ordersOf(this);
    this.see(hello.first);
    if (this.maySeeThoughts && this.hints) this.send("hints", { on: true });
  }

  // Whether the last decision arrived is known from the first message after a lost connection: what its socket had not
  // delivered by then has no effect any more, so that sending it again counts once.
  resume(echo) {
    const missing = this.unanswered && echo < this.echo;
    this.answeredEcho = this.echo;
    if (missing) {
      this.refusedEcho = this.echo;
      this.refuse("The last move was not received: send it again");
    } else {
      this.notice = "";
    }
  }

  get maySeeThoughts() {
    return this.hello.you.length === 0 && this.hello.seats.every((seat) => seat.kind !== "person");
  }

  showThoughts(on) {
    this.change({ hints: on });
    if (!this.over) this.send("hints", { on });
  }

  // The newest thought for the board: a number for each choice. null where there is none.
  get overlay() {
    const { hello, newest, view } = this;
    const hint = hintOverlay(this);
    if (hint) return hint;
    if (!newest || !this.hints || !cellCount(hello, view)) return null;
    if (this.overlaid?.of === newest) return this.overlaid;
    const visited = newest.visits.length > 0;
    const values = new Float64Array(hello.heads[0].size);
    for (const [name, value] of visited ? newest.visits : newest.heads[0] ?? []) {
      const { choice } = choiceOf(hello, view, name);
      if (choice !== undefined) values[choice] = value;
    }
    this.overlaid = { values, kind: visited ? "visits" : "policy", of: newest };
    return this.overlaid;
  }

  see(moment) {
    const before = this.moment;
    this.moment = moment;
    this.decided.clear();
    this.drawable = this.match.see(moment.view);
    this.answeredEcho = Math.max(this.answeredEcho, moment.echo);
    this.echo = Math.max(this.echo, moment.echo); // higher than every one of this page, another or the one before it
    if (moment.to_act.includes(this.seat) || moment.tick < this.turnTick) this.turnTick = moment.tick;
    if (before && moment.tick < before.tick) this.log = this.log.filter((entry) => entry.tick <= moment.tick);
    for (const [seat, text] of moment.last) this.log.push({ tick: moment.tick, seat, text });
    if (this.log.length > LOG_LENGTH) this.log.splice(0, this.log.length - LOG_LENGTH);
    const old = this.hello.turn_based ? before?.tick !== moment.tick : performance.now() - this.noticeAt > NOTICE_MS;
    if (moment.to_act.includes(this.seat) && old) this.notice = "";
    this.sayMoves(moment, before);
    this.units?.see();
  }

  // Where the game has turns, every move is said; in real time they are too many.
  sayMoves(moment, before) {
    if (!this.hello.turn_based) return;
    const moves = moment.last.map(([seat, text]) => `${this.nameOfSeat(seat)} plays ${this.words(text)}`);
    if (before && moment.tick < before.tick) moves.push("Taken back");
    if (this.hello.you.length && moment.to_act.includes(this.seat) && !moment.paused) moves.push("your turn");
    if (moves.length) this.said = `${moves.join(", ")}.`;
  }

  say(said, values) {
    this.change({ said, ...values });
  }

  nameOfSeat(seat) {
    const { you, seats } = this.hello;
    return you.length === 1 && you[0] === seat ? "You" : sideName(seats[seat]) ?? `seat ${seat}`;
  }

  end(over) {
    this.change({ over, notice: "", said: `${this.result(over)}. ${sentenceOf(over.reason)}` });
  }

  // Who won, in words.
  result({ outcome }) {
    if (!outcome.length) return "No result";
    const winners = outcome.flatMap((o, seat) => (o > 0 ? [seat] : []));
    const [you] = this.hello.you;
    if (outcome.length === 1) return soloResult(outcome[0], you === undefined ? this.hello.seats[0].name : "You");
    if (!winners.length && this.hello.you.length === 1 && outcome[you] < 0 && !outcome.every((o) => o < 0)) return "You lost";
    if (!winners.length) return outcome.every((o) => o < 0) ? "No one won" : "A draw";
    if (this.hello.you.length === 1) return winners.includes(you) ? "You won" : "You lost";
    return `${winners.map((seat) => this.nameOfSeat(seat)).join(", ")} won`;
  }

  refuse(why) {
    this.change({ notice: why, noticeAt: performance.now(), said: why });
    return false;
  }

  // Send a decision, unless the mask forbids it: then say why. Whether it was sent.
  act(action) {
    const { hello, moment, seat } = this;
    if (!this.playing) return this.refuse("The match is over");
    if (!this.online) return this.refuse("Connection lost: the move was not sent");
    if (this.isOut) return this.refuse("Your seat is out of the match");
    if (hello.turn_based && !this.toAct.includes(seat)) return this.refuse(this.whyNoTurn);
    const head = moment.to_act.includes(seat) ? closedHead(hello, moment, seat, action) : -1;
    if (head >= 0) return this.refuse(whyClosed(this, action, head));
    const echo = this.echo + 1;
    if (!this.connection.send({ type: "act", echo, tick: moment.tick, seat, action })) return this.refuse("Connection lost: the move was not sent");
    this.echo = echo;
    this.sentAt.set(echo, performance.now());
    this.sentActions.set(echo, action);
    for (const other of this.sentActions.keys()) if (other <= this.answeredEcho) this.sentActions.delete(other);
    if (hello.turn_based) this.decided.set(seat, echo);
    if (this.notice || hello.turn_based) this.change({ notice: "" });
    return true;
  }

  get whyNoTurn() {
    if (this.moment.paused) return "The match is paused";
    return this.decided.has(this.seat) ? "Your move is on its way" : "It is not your turn";
  }

  // Why the server has refused a decision, by the names and the reasons of the page where its mask tells them.
  inWords({ echo, why }) {
    const action = this.sentActions.get(echo);
    const head = action && / is not legal now$/.test(why) ? this.hello.heads.findIndex(({ name }) => why.startsWith(`${name} `)) : -1;
    return head < 0 ? why : whyClosed(this, action, head);
  }

  // Play the move that a text names. Whether it was sent.
  type(text) {
    if (!isOneChoice(this.hello)) return this.refuse("Moves of this game are chosen from the lists");
    const { choice, why } = choiceOf(this.hello, this.view, text);
    return why ? this.refuse(why) : this.act([choice]);
  }

  // A decision as people read it: the label of a choice as the board names it (D4, column 3).
  words(text) {
    const choice = isOneChoice(this.hello) ? this.hello.heads[0].labels.indexOf(text) : -1;
    return choice >= 0 ? this.name(choice) : spoken(text);
  }

  name(choice) {
    return nameOf(this.hello, this.view, choice);
  }

  // Send anything but a decision. Whether it was sent.
  send(type, fields = {}) {
    if (!this.online || !this.connection.send({ type, ...fields })) return this.refuse("Connection lost: nothing was sent");
    if (type !== "hints") this.commandAt = performance.now();
    return true;
  }

  // The board has drawn the newest moment.
  drawn() {
    const { echo } = this.moment;
    if (echo <= this.drawnEcho) return;
    this.drawnEcho = echo;
    const sent = this.sentAt.get(echo);
    if (sent !== undefined) this.latencies.push(performance.now() - sent);
    if (this.latencies.length > LATENCIES) this.latencies.shift();
    for (const other of this.sentAt.keys()) if (other <= echo) this.sentAt.delete(other);
  }

  close() {
    this.connection.close();
    this.listeners.clear();
  }
}

// Orders to units by the mouse, where the game has them and the page plays.
function ordersOf(game) {
  if (!game.hello.you.length) return null;
  if (ordersHero(game.hello)) return new HeroOrders(game);
  return ordersUnits(game.hello) ? new UnitOrders(game) : null;
}

// A player with the colour of its seat, as people read it; undefined for no seat.
export function sideName(seat) {
  return seat && `${seat.short || seat.name}${seat.side ? ` (${seat.side})` : ""}`;
}

// Result of a game with one seat.
function soloResult(outcome, name) {
  if (outcome === 0) return "The match is over";
  return `${name} ${outcome > 0 ? "won" : "lost"}`;
}

// A reason of the server's as a sentence.
export function sentenceOf(text) {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}
