/** Permissions over the life of a session: rules that are set later, lost, or erased, and forks. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { z } from "zod";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { defineTool } from "../../../src/tool/define.ts";
import { makeToolSource } from "../../../src/tool/source.ts";
import { kind, noFile } from "../../kind.ts";
import { engineOn, inMemory, workspace } from "../place.ts";
import { engineWith, scripted, use } from "./scripted.ts";

const bind = [{ kind: "tool", name: "pay" }] as const;

const payTool = (runs: string[], more: { readonly effect?: "read" | "unsafe" } = {}) =>
  defineTool({
    name: "pay",
    description: "Pay somebody.",
    input: z.strictObject({ to: z.string() }),
    ...more,
    run: async ({ to }) => {
      runs.push(to);
      return `paid ${to}`;
    },
  });

async function ask(session: Session, text: string): Promise<void> {
  for await (const _ of session.ask(text));
}

async function settledOf(session: Session): Promise<string[]> {
  const settled: string[] = [];
  for await (const { body, content } of session.events({ types: ["tool.settled"] })) {
    const { call, status } = body as { call: string; status: string };
    settled.push(`${call} ${status}: ${String((content as { output?: unknown } | undefined)?.output)}`);
  }
  return settled;
}

test("a deny set while another call waits for approval stops the calls already requested", async () => {
  const runs: string[] = [];
  const twoCalls = [use("pay", { to: "ann" }, "c-1"), use("pay", { to: "bob" }, "c-2")];
  await using engine = engineWith(scripted([twoCalls, "Done."]), { tools: [payTool(runs)] });
  const session = await engine.open({
    objective: "Pay",
    bind,
    grant: [{ tool: "pay", name: "bob", rule: "ask", pattern: { to: "bob" } }],
  });
  await ask(session, "Pay both");
  assert.equal((await session.state()).status, "suspended");
  await session.grant({
    tool: "pay",
    name: "freeze",
    rule: "deny",
    pattern: { to: "ann" },
    reason: "frozen",
  });
  await session.answer({ allow: true });
  await session.run();
  assert.deepEqual(runs, ["bob"]);
  assert.deepEqual(await settledOf(session), ["c-1 skipped: not allowed: frozen", "c-2 ok: paid bob"]);
  assert.equal((await session.verify()).ok, true);
});

test("a deny set after the approval of a call stops it", async () => {
  const runs: string[] = [];
  await using engine = engineWith(scripted([[use("pay", { to: "ann" })], "Done."]), {
    tools: [payTool(runs)],
  });
  const session = await engine.open({ objective: "Pay", bind, grant: [{ tool: "pay", rule: "ask" }] });
  await ask(session, "Pay");
  await session.answer({ allow: true });
  await session.grant({ tool: "pay", name: "no", rule: "deny" });
  await session.run();
  assert.deepEqual(runs, []);
  assert.deepEqual(await settledOf(session), ["pay-1 skipped: not allowed"]);
});

test("an ask rule set after the request stops a call without an approval", async () => {
  const runs: string[] = [];
  const twoCalls = [use("pay", { to: "ann" }, "c-1"), use("pay", { to: "bob" }, "c-2")];
  await using engine = engineWith(scripted([twoCalls, [use("pay", { to: "ann" }, "c-3")], "Done."]), {
    tools: [payTool(runs)],
  });
  const session = await engine.open({
    objective: "Pay",
    bind,
    grant: [{ tool: "pay", name: "bob", rule: "ask", pattern: { to: "bob" } }],
  });
  await ask(session, "Pay both");
  await session.grant({ tool: "pay", rule: "ask" });
  await session.answer({ allow: true });
  await session.run();
  assert.deepEqual(runs, ["bob"]);
  assert.match((await settledOf(session))[0]!, /^c-1 skipped: not run: a rule set since/);
  const { status, why } = await session.state();
  assert.deepEqual([status, why?.by], ["suspended", "approval"]);
});

test("a deny rule set after the request stops a session tool", async () => {
  const runs: string[] = [];
  const twoCalls = [
    use("record", { kind: "fact", key: "k", value: "v" }, "c-1"),
    use("pay", { to: "bob" }, "c-2"),
  ];
  await using engine = engineWith(scripted([twoCalls, "Done."]), { tools: [payTool(runs)] });
  const session = await engine.open({ objective: "Pay", bind, grant: [{ tool: "pay", rule: "ask" }] });
  await ask(session, "Pay and note it");
  await session.grant({ tool: "record", rule: "deny" });
  await session.answer({ allow: true });
  await session.run();
  assert.deepEqual(await session.items(), []);
  assert.deepEqual([...runs, (await settledOf(session))[0]], ["bob", "c-1 skipped: not allowed"]);
});

test("a fork at an older position is denied what its parent is denied now, under any name", async () => {
  await using place = inMemory();
  const parent = await place.engine.open({
    objective: "o",
    grant: [{ name: "rule", tool: "shell", rule: "deny", pattern: { command: "curl *" } }],
  });
  const { seq } = await parent.head();
  await parent.grant({ name: "rule", tool: "write_file", rule: "deny" });
  await parent.grant({ name: "other", tool: "shell", rule: "deny", pattern: { command: "rm *" } });
  const fork = await parent.fork({ atSeq: seq });
  const { permissions } = await fork.state();
  assert.deepEqual(
    permissions.map(({ name, tool, rule }) => [name, rule, tool]),
    [
      ["other", "deny", "shell"],
      ["rule", "deny", "shell"],
      ["rule-2", "deny", "write_file"],
    ],
  );
});

test(
  "a deny or an ask holds for every call of its tool once its pattern is erased",
  { skip: noFile() },
  async () => {
    for (const [rule, status, settled] of [
      ["deny", "open", ["pay-1 skipped: not allowed"]],
      ["ask", "suspended", []],
    ] as const) {
      const runs: string[] = [];
      const world = realWorld();
      const { place: path, open, remove } = kind().lasting();
      const store = await open({ world, workspace });
      const tools = async () => makeToolSource({ world, tools: [payTool(runs)] });
      const models = async () => scripted([[use("pay", { to: "ann" })], "Then not."]).models;
      {
        await using engine = engineOn({ store, world, models, tools });
        const session = await engine.open({
          objective: "Pay",
          bind,
          grant: [
            { tool: "pay", name: "all", rule: "allow" },
            { tool: "pay", rule, pattern: { to: "carl" } },
          ],
        });
        const raw = new DatabaseSync(path);
        raw.exec("UPDATE records SET content = NULL, salt = NULL WHERE content LIKE '%carl%'");
        raw.close();
        for (const one of [
          session,
          await (await session.fork()).clear(),
          await engine.open({ from: session.id }),
        ]) {
          await ask(one, "Pay");
          assert.deepEqual(
            [(await one.state()).status, await settledOf(one), runs],
            [status, settled, []],
            rule,
          );
        }
      }
      await store.close();
      remove();
    }
  },
);

test("every call needs approval once the definition of the agent is erased", { skip: noFile() }, async () => {
  const runs: string[] = [];
  const world = realWorld();
  const { place: path, open, remove } = kind().lasting();
  const store = await open({ world, workspace });
  const tools = async () => makeToolSource({ world, tools: [payTool(runs, { effect: "read" })] });
  const models = async () => scripted([[use("pay", { to: "ann" })], "Done."]).models;
  {
    await using engine = engineOn({ store, world, models, tools });
    const permissions = [{ tool: "pay", rule: "deny" as const, pattern: { to: "ann" } }];
    await engine.addAgent({ name: "payer", instructions: "Pay.", permissions });
    const session = await engine.open({ objective: "Pay", bind, agent: "payer" });
    const raw = new DatabaseSync(path);
    raw.exec("UPDATE records SET content = NULL, salt = NULL WHERE content LIKE '%definition%'");
    raw.close();
    await ask(session, "Pay");
    assert.deepEqual([(await session.state()).status, runs], ["suspended", []]);
  }
  await store.close();
  remove();
});

test("path denies apply to the results of search tools, whatever directory they begin in", async () => {
  const folder = mkdtempSync(join(tmpdir(), "skein-paths-"));
  mkdirSync(join(folder, "a", "secret"), { recursive: true });
  writeFileSync(join(folder, "open.txt"), "the word is here\n");
  writeFileSync(join(folder, "a", "secret", "key.txt"), "the word is hidden\n");
  writeFileSync(join(folder, "a", "asked.txt"), "the word is asked about\n");
  const starts = [{}, { path: "." }, { path: "a" }, { path: "a/secret" }, { path: join(folder, "a") }];
  const calls = starts.flatMap((start, place) => [
    use("grep_files", { pattern: "word", ...start }, `grep-${place}`),
    use("find_files", { pattern: "*.txt", ...start }, `find-${place}`),
    use("list_files", { ...start }, `list-${place}`),
  ]);
  try {
    for (const tool of ["*", "read_file", "*_file*"]) {
      await using engine = engineWith(scripted([calls, "Done."]));
      const session = await engine.open({
        objective: "Look",
        bind: [{ kind: "directory", path: folder, name: "." }],
        grant: [
          { name: "secret", tool, rule: "deny", pattern: { path: "secret/*" } },
          { name: "asked", tool: "read_file", rule: "ask", pattern: { path: "*asked.txt" } },
        ],
      });
      await ask(session, "Look");
      const settled = await settledOf(session);
      assert.equal(settled.length, calls.length);
      const told = settled.join("\n");
      assert.doesNotMatch(told, /hidden|key\.txt|asked/, tool);
      assert.match(told, /open\.txt:1: the word is here/);
      assert.match(
        settled.find((line) => line.startsWith("grep-0"))!,
        /left out: 2 paths that rules forbid/,
      );
      assert.match(
        settled.find((line) => line.startsWith("list-3"))!,
        /left out: 1 path that rules forbid/,
      );
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
