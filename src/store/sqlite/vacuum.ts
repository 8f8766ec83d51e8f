/**
 * `VACUUM`: SQLite rewrites the whole file, so that no trace of an erased row is left in it. SQLite rebuilds
 * pages when it moves rows between them and leaves copies behind, which `secure_delete` does not reach.
 * Writers wait meanwhile; readers do not. Another process rewrites a large file, so that this one keeps
 * reading and answering.
 */
import type { DatabaseSync } from "node:sqlite";
import { SkeinError } from "../../core/error.ts";
import type { StoreWorld } from "../port.ts";
import { runApart } from "./apart.ts";
import type { SqliteConnection } from "./connection.ts";
import { vacuumFile } from "./vacuum-file.ts";
import type { VacuumAnswer, VacuumRequest } from "./vacuum-worker.ts";

/** Up to this size this process rewrites the file itself: 50 ms, less than the start of another process. */
const hereBytesMax = 4 * 1024 * 1024;

/** When it resolves, the write-ahead log holds the new file, and most of it is in the main file. */
export async function vacuumStore(
  { path, database, guard }: SqliteConnection,
  { world, lockWaitMs, signal }: { world: StoreWorld; lockWaitMs: number; signal: AbortSignal },
): Promise<void> {
  const request: VacuumRequest = { path, lockWaitMs };
  const bytes = one(database, "page_count") * one(database, "page_size");
  const answer =
    bytes <= hereBytesMax ? vacuumFile({ path, lockWaitMs: 0 }) : await elsewhere(world, request, signal);
  if (answer === null) return;
  guard(() => {
    throw Object.assign(new Error(answer.error), { errcode: answer.errcode });
  });
}

async function elsewhere(
  world: StoreWorld,
  request: VacuumRequest,
  signal: AbortSignal,
): Promise<VacuumAnswer> {
  // The worker's file has the extension of this one: .ts in a checkout, .js in the package.
  const file = new URL(
    import.meta.url.endsWith(".ts") ? "./vacuum-worker.ts" : "./vacuum-worker.js",
    import.meta.url,
  );
  try {
    return (await runApart(world, file, request, signal)) as VacuumAnswer;
  } catch (cause) {
    throw new SkeinError("unavailable", `the scrub was interrupted: ${request.path}`, {
      hint: "it is still pending; the next erase, delete or retain runs it",
      where: request.path,
      cause,
    });
  }
}

const one = (database: DatabaseSync, name: string): number =>
  Number(Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
