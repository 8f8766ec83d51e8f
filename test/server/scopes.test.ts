/** What takes more than the scope of its operation: contents take `read`, and what deletes takes `admin`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TokenScope } from "../../src/core/workspace/access-token.ts";
import { operationIds, operationOf, type OperationId } from "../../src/call/operations.ts";
import { fine, served, type Answered, type Given, type Served } from "./served.ts";

const tokenOf = async ({ engine }: Served, ...scopes: TokenScope[]): Promise<string> =>
  (await engine.addToken({ scopes })).token;

const refusal = ({ status, body }: Answered): string =>
  `${status} ${/requires the scope "(\w+)"/.exec((body as { readonly detail?: string }).detail ?? "")?.[1]}`;

/** Stands in what others have said, recorded and had remembered. */
const canary = "canary-4711";

test("a write-only token sees only the results of its input", async () => {
  await using place = await served({ lines: Array.from({ length: 9 }, () => "Done.") });
  const { engine } = place;
  const write = await tokenOf(place, "write");
  const both = await tokenOf(place, "write", "read", "operate");
  const fact = { kind: "fact", key: "k" } as const;
  const known = async (): Promise<string> => {
    const session = await engine.open({ objective: `The ${canary}` });
    await session.append(canary);
    await session.record("fact", "k", canary);
    await session.save("here");
    return session.id;
  };
  const remember = () => engine.remember({ ...fact, scope: "workspace", value: canary });
  const ask = async (token: string, id: OperationId, params: Given["params"] = {}): Promise<Answered> => {
    await remember();
    return place.call(id, { id: await known(), params, token });
  };
  const shows: readonly (readonly [OperationId, Given["params"]])[] = [
    ["session.handoff", {}],
    ["session.handoff", { write: false }],
    ["session.merge", { from: await known() }],
    ["session.merge", { from: await known(), dryRun: true }],
    ["session.promote", { ...fact, scope: "workspace" }],
    ["session.rewind", { place: "here", files: true }],
    ["session.watch", {}],
    ["engine.forget", { ...fact, scope: "workspace" }],
  ];
  const operate = await tokenOf(place, "write", "operate");
  for (const [id, params] of shows) {
    assert.equal(refusal(await ask(operate, id, params)), "403 read", id);
    fine(await ask(both, id, params));
  }
  // From the beginning of the log on, if it was let in.
  const all = await place.call("session.watch", {
    id: await known(),
    headers: { "last-event-id": "1" },
    token: write,
  });
  assert.equal(refusal(all), "403 read");
  const others: Readonly<Record<string, Given["params"]>> = {
    "session.fork": {},
    "session.clear": { handoff: true },
    "session.rollover": {},
    "session.split": { objective: "Another task" },
    "session.rewind": { place: "here" },
    "session.record": { ...fact, value: 2 },
    "session.pin": fact,
    "session.retract": fact,
    "session.run": {},
    "session.compress": {},
    "session.migrate": { model: "acme/other" },
    "session.cancel": { tree: true },
    "engine.open": { from: await known() },
    "engine.remember": { ...fact, scope: "workspace", value: 2, propose: true },
  };
  for (const [id, params] of Object.entries(others))
    assert.doesNotMatch(JSON.stringify(fine(await ask(write, id as OperationId, params))), /canary/, id);
  // What asking gives begins with the input.
  await engine.remember({ ...fact, scope: "workspace", value: 2 });
  const asked = fine(await ask(write, "session.ask", { input: "And now?" })) as string;
  assert.match(asked, /And now\?[^]*Done\./);
  assert.doesNotMatch(asked, /canary/);
  // What the turn takes in from elsewhere is not its result.
  const open = await known();
  await engine.remember({
    kind: "fact",
    key: "opening-hours",
    scope: "workspace",
    value: `9 to 5, ${canary}`,
  });
  const told = fine(
    await place.call("session.ask", { id: open, params: { input: "The opening hours?" }, token: write }),
  );
  assert.match(told as string, /memory\.carried[^]*Done\./);
  assert.doesNotMatch(told as string, /canary/);
});

test("what all sessions start with, and what waits for approval, is decided by who operates", async () => {
  await using place = await served();
  const write = await tokenOf(place, "write", "read");
  const operate = await tokenOf(place, "write", "read", "operate");
  const session = await place.engine.open({ objective: "Rates" });
  await session.record("fact", "k", 1);
  const fact = { kind: "fact", key: "k" } as const;
  const doubtful = { ...fact, key: "doubtful", scope: "workspace", value: 1, propose: true } as const;
  const { seq: proposal } = await place.engine.remember(doubtful);
  const calls: readonly (readonly [OperationId, Given["params"]])[] = [
    ["session.promote", { ...fact, scope: "workspace" }],
    ["session.promote", { ...fact, scope: "user", approve: true }],
    ["engine.remember", { ...fact, scope: "workspace", value: 2 }],
    ["engine.rejectMemory", { proposal: proposal + 1 }],
    ["engine.approveMemory", { proposal }],
  ];
  for (const [id, params] of calls) {
    const given = { id: session.id, params: params ?? {} };
    assert.equal(
      refusal(await place.call(id, { ...given, token: write })),
      /^engine\.(approve|reject)Memory$/.test(id) ? "403 undefined" : "403 operate",
      id,
    );
    const done = await place.call(id, { ...given, token: operate });
    assert.equal(done.status, id === "engine.rejectMemory" ? 404 : 200, id);
  }
  fine(await place.call("engine.pendingMemory", { token: write }));
  const proposed = { ...fact, scope: "workspace", value: 3, propose: true } as const;
  fine(await place.call("engine.remember", { params: proposed, token: write }));
});

test("a token without read is refused before any lookup", async () => {
  await using place = await served();
  const token = await tokenOf(place, "write", "operate");
  const reads = operationIds.filter((id) => operationOf(id).scope === "read");
  assert.ok(reads.length > 20);
  for (const id of reads)
    assert.equal((await place.call(id, { id: "ses_00000000000000000000000000", token })).status, 403, id);
});

test("a policy that deletes is set, replaced and removed by an admin, others by who operates", async () => {
  await using place = await served();
  const token = await tokenOf(place, "operate", "read", "write");
  const set = (name: string, kind: string, by?: string): Promise<Answered> =>
    place.call("engine.setPolicy", {
      params: { name, policy: { do: kind, after: "90d", match: { labels: { old: "1" } } } },
      ...(by === undefined ? {} : { token: by }),
    });
  const remove = (name: string, by?: string): Promise<Answered> =>
    place.call("engine.removePolicy", { params: { name }, ...(by === undefined ? {} : { token: by }) });
  for (const kind of ["pack", "expire", "archive"]) fine(await set("p", kind, token));
  fine(await remove("p", token));
  assert.equal(refusal(await set("p", "delete", token)), "403 admin");
  fine(await set("p", "delete"));
  assert.equal(refusal(await set("p", "archive", token)), "403 admin");
  assert.equal(refusal(await remove("p", token)), "403 admin");
  fine(await place.call("engine.retain", { token }));
  fine(await remove("p"));
  assert.equal((await remove("p", token)).status, 404);
});
