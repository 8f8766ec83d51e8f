/** Takes a store in PostgreSQL back to an earlier layout, as the version of that time left it. */
import type { Sql } from "postgres";
import { viewsText } from "../../../src/store/postgres/derived/views.ts";
import { wallsText } from "../../../src/store/postgres/tenant/row-security.ts";

const checked = ["heads", "logs", "events", "keys", "places", "segments", "snapshots", "blob_refs", "texts"];
/** How roles were admitted until then. */
const admit = /FUNCTION skein\.admit[^]*?END \$\$;/.exec(wallsText)?.[0] ?? "";
/** The view as it was until layout 5. */
const costs = /CREATE VIEW skein_views\.costs[^]*?;\n/.exec(viewsText)?.[0] ?? "";
const tables = [...checked, "item_rows", "schedule"];

/** To layout 3: log numbers have no owner, keys of blobs no tenant, and the role has the rights of then. */
export async function toLayout3(sql: Sql, role: string): Promise<void> {
  await sql.unsafe(`
    ALTER TABLE skein.logs DROP COLUMN origin;
    DROP FUNCTION skein.origin_of(bigint);
    DROP TABLE skein.numbers, skein.lease_locks CASCADE;
    ${tables.map((table) => `ALTER TABLE skein.${table} DISABLE ROW LEVEL SECURITY;`).join("\n")}
    ALTER TABLE skein.blob_chunks DROP CONSTRAINT blob_chunks_pkey, ADD PRIMARY KEY (blob, number);
    ALTER TABLE skein.blob_refs DROP CONSTRAINT blob_refs_pkey, ADD PRIMARY KEY (blob, log, seq);
    SELECT skein.wall();
    CREATE OR REPLACE ${admit}
    GRANT SELECT, INSERT, UPDATE, DELETE ON skein.blobs, skein.texts TO "${role}";
    DROP TABLE skein.word_steps, skein.log_words, skein.vectors;
    DROP VIEW skein_views.costs;
    DROP INDEX skein.events_calls;
    ALTER TABLE skein.schedule DROP COLUMN unconfirmed, DROP COLUMN unpriced;
    CREATE INDEX events_costs ON skein.events (tenant, log, seq) WHERE type = 'model.responded';
    ${costs}
    DELETE FROM skein.migrations WHERE number >= 4;
  `);
}
