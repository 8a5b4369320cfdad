// Opens a page of the Control UI in Chromium, waits for the card, takes a picture of it, and answers by a click.
// node card.mjs PLAYWRIGHT URL COMMAND PICTURE BUTTON OPENED
import { writeFileSync } from "node:fs";

const [playwright, url, command, picture, button, opened] = process.argv.slice(2);
const { chromium } = (await import(playwright)).default;
const sandbox = process.getuid() === 0 ? ["--no-sandbox"] : [];
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: sandbox });
try {
    const page = await browser.newPage({ viewport: { width: 960, height: 820 }, colorScheme: "dark" });
    // The older release shows what is asked from now on only: whoever asks waits for this file.
    page.on("websocket", (socket) =>
        socket.on("framereceived", (frame) => {
            if (frame.payload.includes('"hello-ok"')) writeFileSync(opened, "");
        }),
    );
    await page.goto(url);
    await page.getByText(command).first().waitFor();
    const answer = page.getByRole("button", { name: button, exact: true });
    await answer.waitFor();
    // Buttons fade in.
    await page.waitForTimeout(3000);
    await page.screenshot({ path: picture });
    console.log(await page.locator("body").innerText());
    await answer.click();
    await answer.waitFor({ state: "detached" });
} catch (error) {
    for (const context of browser.contexts())
        for (const page of context.pages()) console.log(page.url(), await page.locator("body").innerText());
    throw error;
} finally {
    await browser.close();
}
