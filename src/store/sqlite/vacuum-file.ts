/** `VACUUM` of one file, on a connection of its own. */
import { DatabaseSync } from "node:sqlite";
import type { VacuumAnswer, VacuumRequest } from "./vacuum-worker.ts";

/** As those of the store's own connection; see connection.ts. */
const settings = "PRAGMA synchronous=FULL; PRAGMA secure_delete=ON; PRAGMA wal_autocheckpoint=0";

/** On a connection of its own: a statement that is being read on another one would refuse it. */
export function vacuumFile({ path, lockWaitMs }: VacuumRequest): VacuumAnswer {
  const database = new DatabaseSync(path, { timeout: lockWaitMs });
  try {
    database.exec(settings);
    database.exec("VACUUM");
    // Without the lock that writers need. What a reader holds back is moved later, see scrub.ts.
    database.exec("PRAGMA wal_checkpoint(PASSIVE)");
    return null;
  } catch (error) {
    if (!(error instanceof Error) || !("errcode" in error)) throw error;
    return { error: error.message, errcode: Number(error.errcode) };
  } finally {
    database.close();
  }
}
