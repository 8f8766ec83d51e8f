/** Runs `VACUUM` in a separate process, or in a thread if the world starts no processes. */
import { parentPort, workerData } from "node:worker_threads";
import { vacuumFile } from "./vacuum-file.ts";

export interface VacuumRequest {
  readonly path: string;
  /** How long to wait for the lock that every writer needs. */
  readonly lockWaitMs: number;
}

/** An SQLite error crosses the process boundary as its code and text. */
export type VacuumAnswer = { readonly error: string; readonly errcode: number } | null;

if (parentPort !== null) parentPort.postMessage(vacuumFile(workerData as VacuumRequest));
else {
  process.once("message", (request: VacuumRequest) => {
    process.send?.(vacuumFile(request), () => process.disconnect?.());
  });
}
