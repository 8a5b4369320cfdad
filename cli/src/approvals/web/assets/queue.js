// What waits, as cards that stay where they are while somebody reads.
//
// An answer is for what was shown: a card that comes, changes or moves takes none for a moment, and one that has ended stays
// in its place until nobody is at it.

import { ending, show, takeBack } from "./card.js";
import { by, element, say } from "./dom.js";
import { answer } from "./server.js";

/** So long nothing is an answer after something else has come under the pointer or the key. */
const SETTLE = 500;
/** So long a card that has ended stays. */
const STAYS = 6000;
const MOST_NOTES = 30;
/** Less than this is no move. */
const MOVED = 4;

/** By guard and id: { card, shown, settled, top, ended, isSent }. */
const all = new Map();
/** `connecting`, `connected`, `no connection`, or `no session`, from which nothing leads back. */
let state = "connecting";
let offset = 0;
let noted = null;
let waiting = 0;

const list = by("cards");
const nameOf = ({ guard, id }) => `${guard} ${id}`;
const now = () => performance.now();

/** Shows a snapshot, heard at this time of the server's. */
export function take(time, snapshot) {
  offset = Date.now() - time;
  become("connected");
  if (snapshot) {
    const ends = new Map(snapshot.notes.filter((note) => note.what === "ended").map((note) => [nameOf(note), note.text]));
    const seen = new Set(snapshot.cards.map(nameOf));
    for (const [name, row] of all) if (!seen.has(name) && !row.ended) end(row, ends.get(name) ?? "ended");
    snapshot.cards.forEach(put);
    takeNotes(snapshot.notes);
    waiting = snapshot.cards.length;
  }
  settleMoved();
  tick();
}

/** Nothing is known any more, and nothing can be answered. */
export function lose() {
  become("no connection");
  tick();
}

/** The session has ended. */
export function stop() {
  become("no session");
  tick();
}

function become(next) {
  if (state === next || state === "no session") return;
  state = next;
  by("state").textContent = state;
}

function put(card) {
  const name = nameOf(card);
  const row = all.get(name);
  if (row && !row.ended && row.card.version === card.version) return;
  const shown = show(card, (decision) => send(all.get(name), decision), () => settle([all.get(name)]));
  const item = element("li", {}, shown);
  const next = { name, card, shown, item, settled: now() + SETTLE, top: null, ended: null, isSent: false };
  if (row) {
    const wasHere = row.item.contains(document.activeElement);
    row.item.replaceWith(item);
    if (wasHere) shown.focus({ preventScroll: true });
    say(`Changed: ${card.sentence}`);
  } else {
    list.append(item);
    say(`New question: ${card.sentence}`);
  }
  all.set(name, next);
}

async function send(row, decision) {
  settleMoved();
  // Not yet settled, answered already, or for what is not there any more.
  if (!row || !isOpen(row)) return;
  row.isSent = true;
  outcome(row, "Sent…");
  tick();
  try {
    const said = await answer(row.card, decision);
    if (!row.ended) outcome(row, `Answered: ${said}`);
  } catch (error) {
    row.isSent = false;
    row.settled = now() + SETTLE;
    if (!row.ended) outcome(row, `Not answered: ${error.message || "no connection"}`);
    say(`Not answered: ${error.message || "no connection"}`);
  }
  tick();
}

function outcome(row, text) {
  const shown = row.shown.querySelector(".outcome");
  shown.textContent = text;
  shown.hidden = false;
}

function end(row, how) {
  const wasHere = row.shown.contains(document.activeElement);
  row.ended = now();
  takeBack(row.shown);
  row.shown.classList.add("ended");
  outcome(row, ending(how));
  row.shown.querySelector(".left").textContent = "ended";
  const put = element("button", { type: "button", "aria-keyshortcuts": "x" }, "Remove");
  put.addEventListener("click", () => remove(row, true));
  row.shown.querySelector(".answers > [role=group]").replaceChildren(element("div", { class: "choices" }, put));
  if (wasHere) row.shown.focus({ preventScroll: true });
  say(`${ending(how)}: ${row.card.sentence}`);
}

function remove(row, isAsked) {
  const next = row.item.nextElementSibling ?? row.item.previousElementSibling;
  row.item.remove();
  all.delete(row.name);
  if (isAsked) (next?.querySelector(".card") ?? by("queue-title")).focus();
  settleMoved();
  tick();
}

const isOpen = (row) => state === "connected" && !row.ended && !row.isSent && now() >= row.settled;

/** What stands somewhere else than before takes no answer for a moment. */
function settleMoved() {
  for (const row of all.values()) {
    const top = row.item.offsetTop;
    if (row.top !== null && Math.abs(top - row.top) > MOVED) row.settled = now() + SETTLE;
    row.top = top;
  }
}

/** What was under another window, or in another tab, takes no answer for a moment: the click may have been for that. */
const settleAll = () => settle(all.values());

function settle(rows) {
  for (const row of rows) row.settled = now() + SETTLE;
  tick();
}

/** Brings time, titles and buttons up to date. */
export function tick() {
  const time = Date.now() - offset;
  for (const row of all.values()) {
    if (row.ended) continue;
    const open = isOpen(row);
    for (const button of row.shown.querySelectorAll(".answers button")) button.setAttribute("aria-disabled", String(!open));
    row.shown.querySelector(".left").textContent = left(row.card.expires, time);
  }
  by("empty").hidden = list.children.length > 0 || state !== "connected";
  by("notes-title").hidden = by("notes").children.length === 0;
  by("count").textContent = String(waiting);
  by("lost").hidden = state !== "no connection";
  const count = waiting > 0 ? `(${waiting}) ` : "";
  document.title = `${state === "connected" ? count : `(${state}) `}openclaw-guard approvals`;
}

function left(expires, time) {
  if (expires === null) return "";
  const seconds = Math.max(0, Math.ceil((expires - time) / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")} left`;
}

function takeNotes(notes) {
  const fresh = notes.filter((note) => note.n > (noted ?? 0));
  for (const note of fresh) {
    const row = note.id === null ? null : all.get(nameOf(note));
    if (noted !== null && note.what !== "ended") say(note.text);
    const about = row ? `${row.card.sentence} ` : "";
    const isBad = note.what === "turned" || note.what === "refused";
    by("notes").prepend(
      element(
        "li",
        {},
        element("span", { class: "quiet" }, `${new Date(note.at).toLocaleTimeString()} `),
        isBad ? element("span", { class: "badge no" }, note.what === "turned" ? "turned away" : "not answered") : null,
        about,
        note.what === "ended" ? ending(note.text) : note.text,
      ),
    );
  }
  noted = notes.at(-1)?.n ?? noted ?? 0;
  while (by("notes").children.length > MOST_NOTES) by("notes").lastElementChild.remove();
}

/** Puts away what has ended, when nobody is at it. */
function tidy() {
  if (list.matches(":hover")) return;
  for (const row of all.values()) {
    const isOld = row.ended !== null && now() > row.ended + STAYS;
    if (isOld && !row.item.contains(document.activeElement)) remove(row, false);
  }
}

/** The card that has the focus, or in which it is. */
export function current() {
  return [...all.values()].find((row) => row.item.contains(document.activeElement)) ?? null;
}

/** Goes to the next card, or the one before. */
export function move(by) {
  const cards = [...list.querySelectorAll(".card")];
  const at = cards.findIndex((card) => card.contains(document.activeElement));
  const next = cards[at < 0 ? (by > 0 ? 0 : cards.length - 1) : Math.min(Math.max(at + by, 0), cards.length - 1)];
  next?.focus();
}

/** Goes to the button of an answer. */
export function aim(decision) {
  const row = current();
  if (!row) return move(1);
  if (row.ended) return;
  takeBack(row.shown);
  const button = [...row.shown.querySelectorAll("[data-decision]")].find((button) => button.dataset.decision === decision);
  if (button) button.focus();
  else say("That answer is not available here");
}

/** Takes back what was begun; whether there was something. */
export function back() {
  const row = current();
  if (!row || row.ended) return false;
  takeBack(row.shown);
  row.shown.focus();
  return true;
}

/** Puts away a card that has ended. */
export function putAway() {
  const row = current();
  if (row?.ended) remove(row, true);
}

setInterval(() => {
  tidy();
  settleMoved();
  tick();
}, 250);
addEventListener("resize", settleMoved);
addEventListener("focus", settleAll);
document.addEventListener("visibilitychange", settleAll);
