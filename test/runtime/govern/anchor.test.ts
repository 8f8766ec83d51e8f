/** Lists of heads: a tail that was cut is found, whoever cut it, and a restore that was meant is accepted. */
import assert from "node:assert/strict";
import { generateKeyPairSync, sign } from "node:crypto";
import { copyFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import postgres from "postgres";
import type { Models } from "../../../src/model/port.ts";
import { openEngine, type Engine, type Session } from "../../../src/index.ts";
import type { Signer } from "../../../src/entry/admin.ts";
import { Engine as OwnEngine } from "../../../src/runtime/engine/engine.ts";
import { listHeads } from "../../../src/runtime/govern/anchor.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { noPostgres, postgresDriver } from "../../postgres/place.ts";
import { kind } from "../../kind.ts";
import { newPath } from "../../path.ts";
import { madeWorld } from "../made-world.ts";
import { all, workspace } from "../place.ts";
import { makeDeps } from "../../../src/runtime/engine/make-deps.ts";
import { internalsOf } from "../../../src/runtime/engine/internals.ts";

function newSigner(): Signer {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return {
    publicKey: String(publicKey.export({ format: "jwk" }).x),
    sign: (text) => sign(null, Buffer.from(text), privateKey).toString("base64url"),
  };
}

/** A store that can be opened again, and cut. */
interface Place extends AsyncDisposable {
  open(options?: { readonly sign?: Signer }): Promise<Engine>;
  cut(log: string, afterSeq: number): Promise<void>;
}

function inFile(): Place & { readonly path: string } {
  const { path, remove } = newPath();
  return {
    path,
    open: (options = {}) => openEngine({ store: path, durability: "process", ...options }),
    async cut(log, afterSeq) {
      const raw = new DatabaseSync(path);
      raw
        .prepare("DELETE FROM records WHERE log = (SELECT id FROM logs WHERE session = ?) AND seq > ?")
        .run(log, afterSeq);
      raw.close();
    },
    [Symbol.asyncDispose]: async () => remove(),
  };
}

async function inPostgres(): Promise<Place> {
  const { url, done } = await postgresDriver();
  return {
    open: (options = {}) => openEngine({ store: url, ...options }),
    async cut(log, afterSeq) {
      const server = new URL(url);
      server.searchParams.delete("tenant");
      const sql = postgres(server.href, { max: 1, onnotice: () => undefined });
      const [head] = await sql`SELECT log FROM skein.heads WHERE session = ${log}`;
      const id = String(head?.["log"]);
      await sql`DELETE FROM skein.events WHERE log = ${id} AND seq > ${afterSeq}`;
      await sql`UPDATE skein.heads h SET seq = e.seq, hash = e.hash, at = e.at FROM skein.events e
        WHERE h.log = ${id} AND e.log = ${id} AND e.seq = ${afterSeq}`;
      await sql.end();
    },
    [Symbol.asyncDispose]: done,
  };
}

async function filled(engine: Engine, count: number): Promise<Session[]> {
  const sessions: Session[] = [];
  for (let at = 0; at < count; at++) {
    const session = await engine.open({ objective: `number ${at}` });
    for (let more = 0; more < 5; more++) await session.append(`text ${more}`);
    sessions.push(session);
  }
  return sessions;
}

/** What an engine finds that knows nothing of before. */
async function found(place: Place, options: Parameters<Engine["verify"]>[0] = {}) {
  await using engine = await place.open();
  const report = await engine.verify(options);
  return { ...report, told: report.problems.map(({ session, problem }) => `${session} ${problem}`) };
}

for (const [name, make] of [
  ["SQLite", async () => inFile()],
  ["PostgreSQL", inPostgres],
] as const) {
  const skip = name === "PostgreSQL" ? await noPostgres() : false;

  test(
    `in ${name}: cut tails are reported by the listed heads, until they are accepted`,
    { skip },
    async () => {
      await using place = await make();
      const key = newSigner();
      let engine = await place.open({ sign: key });
      const [one, two, three] = await filled(engine, 4);
      assert.ok(one !== undefined && two !== undefined && three !== undefined);
      const anchor = await engine.anchor();
      assert.deepEqual([anchor.publicKey, (await engine.verify()).ok], [key.publicKey, true]);
      await three.append("goes on");
      await engine.close();
      await place.cut(one.id, 4);
      await place.cut(two.id, 5);
      await place.cut(three.id, 6);
      const report = await found(place);
      assert.deepEqual(
        [report.ok, report.heads.signedBy, report.heads.signed],
        [false, [key.publicKey], true],
      );
      assert.deepEqual(
        report.told.toSorted(),
        [
          `${one.id} the tail is missing: the noted head is 6`,
          `${two.id} the tail is missing: the noted head is 6`,
        ].toSorted(),
        "what was not listed yet is not known",
      );
      engine = await place.open({ sign: key });
      for (const [session, ok] of [
        [one, false],
        [two, false],
        [three, true],
      ] as const)
        assert.equal((await (await engine.session(session.id)).verify()).ok, ok);
      await assert.rejects(engine.anchor(), { code: "corrupt", message: /^2 logs no longer hold/ });
      await engine.close();
      // A log that goes on after the cut is still known, and no later list makes it right.
      engine = await place.open({ sign: key });
      await (await engine.session(one.id)).append("another history");
      for (const text of ["and more", "and more"]) await (await engine.session(one.id)).append(text);
      assert.deepEqual(
        (
          await listHeads(makeDeps({ ...internalsOf(engine), signer: () => key }), { whenOlderMs: 0 })
        ).cut.toSorted(),
        [one.id, two.id].toSorted(),
      );
      await engine.close();
      assert.equal((await found(place)).ok, false);
      engine = await place.open({ sign: key });
      await assert.rejects(engine.acceptAnchor({ reason: " " }), { code: "invalid" });
      const accepted = await engine.acceptAnchor({ reason: "restored the backup of Monday" });
      assert.deepEqual(accepted.logs.toSorted(), [one.id, two.id].toSorted());
      await engine.close();
      const after = await found(place);
      assert.deepEqual([after.ok, after.told], [true, []]);
    },
  );

  test(`in ${name}: a store that was set back as a whole is found by its anchor`, { skip }, async () => {
    await using place = await make();
    let engine = await place.open();
    const [one] = await filled(engine, 2);
    const { workspace, seq: first } = await engine.anchor();
    await one!.append("more");
    const anchor = await engine.anchor();
    assert.ok(anchor.seq > first);
    await engine.close();
    await place.cut(one!.id, 6);
    await place.cut(workspace, first);
    assert.equal((await found(place)).ok, true, "from within, an earlier state is a right one");
    const { ok, told } = await found(place, { anchor });
    assert.deepEqual(
      [ok, told],
      [false, [`${workspace} the tail is missing: the anchor is at ${anchor.seq}`]],
    );
    engine = await place.open();
    await engine.acceptAnchor({ reason: "restored", anchor: { seq: anchor.seq, hash: anchor.hash } });
    const next = await engine.anchor();
    await engine.close();
    assert.equal((await found(place, { anchor })).ok, true, "accepted by name");
    assert.equal((await found(place, { anchor: next })).ok, true);
    const { told: other } = await found(place, { anchor: { ...next, hash: "0".repeat(64) } });
    assert.deepEqual(other, [`${workspace} the record is not the anchored one`]);
  });
}

test("deleted, closed, moved, erased, archived and forked sessions are not taken for cut", async () => {
  await using place = inFile();
  await using other = inFile();
  {
    await using engine = await place.open();
    await using there = await other.open();
    const sessions = await filled(engine, 7);
    const [deleted, closed, moved, erased, archived, parent, left] = sessions;
    const fork = await parent!.fork({ atSeq: 3 });
    await engine.anchor();
    await engine.delete(deleted!.id);
    await closed!.close();
    await moved!.migrate({ to: other.path });
    await erased!.erase({ ranges: [[2, 4]] });
    await archived!.close();
    await archived!.archive();
    await engine.delete(parent!.id);
    await fork.append("own");
    await there.import(engine.export(left!.id, { move: true }));
    await there.anchor();
    assert.equal((await engine.verify()).ok, true);
    await engine.anchor();
    await engine.retain();
  }
  for (const one of [place, other]) {
    const { ok, told } = await found(one);
    assert.deepEqual([ok, told], [true, []]);
  }
});

test("a missing log is reported, and the anchor reveals a file restored from an older copy", async () => {
  await using place = inFile();
  const backup = newPath();
  const engine = await place.open();
  const [one] = await filled(engine, 2);
  await engine.anchor();
  await engine.close();
  copyFileSync(place.path, backup.path);
  const again = await place.open();
  await (await again.session(one!.id)).append("later");
  const anchor = await again.anchor();
  await again.close();
  const raw = new DatabaseSync(place.path);
  raw.exec(`DELETE FROM records WHERE log = (SELECT id FROM logs WHERE session = '${one!.id}')`);
  raw.exec(`DELETE FROM logs WHERE session = '${one!.id}'`);
  raw.close();
  assert.deepEqual((await found(place)).told, [`${one!.id} the log is missing; it had 7 records`]);
  {
    await using opened = await place.open();
    await assert.rejects(opened.anchor(), { code: "corrupt", message: new RegExp(`1 log .*: ${one!.id}`) });
  }
  copyFileSync(backup.path, place.path);
  assert.equal((await found(place)).ok, true);
  assert.equal((await found(place, { anchor })).ok, false);
  backup.remove();
});

test("a list costs as much as changed, and a full list follows only after many changes", async () => {
  await using place = inFile();
  await using engine = await place.open();
  const sessions = await filled(engine, 3);
  const context = makeDeps(internalsOf(engine));
  const list = (whenOlderMs: number) => listHeads(context, { whenOlderMs });
  assert.deepEqual(await list(1_000), { listed: 3, cut: [] });
  assert.equal((await list(0)).listed, null, "nothing changed");
  await sessions[1]!.append("more");
  assert.equal((await list(60_000)).listed, null, "the newest is young enough");
  assert.deepEqual(await list(0), { listed: 1, cut: [] });
  // Two processes at once: one of them is first, and the other has nothing left to list.
  await sessions[2]!.append("more");
  const both = await Promise.all([list(0), list(0)]);
  assert.deepEqual(
    both.map(({ listed }) => listed ?? 0).toSorted((one, other) => one - other),
    [0, 1],
  );
  const { heads } = await engine.verify();
  assert.deepEqual([heads.lists, heads.logs, heads.signed], [3, 3, false]);
});

test("a worker lists heads, and again after the interval", async () => {
  const world = madeWorld();
  const store = kind().store({ world, workspace });
  const models = async () => ({ byDefault: "none", model: () => Promise.reject(new Error("nothing runs")) });
  await using engine = new OwnEngine({ store, world, models: models as unknown as () => Promise<Models> });
  const session = await engine.open({ objective: "listed" });
  const lists = async (): Promise<number> =>
    (
      await store.read(store.workspace, {
        fromSeq: 1,
        toSeq: Infinity,
        limit: 100,
        types: ["heads.listed"],
        contents: false,
      })
    ).length;
  const until = async (count: number): Promise<void> => {
    const { sleep, now } = realWorld();
    for (const end = now() + 20_000; (await lists()) < count;) {
      if (now() > end) throw new Error(`there are ${await lists()} lists`);
      await sleep(20);
      // A worker that just began waits a minute before its first list.
      world.pass(10_000);
    }
  };
  await using _ = await engine.work();
  await until(1);
  await session.append("more");
  const before = world.now();
  await until(2);
  assert.ok(world.now() - before >= 590_000, `the second list came after ${world.now() - before} ms`);
  assert.equal((await engine.verify()).heads.logs, 1);
});

test("a list that was changed, or signed with another key, is reported", async () => {
  await using place = inFile();
  {
    await using engine = await place.open({ sign: newSigner() });
    await filled(engine, 2);
    await engine.anchor();
  }
  const body = (change: string): void => {
    const raw = new DatabaseSync(place.path);
    raw.exec(`UPDATE records SET body = json_set(body, ${change}) WHERE body LIKE '%"merkle"%'`);
    raw.close();
  };
  body(`'$.root', '${"1".repeat(64)}'`);
  const { told } = await found(place);
  assert.ok(told.some((one) => one.includes("the root of the list of heads is wrong")));
  assert.ok(told.some((one) => one.includes("the signature of the list of heads does not match")));
});

test("an anchor is posted to an address, and to no private one unless that is allowed", async () => {
  await using place = inFile();
  await using engine = await place.open();
  await filled(engine, 1);
  const came: string[] = [];
  let status = 200;
  const server = createServer((request, response) => {
    void (async () => {
      came.push(Buffer.concat(await all(request as AsyncIterable<Buffer>)).toString());
      response.writeHead(status).end();
    })();
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/heads`;
  try {
    await assert.rejects(engine.anchor({ url }), { code: "refused", message: /a private address/ });
    assert.deepEqual(came, []);
    const anchor = await engine.anchor({ url, allowPrivate: true });
    assert.deepEqual(JSON.parse(came[0] ?? ""), anchor);
    status = 500;
    await assert.rejects(engine.anchor({ url, allowPrivate: true }), { code: "refused", message: /500/ });
  } finally {
    server.close();
  }
});
