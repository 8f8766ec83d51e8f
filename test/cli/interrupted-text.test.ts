/** Ctrl-C in a chat on a terminal: the text that was streamed is not printed a second time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { makeHearing } from "../../src/cli/chat/turn-printer.ts";
import { collectingSurface, makeScreen } from "../../src/cli/command/screen.ts";
import type { SessionUpdate } from "../../src/runtime/turn/ask.ts";

test("interrupted text appears once, with its mark", async () => {
  const surface = collectingSurface(80);
  const hearing = makeHearing(makeScreen(surface, false), { note: (text) => surface.out(`${text}\n`) });
  const plain = { session: "ses_x", actor: "system", turn: 1, cause: null, body: {}, erased: false };
  const heard = [
    { ...plain, seq: 1, type: "model.requested", body: { attempt: 1 } },
    { type: "delta", requestSeq: 1, delta: { type: "text", text: "Half of it" } },
    { ...plain, seq: 2, type: "session.interrupted", body: {}, content: {} },
    {
      ...plain,
      seq: 3,
      type: "model.failed",
      cause: 1,
      body: { error: "interrupted" },
      content: { partial: "Half of it" },
    },
  ];
  for (const one of heard) await hearing.hear(one as unknown as SessionUpdate);
  await hearing.rest();
  assert.equal(surface.collected.stdout, "Half of it\ninterrupted\n … (interrupted)\n");
});
