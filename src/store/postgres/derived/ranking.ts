/**
 * The words of logs in PostgreSQL, for `rank`, and vectors of their texts. A log is a term of their keys, so
 * a log's words cost the same whatever its neighbors hold. An erasure deletes the steps that it touches, and
 * the runtime adds them again without the erased texts.
 */
import type { LogId } from "../../../core/ids.ts";
import type { RecordVector, SearchStore, WordStep } from "../../port.ts";
import { state } from "../../sql/log-state.ts";
import { bytesOf, vectorOf } from "../../sql/vector-bytes.ts";
import {
  gapsIn,
  postingsOf,
  rankedAmong,
  rankedStepsMax,
  rankedWords,
  rankMatches,
  type WordMatches,
} from "../../word-rank.ts";
import { arrayOf } from "../connection/array-literal.ts";
import type { SqlRow, Statement } from "../connection/connection.ts";
import type { Driver } from "../driver.ts";

type Ranking = Pick<SearchStore, "wordGaps" | "addWords" | "rank" | "vectors" | "putVectors">;

export function makeRanking({ database, tenant }: Driver): Ranking {
  const erasedNow = async (): Promise<number> => {
    const [row] = await database.run<ErasedRow>(erasedSql, [tenant]);
    return row?.erased ?? 0;
  };
  return {
    async wordGaps(session, toSeq) {
      const erasures = await erasedNow();
      const [log] = await database.run<LogRow>(logSql, [tenant, session]);
      if (log === undefined) return { gaps: [], erasures };
      const range = [log.fork_seq + 1, Math.min(toSeq, log.seq)] as const;
      const steps = await database.run<StepRow>(stepsSql, [tenant, log.log, ...range]);
      return {
        gaps: gapsIn(
          range,
          steps.map((step) => [step.from_seq, step.to_seq] as const),
        ),
        erasures,
      };
    },
    addWords: (step) =>
      database.transaction((statement) => addStep(statement, tenant, step), { twice: true }),
    async rank(words, { limit, logs }) {
      const asked = rankedWords(words);
      if (asked.length === 0 || logs.length === 0) return [];
      const rows = await database.run<MatchRow>(rankSql, [
        tenant,
        arrayOf(logs.map(({ session }) => session)),
        arrayOf(asked),
      ]);
      const upTo = new Map(logs.map(({ session, toSeq }) => [session, toSeq]));
      const matches = [...Map.groupBy(rows, ({ session, word }) => `${session} ${word}`).values()].flatMap(
        (list): WordMatches[] => {
          const [first] = list;
          if (first === undefined) return [];
          const { session, word } = first;
          const most = upTo.get(session) ?? 0;
          const seqs = list.flatMap((row) => row.seqs.split(",").map(Number)).filter((seq) => seq <= most);
          return seqs.length === 0 ? [] : [{ session, word, seqs }];
        },
      );
      return rankMatches(matches, limit);
    },
    async vectors(model, digests) {
      const erasures = await erasedNow();
      const rows = await database.run<VectorRow>(vectorsSql, [tenant, model, arrayOf([...new Set(digests)])]);
      return { vectors: new Map(rows.map((row) => [row.digest, vectorOf(row.vector)])), erasures };
    },
    putVectors: (model, list, { erasures }) =>
      database.transaction(
        async (statement) => {
          const [row] = await statement<ErasedRow>(lockErasedSql, [tenant]);
          if (row === undefined || row.erased !== erasures) return false;
          if (list.length > 0) await statement(putVectorsSql, vectorValues(tenant, model, list));
          return true;
        },
        { twice: true },
      ),
  };
}

interface ErasedRow extends SqlRow {
  readonly erased: number;
}

const erasedSql = "SELECT erased FROM skein.tenants WHERE id = $1";
/** As an erasure does: either it is counted before this write, or what is written is there to be erased. */
const lockErasedSql = `${erasedSql} FOR NO KEY UPDATE`;

interface LogRow extends SqlRow {
  readonly log: number;
  readonly seq: number;
  readonly fork_seq: number;
}

const logSql = `
SELECT h.log, h.seq, l.fork_seq FROM skein.heads h JOIN skein.logs l ON l.id = h.log
WHERE h.tenant = $1 AND h.session = $2 AND h.state = ${state.seen}`;

interface StepRow extends SqlRow {
  readonly from_seq: number;
  readonly to_seq: number;
}

const stepsSql = `
SELECT from_seq, to_seq FROM skein.word_steps
WHERE tenant = $1 AND log = $2 AND to_seq >= $3 AND from_seq <= $4 ORDER BY to_seq`;

async function addStep(statement: Statement, tenant: number, step: WordStep): Promise<boolean> {
  const { session, fromSeq, toSeq, erasures } = step;
  const [row] = await statement<ErasedRow>(lockErasedSql, [tenant]);
  if (row === undefined || row.erased !== erasures) return false;
  const [log] = await statement<LogRow>(logSql, [tenant, session]);
  if (log === undefined || fromSeq <= log.fork_seq || toSeq < fromSeq || toSeq > log.seq) return false;
  if ((await statement(stepsSql, [tenant, log.log, fromSeq, toSeq])).length > 0) return false;
  const postings = [...postingsOf(step)];
  const words = arrayOf(postings.map(([word]) => word));
  await statement(addStepSql, [tenant, log.log, toSeq, fromSeq, words]);
  if (postings.length === 0) return true;
  const [seqs, counts] = [
    postings.map(([, list]) => list.join(",")),
    postings.map(([, list]) => list.length),
  ];
  await statement(addWordsSql, [tenant, log.log, toSeq, words, arrayOf(seqs), arrayOf(counts)]);
  return true;
}

const addStepSql = `
INSERT INTO skein.word_steps (tenant, log, to_seq, from_seq, words) VALUES ($1, $2, $3, $4, $5::text[])`;

const addWordsSql = `
INSERT INTO skein.log_words (tenant, log, word, to_seq, count, seqs)
SELECT $1, $2, g.word, $3, g.count, g.seqs
FROM unnest($4::text[], $5::text[], $6::integer[]) g (word, seqs, count)`;

interface MatchRow extends SqlRow {
  readonly session: LogId;
  readonly word: string;
  readonly seqs: string;
}

/** The latest steps of each word, up to those with enough matches. */
const rankSql = `
SELECT h.session, a.word, b.seqs
FROM skein.heads h CROSS JOIN unnest($3::text[]) a (word) CROSS JOIN LATERAL (
  SELECT x.seqs, sum(x.count) OVER (ORDER BY x.to_seq DESC) - x.count AS before FROM (
    SELECT w.to_seq, w.count, w.seqs FROM skein.log_words w
    WHERE w.tenant = $1 AND w.log = h.log AND w.word = a.word ORDER BY w.to_seq DESC LIMIT ${rankedStepsMax}
  ) x
) b
WHERE h.tenant = $1 AND h.session = ANY ($2::text[]) AND h.state = ${state.seen}
  AND b.before < ${rankedAmong}`;

interface VectorRow extends SqlRow {
  readonly digest: string;
  readonly vector: Uint8Array;
}

const vectorsSql = `
SELECT v.digest, v.vector FROM skein.vectors v
WHERE v.tenant = $1 AND v.model = $2 AND v.digest = ANY ($3::text[])`;

const putVectorsSql = `
INSERT INTO skein.vectors (tenant, log, seq, model, digest, vector)
SELECT $1, h.log, g.seq, $2, g.digest, decode(g.vector, 'hex')
FROM unnest($3::text[], $4::bigint[], $5::text[], $6::text[]) g (session, seq, digest, vector)
JOIN skein.heads h ON h.tenant = $1 AND h.session = g.session AND h.state = ${state.seen} AND g.seq <= h.seq
JOIN skein.logs l ON l.id = h.log AND g.seq > l.fork_seq
ON CONFLICT DO NOTHING`;

const vectorValues = (tenant: number, model: string, list: readonly RecordVector[]): (string | number)[] => [
  tenant,
  model,
  arrayOf(list.map(({ session }) => session)),
  arrayOf(list.map(({ seq }) => seq)),
  arrayOf(list.map(({ digest }) => digest)),
  arrayOf(list.map(({ vector }) => Buffer.from(bytesOf(vector)).toString("hex"))),
];

/** Deletes the steps that hold some of these records, with their words. $2 and $3: logs and positions. */
export const dropWordSteps = `
WITH gone AS (
  DELETE FROM skein.word_steps s USING unnest($2::bigint[], $3::bigint[]) h (log, seq)
  WHERE s.tenant = $1 AND s.log = h.log AND h.seq BETWEEN s.from_seq AND s.to_seq
  RETURNING s.log, s.to_seq, s.words
)
DELETE FROM skein.log_words w USING gone, unnest(gone.words) u (word)
WHERE w.tenant = $1 AND w.log = gone.log AND w.word = u.word AND w.to_seq = gone.to_seq`;

/** The same with all steps that reach beyond a position. */
export const dropWordStepsAbove = dropWordSteps.replace(
  "h.seq BETWEEN s.from_seq AND s.to_seq",
  "s.to_seq > h.seq",
);

export const dropVectors = `
DELETE FROM skein.vectors v USING unnest($2::bigint[], $3::bigint[]) h (log, seq)
WHERE v.tenant = $1 AND v.log = h.log AND v.seq = h.seq`;

/** Migrates a store to the layout with both. Their keys carry the tenant. */
export const rankingText = `
CREATE TABLE skein.word_steps (
  tenant integer NOT NULL, log bigint NOT NULL, to_seq bigint NOT NULL, from_seq bigint NOT NULL,
  words text[] COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, log, to_seq)
);
CREATE TABLE skein.log_words (
  tenant integer NOT NULL, count integer NOT NULL, log bigint NOT NULL, to_seq bigint NOT NULL,
  word text COLLATE "C" NOT NULL, seqs text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, log, word, to_seq)
);
CREATE TABLE skein.vectors (
  tenant integer NOT NULL, log bigint NOT NULL, seq bigint NOT NULL,
  model text COLLATE "C" NOT NULL, digest text COLLATE "C" NOT NULL, vector bytea NOT NULL,
  PRIMARY KEY (tenant, model, digest, log, seq)
);
CREATE INDEX vectors_record ON skein.vectors (tenant, log, seq);
SELECT skein.wall();
SELECT skein.admit(role) FROM skein.tenants WHERE role IS NOT NULL;
`;
