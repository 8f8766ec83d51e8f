/** The verbs around a turn: what the model saw and cost, agents, models, tools; and bad input to them. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { parseBinding } from "../../src/cli/format/binding-word.ts";
import { money } from "../../src/cli/format/money.ts";
import { safePieces } from "../../src/cli/format/text.ts";
import { startWire } from "../model/wire/server.ts";
import { makeFolder, parseLines, skeinIn, type Ended } from "./skein.ts";

type Fields = Record<string, unknown>;

const errorOf = ({ stderr }: Pick<Ended, "stderr">) =>
  (JSON.parse(stderr) as { error: { code: string; message: string; hint: string } }).error;

suite("what the model saw", { concurrency: 4 }, () => {
  test("a request is rebuilt as it was sent, and every part has its reason and share", async () => {
    const skein = skeinIn(makeFolder());
    const [opened] = await skein.look("open", "Rates");
    const id = String(opened!["id"]);
    await skein.look("ask", id, "remember base-rate is 4.1");
    const [first] = await skein.look("log", id, "--type", "model.requested");
    const seq = Number(first!["seq"]);
    const [explained] = await skein.look("explain", `${id}@${seq}`);
    assert.deepEqual(
      [explained!["matches"], explained!["requestSeq"], explained!["digest"]],
      [true, seq, (first!["body"] as Fields)["context"]],
    );
    const parts = explained!["parts"] as Fields[];
    assert.deepEqual(
      parts.map(({ part }) => part),
      ["settings", "tools (10)", "system", "user"],
    );
    assert.ok(parts.every(({ why, share }) => String(why) !== "" && Number(share) < 1));
    const people = await skein.here("explain", id, "--at", String(seq));
    assert.match(people.stdout, /^digest +[0-9a-f]{64} {2}as it was sent$/m);
    const [next] = await skein.look("context", id);
    assert.deepEqual([next!["requestSeq"], next!["matches"]], [null, null]);
    assert.match((await skein.here("context", id)).stdout, /^tool {2}.*tokens\n {2}← record ok/m);
    await skein.look("save", id, "now");
    assert.equal((await skein.here("context", `${id}@now`, "--uncompacted")).code, 0);
  });

  test("an answer is shown, and its parts explained, when the input brings something in", async () => {
    const folder = makeFolder();
    const skein = skeinIn(folder);
    const filler = "Filler words stand here. ".repeat(60);
    const sections = Array.from({ length: 90 }, (_, n) => `# Part ${n}\n\nTenant ${n} owes ${n}.\n${filler}`);
    writeFileSync(join(folder, "spec.md"), sections.join("\n\n"));
    const [opened] = await skein.look("open", "Ledger", "--file", join(folder, "spec.md"));
    const id = String(opened!["id"]);
    await skein.look("ask", id, "hello");
    const asked = await skein.here("ask", id, "What does tenant 64 of Part 64 owe?");
    assert.equal(asked.code, 0, asked.stderr);
    assert.match(asked.stdout, /tenant 64/);
    assert.equal((await skein.look("log", id, "--type", "context.retrieved")).length, 1);
    assert.match((await skein.here("explain", id)).stdout, /section/);
  });

  test("compress reports what became smaller, or that nothing did", async () => {
    const skein = skeinIn(makeFolder());
    const [opened] = await skein.look("open", "Rates");
    const id = String(opened!["id"]);
    const nothing = await skein.here("compress", id);
    assert.deepEqual([nothing.code, nothing.stdout], [0, "there was nothing to make smaller\n"]);
    const long = "a long remark that nobody needs again ".repeat(300);
    for (let turn = 0; turn < 6; turn++) await skein.look("ask", id, `remember r${turn} is ${turn}\n${long}`);
    const [done] = await skein.look("compress", id, "--strategy", "summarize");
    const [compaction] = done!["compactions"] as Fields[];
    assert.equal(done!["compacted"], true);
    assert.ok(Number(compaction!["tokensAfter"]) < Number(compaction!["tokensBefore"]));
    const [cost] = await skein.look("cost", id);
    const answers = (await skein.look("log", id, "--type", "model.responded")).length;
    assert.equal(cost!["calls"], answers + 1, "the compaction counts");
  });
});

suite("what it cost", () => {
  test("budget shows the unconfirmed use of calls without an answer", async () => {
    const folder = makeFolder();
    const skein = skeinIn(folder);
    await using wire = await startWire("compatible", [
      {
        reply: "cut",
        events: 2,
        answer: { blocks: [{ type: "text", text: "Hello." }] },
      },
      { reply: "trouble", trouble: "bad-key" },
    ]);
    const config = join(folder, "config.json");
    writeFileSync(config, JSON.stringify({ model: "local/x", providers: { local: { url: wire.url } } }));
    const id = await skein.open();
    await skein.run(["ask", id, "hi"], { env: { SKEIN_CONFIG: config } });
    const { stdout } = await skein.here("budget", id);
    assert.match(stdout, /^tokens +[\d,]+ \+ up to [\d,]+ unconfirmed +unlimited/m);
    assert.match(stdout, /^unconfirmed: reserved by model calls not settled yet; the budget counts both$/m);
    const [, tokens = ""] = /^tokens +(\S+ \+ up to \S+ unconfirmed)/m.exec(stdout) ?? [];
    const [, sure, unconfirmed] = /^(\S+) \+ up to (\S+)/.exec(tokens) ?? [];
    assert.ok((await skein.here("show", id)).stdout.includes(`tokens ${tokens}`), tokens);
    const cost = await skein.here("cost", id);
    assert.match(cost.stdout, /^MODEL +CALLS +TOKENS IN +OUT +UNCONFIRMED +COST\n/);
    const [, tokensIn, out, rest] =
      /^\S+ +\d+ +(\S+) +(\S+) +(\S+) /m.exec(cost.stdout.split("\n")[1]!) ?? [];
    const amount = (text = ""): number => Number(text.replaceAll(",", ""));
    assert.deepEqual([amount(tokensIn) + amount(out), rest], [amount(sure), unconfirmed]);
  });

  test("an unknown price shows as unknown, never as zero; failed calls count", async () => {
    const folder = makeFolder();
    const skein = skeinIn(folder);
    await using wire = await startWire("compatible", [
      { reply: "answer", answer: { blocks: [{ type: "text", text: "Hello." }] } },
      { reply: "trouble", trouble: "bad-key" },
    ]);
    const config = join(folder, "config.json");
    writeFileSync(config, JSON.stringify({ model: "local/x", providers: { local: { url: wire.url } } }));
    const env = { SKEIN_CONFIG: config };
    const id = await skein.open();
    const asked = await skein.run(["ask", id, "hi"], { env });
    assert.deepEqual([asked.code, asked.stdout], [0, "Hello.\n"], asked.stderr);
    const refused = await skein.run(["ask", id, "again"], { env });
    assert.equal(refused.code, 7, refused.stderr);
    const [row] = await skein.look("cost", "--by", "model");
    const { inputTokens: _in, outputTokens: _out, ...rest } = row!;
    const none = { estimated: 0, unconfirmedNanoUsd: 0, unconfirmedTokens: 0 };
    assert.deepEqual(rest, { model: "local/x", calls: 2, nanoUsd: 0, unpriced: 1, ...none });
    const shown = await skein.here("cost");
    assert.match(shown.stdout, / unknown$/m);
    for (const by of ["session", "agent", "day"])
      assert.deepEqual(
        (await skein.look("cost", "--by", by)).map(({ calls }) => calls),
        [2],
      );
    assert.deepEqual(await skein.look("cost", "--until", "2001-01-01"), []);
  });

  test("money has the digits it needs", () => {
    assert.deepEqual([null, 0, 1, 123_456, 12_345_678, 1_000_000_000, 12_345_000_000].map(money), [
      "an unknown price",
      "$0.00",
      "$0.000000001",
      "$0.000123",
      "$0.0123",
      "$1.00",
      "$12.35",
    ]);
  });
});

test("the zone hint and show name the threshold that was crossed, not the share of the window", async () => {
  const folder = makeFolder();
  const skein = skeinIn(folder);
  const file = join(folder, "short.json");
  const definition = { name: "short", instructions: "Be brief.", zones: { strained: { turns: 2 } } };
  writeFileSync(file, JSON.stringify(definition));
  await skein.look("agents", "add", file);
  const [opened] = await skein.look("open", "Rates", "--agent", "short");
  const id = String(opened!["id"]);
  const first = await skein.here("ask", id, "remember a is 1");
  assert.doesNotMatch(first.stdout + first.stderr, /strained/);
  assert.match((await skein.here("show", id)).stdout, /^context +OK$/m);
  const second = await skein.here("ask", id, "remember b is 2");
  const said = second.stdout + second.stderr;
  assert.match(said, /The context is strained \(it is 2 turns long\): answers may get worse/);
  assert.doesNotMatch(said, /% of the window/);
  assert.match((await skein.here("show", id)).stdout, /^context +strained: it is 2 turns long$/m);
  assert.match((await skein.here("explain", id)).stdout, /^zone +strained: it is 2 turns long$/m);
  const [explained] = await skein.look("explain", id);
  assert.deepEqual([explained!["zone"], explained!["zoneCauses"]], ["strained", ["turns"]]);
  await skein.here("open", "--objective", "Another");
  assert.match((await skein.here("ps")).stdout, /^ID .* CONTEXT (?=[^]* OK )(?=[^]* strained )/);
  const [shown] = await skein.look("show", id);
  assert.deepEqual([shown!["zone"], shown!["zoneReasons"]], ["strained", ["it is 2 turns long"]]);
  const logged = await skein.here("log", id, "--type", "zone.crossed");
  assert.match(logged.stdout, /Context strained: [\d.]+K? of [\d.]+K? tokens; it is 2 turns long/);
});

suite("agents, models and tools", { concurrency: 4 }, () => {
  test("agents have versions, a session pins one, and its tools and rules apply", async () => {
    const folder = makeFolder();
    const skein = skeinIn(folder);
    mkdirSync(join(folder, "work"));
    const file = join(folder, "reader.md");
    const write = (text: string) =>
      writeFileSync(file, `---\ndescription: reads\ntools: [read_file, list_*]\n---\n${text}\n`);
    write("Read.");
    const add = async () => (await skein.look("agents", "add", file))[0];
    assert.deepEqual([(await add())!["added"], (await add())!["added"]], [true, false]);
    write("Read with care.");
    assert.deepEqual((await add())!["version"], 2);
    const listed = await skein.look("agents");
    assert.deepEqual(
      listed.map(({ name, version, description }) => [name, version, description]),
      [["reader", 2, "reads"]],
    );
    const [first] = await skein.look("agents", "show", "reader@1");
    assert.equal((first!["definition"] as Fields)["instructions"], "Read.");
    const bind = ["--bind", `directory:${join(folder, "work")}`];
    const [opened] = await skein.look("open", "Look", "--agent", "reader@1", ...bind);
    const id = String(opened!["id"]);
    assert.deepEqual((await skein.look("state", id))[0]!["agent"], { name: "reader", version: 1 });
    await skein.look("grant", id, "read_file", "ask");
    const tools = await skein.look("tools", id);
    assert.deepEqual(
      tools.map(({ name, effect, rule }) => [name, effect, rule]),
      [
        ["read_file", "read", "ask"],
        ["list_files", "read", "allow"],
      ],
    );
    assert.equal((await skein.here("open", "Look", "--agent", "reader@9")).code, 3);
    const bare = await skein.here("open", "Look", "--agent", "nobody");
    assert.match(bare.stderr, /agent nobody is not defined/);
  });

  test("models lists ready ones, missing keys, and the default", async () => {
    const folder = makeFolder();
    const skein = skeinIn(folder);
    const models = await skein.look("models");
    const ready = models.filter((one) => one["ready"]);
    assert.deepEqual(
      ready.map((one) => [one["name"], one["default"]]),
      [["offline/offline", true]],
    );
    assert.match(String(models[0]!["hint"]), /ANTHROPIC_API_KEY/);
    assert.equal(existsSync(join(folder, "skein.db")), false);
    const keyed = await skein.run(["models", "--ready", "--json"], { env: { OPENAI_API_KEY: "k" } });
    const local = await skein.run(["models", "--ready"], {
      env: { FAKE_BASE_URL: "http://127.0.0.1:9/v1", FAKE_API_KEY: "k" },
    });
    assert.match(local.stdout, /^fake\/\* +yes .* any model of http:\/\/127\.0\.0\.1:9\/v1$/m);
    const [byDefault] = parseLines(keyed.stdout).filter((one) => one["default"]);
    assert.match(String(byDefault!["name"]), /^openai\//);
  });
});

suite("bad input to turns changes nothing", { concurrency: 4 }, () => {
  test("an unknown provider and a missing key fail before anything is written", async () => {
    const skein = skeinIn(makeFolder());
    for (const [model, code, hint] of [
      ["antropic/claude-sonnet-5-5", "invalid", /did you mean "anthropic"/],
      ["anthropic/claude-sonnet-5-5", "unavailable", /ANTHROPIC_API_KEY/],
    ] as const) {
      const [opened] = await skein.look("open", "Try", "--model", model);
      const id = String(opened!["id"]);
      const asked = await skein.here("ask", id, "hello", "--json");
      assert.deepEqual([errorOf(asked).code, asked.stdout], [code, ""]);
      assert.match(errorOf(asked).hint, hint);
      assert.equal((await skein.look("log", id)).length, Number(opened!["headSeq"]));
    }
  });

  test("an agent file that does not parse fails with its line, and makes no store", async () => {
    const folder = makeFolder();
    const skein = skeinIn(folder);
    const file = join(folder, "bad.md");
    for (const [text, message] of [
      ["---\nname: [\n---\nx", /bad\.md, line \d/],
      ["---\nmodle: a/b\n---\nx", /modle/],
      ["---\nname: x\n", /unterminated front matter/],
    ] as const) {
      writeFileSync(file, text);
      const added = await skein.here("agents", "add", file, "--json");
      assert.equal(added.code, 2, added.stderr);
      assert.match(errorOf(added).message, message);
    }
    assert.equal((await skein.here("agents", "add", join(folder, "none.md"))).code, 3);
    assert.equal(existsSync(join(folder, "skein.db")), false);
  });

  test("a missing or invalid configuration fails with its path", async () => {
    const folder = makeFolder();
    const skein = skeinIn(folder);
    const config = join(folder, "config.json");
    const models = () => skein.run(["models", "--json"], { env: { SKEIN_CONFIG: config } });
    assert.match(errorOf(await models()).message, /config\.json: the configuration cannot be read/);
    writeFileSync(config, '{"modle":"x"}');
    const wrong = errorOf(await models());
    assert.deepEqual([wrong.code, wrong.hint], ["invalid", 'did you mean "model"?']);
  });

  test("words that cannot be right are refused", async () => {
    const skein = skeinIn(makeFolder());
    const [opened] = await skein.look("open", "Try");
    const id = String(opened!["id"]);
    const cases: readonly (readonly [readonly string[], number, RegExp])[] = [
      [["ask", id, " "], 2, /TEXT is missing or empty/],
      [["answer", id, "perhaps"], 2, /VERDICT: expected one of/],
      [["answer", id, "allow"], 1, /no tool call waits for approval/],
      [["context", `${id}@`], 2, /position missing after the @/],
      [["context", `${id}@2`, "--at", "2"], 2, /given twice/],
      [["explain", `${id}@99`], 3, /position 99 does not exist/],
      [["agents", "show"], 2, /agents show: NAME.* is required/],
      [["agents", "list", "x"], 2, /unexpected argument/],
      [["budget", id, "--unlimited", "--steps", "1"], 2, /not both/],
      [["cost", "--by", "moon"], 2, /by: expected session, agent, model, day/],
      [["open", "x", "--bind", "folder:."], 2, /kind of --bind/],
      [["open", "x", "--file", "/no/such/file"], 3, /cannot be read/],
      [["chat", id, "--model", "a/b"], 2, /--model is only allowed for a new session/],
      [["send", id, id, "x"], 2, /itself/],
      [["open", "x", "--model", "gpt-4"], 2, /^model: expected "provider\/model", got "gpt-4"$/],
      [["open", "x", "--model", "offline/other"], 2, /unknown provider "offline"/],
      [["open", "x", "--bind", "mcp:ftp://server"], 2, /expected an http/],
      [["bind", id, "mcp"], 2, /--command or --url is required/],
      [["bind", id, "mcp", "--command", "x", "--url", "http://127.0.0.1:1"], 2, /not both/],
      [["bind", id, "mcp", "--url", "nonsense"], 2, /expected an http/],
    ];
    const { length: before } = await skein.look("log", id);
    for (const [words, code, message] of cases) {
      const refused = await skein.here(...words, "--json");
      assert.deepEqual([refused.code, refused.stdout], [code, ""], `${words.join(" ")}: ${refused.stderr}`);
      assert.match(errorOf(refused).message, message);
    }
    assert.equal((await skein.look("log", id)).length, before);
    const short = errorOf(await skein.here("budget", id, "--steps", "x", "--json"));
    const plain = errorOf(await skein.here("send", id, "--json"));
    assert.doesNotMatch(`${short.hint}${plain.hint}`, /VERB/);
    const misnamed = errorOf(await skein.here("open", "x", "--model", "gpt-4", "--json"));
    assert.equal(misnamed.hint, 'did you mean "openai/gpt-4.1"?');
    const other = errorOf(await skein.here("open", "x", "--model", "offline/other", "--json"));
    assert.equal(other.hint, 'did you mean "offline/offline"?');
  });
});

test("a binding in one word has a kind, a target and options", () => {
  assert.deepEqual(
    [
      "directory:src:write",
      "shell",
      "shell:/tmp",
      "shell:./sandbox",
      "shell:sandbox",
      "shell:sandbox,network:src:write",
      "database:postgres://db/hr:write",
      "tool:pay",
      "file:a:b",
    ].map(parseBinding),
    [
      { kind: "directory", path: "src", mode: "write" },
      { kind: "shell" },
      { kind: "shell", path: "/tmp" },
      { kind: "shell", path: "./sandbox" },
      { kind: "shell", sandbox: true },
      { kind: "shell", path: "src", mode: "write", sandbox: true, network: true },
      { kind: "database", url: "postgres://db/hr", mode: "write" },
      { kind: "tool", name: "pay" },
      { kind: "file", path: "a:b" },
    ],
  );
  for (const word of ["directory", "mcp:./server", "nothing:x"])
    assert.throws(() => parseBinding(word), { code: "invalid" });
});

test("pieces of a text are safe, and none is lost at a seam", () => {
  const safe = safePieces();
  const shown = ["a\r", "\nb\ud83d", "\ude00\u001b[2J", "c"].map(safe).join("");
  assert.equal(shown, "a\nb😀\\u001b[2Jc");
});
