/** What was: time travel, forks, merges, search, and the way back to every place. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import type { Session } from "../../src/index.ts";
import { buildPage, noChromium, startChromium } from "./chromium.ts";
import { makeStand, type Stand } from "./stand.ts";

const skip = await noChromium();

const sliderOf = (page: Page) => page.getByRole("slider", { name: "Position in the log" });
const nowIn = async (page: Page): Promise<number> =>
  Number(await sliderOf(page).getAttribute("aria-valuenow"));
const idIn = (page: Page): string => new URL(page.url()).pathname.split("/")[2] ?? "";

const keysOf = async (session: Session): Promise<unknown> =>
  Object.fromEntries((await session.items()).map(({ key, value }) => [key, value]));

suite("what was", { skip }, () => {
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

  /** A session with a fact that was another at `seq`. */
  const repainted = async (objective: string) => {
    const session = await stand.told(objective, "Note that color is red.");
    const { seq } = await session.head();
    await session.input("Note that color is blue.");
    await session.run();
    return { session, seq };
  };

  test("a position of the past is shown whole, has an address, and is forked from in one click", async () => {
    const session = await stand.told("Watch the rate", "Note that rate is 1.");
    const { seq } = await session.head();
    await session.input("Note that rate is 2.");
    await session.run();
    await using shown = await stand.page(browser, { at: `/s/${session.id}` });
    const { page } = shown;
    await page.getByText("Note that rate is 2.", { exact: true }).waitFor();
    await sliderOf(page).focus();
    for (let step = (await session.head()).seq; step > seq; step--) await page.keyboard.press("ArrowLeft");
    await page.getByText("Viewing position").waitFor();
    await page.waitForURL(new RegExp(`at=${seq}$`));
    await page.getByText("Note that rate is 2.", { exact: true }).waitFor({ state: "hidden" });
    assert.equal(await nowIn(page), seq);
    await page.reload();
    await page.getByText("Viewing position").waitFor();
    assert.equal(await nowIn(page), seq);
    await page.getByRole("button", { name: "Fork from here" }).click();
    await page.waitForURL((url) => !url.pathname.includes(session.id));
    const fork = await stand.engine.session(idIn(page));
    assert.deepEqual(await keysOf(fork), { rate: 1 });
    const { nodes } = await stand.engine.lineage(fork.id);
    assert.deepEqual(nodes.find((node) => node.session === fork.id)?.parent, { session: session.id, seq });
    await page.goBack();
    await page.getByText("Viewing position").waitFor();
    await page.keyboard.press("Escape");
    await page.getByText("Note that rate is 2.", { exact: true }).waitFor();
    shown.calm();
  });

  test("a rewind takes one click, and one more undoes it", async () => {
    const { session, seq } = await repainted("Take it back");
    await using shown = await stand.page(browser, { at: `/s/${session.id}?at=${seq}` });
    const { page } = shown;
    await page.getByRole("button", { name: "Rewind to here" }).click();
    await page.getByText(`Rewound to ${seq}.`, { exact: true }).waitFor();
    assert.deepEqual(await keysOf(session), { color: "red" });
    await page.getByText("rewound").first().waitFor();
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText("Rewind undone").waitFor();
    assert.deepEqual(await keysOf(session), { color: "blue" });
    shown.calm();
  });

  test("a rewind with options lists the events it leaves out", async () => {
    const { session, seq } = await repainted("Take it back with care");
    await using shown = await stand.page(browser, { at: `/s/${session.id}?at=${seq}` });
    const { page } = shown;
    await page.getByRole("button", { name: "Rewind…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Changes fact color").waitFor();
    await dialog.getByRole("button", { name: `Rewind to ${seq}` }).click();
    await page.getByText(`Rewound to ${seq}.`, { exact: true }).waitFor();
    assert.deepEqual(await keysOf(session), { color: "red" });
    await page.getByText("rewound").first().waitFor();
    shown.calm();
  });

  test("a merge with a conflict is resolved by one key, and made by two", async () => {
    const ours = await stand.told("Choose a provider", "Note that fees are known.");
    const theirs = await ours.fork({ name: "The other choice" });
    for (const [session, name] of [
      [ours, "Northpay"],
      [theirs, "Southpay"],
    ] as const) {
      await session.input(`Decide provider: ${name}, because it is cheaper.`);
      await session.run();
    }
    await using shown = await stand.page(browser, { at: `/s/${ours.id}/merge?from=${theirs.id}` });
    const { page } = shown;
    await page.getByText("1 of 1 conflict unresolved.").waitFor();
    assert.ok(await page.getByRole("button", { name: "Merge", exact: true }).isDisabled());
    await page.keyboard.press("2");
    await page.getByText("All conflicts resolved.").waitFor();
    await page.keyboard.press("Control+Enter");
    await page.waitForURL((url) => url.pathname === `/s/${ours.id}`);
    assert.deepEqual(await keysOf(ours), { fees: "known", provider: "Southpay" });
    await page.goto(`${stand.url}/s/${ours.id}/family`);
    await page.getByText("The other choice").first().waitFor();
    await page.goto(`${stand.url}/s/${ours.id}/compare?with=${theirs.id}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    shown.calm();
  });

  test("search finds a word in any event, and opens it there", async () => {
    const session = await stand.told("Remember a word", "Note that marmalade is orange.");
    await using shown = await stand.page(browser);
    const { page } = shown;
    await page.getByRole("heading", { name: "Sessions", exact: true }).waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("marmal");
    await page.locator("mark").first().waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForURL((url) => url.pathname === `/s/${session.id}`);
    await page.getByText("Note that marmalade is orange.").first().waitFor();
    await page.goBack();
    await page.locator("mark").first().waitFor();
    assert.equal(await page.getByLabel("Search text").inputValue(), "marmal");
    shown.calm();
  });

  test("the context shows its tiers, pins and unpins there", async () => {
    const session = await stand.told("Keep the rules", "Note that a is b.", "Note that c is d.", "Hello.");
    await session.record("decision", "production", "never delete the production database");
    await session.pin("decision", "production");
    await using shown = await stand.page(browser, { at: `/s/${session.id}/context?context=next` });
    const { page } = shown;
    const pinned = page.locator('.context-tiers tr[data-tier="pinned"]');
    await pinned.getByText("decision production").waitFor();
    await pinned.getByRole("button", { name: "Unpin production" }).click();
    await pinned.getByText("Nothing is pinned.").waitFor();
    assert.equal((await session.items())[0]?.pinned, undefined);
    shown.calm();
  });

  test("what a compaction replaced is a tree, of which each part opens", async () => {
    const texts = Array.from({ length: 6 }, (_, at) => `Note that w${at} is ${"a word ".repeat(300)}.`);
    const session = await stand.told("Keep the words", ...texts);
    assert.equal((await session.compress()).compacted, true);
    await using shown = await stand.page(browser, { at: `/s/${session.id}/context?context=next` });
    const { page } = shown;
    await page.getByText("What compactions replaced").click();
    await page.locator(".context-tree button").first().click();
    await page.locator(".context-node").first().waitFor();
    shown.calm();
  });

  test("every place is found again by its address, and by back and forward", async () => {
    const session = await stand.told("Be found", "Note that here is there.");
    await using shown = await stand.page(browser);
    const { page } = shown;
    const places: readonly (readonly [path: string, heading: string])[] = [
      ["/?q=found", "Sessions"],
      [`/s/${session.id}`, "Be found"],
      [`/s/${session.id}/log`, "Be found"],
      [`/s/${session.id}/context`, "Be found"],
      ["/agents", "Agents"],
      ["/triggers", "Triggers"],
      ["/workers", "Workers"],
      ["/cost", "Cost"],
      ["/memory", "Memory"],
    ];
    const isAt = ([path, heading]: (typeof places)[number]) =>
      Promise.all([
        page.waitForURL(`${stand.url}${path}`),
        page.getByRole("heading", { name: heading, level: 1, exact: true }).waitFor(),
      ]);
    for (const place of places) {
      await page.goto(`${stand.url}${place[0]}`);
      await isAt(place);
    }
    await page.reload();
    await isAt(places.at(-1)!);
    for (const place of places.toReversed().slice(1)) {
      await page.goBack();
      await isAt(place);
    }
    await page.goForward();
    await isAt(places[1]!);
    await page.goto(`${stand.url}/s/ses_nothing`);
    await page.getByRole("heading", { name: "Session not found" }).waitFor();
    await page.goto(`${stand.url}/s/x/y/z/%ff`);
    await page.getByRole("heading", { name: "Page not found" }).waitFor();
    shown.calm(/40[04]/);
  });
});
