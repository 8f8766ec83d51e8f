/** What is said to somebody who may only read, or asks for what there is not; and words that are true. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { buildPage, noChromium, startChromium } from "./chromium.ts";
import { makeStand, type Stand } from "./stand.ts";

const skip = await noChromium();

suite("the transcript", { skip }, () => {
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

  /** That a button is off, and says why. */
  const isOff = async (page: Page, name: string, scope: string): Promise<void> => {
    const button = page.locator("main").getByRole("button", { name }).first();
    await page.locator(`main button[title*="scope ${scope}"]`).first().waitFor();
    assert.ok(await button.isDisabled(), name);
    assert.equal(
      await button.getAttribute("title"),
      `This needs the scope ${scope}, which your login lacks.`,
      name,
    );
  };

  test("read-only users see disabled actions with the reason", async () => {
    const { token } = await stand.engine.addToken({ scopes: ["read"] });
    await using first = await stand.page(browser, { token });
    await isOff(first.page, "New session", "write");
    await isOff(first.page, "Create the samples", "write");
    await stand.engine.open({ objective: "Only read", labels: { sample: "yes" } });
    await stand.engine.addAgent({ name: "clerk", instructions: "Be exact." });
    const daily = { kind: "every", everyMs: 86_400_000 } as const;
    await stand.engine.trigger("daily", daily, { open: { objective: "Look" } });
    await stand.engine.remember({ scope: "workspace", kind: "fact", key: "rate", value: "12" });
    const { page } = first;
    await page.goto(`${stand.url}/`);
    await isOff(page, "Remove samples", "admin");
    await page.keyboard.press("n");
    await page.getByText("needs the scope write").waitFor();
    assert.equal(await page.getByRole("dialog").count(), 0);
    await page.goto(`${stand.url}/agents`);
    await isOff(page, "New agent", "operate");
    await page.keyboard.press("a");
    await page.locator(".toast").getByText("needs the scope operate").waitFor();
    assert.equal(await page.getByRole("dialog").count(), 0);
    await page.goto(`${stand.url}/agents/clerk`);
    await isOff(page, "Edit", "operate");
    await page.goto(`${stand.url}/triggers`);
    await isOff(page, "New template", "operate");
    await page.getByRole("button", { name: "Fire now" }).waitFor();
    await isOff(page, "Fire now", "operate");
    await isOff(page, "Remove", "operate");
    const { rows } = await stand.engine.sessions({ text: "Only read" });
    const path = `${stand.url}/s/${rows[0]?.session ?? ""}`;
    await page.goto(`${path}?at=1`);
    for (const name of ["Fork from here", "Rewind to here", "Rewind…"]) await isOff(page, name, "write");
    await page.goto(`${path}/family`);
    await isOff(page, "Fork…", "write");
    await page.keyboard.press("f");
    await page.locator(".toast").getByText("needs the scope write").waitFor();
    await page.getByRole("button", { name: "More actions" }).click();
    for (const [name, scope] of [
      ["Hold…", "write"],
      ["Delete…", "admin"],
    ] as const) {
      const choice = page.getByRole("menuitem", { name });
      assert.ok(await choice.isDisabled(), name);
      assert.match((await choice.getAttribute("title")) ?? "", new RegExp(`needs the scope ${scope}`));
    }
    await page.goto(`${stand.url}/memory`);
    await isOff(page, "Add", "write");
    await page.getByRole("button", { name: "Forget rate" }).waitFor();
    await isOff(page, "Forget rate", "write");
    first.calm();
  });

  test("users with write access see neither machine settings nor the release of held input", async () => {
    const session = await stand.engine.open({
      objective: "Settle a refund",
      bind: [{ kind: "directory", path: stand.folder }],
      grant: [{ tool: "record", rule: "ask" }],
    });
    await session.trigger("often", { kind: "every", everyMs: 86_400_000 });
    await session.input("Decide refund: give back 40 EUR, because the parcel came damaged.");
    await session.run();
    const { token } = await stand.engine.addToken({ scopes: ["read", "write"] });
    await using shown = await stand.page(browser, { at: `/s/${session.id}`, token });
    const { page } = shown;
    await page.getByRole("button", { name: "Remove often" }).waitFor();
    for (const name of ["Remove the rule record", "Remove often"]) await isOff(page, name, "operate");
    await page.getByRole("button", { name: "Add", exact: true }).click();
    for (const name of ["Binding…", "Trigger…"]) {
      const item = page.getByRole("menuitem", { name });
      assert.ok(await item.isDisabled(), name);
      assert.match((await item.getAttribute("title")) ?? "", /scope operate/);
    }
    await page.keyboard.press("Escape");
    for (const name of ["Allow once", "Allow record for this session"]) await isOff(page, name, "operate");
    for (const name of ["Fire often", "Unbind", "Deny"])
      assert.ok(await page.getByRole("button", { name }).isEnabled(), name);
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByRole("menuitem", { name: "Permission…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Allow rules need the scope operate.").waitFor();
    assert.deepEqual(await dialog.getByRole("option").allTextContents(), ["Ask a person first", "Deny"]);
    await dialog.getByLabel("Tool").fill("shell");
    await dialog.getByRole("button", { name: "Add" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Deny" }).click();
    await page.locator(".mark").getByText("denied", { exact: true }).waitFor();
    assert.deepEqual(await session.items(), []);
    shown.calm();
  });

  test("invalid values show a field error, and a blank field changes nothing", async () => {
    const session = await stand.engine.open({
      objective: "Be asked nonsense",
      bind: [{ kind: "directory", path: stand.folder, name: "here" }],
    });
    await using shown = await stand.page(browser, { at: `/s/${session.id}` });
    const { page } = shown;
    const dialog = page.getByRole("dialog");
    /** Fills in a form that is refused with these words. */
    const refused = async (name: string, given: Record<string, string>, words: string): Promise<void> => {
      await page.getByRole("button", { name: "Add", exact: true }).click();
      await page.getByRole("menuitem", { name }).click();
      for (const [field, value] of Object.entries(given)) {
        const element = dialog.locator(`[name=${field}]`);
        await (field === "kind" ? element.selectOption(value) : element.fill(value));
      }
      await dialog.locator("button[data-kind=main]").click();
      await dialog.getByText(words).waitFor();
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
    };
    await refused("Score…", { name: "useful", value: "very" }, "Number: expected a number");
    await refused("Score…", { name: "useful", value: " " }, "Number: required.");
    await refused("Trigger…", { name: "once", kind: "at" }, "Time: required.");
    await refused("Binding…", { kind: "shell", path: " " }, "Path: required.");
    await page.getByRole("button", { name: "Change the budget" }).click();
    await dialog.getByLabel("Tokens").fill("1.5");
    assert.ok(await dialog.getByLabel("Tokens").evaluate((field) => field.matches(":invalid")));
    const { scores, bindings } = await session.state();
    assert.deepEqual(
      [scores, bindings.map(({ name }) => name), await session.triggers()],
      [{}, ["here"], []],
    );
    shown.calm();
  });

  test("a position that one of two branches lacks is shown as missing, in place", async () => {
    const session = await stand.engine.open({ objective: "The first branch" });
    const fork = await session.fork({ name: "The second branch" });
    await using shown = await stand.page(browser, { at: `/s/${session.id}/compare?with=${fork.id}` });
    const { page } = shown;
    for (const typed of ["9999", "abc", "0"]) {
      await page.getByLabel("Position of The first branch").fill(typed);
      await page.keyboard.press("Enter");
      await page.getByText(`Position ${typed} does not exist in “The first branch” (1 to 1).`).waitFor();
    }
    await page.getByLabel("Position of The second branch").fill("1");
    await page.keyboard.press("Enter");
    await page.waitForURL(/withAt=1$/);
    shown.calm();
  });

  test("an unknown filter is reported, whether typed or in the URL", async () => {
    await stand.engine.open({ objective: "Of a team", labels: { team: "blue" } });
    await using shown = await stand.page(browser, { at: "/?status=foo" });
    const { page } = shown;
    await page.getByText("status: expected one of").waitFor();
    const field = page.getByRole("textbox", { name: "Labels" });
    await field.fill("team");
    await field.press("Enter");
    await page.getByText("labels: expected label=value, got “team”.").waitFor();
    assert.equal(await field.getAttribute("aria-invalid"), "true");
    await field.fill("team=blue");
    await page.getByText("labels: expected").waitFor({ state: "detached" });
    await page.waitForURL(/label=team/);
    await page.getByRole("button", { name: "open", exact: true }).click();
    await page.getByText("status: expected").waitFor({ state: "detached" });
    shown.calm();
  });

  test("a fork names its parent, and a shell is not shown as read-only", async () => {
    const session = await stand.engine.open({ objective: "A parent" });
    await session.bind({ kind: "shell", path: process.cwd(), name: "sh" });
    await session.fork({ name: "A child" });
    await using shown = await stand.page(browser, { at: "/?q=A+child" });
    const { page } = shown;
    await page.getByTitle(`Fork of ${session.id} at position`).waitFor();
    await page.goto(`${stand.url}/s/${session.id}`);
    await page.getByText("shell: any command, may change anything").waitFor();
    assert.equal(await page.getByText("directory, read").count(), 0);
    shown.calm();
  });
});
