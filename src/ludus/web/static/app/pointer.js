// What pointers mean: clicks that belong together, and a pointer that is held until it ends.

const DOUBLE_MS = 350; // between two taps, which browsers do not count
const NEAR = 24; // pixels between two taps of one finger

// The second click of a double click, or of two taps, belongs to the first: it is no further move.
export class DoubleClicks {
  constructor() {
    this.last = null; // {at, x, y} of the last click that played a move, or belonged to one that did
  }

  // A click has played a move.
  played(event) {
    this.last = { at: event.timeStamp, x: event.clientX ?? 0, y: event.clientY ?? 0 };
  }

  // Whether a click belongs to the one that has just played: the browser counts it as a further one or, if `timed`, it
  // comes soon after.
  again(event, timed) {
    if (!this.last) return false;
    const near = Math.hypot((event.clientX ?? 0) - this.last.x, (event.clientY ?? 0) - this.last.y) <= NEAR;
    const again = near && (event.detail > 1 || (timed && event.timeStamp - this.last.at <= DOUBLE_MS));
    if (again) this.played(event);
    return again;
  }
}

// Handlers of a node for one pointer at a time, from where it goes down to its end, which comes once: it goes up, or the
// browser takes it (a scroll, a gesture, a lost window). start(event): whether it is of interest; move(event);
// end(event, up).
export function holding({ start, move, end }) {
  let held = null;
  const finish = (up) => (event) => {
    if (event.pointerId !== held) return;
    held = null;
    end(event, up);
  };
  return {
    onPointerDown: (event) => {
      // A first pointer that comes while one is held: the end of that one was lost.
      if (held !== null && event.isPrimary) finish(false)({ ...event, pointerId: held });
      if (held !== null || !start(event)) return;
      held = event.pointerId;
      try {
        event.currentTarget.setPointerCapture(held);
      } catch {
        // it is up already, and its end comes next
      }
    },
    onPointerMove: (event) => {
      if (event.pointerId === held) move?.(event);
    },
    onPointerUp: finish(true),
    onPointerCancel: finish(false),
    onLostPointerCapture: finish(false),
  };
}
