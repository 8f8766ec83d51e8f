/** The process that screens mutants: see in-process.ts. A small stand-in for node:test stops at a failure. */
import { readFileSync } from "node:fs";
import { registerHooks, stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Screened, Screening } from "./in-process.ts";

type Body = (context: unknown) => unknown;
let queue: { readonly name: string; readonly body: Body }[] = [];
/** How long each test took with nothing planted: the quickest comes first. */
const tookMs = new Map<string, number>();

const register = (...given: readonly unknown[]): void => {
  const body = given.find((one): one is Body => typeof one === "function");
  const name = String(given[0]);
  // A test of how long something takes says little on a busy machine, and takes long itself.
  const isSkipped = given.some((one) => (one as { readonly skip?: unknown } | null)?.skip);
  if (body !== undefined && !isSkipped && !/text takes long|holding up/.test(name))
    queue.push({ name, body });
};
const describe = (...given: readonly unknown[]): void => {
  const body = given.find((one): one is Body => typeof one === "function");
  body?.(undefined);
};
const standIn = { test: register, it: register, describe, suite: describe };
(globalThis as Record<string, unknown>)["standInForTests"] = standIn;
const standInText = `const { test, it, describe, suite } = globalThis.standInForTests;
  export { test, it, describe, suite }; export default test;`;

process.once("disconnect", () => process.exit());
/** Fails the test that is running: it does not end, or left an error that nothing handles. */
let fail: (error: unknown) => void = () => {};
for (const event of ["unhandledRejection", "uncaughtException"])
  process.on(event, (error: unknown) => fail(error));
process.once("message", (screening: Screening) => void screenAll(screening));

const tell = (message: Screened): void => void process.send?.(message);

async function screenAll({ tree, file, text, affected, tests, mutants }: Screening): Promise<void> {
  const fresh = new Set(affected.map((one) => join(tree, one)));
  const planted = join(tree, file);
  const sources = new Map<string, string>();
  let [round, source] = [0, text];
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier === "node:test") return { url: "test:stand-in", format: "module", shortCircuit: true };
      const found = next(specifier, context);
      const isFresh = found.url.startsWith("file:") && fresh.has(fileURLToPath(found.url));
      return isFresh ? { ...found, url: `${found.url.split("?")[0]}?round=${round}` } : found;
    },
    load(url, context, next) {
      if (url === "test:stand-in") return { format: "module", source: standInText, shortCircuit: true };
      if (!/\.ts\?round=/.test(url)) return next(url, context);
      const path = fileURLToPath(url.split("?")[0] ?? "");
      if (path === planted)
        return { format: "module", source: stripTypeScriptTypes(source), shortCircuit: true };
      const known = sources.get(path) ?? stripTypeScriptTypes(readFileSync(path, "utf8"));
      sources.set(path, known);
      return { format: "module", source: known, shortCircuit: true };
    },
  });
  const passing: string[] = [];
  for (const test of tests) if (await passes(join(tree, test), round)) passing.push(test);
  tell({ ready: passing });
  for (const [at, { start, end, to }] of mutants.entries()) {
    round++;
    source = text.slice(0, start) + to + text.slice(end);
    let caught = false;
    for (const test of passing) {
      caught = !(await passes(join(tree, test), round));
      // What an earlier mutant left behind may have failed it: the next round has fresh instances.
      if (caught && hasLeftovers) caught = !(await passes(join(tree, test), ++round));
      if (caught) break;
    }
    tell({ at, caught });
  }
}

/** How long a test may take, beyond twenty times what it takes with nothing planted. */
const testMs = 20_000;
/** Whether the last failure came from outside of the test's own steps. */
let hasLeftovers = false;

async function passes(path: string, round: number): Promise<boolean> {
  queue = [];
  hasLeftovers = false;
  const ends: (() => unknown)[] = [];
  const context = {
    after: (end: () => unknown) => ends.push(end),
    diagnostic: () => {},
    skip: () => {},
    test: async (_: string, body: Body): Promise<void> => void (await body(context)),
  };
  try {
    await import(`${pathToFileURL(path).href}?round=${round}`);
    const quickestFirst = queue.toSorted(
      (one, other) => (tookMs.get(one.name) ?? 0) - (tookMs.get(other.name) ?? 0),
    );
    for (const { name, body } of quickestFirst) {
      const started = performance.now();
      await ended(body(context), testMs + 20 * (tookMs.get(name) ?? 0));
      tell({ passed: name });
      if (round === 0) tookMs.set(name, performance.now() - started);
    }
    return true;
  } catch {
    return false;
  } finally {
    fail = () => {};
    for (const end of ends) await end();
  }
}

/** Waits for a test, unless it takes too long or something fails that it does not wait for. */
async function ended(running: unknown, ms: number): Promise<void> {
  const failure = Promise.withResolvers<never>();
  const timer = setTimeout(() => failure.reject(new Error("it does not end")), ms);
  fail = (error) => {
    hasLeftovers = true;
    failure.reject(error);
  };
  try {
    await Promise.race([running, failure.promise]);
  } finally {
    clearTimeout(timer);
  }
}
