/**
 * Transcripts of other tools: how fast one is parsed beside JSON.parse of its lines, how fast one is imported
 * beside plain appends of the same bytes, and the memory that a file of a gigabyte takes.
 */
import { spawnSync, type SpawnSyncReturns } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { openEngine } from "../src/index.ts";
import {
  findTranscripts,
  importTranscripts,
  readTranscript,
  SourceFolder,
} from "../src/transcripts/transcripts.ts";
import { makeDirectory, median, number, sideBySide, timeMs, type Measure } from "./measure.ts";

const parsedMb = 128;
const importedMb = 24;
const wholeMb = Number(process.env["SKEIN_BENCH_TRANSCRIPT_MB"] ?? 1_024);

export async function benchTranscripts(): Promise<Measure[]> {
  using directory = makeDirectory();
  const path = (name: string): string => directory.path(name);
  return [
    ...(await parsing(writeTranscript(path("parsed"), parsedMb))),
    await importing(path, writeTranscript(path("imported"), importedMb)),
    await memory(path("memory.db"), writeTranscript(path("whole"), wholeMb)),
  ];
}

const session = "0b6f9f5e-3a0c-4e0a-9d5e-000000000000";
const proseChars = 8_000_000;

/** Words at random, from a fixed seed: prose that does not repeat within a piece of the original. */
function writeProse(): string {
  let seed = 1;
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (seed >> 8) % below;
  };
  const letters = "etaoinshrdlucmfwypvbgk";
  const word = (): string =>
    Array.from({ length: 2 + random(8) }, () => letters[Math.min(random(22), random(22))]).join("");
  const known = Array.from({ length: 4_000 }, word);
  const parts: string[] = [];
  for (let length = 0; length < proseChars;) {
    const next = known[Math.min(random(4_000), random(4_000))] ?? "";
    parts.push(next);
    length += next.length + 1;
  }
  return parts.join(" ");
}

let prose: string | undefined;

/** A conversation of Claude Code: prompts, answers, calls with results of a few kilobytes. */
function writeTranscript(folder: string, megabytes: number): string {
  mkdirSync(folder);
  const words = (prose ??= writeProse());
  const path = join(folder, `${session}.jsonl`);
  const file = openSync(path, "w");
  let parentUuid: string | null = null;
  let count = 0;
  let written = 0;
  let held: string[] = [];
  const add = (type: string, more: object): void => {
    const uuid = `0b6f9f5e-3a0c-4e0a-9d5e-${String(++count).padStart(12, "0")}`;
    const timestamp = new Date(1_760_000_000_000 + count * 1_000).toISOString();
    const place = { cwd: "/home/ann/payroll", version: "2.1.39", gitBranch: "main", isSidechain: false };
    held.push(
      `${JSON.stringify({ type, uuid, parentUuid, timestamp, sessionId: session, ...place, ...more })}\n`,
    );
    parentUuid = uuid;
  };
  const usage = { input_tokens: 100, cache_read_input_tokens: 20_000, output_tokens: 20 };
  for (let turn = 0; written < megabytes * 1e6; turn++) {
    const text = (part: number, length: number): string => {
      const from = ((turn * 4 + part) * 2_003) % (proseChars - 4_000);
      return words.slice(from, from + length);
    };
    add("user", { message: { role: "user", content: `Question ${turn}? ${text(0, 300)}` } });
    const call = { type: "tool_use", id: `toolu_${turn}`, name: "Bash", input: { command: text(1, 200) } };
    const message = { type: "message", role: "assistant", model: "claude-sonnet-4-5", usage };
    add("assistant", { message: { ...message, id: `msg_${turn}a`, content: [call] } });
    const output = text(2, 1_500 + (turn % 7) * 200);
    const result = { type: "tool_result", tool_use_id: `toolu_${turn}`, content: output };
    add("user", {
      message: { role: "user", content: [result] },
      toolUseResult: { stdout: output, stderr: "" },
    });
    const answer = { type: "text", text: text(3, 900) };
    add("assistant", { message: { ...message, id: `msg_${turn}b`, content: [answer] } });
    if (turn % 50 === 0) {
      written += writeSync(file, held.join(""));
      held = [];
    }
  }
  closeSync(file);
  return path;
}

async function parse(path: string): Promise<number> {
  await using folder = new SourceFolder(path);
  const [found] = await findTranscripts("claude-code", folder);
  if (found === undefined) throw new Error("the transcript is not found");
  const open = await readTranscript(folder, found);
  let entries = 0;
  for await (const entry of open.entries()) entries += entry.id === "" ? 0 : 1;
  return entries;
}

function parseLines(path: string): void {
  const bytes = readFileSync(path);
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf(0x0a, at);
    JSON.parse(bytes.toString("utf8", at, end));
    at = end + 1;
  }
}

async function parsing(path: string): Promise<Measure[]> {
  const { oursMs, plainMs } = await sideBySide(
    5,
    () => parse(path),
    () => parseLines(path),
    { warm: 1 },
  );
  const rate = (ms: number): number => statSync(path).size / 1e3 / ms;
  const detail = `beside ${number(rate(plainMs))} MB/s of JSON.parse, once a line`;
  return [
    { name: "parsing a transcript", value: rate(oursMs), unit: "MB/s", bar: { least: 50 }, detail },
    { name: "… ÷ JSON.parse of its lines", value: plainMs / oursMs, unit: "×", bar: null, detail: "" },
  ];
}

async function importFile(store: string, path: string): Promise<void> {
  await using engine = await openEngine({ store });
  const machine = { home: "/", env: {}, nowMs: Date.now() + 1e9 };
  for await (const { status, reason } of importTranscripts(engine, { tool: "claude-code", path, machine }))
    if (status !== "new") throw new Error(`import: ${status}: ${reason}`);
}

/** The lines of the file as inputs, 1,000 an append. */
async function appendLines(store: string, path: string): Promise<void> {
  await using engine = await openEngine({ store });
  const log = await engine.open({ objective: "bench" });
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  for (let from = 0; from < lines.length; from += 1_000)
    await log.append(
      lines.slice(from, from + 1_000).map((text) => ({ type: "input.received", text }) as const),
    );
}

async function importing(path: (name: string) => string, file: string): Promise<Measure> {
  const times: { readonly ours: number[]; readonly plain: number[] } = { ours: [], plain: [] };
  for (let round = 0; round < 5; round++) {
    times.plain.push(await timeMs(() => appendLines(path(`plain-${round}.db`), file)));
    times.ours.push(await timeMs(() => importFile(path(`ours-${round}.db`), file)));
  }
  const [oursMs, plainMs] = [median(times.ours.slice(1)), median(times.plain.slice(1))];
  const rate = (ms: number): string => `${number(statSync(file).size / 1e3 / ms)} MB/s`;
  return {
    name: "importing a transcript ÷ appends of its lines, 1,000 each",
    value: plainMs / oursMs,
    unit: "×",
    bar: { least: 0.7 },
    detail: `${rate(oursMs)} beside ${rate(plainMs)}, redaction on in both`,
  };
}

const maxRss = 'process.on("exit", () => console.error(process.resourceUsage().maxRSS))';

/** In the process of `skein import`: the most that it ever held. */
async function memory(store: string, file: string): Promise<Measure> {
  const main = join(import.meta.dirname, "../src/cli/main.ts");
  const report = ["--import", `data:text/javascript,${maxRss}`];
  let ended: SpawnSyncReturns<string> | undefined;
  const ms = await timeMs(() => {
    const args = [...report, main, "import", "claude-code", file, "--store", store];
    ended = spawnSync(process.execPath, args, { encoding: "utf8" });
  });
  if (ended?.status !== 0) throw new Error(ended?.stderr);
  const megabytes = statSync(file).size / 1e6;
  return {
    name: `memory of importing ${number(megabytes)} MB`,
    value: Number(ended.stderr.trim().split("\n").at(-1)) / 1e3,
    unit: "MB",
    bar: { most: 300 },
    detail: `${number((megabytes / ms) * 1e3)} MB/s`,
  };
}
