/** Imported conversations as they are used here: handed over, shown to a model. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ForeignEntry } from "../../../src/transcripts/model.ts";
import { inMemory } from "../place.ts";
import { answered, said, sourceOf } from "./foreign-source.ts";

const entries = [
  said("u1", "Read the rates"),
  answered("a1", "I look.", 2),
  said("u2", "Which is the base rate?"),
  answered("a2", "The base rate is 4.1."),
  said("u3", "And the reserve rate?"),
  answered("a3", "Let me see.", 1),
  answered("a4", "The reserve rate is 3.9."),
];

test("a handoff of an imported session has its last exchanges, to-dos, directory and branch", async () => {
  await using place = inMemory();
  const { session } = await place.engine.importTranscript(sourceOf({ entries }));
  const handle = await place.engine.session(session);
  const { text } = await handle.handoff({ write: false });
  assert.match(text, /## Objective\n\n- \[\w+@1\] Rates/);
  assert.match(text, /imported from claude-code, where it ran in \/home\/ann\/payroll on branch main\./);
  const [, exchanges = ""] = text.split("## Last exchanges in the other tool\n\n");
  assert.deepEqual(
    exchanges
      .split("\n\n")[0]
      ?.split("\n")
      .map((line) => line.replace(/^- \[\w+@\d+\] /, "")),
    [
      "A person: Read the rates",
      "The model: I look.",
      "A person: Which is the base rate?",
      "The model: The base rate is 4.1.",
      "A person: And the reserve rate?",
      "The model: The reserve rate is 3.9.",
    ],
  );
  assert.match(text, /## Open tasks\n\n- \[\w+@\d+\] t1: check the rate/);
  assert.equal((await handle.handoff({ write: false })).text, text, "a function of the log");
});

test("a handoff names an input that the other tool did not answer, until it is answered here", async () => {
  await using place = inMemory();
  const open: ForeignEntry[] = [...entries, said("u4", "And tomorrow?")];
  const { session } = await place.engine.importTranscript(sourceOf({ entries: open }));
  const { text } = await (await place.engine.session(session)).handoff({ write: false });
  const next = /## What to do next\n\n(.*)\n/.exec(text)?.[1] ?? "";
  assert.match(next, /Answer the last input, which the other tool did not: And tomorrow\?/);
});

test("a rewind of an imported session keeps it suspended, and says where it comes from", async () => {
  await using place = inMemory();
  const { session } = await place.engine.importTranscript(sourceOf({ entries }));
  const handle = await place.engine.session(session);
  await handle.rewind(3);
  const { standing } = await handle.fold();
  assert.equal(standing.status, "suspended");
  const reasons: (string | undefined)[] = [];
  for await (const event of handle.events())
    if (event.type === "session.suspended")
      reasons.push((event.content as { readonly reason?: string } | undefined)?.reason);
  assert.match(reasons.at(-1) ?? "", /^a part of its conversation took place in another tool/);
});
