/** The token of whoever starts the server: in a file of their own, and nowhere else. */
import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { newToken } from "../../src/runtime/workspace/tokens.ts";
import { loginLink, localTokenPath, openLocalToken } from "../../src/server/auth/local-token.ts";
import { digest } from "../core/digest.ts";
import { all, inFile, inMemory } from "../runtime/place.ts";
import { modeOf } from "../file-mode.ts";

async function place() {
  const file = await inFile();
  const { engine, world, path } = file;
  const kept = localTokenPath(path, {}, digest)!;
  return { file, engine, world, kept, open: () => openLocalToken(engine, { world, path: kept }) };
}

test("the first start makes a token that only its owner can read; later ones find it", async () => {
  const { file, engine, kept, open } = await place();
  await using _ = file;
  const { token, made } = await open();
  assert.deepEqual([made, readFileSync(kept, "utf8"), modeOf(kept, 0o600)], [true, `${token}\n`, 0o600]);
  assert.deepEqual(await open(), { token, made: false });
  const holder = await engine.checkToken(token);
  assert.deepEqual(holder?.scopes, ["admin"]);
  // It is the local user who comes with it.
  const session = await engine.open({ objective: "Who am I?" });
  const [first] = await all(session.events());
  assert.equal(holder?.actor, first?.actor);
  const others = readdirSync(dirname(kept)).filter((name) => /\.token./.test(name));
  assert.deepEqual(others, []);
  assert.equal(loginLink("http://127.0.0.1:7717", token), `http://127.0.0.1:7717/#token=${token}`);
});

test("a server that died before the token was issued issues it now", async () => {
  const { file, engine, world, kept, open } = await place();
  await using _ = file;
  const token = newToken(world, "default");
  writeFileSync(kept, `${token}\n`, { mode: 0o600 });
  assert.equal(await engine.checkToken(token), null);
  assert.deepEqual(await open(), { token, made: true });
  assert.notEqual(await engine.checkToken(token), null);
});

test("one that was revoked is replaced, and stays revoked", async () => {
  const { file, engine, open } = await place();
  await using _ = file;
  const before = await open();
  const [entry] = await engine.tokens();
  await engine.revokeToken(entry!.id);
  const after = await open();
  assert.ok(after.made && after.token !== before.token);
  assert.equal(await engine.checkToken(before.token), null);
  assert.notEqual(await engine.checkToken(after.token), null);
});

test("one that others could read is revoked and replaced", async () => {
  const { file, engine, kept, open } = await place();
  await using _ = file;
  const before = await open();
  chmodSync(kept, 0o644);
  const after = await open();
  assert.ok(after.made && after.token !== before.token);
  assert.equal(await engine.checkToken(before.token), null);
  assert.equal(modeOf(kept, 0o600), 0o600);
});

test("a file without a token, or a link, is left unchanged", async () => {
  const { file, kept, open } = await place();
  await using _ = file;
  writeFileSync(kept, "my notes\n", { mode: 0o600 });
  await assert.rejects(open(), { code: "unavailable" });
  assert.equal(readFileSync(kept, "utf8"), "my notes\n");
  const linked = `${kept}-2`;
  symlinkSync(kept, linked);
  await assert.rejects(openLocalToken(file.engine, { world: file.world, path: linked }), {
    code: "unavailable",
  });
  assert.ok(existsSync(linked));
});

test("an empty file, which covers the name in sandboxes, is filled in place", async () => {
  const { file, kept, open } = await place();
  await using _ = file;
  writeFileSync(kept, "");
  const { ino } = statSync(kept);
  const other = await file.again();
  const [ours, theirs] = await Promise.all([
    open(),
    openLocalToken(other.engine, { world: other.world, path: kept }),
  ]);
  assert.equal(ours.token, theirs.token);
  assert.deepEqual([statSync(kept).ino, modeOf(kept, 0o600)], [ino, 0o600]);
  assert.equal(readFileSync(kept, "utf8").split("\n")[0], ours.token);
  assert.equal((await open()).made, false);
});

test("two servers that start at once agree on one token", async () => {
  const { file, kept, open } = await place();
  await using _ = file;
  const other = await file.again();
  const [ours, theirs] = await Promise.all([
    open(),
    openLocalToken(other.engine, { world: other.world, path: kept }),
  ]);
  assert.equal(ours.token, theirs.token);
  assert.equal((await file.engine.tokens()).length, 1);
});

test("it is stored beside a store in a file, and nowhere for one in memory", async () => {
  const at = (store: string, env = {}) => localTokenPath(store, { HOME: "/home/me", ...env }, digest);
  assert.equal(at("/data/skein.db"), "/data/skein.db.token");
  assert.equal(at("memory:"), null);
  const there = at("postgres://me:hunter2@db/skein?tenant=acme")!;
  assert.equal(dirname(there), "/home/me/.local/state/skein");
  assert.equal(at("postgres://me:other@db/skein?tenant=acme"), there);
  assert.notEqual(at("postgres://me:hunter2@db/skein?tenant=other"), there);
  assert.equal(dirname(at("postgres://db/skein", { XDG_STATE_HOME: "/state" })!), join("/state", "skein"));
  await using memory = inMemory();
  const { token } = await openLocalToken(memory.engine, { world: memory.world, path: null });
  assert.notEqual(await memory.engine.checkToken(token), null);
});
