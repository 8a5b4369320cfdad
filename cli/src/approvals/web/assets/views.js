// The three views, the history and the policy.

import { code, by, element, fact } from "./dom.js";
import { stop } from "./queue.js";
import { Closed, get, leave } from "./server.js";

const VIEWS = ["queue", "history", "policy"];
let isClosed = false;
/** Of the search that is shown: a later one makes an earlier one void. */
let searches = 0;
let before = null;

export const isShown = (name) => !by(name).hidden;

/** Shows one of the views. */
export function view(name) {
  if (isClosed) return;
  for (const other of VIEWS) by(other).hidden = other !== name;
  for (const button of document.querySelectorAll("nav [data-view]")) {
    if (button.dataset.view === name) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
  by(`${name}-title`).focus();
  if (name === "history") search();
  if (name === "policy") policy();
}

/** Shows that there is no session. */
export function closed() {
  isClosed = true;
  for (const other of VIEWS) by(other).hidden = true;
  document.querySelector("nav").hidden = true;
  by("closed").hidden = false;
  stop();
  by("closed-title").focus();
}

/** Shows the keys. */
export function help() {
  by("help").showModal();
}

async function fetched(path, failed) {
  try {
    return await get(path);
  } catch (error) {
    if (error instanceof Closed) closed();
    else failed(error.message);
    return null;
  }
}

async function search(from = null) {
  const number = ++searches;
  const words = by("search").value;
  const query = new URLSearchParams({ search: words, ...(from === null ? {} : { before: from }) });
  by("found").textContent = "Looking…";
  const found = await fetched(`/history?${query}`, (why) => (by("found").textContent = `The history cannot be read: ${why}`));
  if (!found || number !== searches) return;
  if (from === null) by("entries").replaceChildren();
  by("entries").append(...found.entries.map(entry));
  by("log").textContent = found.log;
  before = found.before;
  by("more").hidden = before === null;
  const count = by("entries").children.length;
  const more = before === null ? "" : "; there is more";
  if (count > 0) by("found").textContent = `${count === 1 ? "1 entry" : `${count} entries`}${more}`;
  else if (words.trim()) by("found").textContent = `Nothing found for “${words.trim()}”${more}`;
  else by("found").textContent = `Nothing was answered or denied yet${more}`;
}

const EVENTS = {
  expired: "nobody answered", "no-route": "nobody to ask", failed: "could not be asked", withdrawn: "withdrawn",
  refused: "not asked", granted: "allowed before", saved: "saved", denied: "denied",
};

function entry(item) {
  const event = item.event === "resolved" ? item.decision : (EVENTS[item.event] ?? item.event);
  const isNo = item.event !== "granted" && item.event !== "saved" && !item.decision.startsWith("allow");
  const operation = item.operation === "approval" ? "" : `${item.operation} `;
  const list = element("dl", { class: "facts" });
  if (item.argv.length > 0) list.append(...fact("arguments", code(item.argv.join("\n"))));
  if (item.by) list.append(...fact("by", code(item.by)));
  if (item.text && item.text !== item.by) list.append(...fact("because", item.text));
  return element(
    "li",
    {},
    element("span", { class: isNo ? "badge no" : "badge" }, event),
    operation,
    item.path ? code(item.path) : null,
    element("div", { class: "quiet" }, `${item.time} · agent ${item.agent} · ${item.name}`),
    list.children.length > 0 ? list : null,
  );
}

async function policy() {
  by("policy-state").textContent = "Reading…";
  const rules = await fetched("/policy", (why) => {
    by("rules").replaceChildren();
    by("policy-state").textContent = `The policy cannot be read: ${why}`;
  });
  if (!rules) return;
  by("policy-state").textContent = `The policy in force for agent ${rules.agent}, from ${rules.file}`;
  const lists = rules.sections.map(({ title, settings }) =>
    element("section", {}, element("h3", {}, title), element("ul", { class: "plain rules" }, ...settings.map(setting))),
  );
  const warnings = rules.warnings.map((warning) => element("li", {}, warning));
  if (warnings.length > 0) lists.unshift(element("section", {}, element("h3", {}, "warnings"), element("ul", {}, ...warnings)));
  by("rules").replaceChildren(...lists);
}

function setting({ name, value, by: source, note }) {
  return element(
    "li",
    {},
    code(name || "\"\""),
    value ? element("strong", {}, ` ${value} `) : " ",
    element("span", { class: "quiet" }, `(${source})`),
    note ? element("div", { class: "quiet" }, note) : null,
  );
}

for (const button of document.querySelectorAll("nav [data-view]")) {
  button.addEventListener("click", () => view(button.dataset.view));
}
by("ask-help").addEventListener("click", help);
by("close-help").addEventListener("click", () => by("help").close());
by("find").addEventListener("click", () => search());
by("search").addEventListener("keydown", (event) => {
  if (event.key === "Enter") search();
});
by("more").addEventListener("click", () => search(before));
by("leave").addEventListener("click", async () => {
  try {
    await leave();
  } catch {
    // The session ends by itself, too.
  }
  closed();
});
