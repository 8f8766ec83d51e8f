/** `VACUUM` of one file, on a separate connection. */
import { DatabaseSync } from "node:sqlite";
import type { VacuumAnswer, VacuumRequest } from "./vacuum-worker.ts";

/** The same as for the store's connection; see connection.ts. */
const settings = "PRAGMA synchronous=FULL; PRAGMA secure_delete=ON; PRAGMA wal_autocheckpoint=0";

/** On a separate connection: an open read statement on the same one would block it. */
export function vacuumFile({ path, lockWaitMs }: VacuumRequest): VacuumAnswer {
  const database = new DatabaseSync(path, { timeout: lockWaitMs });
  try {
    database.exec(settings);
    database.exec("VACUUM");
    // Without the writer lock. Pages that a reader holds back move later, see scrub.ts.
    database.exec("PRAGMA wal_checkpoint(PASSIVE)");
    return null;
  } catch (error) {
    if (!(error instanceof Error) || !("errcode" in error)) throw error;
    return { error: error.message, errcode: Number(error.errcode) };
  } finally {
    database.close();
  }
}
