/** The story of a session, from its events. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { SessionEvent } from "../../src/core/event.ts";
import type { Ranges } from "../../src/core/range.ts";
import {
  gapsIn,
  lostRanges,
  phaseOf,
  placeOf,
  buildTranscript,
  transcriptTypes,
  type SessionTranscriptEntry,
} from "../../src/core/transcript.ts";

type Given = readonly [type: string, body?: object, more?: object];

const envelope = {
  session: "ses_1",
  v: 1,
  actor: "system",
  turn: null,
  cause: null,
  key: null,
  contentHash: null,
  contentBytes: null,
  hash: "",
  erased: false,
};

function logOf(...events: readonly Given[]): readonly SessionEvent[] {
  const made = events.map(([type, body = {}, more = {}], place) => ({
    ...envelope,
    seq: place + 1,
    at: 1_000 + place,
    type,
    body,
    content: undefined,
    ...more,
  }));
  return made.filter(({ type }) => transcriptTypes.includes(type)) as unknown as readonly SessionEvent[];
}

const said = (text: string): object => ({ content: { blocks: [{ type: "text", text }] } });

const events: readonly Given[] = [
  ["session.opened"],
  ["input.received", { input: 1 }, said("first")],
  ["input.received", { input: 2 }, said("second")],
  ["lease.taken", { holder: "w" }],
  ["turn.started", { inputs: [[2, 1]] }],
  ["model.requested", { inputs: [] }],
  ["model.responded", { finish: "tool-calls" }, { content: { blocks: [{ type: "tool-call" }] } }],
  ["tool.requested", { call: "c", tool: "shell", ask: true }],
  ["session.suspended", { by: "approval" }],
  ["tool.approved", { call: "c" }, { cause: 8 }],
  ["session.activated"],
  ["tool.started", { call: "c", attempt: 1 }, { cause: 8 }],
  ["tool.settled", { call: "c", status: "ok" }, { cause: 8 }],
  ["model.requested", { inputs: [[3, 2]] }],
  ["model.responded", { finish: "stop" }, said("done")],
  ["turn.ended", { outcome: "completed" }],
];

const story = (list: readonly Given[], ranges: Ranges, unfolded: readonly number[] = []) =>
  buildTranscript({
    events: logOf(...list),
    at: () => undefined,
    fromSeq: 1,
    toSeq: list.length,
    ranges,
    unfolded: new Set(unfolded),
  });

const short = (entry: SessionTranscriptEntry): string =>
  `${entry.isLost ? "-" : ""}${entry.kind} ${entry.kind === "input" ? entry.input.seq : entry.seq}`;

test("an input appears where its turn took it, and a call with its result", () => {
  const { entries, untaken } = story(events, [[1, 16]]);
  assert.deepEqual(entries.map(short), ["note 1", "input 2", "call 8", "input 3", "answer 15"]);
  assert.deepEqual(untaken, []);
  const call = entries[2];
  assert.ok(call?.kind === "call");
  assert.deepEqual(
    Object.values(call.call).map((event: SessionEvent) => event.seq),
    [8, 10, 12, 13],
  );
  assert.equal(phaseOf(call.call), "ok");
});

test("waiting calls are marked, and unprocessed inputs are listed apart", () => {
  const { entries, untaken } = story(events.slice(0, 9), [[1, 9]]);
  const call = entries.find((entry) => entry.kind === "call");
  assert.equal(call?.kind === "call" && phaseOf(call.call), "asked");
  assert.deepEqual(
    untaken.map(({ seq }) => seq),
    [3],
  );
});

test("a rewound range is one line that unfolds", () => {
  const list: readonly Given[] = [...events, ["session.rewound", { toSeq: 4 }]];
  const ranges: Ranges = [[1, 4]];
  assert.deepEqual(lostRanges({ events: logOf(...list), toSeq: 17, ranges }), [[5, 16]]);
  assert.deepEqual(story(list, ranges).entries.map(short), ["note 1", "lost 5", "note 17"]);
  assert.deepEqual(story(list, ranges, [5]).entries.map(short), [
    "note 1",
    "lost 5",
    "-input 2",
    "-call 8",
    "-input 3",
    "-answer 15",
    "note 17",
  ]);
  // Once something was said again, the state itself says what is lost.
  const again: readonly Given[] = [...list, ["turn.started", { inputs: [[2, 1]] }]];
  const after = story(again, [
    [1, 4],
    [17, 18],
  ]);
  assert.deepEqual(after.entries.map(short), ["note 1", "lost 5", "note 17", "input 2"]);
  assert.deepEqual(
    after.untaken.map(({ seq }) => seq),
    [3],
  );
});

test("a search hit finds its entry, also within a call, an input or a rewound range", () => {
  const { entries } = story(events, [[1, 16]]);
  const found = (seq: number): string => short(entries[placeOf(entries, seq)] as SessionTranscriptEntry);
  assert.deepEqual([2, 3, 12, 13, 14, 15, 16].map(found), [
    "input 2",
    "input 3",
    "call 8",
    "call 8",
    "input 3",
    "answer 15",
    "answer 15",
  ]);
  const lost = story([...events, ["session.rewound", { toSeq: 4 }]], [[1, 4]]).entries;
  assert.equal(short(lost[placeOf(lost, 9)] as SessionTranscriptEntry), "lost 5");
});

test("a range may begin in the middle: missing parts are looked up, or left out if unavailable", () => {
  const log = logOf(...events);
  const rest = log.filter(({ seq }) => seq >= 5);
  const told = {
    events: rest,
    fromSeq: 5,
    toSeq: 15,
    ranges: [[1, 16]] as Ranges,
    unfolded: new Set<number>(),
  };
  const at = (seq: number): SessionEvent | undefined =>
    seq === 2 ? log.find((one) => one.seq === 2) : undefined;
  assert.deepEqual(buildTranscript({ ...told, at }).entries.map(short), ["input 2", "call 8", "answer 15"]);
  // What was rewound away and not read at all is told of all the same.
  const holed = buildTranscript({
    ...told,
    at,
    events: log.filter(({ seq }) => seq > 12),
    fromSeq: 3,
    ranges: [
      [1, 2],
      [13, 16],
    ],
  });
  assert.deepEqual(holed.entries.map(short), ["lost 3", "answer 15"]);
});

test("every position is lost or kept, whatever was rewound", () => {
  const cuts = fc.uniqueArray(fc.integer({ min: 1, max: 60 }), { maxLength: 10 });
  fc.assert(
    fc.property(cuts, (list) => {
      const ends = list.toSorted((a, b) => a - b);
      const ranges: [number, number][] = [];
      for (let place = 0; place + 1 < ends.length; place += 2)
        ranges.push([ends[place] as number, (ends[place + 1] as number) - 1]);
      const last = ranges.at(-1)?.[1] ?? 0;
      const within = (all: Ranges, seq: number): boolean => all.some(([a, b]) => a <= seq && seq <= b);
      for (let seq = 1; seq <= last; seq++) assert.notEqual(within(ranges, seq), within(gapsIn(ranges), seq));
    }),
  );
});

test("a failed model call names the attempt that follows, and the last one names none", () => {
  const failed = { model: "acme/large", error: "overloaded", retryable: true, costNanoUsd: null };
  const attempt = (number: number): Given[] => [
    ["model.requested", { inputs: [], attempt: number }],
    ["model.failed", failed, { cause: number * 2 }],
  ];
  const log = logOf(["session.opened"], ...[1, 2, 3, 4, 5, 6].flatMap(attempt));
  const ranges: Ranges = [[1, 13]];
  const stretch = { events: log, fromSeq: 1, toSeq: 13, ranges };
  const { entries } = buildTranscript({ ...stretch, at: () => undefined, unfolded: new Set() });
  const texts = entries.flatMap((entry) => (entry.kind === "note" ? [entry.text] : []));
  assert.equal(texts[1], "Provider error: overloaded. Retrying (2 of 6)");
  assert.equal(texts[5], "Provider error: overloaded. Retrying (6 of 6)");
  assert.equal(texts[6], "Provider error: overloaded");
});

test("imported history reads as inputs, answers and calls at their own times", () => {
  const log = logOf(
    ["session.opened"],
    ["input.imported", { from: "user", atMs: 5 }, said("Which rate?")],
    ["answer.imported", { model: "acme/large-2" }, said("I look.")],
    ["call.imported", { tool: "Read", status: "error" }, { content: { input: { path: "a" }, output: "no" } }],
    ["input.imported", { from: "context" }, { erased: true }],
    ["source.imported", { tool: "codex", entries: 3, ids: "" }],
  );
  const { entries } = buildTranscript({
    events: log,
    fromSeq: 1,
    toSeq: 6,
    at: () => undefined,
    ranges: [[1, 5]],
    unfolded: new Set(),
  });
  assert.deepEqual(
    entries.map(({ kind, seq }) => [kind, seq]),
    [
      ["note", 1],
      ["input", 2],
      ["answer", 3],
      ["call", 4],
      ["input", 5],
      ["note", 6],
    ],
  );
  const [, input, , call] = entries;
  assert.ok(input?.kind === "input" && call?.kind === "call");
  assert.deepEqual([input.input.at, phaseOf(call.call), placeOf(entries, 4)], [5, "error", 3]);
});
