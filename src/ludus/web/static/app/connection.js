// The socket of a match. A lost one is opened again with the match's key until the server says that the match is gone.
//
// The server sends a sign of life every few seconds and the page answers it. A dead link closes no socket: one that has
// been silent for too long is lost, whatever the browser thinks of it.

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 2000;
const BEAT_MS = 2000; // until the server says its own
const MISSING = 3; // signs of life after which the server is lost
const CHECKS = 8; // during one
const QUICK_MS = 1000; // in which a port is refused where no server listens
const REFUSALS = 2; // after which the server counts as ended
const SERVER_ENDS = 1012;
// Codes after which another try cannot help, see ludus/web/serve/messages.py.
const FINAL = {
  1009: "The page sent a message that was too large",
  4403: "This page may not join the match: open it from ludus again",
  4404: "This match is gone: the server has ended it",
  4429: "The page sent too many messages",
  4430: "Too many pages are open: close one and load this page again",
};

const ENDED = "The server has ended";
const REFUSED = "The server does not answer: it has ended or cannot be reached";

export class Connection {
  // onMessage(message), onState({state: "open" | "lost" | "closed", why, heardAt}): heardAt is the time of the last sign
  // of life.
  constructor(match, key, onMessage, onState) {
    this.match = match;
    this.key = key;
    this.name = `${Math.random().toString(36).slice(2)}${Date.now().toString(36)}`; // under which this page comes back
    this.onMessage = onMessage;
    this.onState = onState;
    this.wait = FIRST_WAIT_MS;
    this.beat = BEAT_MS;
    this.refusals = 0;
    this.ended = false; // the match
    this.gone = false; // the server
    this.heardAt = performance.now(); // of the server
    this.open();
    this.watch();
  }

  open() {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const query = new URLSearchParams({ page: this.name, ...(this.key && { key: this.key }) });
    const socket = new WebSocket(`${scheme}://${location.host}/ws/matches/${encodeURIComponent(this.match)}?${query}`);
    this.socket = socket;
    this.openedAt = this.awaitedFrom = performance.now();
    this.answered = false;
    socket.onmessage = (event) => {
      this.heardAt = this.awaitedFrom = performance.now();
      this.take(JSON.parse(event.data));
    };
    socket.onclose = (event) => this.lose(event.code, event.reason);
  }

  take(message) {
    this.answered = true;
    if (message.type === "alive") {
      this.send(message);
      return;
    }
    if (message.type === "hello") {
      this.wait = FIRST_WAIT_MS;
      this.refusals = 0;
      this.key = message.key || this.key;
      if (message.beat_s * 1000 !== this.beat) {
        this.beat = message.beat_s * 1000;
        this.watch();
      }
      this.ended = false;
      this.onState({ state: "open", why: "", heardAt: this.heardAt });
    } else if (message.type === "over" || message.type === "failed") {
      this.ended = true;
    }
    this.onMessage(message);
  }

  // Look for signs of life from now on. A look that is itself late tells nothing: the page stood, and what it has
  // missed is still to be read.
  watch() {
    clearInterval(this.watching);
    let last = performance.now();
    this.watching = setInterval(() => {
      const now = performance.now();
      if (now - last > this.beat) this.awaitedFrom = Math.max(this.awaitedFrom, now - (MISSING - 1) * this.beat);
      else if (this.socket && now - this.awaitedFrom >= MISSING * this.beat) this.lose(0, "");
      last = now;
    }, this.beat / CHECKS);
  }

  lose(code, reason) {
    this.drop();
    const why = FINAL[code];
    const quick = !this.answered && code > 0 && performance.now() - this.openedAt < QUICK_MS;
    this.refusals = quick ? this.refusals + 1 : 0;
    const refused = this.refusals >= REFUSALS;
    if (why || (this.ended && refused)) {
      clearInterval(this.watching);
      this.onState({ state: "closed", why: why ? reason || why : this.gone ? ENDED : REFUSED, heardAt: this.heardAt });
      return;
    }
    this.gone = code === SERVER_ENDS || (this.gone && !this.answered);
    const text = this.gone ? ENDED : refused ? REFUSED : "Connection lost";
    this.onState({ state: "lost", why: `${text}, trying again`, heardAt: this.heardAt });
    this.timer = setTimeout(() => this.open(), this.wait);
    this.wait = Math.min(LONGEST_WAIT_MS, 2 * this.wait);
  }

  // Forget the socket, open or not.
  drop() {
    const { socket } = this;
    this.socket = null;
    if (!socket) return;
    socket.onclose = socket.onmessage = null;
    socket.close();
  }

  // Whether the message was handed to an open socket.
  send(message) {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }

  close() {
    clearTimeout(this.timer);
    clearInterval(this.watching);
    this.drop();
  }
}
