// Asks openclaw-guard about each tool call, before OpenClaw makes it. `openclaw-guard gate install` wrote this file, and
// `openclaw-guard gate status` says if it has changed. Without a clear answer the call is blocked.

import net from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

// Where OpenClaw runs a copy of this file, its state directory says where the guard is.
let socketPath = fileURLToPath(new URL("../run/gate.sock", import.meta.url));
const TIMEOUT_MS = 5000;
const MAX_QUESTION = 4 * 1024 * 1024;
const MAX_ANSWER = 64 * 1024;
const INVALID = "sent an invalid answer: run `openclaw-guard gate status`";

const block = (why) => ({ block: true, blockReason: why.startsWith("openclaw-guard") ? why : `openclaw-guard: ${why}` });
const text = (value) => (typeof value === "string" && value !== "" ? value : undefined);

// What the guard judges by. Fields that are missing are not known to it.
function question(event, ctx) {
  const requester = ctx.requester ?? {};
  return {
    v: 1,
    tool: event.toolName,
    params: event.params ?? {},
    derivedPaths: Array.isArray(event.derivedPaths) ? event.derivedPaths : [],
    agentId: text(ctx.agentId),
    sessionKey: text(ctx.sessionKey),
    runId: text(ctx.runId ?? event.runId),
    toolCallId: text(ctx.toolCallId ?? event.toolCallId),
    requester: {
      channel: text(requester.channel),
      accountId: text(requester.accountId),
      senderId: text(requester.senderId),
      senderName: text(requester.senderName),
      senderUsername: text(requester.senderUsername),
      senderE164: text(requester.senderE164),
      senderIsOwner: requester.senderIsOwner === true,
    },
  };
}

// Sends a line, and resolves to the line that comes back.
function ask(line, signal) {
  return new Promise((resolve, reject) => {
    const socket = net.createConnection(socketPath);
    let answer = "";
    const fail = (why) => end(() => reject(new Error(why)));
    const timer = setTimeout(() => fail(`does not answer within ${TIMEOUT_MS / 1000} seconds`), TIMEOUT_MS);
    const stop = () => fail("was not heard: the call was cancelled");
    function end(then) {
      clearTimeout(timer);
      signal?.removeEventListener?.("abort", stop);
      socket.destroy();
      then();
    }
    signal?.addEventListener?.("abort", stop, { once: true });
    socket.setEncoding("utf8");
    socket.on("connect", () => socket.write(line));
    socket.on("error", (error) => fail(`does not answer (${error.code ?? "error"})`));
    socket.on("close", () => fail("does not answer: it closed the connection"));
    socket.on("data", (chunk) => {
      answer += chunk;
      const length = answer.indexOf("\n");
      if (length >= 0) end(() => resolve(answer.slice(0, length)));
      else if (answer.length > MAX_ANSWER) fail(INVALID);
    });
  });
}

// What OpenClaw is told. Nothing but a whole answer that allows lets the call through.
function decision(line) {
  const answer = JSON.parse(line);
  const why = text(answer?.text) ?? "denied";
  if (answer?.v !== 1) return block("the answer has another version: run `openclaw-guard gate install`");
  if (answer.outcome === "allow") return undefined;
  if (answer.outcome === "ask" && text(answer.approval?.title) && text(answer.approval?.description)) {
    const { title, description, severity, timeoutMs } = answer.approval;
    return { requireApproval: { title, description, severity, timeoutMs, allowedDecisions: ["allow-once", "deny"] } };
  }
  return block(answer.outcome === "deny" ? why : `openclaw-guard ${INVALID}`);
}

async function judge(event, ctx) {
  try {
    const line = JSON.stringify(question(event, ctx ?? {})) + "\n";
    if (Buffer.byteLength(line) > MAX_QUESTION) return block("denied: the call is longer than 4 MiB");
    return decision(await ask(line, ctx?.abortSignal));
  } catch (error) {
    return block(`openclaw-guard ${error instanceof SyntaxError ? INVALID : (error?.message ?? error)}`);
  }
}

export default {
  id: "openclaw-guard-gate",
  name: "openclaw-guard",
  description: "Asks openclaw-guard about each tool call, and blocks what it denies",
  register(api) {
    const state = text(api.runtime?.state?.resolveStateDir?.(process.env));
    if (state) socketPath = join(state, "guard/run/gate.sock");
    // Last of all hooks: what others have blocked need not be asked about.
    api.on("before_tool_call", judge, { priority: -1000, timeoutMs: 3 * TIMEOUT_MS });
  },
};
