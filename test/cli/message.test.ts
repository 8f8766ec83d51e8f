/** Send, contract and deliver, as a program and as people use them. */
import assert from "node:assert/strict";
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { runWords } from "../../src/cli/command/run.ts";
import { collectingSurface } from "../../src/cli/command/screen.ts";
import { SkeinError } from "../../src/core/error.ts";
import { makeWorkspaceId } from "../../src/core/ids.ts";
import { limit } from "../../src/core/limit.ts";
import { Engine } from "../../src/runtime/engine/engine.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { sqliteStore } from "../../src/store/sqlite/store.ts";
import { makeFolder } from "./skein.ts";

type Answer = Record<string, unknown>;

/** The command line in this process, on stores of its own. */
function place() {
  const folder = makeFolder();
  const path = (name: string): string => join(folder, name);
  const sayIn = async (store: string, words: readonly string[]) => {
    const surface = collectingSurface(null);
    const untilStopped = () => new AbortController().signal;
    const code = await runWords(["--store", path(store), ...words], { surface, untilStopped });
    return { code, ...surface.collected };
  };
  const say = (...words: readonly string[]) => sayIn("a.db", words);
  const jsonIn = async (store: string, ...words: readonly string[]): Promise<Answer> => {
    const { code, stdout, stderr } = await sayIn(store, [...words, "--json"]);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout) as Answer;
  };
  const json = (...words: readonly string[]) => jsonIn("a.db", ...words);
  const open = async (store = "a.db") => String((await jsonIn(store, "open", "--objective", "o"))["id"]);
  return { path, say, sayIn, json, jsonIn, open };
}

suite("messages on the command line", { concurrency: true }, () => {
  test("send works from a session or a person, and a reply goes to the requester", async () => {
    const { say, json, open } = place();
    const [a, b] = [await open(), await open()];
    assert.match((await say("send", a, b, "hello", "there")).stdout, /^sent to ses_\w+ at 3 of ses_\w+\n$/);
    assert.match((await say("send", "-", b, "I speak", "--topic", "t")).stdout, /^sent to ses_\w+ at 4\n$/);
    const { message } = await json("send", a, b, "Which?", "--reply-within", "10m", "--key", "k");
    assert.deepEqual(
      (await json("send", a, b, "Which?", "--reply-within", "10m", "--key", "k"))["message"],
      message,
    );
    const shown = (await say("show", b)).stdout;
    assert.match(shown, new RegExp(`asked by +${a}, ${String(message)}, until 20`));
    assert.match((await say("show", a)).stdout, new RegExp(`request to +${b}, ${String(message)}, until 20`));
    const replied = await json("send", b, "-", "4.1", "--reply-to", String(message));
    assert.deepEqual([replied["to"], replied["delivered"]], [a, true]);
    const again = await say("send", b, "-", "4.1", "--reply-to", String(message));
    assert.equal(again.code, 3);
    assert.match(again.stderr, /no request .*\n {2}hint: it does not exist or has a reply already/);
  });

  test("invalid words are refused with a hint", async () => {
    const { say, open } = place();
    const [a, b] = [await open(), await open()];
    const cases: readonly (readonly [readonly string[], number, RegExp])[] = [
      [["send", a, "-", "x"], 2, /--reply-to is required/],
      [["send", "-", b, "x", "--reply-within", "10m"], 2, /between sessions/],
      [["send", "-", b, "x", "--at", "b.db"], 2, /--store STORE/],
      [["send", a, b, "x", "--at", "nowhere.db"], 3, /no store at/],
      [["send", a, b, ""], 2, /send: message: expected a text/],
      [["send", a, "ses_none", "x"], 3, /no session id ends in/],
      [["contract", b, "--schema", "x.json"], 2, /--schema requires TOPIC/],
      [["contract", b, "t", "--schema", "nowhere.json"], 3, /cannot be read/],
      [["contract", b, "t"], 3, /has no contract for "t"/],
    ];
    for (const [words, code, text] of cases) {
      const ended = await say(...words);
      assert.equal(ended.code, code, `${words.join(" ")}: ${ended.stderr}`);
      assert.match(ended.stderr, text);
    }
  });

  test("contract declares, shows and lists, and a message that breaks it says where", async () => {
    const { path, say, open } = place();
    const [a, b] = [await open(), await open()];
    const schema = { type: "object", properties: { rate: { type: "number" } }, required: ["rate"] };
    writeFileSync(path("rates.json"), JSON.stringify(schema));
    const declared = await say("contract", b, "rates", "--schema", path("rates.json"));
    assert.match(declared.stdout, /^contract for rates declared at 3 of/);
    assert.equal((await say("contract", b, "rates")).stdout, `${JSON.stringify(schema)}\n`);
    assert.match((await say("contract", b)).stdout, /^rates {2}at 3 {2}\{"type"/);
    const refused = await say("send", a, b, '{"rate":"4"}', "--topic", "rates");
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /violates the contract for "rates": rate: expected number/);
    assert.equal((await say("send", a, b, '{"rate":4}', "--topic", "rates")).code, 0);
    writeFileSync(path("wrong.json"), "{");
    const wrong = await say("contract", b, "rates", "--schema", path("wrong.json"));
    assert.equal(wrong.code, 2);
    assert.match(
      wrong.stderr,
      /the schema in .*wrong\.json: invalid JSON: "\{"\n {2}hint: it must hold a JSON Schema/,
    );
  });

  test("a message of a person fires the triggers that it fits", async () => {
    const { say, open } = place();
    const id = await open();
    assert.equal((await say("trigger", "add", id, "m", "--message", "--topic", "hi")).code, 0);
    assert.equal((await say("send", "-", id, "no", "--topic", "other")).code, 0);
    assert.match((await say("trigger", "list", id)).stdout, /m +message +on hi +never/);
    assert.equal((await say("send", "-", id, "yo", "--topic", "hi")).code, 0);
    assert.match((await say("trigger", "list", id)).stdout, /m +message +on hi +(now|\d+ s ago)/);
  });

  test("a message to an unavailable store waits, is listed, and is delivered later", async () => {
    const { path, say, sayIn, json, open } = place();
    const [a, b] = [await open(), await open("b.db")];
    assert.equal((await json("send", a, b, "one", "--at", path("b.db")))["delivered"], true);
    const world = realWorld();
    const workspace = makeWorkspaceId({ nowMs: 1, random: new Uint8Array(10) });
    const store = await sqliteStore({ path: path("a.db"), world, workspace, create: false });
    const openStore = () => Promise.reject(new SkeinError("unavailable", "it is locked"));
    const engine = new Engine({ store, world, openStore });
    await (await engine.session(a)).send(b, "two", { at: path("b.db") });
    const busy = await engine.open({ objective: "busy" });
    const inputs = Array.from(
      { length: limit.inboxMax },
      () => ({ type: "input.received", text: "x" }) as const,
    );
    await busy.append(inputs);
    await engine.close();
    assert.match((await say("ps")).stdout, /open, inbox full/);
    assert.match((await say("show", busy.id)).stdout, /1,000 inputs queued; inbox full/);
    assert.match((await say("ps")).stdout, /open, outbox 1/);
    const asked = await open();
    await json("send", a, asked, "Which rate?", "--reply-within", "5m");
    assert.match((await say("ps")).stdout, /open, outbox 1/, "a request that is there is not in the outbox");
    assert.match((await say("show", a)).stdout, new RegExp(`outbox +not delivered yet: 1 message to ${b}\n`));
    renameSync(path("b.db"), path("kept.db"));
    const waits = await say("deliver");
    assert.match(waits.stdout, /^0 messages delivered\n1 message of ses_\w+ to ses_\w+ waits: no store at/);
    renameSync(path("kept.db"), path("b.db"));
    assert.match((await say("deliver")).stdout, /^1 message delivered\n$/);
    assert.match((await sayIn("b.db", ["log", b])).stdout, /message\.received +Message from \w+: two\n$/);
    assert.doesNotMatch((await say("show", a)).stdout, /outbox/);
  });
});
