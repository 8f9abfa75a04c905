// Keys that are held. The key pressed last counts; it repeats with every moment in which its seat may act, since a
// player of such a game decides at every tick.

import { characterOf } from "../replay/keyboard.js";

export { characterOf };

const SHORTEST_GAP_MS = 30; // below the server's bound of 50 messages a second

export class HeldKeys {
  // play(choice): sends a decision.
  constructor(keys, play) {
    this.choices = new Map(keys.map(([key, choice]) => [key.length === 1 ? key.toLowerCase() : key, choice]));
    this.play = play;
    this.held = [];
    this.sent = 0;
  }

  // The choice of a key event, undefined for other keys.
  choiceOf(event) {
    const choice = (key) => this.choices.get(key.length === 1 ? key.toLowerCase() : key);
    return choice(event.key) ?? choice(characterOf(event));
  }

  press(choice) {
    if (this.held.includes(choice)) return;
    this.held.push(choice);
    this.send();
  }

  release(choice) {
    this.held = this.held.filter((other) => other !== choice);
  }

  releaseAll() {
    this.held = [];
  }

  // A new moment: what is still held is played again.
  repeat() {
    if (this.held.length && performance.now() - this.sent >= SHORTEST_GAP_MS) this.send();
  }

  send() {
    this.sent = performance.now();
    this.play(this.held.at(-1));
  }
}
