/**
 * A payroll session that lives for years: it sleeps, and wakes on the first of the month and whenever the
 * rate table changes. Paying is unsafe: it asks, and it never happens twice.
 *
 *   npx node --conditions=skein-source examples/payroll/main.ts
 */
import { mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineTool, openEngine } from "skein";
import { z } from "zod";
import { rehearsed } from "../rehearsal/rehearsed.ts";
import { until } from "../rehearsal/until.ts";

using folder = mkdtempDisposableSync(join(tmpdir(), "skein-payroll-"));
const rates = join(folder.path, "rates.json");
writeFileSync(rates, JSON.stringify({ base: 4.1 }));

const paid: string[] = [];
const pay = defineTool({
  name: "pay_run",
  description: "Pays everyone for a month at a rate. Runs once a month.",
  input: z.object({ month: z.string(), rate: z.number() }),
  effect: "unsafe",
  run({ month, rate }) {
    paid.push(`${month} at ${rate}`);
    return { receipt: `run-${month}` };
  },
});

const { model, models } = rehearsed(({ said, results }) => {
  const last = results.at(-1);
  if (last?.tool === "read_file")
    return { tool: "record", input: { kind: "fact", key: "base-rate", value: rateIn(last.text) } };
  if (last?.tool === "pay_run") return `Paid. ${last.text}`;
  if (last !== undefined) return "The new rate is noted. It applies from the next run on.";
  if (said.includes("monthly")) return { tool: "pay_run", input: { month: "2026-12", rate: 4.3 } };
  return { tool: "read_file", input: { path: "rates.json" } };
});
const rateIn = (text: string): number => Number(/"base"\s*:\s*([\d.]+)/.exec(text)?.[1] ?? Number.NaN);

await using engine = await openEngine({
  store: join(folder.path, "skein.db"),
  tools: [pay],
  ...(models === undefined ? {} : { models }),
});
const session = await engine.open({
  objective: "Run the payroll on the first of each month at the rate of rates.json",
  model,
  bind: [
    { kind: "file", path: rates, name: "rates.json" },
    { kind: "tool", name: "pay_run" },
  ],
  grant: [{ tool: "pay_run", rule: "ask", reason: "a person releases each payment" }],
});
await session.trigger("monthly", { kind: "cron", cron: "0 9 1 * *", zone: "Europe/Berlin" });
await session.trigger("rates", { kind: "file", path: rates, debounceMs: 100 });
await session.sleep();

// A worker watches files and clocks, and runs what is due. Stop it, start it elsewhere: nothing is missed.
await using _worker = await engine.work({ name: "payroll" });
const status = async (): Promise<string> => (await session.state()).status;

writeFileSync(rates, JSON.stringify({ base: 4.3 }));
await until(async () =>
  (await session.items()).some(({ key, value }) => key === "base-rate" && value === 4.3),
);
console.log("the rate changed: 4.3 is recorded");
await until(async () => (await status()) === "open");

// The first of the month, now instead of in two weeks.
await session.fire("monthly");
await until(async () => (await status()) === "suspended");
console.log("the run waits for a person");
await session.answer({ allow: true, reason: "checked by Ann" });
await until(async () => paid.length > 0 && (await status()) === "open");
console.log(`paid: ${paid.join(", ")}`);
if (paid.length !== 1 || !(await engine.verify()).ok) process.exitCode = 1;
