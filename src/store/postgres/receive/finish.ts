/** Finishes received logs, all or none: a few statements for any number of logs. */
import { genesisHash } from "../../../core/chain.ts";
import { changesVisible, checkFinished } from "../../judge.ts";
import type { FinishRequest } from "../../port.ts";
import type { Statement } from "../connection/connection.ts";
import { endOf } from "../log/truncate.ts";
import type { Driver } from "../driver.ts";
import { state } from "../../sql/log-state.ts";
import { setIndex } from "../log/index-entry.ts";
import { lastOf, linesOf, type LockedLog } from "../log/locked-logs.ts";
import { arrayOf } from "../connection/array-literal.ts";

/** A log to finish, in its current state. */
interface Ready {
  readonly one: FinishRequest;
  readonly line: LockedLog;
}

/** Within a transaction. */
export async function finish(
  driver: Driver,
  statement: Statement,
  logs: readonly FinishRequest[],
): Promise<void> {
  if (logs.length === 0) {
    await statement("SELECT 1");
    return;
  }
  const { tenant } = driver;
  const sessions = logs.map(({ session }) => session);
  const lines = await linesOf(statement, tenant, sessions, "write");
  const points = await pointsOf(statement, tenant, logs);
  const ready = logs.map((one) => ({ one, line: checkEnd(one, lines.get(one.session), points) }));
  const prefixes = ready.filter(({ one, line }) => one.as === "prefix" && line.state !== state.seen);
  const seen = ready.filter((each) => !prefixes.includes(each) && isChanged(each));
  await Promise.all([
    prefixes.length > 0 ? statement(setPrefix, [tenant, ...endArrays(prefixes)]) : null,
    seen.length > 0 ? arrive(driver, statement, seen) : null,
  ]);
}

interface Point {
  /** Of the log's record at its declared end. */
  readonly hash: string | null;
  /** Whether the base record of the log exists. */
  readonly rooted: boolean;
}

const findPoints = `
SELECT g.session, encode(e.hash, 'hex') AS hash,
  l.base IS NULL OR EXISTS (SELECT 1 FROM skein.point(l.base, l.fork_seq)) AS rooted
FROM unnest($2::text[], $3::bigint[]) a (session, seq)
JOIN skein.heads h ON h.tenant = $1 AND h.session = a.session
JOIN skein.logs l ON l.id = h.log
CROSS JOIN LATERAL (SELECT a.session, h.log, a.seq) g (session, log, seq)
CROSS JOIN ${endOf}`;

async function pointsOf(
  statement: Statement,
  tenant: number,
  logs: readonly FinishRequest[],
): Promise<ReadonlyMap<string, Point>> {
  const rows = await statement<Point & { session: string } & Record<string, unknown>>(findPoints, [
    tenant,
    arrayOf(logs.map(({ session }) => session)),
    arrayOf(logs.map(({ seq }) => seq)),
  ]);
  return new Map(rows.map((row) => [row.session, row]));
}

/** More of it was received than is visible, or none of it is visible yet. */
const isOpen = (line: LockedLog): boolean => line.state === state.receiving || line.put_seq !== null;

function checkEnd(
  one: FinishRequest,
  line: LockedLog | undefined,
  points: ReadonlyMap<string, Point>,
): LockedLog {
  const point = points.get(one.session);
  const last = line === undefined ? undefined : isOpen(line) ? lastOf(line) : endAt(line, one.seq, point);
  const end = point?.rooted === true ? last : undefined;
  checkFinished(one, { end, deleted: line?.state === state.deleted });
  if (line === undefined) throw new Error("invariant: a log that ends somewhere is here");
  return line;
}

/** An existing log may have grown since. */
const endAt = (line: LockedLog, seq: number, point: Point | undefined) =>
  seq < line.fork_seq || seq > line.seq ? undefined : { seq, hash: point?.hash ?? genesisHash };

/** A visible log changes only if more of it was received, or if a copy becomes a local session. */
const isChanged = ({ one, line }: Ready): boolean =>
  line.state !== state.seen || changesVisible(one.as, { more: line.put_seq !== null, copy: line.copy });

const endArrays = (list: readonly Ready[]): string[] => [
  arrayOf(list.map(({ line }) => line.log)),
  arrayOf(list.map(({ line }) => lastOf(line).seq)),
];

const setPrefix = `
UPDATE skein.heads h
SET state = CASE h.state WHEN ${state.deleted} THEN ${state.deleted} ELSE ${state.prefix} END,
  seq = g.seq, hash = e.hash, at = e.at, put_seq = NULL, put_hash = NULL
FROM unnest($2::bigint[], $3::bigint[]) g (log, seq) CROSS JOIN ${endOf}
WHERE h.tenant = $1 AND h.log = g.log`;

/** A place in the feed for newly visible records, behind the visible ones. */
const addPlaces = `
INSERT INTO skein.places (tenant, xid, log, from_seq, to_seq)
SELECT $1, skein.place_after(g.log, g.first - 1), g.*
FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) g (log, first, last) WHERE g.first <= g.last`;

const setSeen = `
WITH seen AS (
  UPDATE skein.heads h SET state = ${state.seen}, copy = g.copy, seq = g.seq, hash = e.hash, at = e.at,
    active_at = e.at, put_seq = NULL, put_hash = NULL, epoch = 0, holder = NULL, until_ms = NULL,
    lease_order = NULL
  FROM unnest($2::bigint[], $3::bigint[], $4::boolean[], $5::boolean[]) g (log, seq, copy, fresh)
  CROSS JOIN ${endOf}
  WHERE h.tenant = $1 AND h.log = g.log RETURNING h.log, h.at, g.fresh
)
UPDATE skein.logs l SET listed = left(l.session, 4) <> 'prj_', active_at = seen.at, put_at = NULL,
  origin = CASE WHEN seen.fresh THEN skein.origin_of(l.id) ELSE l.origin END,
  opened_at = CASE WHEN seen.fresh
    THEN coalesce((SELECT p.at FROM skein.point(l.id, l.fork_seq + 1) p), l.opened_at) ELSE l.opened_at END
FROM seen WHERE l.tenant = $1 AND l.id = seen.log`;

async function arrive(
  { tenant, database }: Driver,
  statement: Statement,
  list: readonly Ready[],
): Promise<void> {
  const isFresh = ({ line }: Ready): boolean => line.state !== state.seen;
  // Records of an existing copy already have their place.
  const placed = list.filter((each) => isFresh(each) || each.line.put_seq !== null);
  const firstOf = (each: Ready): number => (isFresh(each) ? each.line.fork_seq : each.line.seq) + 1;
  const [logs, seqs] = endArrays(placed);
  await Promise.all([
    statement(addPlaces, [tenant, logs ?? "{}", arrayOf(placed.map(firstOf)), seqs ?? "{}"]),
    statement(setSeen, [
      tenant,
      ...endArrays(list),
      arrayOf(list.map(({ one }) => one.as !== "own")),
      arrayOf(list.map(isFresh)),
    ]),
  ]);
  const indexed = list.flatMap(({ one, line }) =>
    one.index === undefined ? [] : [{ log: line.log, entry: one.index }],
  );
  await setIndex(statement, tenant, indexed, database.given());
}
