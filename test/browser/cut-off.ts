/**
 * A process that pays, and is killed before it can say so: `node cut-off.ts STORE BOOK INPUT`. Whoever runs
 * the session next cannot tell whether the money is gone.
 */
import { appendFileSync, writeSync } from "node:fs";
import { z } from "zod";
import { defineTool, openEngine } from "../../src/index.ts";

/** Writes a payment into the book; then does what is to happen before anybody hears of it. */
export const payTool = (book: string, then: () => void = () => undefined) =>
  defineTool({
    name: "pay",
    description: "Pays somebody.",
    input: z.object({ to: z.string() }),
    effect: "unsafe",
    run({ to }) {
      appendFileSync(book, `${to}\n`);
      then();
      return "paid";
    },
  });

const [store, book, input] = process.argv.slice(2);
if (import.meta.main && store !== undefined && book !== undefined && input !== undefined) {
  const tools = [payTool(book, () => process.kill(process.pid, "SIGKILL"))];
  const engine = await openEngine({ store, tools, env: {} });
  const bind = [{ kind: "tool", name: "pay" }] as const;
  const session = await engine.open({ objective: "Pay the bill", model: "offline/offline", bind });
  writeSync(1, session.id);
  await session.input(input);
  await session.run();
}
