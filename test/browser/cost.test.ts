/** The Cost page shows the amounts of `skein cost`; a transcript marks interrupted text. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { Browser } from "playwright-core";
import { spendText } from "../../src/core/budget/money.ts";
import type { Session } from "../../src/runtime/engine/session.ts";
import { buildPage, noChromium, startChromium } from "./chromium.ts";
import { makeStand, type Stand } from "./stand.ts";

const skip = await noChromium();
const usage = { inputTokens: 1_200, outputTokens: 300 };

/** An answer, an interrupted call, one of unknown price and one that is lost. */
async function calls(session: Session): Promise<void> {
  const reserve = { tokens: 9_000, nanoUsd: 170_000_000 };
  await session.append("go");
  await using drive = await session.drive();
  await drive.begin();
  await drive.request({ model: "acme/large", reserve });
  const blocks = [{ type: "text", text: "Done." }] as const;
  await drive.respond({ finish: "stop", usage, costNanoUsd: 15_000_000, blocks: [...blocks] });
  await drive.request({ model: "acme/large", reserve });
  const said = { ...usage, estimated: true };
  await drive.fail({ error: "interrupted", usage: said, costNanoUsd: 5_000_000, partial: "Half a sentence" });
  await drive.request({ model: "acme/free", reserve: { tokens: 10 } });
  await drive.respond({ finish: "stop", usage, costNanoUsd: null, blocks: [...blocks] });
  await drive.request({ model: "acme/large", reserve });
  await drive.fail({ error: "crashed" });
  await drive.end();
}

suite("cost", { skip }, () => {
  let browser: Browser;
  let stand: Stand;
  let session: Session;
  before(async () => {
    buildPage();
    browser = await startChromium();
    stand = await makeStand({ concurrency: 0 });
    session = await stand.engine.open({ objective: "Bill", name: "Bill", labels: { team: "web" } });
    await calls(session);
  });
  after(async () => {
    await browser?.close();
    await stand?.[Symbol.asyncDispose]();
  });

  test("the page has the rows of engine.cost, by every grouping", { timeout: 120_000 }, async () => {
    await using shown = await stand.page(browser, { at: "/cost" });
    const { page } = shown;
    const file = process.env["SKEIN_COST_PICTURE"];
    for (const by of ["agent", "model", "session", "user", "day", "label:team"]) {
      const rows = await stand.engine.cost({ by });
      await page.goto(`${stand.url}/cost?by=${encodeURIComponent(by)}`);
      const table = page.locator("table.cost-groups").first();
      await table.waitFor();
      assert.deepEqual(
        (await table.locator("tbody tr td:last-child").allInnerTexts()).toSorted(),
        rows.map(spendText).toSorted(),
        by,
      );
      if (file !== undefined) await page.screenshot({ path: `${file}-${by.replace(":", "-")}.png` });
    }
    const total = page.locator(".cost-totals a").first();
    assert.deepEqual(
      [await total.locator("b").innerText(), await total.locator("span").innerText()],
      ["$0.02", "Cost: $0.02 + up to $0.17 unconfirmed and 1 call unknown"],
    );
    shown.calm();
  });

  test("a label is typed", async () => {
    await using shown = await stand.page(browser, { at: "/cost" });
    const { page } = shown;
    await page.getByLabel("Label key").fill("team");
    await page.getByLabel("Label key").press("Enter");
    await page.waitForURL(`${stand.url}/cost?by=label%3Ateam`);
    await page.locator("table.cost-groups").first().getByText("web", { exact: true }).waitFor();
    shown.calm();
  });

  test("the transcript shows interrupted text, marked", async () => {
    await using shown = await stand.page(browser, { at: `/s/${session.id}` });
    const { page } = shown;
    const answer = page.locator(".answer").filter({ hasText: "Half a sentence" });
    await answer.getByText("Interrupted", { exact: true }).waitFor();
    const file = process.env["SKEIN_COST_PICTURE"];
    if (file !== undefined) await page.screenshot({ path: `${file}-transcript.png` });
    shown.calm();
  });
});
