/**
 * `EnvironmentWorker` and its server are killed before and after each request that the worker makes: every
 * call of the turn gets one outcome, and the turn ends.
 */
import assert from "node:assert/strict";
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { freshSeed } from "../../crash/random.ts";
import { slicedEvery } from "../../slice.ts";
import { clientOf, listed, message, open } from "./client.ts";

type Victim = "server" | "worker";
/** Which request of the worker, and whether the server gets it and the worker its response. */
interface Kill {
  readonly victim: Victim;
  readonly at: number;
  readonly when: "before" | "after";
}

const seed = freshSeed();
const here = import.meta.dirname;
/** A worker's lease lasts 30 seconds. */
const leaseMs = 31_000;

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

/** A server, a worker, and what stands between them and kills one of both. */
class Place implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), "skein-agents-"));
  readonly paths: string[] = [];
  readonly workdir = join(this.folder, "work");
  readonly #between = createServer((from, to) => void this.#pass(from, to).catch(() => to.destroy()));
  url = "";
  token = "";
  isKilled = false;
  #environment = "";
  #skewMs = 0;
  #server: ChildProcess | null = null;
  #worker: ChildProcess | null = null;
  #isOver = false;
  readonly #kill: Kill | null;

  constructor(kill: Kill | null) {
    this.#kill = kill;
  }

  get client() {
    return clientOf(this.url, this.token);
  }

  async start(): Promise<void> {
    mkdirSync(this.workdir);
    this.#between.listen(0, "127.0.0.1");
    await once(this.#between, "listening");
    await this.startServer();
  }

  async startServer(): Promise<void> {
    const words = [join(this.folder, "skein.db"), "0", String(this.#skewMs)];
    this.#server = fork(join(here, "server-runner.ts"), words);
    const [{ url, token }] = (await once(this.#server, "message")) as [{ url: string; token: string }];
    [this.url, this.token] = [url, token];
  }

  startWorker(environment: string): void {
    this.#environment = environment;
    const { port } = this.#between.address() as AddressInfo;
    const words = [`http://127.0.0.1:${port}`, this.token, environment, this.workdir];
    const worker = fork(join(here, "worker-runner.ts"), words, {
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    this.#worker = worker;
    worker.once("exit", () => void this.#restartWorker(worker));
  }

  /** Whoever starts it again does so some time later. */
  async #restartWorker(ended: ChildProcess): Promise<void> {
    if (this.#isOver || this.#worker !== ended) return;
    this.later();
    await sleep(20);
    if (!this.#isOver) this.startWorker(this.#environment);
  }

  later(): void {
    this.#skewMs += leaseMs;
    if (this.#server?.connected === true) this.#server.send(leaseMs);
  }

  async #pass(from: IncomingMessage, to: ServerResponse): Promise<void> {
    this.paths.push(`${from.method} ${(from.url ?? "").replace(/\?.*|_[0-9a-z]{20,}[_0-9]*/g, "")}`);
    const kill = this.paths.length === this.#kill?.at ? this.#kill : null;
    if (kill?.when === "before") return this.#strike(kill.victim, to);
    const upstream = request(`${this.url}${from.url}`, {
      method: from.method,
      headers: { ...from.headers, host: new URL(this.url).host },
    });
    upstream.on("error", () => to.destroy());
    from.pipe(upstream);
    const [answer] = (await once(upstream, "response")) as [IncomingMessage];
    if (kill !== null) {
      // A stream has begun; any other response is whole.
      if (!/event-stream/.test(answer.headers["content-type"] ?? "")) await answer.toArray();
      return this.#strike(kill.victim, to);
    }
    to.writeHead(answer.statusCode ?? 500, answer.headers);
    to.flushHeaders();
    answer.on("error", () => to.destroy());
    answer.on("close", () => (answer.complete ? to.end() : to.destroy()));
    answer.pipe(to, { end: false });
  }

  async #strike(victim: Victim, to: ServerResponse): Promise<void> {
    this.isKilled = true;
    const child = victim === "server" ? this.#server : this.#worker;
    if (child !== null) await end(child);
    to.destroy();
    if (victim === "server") await this.startServer();
    // What the worker held without knowing it lapses.
    this.later();
  }

  async [Symbol.asyncDispose]() {
    this.#isOver = true;
    if (this.#worker !== null) await end(this.#worker);
    if (this.#server !== null) await end(this.#server);
    this.#between.closeAllConnections();
    this.#between.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Asks again when the server is being restarted. */
async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (tries === 100) throw error;
      await sleep(100);
    }
  }
}

const tools = [
  {
    type: "agent_toolset_20260401" as const,
    default_config: { permission_policy: { type: "always_allow" as const } },
  },
];

/** A whole turn with two calls. Returns the requests that the worker made up to its end. */
async function turn(
  kill: Kill | null,
): Promise<{ readonly paths: readonly string[]; readonly isKilled: boolean }> {
  await using place = new Place(kill);
  await place.start();
  const { session, environment } = await open(place.client, { tools, config: { type: "self_hosted" } });
  await place.client.beta.sessions.events.send(session.id, { events: [message("go")] });
  place.startWorker(environment.id);
  const untilMs = performance.now() + 30_000;
  const isOver = async (): Promise<boolean> => {
    const all = await listed(place.client, session.id);
    return all.some((event) => event.type === "agent.message");
  };
  while (!(await patiently(isOver))) {
    assert.ok(performance.now() < untilMs, `${JSON.stringify(kill)}: no end after ${place.paths.join(", ")}`);
    await sleep(50);
  }
  const all = await patiently(() => listed(place.client, session.id));
  const uses = all.filter((event) => event.type === "agent.tool_use").map((event) => event.id);
  const results = all.flatMap((event) => (event.type === "user.tool_result" ? [event.tool_use_id] : []));
  assert.equal(uses.length, 2, JSON.stringify(kill));
  assert.deepEqual(results, uses, `${JSON.stringify(kill)}: one outcome a call`);
  const ran = readFileSync(join(place.workdir, "ran.txt"), "utf8").trim().split("\n");
  assert.deepEqual([...new Set(ran)], ["0", "1"], `${JSON.stringify(kill)}: both ran, in order`);
  return { paths: [...place.paths], isKilled: place.isKilled };
}

for (const victim of ["server", "worker"] as const) {
  test(`the ${victim} is killed between any two requests: each call has one outcome`, async () => {
    const { paths } = await turn(null);
    assert.ok(paths.length >= 6, paths.join(", "));
    const all = paths.flatMap((_, place) =>
      (["before", "after"] as const).map((when): Kill => ({ victim, at: place + 1, when })),
    );
    const kills = slicedEvery(all, Math.ceil(all.length / 2), seed);
    let struck = 0;
    for (const kill of kills) if ((await turn(kill)).isKilled) struck += 1;
    // The number of heartbeats and polls differs a little.
    assert.ok(struck >= kills.length - 4 && struck > 0, `${struck} of ${kills.length} kills`);
  });
}
