/**
 * The witness: files outside the store in which the tools and the model of a crash test say what they do,
 * each line on the disk before they go on. What the log claims is held against it.
 */
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";

/** A tool says `begin` before its effect and `end` after it. */
export interface ToolLine {
  readonly say: "begin" | "end" | "aborted";
  readonly tool: string;
  readonly key: string;
  readonly seq: number;
  readonly mark: string;
  readonly pid: number;
  readonly atMs: number;
}

/** A model says that it was reached, and what it will charge whether or not anybody hears the answer. */
export interface ModelLine {
  readonly say: "asked" | "aborted";
  /** SHA-256 of the parts it was given. */
  readonly context: string;
  readonly tokens: number;
  readonly nanoUsd: number;
  readonly pid: number;
  readonly atMs: number;
}

export interface Witness {
  tool(line: Omit<ToolLine, "pid" | "atMs">): void;
  model(line: Omit<ModelLine, "pid" | "atMs">): void;
  readonly tools: () => readonly ToolLine[];
  readonly models: () => readonly ModelLine[];
}

export function openWitness(directory: string): Witness {
  const [tools, models] = [join(directory, "tools.jsonl"), join(directory, "models.jsonl")];
  const signed = () => ({ pid: process.pid, atMs: Date.now() });
  return {
    tool: (line) => append(tools, { ...line, ...signed() }),
    model: (line) => append(models, { ...line, ...signed() }),
    tools: () => linesOf(tools) as ToolLine[],
    models: () => linesOf(models) as ModelLine[],
  };
}

function append(path: string, line: object): void {
  const file = openSync(path, "a");
  writeSync(file, `${JSON.stringify(line)}\n`);
  fsyncSync(file);
  closeSync(file);
}

/** A line is one write, so it is there whole or not at all. */
function linesOf(path: string): unknown[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as unknown);
}
