/** Runs the real command line, in folders of its own. */
import assert from "node:assert/strict";
import { spawn, type ChildProcessByStdio, type StdioOptions } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { after } from "node:test";
import { runWords } from "../../src/cli/command/run.ts";
import { collectingSurface } from "../../src/cli/command/screen.ts";
import { kind } from "../kind.ts";

/** What is run in this process must find no key and no configuration of whoever runs the tests. */
for (const name of Object.keys(process.env)) {
  const isOfTests = /^SKEIN_(TEST_|PG_BIN$)/.test(name);
  const isOfUser = /_(API_KEY|BASE_URL)$|^SKEIN_/.test(name);
  if (isOfUser && !isOfTests) delete process.env[name];
}
process.env["XDG_CONFIG_HOME"] = join(tmpdir(), "skein-test-no-config");

const neverStopped = () => new AbortController().signal;
const bin = join(import.meta.dirname, "..", "..", "bin", "skein");
/** Compiled code is kept from one run of the tests to the next, which halves the time of each start. */
const cache = process.env["NODE_COMPILE_CACHE"] ?? join(tmpdir(), "skein-test-code");

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export type Skein = ChildProcessByStdio<Writable, Readable, Readable>;

interface Circumstances {
  readonly input?: string | Uint8Array;
  readonly env?: Readonly<Record<string, string>>;
  /** A program that runs the command line, with its own words before it. */
  readonly through?: readonly string[];
}

/** A folder that is there for the length of a file's tests. */
export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "skein-cli-"));
  after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The command line with a folder to work in. */
export function skeinIn(folder: string) {
  const file = join(folder, "skein.db");
  const place = kind().placeIn(file);
  // A file in the folder is where a store is without being named.
  const named = place === file ? {} : { SKEIN_STORE: place };
  const start = (words: readonly string[], { env = {}, through = [] }: Circumstances = {}): Skein => {
    const [program = bin, ...rest] = [...through, bin, ...words];
    const stdio: StdioOptions = ["pipe", "pipe", "pipe"];
    const around = { PATH: process.env["PATH"], HOME: folder, NODE_COMPILE_CACHE: cache, ...named, ...env };
    return spawn(program, rest, { cwd: folder, stdio, env: around }) as Skein;
  };
  const run = async (words: readonly string[], circumstances: Circumstances = {}): Promise<Ended> => {
    const child = start(words, circumstances);
    // A program that refuses its input closes the pipe, which is no fault of the test.
    child.stdin.on("error", () => undefined).end(circumstances.input ?? "");
    return endOf(child);
  };
  return {
    start,
    run,
    /** The one JSON value of a command that must succeed. */
    async json(...words: readonly string[]): Promise<Record<string, unknown>> {
      const lines = await this.lines(...words);
      assert.equal(lines.length, 1, `skein ${words.join(" ")} gave ${lines.length} lines`);
      return lines[0]!;
    },
    /**
     * The JSON values, one a line, of a command that must succeed and say nothing else. It runs in this
     * process, in a tenth of the time; `run` and `start` are for tests of the process.
     */
    async lines(...words: readonly string[]): Promise<Record<string, unknown>[]> {
      const { code, stdout, stderr } = await this.here(...words, "--json");
      assert.equal(code, 0, `skein ${words.join(" ")}\n${stderr}`);
      assert.equal(stderr, "");
      return parseLines(stdout);
    },
    /** The JSON values that a reading verb gives in this process, which takes a tenth of the time. */
    async look(...words: readonly string[]): Promise<Record<string, unknown>[]> {
      const surface = collectingSurface(null);
      const where = ["--store", place, "--json"];
      const code = await runWords([...where, ...words], { surface, untilStopped: neverStopped });
      assert.equal(code, 0, `skein ${words.join(" ")}\n${surface.collected.stderr}`);
      return parseLines(surface.collected.stdout);
    },
    /** How a command ends in this process. */
    async here(...words: readonly string[]): Promise<Omit<Ended, "signal">> {
      const surface = collectingSurface(null);
      const where = ["--store", place];
      const code = await runWords([...where, ...words], { surface, untilStopped: neverStopped });
      return { code, ...surface.collected };
    },
    /** The id of a new session. */
    async open(objective = "Fix login"): Promise<string> {
      return String((await this.json("open", "--objective", objective))["id"]);
    },
  };
}

export const parseLines = (text: string): Record<string, unknown>[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

export async function endOf(child: Skein): Promise<Ended> {
  const said = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => void (said.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => void (said.stderr += text));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve({ code, signal, ...said }));
  });
}
