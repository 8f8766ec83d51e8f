/** Engines of tenants: opened when asked for, closed when nobody does, and never made by asking. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Engine } from "../../src/runtime/engine/engine.ts";
import { makeTenants, oneTenant } from "../../src/server/http/tenants.ts";
import { memoryStore } from "../../src/store/memory/store.ts";
import { madeWorld } from "../runtime/made-world.ts";
import { workspace } from "../runtime/place.ts";
import { internalsOf } from "../../src/runtime/engine/internals.ts";

/** Tenants a to d, what was opened and closed of them, and those that are busy. */
function someTenants(options: { readonly openMax?: number } = {}) {
  const world = madeWorld();
  const told: string[] = [];
  const busy = new Set<string>();
  const tenants = makeTenants({
    world,
    idleMs: 1_000,
    ...options,
    isBusy: (engine) => busy.has(internalsOf(engine).tenant),
    async open(tenant) {
      if (!"abcd".includes(tenant)) return null;
      told.push(`open ${tenant}`);
      const store = memoryStore({ world, workspace });
      const close = async (): Promise<void> => {
        told.push(`close ${tenant}`);
        await store.close();
      };
      return new Engine({ store: { ...store, close }, world, tenant });
    },
  });
  return { world, told, busy, tenants };
}

/** Closing goes on beside what asked for it. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

test("a tenant is opened once under concurrent requests; a missing one never is", async () => {
  const { tenants, told } = someTenants();
  await using _ = tenants;
  const [first, second] = await Promise.all([tenants.engineOf("a"), tenants.engineOf("a")]);
  assert.ok(first !== null && first === second);
  assert.equal(await tenants.engineOf("a"), first);
  assert.equal(await tenants.engineOf("nobody"), null);
  assert.deepEqual(told, ["open a"]);
});

test("a tenant without requests is closed after a while, unless it is busy", async () => {
  const { tenants, told, world, busy } = someTenants();
  await using _ = tenants;
  busy.add("b");
  for (const tenant of ["a", "b", "c"]) await tenants.engineOf(tenant);
  world.pass(999);
  await tenants.engineOf("c");
  world.pass(1);
  await tenants.engineOf("d");
  await settle();
  assert.deepEqual(told.slice(3), ["open d", "close a"]);
  await tenants.engineOf("a");
  assert.equal(told.at(-1), "open a");
});

test("over the limit, the least recently used tenant is closed", async () => {
  const { tenants, told } = someTenants({ openMax: 2 });
  await using _ = tenants;
  for (const tenant of ["a", "b", "a", "c"]) await tenants.engineOf(tenant);
  await settle();
  assert.deepEqual(told, ["open a", "open b", "open c", "close b"]);
});

test("a tenant that could not be opened is tried again", async () => {
  const world = madeWorld();
  let tries = 0;
  await using tenants = makeTenants({
    world,
    async open(tenant) {
      tries += 1;
      if (tries === 1) throw new Error("not now");
      return new Engine({ store: memoryStore({ world, workspace }), world, tenant });
    },
  });
  await assert.rejects(tenants.engineOf("a"), /not now/);
  assert.notEqual(await tenants.engineOf("a"), null);
});

test("closing closes all tenants, and opens none afterwards", async () => {
  const { tenants, told } = someTenants();
  for (const tenant of ["a", "b"]) await tenants.engineOf(tenant);
  await tenants.close();
  assert.deepEqual(told.slice(2).toSorted(), ["close a", "close b"]);
  await assert.rejects(tenants.engineOf("a"), { code: "unavailable" });
});

test("a store of one tenant has no other", async () => {
  const world = madeWorld();
  await using engine = new Engine({ store: memoryStore({ world, workspace }), world });
  const tenants = oneTenant(engine);
  assert.deepEqual([await tenants("default"), await tenants("acme")], [engine, null]);
});
