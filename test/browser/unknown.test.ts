/** A call of which nobody can tell whether it happened: somebody says so in the browser, and it goes on. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import type { Session } from "../../src/index.ts";
import { buildPage, noChromium, startChromium } from "./chromium.ts";
import { payTool } from "./cut-off.ts";
import { makeStand, type Stand } from "./stand.ts";

const skip = await noChromium();

const bookOf = (folder: string): string => join(folder, "book");
const statusOf = (page: Page, status: string) =>
  page.locator("header", { has: page.getByRole("heading", { level: 1 }) }).getByText(status, { exact: true });

suite("a call whose outcome is unknown", { skip }, () => {
  let browser: Browser;
  let stand: Stand;
  before(async () => {
    buildPage();
    browser = await startChromium();
    // Without a worker: what is answered in the page is run from there.
    stand = await makeStand({ concurrency: 0, toolsOf: (folder) => [payTool(bookOf(folder))] });
  });
  after(async () => {
    await browser?.close();
    await stand?.[Symbol.asyncDispose]();
  });

  const payments = (): string[] => readFileSync(bookOf(stand.folder), "utf8").trim().split("\n");

  /** A session whose process was killed once the money was gone. */
  async function killed(input: string): Promise<Session> {
    const child = join(import.meta.dirname, "cut-off.ts");
    const args = ["--conditions=skein-source", child, stand.store, bookOf(stand.folder), input];
    const { signal, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
    assert.equal(signal, "SIGKILL", stderr);
    return stand.engine.session(stdout.trim());
  }

  /** One that was taken up by somebody else since. */
  async function cutOff(input: string): Promise<Session> {
    const session = await killed(input);
    const ran = await session.run();
    assert.deepEqual([ran.status, (await session.state()).why?.by], ["suspended", "unknown"]);
    return session;
  }

  /** What it was told of it, and that it was asked once more after that. */
  async function goneOn(session: Session): Promise<string> {
    const events = await Array.fromAsync(session.events());
    const told = events.findLast(({ type }) => type === "input.received");
    const answered = events.findLast(({ type }) => type === "model.responded");
    assert.ok((answered?.seq ?? 0) > (told?.seq ?? Infinity), "no model was asked after that");
    const content = told?.content as { readonly blocks: readonly { readonly text: string }[] } | undefined;
    return (content?.blocks ?? []).map(({ text }) => text).join();
  }

  test("it is listed as waiting, is answered in place, and the session resumes", async () => {
    const session = await cutOff('call pay {"to":"Ann"} and call pay {"to":"Bob"}');
    const paid = payments();
    await using shown = await stand.page(browser);
    const { page } = shown;
    await page.getByRole("link", { name: "1 waiting for a person" }).click();
    await page.getByRole("link", { name: "Pay the bill" }).click();
    await page.getByText("Did it take effect?").waitFor();
    await page.getByText("Answer above whether the call took effect").waitFor();
    await page.getByText("1 more call with an unknown outcome").waitFor();
    await page.getByLabel("Note for the model (optional)").fill("So did the one to Bob.");
    await page.getByRole("button", { name: "Mark as done" }).click();
    await statusOf(page, "open").waitFor();
    assert.equal(await page.getByText("Did it take effect?").count(), 0);
    assert.equal(await goneOn(session), "The call of pay (to: Ann) did happen. So did the one to Bob.");
    assert.deepEqual(payments(), paid);
    shown.calm();
  });

  test("users with write access can settle the outcome, by keyboard too", async () => {
    const session = await cutOff('call pay {"to":"Eve"}');
    const paid = payments();
    const { token } = await stand.engine.addToken({ scopes: ["read", "write"] });
    await using shown = await stand.page(browser, { at: `/s/${session.id}`, token });
    const { page } = shown;
    await page.getByText("Did it take effect?").waitFor();
    await page.getByRole("textbox", { name: "Message" }).press("Escape");
    await page.keyboard.press("a");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await statusOf(page, "open").waitFor();
    assert.equal(await goneOn(session), "The call of pay (to: Eve) did not happen.");
    assert.deepEqual(payments(), paid);
    shown.calm();
  });

  test("until then, a call without a runner does not show as running", async () => {
    const session = await killed('call pay {"to":"Sue"}');
    const lease = await session.lease({ holder: "passing by" });
    await lease.release();
    await using shown = await stand.page(browser, { at: `/s/${session.id}` });
    const { page } = shown;
    await page.locator(".call").getByText("interrupted", { exact: true }).waitFor();
    await page.goto(`${stand.url}/s/${session.id}?at=${(await session.head()).seq - 2}`);
    await page.locator(".call").getByText("running", { exact: true }).waitFor();
    shown.calm();
  });
});
