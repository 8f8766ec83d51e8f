/** Compaction when something comes between: an interrupt, a question, a rewind, an idle model. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ModelError, type ModelCall } from "../../../src/model/port.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import {
  ask,
  assertRebuilt,
  bound,
  compactionsOf,
  isPrompt,
  lastText,
  report,
  reporter,
  small,
  textsOf,
} from "./outgrown.ts";
import { engineWith, use, type Line } from "./scripted.ts";

async function failuresOf(session: Session): Promise<string[]> {
  const errors: string[] = [];
  for await (const { body } of session.events({ types: ["model.failed"] })) {
    errors.push((body as { error: string }).error);
  }
  return errors;
}

/** Asks until the model was asked for a summary. */
async function askUntil(session: Session, isEnough: () => boolean): Promise<void> {
  for (let turn = 1; turn <= 12 && !isEnough(); turn++) await ask(session, `Turn ${turn}`);
  assert.ok(isEnough());
}

test("an interrupt ends the wait for a summary, and the turn; the session continues", async () => {
  let session: Session;
  let isAsked = false;
  const script = small(async (call) => {
    if (!isPrompt(call) || isAsked) return reporter(call);
    isAsked = true;
    await session.interrupt();
    return new Promise<never>(() => {});
  });
  await using engine = engineWith(script, { tools: [report(5_000)] });
  session = await engine.open({ objective: "Stop", bind: [bound] });
  await askUntil(session, () => isAsked);
  assert.equal((await session.state()).status, "open");
  assert.deepEqual(await failuresOf(session), ["interrupted"]);
  assert.equal((await compactionsOf(session)).length, 0);
  await ask(session, "Go on");
  assert.equal((await session.state()).status, "open");
  assert.equal((await compactionsOf(session)).length, 1);
});

test("a call that waits for an answer is never part of a range", async () => {
  const script = small((call) => {
    if (lastText(call).startsWith("Turn 4")) return [use("report", { number: 4 }, "asked")];
    return isPrompt(call) ? "Three turns." : "Read.";
  });
  await using engine = engineWith(script, { tools: [report(500)] });
  const grant = [{ tool: "report", rule: "ask" }] as const;
  const session = await engine.open({ objective: "Ask first", bind: [bound], grant: [...grant] });
  for (let turn = 1; turn <= 4; turn++) await ask(session, `Turn ${turn}: ${"and so on ".repeat(60)}`);
  assert.equal((await session.state()).why?.by, "approval");
  assert.equal((await session.compress()).compacted, true);
  const [compaction] = await compactionsOf(session);
  for await (const { seq } of session.events({ types: ["tool.requested"] })) {
    assert.ok((compaction?.body.toSeq ?? Infinity) < seq);
  }
  await session.answer({ allow: true });
  await session.run();
  assert.equal((await session.state()).status, "open");
  assert.match(textsOf(script.calls.at(-1)!.parts).join("\n"), /Turn 4[^]*Report 4: line/);
  await assertRebuilt(session);
});

test("a rewind while a summary is made wins: the summary is paid for and not used", async () => {
  let session: Session;
  let target = 0;
  const script = small(async (call) => {
    if (isPrompt(call)) await session.rewind(target);
    return isPrompt(call) ? "Too late." : "Read.";
  });
  await using engine = engineWith(script);
  session = await engine.open({ objective: "Rewind" });
  await ask(session, "Turn 1");
  target = (await session.head()).seq;
  for (let turn = 2; turn <= 4; turn++) await ask(session, `Turn ${turn}: ${"and so on ".repeat(60)}`);
  const { nanoUsd } = (await session.state()).budget.used;
  assert.equal((await session.compress()).compacted, false);
  assert.deepEqual(await failuresOf(session), ["overtaken"]);
  assert.ok((await session.state()).budget.used.nanoUsd > nanoUsd);
  assert.equal((await compactionsOf(session)).length, 0);
  assert.doesNotMatch(textsOf((await session.context()).parts).join("\n"), /Turn 2/);
});

test("a summary is retried when the model is overloaded", async () => {
  let busy = 2;
  const script = small((call) => {
    if (!isPrompt(call) || busy === 0) return reporter(call);
    busy -= 1;
    return new ModelError("overloaded", "try later", { retryAfterMs: 1 });
  });
  await using engine = engineWith(script, { tools: [report(3_000)] });
  const session = await engine.open({ objective: "Busy", bind: [bound] });
  for (let turn = 1; turn <= 3; turn++) await ask(session, `Turn ${turn}`);
  assert.equal((await session.compress()).compacted, true);
  assert.deepEqual(await failuresOf(session), ["overloaded", "overloaded"]);
});

/** Sessions in which nothing can be pruned, with a model that answers prompts in its own way. */
async function talkative(line: (call: ModelCall) => Line) {
  const script = small((call) => (isPrompt(call) ? line(call) : "Read."));
  const engine = engineWith(script);
  const session = await engine.open({ objective: "Talk" });
  return { engine, session, script };
}

test("a request for a summary that fails reports the reason", async () => {
  const answers: readonly (readonly [Line, RegExp, string])[] = [
    [new ModelError("auth", "the key is refused"), /the key is refused/, "auth"],
    [[use("report", { number: 1 })], /the response has no summary/, "invalid"],
    ["and so on ".repeat(1_000), /not shorter than the transcript/, "no-gain"],
  ];
  for (const [line, message, error] of answers) {
    const { engine, session } = await talkative(() => line);
    for (let turn = 1; turn <= 4; turn++) await ask(session, `Turn ${turn}: ${"and so on ".repeat(60)}`);
    await assert.rejects(session.compress(), { code: "unavailable", message });
    assert.deepEqual(await failuresOf(session), [error]);
    assert.equal((await compactionsOf(session)).length, 0);
    assert.equal((await session.state()).status, "open");
    await engine.close();
  }
});

test("with room left, a model that gives no summary is not called again at every step", async () => {
  let steps = 0;
  const script = small((call) => {
    if (isPrompt(call)) return [];
    steps += 1;
    return steps === 1 || steps > 10 ? "Read." : [use("scratch", { key: "step", value: steps })];
  }, 9_000);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "Small steps" });
  await ask(session, `Turn 1: ${"Read 12 records. ".repeat(700)}`);
  await ask(session, `Turn 2: ${"Read 12 records. ".repeat(250)}`);
  assert.equal(steps, 11);
  const prompts = script.calls.filter(isPrompt).length;
  assert.ok(prompts >= 1 && prompts <= 3, `${prompts} prompts in 10 steps`);
  assert.deepEqual([(await session.state()).status, (await compactionsOf(session)).length], ["open", 0]);
});

test("explicit records in the range stay; older ones may be summarized again", async () => {
  const found = (value: string) =>
    `{"items": [{"kind": "fact", "key": "rate", "value": "${value}"}]}\nAll is said.`;
  let said = found("first");
  const { engine, session } = await talkative(() => said);
  const talk = async (): Promise<void> => {
    for (let turn = 1; turn <= 4; turn++) await ask(session, `Turn ${turn}: ${"and so on ".repeat(60)}`);
    assert.equal((await session.compress({ strategy: "extract" })).compacted, true);
  };
  const rate = async (): Promise<unknown> => (await session.items())[0]?.value;
  await talk();
  assert.equal(await rate(), "first");
  said = found("second");
  await talk();
  assert.equal(await rate(), "second");
  await session.record("fact", "rate", "mine");
  said = found("third");
  await talk();
  assert.equal(await rate(), "mine");
  const [first, , last] = await compactionsOf(session);
  assert.deepEqual([first?.body.items?.length, last?.body.items], [1, undefined]);
  // Extracted items are shown at the boundary and not a second time as news.
  assert.doesNotMatch(
    textsOf((await session.context({ atSeq: first!.seq })).parts).join("\n"),
    /recorded meanwhile/,
  );
  await engine.close();
});

test("instructions longer than the window suspend the session with the reason", async () => {
  const script = small((call) => (isPrompt(call) ? "Short." : "Read."));
  await using engine = engineWith(script);
  await engine.addAgent({ name: "wordy", instructions: "Mind every word of this. ".repeat(3_000) });
  const session = await engine.open({ objective: "Too much", agent: "wordy" });
  await ask(session, "Hello");
  const { status, why } = await session.state();
  assert.deepEqual([status, why?.by], ["suspended", "error"]);
  assert.match(why?.reason ?? "", /does not fit the window/);
  assert.ok(script.calls.length <= 2);
});
