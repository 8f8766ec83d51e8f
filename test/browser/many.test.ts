/** Much of it: ten thousand sessions, and a log of a hundred thousand events. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import type { Session } from "../../src/index.ts";
import { buildPage, noChromium, startChromium } from "./chromium.ts";
import { makeLongLog, makeManySessions, manyEvents, manySessions } from "./many.ts";
import { makeStand, type Stand } from "./stand.ts";

const skip = await noChromium();

/** However much there is, what is in the page is what is seen. */
const elementsIn = (page: Page): Promise<number> =>
  page.evaluate(() => document.getElementsByTagName("*").length);

suite("much of it", { skip }, () => {
  let browser: Browser;
  let stand: Stand;
  let session: Session;
  before(async () => {
    buildPage();
    browser = await startChromium();
    stand = await makeStand({ concurrency: 0, durability: "process" });
    await makeManySessions(stand.engine);
    session = await makeLongLog(stand.engine);
  });
  after(async () => {
    await browser?.close();
    await stand?.[Symbol.asyncDispose]();
  });

  test("ten thousand sessions scroll, are found by a word, and few of them are in the page", async () => {
    await using shown = await stand.page(browser);
    const { page } = shown;
    await page.getByText(`${(manySessions + 1).toLocaleString("en-US")} total`).waitFor();
    await page.getByRole("link", { name: "A long log" }).waitFor();
    assert.ok((await elementsIn(page)) < 3_000);
    const first = page.getByRole("row").nth(1);
    for (let left = 6; left > 0; left--) {
      const before = await first.getAttribute("aria-rowindex");
      await page.mouse.wheel(0, 4_000);
      await page.waitForFunction(
        (was) => document.querySelectorAll("[role=row]")[1]?.getAttribute("aria-rowindex") !== was,
        before,
      );
    }
    assert.ok((await elementsIn(page)) < 3_000);
    await page.keyboard.press(".");
    await page.keyboard.type("number 4711");
    await page.getByRole("link", { name: "Report 4711" }).waitFor();
    shown.calm();
  });

  test("a log of a hundred thousand events scrolls anywhere with few rows in the page", async () => {
    await using shown = await stand.page(browser, { at: `/s/${session.id}/log` });
    const { page } = shown;
    const { seq } = await session.head();
    assert.ok(seq >= manyEvents);
    const events = page.getByRole("grid", { name: "Events" });
    await events.getByText(seq.toLocaleString("en-US"), { exact: true }).first().waitFor();
    await events.evaluate((element) => (element.scrollTop = element.scrollHeight / 2));
    await events.getByText("x.trace.noted").first().waitFor();
    assert.ok((await elementsIn(page)) < 3_000);
    await page.goto(`${stand.url}/s/${session.id}?at=50000`);
    await page.getByText("Viewing position").waitFor();
    const slider = page.getByRole("slider", { name: "Position in the log" });
    const box = await slider.boundingBox();
    assert.ok(box !== null);
    const y = box.y + box.height / 2;
    await page.mouse.move(box.x + box.width / 2, y);
    await page.mouse.down();
    for (const share of [0.4, 0.3, 0.2, 0.1]) await page.mouse.move(box.x + box.width * share, y);
    await page.mouse.up();
    await page.waitForURL((url) => Math.abs(Number(url.searchParams.get("at")) - seq / 10) < seq / 100);
    assert.ok((await elementsIn(page)) < 3_000);
    shown.calm();
  });
});
