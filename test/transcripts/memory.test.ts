/** The memory of reading and importing does not grow with the texts of a file. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

const folder = mkdtempSync(join(tmpdir(), "skein-memory-"));
after(() => rmSync(folder, { recursive: true }));

const sessionId = "0b6f9f5e-3a0c-4e0a-9d5e-333333333333";
const turns = 1_500;
const words = "the rate of November is in rates.json ".repeat(300);

test("a file of 30 MB is planned in 8 MB and imported in a process of 300", () => {
  const path = join(folder, `${sessionId}.jsonl`);
  let parentUuid: string | null = null;
  const lines: string[] = [];
  const add = (type: string, message: object): void => {
    const uuid = `u${lines.length}`;
    const timestamp = new Date(1_760_000_000_000 + lines.length * 1_000).toISOString();
    lines.push(JSON.stringify({ type, uuid, parentUuid, sessionId, timestamp, cwd: "/p", message }));
    parentUuid = uuid;
  };
  for (let turn = 0; turn < turns; turn++) {
    add("user", { role: "user", content: `${turn} ${words.slice(turn % 700, 10_000)}` });
    const content = [{ type: "text", text: `${turn} ${words.slice(turn % 600, 10_800)}` }];
    add("assistant", { id: `msg_${turn}`, role: "assistant", model: "m", content });
  }
  const text = `${lines.join("\n")}\n`;
  assert.ok(text.length > 29e6);
  writeFileSync(path, text);
  const runner = join(import.meta.dirname, "memory-runner.ts");
  const said = execFileSync(process.execPath, ["--expose-gc", runner, join(folder, "s.db"), path]);
  const { plan, added, maxRssMb } = JSON.parse(said.toString()) as {
    readonly plan: { readonly entries: number; readonly mb: number };
    readonly added: number;
    readonly maxRssMb: number;
  };
  assert.deepEqual([plan.entries, added], [2 * turns, 2 * turns]);
  assert.ok(plan.mb < 8, `the plan holds ${plan.mb} MB`);
  assert.ok(maxRssMb < 300, `the process took ${maxRssMb} MB`);
});
