/** Help, OpenAPI and docs/calls.md explain every parameter, because every description does. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as z from "zod";
import { operationIds, operationOf } from "../../src/call/operations.ts";
import { openEngine } from "../../src/index.ts";

interface Schema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
}

test("every parameter of every call has a description, which is not a sentence", () => {
  let seen = 0;
  const wrong = operationIds.flatMap((id) => {
    const { params } = operationOf(id);
    const { properties = {} } = z.toJSONSchema(params, { io: "input", unrepresentable: "any" }) as Schema;
    return Object.entries(properties).flatMap(([name, { description = "" }]) => {
      seen++;
      return /^[^A-Z].*[^.]$/.test(description) || description.startsWith("JSON") ? [] : [`${id} ${name}`];
    });
  });
  assert.ok(seen > 200, String(seen));
  assert.deepEqual(wrong, []);
});

test("docs/calls.md names only methods of the library that exist", async () => {
  await using engine = await openEngine({ store: "memory:" });
  const session = await engine.open({ objective: "Look up a call" });
  const page = readFileSync(new URL("../../docs/calls.md", import.meta.url), "utf8");
  const named = [...page.matchAll(/^- Library: `(engine|session)\.(\w+)\(/gm)];
  assert.ok(named.length > 80, String(named.length));
  const missing = named.filter(([, of, name = ""]) => !(name in (of === "engine" ? engine : session)));
  assert.deepEqual(
    missing.map(([line]) => line),
    [],
  );
});
