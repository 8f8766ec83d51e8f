/** What was compacted can be opened part by part, and a compaction can be undone without a rewind. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { ask, assertRebuilt, compactionsOf, isPrompt, small, textsOf, windowTokens } from "./outgrown.ts";
import { engineWith, use } from "./scripted.ts";

const answering = small(
  (call) => (isPrompt(call) ? "It went on." : "Answered at length. ".repeat(12)),
  8_000,
);
/** Without what an input is about, which is brought in again from what was compacted. */
const shownBy = async (session: Session): Promise<string> =>
  textsOf((await session.context()).parts)
    .join("\n")
    .replaceAll(/\[Brought in from [^]*?End of what was brought in\.\]/g, "");

/** The numbers of the questions that stand in the context as inputs, not as something brought in. */
const askedIn = async (session: Session): Promise<number[]> =>
  textsOf((await session.context()).parts).flatMap((text) => {
    const number = /^Question (\d+)/.exec(text)?.[1];
    return number === undefined ? [] : [Number(number)];
  });
const upTo = (last: number): number[] => Array.from({ length: last }, (_, place) => place + 1);

async function talk(session: Session, from: number, to: number): Promise<void> {
  for (let turn = from; turn <= to; turn++)
    await ask(session, `Question ${turn}: order 77${turn}-QX; see to it that it arrives well ${turn}.`);
}

test("undoing compactions, the newest first, restores the messages and rewinds nothing", async () => {
  await using engine = engineWith(answering);
  const session = await engine.open({ objective: "Undo" });
  await talk(session, 1, 6);
  await session.compress();
  await talk(session, 7, 12);
  await session.compress();
  await talk(session, 13, 13);
  const both = await askedIn(session);
  assert.ok(!both.includes(1) && !both.includes(7) && both.includes(13), both.join());
  const [first, second] = await compactionsOf(session);
  await session.uncompress({ reason: "there is room" });
  const one = await askedIn(session);
  assert.ok(!one.includes(1) && one.includes(7) && one.includes(13), one.join());
  await ask(session, "Question 14");
  await assert.rejects(session.uncompress({ overlay: second!.seq }), { code: "not-found" });
  await session.uncompress({ overlay: first!.seq });
  assert.deepEqual(await askedIn(session), upTo(14));
  await assert.rejects(session.uncompress(), {
    code: "refused",
    message: /nothing in the context is compacted/,
  });
  await ask(session, "Question 15");
  // Compacting goes on as before, and every context is still rebuilt to its digest.
  await session.compress();
  await ask(session, "Question 16");
  assert.ok((await assertRebuilt(session)) >= 16);
  assert.equal((await session.replay()).ok, true);
});

test("the fold reaches the same state from the log alone, also after a rewind and in a fork", async () => {
  await using engine = engineWith(answering);
  const session = await engine.open({ objective: "Fold" });
  await talk(session, 1, 6);
  await session.compress();
  await session.uncompress();
  const { seq } = await session.head();
  const { mind } = await session.fold();
  assert.deepEqual(mind.overlays, []);
  await talk(session, 7, 7);
  await session.rewind(seq);
  assert.deepEqual((await session.fold()).mind.overlays, []);
  const fork = await session.fork();
  await ask(fork, "On it goes");
  assert.ok((await askedIn(fork)).includes(1));
  await engine.rebuild();
  assert.deepEqual((await session.fold({ atSeq: seq })).mind, mind);
});

test("a compaction is not undone when the model could not hold the context", async () => {
  await using engine = engineWith(answering);
  const session = await engine.open({ objective: "Full" });
  for (let turn = 1; (await compactionsOf(session)).length === 0; turn++)
    await ask(session, `Question ${turn}: ${"long ".repeat(400)}`);
  const { seq } = await session.head();
  await assert.rejects(session.uncompress(), {
    code: "refused",
    message: /the context would have [\d,]+ tokens, and test\/scripted compacts at 6,400/,
  });
  assert.equal((await session.head()).seq, seq);
  assert.ok((await session.context()).tokens < windowTokens);
});

test("a model and a person open what was compacted, part by part, through all compactions", async () => {
  let asked = 0;
  const script = small((call) => {
    if (isPrompt(call)) return "It went on.";
    const wanted = /^Open (\w+)$/.exec(
      textsOf(call.parts).findLast((text) => /^Open |found/.test(text)) ?? "",
    );
    if (wanted === null || asked++ > 0) return "Answered at length. ".repeat(12);
    return [use("recall", { node: wanted[1] }, "r1")];
  });
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "Descend" });
  assert.deepEqual(await session.stages(), { node: null, compactedSeq: null, stages: [], missing: [] });
  await talk(session, 1, 6);
  await session.compress();
  await talk(session, 7, 12);
  await session.compress();
  const { stages, missing, compactedSeq } = await session.stages();
  assert.equal(compactedSeq, (await compactionsOf(session)).at(-1)?.seq);
  // The check names what the summary leaves out, from the summary before this one too.
  for (const order of ["771-QX", "777-QX"])
    assert.ok(
      missing.some(({ kind, text }) => kind === "identifier" && text.includes(order)),
      order,
    );
  assert.ok((await shownBy(session)).includes("771-QX"));
  const [before, stage] = stages;
  // The context lists the ids, so that the model can open the parts.
  for (const { id } of stages) assert.ok((await shownBy(session)).includes(`- ${id}: `), id);
  assert.match(`${before?.id} ${stage?.id}`, /^c\d+ s\d+$/);
  const earlier = await session.stages(before!.id);
  const turns = await session.stages(earlier.stages[0]!.id);
  assert.equal(turns.node?.title.startsWith("Question 1:"), true);
  const leaf = turns.stages[1]!;
  assert.deepEqual(
    [leaf.title, leaf.parts],
    ["Question 2: order 772-QX; see to it that it arrives well 2.", 0],
  );
  assert.deepEqual((await session.stages(leaf.id)).node, leaf);
  await ask(session, `Open ${leaf.id}`);
  const settled = await Array.fromAsync(session.events({ types: ["tool.settled"] }));
  const { output } = settled.at(-1)!.content as { output: unknown };
  assert.match(JSON.stringify(output), /Question 2: order 772-QX/);
  for (const node of ["s2", "c9999999", "d2"])
    await assert.rejects(session.stages(node), { code: "not-found" }, node);
  await assert.rejects(session.stages("nope"), { code: "invalid", message: /an id such as s12/ });
});
