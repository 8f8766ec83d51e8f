/** Logs in PostgreSQL, visible or not, read under the lock of their heads. */
import type { LogId } from "../../../core/ids.ts";
import type { LastRecord } from "../../judge.ts";
import type { SqlRow, Statement } from "../connection/connection.ts";
import { arrayOf } from "../connection/array-literal.ts";

/** A log, visible or not. */
export interface LockedLog extends SqlRow {
  readonly session: LogId;
  readonly log: number;
  readonly state: number;
  readonly copy: boolean;
  readonly seq: number;
  readonly hash: string;
  readonly put_seq: number | null;
  readonly put_hash: string | null;
  readonly fork_seq: number;
  readonly base: number | null;
  readonly depth: number;
}

const lock = (strength: "NO KEY UPDATE" | "KEY SHARE" | "UPDATE"): string => `
SELECT 1 FROM skein.heads WHERE tenant = $1 AND session = ANY ($2::text[]) ORDER BY session FOR ${strength}`;

/** To change the head; to keep the log from being deleted; to delete it. */
const locks = { write: lock("NO KEY UPDATE"), keep: lock("KEY SHARE"), remove: lock("UPDATE") } as const;

const look = `
SELECT h.session, h.log, h.state, h.copy, h.seq, encode(h.hash, 'hex') AS hash, h.put_seq,
  encode(h.put_hash, 'hex') AS put_hash, l.fork_seq, l.base, l.depth
FROM skein.heads h JOIN skein.logs l ON l.id = h.log WHERE h.tenant = $1 AND h.session = ANY ($2::text[])`;

/** The second statement runs after the first, and sees what was committed while that one waited. */
export async function linesOf(
  statement: Statement,
  tenant: number,
  sessions: readonly LogId[],
  to: keyof typeof locks,
): Promise<ReadonlyMap<LogId, LockedLog>> {
  const where = [tenant, arrayOf(sessions)];
  const [, rows] = await Promise.all([statement(locks[to], where), statement<LockedLog>(look, where)]);
  return new Map(rows.map((row) => [row.session, row]));
}

/** The last record here, visible or only received. */
export const lastOf = ({ seq, hash, put_seq: putSeq, put_hash: putHash }: LockedLog): LastRecord =>
  putSeq === null || putHash === null ? { seq, hash } : { seq: putSeq, hash: putHash };
