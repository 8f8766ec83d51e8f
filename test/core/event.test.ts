/** Reading records back: known, foreign, newer, damaged, erased. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventTypes } from "../../src/core/catalog.ts";
import type { StoredRecord } from "../../src/core/chain.ts";
import { readEvent } from "../../src/core/event.ts";
import { given, seal, sessionId } from "./given.ts";
import { samples } from "./samples.ts";

const record = (type: string, body: unknown, content?: unknown): StoredRecord =>
  seal(sessionId, content === undefined ? { type, body } : { type, body, content }, undefined);

test("every event of the catalogue is read back as it was written", () => {
  for (const type of eventTypes) {
    const { body, content } = samples[type];
    const stored = record(type, body, content);
    const { kind, event } = readEvent(stored, true);
    assert.deepEqual(
      [kind, event.type, event.body, event.content, event.erased],
      ["known", type, body, content, false],
    );
    const { salt: _, body: __, content: ___, ...header } = stored;
    assert.deepEqual(
      { ...event, body, content: null, erased: false },
      { ...header, body, content: null, erased: false },
    );
  }
});

test("erased content differs from content not requested and from none", () => {
  const stored = record("input.received", { input: 1 }, samples["input.received"].content);
  const gone = { ...stored, content: null, salt: null };
  assert.deepEqual(
    [readEvent(gone, true).event.erased, readEvent(gone, true).event.content],
    [true, undefined],
  );
  assert.equal(readEvent(gone, false).event.erased, false);
  assert.equal(readEvent(record("lease.released", { epoch: 1 }), true).event.erased, false);
});

test("foreign records pass through untouched, whatever they hold", () => {
  for (const body of [{}, { a: [1] }, [1, 2], "text", null]) {
    const { kind, event } = readEvent(record("x.other-program", body, { any: "thing" }), true);
    assert.deepEqual([kind, event.body, event.content], ["foreign", body, { any: "thing" }]);
  }
  assert.equal(readEvent({ ...record("x.a", {}), v: 7 }, true).kind, "foreign");
});

test("an unknown type and a newer version are newer, and validated against no current schema", () => {
  assert.equal(readEvent(record("turn.paused", { odd: true }), true).kind, "newer");
  const later = { ...record("turn.started", { otherwise: 1 }), v: 2 };
  const { kind, event } = readEvent(later, true);
  assert.deepEqual([kind, event.v, event.body], ["newer", 2, { otherwise: 1 }]);
});

test("extra fields of a known event are kept", () => {
  const body = { input: 1, later: { more: 1 } };
  assert.deepEqual(readEvent(record("input.received", body), true).event.body, body);
});

test("the error about an unreadable record names it and the next command", () => {
  const stored = given().records[0]!;
  const wrong: readonly (readonly [Partial<StoredRecord>, RegExp])[] = [
    [{ body: "{" }, /record 1 of ses_\w+ cannot be read: its body is not JSON/],
    [{ content: "{" }, /its content is not JSON/],
    [{ body: "{}" }, /its body does not match session\.opened/],
    [{ v: 0 }, /no upcast from version 0/],
  ];
  for (const [change, message] of wrong) {
    assert.throws(() => readEvent({ ...stored, ...change }, true), { code: "corrupt", message });
  }
  assert.throws(() => readEvent({ ...stored, body: "{" }, true), { hint: /skein verify ses_/ });
});
