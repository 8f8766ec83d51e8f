/** Checks that segments lie where they should, and that the data next to them agrees with them. */
import type { DatabaseSync } from "node:sqlite";
import { errorText } from "../../core/first-error.ts";
import type { StoreWorld } from "../port.ts";
import { wrongCost } from "./packed-costs.ts";
import type { PackedRow } from "./segment.ts";
import { keyNumber, type Segment, type Segments } from "./segments.ts";

const beside = ["packed_places", "packed_keys", "packed_costs", "packed_calls"] as const;

/** The start of the segment that should hold it. */
const holder = "SELECT from_seq FROM segments WHERE log = p.log AND to_seq >= p.seq ORDER BY to_seq LIMIT 1";

/** Readers of the log find a missing packed range; only this check finds these. */
const strays = [
  `SELECT 'a segment of a log that does not exist: ' || log AS fault FROM segments
   WHERE log NOT IN (SELECT id FROM logs) LIMIT 20`,
  `SELECT 'a segment before the beginning of ' || l.session AS fault
   FROM segments s JOIN logs l ON l.id = s.log WHERE s.from_seq <= l.fork_seq LIMIT 20`,
  `SELECT 'segments of ' || session || ' that do not follow one another, at ' || from_seq AS fault FROM (
     SELECT l.session, s.from_seq,
       ifnull(lag(s.to_seq) OVER (PARTITION BY s.log ORDER BY s.to_seq), l.fork_seq) + 1 AS expected
     FROM segments s JOIN logs l ON l.id = s.log
   ) WHERE from_seq <> expected LIMIT 20`,
  `SELECT 'a record that is packed as well: ' || l.session || ' at ' || r.seq AS fault
   FROM (SELECT log, max(to_seq) AS to_seq FROM segments GROUP BY log) s JOIN logs l ON l.id = s.log
   JOIN records r ON r.log = s.log AND r.seq <= s.to_seq LIMIT 20`,
  `SELECT 'places in the feed that are not as many as what is packed of log ' || log AS fault FROM (
     SELECT log, count AS change FROM packed_places
     UNION ALL SELECT log, from_seq - to_seq - 1 FROM segments
   ) GROUP BY log HAVING sum(change) <> 0 LIMIT 20`,
  ...beside.map(
    (table) =>
      `SELECT 'something packed that is in no segment (${table}): ' || p.log || ' at ' || p.seq AS fault
       FROM ${table} p WHERE p.seq < ifnull((${holder}), p.seq + 1) LIMIT 20`,
  ),
];

const faultsMax = 20;

export async function segmentFaults(
  database: DatabaseSync,
  segments: Segments,
  world: StoreWorld,
): Promise<string[]> {
  const found = strays.flatMap((sql) => database.prepare(sql).all()).map((row) => String(row["fault"]));
  const looks = prepared(database);
  const every = database.prepare("SELECT DISTINCT log FROM segments ORDER BY log").all();
  for (const row of every) {
    for (let segment = segments.next(Number(row["log"]), 0); segment !== undefined;) {
      if (found.length >= faultsMax) return found;
      found.push(...faultsOf(segments, segment, looks));
      segment = segments.next(segment.log, segment.toSeq + 1);
      await new Promise<void>((resolve) => world.defer(resolve));
    }
  }
  return found;
}

type Looks = ReturnType<typeof prepared>;

function faultsOf(segments: Segments, segment: Segment, looks: Looks): string[] {
  let rows: readonly PackedRow[];
  try {
    const unpacked = segments.unpacked(segment);
    if (unpacked === undefined) return [];
    ({ rows } = unpacked);
  } catch (error) {
    return [errorText(error)];
  }
  const { log, fromSeq, toSeq, fromAt, toAt, contentBytes } = segment;
  const bytes = rows.reduce((sum, { row }) => sum + (row[14] === null ? 0 : (row[11] ?? 0)), 0);
  const isRight = rows[0]?.row[2] === fromAt && rows.at(-1)?.row[2] === toAt && bytes === contentBytes;
  const wrong = rows.find((one) => !isFound(one, looks));
  return [
    ...(isRight ? [] : [`the segment of log ${log} from ${fromSeq} to ${toSeq} is not as it says`]),
    ...(wrong === undefined
      ? []
      : [`what lies beside a segment does not agree with it: log ${log} at ${wrong.row[1]}`]),
  ];
}

function isFound({ position, row }: PackedRow, looks: Looks): boolean {
  const [log, seq, at, type, , , , , key, body] = row;
  const place = looks.place.get(position) as unknown as [number, number, number] | undefined;
  if (place === undefined || place[0] !== log || position >= place[2]) return false;
  if (place[1] + position !== seq) return false;
  if (key !== null && looks.key.get(log, keyNumber(key), seq) === undefined) return false;
  if (looks.wrongCost.get(log, seq, at, looks.typeOf(type), body) !== undefined) return false;
  if (type !== 1 && type !== 2) return true;
  return looks.call.get(log, body, seq, at, type, body, body, body, body) !== undefined;
}

function prepared(database: DatabaseSync) {
  const place = database.prepare(
    `SELECT log, seq - position, position + count FROM packed_places
     WHERE position <= ? ORDER BY position DESC LIMIT 1`,
  );
  place.setReturnArrays(true);
  const names = database.prepare("SELECT id, name FROM names").all();
  const types = new Map(names.map((row) => [Number(row["id"]), String(row["name"])]));
  return {
    place,
    key: database.prepare("SELECT 1 FROM packed_keys WHERE log = ? AND key = ? AND seq = ?"),
    wrongCost: database.prepare(wrongCost),
    typeOf: (id: number): string => types.get(id) ?? "",
    call: database.prepare(
      `SELECT 1 FROM packed_calls WHERE log = ? AND call = ifnull(json_extract(?, '$.call'), '') AND seq = ?
       AND at = ? AND type = ? AND tool IS json_extract(?, '$.tool') AND effect IS json_extract(?, '$.effect')
       AND status IS json_extract(?, '$.status') AND ms IS json_extract(?, '$.ms')`,
    ),
  };
}
