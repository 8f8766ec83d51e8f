/** The docs site in a browser: no error under the content security policy, search, a phone, and axe. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { extname } from "node:path";
import { after, before, suite, test } from "node:test";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { buildSite } from "../../docs/site/build.ts";
import type { PageFile } from "../../src/server/http/console-files.ts";
import { pageTypes } from "../../src/cli/open/console-files.ts";
import { served, type Served } from "../server/served.ts";
import { sliced } from "../slice.ts";
import { noChromium, startChromium } from "./chromium.ts";

const skip = await noChromium();
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

suite("the docs site in a browser", { skip }, () => {
  let browser: Browser;
  let place: Served;
  before(async () => {
    const { files } = await buildSite();
    const docs = new Map(
      [...files].map(([path, content]): [string, PageFile] => {
        const type = pageTypes[extname(path)] ?? "text/plain";
        return [`/${path}`, { type, bytes: Buffer.from(content), etag: path, immutable: false }];
      }),
    );
    [browser, place] = await Promise.all([startChromium(), served({ docs: async () => docs })]);
  });
  after(async () => {
    await browser?.close();
    await place?.[Symbol.asyncDispose]();
  });

  /** Runs with a page, and fails on anything that its console reports. */
  async function withPage(
    path: string,
    options: BrowserContextOptions,
    run: (page: Page) => Promise<void>,
  ): Promise<void> {
    const context = await browser.newContext({ reducedMotion: "reduce", ...options });
    const page = await context.newPage();
    const reported: string[] = [];
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) reported.push(message.text());
    });
    page.on("pageerror", (error) => reported.push(error.message));
    try {
      await page.goto(`${place.server.url}/docs/${path}`);
      await run(page);
      assert.deepEqual(reported, []);
    } finally {
      await context.close();
    }
  }

  const desk = { viewport: { width: 1280, height: 800 } };
  const phone = { viewport: { width: 390, height: 844 } };

  test("search opens with / and Ctrl+K, and the keys lead to the result", async () => {
    await withPage("tutorial.html", desk, async (page) => {
      await page.keyboard.press("/");
      const field = page.getByRole("combobox");
      await field.fill("kill");
      await page.getByRole("option", { selected: true }).getByText("5. Kill a turn").waitFor();
      await page.keyboard.press("Escape");
      await field.waitFor({ state: "hidden" });
      await page.keyboard.press("Control+k");
      await field.fill("openengine");
      await page.getByRole("option").first().getByText("openEngine").first().waitFor();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("ArrowUp");
      await page.keyboard.press("Enter");
      await page.waitForURL(/\/docs\/api\/skein\.html#openengine$/);
    });
  });

  test("the theme and copy buttons work, and the outline follows", async () => {
    const options = { ...desk, viewport: { width: 1440, height: 800 }, colorScheme: "light" } as const;
    await withPage(
      "tools.html",
      { ...options, permissions: ["clipboard-write", "clipboard-read"] },
      async (page) => {
        await page.locator("[data-theme-switch]").click();
        assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
        await page.reload();
        assert.equal(await page.locator("html").getAttribute("data-theme"), "dark", "it is remembered");
        const copy = page.locator(".copy").first();
        await copy.focus();
        await copy.press("Enter");
        await page.getByText("Copied").waitFor();
        assert.match(await page.evaluate(() => navigator.clipboard.readText()), /defineTool/);
        await page.locator(".outline").getByText("Sandbox").click();
        await page.locator('.outline [aria-current="true"]').getByText("Sandbox").waitFor();
      },
    );
  });

  test("on a phone the navigation opens and closes, and nothing scrolls sideways", async () => {
    await withPage("concepts.html", phone, async (page) => {
      await page.getByRole("button", { name: "Menu" }).click();
      const tutorial = page.locator("#nav").getByRole("link", { name: "Five-minute tutorial" });
      await tutorial.waitFor();
      await page.keyboard.press("Escape");
      await tutorial.waitFor({ state: "hidden" });
      for (const path of [
        "",
        "tools.html",
        "cli.html",
        "api/engine.html",
        "from-temporal.html",
        "calls.html",
      ]) {
        await page.goto(`${place.server.url}/docs/${path}`);
        const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.equal(over, 0, path);
      }
    });
  });

  test("axe finds nothing in pages and search, in both themes", async () => {
    const found: string[] = [];
    const all = [
      "tools.html",
      "",
      "tutorial.html",
      "concepts.html",
      "api/skein-tool.html",
      "cli.html",
      "adr.html",
    ];
    await withPage("", { ...desk, bypassCSP: true }, async (page) => {
      const look = async (name: string): Promise<void> => {
        for (const theme of ["light", "dark"]) {
          await page.evaluate((to) => (document.documentElement.dataset["theme"] = to), theme);
          found.push(...(await violations(page)).map((one) => `${name} (${theme}): ${one}`));
        }
      };
      for (const path of sliced(all.slice(0, 2), all)) {
        await page.goto(`${place.server.url}/docs/${path}`);
        await page.evaluate(axe);
        await look(path);
      }
      await page.keyboard.press("/");
      await page.getByRole("combobox").fill("fork");
      await page.getByRole("option").first().waitFor();
      await look("search");
    });
    assert.deepEqual(found, []);
  });
});

async function violations(page: Page): Promise<string[]> {
  const { violations: all } = (await page.evaluate("axe.run()")) as {
    readonly violations: readonly {
      readonly id: string;
      readonly nodes: readonly { readonly html: string }[];
    }[];
  };
  return all.map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 160) ?? ""} (${nodes.length})`);
}
