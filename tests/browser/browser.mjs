// Plays a scene in Chromium: node browser.mjs TOLD, where TOLD is what harness.rs says. What is wrong is thrown.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { join } from "node:path";

const told = JSON.parse(process.argv[2]);
const { chromium } = (await import(told.playwright)).default;
const axe = readFileSync(told.axe, "utf8");
const WIDE = { width: 760, height: 620 };
const PHONE = { width: 320, height: 640 };
/** Of a page that is longer a picture has the beginning, in pixels. */
const TALLEST = 1600;
/** Of these there is a picture of a phone, in the dark. */
const ON_PHONE = ["waiting", "always", "hostile"];

const sandbox = process.getuid() === 0 ? ["--no-sandbox"] : [];
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: sandbox });
const wrong = [];

async function open(options = {}) {
    const context = await browser.newContext({ viewport: WIDE, ...options });
    context.setDefaultTimeout(60_000);
    const page = await context.newPage();
    page.on("pageerror", (error) => wrong.push(String(error)));
    page.on("console", (said) => {
        if (/Content.Security.Policy/i.test(said.text())) wrong.push(said.text());
    });
    page.on("dialog", (dialog) => {
        wrong.push(`a dialog: ${dialog.message()}`);
        dialog.dismiss();
    });
    await page.goto(told.link);
    await page.getByText("connected", { exact: true }).waitFor();
    return page;
}

const say = (name) => writeFileSync(join(told.root, `told-${name}`), "");
async function hear(name) {
    while (!existsSync(join(told.root, `heard-${name}`))) await new Promise((done) => setTimeout(done, 50));
}
const cardOf = (page, text) => page.locator(".card:not(.ended)").filter({ hasText: text });
/** The button, when it takes an answer. */
async function ready(card, name) {
    const button = card.getByRole("button", { name, exact: true });
    await button.waitFor();
    await button.and(card.locator('[aria-disabled="false"]')).waitFor();
    return button;
}

/** Nothing to scroll sideways, and nothing that axe-core calls serious. */
async function sound(page, state) {
    const wide = await page.evaluate(() => {
        const { scrollWidth, clientWidth } = document.scrollingElement;
        return scrollWidth > clientWidth ? `${scrollWidth} in ${clientWidth}` : null;
    });
    assert.equal(wide, null, `${state}: it scrolls sideways`);
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
    const bad = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
    const shown = bad.map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join("; ")}`);
    assert.deepEqual(shown, [], state);
}

/** The same in both colours and on both screens, and a picture of each. */
async function looks(page, state) {
    for (const [screen, size] of [["wide", WIDE], ["phone", PHONE]]) {
        await page.setViewportSize(size);
        for (const colorScheme of ["light", "dark"]) {
            await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
            await sound(page, `${state}, ${screen}, ${colorScheme}`);
            const isKept = screen === "wide" ? colorScheme === "light" : colorScheme === "dark" && ON_PHONE.includes(state);
            if (!told.pictures || !isKept) continue;
            mkdirSync(told.pictures, { recursive: true });
            const path = join(told.pictures, screen === "wide" ? `${state}.png` : `${state}-phone.png`);
            const height = await page.evaluate(() => document.scrollingElement.scrollHeight);
            const clip = { x: 0, y: 0, width: size.width, height: Math.min(Math.max(height, size.height), TALLEST) };
            await page.screenshot({ path, fullPage: true, clip });
        }
    }
    await page.setViewportSize(WIDE);
    await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
    // What moved takes no answer for a moment.
    await page.waitForTimeout(800);
}

const scenes = {
    async click({ text, button }) {
        const page = await open();
        const card = cardOf(page, text);
        await card.waitFor();
        await card.getByText("Details", { exact: true }).click();
        console.log(await card.innerText());
        await (await ready(card, button)).click();
        await page.locator(".card.ended").filter({ hasText: text }).waitFor();
    },

    async always({ text }) {
        const page = await open();
        const card = cardOf(page, text);
        const always = await ready(card, "Always…");
        // The second click of a double click is no yes.
        await always.dblclick();
        const confirm = card.getByRole("group", { name: "Confirm" });
        await confirm.waitFor();
        await page.waitForTimeout(700);
        assert.equal(await card.count(), 1, "answered by a double click");
        console.log(await confirm.innerText());
        await card.getByRole("button", { name: "Save and allow" }).click();
        await page.locator(".card.ended").filter({ hasText: text }).waitFor();
    },

    async keys({ yes, no }) {
        const page = await open();
        const press = async (...keys) => {
            for (const key of keys) {
                await page.keyboard.press(key);
                await page.waitForTimeout(200);
            }
        };
        await cardOf(page, yes).waitFor();
        await cardOf(page, no).waitFor();
        await page.waitForTimeout(800);
        // No other place answers by itself.
        await press("Enter");
        await press("j");
        const focused = () => page.evaluate(() => document.activeElement.closest(".card")?.textContent ?? "");
        if (!(await focused()).includes(yes)) await press("j");
        assert.ok((await focused()).includes(yes), await focused());
        await press("y", "Enter");
        await page.locator(".card.ended").filter({ hasText: yes }).waitFor();
        // What has ended is put away; Tab alone leads to the other one.
        await press("x");
        for (let tries = 0; tries < 60; tries++) {
            await press("Tab");
            const is = await page.evaluate(() => [document.activeElement.textContent, document.activeElement.closest(".card")?.textContent ?? ""]);
            if (is[0] === "Deny" && is[1].includes(no)) break;
            const ring = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
            assert.notEqual(ring, "none", `no ring around ${is[0]}`);
        }
        await page.waitForTimeout(800);
        await press("Enter");
        await page.locator(".card.ended").filter({ hasText: no }).waitFor();
        // The rest is reached by keys, too.
        await press("h");
        await page.getByRole("heading", { name: "History" }).waitFor();
        await press("/");
        await page.keyboard.type("asked");
        await press("Enter", "Escape", "p");
        await page.getByRole("heading", { name: "Policy" }).waitFor();
        await press("?");
        await page.getByRole("dialog").waitFor();
        await press("Escape", "w");
        await page.getByRole("heading", { name: "Waiting for an answer" }).waitFor();
    },

    async hasty() {
        const page = await open();
        const first = cardOf(page, "first");
        await ready(first, "Allow once");
        // Whoever clicks the very moment that something new is there; and where a button was before.
        await page.evaluate(() => {
            globalThis.clicks = 0;
            const place = { x: 0, y: 0 };
            const button = document.querySelector('[data-decision="allow-once"]').getBoundingClientRect();
            Object.assign(place, { x: button.x + button.width / 2, y: button.y + button.height / 2 });
            const click = (at) => {
                const found = at?.closest?.("[data-decision]");
                if (!found || found.closest(".card").textContent.includes("first")) return;
                globalThis.clicks += 1;
                found.click();
            };
            new MutationObserver(() => {
                for (const at of document.querySelectorAll('[data-decision="allow-once"]')) click(at);
                click(document.elementFromPoint(place.x, place.y));
            }).observe(document.querySelector("#cards"), { childList: true });
        });
        say("open");
        await hear("both");
        await cardOf(page, "second").waitFor();
        await page.waitForTimeout(800);
        say("clicked");
        await page.locator(".card.ended").filter({ hasText: "first" }).waitFor();
        await page.locator(".card.ended").getByRole("button", { name: "Remove" }).click();
        await page.locator(".card.ended").waitFor({ state: "detached" });
        await page.waitForTimeout(800);
        const clicks = await page.evaluate(() => globalThis.clicks);
        assert.ok(clicks >= 2, `nobody clicked: ${clicks}`);
        console.log(`clicks: ${clicks}`);
    },

    async uncovered() {
        const page = await open();
        const first = cardOf(page, "first");
        const back = first.getByRole("button", { name: "Back" });
        const unanswered = async (how) => {
            await page.waitForTimeout(700);
            assert.equal(await page.locator(".card.ended").count(), 0, `answered: ${how}`);
            await ready(first, "Allow once");
        };
        // Enter twice on what takes back: the second one is for no answer.
        await (await ready(first, "Always…")).click();
        await back.focus();
        await page.keyboard.press("Enter");
        await page.waitForTimeout(150);
        await page.keyboard.press("Enter");
        await unanswered("Enter after Back");
        // A second click where Back was; one when something above has just come; one that closed a window over this.
        await (await ready(first, "Always…")).click();
        await back.waitFor();
        const click = (before) => first.evaluate((card, before) => {
            if (before === "back") [...card.querySelectorAll("button")].find((button) => button.textContent === "Back").click();
            if (before === "moved") document.querySelector("h1").style.paddingTop = "3rem";
            if (before === "focus") dispatchEvent(new Event("focus"));
            card.querySelector('[data-decision="allow-once"]').click();
        }, before);
        for (const before of ["back", "moved", "focus"]) {
            await click(before);
            await unanswered(before);
        }
        // Without any of it the same click answers.
        await click("nothing");
        await page.locator(".card.ended").waitFor();
    },

    async lost() {
        const page = await open();
        const card = cardOf(page, "bin/asked");
        await ready(card, "Allow once");
        process.kill(told.pid, "SIGKILL");
        await page.getByRole("alert").filter({ hasText: "No connection" }).waitFor();
        await page.getByText("no connection", { exact: true }).waitFor();
        assert.match(await page.title(), /no connection/);
        for (const button of await card.locator(".answers button").all()) {
            assert.equal(await button.getAttribute("aria-disabled"), "true");
        }
        await card.getByRole("button", { name: "Allow once" }).click({ force: true });
        await looks(page, "lost");
    },

    async hostile() {
        const page = await open();
        const card = page.locator(".card");
        await card.waitFor();
        const text = await card.innerText();
        for (const shown of ["<img src=x onerror=", "<script>pwned=1</script>", "</code></dd><button", "{{7*7}}${7*7}&lt;b&gt;&#x3c;", "\\u{202E}", "\\u{1B}"]) {
            assert.ok(text.includes(shown), `${shown} in ${text}`);
        }
        const all = await page.locator("body").textContent();
        assert.doesNotMatch(all, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/u);
        assert.equal(await page.locator("main img, main script, main iframe").count(), 0);
        assert.equal(await page.evaluate(() => typeof globalThis.pwned), "undefined");
        assert.doesNotMatch(await page.title(), /pwned/);
        assert.equal(await card.locator("[data-decision=allow-once]").count(), 1);
        await looks(page, "hostile");
        await (await ready(card, "Deny")).click();
        await page.locator(".card.ended").waitFor();
        await page.getByRole("button", { name: "History" }).click();
        await page.locator("#entries li").first().waitFor();
        await sound(page, "a hostile history");
        assert.equal(await page.locator("main img, main script, main iframe").count(), 0);
        const told_ = await page.locator("body").textContent();
        assert.doesNotMatch(told_, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/u);
    },

    async long() {
        const page = await open();
        const card = page.locator(".card");
        await card.waitFor();
        for (const size of [WIDE, PHONE]) {
            await page.setViewportSize(size);
            await sound(page, "long");
        }
        const text = await card.textContent();
        assert.ok(text.includes("end-of-it-"), text.slice(0, 2000));
        assert.ok(text.length > 100_000 || /more|cut|longer/.test(text), "what is left out is not said");
        await (await ready(card, "Deny")).click();
        await page.locator(".card.ended").waitFor();
    },

    async evil({ origin, another, secret, id, guard }) {
        const page = await open();
        await cardOf(page, secret).waitFor();
        const heard = [];
        const server = createServer((asked, answer) => {
            let body = "";
            asked.on("data", (part) => (body += part));
            asked.on("end", () => {
                heard.push({ url: asked.url, cookie: asked.headers.cookie ?? "", referer: asked.headers.referer ?? "", body });
                answer.setHeader("Content-Type", "text/html");
                answer.end("<!doctype html><title>evil</title><body>");
            });
        });
        const { hostname } = new URL(origin);
        assert.notEqual(hostname, "127.0.0.1");
        // It knows the page's address, as little as it can be guessed.
        await new Promise((done) => server.listen(0, hostname, done));
        const evil = await page.context().newPage();
        await evil.goto(`http://${hostname}:${server.address().port}/`);
        const cookie = heard[0].cookie;
        // What the attack starts with: a browser makes no difference between the ports of a host.
        assert.match(cookie, /guard-\d+=/, "the cookie does not come here: this attacks nothing");
        const tried = await evil.evaluate(
            async ({ origin, another, id, guard }) => {
                const got = [];
                const answer = JSON.stringify({ guard, id, version: 1, decision: "allow-once" });
                const act = async (name, what) => {
                    try {
                        got.push([name, String(await what()).slice(0, 4000)]);
                    } catch (error) {
                        got.push([name, `refused: ${error}`]);
                    }
                };
                const text = async (path, options) => (await fetch(origin + path, { credentials: "include", ...options })).text();
                for (const path of ["/", "/events", "/history?search=", "/policy"]) await act(path, () => text(path));
                for (const type of ["text/plain", "application/json", "application/x-www-form-urlencoded"]) {
                    const post = { method: "POST", body: answer, headers: { "Content-Type": type } };
                    await act(`post ${type}`, () => text("/answer", post));
                    await act(`no-cors ${type}`, () => text("/answer", { ...post, mode: "no-cors", headers: { "Content-Type": "text/plain" } }));
                }
                await act("a key that is made up", () => text("/answer", { method: "POST", body: answer, headers: { "Content-Type": "application/json", "X-CSRF-Token": "0".repeat(64) } }));
                await act("beacon", () => navigator.sendBeacon(`${origin}/answer`, new Blob([answer], { type: "text/plain" })));
                await act("events", () => new Promise((done, failed) => {
                    const source = new EventSource(`${origin}/events`, { withCredentials: true });
                    source.onmessage = (event) => done(event.data);
                    source.addEventListener("board", (event) => done(event.data));
                    source.onerror = () => failed(new Error("no events"));
                }));
                const frame = async (url) => {
                    const made = document.createElement("iframe");
                    made.src = url;
                    document.body.append(made);
                    await new Promise((done) => { made.onload = done; setTimeout(done, 3000); });
                    return made.contentDocument?.body?.innerText ?? "closed";
                };
                await act("frame", () => frame(`${origin}/`));
                await act("frame of a link", () => frame(another));
                await act("form", async () => {
                    const target = document.createElement("iframe");
                    target.name = "target";
                    const form = document.createElement("form");
                    Object.assign(form, { action: `${origin}/answer`, method: "post", enctype: "text/plain", target: "target" });
                    const input = document.createElement("input");
                    [input.name, input.value] = [answer.slice(0, -1) + ',"x":"', '"}'];
                    form.append(input);
                    document.body.append(target, form);
                    form.submit();
                    await new Promise((done) => setTimeout(done, 2000));
                    return target.contentDocument?.body?.innerText ?? "closed";
                });
                await act("script", () => new Promise((done, failed) => {
                    const script = document.createElement("script");
                    Object.assign(script, { src: `${origin}/policy`, onload: () => done("loaded"), onerror: () => failed(new Error("no script")) });
                    document.body.append(script);
                }));
                await act("popup", async () => {
                    const popup = open(`${origin}/`);
                    await new Promise((done) => setTimeout(done, 3000));
                    return `${popup?.document?.body?.innerText ?? "closed"} ${popup?.sessionStorage?.length ?? ""}`;
                });
                return got;
            },
            { origin, another, id, guard },
        );
        for (const [name, got] of tried) {
            assert.ok(!got.includes(secret) && !/"cards"|"entries"|"sections"/.test(got), `${name}: ${got}`);
            assert.ok(!/openclaw-guard approvals/.test(got) || name === "never", `${name} reads the page: ${got}`);
        }
        // With the cookie it can do as it likes, outside of a browser. It has not got the key.
        const port = Number(new URL(origin).port);
        const direct = (method, path, headers) =>
            new Promise((done, failed) => {
                const made = request({ host: hostname, port, method, path, headers: { cookie, ...headers } }, (answer) => {
                    let text = "";
                    answer.on("data", (part) => (text += part));
                    answer.on("end", () => done(`${answer.statusCode} ${text}`));
                });
                made.on("error", failed);
                made.end(method === "POST" ? JSON.stringify({ guard, id, version: 1, decision: "allow-once" }) : undefined);
            });
        for (const path of ["/events", "/history?search=", "/policy"]) assert.match(await direct("GET", path, {}), /^403 /, path);
        const json = { "content-type": "application/json", origin };
        assert.match(await direct("POST", "/answer", json), /^403 /);
        assert.match(await direct("POST", "/answer", { ...json, "x-csrf-token": "0".repeat(64) }), /^403 /);
        assert.match(await direct("GET", "/", { host: `evil.example:${port}` }), /^421 /);
        assert.match(await direct("GET", "/", { host: "localhost" }), /^421 /);
        // Nobody was told the key, nor the link, nor what waits.
        for (const { url, referer, body } of heard) {
            assert.ok(![url, referer, body].some((text) => text.includes(secret) || /token=|[0-9a-f]{64}/.test(text)), `${url} ${referer} ${body}`);
        }
        // The link is still good for its owner, whatever was tried with it, and the page goes on.
        assert.ok(await cardOf(page, secret).isVisible());
        await page.goto(another);
        await cardOf(page, secret).waitFor();
        server.close();
    },

    async states() {
        const page = await open();
        await page.getByText("No questions are pending.").waitFor();
        await looks(page, "empty");
        // Who wants it still gets no movement: buttons change at once.
        const moves = () => page.evaluate(() => [...document.querySelectorAll("*")].filter((one) => {
            const { transitionDuration, animationName } = getComputedStyle(one);
            return animationName !== "none" || parseFloat(transitionDuration) > 0;
        }).length);
        await page.emulateMedia({ reducedMotion: "reduce" });
        assert.equal(await moves(), 0, "something moves");
        const ground = async (colorScheme) => {
            await page.emulateMedia({ colorScheme });
            return page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
        };
        assert.notEqual(await ground("dark"), await ground("light"));
        say("empty");
        await hear("waiting");
        const push = cardOf(page, "push");
        const file = cardOf(page, "else/file");
        await ready(push, "Allow once");
        await ready(file, "Allow once");
        await looks(page, "waiting");
        await file.scrollIntoViewIfNeeded();
        await looks(page, "file");
        await push.scrollIntoViewIfNeeded();
        await (await ready(push, "Always…")).click();
        await push.getByRole("button", { name: "Save and allow" }).waitFor();
        await page.waitForTimeout(600);
        await looks(page, "always");
        await push.getByRole("button", { name: "Back" }).click();
        await (await ready(push, "Allow once")).click();
        await page.locator(".card.ended").waitFor();
        // It stays as long as somebody is at it.
        await page.locator(".card.ended").hover();
        await looks(page, "answered");
        await (await ready(file, "Deny")).click();
        await page.locator("#notes li").nth(1).waitFor();
        await page.getByRole("button", { name: "Help" }).click();
        await page.getByRole("dialog").waitFor();
        await looks(page, "help");
        await page.keyboard.press("Escape");
        await page.getByRole("button", { name: "History" }).click();
        await page.locator("#entries li").first().waitFor();
        await looks(page, "history");
        await page.getByRole("searchbox").fill("nothing has this name");
        await page.getByRole("button", { name: "Search" }).click();
        await page.getByText("Nothing is found").waitFor();
        await looks(page, "history-none");
        await page.getByRole("button", { name: "Policy" }).click();
        await page.locator("#rules li").first().waitFor();
        await looks(page, "policy");
        await page.getByRole("button", { name: "Sign out" }).click();
        await page.getByRole("heading", { name: "There is no session" }).waitFor();
        await looks(page, "signed-out");
        // The link was used.
        await page.goto(told.link);
        await page.getByText("There is no session").waitFor();
        await looks(page, "used-link");
    },
};

try {
    await scenes[told.scene](told.more ?? {});
    assert.deepEqual(wrong, []);
} catch (error) {
    for (const context of browser.contexts())
        for (const page of context.pages()) console.log(page.url(), await page.locator("body").innerText().catch(String));
    throw error;
} finally {
    await browser.close();
}
