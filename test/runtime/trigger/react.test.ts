/** Changes of documents and bindings: marked, reloaded, or waking the session; each once. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { all } from "../place.ts";
import { engineWith, scripted, type Scripted } from "../turn/scripted.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "skein-react-")));
after(() => rmSync(root, { recursive: true }));
let count = 0;
const file = (text: string): string => {
  const path = join(root, `rates-${count++}.md`);
  writeFileSync(path, text);
  return path;
};
const rule = (rate: number): string => `# Rules\n\nThe tax is ${rate} %.\nPay on the 1st.\n`;
const sent = (script: Scripted): string => JSON.stringify(script.calls.at(-1)?.parts);
const firings = async (session: Session): Promise<number> =>
  (await all(session.events({ types: ["trigger.fired"] }))).length;

async function until(done: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    if (await done()) return;
    await sleep(50);
  }
  assert.fail("it did not happen");
}

async function assertRebuilt(session: Session): Promise<void> {
  for (const { type, seq } of await all(session.events()))
    if (type === "model.requested") assert.equal((await session.context({ atSeq: seq })).matches, true);
}

test("a document that wakes: one run with the difference, and then a context with the new", async () => {
  const path = file(rule(20));
  const script = scripted(["20 %.", "Now 25 %.", "Yes."]);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "Payroll", files: [path] });
  await session.ask("What is the tax?").result;
  const first = script.calls.at(-1)?.parts ?? [];
  await session.onChange(path, "wake", { debounceMs: 50 });
  await session.sleep();
  const workers = [await engine.work({ leaseMs: 2_000 }), await engine.work({ leaseMs: 2_000 })];
  writeFileSync(path, rule(25));
  await until(async () => script.calls.length === 2 && (await session.state()).status === "open");
  await sleep(500);
  for (const worker of workers) await worker.stop();
  assert.equal(script.calls.length, 2, "one reaction");
  assert.equal(await firings(session), 1);
  assert.match(
    sent(script),
    /has changed\. This holds in place of what it said before.*-The tax is 20 %.*\+The tax is 25 %/,
  );
  assert.deepEqual(
    script.calls.at(-1)?.parts.slice(0, first.length),
    first,
    "a context only grows at its end",
  );
  assert.deepEqual([...(await session.fold()).mind.documents.values()].length, 1);
  assert.deepEqual(
    (await session.deps()).map(({ now }) => now),
    ["same"],
  );
  await session.rewind((await session.head()).seq);
  await session.ask("And now?").result;
  assert.match(sent(script), /The tax is 25 %/);
  assert.doesNotMatch(sent(script), /Document [^"]*tax is 20 %/);
  await assertRebuilt(session);
});

test("a reload waits for the next turn; a mark shows the session as stale until it is reloaded", async () => {
  const path = file(rule(20));
  const script = scripted(["Yes."]);
  await using engine = engineWith(script);
  const [one, two] = [
    await engine.open({ objective: "One", files: [path] }),
    await engine.open({ objective: "Two", files: [path] }),
  ];
  for (const session of [one, two]) await session.ask("Begin.").result;
  await one.onChange(path, "reload", { debounceMs: 50 });
  await two.onChange(path, "mark", { debounceMs: 50 });
  const worker = await engine.work();
  writeFileSync(path, rule(25));
  await until(async () => (await firings(one)) + (await firings(two)) === 2);
  await sleep(300);
  await worker.stop();
  assert.equal(script.calls.length, 2, "none of them runs by itself");
  const marked = await two.state();
  assert.deepEqual([Object.keys(marked.stale), (await one.state()).stale], [[`change ${path}`], {}]);
  const { rows } = await engine.sessions();
  assert.equal(rows.length, 2);
  await one.ask("Go on.").result;
  assert.match(sent(script), /\+The tax is 25 %.*Go on\./);
  await two.ask("Go on.").result;
  assert.doesNotMatch(sent(script), /25 %/);
  await two.reload({ source: path });
  assert.deepEqual((await two.state()).stale, {});
  await two.ask("Go on.").result;
  assert.match(sent(script), /\+The tax is 25 %/);
  await assert.rejects(two.reload(), { code: "refused" });
  for (const session of [one, two]) await assertRebuilt(session);
});

test("a change between the reading and the watching counts; a touched file does not", async () => {
  const path = file(rule(20));
  const script = scripted(["Yes."]);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "Early", files: [path] });
  await session.ask("Begin.").result;
  writeFileSync(path, rule(25));
  await session.onChange(path, "wake", { debounceMs: 50 });
  const worker = await engine.work();
  await until(async () => script.calls.length === 2);
  writeFileSync(path, rule(25));
  await sleep(500);
  writeFileSync(path, rule(30));
  await until(async () => script.calls.length === 3);
  unlinkSync(path);
  await until(async () => script.calls.length === 4);
  await worker.stop();
  assert.match(sent(script), /is gone/);
  assert.equal((await session.fold()).mind.documents.size, 1);
  await assertRebuilt(session);
});

test("a bound directory tells which files changed; ignore ends it; others are refused", async () => {
  const folder = mkdtempSync(join(root, "bound-"));
  mkdirSync(join(folder, "src"));
  writeFileSync(join(folder, "src", "a.ts"), "1");
  const script = scripted(["Yes."]);
  await using engine = engineWith(script);
  const session = await engine.open({
    objective: "Bound",
    bind: [{ kind: "directory", name: "src", path: folder }],
  });
  await session.ask("Begin.").result;
  await session.onChange("src", "wake", { debounceMs: 50 });
  const worker = await engine.work();
  await sleep(500);
  writeFileSync(join(folder, "src", "a.ts"), "2");
  await until(async () => script.calls.length === 2);
  assert.match(sent(script), /1 file changed below .*changed: src\/a\.ts/);
  await session.onChange("src", "ignore");
  writeFileSync(join(folder, "src", "a.ts"), "3");
  await sleep(500);
  await worker.stop();
  assert.equal(script.calls.length, 2);
  await assert.rejects(session.onChange("nothing.md", "mark"), { code: "not-found" });
  await assert.rejects(session.onChange("src", "explode" as never), { code: "invalid" });
  await assertRebuilt(session);
});
