/** Calls on memory, and on what goes along to another session, in the table of key-again. */
import type { Given, Served } from "./served.ts";

/** An entry that waits for approval. */
const proposed = async ({ engine }: Served): Promise<Given> => {
  const fact = { scope: "workspace", kind: "fact", key: "doubtful", value: 1 } as const;
  const { seq } = await engine.remember({ ...fact, propose: true });
  return { params: { proposal: seq } };
};

/** Two entries that say the same: merged once. */
const twice = async ({ engine }: Served): Promise<Given> => {
  for (const key of ["db", "database"])
    await engine.remember({ scope: "workspace", kind: "fact", key, value: "SQLite with WAL" });
  return { params: { apply: true } };
};

export const ofMemoryQueue = {
  "session.split": [{ params: { objective: "Another task" } }],
  "engine.consolidateMemory": [{ before: twice }],
  "engine.approveMemory": [{ before: proposed }],
  "engine.rejectMemory": [{ before: proposed }],
};
