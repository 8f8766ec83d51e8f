/** A session that is worked with: its answers, its questions, and whatever gets in between. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import type { Session } from "../../src/index.ts";
import { buildPage, noChromium, startChromium } from "./chromium.ts";
import { makePen, penName, type Pen } from "./pen.ts";
import { makeStand, type Stand } from "./stand.ts";

const skip = await noChromium();

/** An image of one pixel. */
const dot =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const entriesOf = (page: Page): Locator => page.getByLabel("Entries");
const messageOf = (page: Page): Locator => page.getByRole("textbox", { name: "Message" });
const headOf = (page: Page): Locator =>
  page.locator("header", { has: page.getByRole("heading", { level: 1 }) });

async function say(page: Page, text: string): Promise<void> {
  await messageOf(page).fill(text);
  await messageOf(page).press("Enter");
}

async function typesOf(session: Session): Promise<string[]> {
  const types: string[] = [];
  for await (const { type } of session.events()) types.push(type);
  return types;
}

suite("a session in a browser", { skip }, () => {
  let browser: Browser;
  let stand: Stand;
  let pen: Pen;
  before(async () => {
    buildPage();
    browser = await startChromium();
    pen = makePen();
    stand = await makeStand({ models: pen.models });
  });
  after(async () => {
    await browser?.close();
    await stand?.[Symbol.asyncDispose]();
  });

  /** One whose answers are written by the test. */
  const watched = async (name: string) => {
    const session = await stand.engine.open({ objective: name, name, model: penName });
    const shown = await stand.page(browser, { at: `/s/${session.id}` });
    await shown.page.getByRole("heading", { name, level: 1 }).waitFor();
    await shown.follows();
    return { session, shown };
  };

  test("an answer is seen while it is made, in two tabs at once", async () => {
    const { session, shown: first } = await watched("Tell a story");
    await using shown = first;
    await using other = await stand.page(browser, { at: `/s/${session.id}` });
    await other.follows();
    await say(shown.page, "Begin");
    await other.page.getByText("Begin", { exact: true }).waitFor();
    pen.write("Once upon a time ");
    for (const { page } of [shown, other]) await entriesOf(page).getByText("Once upon a time").waitFor();
    assert.ok(!(await typesOf(session)).includes("model.responded"), "the log has it already");
    pen.write("there was a log.");
    await entriesOf(shown.page).getByText("Once upon a time there was a log.").waitFor();
    pen.end();
    for (const { page } of [shown, other]) {
      await headOf(page).getByText("open", { exact: true }).waitFor();
      assert.equal(await entriesOf(page).getByText("Once upon a time there was a log.").count(), 1);
    }
    shown.calm();
    other.calm();
  });

  test("a call that asks first is answered in place", async () => {
    const session = await stand.engine.open({
      objective: "Settle a refund",
      grant: [{ tool: "record", rule: "ask" }],
    });
    await using shown = await stand.page(browser, { at: `/s/${session.id}` });
    const { page } = shown;
    await say(page, "Decide refund: give back 40 EUR, because the parcel came damaged.");
    await headOf(page).getByText("suspended", { exact: true }).waitFor();
    assert.deepEqual(await session.items(), []);
    await messageOf(page).press("Escape");
    await page.keyboard.press("a");
    await page.keyboard.press("Enter");
    await headOf(page).getByText("open", { exact: true }).waitFor();
    const items = await session.items();
    assert.deepEqual(
      items.map(({ kind, key }) => [kind, key]),
      [["decision", "refund"]],
    );
    assert.equal(await page.getByRole("button", { name: "Allow" }).count(), 0);
    shown.calm();
  });

  test("a command is allowed once, for the session, or always", async () => {
    const session = await stand.engine.open({
      objective: "List the files",
      bind: [{ kind: "shell", path: stand.folder }],
      grant: [{ name: "unsafe", tool: "*", effect: "unsafe", rule: "ask" }],
    });
    await using shown = await stand.page(browser, { at: `/s/${session.id}` });
    const { page } = shown;
    await say(page, "run ls -a");
    await page.getByRole("button", { name: "Allow once" }).waitFor();
    await page.getByRole("button", { name: "Allow shell for this session" }).waitFor();
    await page.getByText(`Runs in ${stand.folder}`).waitFor();
    await page.getByRole("button", { name: "Always allow this command" }).click();
    await headOf(page).getByText("open", { exact: true }).waitFor();
    const approvals = await stand.engine.approvals();
    assert.deepEqual(
      approvals.map(({ tool, command }) => [tool, command.text, command.directory]),
      [["shell", "ls -a", stand.folder]],
    );
    shown.calm();
  });

  test("Escape interrupts and keeps the partial answer", async () => {
    const { session, shown: first } = await watched("Talk without end");
    await using shown = first;
    const { page } = shown;
    await say(page, "Begin");
    pen.write("It goes on and on ");
    await entriesOf(page).getByText("It goes on and on").waitFor();
    await headOf(page).getByText("running", { exact: true }).waitFor();
    await messageOf(page).press("Escape");
    await headOf(page).getByText("open", { exact: true }).waitFor();
    assert.ok((await typesOf(session)).includes("session.interrupted"));
    await entriesOf(page).getByText("Interrupted").first().waitFor();
    shown.calm();
  });

  test("a server that is started anew in the middle of an answer is waited for", async () => {
    const { shown: first } = await watched("Outlive the server");
    await using shown = first;
    const { page } = shown;
    await say(page, "Begin");
    pen.write("Before the end ");
    await entriesOf(page).getByText("Before the end").waitFor();
    await stand.stop();
    await page.getByText("The server is unreachable.").waitFor();
    pen.write(`and after it.\n\n${"A line.\n\n".repeat(80)}`);
    pen.end();
    await stand.start();
    await page.getByText("The server is unreachable.").waitFor({ state: "hidden" });
    await entriesOf(page).getByText("Before the end and after it.").waitFor();
    await headOf(page).getByText("open", { exact: true }).waitFor();
    assert.equal(await entriesOf(page).getByText("Before the end").count(), 1);
    // Who was at the end still is.
    await page.waitForFunction(() => {
      const { scrollTop = 0, scrollHeight = 0, clientHeight = 0 } = document.querySelector(".entries") ?? {};
      return scrollHeight > 2 * clientHeight && scrollHeight - clientHeight - scrollTop < 2;
    });
    shown.calm(/ERR_CONNECTION_REFUSED/, /ERR_INCOMPLETE_CHUNKED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET/);
  });

  test("a dead network is shown, and missed events arrive after it", async () => {
    const session = await stand.engine.open({ objective: "Go through a tunnel" });
    await using shown = await stand.page(browser, { at: `/s/${session.id}` });
    const { page, context } = shown;
    await shown.follows();
    await context.setOffline(true);
    await page.getByText("The server is unreachable.").waitFor();
    await session.input("Note that light is at the end.");
    await context.setOffline(false);
    await page.getByText("The server is unreachable.").waitFor({ state: "hidden" });
    await entriesOf(page).getByText("Note that light is at the end.").waitFor();
    shown.calm(/ERR_INTERNET_DISCONNECTED|ERR_NETWORK_CHANGED/);
  });

  test("after a token is revoked the page asks for another, and returns to the same view", async () => {
    const { id, token } = await stand.engine.addToken({ scopes: ["admin"] });
    const session = await stand.engine.open({ objective: "Be locked out" });
    await using shown = await stand.page(browser, { at: `/s/${session.id}`, token });
    const { page } = shown;
    await messageOf(page).fill("Half a thought");
    await shown.follows();
    await stand.engine.revokeToken(id);
    await page.getByRole("heading", { name: "Log in to Skein" }).waitFor();
    await page.getByText("Your login has expired or was revoked").waitFor();
    await page.getByLabel("Login link or token").fill(stand.token);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("heading", { name: "Be locked out" }).waitFor();
    assert.equal(await messageOf(page).inputValue(), "Half a thought");
    shown.calm(/401/);
  });

  test("a token that expires while the page is open asks for another", async () => {
    const { token } = await stand.engine.addToken({ scopes: ["admin"], expiresAt: Date.now() + 4_000 });
    const session = await stand.engine.open({ objective: "Run out of time" });
    await using shown = await stand.page(browser, { at: `/s/${session.id}`, token });
    await shown.page.getByRole("heading", { name: "Run out of time" }).waitFor();
    await shown.page.getByRole("heading", { name: "Log in to Skein" }).waitFor();
    shown.calm(/401/);
  });

  test("a session that is deleted while it is looked at says so, and leads away", async () => {
    const session = await stand.engine.open({ objective: "Be gone soon" });
    await using shown = await stand.page(browser, { at: `/s/${session.id}` });
    const { page } = shown;
    await shown.follows();
    await stand.engine.delete(session.id);
    await page.getByRole("heading", { name: "This session was deleted" }).waitFor();
    await page.getByRole("link", { name: "All sessions" }).click();
    await page.getByRole("heading", { name: "Sessions", exact: true }).waitFor();
    shown.calm(/404/, /410/);
  });

  test("a long text and an image are pasted, and arrive whole", async () => {
    const session = await stand.engine.open({ objective: "Take what is pasted", model: penName });
    await using shown = await stand.page(browser, { at: `/s/${session.id}` });
    const { page } = shown;
    const text = `${"A long line that somebody has copied from elsewhere. ".repeat(20_000)}end`;
    await messageOf(page).waitFor();
    await messageOf(page).evaluate((field, base64) => {
      const files = new DataTransfer();
      const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
      files.items.add(new File([bytes], "dot.png", { type: "image/png" }));
      field.dispatchEvent(
        new ClipboardEvent("paste", { clipboardData: files, bubbles: true, cancelable: true }),
      );
    }, dot);
    await page.getByRole("button", { name: "Remove dot.png" }).waitFor();
    await page.getByText("sending…").waitFor({ state: "detached" });
    const warning = page.getByText("Too long for a message: sent as the file pasted.txt");
    await messageOf(page).focus();
    await messageOf(page).fill("short");
    assert.equal(await warning.count(), 0);
    await messageOf(page).fill(text, { timeout: 60_000 });
    await warning.waitFor();
    await messageOf(page).press("Enter");
    await warning.waitFor({ state: "detached" });
    // For a moment it stands both in the queue and in the transcript.
    await page.getByRole("img", { name: "Attached: image/png" }).first().waitFor();
    await page.getByText("pasted.txt").waitFor();
    pen.write("Thank you.");
    pen.end();
    await entriesOf(page).getByText("Thank you.").waitFor();
    const blocks: { readonly type: string; readonly blob?: string }[] = [];
    for await (const { content } of session.events({ types: ["input.received"] }))
      blocks.push(...((content as { readonly blocks: typeof blocks } | undefined)?.blocks ?? []));
    assert.deepEqual(
      blocks.map(({ type }) => type),
      ["file", "image"],
    );
    const [kept, image] = await Promise.all(blocks.map(({ blob = "" }) => stand.engine.blob(blob)));
    assert.equal(Buffer.from(kept ?? []).toString(), text);
    assert.equal(Buffer.from(image ?? []).toString("base64"), dot);
    shown.calm();
  });
});
