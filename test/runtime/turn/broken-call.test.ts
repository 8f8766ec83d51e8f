/** Calls that are interrupted or break off: what they cost, and the text that is kept of them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { spendOf, spendText } from "../../../src/core/budget/money.ts";
import { ModelError, type ModelDelta, type Model, type ModelProgress } from "../../../src/model/port.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { all } from "../place.ts";
import { engineWith, type Scripted } from "./scripted.ts";

type Yielded = ModelDelta | ModelProgress | ModelError;

const facts = {
  windowTokens: 100_000,
  outputTokensMax: 16_384,
  images: false,
  price: { input: 2_000, output: 10_000, asOf: "2026-11-01" },
};
const usage: ModelProgress = {
  type: "usage",
  usage: { inputTokens: 100, outputTokens: 1 },
  isWhole: false,
};
const text = (words: string): ModelDelta => ({ type: "text", text: words });

/** Each call yields one list, and then waits until it is interrupted; an empty list answers. */
function streaming(...lists: readonly (readonly Yielded[])[]): Scripted {
  const calls: Scripted["calls"] = [];
  const model = (name: string): Model => ({
    name,
    facts,
    async *stream(call) {
      const list = lists[calls.length] ?? [];
      calls.push(call);
      for (const one of list) {
        if (one instanceof ModelError) throw one;
        yield one;
      }
      if (list.length > 0)
        await new Promise((_, reject) =>
          call.signal.addEventListener("abort", () => reject(new ModelError("interrupted", "stopped"))),
        );
      yield text("Done.");
      const blocks = [{ type: "text", text: "Done." }] as const;
      return { blocks, finish: "stop", usage: { inputTokens: 120, outputTokens: 2 }, sent: null };
    },
  });
  return {
    calls,
    models: { byDefault: "test/scripted", model: async (name) => model(name), list: () => [] },
  };
}

/** The text of a delta; empty for anything else. */
const heardIn = (one: { readonly type: string }): string =>
  one.type === "delta" && "delta" in one && (one.delta as ModelDelta).type === "text"
    ? (one.delta as { readonly text: string }).text
    : "";

const failures = async (session: Session) =>
  (await all(session.events())).filter(({ type }) => type === "model.failed");

/** So many calls each leave a second of output unconfirmed, or a little more, and not what was reserved. */
function assertUnheard(nanoUsd: number, calls: number): void {
  const reserved = facts.outputTokensMax * facts.price.output;
  assert.ok(nanoUsd >= calls * 1_000 * facts.price.output, `${nanoUsd}`);
  assert.ok(nanoUsd < (calls * reserved) / 2, `${nanoUsd}`);
}

test("two interrupts cost what the provider reported, and leave the budget", async () => {
  const said = [usage, text("The rate is "), text("4")];
  const script = streaming(said, said, []);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "Rates", budget: { usd: 0.3 } });
  for (let times = 0; times < 2; times++) {
    for await (const one of session.ask("Which rate?")) if (heardIn(one) === "4") await session.interrupt();
  }
  const state = await session.fold();
  const { nanoUsd, unconfirmedNanoUsd, estimated, inputTokens } = spendOf(state);
  assert.deepEqual([estimated, inputTokens], [2, 200]);
  assert.ok(nanoUsd >= 400_000 && nanoUsd < 1_000_000, `${nanoUsd}`);
  assertUnheard(unconfirmedNanoUsd, 2);
  assert.equal(state.standing.used.nanoUsd, nanoUsd + unconfirmedNanoUsd);
  for (const { content } of await failures(session))
    assert.equal((content as { partial?: string }).partial, "The rate is 4");
  // The next turn runs, and the model sees what it had said.
  await all(session.ask("Go on."));
  assert.equal((await session.state()).status, "open");
  const sent = JSON.stringify(script.calls.at(-1)?.parts);
  assert.match(sent, /"The rate is 4".*interrupted here, before it was complete/);
  assert.equal((await session.context()).matches, null);
  const requests = (await all(session.events())).filter(({ type }) => type === "model.requested");
  const { seq } = requests.at(-1) ?? { seq: 0 };
  assert.equal((await session.context({ atSeq: seq })).matches, true);
});

test("a broken stream is settled and retried, and its text is in the log alone", async () => {
  const script = streaming([usage, text("Half"), new ModelError("dropped", "the stream ended")], []);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "Rates" });
  await all(session.ask("Which rate?"));
  const [failed] = await failures(session);
  assert.equal((failed?.content as { partial?: string } | undefined)?.partial, "Half");
  assert.doesNotMatch(JSON.stringify(script.calls[1]?.parts), /Half/);
  const state = await session.fold();
  assert.equal(spendOf(state).calls, 2);
  assertUnheard(spendOf(state).unconfirmedNanoUsd, 1);
});

test("hidden reasoning stays an upper bound, and an error response costs nothing", async () => {
  const hidden: ModelProgress = { type: "hidden", hidden: true };
  const rejected = new ModelError("failed", "500", { isRejected: true });
  const script = streaming([usage, hidden, new ModelError("garbled", "?")], [rejected], []);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "Rates" });
  await all(session.ask("Which rate?"));
  const bodies = (await failures(session)).map(({ body }) => body as Record<string, unknown>);
  assert.deepEqual(bodies[1]?.["costNanoUsd"], 0);
  assert.equal(bodies[1]?.["usage"], undefined);
  const { unconfirmedNanoUsd } = spendOf(await session.fold());
  assert.ok(unconfirmedNanoUsd > 100_000_000, `${unconfirmedNanoUsd}`);
  assert.match(spendText((await session.state()).cost), /^\$0\.00\d+ \+ up to \$0\.1\d+ unconfirmed$/);
});

test("a call whose turn is cancelled is settled by its runner", async () => {
  const script = streaming([usage, text("Half")]);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "Rates" });
  for await (const one of session.ask("Which rate?")) if (heardIn(one) === "Half") await session.cancel();
  while ((await failures(session)).length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
  const [given, settled] = (await failures(session)).map(({ body }) => body as Record<string, unknown>);
  assert.deepEqual(settled?.["released"], given?.["unconfirmed"]);
  const { calls, inputTokens, unconfirmedNanoUsd } = spendOf(await session.fold());
  assert.deepEqual([calls, inputTokens], [1, 100]);
  assertUnheard(unconfirmedNanoUsd, 1);
});

test("interrupted text has no secret", async () => {
  const key = `sk-ant-api03-${"a1B2".repeat(20)}`;
  const script = streaming([usage, text("The key is "), text(key), text(".")], []);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "Rates" });
  for await (const one of session.ask("Which key?")) if (heardIn(one) === ".") await session.interrupt();
  const [failed] = await failures(session);
  assert.match(JSON.stringify(failed?.content), /The key is /);
  assert.doesNotMatch(JSON.stringify(failed?.content), /sk-ant-api03/);
});
