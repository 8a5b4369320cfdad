// What keys do. An answer needs a second key: the first goes to its button, Enter presses that.

import { KEYS } from "./card.js";
import { by } from "./dom.js";
import { aim, back, move, putAway } from "./queue.js";
import { help, isShown, view } from "./views.js";

/** Enter that comes faster was typed by nobody. */
const FASTEST = 80;
let pressed = 0;

const MOVES = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 };
const VIEWS = { w: "queue", h: "history", p: "policy" };

addEventListener(
  "keydown",
  (event) => {
    const isEnter = event.key === "Enter" || event.key === " ";
    // A key that is held down, or one right after another, presses no button.
    const isHasty = isEnter && (event.repeat || performance.now() - pressed < FASTEST);
    pressed = performance.now();
    if (isHasty && event.target.closest?.("#cards")) {
      event.preventDefault();
      return;
    }
    const isTyped = event.target.matches?.("input, textarea, select");
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || by("help").open) return;
    if (isTyped) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (act(event)) event.preventDefault();
  },
  true,
);

function act({ key, repeat, target }) {
  if (key === "?") return help(), true;
  if (key === "/") return view("history"), by("search").focus(), true;
  if (key in VIEWS) return view(VIEWS[key]), true;
  if (!isShown("queue")) return false;
  if (key === "Escape") return back();
  // Arrows scroll where nothing but the page has the focus.
  const isArrow = key.startsWith("Arrow");
  if (key in MOVES && (!isArrow || target.closest?.("#cards"))) return move(MOVES[key]), true;
  if (key in KEYS && !repeat) return aim(KEYS[key]), true;
  if (key === "x") return putAway(), true;
  return false;
}
