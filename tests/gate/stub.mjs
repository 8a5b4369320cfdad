// A stub of OpenClaw's plugin API: registers the plugin, and calls its hook with each event, one after the other.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { default: plugin } = await import(pathToFileURL(process.argv[2]));
const hooks = [];
plugin.register({ on: (name, handler) => hooks.push([name, handler]) });
if (hooks.length !== 1 || hooks[0][0] !== "before_tool_call") throw new Error("one hook is expected");
for (const { event, ctx } of JSON.parse(readFileSync(process.argv[3], "utf8"))) {
  console.log(JSON.stringify((await hooks[0][1](event, ctx)) ?? null));
}
