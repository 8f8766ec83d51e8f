/** Every event of the catalogue has words, whatever of it is there. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import {
  actorWords,
  eventFamilies,
  summaryOf,
  toneOfEvent,
  typesOf,
} from "../../src/console/ui/event-summary.ts";
import { entryOf, eventTypes, sessionCatalog } from "../../src/core/catalog.ts";

interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly items?: Schema;
  readonly prefixItems?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

/** A value of a schema: with everything that may be there, or with what must. */
function sample(schema: Schema, whole: boolean): unknown {
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  const [one] = schema.anyOf ?? schema.oneOf ?? [];
  if (one !== undefined) return sample(one, whole);
  if (schema.properties !== undefined) {
    const names = whole ? Object.keys(schema.properties) : (schema.required ?? []);
    return Object.fromEntries(names.map((name) => [name, sample(schema.properties?.[name] ?? {}, whole)]));
  }
  if (schema.prefixItems !== undefined) return schema.prefixItems.map((item) => sample(item, whole));
  if (schema.type === "array") return schema.items === undefined ? [] : [sample(schema.items, whole)];
  if (schema.type === "integer" || schema.type === "number") return 7;
  if (schema.type === "boolean") return true;
  if (schema.type === "object") return {};
  return "a word\u202e\u001b[31m";
}

const steering = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/u;

for (const whole of [true, false])
  test(`every event has words, ${whole ? "with all it may hold" : "with what it must hold"}`, () => {
    const without = eventTypes.filter((type) => {
      const entry = entryOf(type);
      const body = sample(z.toJSONSchema(entry?.body ?? z.any()) as Schema, whole);
      const content = whole
        ? sample(z.toJSONSchema(entry?.content ?? z.any(), { unrepresentable: "any" }) as Schema, true)
        : undefined;
      const words = summaryOf({ type, body, content, erased: !whole });
      return (
        !/^[A-Za-z]/.test(words) ||
        words.startsWith(type) ||
        /undefined|NaN/.test(words) ||
        steering.test(words)
      );
    });
    assert.deepEqual(without, []);
    assert.ok(eventTypes.length > 60);
  });

test("a shell is not shown as bound for reading only", () => {
  const bound = (kind: string): string =>
    summaryOf({
      type: "resource.bound",
      body: { name: "src", kind, mode: "read" },
      content: { path: "/src" },
      erased: false,
    });
  assert.match(bound("directory"), /^Bound directory src \(read\): \/src/);
  assert.match(bound("shell"), /^Bound shell .*src.*\/src/);
  assert.doesNotMatch(bound("shell"), /read/);
});

test("erased content is marked as erased", () => {
  const event = {
    type: "item.recorded",
    body: { kind: "fact", key: "rate" },
    content: undefined,
    erased: true,
  };
  assert.equal(summaryOf(event), "Recorded fact rate (content erased)");
});

test("records of other programs are named by their type", () => {
  const foreign = { type: "x.crm.ticket", body: { id: 7 }, content: undefined, erased: false };
  assert.equal(summaryOf(foreign), 'x.crm.ticket {"id":7}');
  const newer = { type: "turn.started", body: {}, content: undefined, erased: false };
  assert.equal(summaryOf(newer), "turn.started {}");
  const odd = { type: "constructor", body: null, content: undefined, erased: false };
  assert.equal(summaryOf(odd), "constructor null");
});

test("a line of 5 MB takes one line of words, at once", () => {
  const text = "a".repeat(5_000_000);
  const event = { type: "input.received", body: { input: 1 }, content: { blocks: [{ type: "text", text }] } };
  assert.ok(summaryOf({ ...event, erased: false }).length < 300);
});

test("an actor is named by the suffix of its id", () => {
  assert.deepEqual(
    ["user:prn_01k5abcdef", "agent:payroll@2", "tool:shell", "session:ses_01k5zzzzzz", "system"].map(
      actorWords,
    ),
    ["user k5abcdef", "agent payroll@2", "tool shell", "session k5zzzzzz", "system"],
  );
});

test("the families hold every type of a session, once", () => {
  const all = eventFamilies.flatMap(typesOf);
  assert.deepEqual(all.toSorted(), Object.keys(sessionCatalog).toSorted());
});

test("failures are distinguished from successes", () => {
  const tones = [
    ["tool.settled", { status: "ok" }],
    ["tool.settled", { status: "unknown" }],
    ["turn.ended", { outcome: "failed" }],
    ["session.suspended", { by: "approval" }],
    ["model.failed", {}],
  ] as const;
  assert.deepEqual(
    tones.map(([type, body]) => toneOfEvent({ type, body })),
    [null, "bad", "bad", "warn", "bad"],
  );
});
