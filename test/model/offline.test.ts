/** The offline model: instructions become real tool calls, questions are answered from the context. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { compactionPrompt, readSummary } from "../../src/core/compaction/prompt.ts";
import type { ContextPart } from "../../src/core/context/part.ts";
import { estimateTokens } from "../../src/core/context/token-count.ts";
import { offlineModel } from "../../src/model/offline.ts";
import { ModelError } from "../../src/model/port.ts";
import { sessionTools } from "../../src/tool/session.ts";
import { everyTool, listen, turn, user, type Turn } from "./offline-turn.ts";

const callsOf = async (text: string): Promise<Turn["calls"]> => (await turn(text)).calls;
const fact = (key: string, value: unknown) => ["record", { kind: "fact", key, value }];

describe("instructions", () => {
  const single: readonly [string, string, object][] = [
    ["remember base-rate is 4.1", "record", { kind: "fact", key: "base-rate", value: 4.1 }],
    ["Please remember that the base rate is 4.1.", "record", { kind: "fact", key: "base-rate", value: 4.1 }],
    ["remember motto is fish and chips", "record", { kind: "fact", key: "motto", value: "fish and chips" }],
    ["forget base-rate", "retract", { kind: "fact", key: "base-rate" }],
    ["read rates.json", "read_file", { path: "rates.json" }],
    ["what is in rates.json?", "read_file", { path: "rates.json" }],
    ["read lines 5 to 10 of a.md", "read_file", { path: "a.md", fromLine: 5, lines: 6 }],
    ["write X to notes.txt", "write_file", { path: "notes.txt", text: "X" }],
    ['write "a; and then b" to notes.txt', "write_file", { path: "notes.txt", text: "a; and then b" }],
    ["write to a.txt:\n```\none\ntwo\n```", "write_file", { path: "a.txt", text: "one\ntwo" }],
    ['replace "a b" with "c" in x.md', "edit_file", { path: "x.md", find: "a b", replace: "c" }],
    ["list files", "list_files", {}],
    ["list files in src", "list_files", { path: "src" }],
    ["find *.ts", "find_files", { pattern: "*.ts" }],
    ["grep foo", "grep_files", { pattern: "foo" }],
    ["search for base rate in src", "grep_files", { pattern: "base rate", path: "src" }],
    [
      "decide use SQLite because it is one file",
      "record",
      { kind: "decision", key: "use-sqlite", value: "use SQLite", because: "it is one file" },
    ],
    ["task: do Z", "record", { kind: "task", key: "do-z", value: "do Z", status: "open" }],
    ["remember to call Bob", "record", { kind: "task", key: "call-bob", value: "call Bob", status: "open" }],
    ["scratch draft is half done", "scratch", { key: "draft", value: "half done" }],
    ["clear scratch draft", "scratch", { key: "draft" }],
    ["recall 12-20", "recall", { fromSeq: 12, toSeq: 20 }],
    ["recall decisions", "recall", { kind: "decision" }],
    ["recall base rate", "recall", { text: "base rate" }],
    ["send all is well to ses_01abc", "send", { to: "ses_01abc", text: "all is well" }],
    ["tell ses_01abc that all is well", "send", { to: "ses_01abc", text: "all is well" }],
    ["fork to try Z", "fork", { objective: "try Z" }],
    ["sleep until tomorrow", "sleep", { forSeconds: 86_400 }],
    ["sleep until 2026-12-01", "sleep", { until: "2026-12-01" }],
    ["sleep until 2026-12-01 09:30", "sleep", { until: "2026-12-01T09:30:00Z" }],
    ["sleep for 2 hours", "sleep", { forSeconds: 7_200 }],
    ['call scratch {"key":"a","value":[1]}', "scratch", { key: "a", value: [1] }],
    ["scratch key=a value=1", "scratch", { key: "a", value: 1 }],
  ];
  test("arguments may have any name, also one that every object knows", async () => {
    for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
      const { answer } = await listen([
        {
          part: "tools",
          tools: everyTool.map(({ name, description, input }) => ({ name, description, input })),
        },
        user(`call scratch {"key":"a","${name}":1}`),
      ]);
      const inputs = answer.blocks.flatMap((block) => (block.type === "tool-call" ? [block.input] : []));
      assert.deepEqual(
        inputs.map((input) => Object.entries(input as object)),
        [
          [
            ["key", "a"],
            [name, 1],
          ],
        ],
      );
    }
  });

  for (const [text, tool, input] of single) {
    test(`"${text.split("\n")[0]}" is a call of ${tool}`, async () => {
      assert.deepEqual(await callsOf(text), [[[tool, input]]]);
    });
  }

  test("`and` calls tools together, `and then` one by one", async () => {
    assert.deepEqual(await callsOf("remember a is 1 and read b.txt and then list files; grep x\nfind *.md"), [
      [fact("a", 1), ["read_file", { path: "b.txt" }]],
      [["list_files", {}]],
      [["grep_files", { pattern: "x" }]],
      [["find_files", { pattern: "*.md" }]],
    ]);
    assert.deepEqual(await callsOf("Remember a is 1 and the cap is 9. Read a.txt, b.txt and c.txt."), [
      [fact("a", 1), fact("cap", 9)],
      ["a", "b", "c"].map((name) => ["read_file", { path: `${name}.txt` }]),
    ]);
  });

  test("tomorrow is computed from the clock", async () => {
    const world = { now: () => Date.UTC(2026, 10, 15, 23, 59), sleep: () => Promise.resolve() };
    const { calls } = await turn("sleep until tomorrow", { options: { world } });
    assert.deepEqual(calls, [[["sleep", { until: "2026-11-16T00:00:00.000Z" }]]]);
  });

  test("an MCP server's tool is found behind the server's name, arguments by its schema", async () => {
    const check = (value: unknown) => Promise.resolve({ ok: true as const, value });
    const input = { type: "object", properties: { file_path: {}, content: {} } };
    const run = () => Promise.resolve("");
    const tools = [
      {
        name: "disk_write_file",
        description: "",
        input,
        check,
        effect: "unsafe",
        timeoutMs: 1,
        run,
      } as const,
    ];
    const { calls } = await turn("write hello to a.txt", { tools });
    assert.deepEqual(calls, [[["disk_write_file", { file_path: "a.txt", content: "hello" }]]]);
  });
});

describe("answers", () => {
  test("after the results it reports the outcome once", async () => {
    const result = (tool: string) => (tool === "read_file" ? '{"base-rate": 4.1}' : "ok");
    const first = await turn("read rates.json and then remember cap is 9", { result });
    assert.equal(
      first.text,
      "I am the offline model: no key, no network. I only understand a few fixed commands." +
        '\n\nrates.json says:\n\n{"base-rate": 4.1}\n\nRecorded the fact cap: 9.',
    );
    const second = await turn("forget cap", { before: first.parts });
    assert.equal(second.text, "The fact cap no longer holds.");
  });

  test("a failure stops the following steps, and is reported", async () => {
    const result = (tool: string) => (tool === "read_file" ? "!there is no a.txt" : "ok");
    const { calls, text } = await turn("read a.txt and then list files", { result });
    assert.deepEqual(calls, [[["read_file", { path: "a.txt" }]]]);
    assert.match(
      text,
      /I could not read a\.txt: there is no a\.txt\n\nI stopped there\. Not done: list files\.$/,
    );
  });

  test("a missing tool is reported with the binding it needs", async () => {
    const { calls, text } = await turn("run ls -l and remember a is 1", { tools: sessionTools });
    assert.deepEqual(calls, [[fact("a", 1)]]);
    assert.match(text, /I am not offered the tool shell\. Bind a shell: skein bind ID shell --path \.$/);
    for (const ask of ["read a.txt", "write b to a.txt", "query select 1", "find *.ts"]) {
      assert.match((await turn(ask, { tools: sessionTools })).text, /Bind .*: skein bind ID /);
    }
  });

  test("to an unknown command it replies with the known ones", async () => {
    const { calls, text } = await turn("Compose a sonnet about the sea");
    assert.deepEqual(calls, []);
    assert.match(text, /^I am the offline model.*I do not understand "Compose a sonnet about the sea"\./s);
    assert.match(text, /You can say, for example:\n- remember base-rate is 4\.1\n/);
    assert.doesNotMatch(text, /run ls/, "only what is offered is shown");
    assert.match((await turn("help", { tools: [] })).text, /I am offered no tools now/);
    assert.match((await turn("hello")).text, /Hello/);
  });

  test("a message that was answered leaves nothing to do", async () => {
    const { parts } = await turn("remember a is 1");
    const { text } = await turn("(Go on.)", { before: parts });
    assert.equal(text, "There is nothing left for me to do.");
  });

  test("the next message does not resume an interrupted turn", async () => {
    const { parts } = await turn("remember a is 1 and then remember b is 2");
    const cut = parts.slice(0, 5);
    assert.deepEqual((await turn("list files", { before: cut })).calls, [[["list_files", {}]]]);
    assert.deepEqual((await turn("(Go on.)", { before: cut })).calls, [[fact("b", 2)]]);
  });
});

describe("questions", () => {
  const ask = async (question: string, ...before: string[]): Promise<string> => {
    let parts: readonly ContextPart[] | undefined;
    const result = (tool: string) =>
      tool === "read_file" ? '{"rates":{"Base Rate":4.1},"cap":[1,2]}' : "ok";
    for (const text of before) parts = (await turn(text, { result, ...(parts && { before: parts }) })).parts;
    return (
      (await turn(question, { result, ...(parts && { before: parts }) })).text.split("\n\n").at(-1) ?? ""
    );
  };

  test("are answered from what was recorded", async () => {
    assert.equal(await ask("what is base-rate?", "remember base-rate is 4.1"), "base-rate is 4.1.");
    assert.equal(await ask("What's the base rate?", "remember base-rate is 4.1"), "base-rate is 4.1.");
    assert.equal(
      await ask("what is base-rate?", "remember base-rate is 4.1", "remember base-rate is 5"),
      "base-rate is 5.",
    );
    assert.equal(
      await ask("what is base-rate?", "remember base-rate is 4.1", "forget base-rate"),
      "base-rate is 4.1, as the context says.",
    );
    assert.equal(
      await ask("why did we use SQLite?", "decide use SQLite because it is one file"),
      "Because it is one file (decision use-sqlite).",
    );
    assert.equal(
      await ask("which tasks are open?", "task: do A; task: do B; done: do A"),
      "- task do-b (open): do B",
    );
    assert.equal(
      await ask("what do you know?", "remember a is 1; decide b because c"),
      "- a is 1\n- decision b: b, because c",
    );
  });

  test("questions are answered from earlier reads and messages", async () => {
    assert.equal(
      await ask("what is the base rate?", "read rates.json"),
      "base-rate is 4.1, as the context says.",
    );
    assert.equal(await ask("what is cap?", "read rates.json"), "cap is [1,2], as the context says.");
    assert.equal(await ask("what is x?", "By the way, hm.\nx is 12."), "x is 12, as the context says.");
    assert.equal(await ask("what is love?"), 'Nothing in the context answers "what is love?".');
  });

  const items =
    "[Everything so far was replaced by this summary. The log keeps it; recall reads it.]\n\n" +
    "Much was said.\nWhat is recorded:\n- fact base-rate: 4.1; because the board said so\n" +
    "- task z (open): do Z";

  test("are answered from the boundary of a compaction, from notes and from memory", async () => {
    const { parts } = await turn("list files");
    const system: ContextPart = { part: "system", text: "Known from earlier sessions:\n- fact city: Oslo" };
    const before = [...parts.slice(0, 2), system, user(items), user("[recorded meanwhile: fact cap: 9]")];
    const answer = async (question: string) => (await turn(question, { before })).text.split("\n\n").at(-1);
    assert.equal(await answer("what is base-rate?"), "base-rate is 4.1, because the board said so.");
    assert.equal(await answer("what is cap?"), "cap is 9.");
    assert.equal(await answer("what is city?"), "city is Oslo.");
    assert.equal(await answer("which tasks are left?"), "- task z (open): do Z");
    const gone = [...before, user("[no longer holds: fact cap; because it was lifted]")];
    assert.match((await turn("what do you know?", { before: gone })).text, /^(?!.*cap)/s);
  });

  test("are looked up in the log when the context was compacted and does not say", async () => {
    const before = [...(await turn("list files")).parts.slice(0, 2), user(items)];
    const hits = () => '[{"seq":12,"text":"the floor is 2"}]';
    const searched = await turn("what is the floor?", { before, result: hits });
    assert.deepEqual(searched.calls, [[["recall", { text: "floor" }]]]);
    assert.match(searched.text, /The log has:\n\n- at 12: the floor is 2\n/);
    const index =
      "[Everything so far was replaced by this summary.]\n\n- 2 of kind task: ship (open), floor (done)";
    const found = () => '[{"kind":"task","key":"floor","status":"done","value":"scrub it"}]';
    const listed = await turn("what is the floor?", { before: [...before, user(index)], result: found });
    assert.deepEqual(listed.calls, [[["recall", { kind: "task", key: "floor" }]]]);
    assert.match(listed.text, /task floor \(done\): scrub it\.$/);
  });
});

describe("summaries", () => {
  const prompt = (strategy: "summarize" | "extract", words = 500): ContextPart =>
    user(compactionPrompt({ strategy, words, unanswered: [], tasks: [] }));
  const summarize = async (parts: readonly ContextPart[], asked = prompt("summarize")): Promise<string> => {
    const { answer } = await listen([...parts, asked]);
    return answer.blocks.map((block) => (block.type === "text" ? block.text : "")).join("");
  };
  const opening = "[Everything so far was replaced by this summary. The log keeps it; recall reads it.]";
  const boundary = (summary: string): ContextPart => user(`${opening}\n\n${summary}`);

  test("contain requests and actions, and let unfinished work continue", async () => {
    const { parts } = await turn("remember a is 1 and then list files and then remember b is 2");
    const front = parts.slice(0, 2);
    const summary = await summarize(parts.slice(0, 5));
    assert.equal(
      summary,
      [
        "Summary by the offline model, of lines taken from the transcript.",
        "",
        "Still to do:",
        "- list files",
        "- remember b is 2",
        "",
        "Asked:",
        "- remember a is 1 and then list files and then remember b is 2",
        "",
        "Done:",
        "- Recorded the fact a: 1.",
      ].join("\n"),
    );
    const items = boundary(`${summary}\n\nWhat is recorded:\n- fact a: 1`);
    const { calls } = await turn("(Go on.)", { before: [...front, items] });
    assert.deepEqual(calls, [[["list_files", {}]], [fact("b", 2)]]);
    // The last step before a compaction stays as it was, and is not done again.
    const kept = [...front, items, ...parts.slice(5, 7)];
    assert.deepEqual((await turn("(Go on.)", { before: kept })).calls, [[fact("b", 2)]]);
    const again = await summarize(kept);
    assert.match(again, /Still to do:\n- remember b is 2\n\nAsked:\n- remember a is 1 and then/);
    assert.match(again, /Done:\n- Recorded the fact a: 1\.\n- Files: ok$/);
    const ended = await summarize(parts);
    assert.match(ended, /Still to do: nothing\./);
    const input = `${ended}\n\nInput that is not answered yet, word for word:\n[input at 7]\nlist files`;
    const { text } = await turn("(Go on.)", { before: [...front, boundary(input)] });
    assert.match(text, /There is nothing left for me to do\.$/);
  });

  test("of others leave no doubt about work that was cut off", async () => {
    const input =
      "Much was done.\n\nInput that is not answered yet, word for word:\n[input at 7]\nrun rm -r x";
    const { calls, text } = await turn("(Go on.)", { before: [boundary(input)] });
    assert.deepEqual(calls, []);
    assert.match(text, /cannot tell what was done\. Say again what is left\.$/);
    assert.match(await summarize([boundary(input)]), /Before:\n- Much was done\./);
  });

  test("that are to extract list what was stated and is not recorded", async () => {
    const said = "The base rate is 4.1. We decided to round up because the auditor asked.\nHow are you?";
    const { parts } = await turn("remember cap is 9", { before: (await turn(said, { tools: [] })).parts });
    const { items, summary } = readSummary(await summarize(parts, prompt("extract")));
    assert.deepEqual(items, [
      { kind: "fact", key: "base-rate", value: "4.1" },
      { kind: "decision", key: "round-up", value: "round up", because: "the auditor asked" },
      { kind: "fact", key: "cap", value: 9 },
    ]);
    assert.match(summary, /^Summary by the offline model/);
  });

  test("keep to the requested length, however long the transcript", async () => {
    let { parts } = await turn("remember a is 1");
    for (let count = 0; count < 30; count++) {
      parts = (await turn(`remember k${count} is ${"long ".repeat(60)}`, { before: parts })).parts;
    }
    for (const words of [1_000, 500, 200]) {
      const summary = await summarize(parts, prompt("summarize", words));
      assert.ok(summary.split(/\s+/).length <= words, summary);
    }
  });

  test("are not given for what a person or an agent says", async () => {
    assert.match((await turn("summarize the file a.txt")).text, /I do not understand/);
  });
});

describe("the model", () => {
  test("has a price of nothing, a window, and the same answer for the same context", async () => {
    const { name, facts } = offlineModel();
    assert.deepEqual([name, facts.windowTokens, facts.images], ["offline/offline", 32_768, false]);
    assert.deepEqual([facts.price?.input, facts.price?.output], [0, 0]);
    assert.deepEqual(await listen([user("help")]), await listen([user("help")]));
  });

  test("streams its text in pieces that make up the whole, and counts as estimates do", async () => {
    const parts = [user("help  me,\n\nplease ")];
    const { answer, deltas } = await listen(parts);
    const text = deltas.map((delta) => (delta.type === "text" ? delta.text : "")).join("");
    assert.deepEqual(answer.blocks, [{ type: "text", text }]);
    assert.ok(deltas.length > 10);
    assert.equal(answer.usage?.inputTokens, estimateTokens(parts));
    assert.equal(answer.sent, null);
  });

  test("says which tool it asks for as it begins to", async () => {
    const { parts } = await turn("list files");
    const { deltas, answer } = await listen(parts.slice(0, 3));
    assert.deepEqual(deltas, [{ type: "tool-call", tool: "list_files" }]);
    assert.deepEqual(answer.blocks, [
      { type: "tool-call", call: "offline_1", tool: "list_files", input: {} },
    ]);
  });

  test("keeps to the most it may say", async () => {
    const { answer } = await listen([user("help")], {}, { outputTokensMax: 10 });
    assert.equal(answer.finish, "length");
    assert.equal(answer.usage?.outputTokens, 10);
  });

  test("stops when it is interrupted, and refuses what does not fit its window", async () => {
    const kind = (expected: string) => (error: unknown) =>
      error instanceof ModelError && error.kind === expected;
    const signal = AbortSignal.abort();
    await assert.rejects(listen([user("help")], {}, { signal }), kind("interrupted"));
    const control = new AbortController();
    const world = { now: () => 0, sleep: async () => control.abort() };
    const options = { world, paceMs: 1 };
    await assert.rejects(listen([user("help")], options, { signal: control.signal }), kind("interrupted"));
    await assert.rejects(listen([user("word ".repeat(60_000))]), kind("overflow"));
  });

  test("answers whatever it is sent, and soon", async () => {
    const words = [
      "remember",
      "read",
      "and",
      "and then",
      ";",
      "is",
      ":",
      "because",
      "list files",
      "what",
      "?",
      "`",
      '"',
      "```\n",
      "to",
      "in",
      "x.txt",
      "forget",
      "decide",
      "sleep",
      "until",
      "run",
      "send",
      "\n",
      "{",
      "4.1",
      "call scratch",
      ",",
    ];
    const text = fc.array(fc.oneof(fc.constantFrom(...words), fc.string({ maxLength: 6 })), {
      maxLength: 30,
    });
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(text, async (pieces) => {
        const { answer } = await listen([tools, user(pieces.join(" "))]);
        assert.ok(answer.blocks.length > 0);
        for (const block of answer.blocks) {
          if (block.type === "tool-call") seen.add(block.tool);
          else assert.notEqual(block.text.trim(), "");
        }
      }),
      { numRuns: 300 },
    );
    assert.ok(seen.size > 2, "some of them were calls");
    const began = performance.now();
    await listen([tools, user("read a, and read, what and ".repeat(3_000))]);
    assert.ok(performance.now() - began < 2_000);
  });
  const tools: ContextPart = {
    part: "tools",
    tools: everyTool.map(({ name, description, input }) => ({ name, description, input })),
  };
});
