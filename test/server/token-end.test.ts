/** A stream ends with the token it was opened with, and not at some later beat. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { limit } from "../../src/core/limit.ts";
import { Engine } from "../../src/runtime/engine/engine.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { inFile } from "../runtime/place.ts";
import { frames, served, type Frame, type Served } from "./served.ts";
import { until } from "./until.ts";

/** Well before the next beat, at which every stream looks by itself. */
const soonMs = limit.streamBeatMs - 3_000;

interface Reading {
  readonly heard: Frame[];
  readonly isOver: () => boolean;
}

function read(place: Served, path: string, token: string): Reading {
  const heard: Frame[] = [];
  let over = false;
  const reading = async (): Promise<void> => {
    const headers = { accept: "text/event-stream", authorization: `Bearer ${token}` };
    for await (const frame of frames(await place.fetch(path, { headers }))) heard.push(frame);
  };
  reading()
    .finally(() => (over = true))
    .catch(() => undefined);
  return { heard, isOver: () => over };
}

test("a token that is revoked, here or in another process, ends its streams and no others", async () => {
  await using file = await inFile();
  await using place = await served({ store: file.store });
  const world = realWorld();
  const elsewhere = new Engine({ store: await file.open({ world }), world });
  const session = await place.engine.open({ objective: "Read" });
  const [here, there, stays] = await Promise.all(
    [1, 2, 3].map(() => place.engine.addToken({ scopes: ["read"] })),
  );
  assert.ok(here !== undefined && there !== undefined && stays !== undefined);
  const paths = [`/v1/sessions/${session.id}/events`, "/v1/feed?follow=true"];
  const [mine, theirs, others] = [here, there, stays].map(({ token }) =>
    paths.map((path) => read(place, path, token)),
  );
  const all = [...(mine ?? []), ...(theirs ?? []), ...(others ?? [])];
  await until(async () => all.every(({ heard }) => heard.length > 0));
  await place.engine.revokeToken(here.id);
  await until(async () => mine!.every(({ isOver }) => isOver()), soonMs);
  assert.ok([...theirs!, ...others!].every(({ isOver }) => !isOver()));
  await elsewhere.revokeToken(there.id);
  await until(async () => theirs!.every(({ isOver }) => isOver()), soonMs);
  await session.append("Goes on.");
  const hasIt = (one: Reading): boolean => one.heard.some(({ event }) => event === "input.received");
  await until(async () => others!.every(hasIt));
  assert.ok([...mine!, ...theirs!].every((one) => !hasIt(one)));
});

test("a token that expires ends its streams", async () => {
  await using place = await served();
  const session = await place.engine.open({ objective: "Read" });
  const { token } = await place.engine.addToken({ scopes: ["read"], expiresAt: Date.now() + 1_500 });
  const reading = read(place, `/v1/sessions/${session.id}/events`, token);
  await until(async () => reading.heard.length > 0);
  await until(async () => reading.isOver(), soonMs);
});
