/** The console in a browser: how soon it can be used, how it follows the slider, and how large it is. */
import { readFileSync, globSync } from "node:fs";
import { basename } from "node:path";
import { gzipSync } from "node:zlib";
import type { Browser } from "playwright-core";
import { buildPage, startChromium } from "../test/browser/chromium.ts";
import { makeLongLog, makeManySessions, manyEvents, manySessions } from "../test/browser/many.ts";
import { makeStand, type Stand } from "../test/browser/stand.ts";
import { median, number, type Measure } from "./measure.ts";

const starts = 7;
const drawn = 60;
const rests = 15;
const turns = 300;

export async function benchConsole(): Promise<Measure[]> {
  buildPage();
  const browser = await startChromium();
  try {
    await using stand = await makeStand({ concurrency: 0, durability: "process" });
    await makeManySessions(stand.engine);
    const first = await firstView(browser, stand);
    const { id } = await makeLongLog(stand.engine, manyEvents, turns);
    return [first, ...(await scrubbing(browser, stand, id)), script()];
  } finally {
    await browser.close();
  }
}

const spread = (times: readonly number[]): string =>
  `${number(Math.min(...times))} to ${number(Math.max(...times))} ms, ${times.length} times`;

/** From the beginning of the navigation, with nothing cached, until rows and keys are there. */
async function firstView(browser: Browser, stand: Stand): Promise<Measure> {
  const times: number[] = [];
  for (let left = starts; left > 0; left--) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    const headers = { authorization: `Bearer ${stand.token}`, "skein-client": "1", origin: stand.url };
    await context.request.post(`${stand.url}/v1/login`, { headers });
    const page = await context.newPage();
    await page.goto(stand.url, { waitUntil: "commit" });
    times.push(await page.evaluate<number>(whenUsable));
    await context.close();
  }
  return {
    name: "first view of many sessions can be used",
    value: median(times),
    unit: "ms",
    bar: { most: 1_000 },
    detail: `${manySessions.toLocaleString("en-US")} sessions, ${spread(times)}`,
  };
}

/** In the page: when there are rows, and a key gets to the field. */
const whenUsable = `new Promise((resolve) => {
  const look = () => {
    const isShown = document.querySelector("[role=grid] [role=row] a") !== null;
    if (isShown) dispatchEvent(new KeyboardEvent("keydown", { key: "." }));
    if (isShown && document.activeElement?.tagName === "INPUT") resolve(performance.now());
    else requestAnimationFrame(look);
  };
  look();
})`;

async function scrubbing(browser: Browser, stand: Stand, id: string): Promise<Measure[]> {
  await using shown = await stand.page(browser, { at: `/s/${id}` });
  const { page } = shown;
  const slider = page.getByRole("slider", { name: "Position in the log" });
  const box = await slider.boundingBox();
  if (box === null) throw new Error("the slider is not seen");
  const y = box.y + box.height / 2;
  // By chance, but the same every time.
  let seed = 42;
  const place = (): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return box.x + 4 + (box.width - 8) * (seed / 2 ** 31);
  };
  const positions: number[] = [];
  const contexts: number[] = [];
  for (let round = -1; round < rests; round++) {
    await page.mouse.move(place(), y);
    await page.mouse.down();
    for (let left = drawn / rests; left > 0; left--) {
      const ms = await page.evaluate<number>(untilShown(place()));
      if (round >= 0) positions.push(ms);
    }
    await page.evaluate(`window.rested = ${untilContext}; null`);
    await page.mouse.up();
    const ms = await page.evaluate<number>("window.rested");
    if (round >= 0) contexts.push(ms);
  }
  shown.calm();
  const events = `${manyEvents.toLocaleString("en-US")} events`;
  return [
    {
      name: "a position of the timeline is shown",
      value: median(positions),
      unit: "ms",
      bar: { most: 50 },
      detail: `${events}, ${spread(positions)}`,
    },
    {
      name: "the context is shown, after resting there",
      value: median(contexts),
      unit: "ms",
      bar: { most: 300 },
      detail: `${events}, ${spread(contexts)}`,
    },
  ];
}

/** In the page: the slider is drawn to there, and the page says that it is how it was at that position. */
const untilShown = (x: number): string => `new Promise((resolve) => {
  const slider = document.querySelector("[role=slider]");
  const from = performance.now();
  const clientY = slider.getBoundingClientRect().top + 5;
  const how = { clientX: ${x}, clientY, bubbles: true, pointerType: "mouse" };
  slider.dispatchEvent(new PointerEvent("pointermove", how));
  const look = () => {
    const said = document.querySelector(".time-band strong")?.textContent.replaceAll(/\\D/g, "");
    if (said === slider.getAttribute("aria-valuenow")) resolve(performance.now() - from);
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})`;

/** In the page: from letting go to the context of that position. */
const untilContext = `new Promise((resolve) => {
  const slider = document.querySelector("[role=slider]");
  const begin = () => {
    const from = performance.now();
    const look = () => {
      const link = document.querySelector("a.time-context:not([data-behind])");
      const at = link === null ? null : new URL(link.href).searchParams.get("at");
      if (at !== null && at === slider.getAttribute("aria-valuenow")) resolve(performance.now() - from);
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  };
  addEventListener("pointerup", begin, { once: true, capture: true });
})`;

function script(): Measure {
  const index = readFileSync("dist/console/index.html", "utf8");
  const all = globSync("dist/console/assets/*.js");
  const first = all.filter((file) => index.includes(basename(file)));
  const sizeOf = (files: readonly string[]): number =>
    files.reduce((sum, file) => sum + gzipSync(readFileSync(file)).length, 0);
  const bytes = sizeOf(first);
  return {
    name: "JavaScript of the console's first view, compressed",
    value: bytes / 1_024,
    unit: "KiB",
    bar: { most: 250 },
    detail: `${(sizeOf(all) / 1_024).toFixed(0)} KiB in all, in ${all.length} files`,
  };
}
