/** Times as positions: which event they mean, in any zone, at every edge. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { localTime, momentOf } from "../../../src/runtime/read/time-place.ts";
import { writeRaw } from "../raw.ts";
import { inFile, inMemory, type Place } from "../place.ts";

const nowMs = Date.parse("2026-11-19T12:00:00Z");
const at = (text: string): number => Date.parse(text);
const hourMs = 3_600_000;

test("a time names a moment in the zone of the process; a day its end", () => {
  const cases: readonly (readonly [string, number | null])[] = [
    ["-2h", nowMs - 2 * hourMs],
    ["-90s", nowMs - 90_000],
    ["-90m", nowMs - 1.5 * hourMs],
    ["-3d", nowMs - 72 * hourMs],
    ["-1w", nowMs - 7 * 24 * hourMs],
    ["2026-11-16T09:00Z", at("2026-11-16T09:00Z")],
    ["2026-11-16T09:00:30.5+01:00", at("2026-11-16T08:00:30.500Z")],
    ["2026-11-16T09:00", at("2026-11-16T09:00")],
    ["2026-11-16", at("2026-11-17T00:00") - 1],
    ["yesterday", at("2026-11-19T00:00") - 1],
    ["2026-02-29", null],
    ["2026-02-31T09:00", null],
    ["2026-11-16T25:00", null],
    ["2h", null],
    ["-2y", null],
    ["tomorrow", null],
    ["", null],
  ];
  for (const [word, moment] of cases) assert.equal(momentOf(word, nowMs), moment, word);
});

test("any text is a moment or none, and a moment that is shown is read back", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const moment = momentOf(text, nowMs);
      assert.ok(moment === null || Number.isFinite(moment));
    }),
  );
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4e12 }), (ms) => {
      const [date, time, zone] = localTime(ms).split(" ");
      assert.equal(momentOf(`${date}T${time}${zone}`, nowMs), Math.floor(ms / 1_000) * 1_000);
    }),
  );
});

const makers = { memory: async (): Promise<Place> => inMemory(), sqlite: inFile } as const;

for (const [name, make] of Object.entries(makers)) {
  test(`a session is read as it was at a time; the name of a checkpoint wins (${name})`, async () => {
    await using place = await make();
    const { engine } = place;
    const session = await engine.open({ objective: "Payroll" });
    await session.record("fact", "rate", 1);
    const { at: beganMs } = await session.head();
    const word = new Date(beganMs).toISOString();
    const last = async (): Promise<number> => (await session.head()).seq;
    assert.equal((await session.load(word)).seq, await last());
    await session.save("before");
    const fork = await session.fork({ atSeq: word });
    for (const one of [word, "before"]) {
      const { seq } = await session.load(one);
      assert.equal((await session.state({ atSeq: one })).seq, seq);
      assert.equal((await session.fold({ atSeq: one })).seq, seq);
      const { parts } = await session.context({ atSeq: one });
      assert.deepEqual(parts, (await session.context({ atSeq: seq })).parts);
      assert.deepEqual(await session.items({ atSeq: one }), await session.items({ atSeq: seq }));
    }
    await assert.rejects(session.state({ atSeq: "nowhere" }), { code: "not-found" });
    assert.deepEqual(
      (await fork.items()).map(({ value }) => value),
      [1],
    );
    await assert.rejects(session.load("2001-01-01T23:59:59Z"), {
      code: "not-found",
      message:
        /nothing had happened by 200\d-\d\d-\d\d \d\d:59:59 [+-]\d\d:\d\d in ses_\w+, which begins at /,
    });
    await assert.rejects(session.save("yesterday"), { code: "invalid", message: /got the time "yesterday"/ });
    await session.record("fact", "rate", 2);
    for (const ofZone of ["yesterday", "2026-11-16", "2026-11-16T09:00"])
      await assert.rejects(session.load(ofZone), { code: "invalid", message: /expected a time with a zone/ });
    await assert.rejects(session.load("2026-02-31"), { code: "invalid", message: /with a zone/ });
    await assert.rejects(session.load("tomorrow"), { code: "not-found", hint: /or a time, such as/ });
    // A log of an earlier version may have a checkpoint of such a name, which wins.
    const events = [{ type: "checkpoint.saved" as const, body: { name: "yesterday", seq: 1 } }];
    await writeRaw(place, session.id, events);
    assert.equal((await session.load("yesterday")).seq, 1);
    const diff = await session.diff(word, undefined, { only: ["items"] });
    assert.equal(diff.to.seq, await last());
  });

  test(`of many events a time finds the last one until then (${name})`, async () => {
    await using place = await make();
    const session = await place.engine.open({ objective: "Count" });
    for (let n = 0; n < 40; n++) await session.record("fact", "n", n);
    const events = await Array.fromAsync(session.events());
    for (const { at: ms } of events) {
      const expected = events.findLast((event) => event.at <= ms)?.seq;
      assert.equal((await session.load(new Date(ms).toISOString())).seq, expected);
    }
  });
}
