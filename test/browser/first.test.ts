/** The first minutes: the login link, an empty store, a session, an answer that streams. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { Browser } from "playwright-core";
import { buildPage, noChromium, startChromium } from "./chromium.ts";
import { makeStand, type Stand } from "./stand.ts";

const skip = await noChromium();

suite("the first minutes", { skip }, () => {
  let browser: Browser;
  let stand: Stand;
  before(async () => {
    buildPage();
    browser = await startChromium();
    stand = await makeStand({ paceMs: 15 });
  });
  after(async () => {
    await browser?.close();
    await stand?.[Symbol.asyncDispose]();
  });

  test("without a login the page asks for one; a login link logs in and leaves no token behind", async () => {
    await using out = await stand.page(browser, { token: null });
    await out.page.getByRole("heading", { name: "Log in to Skein" }).waitFor();
    await out.page.getByLabel("Login link or token").fill(`${stand.url}/#token=${stand.token}`);
    await out.page.getByRole("button", { name: "Log in" }).click();
    await out.page.getByRole("heading", { name: "Sessions" }).waitFor();
    out.calm(/401/);
    await using shown = await stand.page(browser);
    await shown.page.getByRole("heading", { name: "Sessions" }).waitFor();
    assert.doesNotMatch(shown.page.url(), /token/);
    shown.calm();
  });

  test("two keystrokes and a line open a session; its answer is seen while it is made", async () => {
    await using shown = await stand.page(browser);
    const { page } = shown;
    await page.getByRole("heading", { name: "No sessions yet" }).waitFor();
    await page.keyboard.press("n");
    await page.keyboard.type("Count the words");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/s\/ses_/);
    await page.getByRole("textbox", { name: "Message" }).fill("help");
    await page.keyboard.press("Enter");
    const log = page.getByLabel("Entries");
    const id = new URL(page.url()).pathname.split("/")[2] ?? "";
    const session = await stand.engine.session(id);
    // A piece of the answer is there before the log has any of it.
    await log.getByText("I am the offline model").waitFor();
    const types: string[] = [];
    for await (const { type } of session.events()) types.push(type);
    assert.ok(types.includes("model.requested") && !types.includes("model.responded"), types.join(" "));
    await session.run();
    await page.getByText("open", { exact: true }).first().waitFor();
    shown.calm();
  });

  test("the sample family is made with one click, and removed once that is confirmed", async () => {
    await using empty = await makeStand();
    await using shown = await empty.page(browser);
    const { page } = shown;
    await page.getByRole("button", { name: "Create the samples" }).click();
    await page.getByText("Samples created.").waitFor({ timeout: 60_000 });
    const { rows } = await empty.engine.sessions({ labels: { sample: "yes" } });
    assert.ok(rows.length >= 6, `${rows.length} sessions`);
    await page.getByRole("button", { name: "Remove samples" }).click();
    assert.ok(
      (await empty.engine.sessions({})).rows.length >= 6,
      "nothing is removed before it is confirmed",
    );
    await page.getByRole("button", { name: /^Remove \d+ sessions$/ }).click();
    const none = page.getByRole("heading", { name: "No sessions yet" });
    // Once it did not come within a minute: whether sessions are left or the list is old tells why.
    await none.waitFor({ timeout: 60_000 }).catch(async (cause: unknown) => {
      const left = (await empty.engine.sessions({})).rows.map(
        ({ session, status }) => `${session} ${status}`,
      );
      const seen = await page.locator("body").innerText();
      throw new Error(`sessions left: ${left.join()}; said: ${shown.said.join()}; seen: ${seen}`, { cause });
    });
    assert.equal((await empty.engine.sessions({})).rows.length, 0);
    shown.calm();
  });
});
