/** What others wrote is shown as text, wherever it stands, and does nothing. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import type { Session } from "../../src/index.ts";
import { buildPage, noChromium, startChromium } from "./chromium.ts";
import type { OuterTool } from "../../src/tool/port.ts";
import { makeStand, type Stand } from "./stand.ts";

const skip = await noChromium();

const markup = `<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>`;
const link =
  "[click](javascript:window.pwned=1) <a href='javascript:window.pwned=1'>here</a> " +
  "![x](http://evil.invalid/x.png)";
const terminal = "\u001b[2J\u001b]0;owned\u0007\u001b[31mred";
const turned = "invoice\u202Egpj.exe\u2066\u200b";
const all = `${markup} ${link} ${terminal} ${turned}`;
const longChars = 5_000_000;

const evil: OuterTool = {
  name: "evil",
  description: "Says what it says.",
  input: { type: "object" },
  check: async (value) => ({ ok: true, value }),
  effect: "read",
  timeoutMs: 60_000,
  run: async () => `${all} ${"z".repeat(longChars)}`,
};
const broken: OuterTool = {
  ...evil,
  name: "broken",
  run: () => Promise.reject(new Error(`${all} ${"w".repeat(longChars)}`)),
};

suite("hostile content", { skip }, () => {
  let browser: Browser;
  let stand: Stand;
  let session: Session;
  before(async () => {
    buildPage();
    browser = await startChromium();
    stand = await makeStand({ concurrency: 0, toolsOf: () => [evil, broken] });
    session = await makeHostile(stand);
  });
  after(async () => {
    await browser?.close();
    await stand?.[Symbol.asyncDispose]();
  });

  /** Nothing of it became more than text: no script, no element, no address, no dialog. */
  async function isHarmless(page: Page, where: string): Promise<void> {
    const found = await page.evaluate(() => ({
      pwned: "pwned" in window,
      title: document.title.includes("owned\u0007"),
      images: [...document.images].filter(({ src }) => !src.endsWith("/icon.svg") && !src.startsWith("blob:"))
        .length,
      links: [...document.links].filter(({ href }) => !href.startsWith(location.origin)).length,
      scripts: [...document.scripts].filter(({ src }) => !src.startsWith(location.origin)).length,
      raw: /[\u001b\u0007\u202E\u2066\u200b]/.test(document.body.textContent ?? ""),
      wide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
    }));
    const none = { pwned: false, title: false, images: 0, links: 0, scripts: 0, raw: false, wide: false };
    assert.deepEqual(found, none, where);
  }

  test("every view shows it as text", async () => {
    await using shown = await stand.page(browser);
    const { page } = shown;
    page.on("dialog", (dialog) => {
      shown.said.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    const { id } = session;
    const fork = await session.fork({ name: `fork ${all}`.slice(0, 190) });
    await fork.record("fact", "other", markup);
    await session.record("fact", "other", link);
    const paths = [
      "/",
      `/s/${id}`,
      `/s/${id}/log?seq=1`,
      `/s/${id}/context`,
      `/s/${id}/family`,
      `/s/${id}/compare?with=${fork.id}`,
      `/s/${id}/merge?from=${fork.id}`,
      "/search?q=invoice",
      "/agents/evil",
      "/memory",
    ];
    for (const path of paths) {
      await page.goto(`${stand.url}${path}`);
      const text = page.getByText(/onerror|⟨U\+202E⟩|javascript:/).first();
      await text.waitFor().catch((error: unknown) => assert.fail(`${path}: ${String(error)}`));
      await isHarmless(page, path);
    }
    shown.calm();
  });

  test("a line of five megabytes leaves the page quick", async () => {
    await using shown = await stand.page(browser, { at: `/s/${session.id}` });
    const { page } = shown;
    await page.getByText("long.txt").waitFor();
    for (const name of ["Transcript", "Log", "Context", "Transcript"]) {
      await page.getByRole("link", { name, exact: true }).click();
      await page.getByRole("heading", { level: 1 }).waitFor();
    }
    const chars = await page.evaluate(() => document.body.textContent?.length ?? 0);
    assert.ok(chars < 300_000, `${chars} characters are in the page`);
    // It answers at once: two frames come in a time in which a layout of the whole line could not.
    const ms = await page.evaluate(async () => {
      const from = performance.now();
      for (let left = 2; left > 0; left--) await new Promise((resolve) => requestAnimationFrame(resolve));
      return performance.now() - from;
    });
    assert.ok(ms < 2_000, `${ms} ms`);
    shown.calm();
  });
});

/** It stands in every place that takes a text of somebody. */
async function makeHostile({ engine }: Stand): Promise<Session> {
  const instructions = `${all} \`\`\`html\n${markup}\n\`\`\` # ${markup}`;
  await engine.addAgent({ name: "evil", instructions });
  const session = await engine.open({
    objective: all,
    name: all.slice(0, 199),
    agent: "evil",
  });
  for (const text of [all, "Call evil", "Call broken"]) {
    await session.input(text);
    await session.run();
  }
  await session.record("fact", markup.slice(0, 90), all);
  await session.record("decision", "d", turned, { because: all });
  await session.record("task", "t", terminal, { status: "open" });
  await session.record("artifact", "a", { [markup]: link });
  await session.save(`point ${turned}`.replaceAll(/[^\w ]/g, ""));
  const blob = await engine.putBlob(new TextEncoder().encode(markup));
  await session.input([
    { type: "file", blob, mediaType: "text/html", name: `${markup}.html` },
    { type: "image", blob, mediaType: "image/svg+xml" },
  ]);
  await session.input("x".repeat(900_000));
  const long = await engine.putBlob(new TextEncoder().encode("y".repeat(longChars)));
  await session.input([{ type: "file", blob: long, mediaType: "text/plain", name: "long.txt" }]);
  await session.promote("fact", markup.slice(0, 90), { scope: "workspace", because: all });
  return session;
}
