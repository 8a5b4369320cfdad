// One question, as it is shown.

import { code, element, fact } from "./dom.js";

/** How an answer is called. */
export const LABELS = {
  "allow-once": "Allow once",
  "allow-directory-command": "Allow the directory for this command",
  "allow-session": "Allow for this session",
  "allow-30m": "Allow for 30 minutes",
  "allow-command": "Allow for this command",
  "allow-directory-session": "Allow the directory for this session",
  "allow-directory-30m": "Allow the directory for 30 minutes",
  "allow-always": "Always…",
  "allow-always-directory": "Always for the directory…",
  deny: "Deny",
  "deny-command": "Deny for this command",
  "deny-session": "Deny for this session",
  "deny-30m": "Deny for 30 minutes",
  "deny-directory-command": "Deny the directory for this command",
  "deny-directory-session": "Deny the directory for this session",
  "deny-directory-30m": "Deny the directory for 30 minutes",
};

/** How an answer to this question is called: the wider answer for a host is for a domain. */
function label(card, decision) {
  const text = LABELS[decision] ?? decision;
  return card.operation === "connect" ? text.replace("directory", "domain") : text;
}

/** The answers that are always in sight; the others are behind "More answers". */
const FIRST = new Set([
  "allow-once",
  "allow-directory-command",
  "allow-session",
  "allow-always",
  "allow-always-directory",
  "deny",
]);

export const KEYS = {
  y: "allow-once",
  c: "allow-directory-command",
  s: "allow-session",
  a: "allow-always",
  d: "allow-always-directory",
  n: "deny",
};

/** Its element. `choose` is told a decision, once it was confirmed where that is needed; `settle`, that other buttons are there. */
export function show(card, choose, settle) {
  const title = `card-${card.version}`;
  return element(
    "article",
    { class: "card", tabindex: "-1", "aria-labelledby": title },
    element("h3", { id: title }, card.sentence),
    element(
      "p",
      { class: "meta" },
      element("span", {}, `agent ${card.agent || "?"}`),
      element("span", {}, `guard ${card.guard}`),
      element("span", {}, card.name),
      element("span", { class: "left", role: "timer" }),
    ),
    facts(card),
    choices(card, choose, settle),
    element("p", { class: "outcome", hidden: true }),
  );
}

function facts(card) {
  const list = (chosen) => {
    const shown = element("dl", { class: "facts" });
    for (const one of card.facts.filter(chosen)) {
      shown.append(...fact(one.name, code(one.text), one.isWarning ? { class: "strong" } : {}));
    }
    return shown;
  };
  const details = element("details", { class: "more" }, element("summary", {}, "Details"), list((one) => one.isDetail));
  return element("div", {}, list((one) => !one.isDetail), card.facts.some((one) => one.isDetail) ? details : null);
}

function choices(card, choose, settle) {
  const first = element("div", { class: "choices" });
  const others = element("div", { class: "choices" });
  const more = element("details", { class: "more" }, element("summary", {}, "More answers"), others);
  const group = element("div", { role: "group", "aria-label": "Answer" }, first);
  const confirm = element("div", { class: "confirm", hidden: true, role: "group", "aria-label": "Confirm" });
  const keyOf = (decision) => Object.keys(KEYS).find((key) => KEYS[key] === decision);
  for (const decision of card.choices) {
    const button = element(
      "button",
      { type: "button", "data-decision": decision, "aria-keyshortcuts": keyOf(decision), class: decision.startsWith("deny") ? "deny" : null },
      label(card, decision),
    );
    const saves = decision === "allow-always" ? card.always.saves : decision === "allow-always-directory" ? card.always.directory : null;
    const isSaved = saves !== null || decision.startsWith("allow-always");
    button.addEventListener("click", () => {
      if (button.getAttribute("aria-disabled") === "true") return;
      const back = () => {
        close(confirm, group);
        // What stands where "Back" was is not for its second click.
        settle();
        button.focus();
      };
      if (isSaved) ask(confirm, saves, card, () => choose(decision), back);
      else choose(decision);
    });
    (FIRST.has(decision) ? first : others).append(button);
  }
  if (others.childElementCount > 0) group.append(more);
  return element("div", { class: "answers" }, group, confirm);
}

/** What would be saved, before it is. */
function ask(confirm, saves, card, done, takenBack) {
  const what = saves?.length ? saves : [card.always.elsewhere ?? "unknown: the asker decides what it saves"];
  const send = element("button", { type: "button", class: "send" }, "Save and allow");
  const back = element("button", { type: "button" }, "Back");
  const settled = performance.now() + 500;
  send.addEventListener("click", () => {
    // A double click on what opened this is no answer.
    if (send.getAttribute("aria-disabled") !== "true" && performance.now() > settled) done();
  });
  back.addEventListener("click", takenBack);
  confirm.replaceChildren(
    element("p", {}, "Allow, and save this for all guards of this user?"),
    element("ul", {}, ...what.map((one) => element("li", {}, code(one)))),
    element("div", { class: "choices" }, send, back),
  );
  confirm.hidden = false;
  confirm.previousElementSibling.hidden = true;
  send.focus();
}

function close(confirm, group) {
  confirm.replaceChildren();
  confirm.hidden = true;
  group.hidden = false;
}

/** Takes a confirmation back; whether there was one. */
export function takeBack(shown) {
  const [group, confirm] = shown.querySelector(".answers").children;
  const wasOpen = !confirm.hidden;
  close(confirm, group);
  return wasOpen;
}

/** How an end reads. */
export function ending(how) {
  const known = {
    "allow-once": "Allowed once",
    "allow-session": "Allowed for the session",
    "allow-always": "Allowed always",
    "allow-always-directory": "Allowed always, for the directory",
    deny: "Denied",
    "allow-directory-command": "Allowed for the command, in the directory",
    "deny-directory-command": "Denied for the command, in the directory",
    expired: "Nobody answered in time",
    withdrawn: "Withdrawn: the caller has gone",
    "no route": "No route to a human",
    "not asked": "The question could not be asked",
  };
  return known[how] ?? `Ended: ${how}`;
}
