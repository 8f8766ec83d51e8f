/** What a chat says about the zone of a context. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { makeHearing } from "../../src/cli/chat/turn-printer.ts";
import { collectingSurface, makeScreen } from "../../src/cli/command/screen.ts";
import type { SessionUpdate } from "../../src/runtime/turn/ask.ts";

async function saidOf(action: string, by: readonly string[]): Promise<string> {
  const surface = collectingSurface(300);
  const hearing = makeHearing(makeScreen(surface, false), { note: (text) => surface.out(`${text}\n`) });
  const session = "ses_01m7thr209vkyvqpk4pwsf7rfh";
  const body = { action, zone: "strained", by };
  const content = { text: "the last inputs look like another task" };
  const event = { session, seq: 1, actor: "system", turn: 1, cause: 1, erased: false };
  await hearing.hear({ ...event, type: "zone.acted", body, content } as unknown as SessionUpdate);
  await hearing.rest();
  return surface.collected.stdout;
}

test("chat shows the zone, and offers a session for another task", async () => {
  const said = await saidOf("tell-person", ["drift"]);
  assert.match(said, /^The context is strained \(the last inputs look like another task\)/);
  assert.match(said, /\/split gives it a session of its own \(outside of a chat: skein split \w+\)/);
  assert.doesNotMatch(await saidOf("tell-person", ["tokens"]), /split/);
  assert.equal(await saidOf("tell-model", ["drift"]), "");
});

test("a chat goes on in the next session: one line at the seam, and what it said there", async () => {
  const surface = collectingSurface(300);
  const hearing = makeHearing(makeScreen(surface, false), {
    note: (text) => surface.out(`${text}\n`),
    ownOnly: true,
  });
  const [one, two] = ["ses_01m7thr209vkyvqpk4pwsf7rfh", "ses_01m7thr209vkyvqpk4pwsf9zzz"];
  const hear = (session: string, seq: number, type: string, more: object): Promise<void> =>
    hearing.hear({
      session,
      seq,
      type,
      actor: "agent:a",
      turn: 1,
      cause: null,
      erased: false,
      body: {},
      ...more,
    } as unknown as SessionUpdate);
  const input = (text: string) => ({ content: { blocks: [{ type: "text", text }] }, turn: null });
  await hear(one, 2, "input.received", input("Fetch"));
  await hear(one, 3, "turn.started", { body: { inputs: [[2, 2]] } });
  await hear(one, 5, "model.requested", { body: { inputs: [], attempt: 1 } });
  await hear(one, 9, "turn.ended", { body: { outcome: "completed" } });
  const why = "the context is strained: it has 100,000 tokens";
  await hear(one, 10, "session.closed", {
    body: { outcome: "completed" },
    content: { reason: why },
    turn: null,
  });
  await hear(one, 11, "session.continued", { body: { to: two }, turn: null });
  await hear(two, 2, "input.received", input("Goes on"));
  await hear(two, 3, "turn.started", { body: { inputs: [[2, 2]] } });
  await hear(two, 5, "model.requested", { body: { inputs: [], attempt: 1 } });
  const blocks = [{ type: "text", text: "Done." }];
  await hear(two, 6, "model.responded", { cause: 5, content: { blocks } });
  await hear(two, 7, "turn.ended", { body: { outcome: "completed" } });
  await hearing.rest();
  assert.equal(
    surface.collected.stdout,
    `pwsf7rfh continues as pwsf9zzz: ${why}
Done.
`,
  );
  assert.equal(hearing.outcome(), "completed");
});

test("a session that ends while a chat shows it is still said to be closed", async () => {
  const surface = collectingSurface(300);
  const hearing = makeHearing(makeScreen(surface, false), { note: (text) => surface.out(`${text}\n`) });
  const event = { session: "ses_01m7thr209vkyvqpk4pwsf7rfh", seq: 1, actor: "user", turn: null, cause: null };
  const closed = {
    ...event,
    type: "session.closed",
    body: { outcome: "completed" },
    content: { reason: "done" },
  };
  await hearing.hear({ ...closed, erased: false } as unknown as SessionUpdate);
  await hearing.rest();
  assert.equal(surface.collected.stdout, "closed: completed: done\n");
});
