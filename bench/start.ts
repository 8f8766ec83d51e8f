/** How long a person waits for the command line to start, beside Node doing nothing. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { openEngine } from "../src/index.ts";
import { makeDirectory, median, number, type Measure } from "./measure.ts";

const skein = fileURLToPath(new URL("../bin/skein", import.meta.url));

export async function benchStart(): Promise<Measure[]> {
  using directory = makeDirectory();
  const store = directory.path("start.db");
  {
    await using engine = await openEngine({ store });
    for (let i = 0; i < 20; i++) await engine.open({ objective: `session ${i}` });
  }
  const commands = {
    node: [process.execPath, "-e", "0"],
    version: [skein, "--version"],
    ps: [skein, "ps", "--store", store],
  } as const;
  const times: Record<keyof typeof commands, number[]> = { node: [], version: [], ps: [] };
  for (let round = 0; round < 21; round++) {
    for (const name of ["node", "version", "ps"] as const) times[name].push(run(commands[name]));
  }
  const [node, version, ps] = [median(times.node), median(times.version), median(times.ps)];
  const beside = (ms: number): string => `${number(ms)} ms beside ${number(node)} ms`;
  return [
    {
      name: "skein --version ÷ node -e 0",
      value: version / node,
      unit: "×",
      bar: { most: 1.5 },
      detail: beside(version),
    },
    { name: "skein ps ÷ node -e 0", value: ps / node, unit: "×", bar: { most: 4 }, detail: beside(ps) },
  ];
}

function run([program, ...args]: readonly [string, ...string[]]): number {
  const start = performance.now();
  const { status, stderr } = spawnSync(program, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${status}: ${stderr}`);
  return performance.now() - start;
}
