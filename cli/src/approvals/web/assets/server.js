// Talks to openclaw-guard.
//
// The cookie alone opens nothing: a browser sends it to every port of this host. The key came in the fragment of the
// address, which is told to no server, and is kept for this tab and this port.

const KEPT = "openclaw-guard";
const FRAGMENT = /^#([0-9a-f]{64})$/;
/** So long nothing may be heard, beats included. */
const SILENCE = 15000;
const LONGEST_PAUSE = 8000;

const given = FRAGMENT.exec(location.hash);
if (given) {
  sessionStorage.setItem(KEPT, given[1]);
  history.replaceState(null, "", "/");
}
const key = () => sessionStorage.getItem(KEPT) ?? "";

/** No session: there was none, or it has ended. */
export class Closed extends Error {}

async function ask(path, options = {}) {
  const headers = { "X-CSRF-Token": key(), ...options.headers };
  const fixed = { credentials: "same-origin", cache: "no-store", redirect: "error", referrerPolicy: "no-referrer" };
  const response = await fetch(path, { ...options, ...fixed, headers });
  if (response.status !== 403) return response;
  // Whoever is turned away before anything is read is told so in words.
  const problem = await response.json().catch(() => ({ message: "openclaw-guard rejects this browser" }));
  throw problem.error === "session" ? new Closed() : new Error(problem.message);
}

async function read(response) {
  const value = await response.json();
  if (!response.ok) throw new Error(value.message);
  return value;
}

/** Something to read: the history, the policy. */
export const get = async (path) => read(await ask(path));

const post = (path, value) =>
  ask(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(value) });

/** Answers what is shown; returns what the guard said. */
export async function answer({ guard, id, version }, decision) {
  return (await read(await post("/answer", { guard, id, version, decision }))).said;
}

/** Ends the session. */
export async function leave() {
  await post("/leave", {});
  sessionStorage.removeItem(KEPT);
}

/** Hears what happens, for ever: `snapshot` with what waits, and the time there. */
export async function follow({ snapshot, lost, closed }) {
  let pause = 500;
  for (;;) {
    try {
      await listen((name, now, text) => {
        pause = 500;
        snapshot(now, name === "board" ? JSON.parse(text) : null);
      });
    } catch (error) {
      if (error instanceof Closed) return closed();
    }
    lost();
    await new Promise((done) => setTimeout(done, pause));
    pause = Math.min(pause * 2, LONGEST_PAUSE);
  }
}

async function listen(event) {
  const quiet = new AbortController();
  let silence;
  const heard = () => {
    clearTimeout(silence);
    silence = setTimeout(() => quiet.abort(), SILENCE);
  };
  heard();
  try {
    const response = await ask("/events", { signal: quiet.signal });
    if (!response.ok) return;
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let kept = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      heard();
      const whole = (kept + value).split("\n\n");
      kept = whole.pop();
      for (const block of whole) {
        const field = (name) => block.split("\n").find((line) => line.startsWith(`${name}:`))?.slice(name.length + 1).trimStart();
        event(field("event"), Number(field("id")), field("data"));
      }
    }
  } finally {
    clearTimeout(silence);
    quiet.abort();
  }
}
