/** Triggers through the engine: set with a session or later, by message, by webhook, by template. */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { openEngine, type Engine, type Session } from "../../../src/index.ts";
import { makeWorkspaceId } from "../../../src/core/ids.ts";
import { limit } from "../../../src/core/limit.ts";
import { kind } from "../../kind.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { madeWorld, type MadeWorld } from "../made-world.ts";
import { engineWith, scripted } from "../turn/scripted.ts";

const open = () => openEngine({ store: kind().place() });

/** An engine in a world whose clock is moved by hand and whose timers are short. */
function made(): { world: MadeWorld; engine: Engine } {
  const { sleep } = realWorld();
  const world = {
    ...madeWorld("triggers"),
    sleep: (ms: number, signal?: AbortSignal) => sleep(Math.min(ms, 3), signal),
  };
  const workspace = makeWorkspaceId({ nowMs: world.now(), random: world.random(10) });
  const store = kind().store({ world, workspace });
  return { world, engine: engineWith(scripted(["Done."]), { store, world }) };
}

/** Without a deadline of its own: on a busy machine a worker may be slow, and the runner ends a hung test. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  const { sleep } = realWorld();
  while (!(await holds())) await sleep(3);
}

async function told(session: Session): Promise<string[]> {
  const texts: string[] = [];
  for await (const { content } of session.events({ types: ["input.received", "message.received"] })) {
    const { blocks } = content as { blocks: readonly { text: string }[] };
    texts.push(blocks.map(({ text }) => text).join("\n"));
  }
  return texts;
}

async function typesOf(session: Session): Promise<string[]> {
  const types: string[] = [];
  for await (const { type } of session.events()) types.push(type);
  return types;
}

test("a session is opened with triggers, named by their kind or by name", async () => {
  await using engine = await open();
  const session = await engine.open({
    objective: "November payroll run",
    wake: [
      { kind: "cron", cron: "0 9 1 * *", zone: "Europe/Berlin" },
      { kind: "cron", cron: "0 9 15 * *" },
      { kind: "every", everyMs: 60_000, name: "minute", missed: "skip" },
      { kind: "message", topic: "rates" },
    ],
  });
  const all = await session.triggers();
  assert.deepEqual(
    all.map(({ name, kind, missed }) => [name, kind, missed]),
    [
      ["cron", "cron", "once"],
      ["cron-2", "cron", "once"],
      ["message", "message", "once"],
      ["minute", "every", "skip"],
    ],
  );
  assert.deepEqual(all[0]?.spec, { kind: "cron", cron: "0 9 1 * *", zone: "Europe/Berlin" });
  assert.deepEqual(await typesOf(session), [
    "session.opened",
    ...Array.from({ length: 4 }, () => "trigger.set"),
  ]);
});

test("an invalid trigger is refused when it is set, and nothing is written", async () => {
  await using engine = await open();
  const wrong = async (wake: unknown, message: RegExp): Promise<void> => {
    const opening = engine.open({ objective: "x", wake: wake as [] });
    await assert.rejects(opening, { code: "invalid", message });
  };
  await wrong(
    [
      { kind: "every", everyMs: 60_000 },
      { kind: "cron", cron: "61 * * * *" },
    ],
    /^wake\[1\]: cron: invalid expression/,
  );
  await wrong(
    [{ kind: "cron", cron: "0 9 * * *", zone: "Mars/Base" }],
    /^wake\[0\]: unknown time zone "Mars/,
  );
  await wrong(
    [{ kind: "at", at: 5 }],
    /^wake\[0\]: at: expected a future time, got 1970-01-01T00:00:00.005Z/,
  );
  await wrong([{ kind: "every", everyMs: 10 }], /^wake\[0\].*everyMs/);
  await wrong([{ kind: "crom" }], /^wake\[0\]: kind: expected a kind of trigger, got "crom"/);
  await wrong([{ kind: "webhook" }], /^wake\[0\]: kind: a webhook cannot be set/);
  await wrong([null], /^wake\[0\]: expected a trigger object/);
  await wrong("daily", /^open: wake: expected a list, got a text/);
  await wrong(
    [
      { kind: "message", name: "a" },
      { kind: "message", name: "a" },
    ],
    /^wake\[1\]: name: "a" is used twice/,
  );
  await wrong(
    [{ kind: "message", missed: "never" }],
    /^wake\[0\]: missed: expected one of once, all, skip, got "never"/,
  );
  assert.deepEqual((await engine.sessions()).rows, []);
  const session = await engine.open({ objective: "x" });
  await assert.rejects(session.trigger("", { kind: "message" }), { code: "invalid" });
  await assert.rejects(
    session.trigger("t", { kind: "at", at: 1 }),
    /^SkeinError: trigger "t": at: expected a future time/,
  );
  await assert.rejects(session.sleep({ triggers: ["t"] }), { code: "not-found" });
  assert.deepEqual(await typesOf(session), ["session.opened"]);
});

test("a message wakes sessions that sleep for it, and no others", async () => {
  await using engine = await open();
  const [from, stranger] = [
    await engine.open({ objective: "From" }),
    await engine.open({ objective: "Else" }),
  ];
  const wake = [
    { kind: "message", name: "rates", topic: "rates", from: from.id },
    { kind: "every", everyMs: 3_600_000 },
  ] as const;
  const session = await engine.open({ objective: "To", wake });
  await session.sleep({ triggers: ["rates"] });
  await from.send(session.id, "hello");
  await stranger.send(session.id, "4.1", { topic: "rates" });
  assert.equal((await session.fold()).standing.status, "sleeping");
  await from.send(session.id, "4.2", { topic: "rates" });
  assert.equal((await session.fold()).standing.status, "open");
  assert.deepEqual((await typesOf(session)).slice(4), [
    "message.received",
    "message.received",
    "message.received",
    "trigger.fired",
    "session.woken",
  ]);
  await session.sleep({ triggers: ["every"] });
  await from.send(session.id, "4.3", { topic: "rates" });
  assert.equal((await session.fold()).standing.status, "sleeping");
});

test("a trigger fired by hand notifies and wakes the session, and keeps its schedule", async () => {
  await using engine = await open();
  const session = await engine.open({ objective: "x", wake: [{ kind: "cron", cron: "0 9 1 1 *" }] });
  const [before] = await session.triggers();
  await session.sleep();
  await session.fire("cron", { text: "Do it now." });
  const [after] = await session.triggers();
  assert.deepEqual(await told(session), ["Do it now."]);
  assert.equal((await session.fold()).standing.status, "open");
  assert.equal(after?.nextMs, before?.nextMs);
  assert.equal(before?.firedAt, null);
  assert.equal(typeof after?.firedAt, "number");
  await assert.rejects(session.fire("corn"), { code: "not-found", hint: 'did you mean "cron"?' });
});

test("times missed while no worker ran are handled as the trigger says", async () => {
  const { world, engine } = made();
  // Over the day on which clocks are put forward.
  world.pass(Date.parse("2024-03-28T12:00Z") - world.now());
  const sessions = new Map<string, Session>();
  for (const missed of ["once", "all", "skip"] as const) {
    const session = await engine.open({ objective: missed });
    await session.trigger("daily", { kind: "cron", cron: "0 9 * * *", zone: "Europe/Berlin" }, { missed });
    sessions.set(missed, session);
  }
  const texts = async (name: string): Promise<string[]> => told(sessions.get(name)!);
  world.pass(Date.parse("2024-04-01T12:00Z") - world.now());
  const worker = await engine.work();
  await until(async () => (await texts("all")).length === 4);
  await until(async () => (await texts("once")).length === 1);
  await until(async () => (await typesOf(sessions.get("skip")!)).includes("trigger.skipped"));
  await worker.stop();
  const all = await texts("all");
  assert.match(
    all[0] ?? "",
    /for 2024-03-29T08:00:00.000Z \(Friday, 29 March 2024 at 09:00 in Europe\/Berlin\)\.$/,
  );
  assert.match(all[2] ?? "", /for 2024-03-31T07:00:00.000Z/);
  assert.match((await texts("once"))[0] ?? "", /for 2024-04-01T07:00:00.000Z.* It stands for 4 times/);
  assert.deepEqual(await texts("skip"), []);
  await engine.close();
});

test("a session that fires late is not expired by the idle time that ended with it", async () => {
  const { world, engine } = made();
  const session = await engine.open({ objective: "x", expiresAfterIdleMs: 60_000 });
  await session.trigger("once", { kind: "at", at: world.now() + 30_000 });
  // No worker was there at the trigger's time, nor when the session would have expired.
  world.pass(600_000);
  const worker = await engine.work();
  await until(async () => (await told(session)).length === 1);
  await until(async () => (await typesOf(session)).includes("turn.ended"));
  await worker.stop();
  assert.equal((await session.fold()).standing.status, "open");
  assert.ok(!(await typesOf(session)).includes("session.closed"));
  await engine.close();
});

test("a webhook's token is shown once, and the log holds its digest alone", async () => {
  await using engine = await open();
  const session = await engine.open({ objective: "Hook" });
  const { token = "" } = await session.trigger("push", { kind: "webhook" });
  assert.match(token, /^ses_[0-9a-z]+\.[0-9a-f]{12}\.[\w-]{43}$/);
  let log = "";
  for await (const event of session.events()) log += JSON.stringify(event);
  assert.ok(!log.includes(token.split(".")[2] ?? ""));
  await session.sleep();
  const answer = await engine.webhook(token, { body: '{"ref":"main"}' });
  assert.deepEqual(answer, { session: session.id, duplicate: false });
  assert.deepEqual(await told(session), [
    'Trigger "push" (webhook) was called. What was sent with it:\n\n{"ref":"main"}',
  ]);
  assert.equal((await session.fold()).standing.status, "open");
  // Without an id of the delivery each call is a cause.
  await engine.webhook(token, { body: '{"ref":"main"}' });
  assert.equal((await told(session)).length, 2);
});

test("a delivery counts once, by whatever header it is named", async () => {
  await using engine = await open();
  const session = await engine.open({ objective: "Hook" });
  const { token = "" } = await session.trigger("push", { kind: "webhook" });
  for (const header of ["X-Skein-Delivery", "x-github-delivery", "Idempotency-Key"]) {
    const call = { body: header, headers: { [header]: `one ${header}` } };
    assert.equal((await engine.webhook(token, call)).duplicate, false);
    assert.equal((await engine.webhook(token, call)).duplicate, true);
  }
  assert.equal((await told(session)).length, 3);
});

test("an invalid call fires nothing", async () => {
  const env: Record<string, string> = { HOOK_SECRET: "it is a secret to everybody" };
  await using engine = await openEngine({ store: kind().place(), env });
  const session = await engine.open({ objective: "Hook" });
  const { token = "" } = await session.trigger("push", { kind: "webhook", secret: "HOOK_SECRET" });
  const body = "Hello, World!";
  const hmac = createHmac("sha256", "it is a secret to everybody").update(body).digest("hex");
  const wrong = (call: object, code: string, message: RegExp, by = token) =>
    assert.rejects(engine.webhook(by, call), { code, message });
  await wrong({ body }, "refused", /signature is missing/);
  await wrong({ body, headers: { "x-skein-signature": `sha256=${"0".repeat(64)}` } }, "refused", /is wrong/);
  await wrong(
    { body: "Hello!", headers: { "x-hub-signature-256": `sha256=${hmac}` } },
    "refused",
    /is wrong/,
  );
  const signed = { "x-hub-signature-256": `sha256=${hmac}` };
  await wrong({ body: "x".repeat(limit.webhookBytesMax + 1), headers: signed }, "invalid", /got 65537/);
  await wrong(
    { body, headers: signed },
    "not-found",
    /webhook not found/,
    `${token.slice(0, -1)}${token.endsWith("A") ? "B" : "A"}`,
  );
  await wrong({ body, headers: signed }, "not-found", /webhook not found/, "nonsense");
  assert.deepEqual(await told(session), []);
  await engine.webhook(token, { body, headers: signed });
  assert.equal((await told(session)).length, 1);
  delete env["HOOK_SECRET"];
  await wrong({ body, headers: signed }, "unavailable", /is not set/);
  await session.trigger("push", { kind: "webhook" });
  await wrong({ body }, "not-found", /webhook not found/);
  const bytes = new Uint8Array([0xff, 0xfe]);
  const { token: other = "" } = await session.trigger("other", { kind: "webhook" });
  await wrong({ body: bytes }, "invalid", /expected UTF-8 text/, other);
  await session.close();
  await wrong({ body }, "refused", /closed/, other);
});

test("a template opens a session each time, with the reason", async () => {
  const { world, engine } = made();
  const open = { objective: "Read the news", labels: { kind: "news" }, priority: 3 };
  const set = await engine.trigger(
    "news",
    { kind: "cron", cron: "0 9 * * *", zone: "America/New_York" },
    { open },
  );
  assert.deepEqual(set.open, open);
  assert.equal(set.fired, null);
  world.pass((set.nextMs ?? 0) - world.now() + 5);
  const worker = await engine.work();
  const rows = async () => (await engine.sessions()).rows;
  await until(async () => (await rows()).length === 1);
  const [row] = await rows();
  assert.deepEqual([row?.objective, row?.labels, row?.priority], [open.objective, open.labels, 3]);
  const session = await engine.session(row?.session ?? "");
  assert.match(
    (await told(session))[0] ?? "",
    /^Trigger "news" \(0 9 \* \* \*, America\/New_York\) fired for /,
  );
  const [template] = await engine.triggers();
  assert.deepEqual(template?.fired, { at: world.now(), opened: session.id });
  world.pass(3 * 86_400_000);
  await until(async () => (await rows()).length === 2);
  const byHand = await engine.fire("news", { text: "Now." });
  assert.deepEqual(await told(byHand), ["Now."]);
  await engine.untrigger("news");
  world.pass(86_400_000);
  await realWorld().sleep(30);
  assert.equal((await rows()).length, 3);
  await worker.stop();
  assert.deepEqual(await engine.triggers(), []);
  await assert.rejects(engine.untrigger("news"), { code: "not-found" });
  assert.deepEqual((await engine.verify()).problems, []);
  await engine.close();
});

test("a template that cannot open is refused when set; a later failure is retried", async () => {
  const { world, engine } = made();
  const wrong = (spec: object, options: object, message: RegExp) =>
    assert.rejects(engine.trigger("t", spec as never, options as never), { message });
  await wrong({ kind: "message" }, { open: { objective: "x" } }, /"message" requires an existing session/);
  await wrong({ kind: "every", everyMs: 1_000 }, {}, /open: missing/);
  await wrong({ kind: "every", everyMs: 1_000 }, { open: { objective: "" } }, /objective: missing/);
  await wrong(
    { kind: "every", everyMs: 1_000 },
    { open: { objective: "x", files: ["/no/such/file"] } },
    /cannot be read/,
  );
  const { mkdtemp, writeFile, rm } = await import("node:fs/promises");
  const { tmpdir } = await import("node:os");
  const folder = await mkdtemp(`${tmpdir()}/skein-template-`);
  await writeFile(`${folder}/a.txt`, "one");
  await engine.trigger(
    "t",
    { kind: "every", everyMs: 60_000 },
    { open: { objective: "x", files: [`${folder}/a.txt`] } },
  );
  await rm(folder, { recursive: true });
  world.pass(61_000);
  const troubles: string[] = [];
  const worker = await engine.work({
    onEvent: (one) => void (one.type === "trouble" && troubles.push(one.text)),
  });
  await until(async () => Promise.resolve(troubles.length > 0));
  assert.match(troubles[0] ?? "", /^template "t" opened nothing: .*cannot be read/);
  const { mkdir } = await import("node:fs/promises");
  await mkdir(folder);
  await writeFile(`${folder}/a.txt`, "two");
  world.pass(2_000);
  await until(async () => (await engine.sessions()).rows.length === 1);
  await worker.stop();
  assert.equal(troubles.length, 1);
  await rm(folder, { recursive: true });
  await engine.close();
});

test("a template is opened by webhook, once for each delivery", async () => {
  await using engine: Engine = await open();
  const { token = "" } = await engine.trigger("hook", { kind: "webhook" }, { open: { objective: "Called" } });
  assert.match(token, /^wsp_/);
  const call = { body: "hi", headers: { "x-skein-delivery": "1" } };
  const first = await engine.webhook(token, call);
  assert.deepEqual(await engine.webhook(token, call), { ...first, duplicate: true });
  assert.equal((await engine.sessions()).rows.length, 1);
  await engine.webhook(token, { body: "again" });
  assert.equal((await engine.sessions()).rows.length, 2);
});

test("a session that is over shows no next times of its triggers", async () => {
  await using engine = await openEngine({ store: kind().place() });
  const session = await engine.open({ objective: "Tick", wake: [{ kind: "every", everyMs: 60_000 }] });
  const next = async () => (await session.triggers()).map(({ nextMs }) => typeof nextMs);
  assert.deepEqual(await next(), ["number"]);
  await session.close();
  assert.deepEqual(await next(), ["object"]);
});

test("each mistake in a trigger has its own message, always with a hint", async () => {
  await using engine = await open();
  const session = await engine.open({ objective: "Wrong" });
  const told = (spec: object) =>
    session.trigger("t", spec as never).then(
      () => null,
      ({ message, hint }: { message: string; hint?: string }) => [message, hint],
    );
  const fields = "fields: kind, sessions, on, all, item, give, since";
  assert.deepEqual(await told({ kind: "session", sessions: [], on: "end" }), [
    'trigger "t": sessions: expected at least 1 entry',
    fields,
  ]);
  assert.deepEqual(await told({ kind: "session", on: "end" }), ['trigger "t": sessions: missing', fields]);
  const every = await told({ kind: "every", everyMs: 5 });
  assert.equal(every?.[0], 'trigger "t": everyMs: expected at least 1000 (one second), got 5');
  assert.deepEqual(await told({ kind: "webhook", secret: "sk-live 123" }), [
    'trigger "t": secret: expected the name of an environment variable',
    "for example HOOK_SECRET",
  ]);
});
