/** Splitters: every way to cut the bytes into chunks gives the same records, and damage stays local. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { splitElements } from "../../src/transcripts/read/json-elements.ts";
import { splitLines } from "../../src/transcripts/read/json-lines.ts";
import { ByteCollector, type RecordSink, type Splitter } from "../../src/transcripts/read/splitter.ts";

interface Seen {
  readonly records: readonly (readonly [number, number, unknown])[];
  readonly damage: readonly (readonly [number, number, string])[];
}

function run(make: (sink: RecordSink) => Splitter, bytes: Buffer, chunk: number): Seen {
  const records: [number, number, unknown][] = [];
  const damage: [number, number, string][] = [];
  const splitter = make({
    record: ({ from, to, value }) => void records.push([from, to, value]),
    damage: ({ from, to }, reason) => void damage.push([from, to, reason]),
  });
  // One buffer for all chunks, as a file is read: a splitter must not keep it.
  const reused = Buffer.alloc(chunk);
  for (let at = 0; at < bytes.length; at += chunk) {
    const length = bytes.copy(reused, 0, at, Math.min(bytes.length, at + chunk));
    splitter.push(reused.subarray(0, length));
    reused.fill(0x7e);
  }
  splitter.end();
  return { records, damage };
}

/** The same result for every size of chunk; each range holds the JSON of its record. */
function split(make: (sink: RecordSink) => Splitter, bytes: Buffer): Seen {
  const whole = run(make, bytes, Math.max(1, bytes.length));
  for (let chunk = 1; chunk < Math.min(bytes.length, 70); chunk++)
    assert.deepEqual(run(make, bytes, chunk), whole, `chunks of ${chunk}`);
  return whole;
}

const lines = (sink: RecordSink): Splitter => splitLines("f", sink);

test("lines: line ends, a byte order mark, blanks, NUL bytes and a torn end", () => {
  const mark = Buffer.from([0xef, 0xbb, 0xbf]);
  const text = Buffer.from('{"a":1}\r\n\n  {"b":"é😀"} \n\0\0{"c":3}\n{"d":"torn');
  const bytes = Buffer.concat([mark, text]);
  const { records, damage } = split(lines, bytes);
  assert.deepEqual(
    records.map(([, , value]) => value),
    [{ a: 1 }, { b: "é😀" }, { c: 3 }],
  );
  for (const [from, to, value] of records)
    assert.deepEqual(JSON.parse(bytes.toString("utf8", from, to)), value);
  assert.deepEqual(
    damage.map(([, , reason]) => reason),
    ["2 NUL bytes", "incomplete last line"],
  );
  assert.equal(damage.at(-1)?.[1], bytes.length);
});

test("lines: spliced records are parted, what lies between is reported, bad bytes are replaced", () => {
  const bytes = Buffer.concat([
    Buffer.from('{"a":1}{"b":{"x":[1]}}rubbish{"c":"}{"}\n'),
    Buffer.from('{"d":"'),
    Buffer.from([0xff]),
    Buffer.from('"}\nnull\n'),
  ]);
  const { records, damage } = split(lines, bytes);
  assert.deepEqual(
    records.map(([, , value]) => value),
    [{ a: 1 }, { b: { x: [1] } }, { c: "}{" }, { d: "\ufffd" }, null],
  );
  assert.deepEqual(
    damage.map(([from, to, reason]) => [bytes.toString("latin1", from, to).slice(0, 7), reason]),
    [
      ["rubbish", "invalid JSON"],
      ['{"d":"\u00ff', "invalid UTF-8, replaced"],
    ],
  );
});

test("lines: all records of a spliced line are found, and a long hostile line takes a moment", () => {
  const many = Array.from({ length: 1_000 }, (_, at) => JSON.stringify({ at })).join("");
  const spliced = run(lines, Buffer.from(`torn"}${many}\n`), 65_536);
  assert.equal(spliced.records.length, 1_000);
  for (const unit of ["{", 'x{"a":1', '"{']) {
    const bytes = Buffer.from(`${unit.repeat(Math.ceil(16e6 / unit.length))}\n{"b":2}\n`);
    const before = process.cpuUsage();
    const { records } = run(lines, bytes, 1e6);
    const { user } = process.cpuUsage(before);
    assert.deepEqual(records.at(-1)?.[2], { b: 2 }, unit);
    // Two hundred passes over the line took four seconds and more.
    assert.ok(user < 2.5e6, `${unit}: ${user / 1e3} ms`);
  }
});

test("elements: an array, a field of an object, and a document that ends early", () => {
  const array = Buffer.from(' [ {"a":"],}"} , [1,[2]], "x,]" ,3 ]\n');
  const inArray = split((sink) => splitElements("f", sink, { container: null }), array);
  assert.deepEqual(
    inArray.records.map(([from, to]) => JSON.parse(array.toString("utf8", from, to)) as unknown),
    [{ a: "],}" }, [1, [2]], "x,]", 3],
  );
  assert.deepEqual(inArray.damage, []);
  const object = Buffer.from('{"id":"7","messages":[{"n":1},{"n":2}],"end":{"messages":[]}}');
  const inObject = split((sink) => splitElements("f", sink, { container: "messages" }), object);
  assert.deepEqual(
    inObject.records.map(([, , value]) => value),
    [{ n: 1 }, { n: 2 }, { id: "7", end: { messages: [] } }],
  );
  const torn = object.subarray(0, object.indexOf('{"n":2}') + 4);
  const early = split((sink) => splitElements("f", sink, { container: "messages" }), torn);
  assert.deepEqual(
    early.records.map(([, , value]) => value),
    [{ n: 1 }, { id: "7" }],
  );
  assert.equal(early.damage[0]?.[2], "the document ends early");
});

test("elements: a text that is not a document, and an element that does not parse", () => {
  const none = split((sink) => splitElements("f", sink, { container: null }), Buffer.from("hello"));
  assert.deepEqual([none.records, none.damage], [[], [[0, 1, "no JSON document"]]]);
  const bad = split((sink) => splitElements("f", sink, { container: null }), Buffer.from("[1,nope,2]"));
  assert.deepEqual(
    bad.records.map(([, , value]) => value),
    [1, 2],
  );
  assert.deepEqual(bad.damage, [[3, 7, "invalid JSON"]]);
});

test("a collector gives up beyond 64 MB, knows how much there was, and begins anew", () => {
  const collector = new ByteCollector();
  collector.add(Buffer.from("ab"));
  collector.add(Buffer.from("c"));
  assert.deepEqual([collector.length, collector.isTooLong, String(collector.take())], [3, false, "abc"]);
  const large = Buffer.alloc(40 * 1024 * 1024);
  collector.add(large);
  collector.add(large);
  assert.deepEqual([collector.length, collector.isTooLong], [large.length * 2, true]);
  assert.equal(collector.take().length, 0);
  collector.add(Buffer.from("x"));
  assert.deepEqual([collector.length, collector.isTooLong, String(collector.take())], [1, false, "x"]);
});
