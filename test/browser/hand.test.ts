/** Quick hands: what is pressed or clicked twice is done once, and what is selected can be acted on. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { buildPage, noChromium, startChromium } from "./chromium.ts";
import { makeStand, type Stand } from "./stand.ts";

const skip = await noChromium();

/** As far away as a server in another country. */
const farMs = 250;
const far = (page: Page, call: RegExp): Promise<unknown> =>
  page.route(call, async (route) => {
    if (route.request().method() !== "GET") await new Promise((resolve) => setTimeout(resolve, farMs));
    await route.continue();
  });

suite("quick hands", { skip }, () => {
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

  /** The list with this session alone, and the keys at it. */
  const at = async (page: Page, word: string): Promise<void> => {
    await page.getByRole("link", { name: word }).waitFor();
    await page.keyboard.press("j");
    await page.locator(".sessions-row[data-chosen]").waitFor();
  };

  test("f twice makes one fork", async () => {
    const session = await stand.engine.open({ objective: "Forked once" });
    await using shown = await stand.page(browser, { at: "/?q=Forked" });
    const { page } = shown;
    await far(page, /\/v1\/sessions\//);
    await at(page, "Forked once");
    await page.keyboard.press("f");
    await page.keyboard.press("f");
    await page.waitForURL(/\/s\/ses_/);
    await page.waitForTimeout(2 * farMs);
    const { rows } = await stand.engine.sessions({ text: "Forked once" });
    assert.equal(rows.length, 2);
    assert.ok(rows.some((row) => row.parent?.session === session.id));
    shown.calm();
  });

  for (const [key, type, wait] of [
    ["s", "session.suspended", 0],
    ["s", "session.suspended", 1.1 * farMs],
    ["x", "session.closed", 0],
    ["x", "session.closed", 1.1 * farMs],
  ] as const)
    test(`${key} twice within ${wait} ms does it once, and no error is shown`, async () => {
      const word = `Once ${key} ${wait}`;
      const session = await stand.engine.open({ objective: word });
      await using shown = await stand.page(browser, { at: `/?q=${encodeURIComponent(word)}` });
      const { page } = shown;
      await far(page, /\/v1\/sessions\//);
      await at(page, word);
      await page.keyboard.press(key);
      await page.waitForTimeout(wait);
      await page.keyboard.press(key);
      await page.locator(".toast").first().waitFor();
      await page.waitForTimeout(2 * farMs);
      assert.equal(await page.locator(".toast[data-tone=bad]").count(), 0);
      const events = await Array.fromAsync(session.events());
      assert.equal(events.filter((event) => event.type === type).length, 1);
      // What it says it can be undone with works at once.
      await page.locator(".toast").getByRole("button").first().click();
      await page.getByText(key === "s" ? "Activated" : "Reopened").waitFor();
      shown.calm();
    });

  test("a task is ticked once by a double click, and can be unticked after", async () => {
    const session = await stand.engine.open({ objective: "A task to tick" });
    await session.record("task", "sweep", "Sweep the floor");
    await using shown = await stand.page(browser, { at: `/s/${session.id}` });
    const { page } = shown;
    const tick = page.getByRole("checkbox", { name: "Done: sweep" });
    const written = async (): Promise<number> =>
      (await Array.fromAsync(session.events())).filter(({ type }) => type === "item.recorded").length;
    await tick.waitFor();
    await tick.dblclick();
    await page.locator(".item[data-status=done]").waitFor();
    await page.waitForTimeout(farMs);
    assert.equal(await written(), 2);
    assert.ok(await tick.isChecked());
    await tick.click();
    await page.locator(".item[data-status=open]").waitFor();
    assert.equal(await written(), 3);
    shown.calm();
  });

  test("select all selects the listed rows, shows that there are more, and keys act on them", async () => {
    for (let nth = 0; nth < 120; nth++) await stand.engine.open({ objective: `Of many ${nth}` });
    await using shown = await stand.page(browser, { at: "/?q=Of+many" });
    const { page } = shown;
    await page.getByRole("link", { name: "Of many 119" }).waitFor();
    await page.getByRole("checkbox", { name: "Select all loaded" }).click();
    await page.getByText("100 sessions selected (more not loaded)").waitFor();
    await page.keyboard.press("p");
    await page.getByRole("dialog").getByText("Priority of 100 sessions").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("Escape");
    await page.getByText("sessions selected").waitFor({ state: "detached" });
    shown.calm();
  });
});
