/** `SkeinStore` beside `InMemoryStore`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  InMemoryStore,
  InvalidNamespaceError,
  type BaseStore,
  type Operation,
} from "@langchain/langgraph-checkpoint";
import fc from "fast-check";
import { openEngine } from "../../../src/index.ts";
import { SkeinStore } from "../../../src/adapter/langgraph/langgraph.ts";
import { sliced } from "../../slice.ts";

// No label begins with another: InMemoryStore compares prefixes as joined texts.
const label = fc.constantFrom("users", "42", "notes", "\0", "__proto__");
const namespace = fc.array(label, { minLength: 1, maxLength: 3 });
const key = fc.constantFrom("a", "b", "__proto__", "constructor", "");
const field = fc.oneof(fc.integer({ min: 0, max: 4 }), fc.constantFrom("x", null, true, "\0", "\uD800"));
const value = fc.record(
  { n: field, text: fc.string({ maxLength: 4, unit: "binary" }) },
  { requiredKeys: [] },
);
const filter = fc.oneof(
  fc.constant(undefined),
  fc.record({
    n: fc.oneof(
      field,
      ...["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"].map((name) => field.map((one) => ({ [name]: one }))),
    ),
  }),
);
const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ namespace, key, value }) },
  { weight: 1, arbitrary: fc.record({ namespace, key, value: fc.constant(null) }) },
  { weight: 2, arbitrary: fc.record({ namespace, key }) },
  {
    weight: 3,
    arbitrary: fc
      .record({
        namespacePrefix: fc.array(label, { maxLength: 2 }),
        filter,
        limit: fc.integer({ min: 0, max: 4 }),
        offset: fc.nat(2),
      })
      .map(({ filter: wanted, ...rest }) => (wanted === undefined ? rest : { ...rest, filter: wanted })),
  },
);

/** Times are those of each store: whether they are equal counts. */
const plain = (results: unknown): unknown =>
  JSON.parse(
    JSON.stringify(results, (name, one: unknown) =>
      name.endsWith("At") || name === "score" ? undefined : (one ?? null),
    ),
  );

test("random batches have the results of InMemoryStore, also for a store that reads anew", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(operation, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 12 }),
      async (batches) => {
        await using engine = await openEngine({ store: "memory:" });
        const [ours, theirs] = [new SkeinStore(engine), new InMemoryStore()];
        for (const [round, batch] of batches.entries()) {
          const one = round % 3 === 2 ? new SkeinStore(engine) : ours;
          assert.deepEqual(plain(await one.batch(batch)), plain(await theirs.batch(structuredClone(batch))));
        }
        // InMemoryStore also lists namespaces that became empty.
        const full = new Set(
          (await theirs.search([], { limit: 1_000 })).map((item) => item.namespace.join(":")),
        );
        const listed = async (store: BaseStore, prefix?: string[]) =>
          (await store.listNamespaces(prefix === undefined ? {} : { prefix })).filter((one) =>
            full.has(one.join(":")),
          );
        for (const prefix of [undefined, ["users"], ["*", "42"]])
          assert.deepEqual(await listed(ours, prefix), await listed(theirs, prefix));
      },
    ),
    { numRuns: sliced(30, 400) },
  );
});

test("items survive, are seen by another engine's store, and stores have names", async () => {
  await using engine = await openEngine({ store: "memory:" });
  const [one, two, other] = [
    new SkeinStore(engine),
    new SkeinStore(engine),
    new SkeinStore(engine, { name: "b" }),
  ];
  assert.equal(await one.get(["users", "1"], "name"), null);
  await one.put(["users", "1"], "name", { text: "Ann" });
  const before = await two.get(["users", "1"], "name");
  await two.put(["users", "1"], "name", { text: "Ben" });
  const after = await one.get(["users", "1"], "name");
  assert.deepEqual([before?.value, after?.value], [{ text: "Ann" }, { text: "Ben" }]);
  assert.deepEqual(before?.createdAt, after?.createdAt);
  assert.equal(await other.get(["users", "1"], "name"), null);
  await one.delete(["users", "1"], "name");
  assert.deepEqual([await two.search([]), await two.listNamespaces()], [[], []]);
});

test("prefixes are compared label by label, and a query filters without ranking", async () => {
  await using engine = await openEngine({ store: "memory:" });
  const store = new SkeinStore(engine);
  await store.put(["a"], "1", { x: 1 });
  await store.put(["ab"], "2", { x: 1 });
  await store.put(["a:b"], "3", { x: 1 });
  const found = async (prefix: string[]) =>
    (await store.search(prefix, { query: "what?" })).map(({ key: one }) => one);
  assert.deepEqual(
    [await found(["a"]), await found(["a:b"]), await found([])],
    [["1"], ["3"], ["1", "2", "3"]],
  );
  await assert.rejects(store.put([], "1", {}), InvalidNamespaceError);
  await assert.rejects(store.put(["langgraph"], "1", {}), InvalidNamespaceError);
});

test("a returned value can be changed, and values that are not JSON are refused", async () => {
  await using engine = await openEngine({ store: "memory:" });
  const store = new SkeinStore(engine);
  const given = { list: [1] };
  await store.put(["a"], "1", given);
  given.list.push(2);
  const read = await store.get(["a"], "1");
  (read?.value["list"] as number[] | undefined)?.push(3);
  assert.deepEqual((await store.get(["a"], "1"))?.value, { list: [1] });
  await assert.rejects(store.put(["a"], "2", { at: new Date(0) }), { code: "invalid" });
  assert.equal(await store.get(["a"], "2"), null);
});
