/** Sessions with a transcript, made through the engine of a server. */
import type { Session } from "../../src/runtime/engine/session.ts";

export async function talked(_: unknown, session: Session): Promise<void> {
  for (let number = 0; number < 2; number++) {
    await session.append(`What of ${"this and that ".repeat(200)}${number}?`);
    await session.run();
  }
}

export async function compacted(_: unknown, session: Session): Promise<void> {
  await talked(_, session);
  await session.compress({ strategy: "summarize" });
}
