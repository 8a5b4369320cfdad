// Elements. Whatever is shown is text: nothing here takes markup.

/** An element with attributes and children; a child that is no element is text. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** The element of this id. */
export const by = (id) => document.getElementById(id);

/** A term and what is said of it, for a list of facts. */
export function fact(name, value, attributes = {}) {
  return [element("dt", {}, name), element("dd", attributes, value)];
}

/** Text as it is typed on a command line. */
export const code = (text) => element("code", {}, text);

let said = [];

/** Says something to whoever does not look. What comes at once is said together. */
export function say(text) {
  if (said.push(text) > 1) return;
  setTimeout(() => {
    by("news").textContent = said.length > 4 ? `${said.length} events` : said.join(". ");
    said = [];
  }, 200);
}
