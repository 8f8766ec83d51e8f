/** Reads and imports a file in a process of its own, with --expose-gc, and prints the memory that it took. */
import { openEngine } from "../../src/index.ts";
import {
  findTranscripts,
  importTranscripts,
  readTranscript,
  SourceFolder,
} from "../../src/transcripts/transcripts.ts";

const [, , store = "", path = ""] = process.argv;

function heldMb(): number {
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return (heapUsed + arrayBuffers) / 1e6;
}

async function planMb(): Promise<{ readonly entries: number; readonly mb: number }> {
  await using folder = new SourceFolder(path);
  const [found] = await findTranscripts("claude-code", folder);
  if (found === undefined) throw new Error("the transcript is not found");
  const before = heldMb();
  const open = await readTranscript(folder, found, { digest: true });
  let entries = 0;
  for await (const entry of open.entries()) entries += entry.id === "" ? 0 : 1;
  return { mb: heldMb() - before, entries };
}

const plan = await planMb();
await using engine = await openEngine({ store });
const machine = { home: "/", env: {}, nowMs: Date.now() + 1e9 };
let added = 0;
for await (const one of importTranscripts(engine, { tool: "claude-code", path, machine })) added += one.added;
console.log(JSON.stringify({ plan, added, maxRssMb: process.resourceUsage().maxRSS / 1e3 }));
