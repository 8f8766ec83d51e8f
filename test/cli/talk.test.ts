/** Talking with a session: over a pipe as a program does it, and as a person types while a turn runs. */
// Process of its own: it listens for rejections that nobody handles.
import assert from "node:assert/strict";
import { existsSync, rmSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { collectingSurface, makeScreen } from "../../src/cli/command/screen.ts";
import { Talk } from "../../src/cli/chat/chat.ts";
import { parseCommand, splitWords } from "../../src/cli/chat/chat-command.ts";
import type { TypedLines } from "../../src/cli/chat/typed-lines.ts";
import type { Session } from "../../src/runtime/engine/session.ts";
import { engineWith, scripted, use } from "../runtime/turn/scripted.ts";
import { endOf, makeFolder, parseLines, skeinIn } from "./skein.ts";

/** The store lies beside the folder that is bound. */
function makePlace() {
  const place = makeFolder();
  const folder = join(place, "work");
  mkdirSync(folder);
  const skein = skeinIn(place);
  const bound = ["--bind", `directory:${folder}:write`, "--bind", `shell:${folder}`];
  const talk = (lines: readonly string[], ...words: readonly string[]) =>
    skein.run(["chat", ...words], { input: `${lines.join("\n")}\n` });
  const idOf = async () => String((await skein.look("ps"))[0]!["id"]);
  return { folder, skein, bound, talk, idOf };
}

suite("chat over a pipe", { concurrency: 3 }, () => {
  test("the first line opens a session; tools show as they happen; commands are verbs", async () => {
    const { skein, talk, idOf } = makePlace();
    const lines = [
      "remember base-rate is 4.1",
      "/items",
      "/save here",
      "remember base-rate is 5",
      "/rewind here",
    ];
    const { code, stdout, stderr } = await talk([...lines, "what is base-rate?", "/nonsense", "/state"]);
    assert.equal(code, 0, stderr);
    assert.match(stderr, /^opened ses_\w+ in a new store/);
    const told = [
      /^→ record kind=fact key=base-rate value=4\.1$/m,
      /^← record ok: recorded fact base-rate$/m,
      /^ {2}fact {6}base-rate = 4\.1 /m,
      /^saved at \d+ of ses_/m,
      /^rewound to here at \d+ of ses_/m,
      /^base-rate is 4\.1\.$/m,
      /^skein: unknown command "\/nonsense"$/m,
      /^status +open$/m,
    ];
    for (const line of told) assert.match(stdout, line);
    const [state] = await skein.look("state", await idOf());
    assert.equal(state!["objective"], "remember base-rate is 4.1");
  });

  test("approvals are answered in place: once, denied with a reason, for the session", async () => {
    const { folder, bound, talk } = makePlace();
    const lines = ["run touch one", "allow", "run touch two", "not today"];
    const more = ["run touch five", "deny: no fives", "run touch three", "s", "run touch four"];
    const { code, stdout } = await talk([...lines, ...more], "--objective", "Try", "--json", ...bound);
    assert.equal(code, 0, stdout);
    const asked = parseLines(stdout).filter(({ type }) => type === "question");
    assert.equal(asked.length, 4);
    assert.match(stdout, /denied: not today/);
    assert.match(stdout, /denied: no fives/);
    assert.deepEqual(
      ["one", "two", "three", "four", "five"].filter((name) => existsSync(join(folder, name))),
      ["one", "three", "four"],
    );
  });

  test("always allows exactly this command, in every session, until it is revoked", async () => {
    const { folder, bound, talk, skein } = makePlace();
    const first = await talk(["run touch one", "a"], "--objective", "Try", "--json", ...bound);
    assert.equal(first.code, 0, first.stdout);
    const [saved] = await skein.look("approvals");
    const { name, tool, command } = saved as {
      name: string;
      tool: string;
      command: { text: string; directory: string };
    };
    assert.deepEqual([tool, command.text, command.directory], ["shell", "touch one", folder]);
    rmSync(join(folder, "one"));
    const again = await talk(["run touch one", "run touch one two"], "--objective", "Again", ...bound);
    assert.equal(again.code, 7, again.stdout);
    assert.match(again.stdout, /^Allow shell\?\n  shell {2}\(.*\)\n {4}command: touch one two$/m);
    assert.match(again.stderr, /skein answer \w+ allow/);
    assert.deepEqual([existsSync(join(folder, "one")), existsSync(join(folder, "two"))], [true, false]);
    assert.equal((await skein.run(["approvals", "revoke", name])).code, 0);
    rmSync(join(folder, "one"));
    assert.equal((await talk(["run touch one"], "--objective", "Third", ...bound)).code, 7);
    assert.equal(existsSync(join(folder, "one")), false);
  });

  test("without a terminal a call that asks ends the chat with 7, and no later line answers it", async () => {
    const { folder, bound, talk, skein, idOf } = makePlace();
    const { code, stdout, stderr } = await talk(["run touch one", "y"], "--objective", "Try", ...bound);
    assert.deepEqual([code, existsSync(join(folder, "one"))], [7, false], stdout);
    const [, words = ""] = /allow it: \S*skein (answer \w+ allow);/.exec(stderr) ?? [];
    assert.doesNotMatch(stdout, /y {2}once/);
    assert.match(stderr, /remaining lines of input are ignored/);
    assert.equal((await skein.run(words.split(" "))).code, 0, stderr);
    assert.equal((await skein.run(["run", await idOf()])).code, 0);
    assert.equal(existsSync(join(folder, "one")), true);
  });

  test("--yes allows unsafe tools without asking, and the log says so", async () => {
    const { folder, bound, talk, skein, idOf } = makePlace();
    const { code } = await talk(["run touch one"], "--objective", "Try", "--yes", ...bound);
    assert.deepEqual([code, existsSync(join(folder, "one"))], [0, true]);
    const [state] = await skein.look("state", await idOf());
    assert.deepEqual(state!["permissions"], [{ name: "unsafe", tool: "*", rule: "allow", effect: "unsafe" }]);
  });

  test("a question at the end of the input leaves it suspended, and the next talk asks again", async () => {
    const { folder, bound, talk, idOf } = makePlace();
    const lines = ["/grant shell ask", "run touch one"];
    const left = await talk(lines, "--objective", "Try", "--json", ...bound);
    assert.equal(left.code, 7);
    const last = parseLines(left.stdout).at(-1)!;
    assert.deepEqual([last["type"], last["by"]], ["question", "approval"]);
    assert.equal((await talk(["/quit"], await idOf())).code, 0);
    const back = await talk(["y"], await idOf());
    assert.deepEqual([back.code, existsSync(join(folder, "one"))], [0, true], back.stderr);
  });

  test("clear continues in the next session, and an error ends only its line", async () => {
    const { skein, talk } = makePlace();
    const lines = ["/clear", "remember a is 1", "/switch zzzzzz", "/log -f", "//not a command"];
    const { stdout, code } = await talk(lines, "--objective", "Try");
    assert.equal(code, 0);
    assert.match(stdout, /no session id ends in/);
    assert.match(stdout, /\/log is not available in chat/);
    assert.match(stdout, /I do not understand "\/not a command"/);
    const rows = await skein.look("ps", "--all");
    assert.deepEqual(
      rows.map(({ status }) => status),
      ["open", "closed"],
    );
    const [state] = await skein.look("state", String(rows[0]!["id"]));
    assert.equal((state!["items"] as unknown[]).length, 1);
  });

  test("Ctrl-C interrupts the turn and the chat continues; a second one exits", async () => {
    const { skein, bound, idOf } = makePlace();
    const child = skein.start(["chat", "--objective", "Try", "--yes", ...bound]);
    const ended = endOf(child);
    child.stdin.write("run sleep 5\n");
    const thereIs = async (type: string): Promise<void> => {
      for (;;) {
        if (existsSync(join(bound[1]!.split(":")[1]!, "..", "skein.db"))) {
          const rows = await skein.here("log", await idOf().catch(() => "none"), "--json");
          if (rows.code === 0 && rows.stdout.includes(`"type":"${type}"`)) return;
        }
        await pause(30);
      }
    };
    await thereIs("tool.started");
    child.kill("SIGINT");
    await thereIs("turn.ended");
    child.stdin.write("remember a is 1\n");
    await thereIs("item.recorded");
    child.kill("SIGINT");
    await pause(150);
    child.kill("SIGINT");
    const { code, stdout } = await ended;
    assert.equal(code, 130);
    assert.match(stdout, /interrupted\n← shell unknown\n/);
  });
});

/** Lines that a test types when it likes. */
function typing(): TypedLines & { type(line: string): void } {
  const typed: (string | null)[] = [];
  let waiting: ((line: string | null) => void) | null = null;
  const give = (line: string | null): void => {
    if (waiting === null) return void typed.push(line);
    const take = waiting;
    waiting = null;
    take(line);
  };
  return {
    interactive: true,
    next: () =>
      typed.length > 0
        ? Promise.resolve(typed.shift() ?? null)
        : new Promise((resolve) => (waiting = resolve)),
    prompt: async () => {},
    close: () => give(null),
    type: give,
  };
}

test("input typed during a turn is queued, or steers its next step", async () => {
  const gate = Promise.withResolvers<void>();
  const script = scripted([
    async () => {
      await gate.promise;
      return [use("scratch", { key: "a", value: 1 })];
    },
    "First done.",
    "Second done.",
  ]);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "Try" });
  const lines = typing();
  const surface = collectingSurface(null);
  const place = {
    out: makeScreen(surface, false),
    lines,
    engine: async () => engine,
    open: async () => session,
    perform: async () => ({ code: 0, stdout: "", stderr: "" }),
  };
  const talking = new Talk(place, session).run();
  lines.type("begin");
  while (script.calls.length === 0) await pause(5);
  lines.type("and later this");
  lines.type("! but first that");
  while (!surface.collected.stderr.includes("next step")) await pause(5);
  gate.resolve();
  while (!surface.collected.stdout.includes("Second done.")) await pause(5);
  lines.type("/quit");
  assert.equal(await talking, 0);
  const said = script.calls.map(({ parts }) => JSON.stringify(parts));
  assert.deepEqual(
    said.map((text) => [text.includes("but first that"), text.includes("and later this")]),
    [
      [false, false],
      [true, false],
      [true, true],
    ],
  );
  assert.ok(!said.join("").includes("! but first"));
});

test("lines that are pasted at once keep their order, and Ctrl-C shows the prompt again", async () => {
  const script = scripted(Array.from({ length: 4 }, () => "Done."));
  await using engine = engineWith(script);
  const opened = Promise.withResolvers<Session>();
  const prompts: string[] = [];
  const lines = { ...typing(), prompt: async (text: string) => void prompts.push(text) };
  const surface = collectingSurface(null);
  const talk = new Talk(
    {
      out: makeScreen(surface, false),
      lines,
      engine: async () => engine,
      open: async (objective) => {
        opened.resolve(await engine.open({ objective }));
        return opened.promise;
      },
      perform: async () => ({ code: 0, stdout: "", stderr: "" }),
    },
    null,
  );
  const pasted = ["one", "two", "three", "four"];
  for (const line of pasted) lines.type(line);
  const talking = talk.run();
  while (!JSON.stringify(script.calls.at(-1)?.parts ?? "").includes("four")) await pause(5);
  while (prompts.length < 2) await pause(5);
  const shown = prompts.length;
  talk.interrupted();
  while (prompts.length === shown) await pause(5);
  assert.match(surface.collected.stderr, /Ctrl-C again leaves/);
  lines.type("/quit");
  assert.equal(await talking, 0);
  const session = await opened.promise;
  const said = await Array.fromAsync(session.events({ types: ["input.received"] }), ({ content }) => content);
  assert.deepEqual(
    said,
    pasted.map((text) => ({ blocks: [{ type: "text", text }] })),
  );
});

test("a command is a verb with the session put where it belongs", async () => {
  const here = { id: "ses_x", headSeq: 30 };
  const wordsOf = async (text: string) => {
    const command = await parseCommand(text, here);
    return "words" in command ? command.words : [];
  };
  assert.deepEqual(await wordsOf("/record fact a \"two words\" --because 'it is'"), [
    "record",
    "ses_x",
    "fact",
    "a",
    "two words",
    "--because",
    "it is",
  ]);
  assert.deepEqual(await wordsOf("/explain 12"), ["explain", "ses_x@12"]);
  assert.deepEqual(await wordsOf("/context --uncompacted"), ["context", "ses_x", "--uncompacted"]);
  assert.deepEqual(await wordsOf("/rewind 3 --requeue"), ["rewind", "ses_x", "--to", "3", "--requeue"]);
  assert.deepEqual(await wordsOf("/log"), ["log", "ses_x", "--from", "11"]);
  assert.deepEqual(await wordsOf("/send other hello there"), ["send", "ses_x", "other", "hello", "there"]);
  assert.deepEqual(await wordsOf("/models"), ["models"]);
  for (const text of ["/ask x", "/doctor", "/sendd x"])
    await assert.rejects(parseCommand(text, here), { code: "invalid" });
  assert.deepEqual(splitWords(`a "b \\" c" d'e f'g "" h"`), ["a", 'b " c', "de fg", "", 'h"']);
});

test("leaving while a turn runs ends quietly, whatever the turn then meets", async () => {
  const gate = Promise.withResolvers<void>();
  const script = scripted([
    async () => {
      await gate.promise;
      return "Too late.";
    },
  ]);
  const engine = engineWith(script);
  const session = await engine.open({ objective: "Try" });
  const lines = typing();
  const surface = collectingSurface(null);
  const talk = new Talk(
    {
      out: makeScreen(surface, false),
      lines,
      engine: async () => engine,
      open: async () => session,
      perform: async () => ({ code: 0, stdout: "", stderr: "" }),
    },
    session,
  );
  const failures: unknown[] = [];
  const note = (error: unknown): void => void failures.push(error);
  process.on("unhandledRejection", note);
  const talking = talk.run();
  lines.type("begin");
  while (script.calls.length === 0) await pause(5);
  lines.type("/quit");
  assert.equal(await talking, 0);
  const closing = engine.close();
  gate.resolve();
  await closing;
  await pause(50);
  process.off("unhandledRejection", note);
  assert.deepEqual(failures, []);
  assert.match(surface.collected.stderr, /the turn is not over; skein run/);
  assert.doesNotMatch(`${surface.collected.stdout}${surface.collected.stderr}`, /store is closed/);
});
