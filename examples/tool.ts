/**
 * Tools of your own, and what their effect means after a crash. `pay` is unsafe: cut off in the middle it
 * never runs again by itself. Its `probe` looks whether it happened, in the bank's own book; without one the
 * outcome would be unknown, and the session would ask. `balance` only reads: it simply runs again.
 *
 *   npx node --conditions=skein-source examples/tool.ts
 */
import { spawnSync } from "node:child_process";
import { appendFileSync, mkdtempDisposableSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineTool, openEngine } from "skein";
import { z } from "zod";

const [folder, part] = process.argv.slice(2);
if (folder === undefined) {
  using made = mkdtempDisposableSync(join(tmpdir(), "skein-"));
  writeFileSync(join(made.path, "book"), "");
  for (const which of ["first", "second"]) {
    const args = [...process.execArgv, import.meta.filename, made.path, which];
    const { signal, status } = spawnSync(process.execPath, args, { stdio: "inherit" });
    console.log(signal === null ? `ended with ${status}` : `killed by ${signal}`);
    if (which === "second") process.exitCode = status ?? 1;
  }
  const paid = readFileSync(join(made.path, "book"), "utf8").trim().split("\n");
  console.log(`paid ${paid.length} times: ${paid.map((line) => line.slice(65)).join(", ")}`);
  if (paid.length !== 1) process.exitCode = 1;
} else {
  const tools = toolsOf(join(folder, "book"));
  await using engine = await openEngine({ store: join(folder, "skein.db"), tools });
  if (part === "first") {
    const bind = tools.map(({ name }) => ({ kind: "tool", name }) as const);
    await engine.open({ objective: "Pay the bills", model: "offline/offline", bind });
  }
  const { rows } = await engine.sessions({ limit: 1 });
  const session = await engine.session(rows[0]?.session ?? "");
  const said = part === "first" ? 'call pay {"to":"Ann","cents":4100}' : "call balance {}";
  for await (const update of session.ask(said)) {
    if (update.type === "tool.settled") console.log(update.seq, JSON.stringify(update.content));
  }
}

/** The bank keeps a book: one line a payment, with the key of the call that made it. */
function toolsOf(book: string) {
  const lines = () => readFileSync(book, "utf8").split("\n");
  const pay = defineTool({
    name: "pay",
    description: "Pays an invoice. Returns a receipt.",
    input: z.object({ to: z.string(), cents: z.int().positive() }),
    effect: "unsafe", // the default
    timeoutMs: 10_000,
    run({ to, cents }, { key }) {
      appendFileSync(book, `${key} ${to} ${cents}\n`);
      process.kill(process.pid, "SIGKILL"); // the money is gone, and no process knows
      return { receipt: key.slice(0, 8) };
    },
    probe: (key) =>
      lines().some((line) => line.startsWith(key)) ? { done: { receipt: key.slice(0, 8) } } : "not done",
  });
  const balance = defineTool({
    name: "balance",
    description: "Says how much was paid so far, in cents.",
    input: z.object({}),
    effect: "read",
    run: () => lines().reduce((sum, line) => sum + Number(line.split(" ")[2] ?? 0), 0),
  });
  return [pay, balance];
}
