/**
 * Blobs in PostgreSQL, in chunks. A row with a blob's hash is complete: a large one is written under a
 * temporary name and gets its hash at the end, so that two writers of the same blob do not disturb each
 * other, and the remains of a dead process are deleted after a day.
 */
import { SkeinError } from "../../core/error.ts";
import { bytesIn, lostChunksAtOnce, piecesAtOnce, piecesOf, takePieces } from "../blob-pieces.ts";
import { missingBlob } from "../judge.ts";
import type { Store } from "../port.ts";
import type { Statement } from "./connection/connection.ts";
import type { Driver } from "./driver.ts";
import { arrayOf } from "./connection/array-literal.ts";
import type { Quota } from "./tenant/quota.ts";
import { stuck } from "../paging.ts";

/** How old a blob may be without a write; writing it again renews it. */
const freshMs = 3_600_000;

export function makeBlobs(driver: Driver, quota: Quota): Pick<Store, "putBlob" | "dropBlob" | "blob"> {
  const { database, tenant } = driver;
  return {
    async putBlob(hash, chunks, { begins } = { begins: false }) {
      if (await isThere(driver, hash)) return;
      if (begins) await quota.checkBlob();
      const pieces = piecesOf(quota.counted(chunks));
      const { taken, done } = await takePieces(pieces);
      if (done) await putWhole(driver, hash, taken);
      else await putLarge(driver, hash, taken, pieces);
    },
    async dropBlob(hash) {
      const dropped = await database.transaction(
        async (statement) => {
          const [row] = await statement<{ id: number }>(
            "SELECT id FROM skein.blobs WHERE tenant = $1 AND hash = decode($2, 'hex')",
            [tenant, hash],
          );
          return row === undefined ? 0 : await loseUnreferred(statement, tenant, [row.id]);
        },
        { twice: true },
      );
      if (dropped > 0) await dropLost(driver);
    },
    async blob(hash) {
      const [row] = await database.run<{ id: number; bytes: number }>(
        `SELECT id, bytes FROM skein.blobs
         WHERE tenant = $1 AND hash = decode($2, 'hex') AND bytes IS NOT NULL`,
        [tenant, hash],
      );
      return row === undefined ? undefined : chunksOf(driver, hash, row);
    },
  };
}

const touch = `
UPDATE skein.blobs SET put_at = skein.clock($3)
WHERE tenant = $1 AND hash = decode($2, 'hex') AND bytes IS NOT NULL
  AND put_at < skein.clock($3) - ${freshMs}`;

/** An old one could be deleted before its record is written. */
async function isThere({ database, tenant }: Driver, hash: string): Promise<boolean> {
  const find = () =>
    database.run<{ old: boolean }>(
      `SELECT put_at < skein.clock($3) - ${freshMs} AS old FROM skein.blobs
       WHERE tenant = $1 AND hash = decode($2, 'hex') AND bytes IS NOT NULL`,
      [tenant, hash, database.given()],
    );
  const [row] = await find();
  if (row === undefined || !row.old) return row !== undefined;
  await database.run(touch, [tenant, hash, database.given()]);
  return (await find()).length > 0;
}

const insertWhole = `
WITH made AS (
  INSERT INTO skein.blobs (tenant, put_at, bytes, hash) VALUES ($1, skein.clock($2), $3, decode($4, 'hex'))
  ON CONFLICT (tenant, hash) DO NOTHING RETURNING id
)`;
/** By the number of chunks. */
const insertsWhole = Array.from({ length: piecesAtOnce + 1 }, (_, count) =>
  count === 0
    ? `${insertWhole} SELECT 1 FROM made`
    : `${insertWhole} INSERT INTO skein.blob_chunks (tenant, number, blob, bytes)
       SELECT $1, c.number, made.id, c.bytes FROM made,
       (VALUES ${Array.from({ length: count }, (_, place) => `(${place}, $${place + 5}::bytea)`).join(", ")})
         c (number, bytes)`,
);

/** Most blobs are small and need one statement. */
async function putWhole({ database, tenant }: Driver, hash: string, pieces: readonly Uint8Array[]) {
  const values = [tenant, database.given(), bytesIn(pieces), hash, ...pieces];
  await database.run(insertsWhole[pieces.length] ?? "", values);
}

/** Until it is complete its hash is a unique name. */
const begin = `
INSERT INTO skein.blobs (tenant, put_at, hash)
VALUES ($1, skein.clock($2), convert_to('part ' || gen_random_uuid(), 'UTF8')) RETURNING id`;

const addChunk = `
INSERT INTO skein.blob_chunks (tenant, number, blob, bytes) VALUES ($1, $2, $3, $4)
ON CONFLICT (tenant, blob, number) DO NOTHING`;

async function putLarge(
  driver: Driver,
  hash: string,
  first: readonly Uint8Array[],
  pieces: AsyncGenerator<Uint8Array, undefined>,
): Promise<void> {
  const { database, tenant } = driver;
  const [row] = await database.run<{ id: number }>(begin, [tenant, database.given()]);
  if (row === undefined) throw new Error("invariant: a row was just made");
  const { id } = row;
  let [bytes, number] = [0, 0];
  try {
    for (let step = { taken: first, done: false }; ; step = await takePieces(pieces)) {
      const from = number;
      await Promise.all(
        step.taken.map((piece, place) => database.run(addChunk, [tenant, from + place, id, piece])),
      );
      bytes += bytesIn(step.taken);
      number += step.taken.length;
      if (step.done) break;
    }
    await name(driver, { id, bytes, hash });
  } catch (error) {
    // A later sweep deletes what cannot be deleted now.
    await lose(driver, id).catch(() => undefined);
    throw error;
  }
}

/** Gives a complete blob its hash. A writer that comes second deletes its own copy. */
async function name(
  driver: Driver,
  { id, bytes, hash }: { readonly id: number; readonly bytes: number; readonly hash: string },
): Promise<void> {
  const { database, tenant } = driver;
  const named = await database
    .run(
      `UPDATE skein.blobs SET bytes = $3, hash = decode($4, 'hex'), put_at = skein.clock($5)
     WHERE tenant = $1 AND id = $2 AND put_at >= 0
     AND NOT EXISTS (SELECT 1 FROM skein.blobs WHERE tenant = $1 AND hash = decode($4, 'hex') AND id <> $2)`,
      [tenant, id, bytes, hash, database.given()],
    )
    .catch((error: unknown) => {
      if (isTaken(error)) return { count: 0 };
      throw error;
    });
  if (named.count === 1) return;
  if (await isThere(driver, hash)) return lose(driver, id);
  throw new SkeinError("conflict", `blob ${hash} was garbage-collected while it was written`, {
    hint: "store it again",
  });
}

/** Both were written at the same time. */
const isTaken = (error: unknown): boolean =>
  error instanceof SkeinError && error.cause instanceof Error && "code" in error.cause
    ? error.cause.code === "23505"
    : false;

async function lose(driver: Driver, id: number): Promise<void> {
  const { database, tenant } = driver;
  await database.transaction((statement) => loseUnreferred(statement, tenant, [id]), { twice: true });
  await dropLost(driver);
}

async function* chunksOf(
  { database, tenant }: Pick<Driver, "database" | "tenant">,
  hash: string,
  { id, bytes }: { readonly id: number; readonly bytes: number },
): AsyncGenerator<Uint8Array> {
  let left = bytes;
  for (let number = 0; left > 0; number++) {
    const [chunk] = await database.run<{ bytes: Uint8Array }>(
      "SELECT bytes FROM skein.blob_chunks WHERE tenant = $1 AND blob = $2 AND number = $3",
      [tenant, id, number],
    );
    if (chunk === undefined) {
      throw new SkeinError("not-found", `blob ${hash} was erased while it was read`);
    }
    left -= chunk.bytes.length;
    yield chunk.bytes;
  }
}

export interface BlobRef {
  readonly log: number;
  readonly seq: number;
  /** Of the blob, hexadecimal. */
  readonly hash: string;
}

/**
 * A transaction that would delete one of them waits until this one has ended, and then finds it referenced.
 */
const lockBlobs = `
SELECT encode(hash, 'hex') AS hash, id FROM skein.blobs
WHERE tenant = $1 AND bytes IS NOT NULL
  AND hash IN (SELECT decode(given, 'hex') FROM unnest($2::text[]) given)
ORDER BY id FOR KEY SHARE`;

const insertRefs = `
INSERT INTO skein.blob_refs (tenant, blob, log, seq)
SELECT $1, g.* FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) g (blob, log, seq)
ON CONFLICT (tenant, blob, log, seq) DO NOTHING`;

/** Records that these records refer to these blobs. Throws if one is missing. */
export async function referBlobs(
  statement: Statement,
  tenant: number,
  refs: readonly BlobRef[],
): Promise<void> {
  const hashes = [...new Set(refs.map(({ hash }) => hash))];
  const rows = await statement<{ hash: string; id: number }>(lockBlobs, [tenant, arrayOf(hashes)]);
  const ids = new Map(rows.map(({ hash, id }) => [hash, id]));
  const missing = hashes.find((hash) => !ids.has(hash));
  if (missing !== undefined) throw missingBlob(missing);
  await statement(insertRefs, [
    tenant,
    arrayOf(refs.map(({ hash }) => ids.get(hash) ?? 0)),
    arrayOf(refs.map(({ log }) => log)),
    arrayOf(refs.map(({ seq }) => seq)),
  ]);
}

/**
 * Two statements: the second sees what was committed while the first waited. A deleted blob is gone at once:
 * its name is free for another, and its chunks go in small steps.
 */
const lockLost =
  "SELECT id FROM skein.blobs WHERE tenant = $1 AND id = ANY ($2::bigint[]) ORDER BY id FOR UPDATE";
const setLost = `
UPDATE skein.blobs b SET bytes = NULL, put_at = -1, hash = convert_to('lost ' || b.id, 'UTF8')
WHERE tenant = $1 AND id = ANY ($2::bigint[]) AND put_at >= 0
  AND NOT EXISTS (SELECT 1 FROM skein.blob_refs r WHERE r.tenant = $1 AND r.blob = b.id)`;

/** Within a transaction: deletes those blobs that no record refers to. Returns their number. */
export async function loseUnreferred(
  statement: Statement,
  tenant: number,
  ids: readonly number[],
): Promise<number> {
  const values = [tenant, arrayOf(ids)];
  const [, { count }] = await Promise.all([statement(lockLost, values), statement(setLost, values)]);
  return count;
}

const dropChunks = `
WITH gone AS (
  SELECT id FROM skein.blobs WHERE tenant = $1 AND bytes IS NULL AND put_at < 0 ORDER BY id LIMIT 1
), chunks AS (
  DELETE FROM skein.blob_chunks WHERE tenant = $1 AND (blob, number) IN (
    SELECT c.blob, c.number FROM skein.blob_chunks c JOIN gone ON c.tenant = $1 AND c.blob = gone.id
    ORDER BY c.number DESC LIMIT ${lostChunksAtOnce}
  ) RETURNING blob
)
SELECT gone.id, (SELECT count(*) FROM chunks) AS count FROM gone`;

/** Deletes the chunks of deleted blobs, a few at a time. */
export async function dropLost({ database, tenant }: Driver): Promise<void> {
  let emptied: number | null = null;
  for (;;) {
    const [row] = await database.run<{ id: number; count: number }>(dropChunks, [tenant]);
    if (row === undefined) return;
    if (row.count >= lostChunksAtOnce) continue;
    // It was emptied before and could not be deleted.
    if (row.count === 0 && row.id === emptied) throw stuck("sweep", row.id);
    emptied = row.id;
    await database.run(
      `DELETE FROM skein.blobs b WHERE tenant = $1 AND id = $2
       AND NOT EXISTS (SELECT 1 FROM skein.blob_chunks c WHERE c.tenant = $1 AND c.blob = b.id)`,
      [tenant, row.id],
    );
  }
}
