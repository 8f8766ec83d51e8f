/** Bad input: whatever comes in, the server answers as it should, stays up, and goes on serving. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { badRequest, fault, sendMany } from "./bad-input.ts";
import { fine, served } from "./served.ts";
import { sliced } from "../slice.ts";

const count = sliced(1_000, 3_000);

test(`${count} bad requests: none is the server's fault, each is told what is wrong`, async () => {
  await using place = await served();
  const session = await place.engine.open({ objective: "Bad input" });
  const target = { port: place.server.port, token: place.token, session: session.id };
  const { faults, statuses } = await sendMany(target, { from: 1, count });
  assert.deepEqual(faults, []);
  assert.deepEqual(place.troubles, []);
  for (const status of [400, 404, 405, 413, 415]) assert.ok((statuses.get(status) ?? 0) > 0, `no ${status}`);
  assert.equal((fine(await place.call("session.verify", { id: session.id })) as { ok: boolean }).ok, true);
});

test("an answer that is the server's fault, or says nothing, counts as a fault", () => {
  const target = { port: 1, token: "t", session: "s" };
  const bad = badRequest(50, target);
  assert.equal(bad.isWhole, true);
  assert.ok(fault(bad, { status: 503, text: "HTTP/1.1 503" }) !== null);
  assert.ok(fault(bad, { status: 0, text: "" }) !== null);
  assert.ok(fault(bad, { status: 400, text: "HTTP/1.1 400\r\ncontent-type: text/plain" }) !== null);
});
