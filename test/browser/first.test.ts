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

  test("who is not logged in is asked to, and a login link lets in and leaves no token behind", async () => {
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
});
