/** Records written past the engine: events that no command brings about yet, and those of other programs. */
import assert from "node:assert/strict";
import type { DraftEvent } from "../../src/core/decision.ts";
import type { LogId } from "../../src/core/ids.ts";
import { bodyHashOf, contentHashOf } from "../../src/core/chain.ts";
import type { AppendedPart, Draft, Store } from "../../src/store/port.ts";
import type { MadeWorld } from "./made-world.ts";

export type RawEvent = DraftEvent & { readonly v?: number; readonly key?: string };

/** A draft with its hashes right, whatever it holds. */
export function rawDraft(world: MadeWorld, event: RawEvent): Draft {
  const body = JSON.stringify(event.body);
  const text = event.content === undefined ? null : JSON.stringify(event.content);
  const salt = world.salt();
  return {
    type: event.type,
    v: event.v ?? 1,
    actor: "system",
    turn: event.turn ?? null,
    cause: event.cause ?? null,
    key: event.key ?? null,
    blobs: [],
    body,
    bodyHash: bodyHashOf(world.digest, body),
    content:
      text === null
        ? null
        : { text, bytes: Buffer.byteLength(text), salt, hash: contentHashOf(world.digest, salt, text) },
  };
}

/** Appends to a log that exists, straight into the store. */
export async function writeRaw(
  { store, world }: { readonly store: Store; readonly world: MadeWorld },
  session: LogId,
  events: readonly RawEvent[],
): Promise<AppendedPart> {
  const drafts = events.map((event) => rawDraft(world, event));
  const outcome = await store.append([{ session, expect: "exists", drafts }]);
  assert.ok(outcome.kind === "ok", outcome.kind);
  return outcome.parts[0]!;
}
