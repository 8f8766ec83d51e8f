/** The story of a session, from its events. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { LogEvent } from "../../src/console/view/session/log-event.ts";
import {
  gapsIn,
  lostRanges,
  phaseOf,
  placeOf,
  stepBack,
  storyOf,
  type Entry,
  type Ranges,
} from "../../src/console/view/session/story.ts";

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

function logOf(...events: readonly Given[]): (seq: number) => LogEvent | undefined {
  const made = events.map(([type, body = {}, more = {}], place) => ({
    ...envelope,
    seq: place + 1,
    at: 1_000 + place,
    type,
    body,
    content: undefined,
    ...more,
  }));
  return (seq) => made[seq - 1] as unknown as LogEvent | undefined;
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
  storyOf({ at: logOf(...list), fromSeq: 1, toSeq: list.length, ranges, unfolded: new Set(unfolded) });

const short = (entry: Entry): string =>
  `${entry.isLost ? "-" : ""}${entry.kind} ${entry.kind === "input" ? entry.input.seq : entry.seq}`;

test("an input stands where it was taken up, and a call has all that became of it", () => {
  const { entries, untaken, isWhole } = story(events, [[1, 16]]);
  assert.deepEqual(entries.map(short), ["note 1", "input 2", "call 8", "input 3", "answer 15"]);
  assert.deepEqual([untaken, isWhole], [[], true]);
  const call = entries[2];
  assert.ok(call?.kind === "call");
  assert.deepEqual(
    Object.values(call.call).map((event: LogEvent) => event.seq),
    [8, 10, 12, 13],
  );
  assert.equal(phaseOf(call.call), "ok");
});

test("what waits for an answer says so, and what was not taken up is told apart", () => {
  const { entries, untaken } = story(events.slice(0, 9), [[1, 9]]);
  const call = entries.find((entry) => entry.kind === "call");
  assert.equal(call?.kind === "call" && phaseOf(call.call), "asked");
  assert.deepEqual(
    untaken.map(({ seq }) => seq),
    [3],
  );
});

test("what was rewound away is one line, and unfolds", () => {
  const list: readonly Given[] = [...events, ["session.rewound", { toSeq: 4 }]];
  const ranges: Ranges = [[1, 4]];
  assert.deepEqual(lostRanges({ at: logOf(...list), fromSeq: 1, toSeq: 17, ranges }), [[5, 16]]);
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

test("a search hit finds its entry, also within a call, an input or what was rewound away", () => {
  const { entries } = story(events, [[1, 16]]);
  const found = (seq: number): string => short(entries[placeOf(entries, seq)] as Entry);
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
  assert.equal(short(lost[placeOf(lost, 9)] as Entry), "lost 5");
});

test("an event that is not here yet is waited for", () => {
  const at = logOf(...events);
  const told = { fromSeq: 1, toSeq: 16, ranges: [[1, 16]] as Ranges, unfolded: new Set<number>() };
  assert.equal(storyOf({ ...told, at: (seq) => (seq === 7 ? undefined : at(seq)) }).isWhole, false);
});

test("going back counts only what is of the mind", () => {
  const lost: Ranges = [
    [10, 19],
    [30, 39],
  ];
  assert.deepEqual(
    [45, 42, 40, 39, 35, 21, 5].map((seq) => stepBack(seq, 5, lost)),
    [40, 27, 25, 25, 25, 6, 1],
  );
  const sorted = fc.uniqueArray(fc.integer({ min: 1, max: 200 }), { maxLength: 12 });
  fc.assert(
    fc.property(
      sorted,
      fc.integer({ min: 1, max: 220 }),
      fc.integer({ min: 0, max: 60 }),
      (cuts, seq, steps) => {
        const ends = cuts.toSorted((a, b) => a - b);
        const ranges: [number, number][] = [];
        for (let place = 0; place + 1 < ends.length; place += 2)
          ranges.push([ends[place] as number, (ends[place + 1] as number) - 1]);
        const gaps = gapsIn(ranges).slice(1);
        const from = stepBack(seq, steps, gaps);
        const isLost = (one: number): boolean => gaps.some(([a, b]) => a <= one && one <= b);
        let kept = 0;
        for (let one = from; one < seq; one++) if (!isLost(one)) kept++;
        assert.ok(from >= 1 && from <= seq);
        assert.ok(kept <= steps && (kept === steps || from === 1));
      },
    ),
  );
});
