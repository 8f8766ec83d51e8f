/** `skein import TOOL --watch`: follows what another tool writes, in a real process, across kill -9. */
import assert from "node:assert/strict";
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test, type TestContext } from "node:test";
import { makeFolder, skeinIn } from "./skein.ts";

interface Change {
  readonly session: string;
  readonly status: string;
  readonly added: number;
  readonly sourceId: string;
  readonly summary?: { readonly sessions: number; readonly entries: number };
}

const names = ["0b6f9f5e-3a0c-4e0a-9d5e-222222222222", "0b6f9f5e-3a0c-4e0a-9d5e-333333333333"] as const;

/** Lines as Claude Code writes them: one for each block of an answer, with the usage so far. */
function linesOf(sessionId: string, turns: number): string[] {
  const lines: string[] = [];
  let parentUuid: string | null = null;
  const add = (type: string, message: object): void => {
    const uuid = `${sessionId.slice(-2)}-${lines.length}`;
    const timestamp = new Date(1_760_000_000_000 + lines.length * 1_000).toISOString();
    const place = { cwd: "/home/ann/payroll", version: "2.1.39", gitBranch: "main", isSidechain: false };
    lines.push(JSON.stringify({ type, uuid, parentUuid, timestamp, sessionId, ...place, message }));
    parentUuid = uuid;
  };
  const block = (id: string, one: object, output: number): void =>
    add("assistant", {
      id,
      type: "message",
      role: "assistant",
      model: "claude-sonnet-4-5-20250929",
      content: [one],
      usage: { input_tokens: 100, output_tokens: output },
    });
  for (let turn = 0; turn < turns; turn++) {
    add("user", { role: "user", content: `Question ${turn}` });
    block(`m${turn}a`, { type: "text", text: `Looking ${turn}` }, 3);
    block(`m${turn}a`, { type: "tool_use", id: `t${turn}`, name: "Bash", input: { command: "ls" } }, 20);
    const result = { type: "tool_result", tool_use_id: `t${turn}`, content: `out ${turn}` };
    add("user", { role: "user", content: [result] });
    block(`m${turn}b`, { type: "thinking", thinking: `hm ${turn}`, signature: "s" }, 2);
    block(`m${turn}b`, { type: "text", text: `Answer ${turn}` }, 30);
  }
  return lines;
}

function makeHome() {
  const folder = makeFolder();
  const projects = join(folder, "claude", "projects", "-home-ann-payroll");
  mkdirSync(projects, { recursive: true });
  const fileOf = (name: string): string => join(projects, `${name}.jsonl`);
  return { folder, fileOf, env: { CLAUDE_CONFIG_DIR: join(folder, "claude"), HOME: folder } };
}

type Home = ReturnType<typeof makeHome>;

/** A running `skein import claude-code --watch --json`, and what it printed. */
function startWatch(t: TestContext, { folder, env }: Home) {
  const child = skeinIn(folder).start(["import", "claude-code", "--watch", "--json"], { env });
  t.after(() => child.kill("SIGKILL"));
  const changes: (Change & { readonly atMs: number })[] = [];
  const waiting = new Set<() => void>();
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => void (errors += text));
  createInterface(child.stdout).on("line", (line) => {
    changes.push({ ...(JSON.parse(line) as Change), atMs: performance.now() });
    for (const wake of waiting) wake();
  });
  const ended = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)));
  return {
    changes,
    ended,
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    /** Waits until what was printed satisfies this. */
    until(what: string, isDone: () => boolean): Promise<void> {
      return new Promise((resolve, reject) => {
        const check = (): void => {
          if (!isDone()) return;
          clearTimeout(timer);
          waiting.delete(check);
          resolve();
        };
        const timer = setTimeout(() => reject(new Error(`${what} did not come; ${errors}`)), 60_000);
        waiting.add(check);
        check();
      });
    },
  };
}

type Watch = ReturnType<typeof startWatch>;
const addedTo = ({ changes }: Watch, name: string): number =>
  changes.reduce((sum, one) => sum + (one.sourceId === name ? one.added : 0), 0);

interface Event {
  readonly type: string;
  readonly body: { readonly continues?: boolean; readonly usage?: { readonly outputTokens: number } };
  readonly content: {
    readonly id?: string;
    readonly blocks?: readonly { readonly text?: string }[];
  };
}

/** What the log holds of a conversation, without how it was cut into imports. */
async function told(folder: string, session: string) {
  const events = (await skeinIn(folder).lines("log", session)) as unknown as Event[];
  const of = (type: string): Event[] => events.filter((one) => one.type === type);
  const answers = of("answer.imported");
  return {
    inputs: of("input.imported").flatMap(({ content }) => content.blocks?.map(({ text }) => text)),
    texts: answers.flatMap(({ content }) => content.blocks?.map(({ text }) => text)),
    answers: answers.filter(({ body }) => body.continues !== true).length,
    tokens: answers.reduce((sum, { body }) => sum + (body.usage?.outputTokens ?? 0), 0),
    calls: of("call.imported").map(({ content }) => content.id),
    originals: of("source.imported").filter(({ content }) => content.blocks !== undefined).length,
  };
}

const expected = (turns: number, originals: number) => ({
  inputs: Array.from({ length: turns }, (_, turn) => `Question ${turn}`),
  texts: Array.from({ length: turns }, (_, turn) => [
    `Looking ${turn}`,
    `hm ${turn}`,
    `Answer ${turn}`,
  ]).flat(),
  answers: turns * 2,
  tokens: turns * 50,
  calls: Array.from({ length: turns }, (_, turn) => `t${turn}`),
  originals,
});

test("a line appears within a second; a killed watch resumes without loss or repetition", async (t) => {
  const home = makeHome();
  const [name, later] = names;
  await skeinIn(home.folder).open();
  const lines = linesOf(name, 4);
  writeFileSync(home.fileOf(name), `${lines[0]}\n`);
  const first = startWatch(t, home);
  await first.until("the session", () => addedTo(first, name) === 1);
  const session = first.changes[0]?.session ?? "";
  // Half of a line waits for its other half.
  appendFileSync(home.fileOf(name), lines[1]!.slice(0, 80));
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.equal(addedTo(first, name), 1);
  const latencies: number[] = [];
  const appendTimed = async (text: string): Promise<void> => {
    const before = first.changes.length;
    const startedMs = performance.now();
    appendFileSync(home.fileOf(name), text);
    await first.until("a change", () => first.changes.length > before);
    latencies.push((first.changes.at(-1)?.atMs ?? 0) - startedMs);
  };
  await appendTimed(`${lines[1]!.slice(80)}\n`);
  appendFileSync(home.fileOf(name), `${lines[2]}\n`);
  for (const line of lines.slice(3, 8)) await appendTimed(`${line}\n`);
  t.diagnostic(`latency of ${latencies.length} lines: ${latencies.map((ms) => ms.toFixed(0)).join(", ")} ms`);
  // Killed in the middle of a burst, and more is written while it is down.
  for (const line of lines.slice(8, 14)) appendFileSync(home.fileOf(name), `${line}\n`);
  first.kill("SIGKILL");
  await first.ended;
  for (const line of lines.slice(14, 20)) appendFileSync(home.fileOf(name), `${line}\n`);
  const second = startWatch(t, home);
  await second.until("what came meanwhile", () => second.changes.length > 0);
  for (const line of lines.slice(20)) appendFileSync(home.fileOf(name), `${line}\n`);
  writeFileSync(home.fileOf(later), linesOf(later, 1).join("\n"));
  await second.until("the second session", () => addedTo(second, later) === 3);
  second.kill("SIGINT");
  assert.equal(await second.ended, 0);
  assert.equal(second.changes.at(-1)?.summary?.sessions, 2);
  assert.deepEqual(await told(home.folder, session), expected(4, 1));
  const other = second.changes.find(({ sourceId }) => sourceId === later)?.session ?? "";
  assert.deepEqual(await told(home.folder, other), expected(1, 1));
  const shown = await skeinIn(home.folder).here("show", session);
  assert.match(shown.stdout, /^status +suspended/m);
  assert.equal((await skeinIn(home.folder).here("verify")).code, 0);
});

test("a rewritten source is reported once, never mixed, and others are followed on", async (t) => {
  const home = makeHome();
  const [name, later] = names;
  await skeinIn(home.folder).open();
  writeFileSync(home.fileOf(name), `${linesOf(name, 2).join("\n")}\n`);
  const watch = startWatch(t, home);
  await watch.until("the session", () => addedTo(watch, name) === 6);
  const session = watch.changes[0]?.session ?? "";
  const rewritten = linesOf(name, 3).join("\n").replaceAll(`"22-`, `"99-`);
  writeFileSync(home.fileOf(name), rewritten);
  await watch.until("the report", () => watch.changes.some(({ status }) => status === "rewritten"));
  writeFileSync(home.fileOf(name), `${rewritten}\n`);
  for (const turns of [1, 2]) {
    writeFileSync(home.fileOf(later), `${linesOf(later, turns).join("\n")}\n`);
    await watch.until(`turn ${turns}`, () => addedTo(watch, later) === turns * 3);
  }
  watch.kill("SIGTERM");
  assert.equal(await watch.ended, 0);
  assert.equal(watch.changes.filter(({ status }) => status === "rewritten").length, 1);
  assert.deepEqual(await told(home.folder, session), expected(2, 0));
  const refused = await skeinIn(home.folder).here("import", "claude-code", "--watch", "--dry-run");
  assert.match(refused.stderr, /--dry-run is not allowed with --watch/);
});
