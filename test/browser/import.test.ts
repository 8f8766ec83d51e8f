/** The Import page: finds, filters, previews and imports sessions of other tools; uploads; and the stats. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import {
  claudeText,
  makeTranscriptHome,
  transcriptId,
  type TranscriptHome,
} from "../server/transcript-home.ts";
import { buildPage, noChromium, startChromium } from "./chromium.ts";
import { makeStand, type Stand } from "./stand.ts";

const skip = await noChromium();

suite("import", { skip }, () => {
  let browser: Browser;
  let stand: Stand;
  let home: TranscriptHome;
  before(async () => {
    buildPage();
    browser = await startChromium();
    home = makeTranscriptHome();
    stand = await makeStand({ concurrency: 0, transcripts: home.transcripts });
  });
  after(async () => {
    await browser?.close();
    await stand?.[Symbol.asyncDispose]();
    home?.[Symbol.dispose]();
  });

  const rowsOf = (page: Page) => page.locator("table.import-found tbody tr");

  test("sessions are found, filtered, previewed, selected and imported", { timeout: 120_000 }, async () => {
    await using shown = await stand.page(browser, { at: "/" });
    const { page } = shown;
    await page.getByRole("link", { name: "Import" }).first().click();
    await page.waitForURL(`${stand.url}/import`);
    const tool = page.locator("table.import-tools tbody tr");
    await tool.first().waitFor();
    assert.match(await tool.first().innerText(), /Claude Code\s+3\s+/);
    assert.equal(await rowsOf(page).count(), 3);
    await page.getByLabel("Project folder").fill("checkout");
    await page.getByLabel("Project folder").press("Enter");
    await page.waitForURL(/project=checkout/);
    await page.getByText("1 session", { exact: true }).waitFor();
    await rowsOf(page).getByRole("button").first().click();
    const preview = page.getByRole("dialog");
    await preview.getByText("It is 4.1.").waitFor();
    await preview.getByText("Bash").waitFor();
    await preview.getByRole("button", { name: "Close" }).click();
    await page.getByRole("link", { name: "Clear" }).click();
    await page.getByText("3 sessions", { exact: true }).waitFor();
    await page.getByLabel("Select all").check();
    await page.getByRole("button", { name: "Import 3 sessions" }).click();
    await rowsOf(page).getByText("Imported", { exact: true }).nth(2).waitFor();
    const picture = process.env["SKEIN_IMPORT_PICTURE"];
    if (picture !== undefined) await takePictures(page, picture);
    await rowsOf(page).first().getByRole("link", { name: "Open" }).click();
    await page.getByText("It is 4.1.").waitFor();
    assert.equal((await stand.engine.sessions({ status: "suspended" })).rows.length, 3);
    shown.calm();
  });

  test("a file is uploaded, and a wrong one is an error beside the field", async () => {
    await using shown = await stand.page(browser, { at: "/import" });
    const { page } = shown;
    const upload = page.getByLabel("Upload a transcript");
    const file = (name: string, text: string) => ({
      name,
      mimeType: "application/octet-stream",
      buffer: Buffer.from(text),
    });
    await upload.setInputFiles(file("x.jsonl", claudeText(transcriptId(7), "/home/ann/tax", "Uploaded?")));
    await page.locator(".import-upload").getByRole("link", { name: "Open" }).waitFor();
    await upload.setInputFiles(file("x.jsonl", "{}\n"));
    await page.getByRole("alert").getByText("no transcript of a known tool").waitFor();
    shown.calm(/400|422|Failed to load/);
  });

  test("the stats show sessions, tokens, cost and time by tool, project, model and week", async () => {
    await using shown = await stand.page(browser, { at: "/import/stats" });
    const { page } = shown;
    await page.getByText("By project").waitFor();
    const { imported } = await stand.engine.stats({ imported: true });
    const total = page.locator(".import-figures dd").first();
    assert.equal(await total.innerText(), String(imported?.total.sessions));
    for (const head of ["By week", "By tool", "By model"]) await page.getByText(head).waitFor();
    await page.getByText("/home/ann/checkout").waitFor();
    const picture = process.env["SKEIN_IMPORT_PICTURE"];
    if (picture !== undefined) await takePictures(page, `${picture}-stats`);
    shown.calm();
  });

  test("a server that reads nothing of its machine says so, and still takes uploads", async () => {
    await using closed = await makeStand({ concurrency: 0 });
    await using shown = await closed.page(browser, { at: "/import" });
    const { page } = shown;
    await page.getByRole("alert").getByText("does not read").waitFor();
    await page.getByLabel("Upload a transcript").waitFor();
    shown.calm(/403|409|Failed to load/);
  });
});

/** Light and dark, wide and narrow: SKEIN_IMPORT_PICTURE=/tmp/import. */
async function takePictures(page: Page, file: string): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 800 });
      await page.screenshot({ path: `${file}-${colorScheme}-${width}.png` });
    }
  }
  await page.setViewportSize({ width: 1280, height: 800 });
}
