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

test("a person is told of the zone, and offered a session for another task", async () => {
  const said = await saidOf("tell-person", ["drift"]);
  assert.match(said, /^The context is strained \(the last inputs look like another task\)/);
  assert.match(said, /skein open "THE OTHER TASK" --from \w+ takes over/);
  assert.doesNotMatch(await saidOf("tell-person", ["tokens"]), /OTHER TASK/);
  assert.equal(await saidOf("tell-model", ["drift"]), "");
});
