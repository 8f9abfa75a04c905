// Games without a board as tables: poker's cards and bets, the payoffs of a matrix game. Text goes in by textContent.
import { frameAt } from "./data.js";
import { element, seatChip, signedNumber } from "./dom.js";

const MOST_TABLE = 400; // cells of a table of payoffs; of a larger one only the choices are shown
const MOST_BETS = 200;

// Stands beside a canvas that is not used.
class TableView {
  constructor(canvas, match) {
    this.match = match;
    this.drawn = {};
    this.box = element("div", { class: "table-view", tabindex: "0", role: "region", "aria-label": "The moment as a table" });
    canvas.hidden = true;
    canvas.after(this.box);
  }

  get aspect() {
    return null;
  }

  // Names of cards or choices by number.
  label(number) {
    const names = Array.isArray(this.match.view?.labels) ? this.match.view.labels : [];
    return Number.isInteger(number) && number >= 0 ? String(names[number] ?? number) : "?";
  }

  seat(index) {
    return this.match.seats[index] ?? `seat ${index}`;
  }

  draw({ tick }) {
    const view = this.match.views[frameAt(this.match.ticks, tick)] ?? {};
    const key = JSON.stringify(view);
    if (this.key === key) return;
    this.key = key;
    this.box.replaceChildren(...this.content(view));
  }

  pick() {
    return null;
  }
}

// cards: a number a seat and then those on the table, anything else is hidden; bets: `choices`, or `rounds` of them.
export class CardsView extends TableView {
  static fits(view) {
    return Array.isArray(view?.cards);
  }

  content(view) {
    const seats = this.match.seats.length;
    const cards = listOf(view.cards);
    const rounds = Array.isArray(view.rounds) ? view.rounds : [view.choices];
    // The card on the table lies open from the second round on.
    const open = Number.isInteger(view.round) ? view.round > 0 || view.over === true : true;
    this.drawn = { cards: 0, open: 0, bets: 0, chips: 0 };
    const rows = this.match.seats.map((name, seat) => {
      const row = element("tr", {}, element("th", { scope: "row" }, seatChip(seat), " ", name), element("td", {}, this.card(cards[seat], true)));
      const paid = listOf(view.paid)[seat];
      if (Array.isArray(view.paid)) row.append(element("td", { class: "number" }, Number.isFinite(paid) ? String(paid) : "?"));
      if (Array.isArray(view.paid)) this.drawn.chips++;
      if (view.folded === seat) row.classList.add("folded");
      return row;
    });
    const heads = ["seat", "card", ...(Array.isArray(view.paid) ? ["chips in the pot"] : [])];
    const table = element("table", { class: "cards" }, element("thead", {}, element("tr", {}, ...heads.map((text) => element("th", {}, text)))),
      element("tbody", {}, ...rows));
    const board = cards.slice(seats);
    const parts = [table];
    if (board.length) parts.push(element("p", { class: "on-table" }, "On the table: ", ...board.map((card) => this.card(card, open))));
    rounds.forEach((round, i) => {
      const bets = listOf(round).slice(0, MOST_BETS).map((bet, n) => element("li", {}, seatChip(n % Math.max(1, seats)), " ", String(bet)));
      this.drawn.bets += bets.length;
      parts.push(element("h3", {}, rounds.length > 1 ? `Bets of round ${i + 1}` : "Bets"),
        bets.length ? element("ol", { class: "bets" }, ...bets) : element("p", { class: "hint" }, "none yet"));
    });
    return parts;
  }

  card(number, open) {
    const shown = open && Number.isInteger(number) && number >= 0;
    this.drawn.cards++;
    if (shown) this.drawn.open++;
    const node = element("span", { class: shown ? "card" : "card back" }, shown ? this.label(number) : "?");
    if (!shown) node.setAttribute("aria-label", "a hidden card");
    return node;
  }
}

// payoff[row * columns + column]: what seat 0, which chooses the row, gets; seat 1 chooses the column.
export class PayoffView extends TableView {
  static fits(view) {
    const { rows, columns, payoff } = view ?? {};
    return Number.isInteger(rows) && Number.isInteger(columns) && rows >= 1 && columns >= 1 && Array.isArray(payoff)
      && payoff.length === rows * columns;
  }

  get gets() {
    return this.seat(0) === "you" ? "get" : "gets";
  }

  content(view) {
    const [row, column] = listOf(view.actions);
    const chose = [row, column].map((action) => (Number.isInteger(action) && action >= 0 ? this.label(action) : "nothing yet"));
    this.drawn = { cells: 0, chosen: 0 };
    const parts = [element("p", { class: "chosen-line" }, seatChip(0), ` ${this.seat(0)}: `, element("b", {}, chose[0])),
      element("p", { class: "chosen-line" }, seatChip(1), ` ${this.seat(1)}: `, element("b", {}, chose[1]))];
    if (view.over === true && Number.isFinite(view.result)) {
      parts.push(element("p", { class: "chosen-line" }, `${this.seat(0)} ${this.gets} `, element("b", {}, signedNumber(view.result))));
    }
    if (!PayoffView.fits(view) || view.rows * view.columns > MOST_TABLE) return parts;
    const head = element("tr", {}, element("th", {}), ...Array.from({ length: view.columns }, (_, c) => element("th", { scope: "col", title: `A choice of ${this.seat(1)}` }, this.label(c))));
    const body = Array.from({ length: view.rows }, (_, r) => element("tr", {}, element("th", { scope: "row", title: `A choice of ${this.seat(0)}` }, this.label(r)),
      ...Array.from({ length: view.columns }, (_, c) => this.cell(view, r, c, r === row && c === column))));
    const caption = element("caption", {}, `What ${this.seat(0)} (rows) ${this.gets} against ${this.seat(1)} (columns)`);
    parts.push(element("table", { class: "payoff" }, caption, element("thead", {}, head), element("tbody", {}, ...body)));
    return parts;
  }

  cell(view, row, column, chosen) {
    const value = view.payoff[row * view.columns + column];
    const cell = element("td", { class: chosen ? "number chosen" : "number" }, Number.isFinite(value) ? signedNumber(value) : "?");
    this.drawn.cells++;
    if (chosen) {
      this.drawn.chosen++;
      cell.setAttribute("aria-current", "true");
    }
    return cell;
  }
}

function listOf(value) {
  return Array.isArray(value) ? value : [];
}
