/** `npm run screenshots`: the main views of the console with the sample family, as docs/images/*.png. */
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { engineAt } from "../src/client/connect.ts";
import { makeSampleFamily } from "../src/console/sample/maker.ts";
import type { Model } from "../src/model/port.ts";
import { buildPage, startChromium } from "../test/browser/chromium.ts";
import { makePen, penName } from "../test/browser/pen.ts";
import { makeStand, type Shown, type Stand } from "../test/browser/stand.ts";

const folder = join(import.meta.dirname, "images");
const bytesMax = 150 * 1_024;

interface Shot {
  readonly name: string;
  readonly at: string;
  /** What is there once the view is read. */
  readonly word: string;
  readonly dark?: boolean;
  readonly phone?: boolean;
  readonly before?: (shown: Shown) => Promise<unknown>;
}

buildPage();
mkdirSync(folder, { recursive: true });
const browser = await startChromium();
/** For a picture of a streaming answer, the offline model is written by hand. */
let isByHand = false;
const pen = makePen("offline/offline");
const [offline, byHand] = [await pen.models.model(""), await pen.models.model(penName)];
const either: Model = { ...offline, stream: (call) => (isByHand ? byHand : offline).stream(call) };
const stand = await makeStand({ models: { ...pen.models, model: async () => either } });
try {
  for (const shot of await shots()) await take(browser, stand, shot);
} finally {
  pen.end();
  await browser.close();
  await stand[Symbol.asyncDispose]();
}

async function shots(): Promise<readonly Shot[]> {
  const { engine } = stand;
  // By the one who looks at it.
  const remote = engineAt(stand.url, { token: stand.token });
  const { id: center } = await makeSampleFamily(remote, () => undefined);
  const { rows } = await engine.sessions({});
  const named = (name: string): string => rows.find((row) => row.name === name)?.session ?? "";
  const [notice, refund, other] = [
    named("Notice to customers"),
    named("Refund 1042"),
    named("What if Southpay?"),
  ];
  const past = await beginningOf(center, "northpay-fee");
  const merge = `/s/${center}/merge?from=${other}`;
  return [
    { name: "sessions", at: "/", word: "Payment provider" },
    { name: "sessions-dark", at: "/", word: "Payment provider", dark: true },
    { name: "session", at: `/s/${center}`, word: "What is next", before: stream },
    { name: "approval", at: `/s/${refund}`, word: "Allow" },
    { name: "timeline", at: `/s/${center}?at=${past}`, word: "Viewing position" },
    { name: "context", at: `/s/${notice}/context`, word: "tokens" },
    { name: "family", at: `/s/${center}/family`, word: "Fees of a year" },
    { name: "merge", at: merge, word: "unresolved" },
    { name: "search", at: "/search?q=provider", word: "latest first" },
    { name: "cost", at: "/cost", word: "Cost" },
    { name: "session-dark", at: `/s/${center}`, word: "Northpay", dark: true },
    { name: "phone", at: `/s/${center}`, word: "Northpay", phone: true },
  ];
}

/** The position of the end of the turn that took up this input. */
async function beginningOf(id: string, text: string): Promise<number> {
  const session = await stand.engine.session(id);
  let isBegun = false;
  for await (const { type, seq, content } of session.events()) {
    isBegun ||= type === "input.received" && JSON.stringify(content).includes(text);
    if (isBegun && type === "item.recorded") return seq;
  }
  return (await session.head()).seq;
}

/** An answer that is being made. */
async function stream({ page, follows }: Shown): Promise<void> {
  await follows();
  const id = new URL(page.url()).pathname.split("/")[2] ?? "";
  const session = await stand.engine.session(id);
  isByHand = true;
  await session.input("What is next?");
  pen.write("Two things are left:\n\n1. **Sign** with Northpay, since it pays out daily.\n2. Compare");
  await page.getByText("Two things are left").waitFor();
}

async function take(chromium: Browser, at: Stand, shot: Shot): Promise<void> {
  const viewport = shot.phone === true ? { width: 390, height: 844 } : { width: 1280, height: 800 };
  const colorScheme = shot.dark === true ? "dark" : "light";
  await using shown = await at.page(chromium, {
    at: shot.at,
    viewport,
    colorScheme,
    reducedMotion: "reduce",
  });
  const { page } = shown;
  await shot.before?.(shown);
  const text = page.locator("main").getByText(shot.word).first();
  await text.waitFor({ state: "attached" });
  await page.waitForLoadState("load");
  await page.getByText("Loading…").first().waitFor({ state: "detached" });
  // A frame more, so that what was read is drawn.
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
  const path = join(folder, `${shot.name}.png`);
  await page.screenshot({ path, animations: "disabled", caret: "hide" });
  const { size } = statSync(path);
  console.log(`${shot.name}.png: ${Math.ceil(size / 1_024)} KiB${size > bytesMax ? ": too large" : ""}`);
  if (size > bytesMax) process.exitCode = 1;
  shown.calm();
}
