// A match as the page knows it: the newest messages of the server, and the decisions that it sends.
import { Connection } from "./connection.js";
import { LiveMatch } from "./live_match.js";
import { ordersUnits, UnitOrders } from "./units.js";
import { cellCount, choiceOf, isOneChoice, nameOf, seatToMove, spoken, whyNot } from "./moves.js";

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
    this.link = { state: "opening", why: "" };
    this.notice = ""; // why the last decision had no effect
    this.noticeAt = 0;
    this.said = ""; // the newest line of the live region
    this.log = [];
    this.thoughts = new Map(); // the newest of each seat
    this.newest = null; // of them
    this.hints = true;
    this.place = -1; // of the map that was clicked, where a decision has further parts
    this.units = null; // orders to units, where the game has them
    this.echo = 0; // of the last decision that was sent
    this.refusedEcho = 0;
    this.drawnEcho = 0;
    this.sentAt = new Map();
    this.latencies = [];
    this.connection = new Connection(id, key, (message) => this.receive(message), (link) => this.change({ link }));
  }

  subscribe(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  change(values) {
    Object.assign(this, values);
    for (const listener of this.listeners) listener(this);
  }

  get playing() {
    return this.hello !== null && this.hello.you.length > 0 && !this.over && !this.failed;
  }

  get seat() {
    return this.hello && this.moment ? seatToMove(this.hello, this.moment) : -1;
  }

  get myTurn() {
    return this.playing && this.moment.to_act.includes(this.seat);
  }

  receive(message) {
    const handle = {
      hello: () => this.meet(message),
      moment: () => this.see(message),
      thought: () => {
        this.thoughts.set(message.seat, message);
        this.newest = message;
      },
      refused: () => {
        this.refusedEcho = Math.max(this.refusedEcho, message.echo);
        this.refuse(message.why);
      },
      paused: () => this.say(`Paused: ${message.why}`, { pausedWhy: message.why, moment: { ...this.moment, paused: true } }),
      resumed: () => this.say("The match continues", { pausedWhy: "", moment: { ...this.moment, paused: false } }),
      over: () => this.end(message),
      failed: () => this.change({ failed: message.why, said: message.why }),
    }[message.type];
    handle?.();
    this.change({});
  }

  meet(hello) {
    const again = this.hello?.match === hello.match && !this.over; // another match may follow on the same socket
    if (!again) Object.assign(this, { match: new LiveMatch(hello), view: null, log: [], over: null, thoughts: new Map(), newest: null, place: -1 });
    // An echo is higher than every one that this page, or the one before it, has sent.
    this.echo = Math.max(this.echo, hello.first.echo);
    this.hello = hello;
    if (!again) this.units = ordersUnits(hello) && hello.you.length ? new UnitOrders(this) : null;
    this.see(hello.first);
    if (this.maySeeThoughts && this.hints) this.send("hints", { on: true });
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
    this.drawable = this.match.see(moment.view);
    if (before && moment.tick < before.tick) this.log = this.log.filter((entry) => entry.tick < moment.tick);
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
    return you.length === 1 && you[0] === seat ? "You" : seats[seat]?.name ?? `seat ${seat}`;
  }

  end(over) {
    this.change({ over, notice: "", said: `${this.result(over)}. ${over.reason}` });
  }

  // Who won, in words.
  result({ outcome }) {
    if (!outcome.length) return "Cut off";
    const winners = outcome.flatMap((o, seat) => (o > 0 ? [seat] : []));
    if (!winners.length) return outcome.every((o) => o < 0) ? "No one won" : "A draw";
    if (this.hello.you.length === 1) return winners.includes(this.hello.you[0]) ? "You won" : "You lost";
    return `${winners.map((seat) => this.hello.seats[seat]?.name ?? `seat ${seat}`).join(", ")} won`;
  }

  refuse(why) {
    this.change({ notice: why, noticeAt: performance.now(), said: why });
    return false;
  }

  // Send a decision, unless the mask forbids it: then say why. Whether it was sent.
  act(action) {
    const { hello, moment, seat } = this;
    if (!this.playing) return this.refuse("The match is over");
    if (this.link.state !== "open") return this.refuse("Connection lost: the move was not sent");
    if (hello.turn_based || moment.to_act.includes(seat)) {
      const why = whyNot(hello, moment, seat, action, this.view);
      if (why) return this.refuse(why);
    }
    this.echo += 1;
    this.sentAt.set(this.echo, performance.now());
    if (this.notice) this.change({ notice: "" });
    return this.connection.send({ type: "act", echo: this.echo, tick: moment.tick, seat, action });
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

  send(type, fields = {}) {
    return this.connection.send({ type, ...fields });
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
