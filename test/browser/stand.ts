/**
 * A server with the console, and a browser in front of it. Whatever the page says to its console, or fails to
 * load, is kept: a test that ends well has said nothing.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { readConsole } from "../../src/cli/open/console-files.ts";
import { openEngine, type Engine, type Session } from "../../src/index.ts";
import { offlineModel } from "../../src/model/offline.ts";
import type { Models } from "../../src/model/port.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { makeAuthorizer } from "../../src/server/auth/authorize.ts";
import { serve, type ServeOptions, type RunningServer } from "../../src/server/http/server.ts";
import type { OuterTool } from "../../src/tool/port.ts";
import { oneTenant } from "../../src/server/http/tenants.ts";

export interface Stand extends AsyncDisposable {
  readonly engine: Engine;
  /** A folder of its own, with the store in it; both are gone with it. */
  readonly folder: string;
  readonly store: string;
  readonly url: string;
  /** May do everything. */
  readonly token: string;
  /** Ends the server, streams and all; the store stays. */
  stop(): Promise<void>;
  /** Listens again, at the same address. */
  start(): Promise<void>;
  /** A session of that name, in which this was said and answered. */
  told(objective: string, ...texts: readonly string[]): Promise<Session>;
  /** A page that is logged in, with whatever it says kept. */
  page(browser: Browser, options?: PageOptions): Promise<Shown>;
}

export interface PageOptions extends BrowserContextOptions {
  /** Where to begin; by default with the sessions. */
  readonly at?: string;
  /** In place of the token that may do everything; null: not logged in. */
  readonly token?: string | null;
}

export interface Shown extends AsyncDisposable {
  readonly page: Page;
  readonly context: BrowserContext;
  /** What went wrong in it so far. */
  readonly said: string[];
  /** Resolves once it hears what happens: what was said live before that, it has missed. */
  follows(): Promise<unknown>;
  /** Nothing but what is expected went wrong. */
  calm(...expected: readonly RegExp[]): void;
}

export interface StandOptions {
  /** Between two pieces of an answer of the offline model; by default nothing. */
  readonly paceMs?: number;
  readonly models?: Models;
  /** By the stand's folder. */
  readonly toolsOf?: (folder: string) => readonly OuterTool[];
  /** `process`: for stores of many sessions, made in a moment. */
  readonly durability?: "process";
  /** How many sessions a worker runs at once; by default 2, and 0 is no worker. */
  readonly concurrency?: number;
  /** The sessions of other tools that the server may read; by default none. */
  readonly transcripts?: ServeOptions["transcripts"];
}

const often = { perSecond: 1e9, burst: 1e9 };

export async function makeStand(options: StandOptions = {}): Promise<Stand> {
  const { paceMs = 0, concurrency = 2 } = options;
  const world = realWorld();
  const folder = mkdtempSync(join(tmpdir(), "skein-browser-"));
  const store = join(folder, "skein.db");
  const engine = await openEngine({
    store,
    models: options.models ?? pacedModels(paceMs),
    env: {},
    ...(options.durability === undefined ? {} : { durability: options.durability }),
    ...(options.toolsOf === undefined ? {} : { tools: options.toolsOf(folder) }),
  });
  const { token } = await engine.addToken({ scopes: ["admin"] });
  const page = await readConsole();
  assert.ok(page !== null, "the console is not built");
  // Whoever is logged in stays so when the server is started anew.
  const cookieKey = world.random(32);
  const worker = concurrency === 0 ? null : await engine.work({ concurrency });
  const listen = (port: number): Promise<RunningServer> =>
    serve({
      world,
      port,
      page,
      version: "0.0.0",
      ...(options.transcripts === undefined ? {} : { transcripts: options.transcripts }),
      authorizer: (bound) =>
        makeAuthorizer({ ...bound, world, cookieKey, rate: often, tenants: oneTenant(engine) }),
    });
  let server: RunningServer | null = await listen(0);
  const { url, port } = server;
  const stop = async (): Promise<void> => {
    await server?.stop();
    server = null;
  };
  return {
    engine,
    folder,
    store,
    url,
    token,
    stop,
    async start() {
      server ??= await listen(port);
    },
    async told(objective, ...texts) {
      const session = await engine.open({ objective, name: objective });
      for (const text of texts) {
        await session.input(text);
        await session.run();
      }
      return session;
    },
    page: (browser, how = {}) => openPage(browser, { url, token }, how),
    async [Symbol.asyncDispose]() {
      await stop();
      await worker?.stop();
      await engine.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function pacedModels(paceMs: number): Models {
  const model = offlineModel({ world: realWorld(), paceMs });
  return { byDefault: model.name, model: async () => model, list: () => [] };
}

async function openPage(
  browser: Browser,
  server: { readonly url: string; readonly token: string },
  { at = "/", token = server.token, ...how }: PageOptions,
): Promise<Shown> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...how });
  context.setDefaultTimeout(20_000);
  const page = await context.newPage();
  const said: string[] = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) said.push(`${message.type()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => said.push(`thrown: ${error.message}`));
  page.on("requestfailed", (request) => {
    // A page that is left, or a stream that nobody wants any more, ends its requests.
    const why = request.failure()?.errorText ?? "";
    if (why !== "net::ERR_ABORTED") said.push(`failed: ${request.url()}: ${why}`);
  });
  page.on("request", (request) => {
    const isOwn = request.url().startsWith(server.url) || /^(blob|data):/.test(request.url());
    if (!isOwn) said.push(`asked elsewhere: ${request.url()}`);
  });
  const followed = page.waitForResponse((response) => response.url().includes("/v1/feed?"));
  followed.catch(() => undefined);
  await page.goto(`${server.url}${at}${token === null ? "" : `#token=${token}`}`);
  return {
    page,
    context,
    said,
    follows: () => followed,
    calm(...expected) {
      const left = said.filter((text) => !expected.some((like) => like.test(text)));
      assert.deepEqual(left, []);
    },
    async [Symbol.asyncDispose]() {
      await context.close();
    },
  };
}
