/** The parser of streams: whatever way a stream is cut into pieces, the same frames come out. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { makeFrameParser, type StreamFrame } from "../../src/client/frames.ts";

const frames = (pieces: readonly string[]): StreamFrame[] => {
  const parse = makeFrameParser();
  return pieces.flatMap((piece) => parse(piece));
};

test("fields follow the standard; comments and unknown fields are skipped", () => {
  const text =
    ": beat\n\nretry: 1000\n\nid: 7\nevent: input.received\ndata: {}\n\n" +
    "data:a\ndata: b\ndata\n\nid: 8\n\ndata: half";
  assert.deepEqual(frames([text]), [
    { id: "7", event: "input.received", data: "{}" },
    { id: null, event: "message", data: "a\nb\n" },
    { id: "8", event: "message", data: "" },
  ]);
});

test("however it is cut, and however its lines end, a stream gives the same frames", () => {
  const Line = fc.string({ unit: "grapheme" }).map((text) => text.replace(/[\r\n\0]/g, ""));
  const One = fc.record({
    id: fc.option(fc.nat()),
    event: fc.constantFrom("delta", "x.note"),
    lines: fc.array(Line, { minLength: 1, maxLength: 3 }),
  });
  const End = fc.constantFrom("\n", "\r\n", "\r");
  fc.assert(
    fc.property(fc.array(One, { maxLength: 5 }), End, fc.array(fc.nat(40)), (some, end, cuts) => {
      const text = some
        .map(({ id, event, lines }) =>
          [
            ...(id === null ? [] : [`id: ${id}`]),
            `event: ${event}`,
            ...lines.map((line) => `data: ${line}`),
            "",
            ": a comment",
            "",
          ].join(end),
        )
        .join("");
      const pieces: string[] = [];
      let from = 0;
      for (const cut of cuts) pieces.push(text.slice(from, (from += cut)));
      // A last carriage return waits for what follows it.
      pieces.push(text.slice(from), "\n");
      const wanted = some.map(({ id, event, lines }) => ({
        id: id === null ? null : String(id),
        event,
        data: lines.join("\n"),
      }));
      assert.deepEqual(frames(pieces), wanted);
    }),
    { numRuns: 300 },
  );
});
