/** A session that came from someone whom nobody here trusts does nothing before a person activates it. */
import assert from "node:assert/strict";
import { generateKeyPairSync, sign } from "node:crypto";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { openEngine, type Engine, type Session } from "../../../src/index.ts";
import type { Signer } from "../../../src/runtime/transfer/bundle.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { kind } from "../../kind.ts";
import { inPieces } from "../transfer/bundled.ts";
import { all } from "../place.ts";

const open = (): Promise<Engine> => openEngine({ store: kind().place() });

function newSigner(): Signer {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return {
    publicKey: String(publicKey.export({ format: "jwk" }).x),
    sign: (text) => sign(null, Buffer.from(text), privateKey).toString("base64url"),
  };
}

const until = async (holds: () => Promise<boolean>, ms = 20_000): Promise<void> => {
  const world = realWorld();
  for (const end = world.now() + ms; !(await holds());) {
    if (world.now() > end) throw new Error("it did not come about in time");
    await world.sleep(5);
  }
};

const moved = async (engine: Engine, session: Session, signer?: Signer): Promise<Buffer> =>
  Buffer.concat(
    await all(engine.export(session.id, { move: true, ...(signer === undefined ? {} : { sign: signer }) })),
  );

const statusOf = async (session: Session): Promise<string> => (await session.fold()).standing.status;

/** A session as a stranger would send it: a shell, a rule that allows it, triggers, waiting input. */
async function hostile(engine: Engine, mark: string): Promise<Session> {
  const session = await engine.open({
    objective: "Help",
    model: "offline/offline",
    bind: [
      { kind: "shell", path: dirname(mark) },
      { kind: "directory", name: "files", path: dirname(mark) },
      { kind: "mcp", name: "helper", command: ["touch", mark] },
    ],
    grant: [{ name: "all", tool: "run_command", rule: "allow" }],
  });
  await session.trigger("tick", { kind: "every", everyMs: 1_000 });
  await session.trigger("files", { kind: "file", path: dirname(mark) });
  await session.input("remember danger is 1");
  return session;
}

/** Beside it the worker is shown to be at work. */
async function workedBeside(engine: Engine): Promise<void> {
  const other = await engine.open({ objective: "Own", model: "offline/offline" });
  await other.input("remember own is 1");
  await until(async () => (await other.items()).length === 1);
}

test("an unsigned bundle arrives suspended, with a list for review", async () => {
  const folder = mkdtempSync(join(tmpdir(), "skein-review-"));
  const mark = join(folder, "mark");
  await using a = await open();
  await using b = await open();
  try {
    const bytes = await moved(a, await hostile(a, mark));
    await using _ = await b.work();
    const report = await b.import(inPieces(bytes));
    assert.deepEqual([report.as, report.trusted, report.suspended], ["own", false, true]);
    const [review] = report.review;
    assert.deepEqual(
      review?.bindings.map(({ name, kind: what, to }) => [name, what, to?.["command"] ?? null]),
      [
        ["files", "directory", null],
        ["helper", "mcp", ["touch", mark]],
        ["shell", "shell", null],
      ],
    );
    assert.deepEqual(review?.rules, [{ name: "all", tool: "run_command", rule: "allow" }]);
    assert.deepEqual(
      review?.triggers.map((one) => one.kind),
      ["file", "every"],
    );
    assert.deepEqual(
      review?.input.map((one) => one.text),
      ["remember danger is 1"],
    );
    const session = await b.session(report.session);
    const { status, why, lastTurn } = (await session.fold()).standing;
    assert.deepEqual([status, why?.by, lastTurn], ["suspended", "imported", 0]);
    // Nothing that can be done to it from outside lets it run: messages, runs, time, triggers.
    await b.send(session.id, "more");
    assert.equal((await session.run()).status, "suspended");
    await assert.rejects(session.fire("tick"), { code: "refused", message: /not reviewed/ });
    await session.tools();
    assert.equal(existsSync(mark), false, "what it binds is not opened to be listed");
    await workedBeside(b);
    await realWorld().sleep(1_500);
    assert.deepEqual(await session.items(), []);
    assert.deepEqual(await all(session.events({ types: ["trigger.fired", "turn.started"] })), []);
    await session.unbind("helper");
    await session.untrigger("tick");
    await session.untrigger("files");
    await session.activate();
    await until(async () => (await session.items()).length === 1);
    assert.equal((await b.verify()).ok, true);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("a bundle signed by a trusted key runs at once; one of another key is suspended", async () => {
  await using a = await open();
  const [ours, theirs] = [newSigner(), newSigner()];
  for (const [signer, options, status] of [
    [ours, { trusted: [ours.publicKey] }, "open"],
    [ours, { signedBy: [ours.publicKey] }, "open"],
    [theirs, { trusted: [ours.publicKey] }, "suspended"],
    [undefined, { trusted: [ours.publicKey] }, "suspended"],
  ] as const) {
    await using b = await open();
    const bytes = await moved(a, await a.open({ objective: "Own" }), signer);
    const report = await b.import(inPieces(bytes), options);
    assert.equal(await statusOf(await b.session(report.session)), status);
    assert.deepEqual([report.trusted, report.suspended], [status === "open", status === "suspended"]);
  }
});

test("closing, rewinding, forking and handing over do not bypass the review", async () => {
  await using a = await open();
  await using b = await open();
  const sent = await a.open({ objective: "Help", bind: [{ kind: "shell", path: tmpdir() }] });
  await sent.record("fact", "one", 1);
  const { session: id } = await b.import(inPieces(await moved(a, sent)));
  const session = await b.session(id);
  await session.rewind(2);
  assert.equal(await statusOf(session), "suspended", "rewound");
  await session.close();
  await session.reopen();
  assert.equal(await statusOf(session), "suspended", "reopened");
  for (const atSeq of [1, undefined]) {
    const fork = await session.fork(atSeq === undefined ? {} : { atSeq });
    const { status, why } = (await fork.fold()).standing;
    assert.deepEqual([status, why?.by], ["suspended", "imported"]);
    assert.equal(await statusOf(await fork.fork()), "suspended", "a fork of the fork");
  }
  await assert.rejects(session.clear(), { code: "refused", message: /not reviewed/ });
  await assert.rejects(b.open({ from: id }), { code: "refused", message: /not reviewed/ });
  await assert.rejects(session.compress(), { code: "refused", message: /not reviewed/ });
  await session.activate();
  assert.equal(await statusOf(session), "open");
  assert.equal(await statusOf(await session.fork()), "open");
  await session.close();
  await session.reopen();
  assert.equal(await statusOf(session), "open");
});

test("a closed session that is imported stays closed, and is suspended when it is reopened", async () => {
  await using a = await open();
  await using b = await open();
  const sent = await a.open({ objective: "Done" });
  await sent.close();
  const { session: id, suspended } = await b.import(inPieces(await moved(a, sent)));
  const session = await b.session(id);
  assert.deepEqual([await statusOf(session), suspended], ["closed", true]);
  await session.reopen();
  assert.equal(await statusOf(session), "suspended");
});

test("a move between stores needs no review, and does not stand in for one", async () => {
  await using a = await open();
  const { place, remove } = kind().lasting();
  await using b = await openEngine({ store: place });
  const own = await a.open({ objective: "Own" });
  const sent = await a.open({ objective: "Theirs" });
  await a.import(inPieces(await moved(a, sent)));
  for (const [session, status] of [
    [own, "open"],
    [sent, "suspended"],
  ] as const) {
    await session.migrate({ to: place });
    const there = await b.session(session.id);
    assert.equal(await statusOf(there), status);
    assert.equal((await there.fold()).standing.unreviewed, status === "suspended");
  }
  await b.close();
  remove();
});
