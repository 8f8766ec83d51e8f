/** The page shows the state as it is: queued input, rewound and forgotten parts, existing positions. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { buildPage, noChromium, startChromium } from "./chromium.ts";
import { makeStand, type Stand } from "./stand.ts";

const skip = await noChromium();

const entriesOf = (page: Page) => page.getByLabel("Entries");
const messageOf = (page: Page) => page.getByRole("textbox", { name: "Message" });

suite("what the page shows", { skip }, () => {
  let browser: Browser;
  let stand: Stand;
  before(async () => {
    buildPage();
    browser = await startChromium();
    stand = await makeStand({ concurrency: 0 });
  });
  after(async () => {
    await browser?.close();
    await stand?.[Symbol.asyncDispose]();
  });

  test("search marks forgotten memory entries, and only those", async () => {
    await stand.engine.remember({ scope: "workspace", kind: "fact", key: "old", value: "quince jam" });
    await stand.engine.forget({ scope: "workspace", kind: "fact", key: "old" });
    await stand.engine.remember({ scope: "workspace", kind: "fact", key: "new", value: "quince jelly" });
    await using shown = await stand.page(browser, { at: "/search?q=quince" });
    const { page } = shown;
    const hit = (word: string) => page.locator(".search-hit").filter({ hasText: word });
    await hit("jam").getByText("no longer in memory").waitFor();
    assert.equal(await hit("jelly").getByText("no longer in memory").count(), 0);
    shown.calm();
  });

  test("a session with a call that waits for an answer has no Activate button", async () => {
    const session = await stand.engine.open({
      objective: "Settle a refund",
      grant: [{ tool: "record", rule: "ask" }],
    });
    await session.input("Decide refund: give back 40 EUR, because the parcel came damaged.");
    await session.run();
    await using shown = await stand.page(browser, { at: `/s/${session.id}` });
    const { page } = shown;
    await page.getByRole("button", { name: "Allow once" }).waitFor();
    assert.equal(await page.getByRole("button", { name: "Activate" }).count(), 0);
    await page.goto(`${stand.url}/?q=refund`);
    await page.getByRole("link", { name: "Settle a refund" }).waitFor();
    await page.keyboard.press("j");
    await page.locator(".sessions-row[data-chosen]").waitFor();
    await page.keyboard.press("s");
    await page.getByText("A call is waiting for approval: allow or deny it first.").waitFor();
    await page.goto(`${stand.url}/s/${session.id}`);
    await page.getByRole("button", { name: "Allow once" }).waitFor();
    await session.answer({ allow: true });
    await session.suspend();
    await page.getByRole("button", { name: "Activate" }).first().waitFor();
    shown.calm();
  });

  test("a message that is being sent stays visible after leaving and returning offline", async () => {
    const session = await stand.told("Through a tunnel", "Note that light is far.");
    await using shown = await stand.page(browser, { at: `/s/${session.id}` });
    const { page, context } = shown;
    await shown.follows();
    await page.getByText("Note that light is far.", { exact: true }).waitFor();
    // Views load one after the other while the page rests; offline, only those that have arrived are there.
    await page.waitForFunction(() =>
      performance.getEntriesByType("resource").some(({ name }) => /\/memory-[^/]*\.js$/.test(name)),
    );
    await context.setOffline(true);
    await messageOf(page).fill("Note that light is near.");
    await messageOf(page).press("Enter");
    await entriesOf(page).getByText("sending").waitFor();
    await page.getByRole("link", { name: "Memory" }).first().click();
    await page.getByRole("heading", { name: "Memory", level: 1 }).waitFor();
    await page.goBack();
    await entriesOf(page).getByText("Note that light is near.").waitFor();
    await entriesOf(page).getByText("sending").waitFor();
    await context.setOffline(false);
    await entriesOf(page).getByText("sending").waitFor({ state: "detached" });
    await entriesOf(page).getByText("Note that light is near.", { exact: true }).waitFor();
    const inputs: string[] = [];
    for await (const { type } of session.events({ types: ["input.received"] })) inputs.push(type);
    assert.equal(inputs.length, 2);
    shown.calm(/ERR_INTERNET_DISCONNECTED|ERR_NETWORK_CHANGED/);
  });

  /** The positions from and to which the bar is hatched. */
  const hatched = (page: Page, headSeq: number) =>
    page.locator(".time-lost").evaluateAll((bars, head) => {
      const seqAt = (percent: string): number => Math.round((Number.parseFloat(percent) / 100) * (head - 1));
      return bars.map((bar) => {
        const { left, width } = (bar as HTMLElement).style;
        const from = seqAt(left) + 1;
        return [from, from + seqAt(/([\d.e-]+)%/.exec(width)?.[1] ?? "0")];
      });
    }, headSeq);

  test("exactly the rewound events are hatched, also after the rewind is undone", async () => {
    const session = await stand.told("Hatch it", "Note that a is 1.", "Note that b is 2.");
    const { seq: before } = await session.head();
    await session.rewind(14);
    await using shown = await stand.page(browser, { at: `/s/${session.id}` });
    const { page } = shown;
    await shown.follows();
    await page.locator(".time-lost").first().waitFor();
    assert.deepEqual(await hatched(page, before + 1), [[15, before]]);
    await session.rewind(before);
    await page
      .getByText(`of ${before + 2}`)
      .first()
      .waitFor();
    const undone = [[before + 1, before + 1]];
    for (let tries = 0; tries < 50; tries++) {
      if (JSON.stringify(await hatched(page, before + 2)) === JSON.stringify(undone)) break;
      await page.waitForTimeout(100);
    }
    assert.deepEqual(await hatched(page, before + 2), undone);
    await page.reload();
    await page.locator(".time-lost").first().waitFor();
    assert.deepEqual(await hatched(page, before + 2), undone);
    shown.calm();
  });

  test("a position that does not exist shows as missing", async () => {
    const session = await stand.told("Go astray", "Note that a is 1.");
    const { seq } = await session.head();
    await using shown = await stand.page(browser, { at: `/s/${session.id}?at=9999` });
    const { page } = shown;
    await page.getByRole("heading", { name: "Position 9999 does not exist" }).waitFor();
    await page.getByRole("link", { name: "Back to now" }).click();
    await page.waitForURL(`${stand.url}/s/${session.id}`);
    await entriesOf(page).getByText("Note that a is 1.", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Log", exact: true }).click();
    await page.getByLabel("Go to a position or time").fill("99999");
    await page.keyboard.press("Enter");
    await page.getByText(`Position 99,999 does not exist: the last one is ${seq}.`).waitFor();
    assert.doesNotMatch(page.url(), /99999/);
    shown.calm();
  });

  test("a first message starts the work, also without a worker", async () => {
    await using shown = await stand.page(browser);
    const { page } = shown;
    await page.getByRole("button", { name: "New session" }).first().click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Objective").fill("Begin at once");
    await dialog.getByText("More", { exact: true }).click();
    await dialog.getByLabel("First message").fill("Note that a is 1.");
    await dialog.getByRole("button", { name: "Open" }).click();
    await entriesOf(page).getByText("Recorded the fact a: 1.").waitFor();
    shown.calm();
  });

  test("a merge applies its preview, and warns if the other session has continued", async () => {
    const ours = await stand.engine.open({ objective: "Take it in" });
    const theirs = await ours.fork({ name: "The other one" });
    await theirs.record("fact", "rate", "five");
    await using shown = await stand.page(browser, { at: `/s/${ours.id}/merge?from=${theirs.id}` });
    const { page } = shown;
    await page.getByText("No conflicts.").waitFor();
    await page.route(/\/merge$/, async (route) => {
      const { dryRun } = route.request().postDataJSON() as { readonly dryRun?: boolean };
      if (dryRun !== true) await theirs.record("fact", "rate", "six");
      await route.continue();
    });
    await page.getByRole("button", { name: "Merge", exact: true }).click();
    await page.getByText("“The other one” has new changes since, which were not merged.").waitFor();
    assert.deepEqual(
      (await ours.items()).map(({ value }) => value),
      ["five"],
    );
    await page.getByRole("button", { name: "View" }).click();
    await page.locator(".merge-taken").getByText("six").waitFor();
    shown.calm();
  });

  test("sessions stopped by a budget or an error count as waiting for a person", async () => {
    await using quiet = await makeStand({ concurrency: 0 });
    const spent = await quiet.engine.open({ objective: "Spend it all", budget: { tokens: 1 } });
    await spent.input("Note that a is 1.");
    await spent.run();
    assert.equal((await spent.state()).why?.by, "budget");
    const resting = await quiet.engine.open({ objective: "Rest a while" });
    await resting.suspend();
    await using shown = await quiet.page(browser);
    const { page } = shown;
    await page.getByRole("link", { name: "1 waiting for a person" }).click();
    await page.waitForURL(/waits=person/);
    await page.getByRole("link", { name: "Spend it all" }).waitFor();
    assert.equal(await page.getByRole("link", { name: "Rest a while" }).count(), 0);
    shown.calm();
  });

  test("a double click on a button that opens a dialog leaves the dialog open", async () => {
    const session = await stand.told("Click twice", "Note that a is 1.");
    await session.trigger("often", { kind: "every", everyMs: 60_000 });
    await using shown = await stand.page(browser, { at: `/s/${session.id}?at=8` });
    const { page } = shown;
    await page.getByRole("button", { name: "Rewind…" }).dblclick();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Rewind to 8" }).waitFor();
    await page.waitForTimeout(300);
    assert.ok(await dialog.isVisible());
    // A click beside it still closes it.
    await page.mouse.click(5, 5);
    await dialog.waitFor({ state: "detached" });
    await page.goto(`${stand.url}/triggers`);
    await page.getByRole("button", { name: "Remove" }).dblclick();
    const remove = page.getByRole("button", { name: "Remove trigger" });
    await remove.waitFor();
    await page.waitForTimeout(300);
    await remove.dblclick();
    await remove.waitFor({ state: "detached" });
    assert.deepEqual(await session.triggers(), []);
    shown.calm();
  });
});
