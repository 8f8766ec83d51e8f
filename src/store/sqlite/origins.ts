/** The session that a log's first record names as its origin (core/branch/origin.ts), found by an index. */
import type { DatabaseSync } from "node:sqlite";
import { originOf } from "../../core/branch/origin.ts";
import { unpackHeads } from "./segment.ts";

/** For a store from before layout 5: logs whose first record is packed. A corrupt segment is skipped. */
export function fillPackedOrigins(database: DatabaseSync): void {
  const opened = database.prepare("SELECT id FROM names WHERE name = 'session.opened'").get()?.["id"];
  const set = database.prepare("UPDATE logs SET origin = ? WHERE id = ?");
  const next = database.prepare(
    "SELECT id, log, heads FROM segments WHERE id > ? AND from_seq = 1 ORDER BY id LIMIT 1",
  );
  for (let row = next.get(0); row !== undefined; row = next.get(Number(row["id"]))) {
    const body = firstBody(row["heads"] as Uint8Array, Number(opened));
    const origin = body === null ? null : originOf({ type: "session.opened", body });
    if (origin !== null) set.run(origin.session, Number(row["log"]));
  }
}

function firstBody(packed: Uint8Array, type: number): string | null {
  try {
    const heads = unpackHeads(packed);
    return heads.type[0] === type ? heads.bodies.toString("utf8", 0, heads.bodyAt[1]) : null;
  } catch {
    return null;
  }
}
