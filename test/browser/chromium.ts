/** The Chromium of the tests: what was named, else what is here, else Debian's package. */
import { execFileSync } from "node:child_process";
import { accessSync, constants, globSync } from "node:fs";
import { delimiter, join } from "node:path";
import { chromium, type Browser } from "playwright-core";
import { aptInstall } from "../apt.ts";

/** Tells the test files where it is, or why there is none. */
const foundVariable = "SKEIN_CHROMIUM";
const missingVariable = "SKEIN_CHROMIUM_MISSING";
const names = ["chromium", "chromium-browser", "google-chrome"];

/** For a whole run of the tests: finds or gets it, and builds the page that it is to show. */
export async function offerChromium(files: readonly string[]): Promise<void> {
  if (!files.some((file) => file.includes("test/browser/"))) return;
  const started = performance.now();
  const found = await findChromium();
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  if (found === undefined) {
    process.env[missingVariable] = missing;
    console.log(`✖ ${missing}`);
    return;
  }
  process.env[foundVariable] = found;
  buildPage();
  console.log(`✔ Chromium for the tests (${seconds}s)`);
}

const missing = "there is no Chromium: run apt-get install chromium, or say where one is by SKEIN_CHROMIUM";

async function findChromium(): Promise<string | undefined> {
  const here = onPath();
  if (here !== undefined) return here;
  console.error("getting Chromium for the tests: apt-get install chromium");
  return (await aptInstall("chromium")) ? onPath() : undefined;
}

function onPath(): string | undefined {
  const named = process.env[foundVariable];
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  const places = folders.flatMap((folder) => names.map((name) => join(folder, name)));
  return [...(named === undefined || named === "" ? [] : [named]), ...places].find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Why the tests cannot run here; under CI that is a failure of its own. */
export async function noChromium(): Promise<string | false> {
  const told = process.env[missingVariable];
  const reason = told ?? ((await findChromium()) === undefined ? missing : false);
  if (reason !== false && process.env["CI"] === "true") throw new Error(reason);
  return reason;
}

/** It asks nobody outside for anything. */
const quiet = [
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-gpu",
  "--disable-lcd-text",
  "--disable-quic",
  "--disable-sync",
  "--no-first-run",
  "--no-sandbox",
];

/** One for all files of this process: to start it costs as much as a short file. */
let shared: Promise<Browser> | null = null;
let users = 0;
/** Between the last user and the next, which has to load its file. */
const idleMs = 2_000;

/** Its last `close` closes what is open in it; it ends a moment later, unless it is asked for again. */
export async function startChromium(): Promise<Browser> {
  users += 1;
  shared ??= launch();
  return shared.catch((error: unknown) => {
    users -= 1;
    throw error;
  });
}

async function launch(): Promise<Browser> {
  const forget = (): void => void (shared = null);
  try {
    const executablePath = onPath();
    if (executablePath === undefined) throw new Error(missing);
    const browser = await chromium.launch({ executablePath, args: quiet });
    const end = browser.close.bind(browser);
    browser.once("disconnected", forget);
    browser.close = async () => {
      users -= 1;
      if (users > 0) return;
      await Promise.all(browser.contexts().map((context) => context.close()));
      setTimeout(() => void (users === 0 && end()), idleMs);
    };
    return browser;
  } catch (error) {
    forget();
    throw error;
  }
}

/** Builds the page where it is not as its sources are now: before a whole run, so that no two files do. */
export function buildPage(): void {
  const root = join(import.meta.dirname, "..", "..");
  execFileSync(process.execPath, [join(root, "bin", "build-console.ts"), "--if-changed"], { stdio: "pipe" });
  if (globSync("dist/console/index.html", { cwd: root }).length === 0)
    throw new Error("the console could not be built: npm run build:console");
}
