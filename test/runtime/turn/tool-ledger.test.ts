/** The tool ledger: calls that waited, that a crash left open, and whose rules or tools changed since. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { z } from "zod";
import { SkeinError } from "../../../src/core/error.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import type { Store } from "../../../src/store/port.ts";
import { defineTool } from "../../../src/tool/define.ts";
import type { OuterTool } from "../../../src/tool/port.ts";
import { kind } from "../../kind.ts";
import { workspace } from "../place.ts";
import { engineWith, scripted, use } from "./scripted.ts";

type Effect = "read" | "idempotent" | "unsafe";
type Run = (to: string, signal: AbortSignal) => Promise<unknown>;

const toolOf = (name: string, effect: Effect, run: Run): OuterTool =>
  defineTool({
    name,
    description: name,
    input: z.strictObject({ to: z.string() }),
    effect,
    run: ({ to }, { signal }) => run(to, signal),
  });

/** A tool that lists what it ran with. */
const listing = (name: string, effect: Effect, runs: string[]): OuterTool =>
  toolOf(name, effect, async (to) => `ran ${runs.push(to)}`);

const bindingsOf = (...names: readonly string[]) => names.map((name) => ({ kind: "tool", name }) as const);

async function ask(session: Session, text = "Go"): Promise<void> {
  for await (const _ of session.ask(text));
}

interface Settled {
  readonly call: string;
  readonly status: string;
  readonly ms?: number;
  readonly output: unknown;
}

async function settledOf(session: Session): Promise<Settled[]> {
  const settled: Settled[] = [];
  for await (const { body, content } of session.events({ types: ["tool.settled"] }))
    settled.push({ ...(body as Settled), output: (content as { output?: unknown } | undefined)?.output });
  return settled;
}

/** Calls that a process had started when it died: its lease is given back, the calls are open. */
async function leaveStarted(session: Session, names: readonly string[]): Promise<void> {
  await session.input("Go");
  const drive = await session.drive({ leaseMs: 1_000 });
  await drive.begin();
  await drive.request({ model: "test/scripted" });
  const calls = await drive.respond({
    finish: "tool-calls",
    usage: { inputTokens: 1, outputTokens: 1 },
    costNanoUsd: 0,
    blocks: names.map((tool) => ({ type: "tool-call", call: tool, tool, input: { to: "ann" } })),
    effects: Object.fromEntries(
      names.filter((name) => name !== "unsafe").map((name) => [name, "idempotent"]),
    ),
  });
  await drive.start(...calls.map(({ call }) => call));
  await drive.lease.release();
}

test("one call without an answer suspends an activated session again, and does not run", async () => {
  const runs: string[] = [];
  const script = scripted([[use("pay", { to: "ann" })], "Done."]);
  await using engine = engineWith(script, { tools: [listing("pay", "unsafe", runs)] });
  const grant = [{ tool: "pay", rule: "ask" } as const];
  const session = await engine.open({ objective: "Pay", bind: bindingsOf("pay"), grant });
  await ask(session);
  await session.activate();
  await session.run();
  const { status, why } = await session.state();
  assert.deepEqual([status, why?.by, runs], ["suspended", "approval", []]);
  await session.answer({ allow: true });
  await session.run();
  assert.deepEqual(runs, ["ann"]);
});

test("an approved call whose tool is missing is an error for the model", async () => {
  const runs: string[] = [];
  const script = scripted([[use("pay", { to: "ann" })], "Done."]);
  await using engine = engineWith(script, { tools: [listing("pay", "unsafe", runs)] });
  const grant = [{ tool: "pay", rule: "ask" } as const];
  const session = await engine.open({ objective: "Pay", bind: bindingsOf("pay"), grant });
  await ask(session);
  await session.unbind("pay");
  await session.answer({ allow: true });
  await session.run();
  const [settled] = await settledOf(session);
  assert.deepEqual([settled?.status, settled?.output], ["error", "tool pay is no longer available"]);
  assert.deepEqual([runs, (await session.state()).status], [[], "open"]);
});

test("a call that had started before a crash runs again, also when a rule set since asks", async () => {
  const runs: string[] = [];
  await using engine = engineWith(scripted(["Done."]), { tools: [listing("sync", "idempotent", runs)] });
  const session = await engine.open({ objective: "Sync", bind: bindingsOf("sync") });
  await leaveStarted(session, ["sync"]);
  await session.grant({ tool: "sync", rule: "ask" });
  await session.run();
  assert.deepEqual([runs, (await settledOf(session))[0]?.status], [["ann"], "ok"]);
});

test("a saved approval lets a call run that a rule set since asks about", async () => {
  const folder = mkdtempSync(join(tmpdir(), "skein-ledger-"));
  try {
    const [one, two] = [{ command: "echo one" }, { command: "echo two" }];
    const script = scripted([
      [use("shell", one, "c-1")],
      "Saved.",
      [use("shell", one, "c-2"), use("shell", two, "c-3")],
      "Done.",
    ]);
    await using engine = engineWith(script);
    const bind = [{ kind: "shell", path: folder } as const];
    const first = await engine.open({ objective: "Save", bind, grant: [{ tool: "shell", rule: "ask" }] });
    await ask(first);
    await first.answer({ allow: true, remember: "always" });
    await first.run();
    const grant = [{ tool: "shell", name: "two", rule: "ask", pattern: { command: "*two" } } as const];
    const second = await engine.open({ objective: "Use", bind, grant });
    await ask(second);
    await second.grant({ tool: "shell", rule: "ask" });
    await second.answer({ allow: true });
    await second.run();
    assert.deepEqual((await settledOf(second)).map(({ call, status }) => `${call} ${status}`).toSorted(), [
      "c-2 ok",
      "c-3 ok",
    ]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("an interrupt while a call runs again asks nothing about the others", async () => {
  const begun = Promise.withResolvers<void>();
  const slow = toolOf("sync", "idempotent", (_, signal) => {
    begun.resolve();
    return new Promise((_resolve, reject) =>
      signal.addEventListener("abort", () => reject(new Error("cut"))),
    );
  });
  await using engine = engineWith(scripted(["Done."]), { tools: [slow, listing("unsafe", "unsafe", [])] });
  const session = await engine.open({ objective: "Sync", bind: bindingsOf("sync", "unsafe") });
  await leaveStarted(session, ["sync", "unsafe"]);
  const running = session.run();
  await begun.promise;
  await session.interrupt();
  await running;
  const { status, why } = await session.state();
  assert.deepEqual([status, why], ["open", null]);
  assert.deepEqual((await settledOf(session)).map(({ call, status: one }) => `${call} ${one}`).toSorted(), [
    "sync unknown",
    "unsafe unknown",
  ]);
});

test("the time that a call took is recorded, and never below zero", async () => {
  let now = 1_700_000_000_000;
  const world = { ...realWorld(), now: () => now };
  for (const [step, expected] of [
    [250, 250],
    [-9_000, 0],
  ] as const) {
    const timed = toolOf("timed", "read", async () => String((now += step)));
    await using engine = engineWith(scripted([[use("timed", { to: "x" })], "Done."]), {
      world,
      tools: [timed],
    });
    const session = await engine.open({ objective: "Time", bind: bindingsOf("timed") });
    await ask(session);
    assert.equal((await settledOf(session))[0]?.ms, expected);
  }
});

test("a result that the store refuses is replaced by a note, and the session continues", async () => {
  const world = realWorld();
  const inner = kind().store({ world, workspace });
  let refusals = 0;
  const append: Store["append"] = async (parts) => {
    const isResult = parts.some(({ drafts }) => drafts.some(({ type }) => type === "tool.settled"));
    if (isResult && refusals++ === 0) throw new SkeinError("invalid", "the record does not fit");
    return inner.append(parts);
  };
  const store = new Proxy(inner, {
    get: (target, name) => {
      const value: unknown = name === "append" ? append : Reflect.get(target, name);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
  const script = scripted([[use("pay", { to: "ann" })], "Done."]);
  await using engine = engineWith(script, { store, world, tools: [listing("pay", "unsafe", [])] });
  const session = await engine.open({ objective: "Pay", bind: bindingsOf("pay") });
  await ask(session);
  const [settled] = await settledOf(session);
  assert.deepEqual([settled?.status, refusals > 1], ["ok", true]);
  assert.match(String(settled?.output), /the tool ran, but its result could not be stored: .*does not fit/);
  assert.equal((await session.state()).status, "open");
});
