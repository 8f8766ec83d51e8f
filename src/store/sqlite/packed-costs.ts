/**
 * The rows of the view `costs` for packed records. They are stored next to the segments: nothing is unpacked.
 */
import { hash } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import type { LogId } from "../../core/ids.ts";
import {
  boundsCall,
  callTypesText,
  failsCall,
  isModelCall,
  opensCall,
  spendView,
} from "../../core/budget/cost-view-sql.ts";
import { makeSegments } from "./segments.ts";

/**
 * Since layout 6; earlier layouts had answers only. bound: the reservation of a request, or the unconfirmed
 * bound of a failed call; released: the part of a lost call that no longer counts. Both as JSON.
 */
export const packedCosts = `
ALTER TABLE packed_costs ADD COLUMN type TEXT NOT NULL DEFAULT 'model.responded';
ALTER TABLE packed_costs ADD COLUMN estimated ANY;
ALTER TABLE packed_costs ADD COLUMN bound ANY;
ALTER TABLE packed_costs ADD COLUMN released ANY;
`;

/** The columns of a call, from the body and the type of a record. */
const partsOf = (body: string, type: string): readonly string[] => [
  `json_extract(${body}, '$.model')`,
  `json_extract(${body}, '$.usage.inputTokens')`,
  `json_extract(${body}, '$.usage.outputTokens')`,
  `json_extract(${body}, '$.costNanoUsd')`,
  `json_extract(${body}, '$.usage.estimated')`,
  `CASE WHEN ${opensCall(type)} THEN json_extract(${body}, '$.reserved')
    WHEN ${boundsCall(type)} THEN json_extract(${body}, '$.unconfirmed') END`,
  `CASE WHEN ${failsCall(type)} THEN json_extract(${body}, '$.released') END`,
];
const names = [
  "model",
  "input_tokens",
  "output_tokens",
  "nano_usd",
  "estimated",
  "bound",
  "released",
] as const;

const isCall = (body: string, type: string): string =>
  `${type} IN (${callTypesText}) AND (${isModelCall(type)}
    OR json_extract(${body}, '$.usage.inputTokens') IS NOT NULL)`;

const columns = `log, seq, at, type, ${names.join(", ")}`;

/** Of the records of a log between two positions, before they leave the table. */
export const insertCosts = `INSERT INTO packed_costs (${columns})
  SELECT r.log, r.seq, r.at, n.name, ${partsOf("r.body", "n.name").join(", ")}
  FROM records r JOIN names n ON n.id = r.type
  WHERE r.log = ? AND r.seq BETWEEN ? AND ? AND ${isCall("r.body", "n.name")}`;

/** Finds rows that contradict a record: log, seq, at, type and body are bound. */
export const wrongCost = `SELECT 1 FROM (SELECT ? AS log, ? AS seq, ? AS at, ? AS type, ? AS body) r
  LEFT JOIN packed_costs c ON c.log = r.log AND c.seq = r.seq AND c.at = r.at AND c.type = r.type
    AND ${partsOf("r.body", "r.type")
      .map((part, place) => `c.${names[place] ?? ""} IS ${part}`)
      .join(" AND ")}
  WHERE c.log IS NULL AND ${isCall("r.body", "r.type")}`;

const number = (json: string, field: string): string =>
  `CAST(json_extract(${json}, '$.${field}') AS INTEGER)`;

/** The view; `seen` says whether a position of a log is visible. */
export const costsView = (seen: (log: string, seq: string) => string): string =>
  spendView(
    `
    SELECT session, agent, seq, at, type, model, input_tokens, output_tokens, nano_usd,
      ifnull(estimated, 0) AS estimated, bound IS NOT NULL AS has_bound, released IS NOT NULL AS has_released,
      ${number("bound", "tokens")} AS bound_tokens, ${number("bound", "nanoUsd")} AS bound_nano,
      ${number("released", "tokens")} AS released_tokens, ${number("released", "nanoUsd")} AS released_nano
    FROM (
      SELECT l.session, l.agent, r.seq, r.at, n.name AS type,
        ${partsOf("r.body", "n.name")
          .map((part, place) => `${part} AS ${names[place] ?? ""}`)
          .join(", ")}
      FROM records r JOIN names n ON n.id = r.type
      JOIN logs l ON l.id = r.log AND l.dropped = 0 AND ${seen("l", "r.seq")}
      WHERE ${isCall("r.body", "n.name")}
      UNION ALL
      SELECT l.session, l.agent, c.seq, c.at, c.type, ${names.map((name) => `c.${name}`).join(", ")}
      FROM packed_costs c JOIN logs l ON l.id = c.log AND l.dropped = 0 AND ${seen("l", "c.seq")}
    )`,
    "date(at / 1000, 'unixepoch')",
  );

/** Adds the missing rows for segments of layouts 3 to 5. `check` reports a corrupt segment. */
export function addPackedCosts(database: DatabaseSync): void {
  const session = database.prepare("SELECT session FROM logs WHERE id = ?");
  const name = database.prepare("SELECT name FROM names WHERE id = ?");
  const segments = makeSegments(database, {
    digest: (prefixHex, text) =>
      hash("sha256", Buffer.concat([Buffer.from(prefixHex, "hex"), Buffer.from(text)]), "hex"),
    sessionOf: (id) => session.get(id)?.["session"] as LogId,
    name: (id) => String(name.get(id)?.["name"]),
  });
  const put = database.prepare(`INSERT OR REPLACE INTO packed_costs (${columns})
    SELECT log, seq, at, type, ${partsOf("body", "type").join(", ")}
    FROM (SELECT ? AS log, ? AS seq, ? AS at, ? AS type, ? AS body) WHERE ${isCall("body", "type")}`);
  const types = new Set(
    database
      .prepare(`SELECT id FROM names WHERE name IN (${callTypesText})`)
      .all()
      .map((row) => Number(row["id"])),
  );
  for (const row of database.prepare("SELECT DISTINCT log FROM segments").all()) {
    const log = Number(row["log"]);
    for (let segment = segments.next(log, 0); segment !== undefined;) {
      const { fromSeq, toSeq } = segment;
      try {
        for (const one of segments.records(segment, { fromSeq, toSeq, contents: false, types }))
          put.run(log, one.seq, one.at, one.type, one.body);
      } catch {
        // Its answers keep their rows.
      }
      segment = segments.next(log, toSeq + 1);
    }
  }
}
