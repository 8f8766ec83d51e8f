/** What a person is shown before they allow a call: all of it, as it would run. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { callLines, questionLines } from "../../src/cli/chat/question.ts";
import { Talk } from "../../src/cli/chat/chat.ts";
import { pastableCommand } from "../../src/cli/command/pastable-command.ts";
import { collectingSurface, makeScreen } from "../../src/cli/command/screen.ts";
import type { TypedLines } from "../../src/cli/chat/typed-lines.ts";
import { defineTool } from "../../src/index.ts";
import { engineWith, scripted, use } from "../runtime/turn/scripted.ts";
import * as z from "zod";
import { makeFolder, skeinIn } from "./skein.ts";

const asked = (input: object) => ({ call: "c-1", tool: "shell", seq: 3, input });

test("line breaks, white space and control characters of a command are visible", () => {
  const command = "# list files only\ntouch /tmp/x  y\n\n\u001b[2Kls";
  assert.deepEqual(callLines(asked({ command, timeoutSeconds: 5 })), [
    "  shell  (c-1)",
    "    command:",
    "      │ # list files only",
    "      │ touch /tmp/x  y",
    "      │ ",
    String.raw`      │ \u001b[2Kls`,
    "    timeoutSeconds: 5",
  ]);
  assert.deepEqual(callLines(asked({ command: "a  b" })), ["  shell  (c-1)", "    command: a  b"]);
  const wide = `${" ".repeat(150)}; rm -rf /`;
  assert.deepEqual(callLines(asked({ command: wide })).at(-1), `      │ ${wide}`);
});

test("a long command is shown with both ends and the number of characters between, or whole", () => {
  const command = `${"a".repeat(5_000)}\nrm -rf /data`;
  const calls = [asked({ command })];
  const question = { session: "ses_00000000000000000012345678", by: "approval", reason: null, calls };
  const short = questionLines(question, pastableCommand("./x.db", {}, "skein")).join("\n");
  assert.match(short, /rm -rf \/data/);
  assert.match(short, /3,013 characters are not shown here/);
  assert.match(short, /all of it: skein answer 12345678 --store \.\/x\.db$/);
  const whole = questionLines(question, pastableCommand(undefined), Infinity).join("\n");
  assert.ok(whole.includes("a".repeat(5_000)));
  assert.doesNotMatch(whole, /not shown/);
});

test("a printed command names the program and the store as they were given", () => {
  const line = (store: unknown, env: Record<string, string>, script = "/x/main.ts") =>
    pastableCommand(store, env, script)("run 1");
  assert.equal(line(undefined, {}), "skein run 1");
  assert.equal(line(undefined, { SKEIN_PROGRAM: "bin/skein", PATH: "/usr/bin" }), "bin/skein run 1");
  assert.equal(line(undefined, { SKEIN_PROGRAM: "/usr/bin/skein", PATH: "/usr/bin" }), "skein run 1");
  assert.equal(line(undefined, { PATH: "/usr/bin" }, "/opt/skein"), "/opt/skein run 1");
  assert.equal(line("my store.db", {}), "skein run 1 --store 'my store.db'");
  assert.equal(line("postgres://me:secret@db/skein", {}), "skein run 1 --store postgres://me@db/skein");
});

test("skein answer shows the whole command, and the commands it prints name the store", async () => {
  const folder = makeFolder();
  const skein = skeinIn(folder);
  const opened = await skein.here("open", "Try", "--bind", `shell:${folder}`);
  const id = opened.stdout.trim();
  const ran = await skein.here("ask", id, "--", "run touch made.txt  'a  b'");
  assert.equal(ran.code, 7, ran.stderr);
  const page = await skein.here("answer", id);
  assert.match(page.stdout, /^ {4}command: touch made\.txt {2}'a {2}b'$/m);
  assert.match(ran.stderr, /allow it: skein answer \w+ allow --store \S+skein\.db; or: /);
});

test("chat prints a shortened call whole before it accepts a yes", async () => {
  const runs: string[] = [];
  const pay = defineTool({
    name: "pay",
    description: "Pays",
    input: z.strictObject({ text: z.string() }),
    run: async ({ text }) => {
      runs.push(text);
      return "paid";
    },
  });
  const text = `${"b".repeat(4_000)}THE MIDDLE${"b".repeat(4_000)}`;
  const script = scripted([[use("pay", { text })], "Done."]);
  await using engine = engineWith(script, { tools: [pay] });
  const grant = [{ tool: "pay", rule: "ask" }] as const;
  const session = await engine.open({ objective: "Pay", bind: [{ kind: "tool", name: "pay" }], grant });
  const surface = collectingSurface(null);
  const typed: (string | null)[] = [];
  const lines: TypedLines = {
    interactive: true,
    prompt: async () => undefined,
    next: async () => {
      while (typed.length === 0) await pause(5);
      return typed.shift() ?? null;
    },
    close: () => void typed.push(null),
  };
  const type = async (line: string): Promise<void> => void typed.push(line);
  const seen = async (what: string): Promise<void> => {
    while (!surface.collected.stdout.includes(what)) await pause(5);
  };
  const place = {
    out: makeScreen(surface, false),
    lines,
    engine: async () => engine,
    open: async () => session,
    perform: async () => ({ code: 0, stdout: "", stderr: "" }),
  };
  const talking = new Talk(place, session).run();
  await type("begin");
  await seen("Allow pay?");
  assert.doesNotMatch(surface.collected.stdout, /THE MIDDLE/);
  await type("y");
  await seen("That is all of it");
  assert.match(surface.collected.stdout, /THE MIDDLE/);
  assert.deepEqual(runs, []);
  await type("y");
  await seen("Done.");
  assert.deepEqual(runs, [text]);
  await type("/quit");
  assert.equal(await talking, 0);
});
