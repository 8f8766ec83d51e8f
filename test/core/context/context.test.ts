/** What a model is told, by example. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { contextDigest, renderers, rendererNow } from "../../../src/core/context/context.ts";
import { digest } from "../digest.ts";
import { empty, given, sessionId, workspaceId } from "../given.ts";
import { otherSession, samples } from "../samples.ts";
import {
  asks,
  erased,
  callOf,
  contextOf,
  hears,
  requests,
  says,
  settings,
  settles,
  told,
  words,
} from "./context-text.ts";

const blob = digest("", "a picture");
const path = { type: "object", properties: { path: { type: "string" } } };
const offered = (...names: readonly string[]) => ({
  definitions: names.map((name) => ({ name, description: `The tool ${name}.`, input: path })),
});
const binding = { digest: blob, count: 1 };

/** Asked, called twice, and both calls settled: positions 2 to 9. */
const worked = () => {
  const called = says(
    asks(hears(given(), words("Compute."))),
    words("I look."),
    callOf("a", "read"),
    callOf("b", "shell"),
  );
  const begun = requests(requests(called, "a", "read", { path: "x" }), "b", "shell", { command: "ls" });
  return settles(settles(begun, "b", "two files"), "a", { rate: 4.1 });
};

test("a request holds settings, tools, instructions, documents, memory, input; in this order", async () => {
  const session = hears(
    empty(sessionId)
      .when({
        do: "open",
        workspace: workspaceId,
        objective: "Fix login",
        instructions: "Ask before you delete.",
        constraints: ["no new tables", "no downtime"],
        agent: "payroll",
      })
      .and("agent.pinned", samples["agent.pinned"].body, { definition: { instructions: "Be exact." } })
      .and("document.loaded", samples["document.loaded"].body, { path: "AGENTS.md", text: "Use the WAL." })
      .and("memory.carried", samples["memory.carried"].body, samples["memory.carried"].content)
      .and("tools.bound", binding, offered("read")),
    words("Begin."),
  );
  const { parts, reasons, digest: found, renderer, model } = await contextOf(session);
  assert.deepEqual(parts, [
    { part: "settings", settings },
    { part: "tools", tools: [{ name: "read", description: "The tool read.", input: path }] },
    { part: "system", text: "Be exact." },
    { part: "system", text: "Ask before you delete." },
    { part: "system", text: "Objective of this session:\nFix login" },
    { part: "system", text: "Constraints:\n- no new tables\n- no downtime" },
    { part: "system", text: "Document AGENTS.md (agents-md):\n\nUse the WAL." },
    { part: "system", text: "Known from earlier sessions:\n- fact base-rate: 4.1 (asked for)" },
    { part: "message", role: "user", content: [{ type: "text", text: "Begin." }] },
  ]);
  assert.deepEqual(
    reasons.map(({ kind, why, fromSeq }) => [fromSeq, kind, why]),
    [
      [0, "settings", "model settings"],
      [5, "tools", "tools offered"],
      [2, "instructions", "instructions of payroll@2"],
      [1, "instructions", "the session's instructions"],
      [1, "instructions", "the session's objective"],
      [1, "instructions", "the session's constraints"],
      [3, "document", "a project's instructions"],
      [4, "memory", "memory of earlier sessions"],
      [7, "transcript", "input"],
    ],
  );
  assert.equal(
    found,
    parts.reduce((before, part) => digest("", `${before}\n${JSON.stringify(part)}`), ""),
  );
  assert.equal(contextDigest(digest, parts, 1), digest("", JSON.stringify(parts)));
  assert.deepEqual([contextDigest(digest, parts, 2), contextDigest(digest, parts, 3)], [found, null]);
  assert.deepEqual([renderer, model], [rendererNow, settings.model]);
});

test("the present renderer is in the table", () => assert.notEqual(renderers[rendererNow], undefined));

describe("calls and results", () => {
  test("results stand in the order of the calls, whatever came first", async () => {
    assert.deepEqual(await told(worked()), [
      "user: Compute.",
      "tools: read, shell",
      "model: I look.",
      'model calls: call_6 read {"path":"x"}',
      'model calls: call_7 shell {"command":"ls"}',
      'call_6 read ok: {"rate":4.1}',
      "call_7 shell ok: two files",
    ]);
  });

  test("an id that comes again belongs to its own step", async () => {
    const again = settles(
      requests(says(asks(worked()), callOf("a", "read")), "a", "read", { path: "y" }),
      "a",
      "five",
    );
    assert.deepEqual((await told(again)).slice(-2), [
      'model calls: call_12 read {"path":"y"}',
      "call_12 read ok: five",
    ]);
  });

  test("a call without an outcome is unknown, and later results appear later", async () => {
    const open = requests(says(asks(hears(given(), words("Go."))), callOf("a", "shell")), "a", "shell");
    const unknown =
      "call_6 shell unknown: No outcome of this call is known. It may or may not have had its effect.";
    assert.equal((await told(open)).at(-1), unknown);
    const later = settles(asks(open), "a", "done");
    const [before, after] = (await told(later)).slice(-2);
    assert.equal(before, unknown);
    assert.equal(after, "user: [the outcome of call_6 (shell) came later: ok]\ndone");
  });

  test("the first outcome of a call counts", async () => {
    const session = worked().and("tool.settled", { call: "a", status: "error" }, { output: "no" });
    const late = session.and("tool.settled", { call: "b", status: "ok", late: true }, { output: "late" });
    assert.deepEqual(await told(late), await told(worked()));
  });

  test("an outcome whose call is not in the context is still included", async () => {
    assert.deepEqual(await told(settles(hears(given(), words("Go.")), "gone", "4.1")), [
      "user: Go.",
      "user: [the outcome of an earlier call came later: ok]\n4.1",
    ]);
  });

  test("skipped, denied, failed and silent calls are labeled", async () => {
    const asked = ["a", "b", "c", "d"].reduce(
      (session, call) => requests(session, call, "shell"),
      says(asks(hears(given(), words("Go.")))),
    );
    const session = asked
      .and("tool.settled", { call: "a", status: "skipped" })
      .and("tool.denied", { call: "b" }, { reason: "not today" })
      .and("tool.settled", { call: "b", status: "skipped" })
      .and("tool.settled", { call: "c", status: "error" })
      .and("tool.settled", { call: "d", status: "ok" }, { output: "" });
    assert.deepEqual((await told(session)).slice(-4), [
      "call_6 shell skipped: This call was skipped: it did not run.",
      "call_7 shell skipped: Denied: not today",
      "call_8 shell error: The call failed and gave no reason.",
      "call_9 shell ok: (no output)",
    ]);
  });

  test("input that is not an object is shown unchanged", async () => {
    const session = requests(
      says(asks(hears(given(), words("Go."))), callOf("a", "shell")),
      "a",
      "shell",
      '{"com',
    );
    assert.ok((await told(session)).includes('model calls: call_6 shell {"invalid":"{\\"com"}'));
  });

  test("a call without a block is requested, and a block without its call is not", async () => {
    const session = says(asks(hears(given(), words("Go."))), words("Yes."), callOf("nobody", "shell"));
    assert.deepEqual((await told(requests(session, "b", "read"))).slice(2, 4), [
      "model: Yes.",
      "model calls: call_6 read {}",
    ]);
  });
});

describe("what the model said", () => {
  const metadata = { acme: { signature: "opaque" } };
  const thinking = () =>
    says(
      asks(hears(given(), words("Go."))),
      { type: "reasoning", text: "Hm.", metadata },
      { type: "text", text: "Yes.", metadata },
    );

  test("its own reasoning and metadata are seen again", async () => {
    assert.deepEqual((await told(thinking())).slice(1, 3), [
      'model thinks: Hm. {"acme":{"signature":"opaque"}}',
      'model: Yes. {"acme":{"signature":"opaque"}}',
    ]);
  });

  test("another model sees neither", async () => {
    const lines = await told(thinking(), { settings: { model: "other/small", images: true } });
    assert.deepEqual(lines, ["user: Go.", "model: Yes.", "user: (Go on.)"]);
  });

  test("reasoning that led to nothing, blank text and empty answers are left out", async () => {
    const session = says(asks(hears(given(), words("Go."))), words(" \n"), {
      type: "reasoning",
      text: "Hm.",
      metadata,
    });
    assert.deepEqual(await told(session), ["user: Go."]);
  });

  test("a failed request leaves nothing but the inputs it took", async () => {
    const before = hears(given(), words("Go."));
    const steered = before.and("input.received", { input: 2, mode: "steer" }, { blocks: [words("Wait.")] });
    const failed = asks(steered, [4, 2]).and("model.failed", samples["model.failed"].body);
    assert.deepEqual(await told(failed), ["user: Go.", "user: Wait."]);
  });

  describe("interrupted text", () => {
    const { body } = samples["model.failed"];
    const content = { message: "interrupted", partial: "Rates are 4" };
    const asked = asks(hears(given(), words("Which rates?")));
    const cut = asked.and("model.failed", { ...body, partialChars: 11 }, content);
    const note = "user: [your answer was interrupted here, before it was complete]";

    test("is the model's answer in the next turn, marked as interrupted", async () => {
      const lines = ["user: Which rates?", "model: Rates are 4", note, "user: Go on."];
      const ended = cut.and("turn.ended", samples["turn.ended"].body);
      assert.deepEqual(await told(hears(ended, words("Go on."))), lines);
      assert.deepEqual(await told(ended), lines.slice(0, 3));
    });

    test("is left out of a second model call in the same turn", async () => {
      assert.deepEqual(await told(cut), ["user: Which rates?"]);
      assert.deepEqual(await told(says(asks(cut), words("4 %."))), [
        "user: Which rates?",
        "model: 4 %.",
        "user: (Go on.)",
      ]);
    });

    test("shows as a gap after erasure", async () => {
      const next = hears(cut.and("turn.ended", samples["turn.ended"].body), words("Go on."));
      const lines = await told(erased(next, cut.state.seq));
      assert.match(lines[1] ?? "", /^model: \[.*what the model had said/);
    });

    test("is not shown by renderer 1, which older sessions keep", async () => {
      const next = hears(cut.and("turn.ended", samples["turn.ended"].body), words("Go on."));
      const { parts } = await contextOf(next, { renderer: 1 });
      assert.doesNotMatch(JSON.stringify(parts), /Rates are 4|interrupted/);
    });
  });

  test("the request for a summary is not part of the transcript", async () => {
    const body = {
      model: "acme/small",
      renderer: 1,
      context: blob,
      parts: 1,
      inputs: [],
      attempt: 1,
      reserved: {},
    };
    const asked = worked().and("model.requested", { ...body, purpose: "compaction", toSeq: 9 });
    assert.deepEqual(await told(asked), await told(worked()));
  });
});

describe("what was said to it", () => {
  test("a message and a trigger say where they come from", async () => {
    const session = given()
      .and("message.received", { ...samples["message.received"].body, input: 1 }, { blocks: [words("4.2")] })
      .and("input.received", { input: 2, from: "trigger" }, { blocks: [words("It is nine.")] })
      .and("turn.started", {
        inputs: [
          [2, 1],
          [3, 2],
        ],
      });
    assert.deepEqual(await told(session), [
      `user: [a message from session ${otherSession} on rates]`,
      "user: 4.2",
      "user: [from a trigger]",
      "user: It is nine.",
    ]);
  });

  test("a model without image input gets a note instead of images and unreadable files", async () => {
    const session = hears(
      given(),
      { type: "image", blob, mediaType: "image/png" },
      { type: "file", blob, mediaType: "application/zip", name: "a.zip" },
      { type: "file", blob, mediaType: "text/csv; charset=utf-8", name: "a.csv" },
    );
    assert.deepEqual(await told(session), [
      "user: <image image/png>",
      "user: [a file (a.zip, application/zip) that this model cannot read]",
      "user: <file text/csv>",
    ]);
    assert.deepEqual(
      (await told(session, { settings: { ...settings, images: false } }))[0],
      "user: [an image (image/png) that this model cannot see]",
    );
  });

  test("a person's record is included; a tool's record is not repeated", async () => {
    const session = worked()
      .and("item.recorded", { kind: "fact", key: "rate" }, { value: 4.1, because: "it was read" })
      .write({ type: "item.recorded", body: { kind: "fact", key: "own" }, content: { value: 1 }, cause: 6 })
      .and("item.retracted", { kind: "fact", key: "rate" }, { because: "it was wrong" });
    assert.deepEqual((await told(session)).slice(-2), [
      "user: [recorded meanwhile: fact rate: 4.1; because it was read]",
      "user: [no longer holds: fact rate; because it was wrong]",
    ]);
  });

  test("what another session learned comes as a note", async () => {
    const { body, content } = samples["session.merged"];
    const line = `user: [merged from session ${otherSession}]\nThe rate is 4.2.`;
    assert.equal((await told(worked().and("session.merged", body, content))).at(-1), line);
  });
});
