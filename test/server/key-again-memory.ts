/** The calls of the approval queue of memory in the table of key-again. */
import type { Given, Served } from "./served.ts";

/** An entry that waits for approval. */
const proposed = async ({ engine }: Served): Promise<Given> => {
  const fact = { scope: "workspace", kind: "fact", key: "doubtful", value: 1 } as const;
  const { seq } = await engine.remember({ ...fact, propose: true });
  return { params: { proposal: seq } };
};

export const ofMemoryQueue = {
  "engine.approveMemory": [{ before: proposed }],
  "engine.rejectMemory": [{ before: proposed }],
};
