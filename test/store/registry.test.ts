/** Drivers are found by the scheme of an address, those of third parties too. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { openEngine } from "../../src/index.ts";
import { registerStore } from "../../src/entry/store.ts";
import { memoryStore } from "../../src/store/memory/store.ts";
import { locateStore } from "../../src/store/registry.ts";

test("a path and sqlite: are one file", async () => {
  const folder = mkdtempSync(join(tmpdir(), "skein-registry-"));
  try {
    const path = join(folder, "a.db");
    await using first = await openEngine({ store: path });
    const session = await first.open({ objective: "one" });
    await using second = await openEngine({ store: `sqlite:${path}`, create: false });
    assert.equal((await second.session(session.id)).id, session.id);
    const at = await locateStore(`sqlite:${path}`);
    assert.deepEqual([at.address, at.files[0], at.exists()], [path, path, true]);
    assert.equal((await locateStore("x.db")).address, resolve("x.db"));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("an address of PostgreSQL is shown without its password, and names its tenant", async () => {
  for (const scheme of ["postgres", "postgresql", "POSTGRES"]) {
    const at = await locateStore(`${scheme}://me:secret@db/skein?tenant=acme`);
    assert.equal(at.shown, `${scheme.toLowerCase()}://me@db/skein?tenant=acme`);
    assert.equal(at.address, at.shown);
    assert.equal(at.tenancy?.tenant, "acme");
    assert.match(at.tenancy?.addressOf("other") ?? "", /secret@db\/skein\?tenant=other/);
    assert.deepEqual(at.files, []);
  }
});

test("a store in memory ends with its process", async () => {
  const at = await locateStore("memory:");
  assert.deepEqual([at.address, at.exists(), at.files], [null, false, []]);
  await assert.rejects(openEngine({ store: "memory:x" }), { code: "invalid" });
});

test("an unknown scheme and a path that is none are refused", async () => {
  await assert.rejects(openEngine({ store: "mysql://db/x" }), { code: "invalid", message: /"mysql:"/ });
  for (const store of ["", ":memory:", "a\0b", "sqlite:"]) {
    await assert.rejects(openEngine({ store }), { code: "invalid", message: /expected a path/ });
  }
});

test("a driver from elsewhere is found by its scheme", async () => {
  const seen: string[] = [];
  registerStore("elsewhere", (address) => ({
    async open({ world, workspace }) {
      seen.push(address);
      return memoryStore({ world, workspace });
    },
  }));
  await using engine = await openEngine({ store: "elsewhere://me:secret@host/x" });
  await engine.open({ objective: "one" });
  assert.deepEqual(seen, ["elsewhere://me:secret@host/x"]);
  const at = await locateStore("elsewhere://me:secret@host/x");
  assert.deepEqual([at.shown, at.address], ["elsewhere://me@host/x", "elsewhere://me@host/x"]);
  const driver = () => ({ open: () => Promise.reject(new Error("never")) });
  assert.throws(() => registerStore("elsewhere:", driver), { code: "conflict" });
  assert.throws(() => registerStore("postgres://", driver), { code: "conflict" });
  assert.throws(() => registerStore("a b", driver), { code: "invalid" });
});
