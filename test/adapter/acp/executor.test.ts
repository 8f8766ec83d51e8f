/** Sessions whose turns another agent runs: what the log has of it, and what a crash leaves. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { acpExecutor, type AcpExecutorOptions } from "../../../src/adapter/acp/executor.ts";
import { executorModel } from "../../../src/adapter/acp/executor-model.ts";
import { SkeinError } from "../../../src/core/error.ts";
import type { Engine } from "../../../src/runtime/engine/engine.ts";
import { internalsOf } from "../../../src/runtime/engine/internals.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { kind } from "../../kind.ts";
import { workspace } from "../../runtime/place.ts";
import { engineWith, type Scripted } from "../../runtime/turn/scripted.ts";
import type { Store } from "../../../src/store/port.ts";

const double = join(import.meta.dirname, "agent-double.ts");

interface Place {
  readonly cwd: string;
  readonly engine: Engine;
  readonly store: Store;
  open(more?: object): Promise<Session>;
  /** All prompts that the agent got. */
  prompts(): string[];
  /** Another process on the same store. */
  another(how?: string): Engine;
}

function makePlace(t: TestContext, how = "resume", options: Partial<AcpExecutorOptions> = {}): Place {
  const folder = mkdtempSync(join(tmpdir(), "skein-executor-"));
  const cwd = mkdtempSync(join(folder, "work-"));
  const sessions = join(folder, "sessions");
  const world = realWorld();
  const store = kind().store({ world, workspace });
  const opened: AsyncDisposable[] = [];
  const another = (mode = how): Engine => {
    const command = [process.execPath, double, sessions, mode] as const;
    const executor = acpExecutor({ world, command, cancelMs: 500, ...options });
    const model = executorModel("double", executor);
    const models = { byDefault: "acp/double", model: async () => model, list: () => [] };
    opened.push(executor);
    return engineWith({ calls: [], models } satisfies Scripted, { store, world });
  };
  const engine = another();
  t.after(async () => {
    await engine.close();
    for (const one of opened) await one[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });
  const grant = [{ tool: "acp/double", rule: "allow" }] as const;
  return {
    cwd,
    engine,
    store,
    another,
    open: (more = {}) =>
      engine.open({
        objective: "Work",
        bind: [{ kind: "directory", path: cwd, mode: "write" }],
        grant,
        ...more,
      }),
    prompts: () =>
      existsSync(`${sessions}.prompts`)
        ? readFileSync(`${sessions}.prompts`, "utf8")
            .trim()
            .split("\n")
            .map((line) => JSON.parse(line) as string)
        : [],
  };
}

/** The events of a session, each as a line. */
async function lines(session: Session): Promise<string[]> {
  const all: string[] = [];
  for await (const { type, body, content } of session.events()) {
    const { status, tool, outcome, error } = (body ?? {}) as Record<string, string>;
    const { blocks = [], output } = (content ?? {}) as {
      blocks?: { type: string; text?: string }[];
      output?: string;
    };
    const said = blocks.flatMap((one) => (one.text === undefined ? [] : [`${one.type}:${one.text}`]));
    all.push(
      [type, tool, status, outcome, error, ...said, type === "tool.settled" ? JSON.stringify(output) : ""]
        .filter(Boolean)
        .join(" "),
    );
  }
  return all.filter((line) => /^(input|model|tool\.|turn|resource.changed|item|session.susp|x\.)/.test(line));
}

test("a turn: text, reasoning, a call, a changed file, a plan and a cost become events", async (t) => {
  const { open, cwd, prompts } = makePlace(t);
  const session = await open();
  const said: string[] = [];
  const steps = "do: think hm; say A; begin c1 a.txt; finish c1 a.txt one; say B; plan x,+y; cost 0.25";
  const run = session.ask(steps);
  for await (const one of run) if ("delta" in one && one.delta.type === "text") said.push(one.delta.text);
  assert.deepEqual(said, ["A", "B"]);
  assert.deepEqual(
    (await lines(session)).filter((line) => !line.startsWith("item")),
    [
      `input.received text:${steps}`,
      "turn.started",
      "x.executor.session",
      "model.requested",
      "model.responded reasoning:hm text:A",
      "tool.requested write",
      "tool.started",
      "resource.changed",
      'tool.settled ok "wrote a.txt"',
      "model.requested",
      "model.responded text:B",
      "turn.ended completed",
    ],
  );
  const { items, cost } = await session.state();
  assert.deepEqual(
    items.map(({ value, status }) => [value, status]),
    [
      ["x", "open"],
      ["y", "done"],
    ],
  );
  assert.equal(cost.nanoUsd, 250_000_000);
  assert.equal(readFileSync(join(cwd, "a.txt"), "utf8"), "one");
  assert.match(prompts()[0] ?? "", /Work/, "a new agent is told the context of the session");
  const requests: { v: number; outside: unknown }[] = [];
  for await (const { type, v, body } of session.records())
    if (type === "model.requested")
      requests.push({ v, outside: (JSON.parse(body) as { outside?: unknown }).outside });
  assert.deepEqual(requests, [
    { v: 2, outside: true },
    { v: 2, outside: true },
  ]);
  const at = (await Array.fromAsync(session.events({ types: ["model.requested"] })))[0]?.seq ?? 0;
  assert.equal((await session.context({ atSeq: at })).matches, null);
  const replayed = await session.replay();
  assert.deepEqual(
    [replayed.ok, "left" in replayed && replayed.left.map(({ why }) => why)],
    [true, ["outside", "outside"]],
  );
  assert.equal((await session.verify()).ok, true);
  // The next turn resumes the agent's session, and sends the input alone.
  await session.ask("do: say C; cost 0.75").result;
  assert.equal(prompts()[1], "do: say C; cost 0.75");
  assert.equal((await session.state()).cost.nanoUsd, 750_000_000, "the agent's cost is cumulative");
});

test("an agent that cannot resume gets the context; a replay on load is not an answer", async (t) => {
  const { open, prompts } = makePlace(t, "none");
  const session = await open();
  await session.ask("do: say one").result;
  await session.ask("do: say two").result;
  assert.match(prompts()[1] ?? "", /say one[^]*say two/);
  const loading = makePlace(t, "load");
  const loaded = await loading.open();
  await loaded.ask("do: say one").result;
  await loaded.ask("do: say two").result;
  assert.equal(loading.prompts()[1], "do: say two");
  assert.ok(!(await lines(loaded)).join().includes("REPLAY"));
});

test("it starts only when a rule allows it, and works only in a bound directory", async (t) => {
  const { open, prompts } = makePlace(t);
  for (const grant of [[], [{ tool: "*", effect: "unsafe", rule: "ask", name: "unsafe" }]]) {
    const session = await open({ grant });
    const before = prompts().length;
    const { status, by } = await session.ask("do: say no").result;
    assert.deepEqual([status, by, prompts().length], ["suspended", "error", before]);
    assert.match((await session.state()).why?.reason ?? "", /skein grant ID acp\/double allow/);
    await session.grant({ tool: "acp/double", rule: "allow" });
    await session.activate();
    assert.equal((await session.run()).status, "open");
  }
  const bare = await open({ bind: [] });
  assert.match((await bare.ask("do: say no").result).status, /suspended/);
  assert.match((await bare.state()).why?.reason ?? "", /bound directory/);
});

test("permission: rules allow and deny, a person answers while the agent waits", async (t) => {
  const { open, cwd } = makePlace(t);
  const session = await open({
    grant: [
      { tool: "acp/double", rule: "allow" },
      { tool: "write", rule: "ask" },
    ],
  });
  const first = await session.ask("do: ask c1 a.txt one; ask c2 b.txt two; say Done").result;
  assert.deepEqual([first.status, first.by], ["suspended", "approval"]);
  const [call] = (await session.state()).calls;
  await session.answer({ allow: true, calls: [call?.call ?? ""] });
  const second = await session.run();
  assert.deepEqual([second.status, second.by], ["suspended", "approval"]);
  assert.equal(readFileSync(join(cwd, "a.txt"), "utf8"), "one");
  await session.answer({ allow: false });
  assert.equal((await session.run()).status, "open");
  assert.ok(!existsSync(join(cwd, "b.txt")));
  const log = await lines(session);
  assert.ok(log.includes("model.responded text:Done"), log.join("\n"));
  await session.grant({ tool: "write", rule: "deny" });
  await session.ask("do: ask c3 c.txt three; say Denied").result;
  assert.ok(!existsSync(join(cwd, "c.txt")));
  await session.grant({ tool: "write", rule: "allow" });
  await session.ask("do: ask c4 d.txt four; say Allowed").result;
  assert.equal(readFileSync(join(cwd, "d.txt"), "utf8"), "four");
});

test("the agent dies in a call: the outcome is unknown, a person answers, the turn continues", async (t) => {
  const { open, prompts } = makePlace(t);
  const session = await open();
  const { status, by } = await session.ask("do: say A; begin c1 a.txt; once x; finish c1 a.txt one; say B")
    .result;
  assert.deepEqual([status, by], ["suspended", "unknown"]);
  await session.answer({ allow: true, text: "do: say it is not there" });
  assert.equal((await session.run()).status, "open");
  const log = await lines(session);
  assert.ok(
    log.some((line) => /^tool.settled unknown/.test(line)),
    log.join("\n"),
  );
  assert.match(prompts()[1] ?? "", /connection to you was lost[^]*it is not there/);
});

test("the agent dies in an answer: the request fails and is retried", async (t) => {
  const { open } = makePlace(t);
  const session = await open();
  await session.ask("do: say A; once x; say B").result;
  const log = await lines(session);
  assert.ok(log.includes("model.failed dropped"), log.join("\n"));
  assert.equal(log.at(-1), "turn.ended completed");
});

test("an agent without a login is tried once, and the reason says what to do", async (t) => {
  const { open, prompts } = makePlace(t, "resume", { env: ["MY_KEY"] });
  const session = await open();
  assert.equal((await session.ask("do: locked").result).status, "suspended");
  assert.equal(prompts().length, 1);
  assert.match(
    (await session.state()).why?.reason ?? "",
    /Authentication required \(log in with .*, or set MY_KEY\)/,
  );
  assert.ok((await lines(session)).includes("model.failed auth"));
  const closed = makePlace(t, "locked");
  const none = await closed.open();
  await none.ask("do: say A").result;
  assert.match((await none.state()).why?.reason ?? "", /start a session: Authentication required \(log in/);
});

test("interrupt cancels the prompt; an agent that does not end is killed", async (t) => {
  const { open } = makePlace(t);
  for (const step of ["wait", "hang"]) {
    const session = await open();
    const run = session.ask(`do: say A; begin c1 a.txt; ${step}; say never`);
    for await (const one of run) if (one.type === "tool.started") await session.interrupt();
    const log = await lines(session);
    assert.equal(log.at(-1), "turn.ended interrupted", log.join("\n"));
    assert.ok(log.some((line) => line.startsWith("tool.settled unknown")));
  }
});

test("an answer for a dead process: the call is skipped, and another process continues", async (t) => {
  const { open, another, cwd } = makePlace(t);
  const session = await open({
    grant: [
      { tool: "acp/double", rule: "allow" },
      { tool: "write", rule: "ask" },
    ],
  });
  await session.ask("do: ask c1 a.txt one; say Done").result;
  const other = another();
  const there = await other.session(session.id);
  await there.answer({ allow: true, text: "do: say Gone" });
  assert.equal((await there.run()).status, "open");
  const log = await lines(session);
  assert.ok(
    log.some((line) => line.startsWith("tool.settled skipped")),
    log.join("\n"),
  );
  assert.ok(!existsSync(join(cwd, "a.txt")));
});

test("bad starts and bad lines: another version, a missing command, malformed JSON", async (t) => {
  const wrong = makePlace(t, "v2");
  const session = await wrong.open();
  assert.equal((await session.ask("do: say A").result).status, "suspended");
  assert.match((await session.state()).why?.reason ?? "", /protocol version: expected 1, got 2/);
  const missing = makePlace(t, "resume", { command: ["/nonexistent/agent"] });
  const none = await missing.open();
  await none.ask("do: say A").result;
  assert.match((await none.state()).why?.reason ?? "", /cannot be started/);
  const bad = makePlace(t);
  const noisy = await bad.open();
  await noisy.ask("do: say A; bad; say B").result;
  assert.ok((await lines(noisy)).includes("model.responded text:AB"));
});

test("a money budget is enforced between prompts, and needs an agent that reports its cost", async (t) => {
  const { open } = makePlace(t);
  const session = await open({ budget: { usd: 0.5 } });
  assert.equal((await session.ask("do: say A; cost 0.6; wait").result).status, "open");
  assert.equal((await session.ask("do: say B").result).by, "budget");
  const silent = await open({ budget: { usd: 0.5 } });
  await silent.ask("do: say A").result;
  assert.equal((await silent.ask("do: say B").result).by, "budget");
});

test("naming an executor takes the scope operate; a fork has a separate agent session", async (t) => {
  const { engine, open, cwd, prompts } = makePlace(t);
  const needed: string[] = [];
  const need = (scope: string, what: string): void => {
    needed.push(`${scope} for ${what}`);
    throw new SkeinError("refused", `${what} takes the scope ${scope}`);
  };
  const writer = internalsOf(engine).forRequest({ need });
  const bind = [{ kind: "directory", path: cwd, mode: "write" }] as const;
  await assert.rejects(writer.open({ objective: "Work", model: "acp/double", bind }), /operate/);
  const plain = await open({ model: "test/scripted" });
  await assert.rejects((await writer.session(plain.id)).migrate({ model: "acp/double" }), /operate/);
  assert.deepEqual(needed, ["operate for an executor", "operate for an executor"]);
  const session = await open();
  await session.ask("do: say one").result;
  const fork = await session.fork();
  await fork.ask("do: say two").result;
  assert.match(prompts()[1] ?? "", /say one[^]*say two/, "it is told the context, as a new agent");
});
