// The socket of a match. A lost one is opened again with the match's key until the server says that the match is gone.

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5000;
// Codes after which another try cannot help, see ludus/web/serve/messages.py.
const FINAL = {
  1009: "The page sent a message that was too large",
  4403: "This page may not join the match: open it from ludus again",
  4404: "This match is gone: the server has ended it",
  4429: "The page sent too many messages",
  4430: "Too many pages are open: close one and load this page again",
};

export class Connection {
  // onMessage(message), onState({state: "open" | "lost" | "closed", why})
  constructor(match, key, onMessage, onState) {
    this.match = match;
    this.key = key;
    this.onMessage = onMessage;
    this.onState = onState;
    this.wait = FIRST_WAIT_MS;
    this.ended = false;
    this.open();
  }

  open() {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const query = this.key ? `?key=${encodeURIComponent(this.key)}` : "";
    const socket = new WebSocket(`${scheme}://${location.host}/ws/matches/${encodeURIComponent(this.match)}${query}`);
    this.socket = socket;
    socket.onmessage = (event) => {
      const message = JSON.parse(event.data);
      if (message.type === "hello") {
        this.wait = FIRST_WAIT_MS;
        this.key = message.key || this.key;
        this.onState({ state: "open", why: "" });
      } else if (message.type === "over" || message.type === "failed") {
        this.ended = true;
      }
      this.onMessage(message);
    };
    socket.onclose = (event) => {
      if (socket !== this.socket) return;
      const why = FINAL[event.code];
      if (why || this.ended) {
        this.onState({ state: "closed", why: this.ended ? "" : event.reason || why });
        return;
      }
      this.onState({ state: "lost", why: "Connection lost, trying again" });
      this.timer = setTimeout(() => this.open(), this.wait);
      this.wait = Math.min(LONGEST_WAIT_MS, 2 * this.wait);
    };
  }

  // Whether the message was handed to an open socket.
  send(message) {
    if (this.socket.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }

  close() {
    clearTimeout(this.timer);
    const { socket } = this;
    this.socket = null;
    socket.onclose = socket.onmessage = null;
    socket.close();
  }
}
