/** Decisions on moving: who may take a session over, and that nothing follows a move but its arrival. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../../../src/core/decide.ts";
import { digest } from "../digest.ts";
import { given } from "../given.ts";

const facts = { actor: "system", digest, program: "9.9.9" };
const [here, elsewhere] = ["wsp_00000000010000000000000000", "wsp_00000000020000000000000000"];

test("a session arrives where its move leads, and nowhere else", () => {
  const { state } = given().and("session.moved", { move: "m", to: here });
  const moved = { move: "m", to: here };
  const arrived = decide(state, { do: "arrive", moved, workspace: here, where: "a bundle" }, facts);
  assert.deepEqual(arrived, {
    ok: true,
    drafts: [{ type: "session.arrived", body: { move: "m" }, content: { from: "a bundle" } }],
  });
  const astray = decide(state, { do: "arrive", moved, workspace: elsewhere }, facts);
  assert.equal(astray.ok, false);
  assert.match(astray.ok ? "" : astray.refusal.message, /moved to the store with workspace/);
  const anywhere = decide(state, { do: "arrive", moved: { move: "m" }, workspace: elsewhere }, facts);
  assert.equal(anywhere.ok, true);
  const unsaid = decide(state, { do: "arrive", moved: null, workspace: here }, facts);
  assert.equal(unsaid.ok ? "" : unsaid.refusal.code, "corrupt");
});

test("a running session is not moved, unless its lease has expired", () => {
  const held = given().and("lease.taken", { holder: "h", leaseMs: 15_000 });
  const move = { do: "move", move: "m" } as const;
  const refused = decide(held.state, { ...move, held: true }, facts);
  assert.equal(refused.ok ? "" : refused.refusal.code, "conflict");
  assert.equal(decide(held.state, { ...move, held: false }, facts).ok, true);
});

test("a session is not migrated to the model it has", () => {
  const { state } = given().and("session.migrated", { to: "test/one" });
  const same = decide(state, { do: "migrate", model: "test/one", left: [] }, facts);
  assert.equal(same.ok ? "" : same.refusal.code, "refused");
  const other = decide(state, { do: "migrate", model: "test/two", left: ["1 image"] }, facts);
  assert.deepEqual(other, {
    ok: true,
    drafts: [
      {
        type: "session.migrated",
        body: { from: "test/one", to: "test/two" },
        content: { left: ["1 image"] },
      },
    ],
  });
});
