/** Bad input: whatever comes in, the server answers as it should, stays up, and goes on serving. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { badRequest, fault, sendMany } from "./bad-input.ts";
import { fine, served } from "./served.ts";
import { sliced } from "../slice.ts";

const count = sliced(1_000, 3_000);

test(`${count} bad requests: none is a server error, each gets the reason`, async () => {
  await using place = await served();
  const session = await place.engine.open({ objective: "Bad input" });
  const target = { port: place.server.port, token: place.token, session: session.id };
  const { faults, statuses } = await sendMany(target, { from: 1, count });
  assert.deepEqual(faults, []);
  assert.deepEqual(place.troubles, []);
  for (const status of [400, 404, 405, 413, 415]) assert.ok((statuses.get(status) ?? 0) > 0, `no ${status}`);
  assert.equal((fine(await place.call("session.verify", { id: session.id })) as { ok: boolean }).ok, true);
});

test("an amount that is too large or too small for a number is refused by name", async () => {
  await using place = await served();
  const { id } = await place.engine.open({ objective: "Bad amounts" });
  const refused = async (usd: string): Promise<unknown> => {
    const response = await fetch(`http://127.0.0.1:${place.server.port}/v1/sessions/${id}/budget`, {
      method: "POST",
      headers: { authorization: `Bearer ${place.token}`, "content-type": "application/json" },
      body: `{"limits":{"usd":${usd}}}`,
    });
    const { detail, field } = (await response.json()) as { detail?: string; field?: string };
    return [response.status, detail, field];
  };
  const large = "budget: limits.usd: expected a number, got a number out of range";
  assert.deepEqual(await refused("1e999"), [400, large, "limits.usd"]);
  const small = "budget: limits.usd: expected 0 or at least 0.000000001 (a nano-dollar), got 1e-10";
  assert.deepEqual(await refused("1e-10"), [400, small, "limits.usd"]);
});

test("an answer that is the server's fault, or says nothing, counts as a fault", () => {
  const target = { port: 1, token: "t", session: "s" };
  const bad = badRequest(50, target);
  assert.equal(bad.isWhole, true);
  assert.ok(fault(bad, { status: 503, text: "HTTP/1.1 503" }) !== null);
  assert.ok(fault(bad, { status: 0, text: "" }) !== null);
  assert.ok(fault(bad, { status: 400, text: "HTTP/1.1 400\r\ncontent-type: text/plain" }) !== null);
});
