/** The Markdown of an answer on the page: structure, safe links, nothing loaded from elsewhere. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { Browser } from "playwright-core";
import { buildPage, noChromium, startChromium } from "./chromium.ts";
import { makeStand, type Stand } from "./stand.ts";

const skip = await noChromium();
const answer = `## Findings

See [the report](https://example.org/report "javascript:x") or **write** to <mailto:a@example.org>.

| service | p99 (ms) | note |
|:--|--:|---|
| login | 120 | ${"long ".repeat(60)} |
| search | 8 | \`cached\` |

1. first
   - inner with *stress*
   - another
2. second

> quoted ![pixel](https://evil.invalid/pixel.png)

\`\`\`ts
const a = 1;
\`\`\`

<img src="https://evil.invalid/x.png"> [no](javascript:window.pwned=1)`;

suite("Markdown", { skip }, () => {
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

  test("an answer is shown with its structure and loads nothing", { timeout: 120_000 }, async () => {
    const session = await stand.engine.open({ objective: "Report" });
    await session.append("go");
    {
      await using drive = await session.drive();
      await drive.begin();
      await drive.request({ model: "acme/large", reserve: { tokens: 10 } });
      const usage = { inputTokens: 1, outputTokens: 1 };
      await drive.respond({
        finish: "stop",
        usage,
        costNanoUsd: null,
        blocks: [{ type: "text", text: answer }],
      });
      await drive.end();
    }
    await using shown = await stand.page(browser, { at: `/s/${session.id}` });
    const { page } = shown;
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    const prose = page.locator(".prose").last();
    await prose.locator("table").waitFor();
    const counts = await prose.evaluate((element) =>
      ["th", "tbody tr", "ol > li", "ol ul > li", "blockquote", "figure pre", "img", "script"].map(
        (selector) => element.querySelectorAll(selector).length,
      ),
    );
    assert.deepEqual(counts, [3, 2, 2, 2, 1, 1, 0, 0]);
    const links = await prose.evaluate((element) =>
      [...element.querySelectorAll("a")].map(({ href, rel, target }) => [href, rel, target]),
    );
    const safe = ["noopener noreferrer nofollow", "_blank"];
    assert.deepEqual(links, [
      ["https://example.org/report", ...safe],
      ["mailto:a@example.org", ...safe],
      // The address in the text of the tag: a link to follow, nothing that loads.
      ["https://evil.invalid/x.png", ...safe],
    ]);
    const wide = await page.evaluate(
      () => document.documentElement.scrollWidth > document.documentElement.clientWidth,
    );
    assert.equal(wide, false);
    assert.deepEqual(
      asked.filter((url) => !url.startsWith(stand.url)),
      [],
    );
    const file = process.env["SKEIN_MARKDOWN_PICTURE"];
    if (file !== undefined) await page.screenshot({ path: file, fullPage: true });
    shown.calm();
  });
});
