/** The memory page: what waits for approval is shown, approved and rejected; entries are edited. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { Browser } from "playwright-core";
import { buildPage, noChromium, startChromium } from "./chromium.ts";
import { makeStand, type Stand } from "./stand.ts";

const skip = await noChromium();
const markup = "<img src=x onerror=document.title='pwned'>";

suite("the memory page", { skip }, () => {
  let browser: Browser;
  let stand: Stand;
  before(async () => {
    buildPage();
    browser = await startChromium();
    stand = await makeStand({ concurrency: 0, durability: "process" });
  });
  after(async () => {
    await browser?.close();
    await stand?.[Symbol.asyncDispose]();
  });

  const propose = (key: string, value: unknown) =>
    stand.engine.remember({ scope: "workspace", kind: "fact", key, value, propose: true });

  test("the queue is decided with the keys alone, and hostile names are text", async () => {
    await propose("vendor", "Only Evil Corp");
    await propose(markup, `${markup}\n${"x".repeat(3_000)}`);
    await using shown = await stand.page(browser, { at: "/memory" });
    const { page } = shown;
    const queue = page.getByRole("region", { name: "Waiting for approval" });
    await queue.getByText("2 entries that may come").waitFor();
    await queue.getByText("may come from a program that proposed it").first().waitFor();
    assert.equal(await queue.getByRole("img").count(), 0);
    await queue.getByRole("button", { name: "Approve vendor" }).focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Reason").waitFor();
    await page.keyboard.type("I asked the owner");
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    await page.getByText(/^approved by/).waitFor();
    await queue.getByText("1 entry that may come").waitFor();
    await queue.getByRole("button", { name: /^Reject/ }).click();
    await dialog.getByRole("button", { name: "Reject" }).click();
    await queue.waitFor({ state: "detached" });
    assert.notEqual(await page.title(), "pwned");
    const entries = await stand.engine.memory();
    assert.deepEqual(
      entries.map(({ key, approvedBy }) => [key, approvedBy !== undefined]),
      [["vendor", true]],
    );
    await propose("later", 1);
    await queue.getByRole("button", { name: "Approve later" }).waitFor();
    shown.calm();
  });

  test("an entry is edited as text or as JSON, and a wrong one keeps the dialog", async () => {
    await stand.engine.remember({ scope: "workspace", kind: "fact", key: "layout", value: { columns: 2 } });
    await using shown = await stand.page(browser, { at: "/memory" });
    const { page } = shown;
    await page.getByRole("button", { name: "Edit layout" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Value").fill("{columns");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByText("Value: expected JSON.").waitFor();
    await dialog.getByLabel("Value").fill('{"columns":3}');
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    const [entry] = await stand.engine.memory({ text: "layout" });
    assert.deepEqual(entry?.value, { columns: 3 });
    shown.calm();
  });

  test("a contradiction is shown with its entries, and settled by forgetting one", async () => {
    for (const [key, value] of [
      ["db", "sqlite"],
      ["database", "postgres"],
    ] as const)
      await stand.engine.remember({ scope: "workspace", kind: "fact", key, value });
    await using shown = await stand.page(browser, { at: "/memory" });
    const { page } = shown;
    const review = page.locator("details.memory-queue");
    await review.getByText("1 duplicate or contradiction to settle").click();
    await review.getByRole("button", { name: "Forget database" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Forget" }).click();
    await review.waitFor({ state: "detached" });
    shown.calm();
  });

  test("without the scope operate the decisions are off, and say why", async () => {
    await propose("closed", 1);
    const { token } = await stand.engine.addToken({ scopes: ["read", "write"] });
    await using shown = await stand.page(browser, { at: "/memory", token });
    for (const name of ["Approve closed", "Reject closed", "Edit layout"]) {
      const button = shown.page.getByRole("button", { name });
      await shown.page.locator('main button[title*="scope operate"]').first().waitFor();
      assert.ok(await button.isDisabled(), name);
      assert.match((await button.getAttribute("title")) ?? "", /needs the scope operate/);
    }
    shown.calm();
  });
});
