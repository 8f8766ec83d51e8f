/** How it looks and is reached: both themes, a phone, the keys alone; and nothing that axe finds serious. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, suite, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import type { RemoteEngine } from "../../src/client/connect.ts";
import { makeSampleFamily } from "../../src/console/sample/maker.ts";
import { freshSeed } from "../crash/random.ts";
import { slicedEvery } from "../slice.ts";
import { buildPage, noChromium, startChromium } from "./chromium.ts";
import { makeTranscriptHome, type TranscriptHome } from "../server/transcript-home.ts";
import { makeStand, type Stand } from "./stand.ts";

const skip = await noChromium();
/** Which of the views this run looks at: over the runs, all of them. */
const seed = freshSeed();
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Violation {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

suite("how it looks and is reached", { skip }, () => {
  let browser: Browser;
  let stand: Stand;
  let home: TranscriptHome;
  let center: string;
  let other: string;
  let project: string;
  before(async () => {
    buildPage();
    browser = await startChromium();
    home = makeTranscriptHome();
    stand = await makeStand({ concurrency: 0, transcripts: home.transcripts });
    // The library's engine has every call of a client's.
    const made = await makeSampleFamily(stand.engine as unknown as RemoteEngine, () => undefined);
    center = made.id;
    const doubtful = { scope: "workspace", kind: "fact", value: "Southpay", propose: true } as const;
    for (const key of ["provider", "fee"]) await stand.engine.remember({ ...doubtful, key });
    const { rows } = await stand.engine.sessions({ text: "Southpay" });
    other = rows[0]?.session ?? "";
    ({ project } = await stand.engine.openProject({ objective: "Storefront", constraints: ["no cards"] }));
    await stand.engine.recordInProject(project, { kind: "decision", key: "provider", value: "Northpay" });
    const work = await stand.engine.open({ objective: "Migrate invoices", project });
    await (await work.rollover()).fork({ name: "Reproduce it" });
    const { sessions } = await home.transcripts.find({});
    const keys = sessions.slice(0, 2).map(({ key }) => key);
    await home.transcripts.import(stand.engine, { keys });
  });
  after(async () => {
    await browser?.close();
    await stand?.[Symbol.asyncDispose]();
    home?.[Symbol.dispose]();
  });

  /** Every main view, with a word that is there once it is read. */
  const views = (): readonly (readonly [path: string, word: string])[] => [
    ["/", "Payment provider"],
    [`/s/${center}`, "Northpay"],
    [`/s/${center}?at=12`, "Viewing position"],
    [`/s/${center}/context`, "tokens"],
    [`/s/${center}/log`, "lease.released"],
    [`/s/${center}/family`, "Fees of a year"],
    [`/s/${center}/compare?with=${other}`, "provider"],
    [`/s/${center}/merge?from=${other}`, "unresolved"],
    ["/search?q=provider", "hit"],
    ["/projects", "Storefront"],
    [`/projects/${project}`, "Reproduce it"],
    ["/agents", "sample"],
    ["/triggers", "sample-yearly-report"],
    ["/workers", "worker"],
    ["/cost", "Cost"],
    ["/memory", "provider"],
    ["/import", "Which rate"],
    ["/import/stats", "By project"],
  ];

  const show = async (page: Page, [path, word]: readonly [string, string]): Promise<void> => {
    await page.goto(`${stand.url}${path}`);
    const text = page.locator("main").getByText(word).first();
    await text.waitFor({ state: "attached" }).catch(() => assert.fail(`${path} shows no ${word}`));
    await page.getByText("Loading…").first().waitFor({ state: "detached" });
  };

  test("a page of a session that fits its window does not scroll", { timeout: 200_000 }, async () => {
    await using shown = await stand.page(browser, { reducedMotion: "reduce" });
    const { page } = shown;
    const found: string[] = [];
    const inSession = views().filter(([path]) => path.startsWith("/s/"));
    for (const view of slicedEvery(inSession, 3, seed)) {
      await page.setViewportSize({ width: 1280, height: 3000 });
      await show(page, view);
      for (const [width, height] of [
        [1280, 3000],
        [1600, 4000],
        [390, 6000],
      ] as const) {
        await page.setViewportSize({ width, height });
        const over = (): Promise<number> =>
          page.evaluate(() => document.documentElement.scrollHeight - innerHeight);
        // What is read later moves things for a moment.
        for (let tries = 0; tries < 20 && (await over()) !== 0; tries++) await page.waitForTimeout(100);
        if ((await over()) !== 0) found.push(`${view[0]} at ${width}x${height}: ${await over()} px over`);
      }
    }
    assert.deepEqual(found, []);
  });

  test(
    "every main view fits small screens, and axe finds nothing serious in it",
    { timeout: 200_000 },
    async () => {
      await using shown = await stand.page(browser, { reducedMotion: "reduce", bypassCSP: true });
      const { page } = shown;
      const found: string[] = [];
      for (const view of slicedEvery(views(), 4, seed)) {
        await page.emulateMedia({ colorScheme: "light" });
        await page.setViewportSize({ width: 1280, height: 800 });
        await show(page, view);
        await page.evaluate(axe);
        const seen = [...(await lookedAt(page)), ...(await inTheDark(page)), ...(await onSmallScreens(page))];
        found.push(...seen.map((one) => `${view[0]}: ${one}`));
      }
      assert.deepEqual(found, []);
      shown.calm();
    },
  );

  test("with little room beside the places the names of sessions are still read", async () => {
    for (const width of [761, 1000, 1001]) {
      await using shown = await stand.page(browser, { viewport: { width, height: 800 } });
      const name = shown.page.getByRole("link", { name: "Payment provider" });
      await name.waitFor();
      const room = (await name.boundingBox())?.width ?? 0;
      assert.ok(room >= 90, `at ${width} it has ${room} pixels`);
    }
  });

  test("the label of a button is readable under the pointer, for every kind and both themes", async () => {
    await using shown = await stand.page(browser, { at: `/s/${center}/merge?from=${other}` });
    const { page } = shown;
    await page.locator(".merge-take").first().click();
    await page.evaluate(() => {
      const all = ["main", "bad", "quiet", ""].flatMap((kind) => ["", "small"].map((size) => [kind, size]));
      const buttons = all.map(([kind = "", size = ""]) => {
        const button = Object.assign(document.createElement("button"), { className: "button" });
        if (kind !== "") button.dataset["kind"] = kind;
        if (size !== "") button.dataset["size"] = size;
        button.textContent = `${kind || "plain"} ${size}`;
        return button;
      });
      document.querySelector(".merge-top")?.append(...buttons);
    });
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      const buttons = await page.locator(".merge .button:not(:disabled)").all();
      assert.ok(buttons.length > 10);
      for (const button of buttons) {
        await button.hover();
        assert.ok(await button.evaluate((element) => element.matches(":hover")));
        const [contrast, text] = await button.evaluate(contrastOf);
        assert.ok(contrast >= 4.5, `${colorScheme}: ${text}: ${contrast.toFixed(2)}`);
      }
    }
    shown.calm();
  });

  test("the bar of a merge lies on the places below it, on a phone and enlarged", async () => {
    for (const [width, height, deviceScaleFactor] of [
      [400, 800, 1],
      [640, 400, 2],
    ] as const) {
      const how = { viewport: { width, height }, deviceScaleFactor };
      await using shown = await stand.page(browser, { ...how, at: `/s/${center}/merge?from=${other}` });
      const { page } = shown;
      await page.getByText("conflict unresolved").waitFor();
      const [bar, places] = await Promise.all(
        [".merge-bar", ".nav"].map((found) => page.locator(found).boundingBox()),
      );
      assert.ok(bar && places);
      assert.ok(bar.y + bar.height >= places.y, `${width}: ${bar.y + bar.height} and ${places.y}`);
      assert.ok(bar.y + bar.height <= places.y + 2, `${width}: ${bar.y + bar.height} and ${places.y}`);
      shown.calm();
    }
  });

  test("on a phone a session is opened, and left, with a finger", async () => {
    const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
    await using shown = await stand.page(browser, phone);
    const { page } = shown;
    await page.getByRole("link", { name: "Payment provider" }).tap();
    await page.getByRole("textbox", { name: "Message" }).waitFor();
    await page.getByRole("navigation", { name: "Navigation" }).getByRole("link", { name: "Search" }).tap();
    await page.getByRole("heading", { name: "Search" }).waitFor();
    shown.calm();
  });

  test("with the keys alone one finds a session, writes to it, looks back, and returns", async () => {
    await using shown = await stand.page(browser);
    const { page } = shown;
    const { keyboard } = page;
    await page.getByRole("grid", { name: "Sessions" }).waitFor();
    await page.getByRole("link", { name: "Payment provider" }).waitFor();
    await keyboard.press(".");
    await keyboard.type("Notice to");
    await page.getByRole("link", { name: "Payment provider" }).waitFor({ state: "detached" });
    await page.getByRole("link", { name: "Notice to customers" }).waitFor();
    await keyboard.press("Enter");
    await keyboard.press("j");
    await keyboard.press("Enter");
    await page.waitForURL(/\/s\/ses_/);
    await page.getByRole("textbox", { name: "Message" }).waitFor();
    await keyboard.press("i");
    await page.getByRole("textbox", { name: "Message" }).fill("");
    await keyboard.type("Note that keys are enough.");
    await keyboard.press("Enter");
    await page.getByLabel("Entries").getByText("Recorded the fact keys: enough.").waitFor();
    // While it runs, Escape would stop it.
    await page.getByRole("button", { name: "Send" }).waitFor();
    await page.getByRole("textbox", { name: "Message" }).press("Escape");
    await keyboard.press("?");
    await page.getByRole("dialog").getByText("New session").waitFor();
    await keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await keyboard.press("g");
    await keyboard.press("s");
    await page.getByRole("heading", { name: "Sessions", exact: true }).waitFor();
    await keyboard.press("Control+k");
    await page.getByRole("dialog").waitFor();
    await keyboard.type("What if Southpay");
    await page
      .getByRole("option", { name: /What if Southpay/ })
      .first()
      .waitFor();
    await keyboard.press("Enter");
    await page.getByRole("heading", { name: "What if Southpay?", level: 1 }).waitFor();
    await page.getByRole("textbox", { name: "Message" }).press("Escape");
    await keyboard.press("[");
    await page.getByText("Viewing position").waitFor();
    await page.getByRole("button", { name: /Back to now/ }).waitFor();
    await keyboard.press("Escape");
    await page.getByText("Viewing position").waitFor({ state: "detached" });
    // The address follows once the slider has rested: by then it must not lead back.
    await page.waitForTimeout(500);
    assert.equal(await page.getByText("Viewing position").count(), 0);
    // Tab gets to everything: it comes round, and what has the focus is seen.
    for (let left = 12; left > 0; left--) {
      await keyboard.press("Tab");
      const seen = await page.evaluate(() => {
        const style = getComputedStyle(document.activeElement ?? document.body);
        return (
          document.activeElement === document.body ||
          style.outlineStyle !== "none" ||
          style.boxShadow !== "none"
        );
      });
      assert.ok(seen, await page.evaluate(() => document.activeElement?.outerHTML.slice(0, 200) ?? ""));
    }
    shown.calm();
  });
});

/** The least contrast of what a button says with what is behind it, and what it says. */
function contrastOf(button: Element): readonly [contrast: number, text: string] {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  if (canvas === null) throw new Error("there is no canvas");
  const paint = (color: string): void => {
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
  };
  const light = (): number => {
    const [red = 0, green = 0, blue = 0] = [...canvas.getImageData(0, 0, 1, 1).data].map((part) =>
      part <= 10 ? part / 3294 : ((part / 255 + 0.055) / 1.055) ** 2.4,
    );
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const said = [button, ...button.querySelectorAll("*")].filter((element) =>
    [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent?.trim() !== ""),
  );
  const all = said.map((element) => {
    const behind: string[] = [];
    for (let at: Element | null = element; at !== null; at = at.parentElement)
      behind.unshift(getComputedStyle(at).backgroundColor);
    for (const color of behind) paint(color);
    const ground = light();
    paint(getComputedStyle(element).color);
    const ink = light();
    return (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05);
  });
  return [Math.min(21, ...all), button.textContent ?? ""];
}

/** What axe finds serious, by the rules named, or by all. */
async function lookedAt(page: Page, ...rules: readonly string[]): Promise<string[]> {
  const violations = await page.evaluate(async (named) => {
    const { axe: it } = window as unknown as { axe: { run(how: object): Promise<{ violations: unknown }> } };
    const only = named.length === 0 ? {} : { runOnly: { type: "rule", values: named } };
    return (await it.run({ ...only, resultTypes: ["violations"] })).violations as Violation[];
  }, rules);
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`);
}

async function inTheDark(page: Page): Promise<string[]> {
  await page.emulateMedia({ colorScheme: "dark" });
  const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const [red = 255] = /\d+/.exec(background)?.map(Number) ?? [];
  const isDark = red < 128 ? [] : [`its background is ${background}`];
  return [...isDark, ...(await lookedAt(page, "color-contrast"))].map((one) => `in the dark, ${one}`);
}

/** A tablet, a phone, and a small one. */
async function onSmallScreens(page: Page): Promise<string[]> {
  const found: string[] = [];
  for (const size of [768, 390, 320]) {
    await page.setViewportSize({ width: size, height: 844 });
    const [scrolled, width] = await page.evaluate(
      () => [document.documentElement.scrollWidth, document.documentElement.clientWidth] as const,
    );
    if (scrolled > width) found.push(`with ${size} pixels of room it is ${scrolled} pixels wide`);
  }
  return found;
}
