/** What a model is told once something is compacted, erased, rewound, forked or bound anew; by example. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { makeSessionId } from "../../../src/core/ids.ts";
import { toolNameFor } from "../../../src/core/context/tools.ts";
import { digest } from "../digest.ts";
import { given, type Given } from "../given.ts";
import { samples } from "../samples.ts";
import {
  asks,
  callOf,
  contextOf,
  erased,
  hears,
  requests,
  says,
  settles,
  told,
  words,
} from "./context-text.ts";

const any = digest("", "any");
const offered = (...names: readonly string[]) => ({
  definitions: names.map((name) => ({ name, description: "", input: { type: "object" } })),
});

/** One step with a call, and its answer: the answer stands at 9. */
const worked = (): Given => {
  const called = says(asks(hears(given(), words("Compute."))), callOf("a", "read"));
  return says(asks(settles(requests(called, "a", "read"), "a", "4.1")), words("It is 4.1."));
};

const compacted = (
  session: Given,
  strategy: "prune" | "summarize" | "extract",
  content: { summary?: string; pruned?: number[] },
  toSeq = session.state.mind.toSeq,
): Given =>
  session.and(
    "transcript.compacted",
    { fromSeq: 1, toSeq, strategy, tokensBefore: 9, tokensAfter: 3 },
    content,
  );

const boundary = "user: [Everything so far was replaced by this summary. The log keeps it; recall reads it.]";

describe("compaction", () => {
  test("a summary and the recorded items replace everything before", async () => {
    const known = worked()
      .and("item.recorded", { kind: "task", key: "pay" }, { value: "pay them" })
      .and("item.recorded", { kind: "decision", key: "wal" }, { value: "use it", because: "it is safe" })
      .and("item.recorded", { kind: "fact", key: "rate" }, { value: { base: 4.1 } });
    const session = hears(compacted(known, "extract", { summary: "The rate was read." }), words("And now?"));
    assert.deepEqual(await told(session), [
      `${boundary}\n\nThe rate was read.`,
      "user: What is recorded:\n" +
        '- fact rate: {"base":4.1}\n- decision wal: use it; because it is safe\n- task pay (open): pay them',
      "user: And now?",
    ]);
    const { reasons } = await contextOf(session);
    assert.deepEqual(
      reasons.map(({ kind }) => kind).filter((kind) => kind === "summary" || kind === "transcript"),
      ["summary", "transcript"],
    );
    assert.deepEqual(
      (await told(session, { uncompacted: true })).slice(0, 5),
      (await told(worked())).slice(0, 5),
    );
  });

  test("items recorded later appear where they happened, and leave the boundary unchanged", async () => {
    const before = compacted(worked(), "summarize", { summary: "S." });
    const after = before.and("item.recorded", { kind: "fact", key: "new" }, { value: 1 });
    assert.deepEqual(await told(after), [`${boundary}\n\nS.`, "user: [recorded meanwhile: fact new: 1]"]);
  });

  test("more than its share of items is an index that says how many there are", async () => {
    let session = worked();
    for (let count = 0; count < 40; count++) {
      const body = { kind: "fact", key: `fact-${count}` } as const;
      session = session.and("item.recorded", body, { value: "x".repeat(1_000) });
    }
    const [, index = ""] = await told(compacted(session, "summarize", { summary: "S." }));
    assert.match(index, /too much to show here; recall with kind and key reads one:\n- 40 of kind fact: /);
    for (let count = 0; count < 40; count++) assert.match(index, new RegExp(`\\bfact-${count}\\b`));
    assert.ok(index.length < 2_000);
  });

  test("an index has its limit too, and leaves out no number", async () => {
    let session = worked();
    for (let count = 0; count < 501; count++) {
      session = session.and(
        "item.recorded",
        { kind: "fact", key: `${"k".repeat(50)}-${count}` },
        { value: 1 },
      );
    }
    const [, index = ""] = await told(compacted(session, "summarize", { summary: "S." }));
    assert.ok(index.length < 4_000, String(index.length));
    const [, shown = "", more = ""] = /501 of kind fact: (.*), and (\d+) more/.exec(index) ?? [];
    assert.equal(shown.split(", ").length + Number(more), 501);
  });

  test("pruned output says how long it was and how to read it", async () => {
    const session = compacted(worked(), "prune", { pruned: [7] });
    const pruned = "call_6 read ok: [output left out, 16 bytes; recall with fromSeq 7 reads it]";
    assert.ok((await told(session)).includes(pruned));
    assert.ok((await told(session, { uncompacted: true })).includes("call_6 read ok: 4.1"));
    assert.ok((await told(erased(session, session.state.seq))).includes(pruned));
  });
});

test("erased content shows as named gaps", async () => {
  assert.deepEqual(await told(erased(worked(), 1, 2, 5, 6, 7)), [
    "system: [erased: what this session was opened for, and its instructions]",
    "user: [erased: what this input said]",
    "tools: read",
    "model: [erased: what the model said]",
    'model calls: call_6 read {"erased":"the arguments"}',
    "call_6 read ok: [erased: what this call gave back]",
    "model: It is 4.1.",
    "user: (Go on.)",
  ]);
  const session = compacted(
    worked().and("item.recorded", { kind: "fact", key: "rate" }, { value: 4.1 }),
    "summarize",
    { summary: "S." },
  );
  assert.deepEqual(await told(erased(session, 10, 11)), [
    `${boundary}\n\n[erased: the summary of what came before]`,
    "user: What is recorded:\n- fact rate: [erased: its value]",
  ]);
});

describe("another past", () => {
  const forkOf = (session: Given, count: number, objective: string): Given => {
    const child = session.branch(
      makeSessionId({ nowMs: 1_700_000_000_000 + count, random: new Uint8Array(10) }),
    );
    return child.when({ do: "fork", parentHash: session.records.at(-1)!.hash, by: "person", objective });
  };
  const now = (objective: string): string => `The objective of this session is now:\n${objective}`;

  test("a fork shows its new objective after all shared content", async () => {
    const shared = (await told(worked())).slice(0, -1);
    assert.deepEqual(await told(forkOf(worked(), 1, "What if?")), [...shared, `user: [${now("What if?")}]`]);
  });

  test("the boundary keeps the objective it was made under, also in a later fork", async () => {
    const first = compacted(hears(forkOf(worked(), 1, "First."), words("Go.")), "summarize", {
      summary: "S.",
    });
    const lines = [`${boundary}\n\nS.`, `user: ${now("First.")}`];
    assert.deepEqual(await told(first), lines);
    assert.deepEqual(await told(forkOf(first, 2, "Second.")), [...lines, `user: [${now("Second.")}]`]);
  });

  test("a rewind into the middle of a call leaves it skipped, and what came after unsaid", async () => {
    const session = worked();
    const back = session.when({ do: "suspend" }).when({ do: "rewind", earlier: session.states[6]! });
    assert.deepEqual((await told(back)).slice(-2), [
      "model calls: call_6 read {}",
      "call_6 read skipped: This call was skipped: it did not run.",
    ]);
  });
});

describe("tools", () => {
  test("tools bound later stand where they were bound, and in front after a rewind", async () => {
    const first = asks(
      hears(given().and("tools.bound", { digest: any, count: 1 }, offered("read")), words("Go.")),
    );
    const later = first.and("tools.bound", { digest: digest("", "b"), count: 2 }, offered("read", "shell"));
    assert.deepEqual(await told(later), ["tools: read", "user: Go.", "tools: read, shell"]);
    const back = later.and("session.rewound", { ...samples["session.rewound"].body, toSeq: 4 });
    assert.deepEqual(await told(back), ["tools: read, shell", "user: Go."]);
  });

  test("tools bound after a request do not change its prefix", async () => {
    const bare = asks(hears(given(), words("Go.")));
    const later = bare.and("tools.bound", { digest: any, count: 1 }, offered("read"));
    assert.deepEqual(await told(later), ["user: Go.", "tools: read"]);
  });

  test("names that no provider takes are made fit, each in its own way and always the same", () => {
    assert.equal(toolNameFor("read_file"), "read_file");
    assert.equal(toolNameFor("files.read"), "files_read_feef3122");
    const names = ["files.read", "files/read", "files:read", "9lives", "", "a".repeat(65), "a".repeat(66)];
    const fit = names.map(toolNameFor);
    assert.equal(new Set(fit).size, names.length);
    for (const name of fit) assert.match(name, /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/);
  });
});

describe("documents", () => {
  const load = (session: Given, name: string, text: string): Given => {
    const body = { kind: "file", digest: digest("", name), bytes: text.length } as const;
    return session.and("document.loaded", body, { path: name, text });
  };

  test("a long one is cut in the middle, and says how to read the rest", async () => {
    const session = hears(load(given(), "long.txt", `begin${"😀".repeat(10_000)}end`), words("Go."));
    const [said = ""] = await told(session);
    assert.match(said, /^system: Document long.txt \(file\):\n\nbegin😀/u);
    assert.match(said, /\n\[… 40\d\d characters left out; recall with fromSeq 2 reads it …\]\n😀+end$/u);
    assert.ok(said.isWellFormed());
  });

  test("many long ones never take more than their share", async () => {
    let session = given();
    for (let count = 0; count < 9; count++) session = load(session, `f${count}`, "x".repeat(20_000));
    const lines = await told(hears(session, words("Go.")));
    assert.ok(lines.join("").length < 52_000);
    assert.equal(
      lines[8],
      "system: Document f8 (file): 20000 characters, not shown; recall with fromSeq 10 reads it.",
    );
  });

  test("one that is loaded later stands where it was loaded, and once", async () => {
    const session = load(load(worked(), "late.txt", "New."), "late.txt", "New.");
    assert.equal((await told(session)).at(-1), "user: Document late.txt (file):\n\nNew.");
    assert.equal((await told(session)).filter((line) => line.includes("late.txt")).length, 1);
  });
});
