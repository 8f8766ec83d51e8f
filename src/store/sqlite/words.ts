/**
 * The words of logs in SQLite, for `rank`: a log is the first term of their key, so a log's words cost the
 * same whatever its neighbors hold. A step is a range of a log's own records; an erasure deletes the steps
 * that it touches, and the runtime adds them again without the erased texts.
 */
import type { DatabaseSync } from "node:sqlite";
import type { SearchStore, WordStep } from "../port.ts";
import {
  gapsIn,
  postingsOf,
  rankedAmong,
  rankedStepsMax,
  rankedWords,
  rankMatches,
  type WordMatches,
} from "../word-rank.ts";
import { bytesOf, vectorOf } from "../sql/vector-bytes.ts";
import type { Logs } from "./log.ts";
import type { SqliteWriter } from "./writer.ts";

interface RankingDeps {
  readonly logs: Logs;
  readonly look: <T>(work: () => T) => Promise<T>;
  readonly erasures: () => number;
}

/** The part of the store that ranks. */
export function rankings(
  database: DatabaseSync,
  writer: SqliteWriter,
  { logs, look, erasures }: RankingDeps,
): Pick<SearchStore, "wordGaps" | "addWords" | "rank" | "vectors" | "putVectors"> {
  const words = makeLogWords(database, logs, erasures);
  const vectors = makeLogVectors(database, logs, erasures);
  return {
    wordGaps: (session, toSeq) => look(() => words.gaps(session, toSeq)),
    addWords: (step) => writer.run(() => words.add(step)),
    rank: (asked, options) => look(() => words.rank(asked, options)),
    vectors: (model, digests) => look(() => vectors.get(model, digests)),
    putVectors: (model, list, made) => writer.run(() => vectors.put(model, list, made)),
  };
}

/** The same as in the port, within the transaction or the guard of the caller. */
interface LogWords {
  gaps: (...args: Parameters<SearchStore["wordGaps"]>) => Awaited<ReturnType<SearchStore["wordGaps"]>>;
  add: (step: WordStep) => boolean;
  rank: (...args: Parameters<SearchStore["rank"]>) => Awaited<ReturnType<SearchStore["rank"]>>;
}

function makeLogWords(database: DatabaseSync, logs: Logs, erasures: () => number): LogWords {
  const steps = database.prepare(
    "SELECT from_seq, to_seq FROM word_steps WHERE log = ? AND to_seq >= ? AND from_seq <= ? ORDER BY to_seq",
  );
  const addStep = database.prepare(
    "INSERT INTO word_steps (log, to_seq, from_seq, words) VALUES (?, ?, ?, ?)",
  );
  const addWord = database.prepare("INSERT INTO log_words (log, word, to_seq, seqs) VALUES (?, ?, ?, ?)");
  const find = database.prepare(
    "SELECT seqs FROM log_words WHERE log = ? AND word = ? ORDER BY to_seq DESC LIMIT ?",
  );
  for (const statement of [steps, find]) statement.setReturnArrays(true);

  const stepsIn = (log: number, fromSeq: number, toSeq: number): readonly (readonly [number, number])[] =>
    steps.all(log, fromSeq, toSeq) as unknown as [number, number][];

  /** The latest, up to a position; a little more than `rankedAmong`. */
  function matchesOf(log: number, word: string, toSeq: number): readonly number[] {
    const seqs: number[] = [];
    for (const row of find.iterate(log, word, rankedStepsMax)) {
      const [text] = row as unknown as [string];
      for (const seq of text.split(",")) if (Number(seq) <= toSeq) seqs.push(Number(seq));
      if (seqs.length >= rankedAmong) break;
    }
    return seqs;
  }

  return {
    gaps(session, toSeq) {
      const line = logs.find(session);
      const made = erasures();
      if (line === undefined) return { gaps: [], erasures: made };
      const upTo = Math.min(toSeq, logs.headRow(line.id)?.seq ?? 0);
      const from = line.forkSeq + 1;
      return { gaps: gapsIn([from, upTo], stepsIn(line.id, from, upTo)), erasures: made };
    },
    add(step) {
      const { session, fromSeq, toSeq } = step;
      const line = logs.find(session);
      if (line === undefined || erasures() !== step.erasures) return false;
      if (fromSeq <= line.forkSeq || toSeq < fromSeq || toSeq > (logs.headRow(line.id)?.seq ?? 0))
        return false;
      if (stepsIn(line.id, fromSeq, toSeq).length > 0) return false;
      const postings = postingsOf(step);
      addStep.run(line.id, toSeq, fromSeq, JSON.stringify([...postings.keys()]));
      for (const [word, seqs] of postings) addWord.run(line.id, word, toSeq, seqs.join(","));
      return true;
    },
    rank(words, { limit: count, logs: wanted }) {
      const asked = rankedWords(words);
      const matches: WordMatches[] = [];
      for (const { session, toSeq } of wanted) {
        const line = logs.find(session);
        if (line === undefined) continue;
        for (const word of asked) {
          const seqs = matchesOf(line.id, word, toSeq);
          if (seqs.length > 0) matches.push({ session, word, seqs });
        }
      }
      return rankMatches(matches, count);
    },
  };
}

/** Deletes the steps that hold some of these positions of a log, with their words. */
export function dropWordSteps(database: DatabaseSync, log: number, fromSeq: number, toSeq: number): void {
  const found = database
    .prepare("SELECT to_seq, words FROM word_steps WHERE log = ? AND to_seq >= ? AND from_seq <= ?")
    .all(log, fromSeq, toSeq);
  const dropWords = database.prepare(
    "DELETE FROM log_words WHERE log = ? AND to_seq = ? AND word IN (SELECT value FROM json_each(?))",
  );
  const dropStep = database.prepare("DELETE FROM word_steps WHERE log = ? AND to_seq = ?");
  for (const row of found) {
    const step = Number(row["to_seq"]);
    dropWords.run(log, step, String(row["words"]));
    dropStep.run(log, step);
  }
}

/** The vectors of texts, by the records that hold them. */
interface LogVectors {
  get: (...args: Parameters<SearchStore["vectors"]>) => Awaited<ReturnType<SearchStore["vectors"]>>;
  put: (...args: Parameters<SearchStore["putVectors"]>) => boolean;
}

function makeLogVectors(database: DatabaseSync, logs: Logs, erasures: () => number): LogVectors {
  const find = database.prepare(
    "SELECT digest, vector FROM vectors WHERE model = ? AND digest IN (SELECT value FROM json_each(?))",
  );
  find.setReturnArrays(true);
  const add = database.prepare(
    "INSERT OR IGNORE INTO vectors (log, seq, model, digest, vector) VALUES (?, ?, ?, ?, ?)",
  );
  return {
    get(model, digests) {
      const vectors = new Map<string, Float32Array>();
      for (const row of find.iterate(model, JSON.stringify(digests))) {
        const [digest, bytes] = row as unknown as [string, Uint8Array];
        vectors.set(digest, vectorOf(bytes));
      }
      return { vectors, erasures: erasures() };
    },
    put(model, list, made) {
      if (erasures() !== made.erasures) return false;
      for (const { session, seq, digest, vector } of list) {
        const line = logs.find(session);
        if (line === undefined || seq <= line.forkSeq || seq > (logs.headRow(line.id)?.seq ?? 0)) continue;
        add.run(line.id, seq, model, digest, bytesOf(vector));
      }
      return true;
    },
  };
}
