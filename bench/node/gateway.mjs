// A gateway that calls nodes and measures them: `node gateway.mjs WS-MODULE GUARD OPENCLAW-MJS WORK`.
// Prints one line for each figure: HOST WHAT VALUE.

import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { performance } from "node:perf_hooks";

const [wsModule, guard, openclaw, work] = process.argv.slice(2);
const { WebSocketServer } = createRequire(import.meta.url)(wsModule);
const project = `${work}/project`;
const token = "a-token-of-the-benchmark-0123456789";
const short = process.env.SHORT === "1";

const server = new WebSocketServer({ host: "127.0.0.1", port: 0, maxPayload: 1 << 26 });
await new Promise((done) => server.once("listening", done));
const { port } = server.address();
const waiting = [];
const arrived = [];

server.on("connection", (socket) => {
  socket.send(JSON.stringify({ type: "event", event: "connect.challenge", payload: { nonce: "n-1", ts: Date.now() } }));
  const link = { socket, calls: new Map(), count: 0 };
  socket.on("message", (data) => {
    const frame = JSON.parse(data);
    if (frame.type !== "req") return;
    const { params } = frame;
    let payload = { ok: true };
    if (frame.method === "connect") {
      payload = {
        type: "hello-ok",
        protocol: 4,
        server: { version: "2026.9.6", bootId: "b", connId: "c" },
        auth: { role: params.role, scopes: params.scopes, deviceToken: "issued" },
        policy: { maxPayload: 26_214_400, tickIntervalMs: 30_000 },
      };
      link.id = params.device.id;
      if (params.role === "node") (waiting.shift() ?? ((one) => arrived.push(one)))(link);
    } else if (frame.method === "node.list") {
      payload = { ts: 1, nodes: [] };
    }
    socket.send(JSON.stringify({ type: "res", id: frame.id, ok: true, payload }));
    if (frame.method === "node.invoke.result") {
      link.calls.get(params.id)?.(params);
      link.calls.delete(params.id);
    }
  });
});

const tick = setInterval(() => {
  for (const socket of server.clients) socket.send(JSON.stringify({ type: "event", event: "tick", payload: { ts: Date.now() } }));
}, 20_000);

const nextLink = () => (arrived.length ? Promise.resolve(arrived.shift()) : new Promise((done) => waiting.push(done)));

/** Calls a command on a node, and returns its result. */
function call(link, command, params) {
  const id = `${link.id.slice(0, 8)}-${++link.count}`;
  const payload = { id, nodeId: link.id, command, paramsJSON: JSON.stringify(params), timeoutMs: 120_000, idempotencyKey: id };
  const result = new Promise((done) => link.calls.set(id, done));
  link.socket.send(JSON.stringify({ type: "event", event: "node.invoke.request", payload }));
  return result;
}

const run = (link) => call(link, "system.run", { command: ["true"], cwd: project, agentId: "main", sessionKey: "s" });
const prepare = (link) => call(link, "system.run.prepare", { command: ["true"], cwd: project, agentId: "main", sessionKey: "s" });

async function isRun(link) {
  const result = await run(link);
  const end = JSON.parse(result.payloadJSON ?? "{}");
  if (!result.ok || end.exitCode !== 0) throw new Error(`a run failed: ${JSON.stringify(result)}`);
}

const quantile = (sorted, part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
const say = (host, what, value) => console.log(`${host} ${what} ${value}`);

async function times(count, one) {
  const all = [];
  for (let at = 0; at < count; at++) {
    const begin = performance.now();
    await one();
    all.push(performance.now() - begin);
  }
  return all.sort((one, other) => one - other);
}

/** Does `count` of them, so many side by side; returns how many per second. */
async function rate(count, width, one) {
  const begin = performance.now();
  let left = count;
  const worker = async () => {
    while (left-- > 0) await one();
  };
  await Promise.all(Array.from({ length: width }, worker));
  return count / ((performance.now() - begin) / 1000);
}

/** Resident memory in KiB, descriptors, threads and children of a process. */
function size(pid) {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const number = (name) => Number(status.match(new RegExp(`^${name}:\\s+(\\d+)`, "m"))[1]);
  const children = readdirSync("/proc").filter((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/stat`, "utf8").split(") ").pop().split(" ")[1] === String(pid);
    } catch {
      return false;
    }
  });
  return { KiB: number("VmRSS"), descriptors: readdirSync(`/proc/${pid}/fd`).length, threads: number("Threads"), children: children.length };
}

function environment(home) {
  return { PATH: process.env.PATH, HOME: home, LANG: "C.UTF-8", OPENCLAW_GATEWAY_TOKEN: token, OPENCLAW_DISABLE_BONJOUR: "1" };
}

const started = [];
async function start(argv, home) {
  const child = spawn(argv[0], argv.slice(1), { env: environment(home), cwd: project, stdio: ["ignore", "ignore", "inherit"] });
  started.push(child);
  const link = await nextLink();
  link.pid = child.pid;
  return link;
}

/** A home with the policy that `init` has written for `home`, and the gateway's address. */
function guardHome(name) {
  const home = `${work}/${name}`;
  mkdirSync(`${home}/.openclaw`, { recursive: true });
  writeFileSync(`${home}/.openclaw/guard.json`, readFileSync(`${work}/policy.json`, "utf8").replace("WS-PORT", String(port)));
  writeFileSync(`${home}/token`, token, { mode: 0o600 });
  return home;
}

async function measure(host, link) {
  await times(20, () => prepare(link));
  await times(20, () => isRun(link));
  const count = short ? 100 : 500;
  for (const [what, one] of [["prepare", prepare], ["run", isRun]]) {
    const sorted = await times(count, () => one(link));
    say(host, `${what}-p50-ms`, quantile(sorted, 0.5).toFixed(2));
    say(host, `${what}-p99-ms`, quantile(sorted, 0.99).toFixed(2));
  }
  say(host, "runs-per-second-8", (await rate(count, 8, () => isRun(link))).toFixed(1));
  say(host, "runs-per-second-50", (await rate(count, 50, () => isRun(link))).toFixed(1));
}

try {
  const official = await start(["node", openclaw, "node", "run", "--host", "127.0.0.1", "--port", String(port), "--display-name", "official"], `${work}/official`);
  await measure("openclaw", official);
  started.pop().kill("SIGKILL");

  const ours = await start([guard, "node", "--display-name", "ours", "--cwd", project], guardHome("home"));
  await measure("guard", ours);

  const before = size(ours.pid);
  const many = short ? 500 : 10_000;
  say("guard", `runs-per-second-of-${many}-in-a-row`, (await rate(many, 1, () => isRun(ours))).toFixed(1));
  const after = size(ours.pid);
  for (const what of Object.keys(before)) say("guard", `${what}-before-and-after`, `${before[what]} ${after[what]}`);

  const nodes = [];
  for (let at = 0; at < 20; at++) nodes.push(await start([guard, "node", "--display-name", `n-${at}`, "--cwd", project], guardHome(`home-${at}`)));
  const begin = performance.now();
  await Promise.all(nodes.map((link) => rate(10, 1, () => isRun(link))));
  say("guard", "runs-per-second-on-20-nodes", (200 / ((performance.now() - begin) / 1000)).toFixed(1));
} finally {
  started.forEach((child) => child.kill("SIGKILL"));
  clearInterval(tick);
  for (const socket of server.clients) socket.terminate();
  server.close();
}
