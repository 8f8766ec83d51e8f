/** Conformance: the words of logs, by which records are ranked, and vectors of their texts. */
import assert from "node:assert/strict";
import type { LogId, SessionId } from "../../core/ids.ts";
import type { Bench, ConformanceCase } from "./bench.ts";
import { append, dropped, draftOf, forked, opened, partOf, upTo } from "./bench.ts";
import type { RecordVector, WordStep } from "../port.ts";

export const wordCases: readonly ConformanceCase[] = [
  { name: "rank finds records that share a word, those with more and rarer words first", run: moreAndRarer },
  { name: "rank looks at the given logs alone, up to a position of each", run: givenLogs },
  { name: "rank compares whole words, and finds nothing without words", run: wholeWords },
  { name: "rank finds a rare word behind many matches of a common one", run: common },
  { name: "wordGaps returns what is missing, of a log's own records", run: gapsOfLog },
  { name: "words of a range that has some, or that is beyond the log, are rejected", run: overlaps },
  { name: "of two steps of one range one is accepted", run: stepsAtOnce },
  { name: "clearDerived clears words and vectors", run: cleared },
  { name: "words and vectors are there after reopening", run: reopened, reopens: true },
  { name: "vectors are found by model and digest", run: found },
];

/** These need erasures. */
export const erasedWordCases: readonly ConformanceCase[] = [
  {
    name: "an erasure takes the words of its records, and they can be added again without",
    run: erasedWords,
  },
  { name: "words that were read before an erasure are rejected", run: lateStep },
  { name: "words of a deleted log are gone", run: ofDeleted },
  { name: "erasing in a fork takes the words of the shared prefix", run: throughFork },
  {
    name: "an erasure takes the vectors of its records, and rejects those made before it",
    run: erasedVectors,
  },
];

/** A session whose records have these words, not yet added. */
const saying = (bench: Bench, texts: readonly string[]): Promise<SessionId> =>
  opened(bench, 0, { drafts: texts.map((content) => draftOf({ content }, bench.world.digest)) });

const stepOf = async (
  { store }: Bench,
  session: LogId,
  texts: readonly string[],
  fromSeq = 1,
): Promise<WordStep> => ({
  session,
  fromSeq,
  toSeq: fromSeq + texts.length - 1,
  erasures: (await store.wordGaps(session, 1)).erasures,
  texts: texts.map((text, place) => ({ seq: fromSeq + place, words: text.split(" ") })),
});

/** The same with their words. */
async function indexed(bench: Bench, ...texts: readonly string[]): Promise<SessionId> {
  const session = await saying(bench, texts);
  assert.equal(await bench.store.addWords(await stepOf(bench, session, texts)), true);
  return session;
}

async function ranked(
  { store }: Bench,
  words: string,
  ...logs: readonly LogId[]
): Promise<readonly number[]> {
  const wanted = logs.map((session) => ({ session, toSeq: Number.MAX_SAFE_INTEGER }));
  return (await store.rank(words.split(" "), { limit: 100, logs: wanted })).map(({ seq }) => seq);
}

const gapsOf = async ({ store }: Bench, session: LogId, toSeq = 1_000) =>
  (await store.wordGaps(session, toSeq)).gaps;

async function moreAndRarer(bench: Bench): Promise<void> {
  const session = await indexed(bench, "base rate", "base", "camp base", "rate of base camp", "base", "else");
  assert.deepEqual(await ranked(bench, "camp rate base", session), [4, 3, 1, 5, 2]);
  assert.deepEqual(await ranked(bench, "camp", session), [4, 3]);
  assert.deepEqual(await ranked(bench, "camp camp camp", session), [4, 3]);
  const logs = [{ session, toSeq: 9 }];
  const hits = await bench.store.rank(["camp", "rate"], { limit: 2, logs });
  assert.deepEqual(
    hits.map(({ session: of, seq }) => [of, seq]),
    [
      [session, 4],
      [session, 3],
    ],
  );
  const [best, next] = hits;
  assert.ok(best !== undefined && next !== undefined && best.score > next.score && next.score > 0);
}

async function givenLogs(bench: Bench): Promise<void> {
  const { store } = bench;
  const one = await indexed(bench, "needle", "needle thread");
  const other = await indexed(bench, "needle", "else", "needle");
  assert.deepEqual(await ranked(bench, "needle", one), [2, 1]);
  assert.deepEqual(await ranked(bench, "needle", other), [3, 1]);
  const logs = [
    { session: one, toSeq: 2 },
    { session: other, toSeq: 2 },
  ];
  const hits = await store.rank(["needle", "thread"], { limit: 9, logs });
  assert.deepEqual(
    hits.map(({ session, seq }) => `${session} ${seq}`).toSorted(),
    [`${one} 1`, `${one} 2`, `${other} 1`].toSorted(),
  );
  assert.deepEqual(await store.rank(["needle"], { limit: 9, logs: [] }), []);
  assert.deepEqual(await ranked(bench, "needle", bench.newId()), []);
}

async function wholeWords(bench: Bench): Promise<void> {
  const long = "x".repeat(300);
  const session = await indexed(bench, "november", "nov", `é ${long}`, "日本", "~nov");
  assert.deepEqual(await ranked(bench, "nov", session), [2]);
  assert.deepEqual(await ranked(bench, "~nov", session), [5]);
  assert.deepEqual(await ranked(bench, "é", session), [3]);
  assert.deepEqual(await ranked(bench, long, session), [3]);
  assert.deepEqual(await ranked(bench, "日本", session), [4]);
  const logs = [{ session, toSeq: 9 }];
  assert.deepEqual(await bench.store.rank([], { limit: 9, logs }), []);
  for (const odd of ["'", '"', "{", "\\", ",", "%", "NULL"])
    assert.deepEqual(await bench.store.rank([odd], { limit: 9, logs }), [], `found something for ${odd}`);
}

async function common(bench: Bench): Promise<void> {
  const texts = upTo(250).map((place) => (place === 3 ? "needle hay" : "hay"));
  const session = await indexed(bench, ...texts);
  assert.equal((await ranked(bench, "hay needle", session))[0], 3);
  const hits = await ranked(bench, "hay", session);
  assert.deepEqual(hits.slice(0, 2), [250, 249]);
}

async function gapsOfLog(bench: Bench): Promise<void> {
  const { store } = bench;
  const texts = upTo(9).map((place) => `word${place}`);
  const session = await saying(bench, texts);
  assert.deepEqual(await gapsOf(bench, session), [[1, 9]]);
  assert.deepEqual(await gapsOf(bench, session, 4), [[1, 4]]);
  assert.equal(await store.addWords(await stepOf(bench, session, texts.slice(3, 5), 4)), true);
  assert.deepEqual(await gapsOf(bench, session), [
    [1, 3],
    [6, 9],
  ]);
  assert.equal(await store.addWords({ ...(await stepOf(bench, session, [], 8)), toSeq: 9 }), true);
  assert.deepEqual(await gapsOf(bench, session), [
    [1, 3],
    [6, 7],
  ]);
  assert.deepEqual(await gapsOf(bench, session, 5), [[1, 3]]);
  const fork = await forked(bench, session, 6, 2);
  assert.deepEqual(await gapsOf(bench, fork), [[7, 8]]);
  assert.deepEqual(await gapsOf(bench, fork, 6), []);
  assert.deepEqual(await gapsOf(bench, bench.newId()), []);
}

async function overlaps(bench: Bench): Promise<void> {
  const { store } = bench;
  const session = await saying(bench, ["one", "two", "three", "four"]);
  assert.equal(await store.addWords(await stepOf(bench, session, ["two", "three"], 2)), true);
  for (const [from, texts] of [
    [1, ["a", "b"]],
    [3, ["c", "d"]],
    [2, ["e"]],
    [1, ["f", "g", "h", "i"]],
  ] as const)
    assert.equal(await store.addWords(await stepOf(bench, session, texts, from)), false);
  assert.equal(await store.addWords(await stepOf(bench, session, ["j", "k"], 4)), false);
  assert.equal(await store.addWords(await stepOf(bench, bench.newId(), ["l"])), false);
  const fork = await forked(bench, session, 4, 1);
  assert.equal(await store.addWords(await stepOf(bench, fork, ["m", "n"], 4)), false);
  assert.deepEqual(await ranked(bench, "a b c d e f g h i j k l m n", session, fork), []);
  assert.deepEqual(await ranked(bench, "two three", session), [3, 2]);
}

async function stepsAtOnce(bench: Bench): Promise<void> {
  const session = await saying(bench, ["needle"]);
  const step = await stepOf(bench, session, ["needle"]);
  const taken = await Promise.all([bench.store.addWords(step), bench.store.addWords(step)]);
  assert.deepEqual(taken.toSorted(), [false, true]);
  assert.deepEqual(await ranked(bench, "needle", session), [1]);
}

async function ofDeleted(bench: Bench): Promise<void> {
  const { store } = bench;
  const session = await indexed(bench, "needle");
  const late = await stepOf(bench, session, ["more"], 2);
  await dropped(bench, session);
  assert.deepEqual(await ranked(bench, "needle", session), []);
  assert.equal(await store.addWords(late), false);
  await store.sweep();
  assert.deepEqual(await gapsOf(bench, session), []);
}

async function cleared(bench: Bench): Promise<void> {
  const { store } = bench;
  const session = await indexed(bench, "needle");
  await keep(bench, "m", vectorOf(session, 1, "d"));
  await store.clearDerived();
  assert.deepEqual(await ranked(bench, "needle", session), []);
  assert.deepEqual(await gapsOf(bench, session), [[1, 1]]);
  assert.equal((await store.vectors("m", ["d"])).vectors.size, 0);
  assert.equal(await store.addWords(await stepOf(bench, session, ["needle"])), true);
  assert.deepEqual(await ranked(bench, "needle", session), [1]);
}

async function reopened(bench: Bench): Promise<void> {
  const session = await indexed(bench, "needle");
  await keep(bench, "m", vectorOf(session, 1, "d", [0.25, -1]));
  const again = { ...bench, store: await bench.reopen() };
  assert.deepEqual(await ranked(again, "needle", session), [1]);
  assert.deepEqual([...((await again.store.vectors("m", ["d"])).vectors.get("d") ?? [])], [0.25, -1]);
}

const vectorOf = (session: LogId, seq: number, digest: string, numbers = [1, 2]): RecordVector => ({
  session,
  seq,
  digest,
  vector: Float32Array.from(numbers),
});

async function keep({ store }: Bench, model: string, ...list: readonly RecordVector[]): Promise<void> {
  const { erasures } = await store.vectors(model, []);
  assert.equal(await store.putVectors(model, list, { erasures }), true);
}

async function digests(
  { store }: Bench,
  model: string,
  asked: readonly string[],
): Promise<readonly string[]> {
  return [...(await store.vectors(model, asked)).vectors.keys()].toSorted();
}

async function found(bench: Bench): Promise<void> {
  const session = await saying(bench, ["one", "two"]);
  const other = await saying(bench, ["one"]);
  await keep(bench, "m", vectorOf(session, 1, "one", [0.5, -3, 1e-9]), vectorOf(session, 2, "two", []));
  await keep(bench, "m", vectorOf(session, 1, "one"), vectorOf(other, 1, "one", [0.5, -3, 1e-9]));
  await keep(bench, "n", vectorOf(session, 1, "else"));
  // Of records that do not exist.
  await keep(bench, "m", vectorOf(session, 9, "nine"), vectorOf(bench.newId(), 1, "none"));
  assert.deepEqual(await digests(bench, "m", ["one", "two", "else", "nine", "none", "'"]), ["one", "two"]);
  assert.deepEqual(await digests(bench, "n", ["one", "else"]), ["else"]);
  assert.deepEqual(await digests(bench, "m", []), []);
  const { vectors } = await bench.store.vectors("m", ["one", "two"]);
  assert.deepEqual([...(vectors.get("one") ?? [])], [...Float32Array.from([0.5, -3, 1e-9])]);
  assert.deepEqual([...(vectors.get("two") ?? [1])], []);
}

async function erasedWords(bench: Bench): Promise<void> {
  const { store } = bench;
  const texts = ["needle one", "needle two", "needle three"];
  const session = await indexed(bench, ...texts);
  await append(bench, partOf(bench, session, "exists", { erase: [[2, 2]] }));
  assert.deepEqual(await ranked(bench, "two", session), []);
  assert.deepEqual(await gapsOf(bench, session, 3), [[1, 3]]);
  const again = { ...(await stepOf(bench, session, texts)), texts: [{ seq: 3, words: ["needle", "three"] }] };
  assert.equal(await store.addWords(again), true);
  assert.deepEqual(await ranked(bench, "needle two", session), [3]);
}

async function lateStep(bench: Bench): Promise<void> {
  const session = await saying(bench, ["needle", "thread"]);
  const late = await stepOf(bench, session, ["needle", "thread"]);
  await append(bench, partOf(bench, session, "exists", { erase: [[1, 1]] }));
  assert.equal(await bench.store.addWords(late), false);
  assert.deepEqual(await ranked(bench, "needle thread", session), []);
}

async function throughFork(bench: Bench): Promise<void> {
  const session = await indexed(bench, "needle", "thread");
  const fork = await forked(bench, session, 2, 1);
  await append(bench, partOf(bench, fork, "exists", { erase: [[1, 1]] }));
  assert.deepEqual(await ranked(bench, "needle", session, fork), []);
  assert.deepEqual(await gapsOf(bench, session, 2), [[1, 2]]);
}

async function erasedVectors(bench: Bench): Promise<void> {
  const { store } = bench;
  const session = await saying(bench, ["one", "two"]);
  await keep(bench, "m", vectorOf(session, 1, "one"), vectorOf(session, 2, "two"));
  const { erasures } = await store.vectors("m", []);
  await append(bench, partOf(bench, session, "exists", { erase: [[1, 1]] }));
  assert.deepEqual(await digests(bench, "m", ["one", "two"]), ["two"]);
  assert.equal(await store.putVectors("m", [vectorOf(session, 1, "one")], { erasures }), false);
  assert.deepEqual(await digests(bench, "m", ["one", "two"]), ["two"]);
  await dropped(bench, session);
  await store.sweep();
  assert.deepEqual(await digests(bench, "m", ["one", "two"]), []);
}
