/** Retrieval: what an input is about, and the context does not show, stands right before it. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { z } from "zod";
import type { EventOf } from "../../../src/core/event.ts";
import type { ContextPart } from "../../../src/core/context/part.ts";
import { compactionPromptLine } from "../../../src/core/compaction/plan.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { defineTool } from "../../../src/tool/define.ts";
import { all } from "../place.ts";
import { engineWith, scripted, use, type Line, type Scripted } from "../turn/scripted.ts";

const textsOf = (parts: readonly ContextPart[]): string =>
  parts
    .flatMap((part) => {
      if (part.part === "system") return [part.text];
      if (part.part !== "message") return [];
      return part.content.flatMap((block) => ("text" in block ? [block.text] : []));
    })
    .join("\n");

/** Summarizes when it is asked to, and else says what the line says. */
const answering = (line: Line): Scripted =>
  scripted([(call) => (textsOf(call.parts).includes(compactionPromptLine) ? "Much was said." : line)], {
    windowTokens: 40_000,
  });

const ask = (session: Session, text: string): Promise<unknown> => all(session.ask(text));

async function retrievals(session: Session): Promise<EventOf<"context.retrieved">[]> {
  return (await all(session.events({ types: ["context.retrieved"] }))) as EventOf<"context.retrieved">[];
}

/** Every request of the session is rebuilt to its digest. */
async function assertRebuilt(session: Session): Promise<void> {
  const requests = await all(session.events({ types: ["model.requested"] }));
  assert.ok(requests.length > 0);
  for (const { seq } of requests)
    assert.equal((await session.context({ atSeq: seq })).matches, true, `request ${seq}`);
}

const filler = "Of no interest to anybody who reads it in the evening. ";
const taxText = `Dividends bear 17.5 percent. ${filler.repeat(14).trim()}`;

/** The position of the item that the questions are about. */
async function taxSeq(session: Session): Promise<number> {
  const { items } = await session.state();
  return items.find(({ key }) => key === "withholding-tax")?.seq ?? 0;
}

/** A session whose items do not fit after its compaction, and whose first turns are only in a summary. */
async function compacted(script: Scripted, t: TestContext): Promise<Session> {
  const engine = engineWith(script);
  t.after(() => engine.close());
  const session = await engine.open({ objective: "Keep the books of the bakery" });
  await ask(session, "The landlord of the Harbour Street shop, Mrs. Okonkwo, wants the rent by post.");
  await session.record("fact", "withholding-tax", taxText, { because: "the treaty" });
  for (let place = 0; place < 120; place++)
    await session.record("fact", `sundry-${place}`, `${place}: ${filler.repeat(12)}`);
  for (const text of ["What is new?", "Go on, please.", "And now?"]) await ask(session, text);
  assert.equal((await session.compress()).compacted, true);
  // The first request after a compaction plans the context, for what it is asked itself.
  await ask(session, "Hello again, nice weather today.");
  return session;
}

test("an item and a turn that a compaction left out are brought in before an input about them", async (t) => {
  const script = answering("Well.");
  const session = await compacted(script, t);
  assert.deepEqual(await retrievals(session), []);

  await ask(session, "Which withholding tax do our dividends bear?");
  await ask(session, "How does the landlord of Harbour Street get the rent?");
  const found = await retrievals(session);
  assert.deepEqual(
    found.map(({ body }) => body.entries.map(({ kind, seq }) => [kind, seq])),
    [[["item", await taxSeq(session)]], [["turn", 2]]],
  );
  for (const { body } of found) {
    assert.equal(body.ranker, "bm25");
    for (const { score, digest } of body.entries) assert.ok(score > 0.2 && /^[0-9a-f]{64}$/.test(digest));
  }
  const shown = textsOf(script.calls.at(-1)?.parts ?? []);
  const [rent, question] = [shown.indexOf("wants the rent by post"), shown.indexOf("How does the landlord")];
  assert.ok(rent > 0 && question > rent, shown.slice(-2_000));
  const item = `- fact withholding-tax: ${taxText}; because the treaty`;
  assert.ok(shown.includes(`about it:\n${item}\nEnd of what was brought in.]\nWhich withholding`), shown);
  await assertRebuilt(session);
  const { reasons } = await session.context();
  assert.deepEqual(
    reasons.flatMap(({ brought = [] }) => brought.map(({ kind, seq, why }) => [kind, seq, why])),
    [
      ["item", await taxSeq(session), "words"],
      ["turn", 2, "words"],
    ],
  );

  // Once it is shown it is not brought in again.
  await ask(session, "And the withholding tax of dividends abroad?");
  assert.equal((await retrievals(session)).length, 2);
  assert.equal((await session.verify()).ok, true);
});

test("an item that did not fit at the opening is retrieved, without any compaction", async (t) => {
  const engine = engineWith(answering("Well."));
  t.after(() => engine.close());
  const session = await engine.open({ objective: "Keep the books of the bakery" });
  await session.record("fact", "withholding-tax", taxText);
  for (let place = 0; place < 120; place++)
    await session.record("fact", `sundry-${place}`, `${place}: ${filler.repeat(12)}`);
  await ask(session, "Hello, nice weather today.");
  await ask(session, "Which withholding tax do our dividends bear?");
  const [found] = await retrievals(session);
  assert.deepEqual(
    found?.body.entries.map(({ kind, seq }) => [kind, seq]),
    [["item", await taxSeq(session)]],
  );
  await assertRebuilt(session);
});

test("it is in the append of its turn, and runs once for an input, not for each step", async (t) => {
  let left = 3;
  const script = answering(() => (left-- > 0 ? [use("look", {}, `l${left}`)] : "Well."));
  const look = defineTool({
    name: "look",
    description: "Looks.",
    input: z.object({}),
    effect: "read",
    run: async () => "Withholding tax of dividends, again and again.",
  });
  left = 0;
  const engine = engineWith(script, { tools: [look] });
  t.after(() => engine.close());
  const session = await engine.open({ objective: "Books", bind: [{ kind: "tool", name: "look" }] });
  await ask(session, "Let us begin.");
  await session.record("fact", "withholding-tax", taxText, { because: "the treaty" });
  for (let place = 0; place < 120; place++)
    await session.record("fact", `sundry-${place}`, `${place}: ${filler.repeat(12)}`);
  for (const text of ["What is new?", "Go on, please.", "And now?"]) await ask(session, text);
  assert.equal((await session.compress()).compacted, true);
  await ask(session, "Hello.");
  left = 3;
  await ask(session, "Which withholding tax do our dividends bear?");
  const found = await retrievals(session);
  assert.equal(found.length, 1);
  const [started] = await all(session.events({ fromSeq: (found[0]?.seq ?? 0) + 1, limit: 1 }));
  assert.equal(started?.type, "turn.started");
  assert.equal(started?.at, found[0]?.at);
  const { inputs } = (started?.body ?? {}) as { inputs?: number[][] };
  assert.deepEqual(
    found[0]?.body.inputs,
    inputs?.map(([seq]) => seq),
  );
  await assertRebuilt(session);
});

test("the section of a long document that a question is about is brought in", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "skein-retrieve-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "law.md");
  const sections = Array.from({ length: 300 }, (_, place) =>
    place === 211
      ? "## 211 Customs\n\nTulip bulbs from overseas are inspected for beetles within nine days.\n"
      : `## ${place} Remarks\n\n${filler.repeat(40)}\n`,
  );
  writeFileSync(path, sections.join("\n"));
  const script = answering("Well.");
  const engine = engineWith(script);
  t.after(() => engine.close());
  const session = await engine.open({ objective: "Advise", files: [path] });
  await ask(session, "Good morning.");
  await ask(session, "When are tulip bulbs from overseas inspected?");
  const [found] = await retrievals(session);
  assert.deepEqual(
    found?.body.entries.map(({ kind, seq }) => [kind, seq]),
    [["section", 2]],
  );
  const shown = textsOf(script.calls.at(-1)?.parts ?? []);
  assert.match(
    shown,
    /law\.md, characters \d+ to \d+ of \d+, position 2:\n## 211 Customs[^]*within nine days/,
  );
  await assertRebuilt(session);
});

test("what was erased since is a named gap, and is not brought in any more", async (t) => {
  const script = answering("Well.");
  const session = await compacted(script, t);
  await ask(session, "Which withholding tax do our dividends bear?");
  const seq = await taxSeq(session);
  await session.erase({ ranges: [[seq, seq]], reason: "asked for" });
  await ask(session, "Hello.");
  const shown = textsOf(script.calls.at(-1)?.parts ?? []);
  assert.doesNotMatch(shown, /17\.5/);
  assert.match(shown, /\[erased: its value\]/);
  await ask(session, "And which withholding tax on dividends in spring?");
  assert.equal((await retrievals(session)).length, 1);
});

test("an input that steers a turn brings in what it is about", async (t) => {
  let session: Session | null = null;
  let steered = false;
  const script = answering(async () => {
    if (steered || session === null) return "Well.";
    steered = true;
    await session.input("Which withholding tax do our dividends bear?", { mode: "steer" });
    return [use("recall", { fromSeq: 1 }, "r1")];
  });
  steered = true;
  session = await compacted(script, t);
  steered = false;
  await ask(session, "Hello.");
  const [found] = await retrievals(session);
  assert.deepEqual(
    found?.body.entries.map(({ seq }) => seq),
    [await taxSeq(session)],
  );
  const [requested] = await all(session.events({ fromSeq: (found?.seq ?? 0) + 1, limit: 1 }));
  assert.equal(requested?.type, "model.requested");
  await assertRebuilt(session);
});
