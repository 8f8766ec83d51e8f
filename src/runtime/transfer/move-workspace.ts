/**
 * Carries a workspace's data to another one: agents, memory, policies, and which sessions were deleted. Each
 * record is written there again, once, under a key that names its origin; so a repeated call carries what is
 * new, and a record that comes home is recognized. Templates move: they are set in one workspace only.
 */
import { readRecords } from "../read/record-pages.ts";
import { entryOf } from "../../core/catalog.ts";
import type { StoredRecord } from "../../core/chain.ts";
import type { DraftEvent } from "../../core/decision.ts";
import { SkeinError } from "../../core/error.ts";
import { readEvent } from "../../core/event.ts";
import { isSessionId, principalFor } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { forgottenDraft } from "../../core/memory/memory.ts";
import { nameIn } from "../../core/memory/name.ts";
import { foldTemplate, templateTypes, type TemplateRef } from "../../core/trigger/template.ts";
import type { Store } from "../../store/port.ts";
import { inflate, readContent } from "../read/content.ts";
import type { MoveParams } from "./move-group.ts";
import { seal } from "../log/seal.ts";
import { foldedTemplates } from "../trigger/templates.ts";
import { writeWorkspace } from "../log/workspace-log.ts";

/** How many new ones of each. */
export interface CarriedCounts {
  readonly agents: number;
  readonly memory: number;
  readonly policies: number;
  readonly templates: number;
  readonly deleted: number;
}

export const nothingCarried: CarriedCounts = { agents: 0, memory: 0, policies: 0, templates: 0, deleted: 0 };

const countedAs: Readonly<Record<string, keyof CarriedCounts>> = {
  "agent.defined": "agents",
  "memory.promoted": "memory",
  "memory.forgotten": "memory",
  "policy.set": "policies",
  "trigger.set": "templates",
  "session.deleted": "deleted",
};

/**
 * Records about positions of their own log, or about templates, which move separately. Tokens and webhooks
 * are for each workspace to set.
 */
const stays: ReadonlySet<string> = new Set([
  ...templateTypes,
  "content.erased",
  "token.issued",
  "token.revoked",
  "approval.saved",
  "approval.revoked",
  "hook.set",
  "hook.removed",
  "hook.delivered",
  "hook.abandoned",
]);

interface KeyedDraft {
  readonly key: string;
  readonly event: DraftEvent;
}

/** Everything that is missing there. A repeated call carries what is new. */
export async function carryWorkspace(moving: MoveParams): Promise<CarriedCounts> {
  const { deps, to } = moving;
  const counts = { ...nothingCarried };
  await fenceTemplates(moving);
  for (let tries = 0; tries < limit.conflictRetriesMax; tries++) {
    const there = await lookThere(moving);
    const list = [...(await knowledge(moving, there)), ...(await templates(moving, there))];
    const written = await writeThere(moving, list, there.headSeq);
    for (const { event } of list.slice(0, written)) {
      const counted = countedAs[event.type];
      if (counted !== undefined) counts[counted]++;
    }
    if (written === list.length) return counts;
    await deps.world.sleep(10);
  }
  throw new SkeinError("conflict", `the workspace ${to.workspace} changes too often; retries exhausted`, {
    hint: "retry later",
  });
}

/** Records written together. */
const batchRecords = 200;

/** How many were written before another writer interfered, or an answer was lost: then it checks again. */
async function writeThere(
  { deps: { world, actor }, to, writer }: MoveParams,
  list: readonly KeyedDraft[],
  headSeq: number,
): Promise<number> {
  let seq = headSeq;
  for (let done = 0; done < list.length;) {
    const batch = list.slice(done, done + batchRecords);
    const { drafts, blobs } = seal(
      world,
      batch.map(({ event }) => event),
      { actor, key: null },
    );
    const keyed = drafts.map((draft, place) => ({ ...draft, key: batch[place]?.key ?? null }));
    const expect = seq === 0 ? "absent" : { seq };
    try {
      for (const { hash, bytes } of blobs) await to.putBlob(hash, [bytes]);
      const [appended] = await writer.commit([{ session: to.workspace, expect, drafts: keyed }]);
      seq = appended?.headSeq ?? seq;
    } catch (error) {
      if (error instanceof SkeinError && (error.code === "conflict" || error.code === "unknown")) return done;
      throw error;
    }
    done += batch.length;
  }
  return list.length;
}

/** The key of a record in other workspaces: its own, or one that names its position. */
const keyOf = ({ world }: MoveParams["deps"], workspace: string, { seq, key }: StoredRecord): string =>
  key ?? world.digest("", `carried\n${workspace}\n${seq}`).slice(0, 32);

/** What the other workspace has. */
interface OtherWorkspace {
  readonly headSeq: number;
  /** Keys of records that it has, whatever their origin. */
  readonly keys: Set<string>;
  /** The digests of an agent's versions, the first one first. */
  readonly agents: Map<string, string[]>;
  readonly templates: ReadonlyMap<string, TemplateRef>;
}

async function lookThere({ deps, to }: MoveParams): Promise<OtherWorkspace> {
  const keys = new Set<string>();
  const agents = new Map<string, string[]>();
  let headSeq = 0;
  for await (const record of recordsOf(to, {})) {
    headSeq = record.seq;
    keys.add(keyOf(deps, to.workspace, record));
    if (record.type !== "agent.defined") continue;
    const { agent, digest } = JSON.parse(record.body) as { agent: string; digest: string };
    agents.set(agent, [...(agents.get(agent) ?? []), digest]);
  }
  return { headSeq, keys, agents, templates: (await foldedTemplates({ store: to })).refs };
}

async function* recordsOf(store: Store, { contents = false } = {}): AsyncGenerator<StoredRecord> {
  const toSeq = (await store.head(store.workspace))?.seq ?? 0;
  yield* readRecords(store, store.workspace, [1, toSeq], { contents });
}

/** What this workspace has and the other lacks. */
async function knowledge(moving: MoveParams, there: OtherWorkspace): Promise<KeyedDraft[]> {
  const { deps } = moving;
  const { store } = deps;
  const list: KeyedDraft[] = [];
  for await (const record of recordsOf(store, { contents: true })) {
    const key = keyOf(deps, store.workspace, record);
    if (stays.has(record.type) || there.keys.has(key)) continue;
    const event = await carried(moving, there, record);
    if (event !== null) list.push({ key, event: { ...event, actor: record.actor } });
  }
  return list;
}

/** The record for the other workspace; null when it has no meaning there. */
async function carried(
  moving: MoveParams,
  there: OtherWorkspace,
  record: StoredRecord,
): Promise<DraftEvent | null> {
  const { store } = moving.deps;
  const { kind, event } = readEvent(record, true);
  const { type } = event;
  if (kind !== "known" || entryOf(type) === undefined) {
    throw new SkeinError(
      "refused",
      `record ${record.seq} of ${store.workspace} has the unknown type ${type}`,
      {
        hint: "a newer Skein wrote it; update Skein, then run the same command again",
      },
    );
  }
  const content: unknown = await inflate(store, event.content);
  const body = event.body as Readonly<Record<string, unknown>>;
  const same: DraftEvent = { type, body, ...(content === undefined ? {} : { content }) };
  if (type === "agent.defined") return event.erased ? null : numbered(there, same);
  if (type === "memory.proposed" && event.erased) return null;
  if (type.startsWith("memory.")) {
    return owned(moving, event.erased && type === "memory.promoted" ? forgotten(body) : same);
  }
  if (type === "policy.set" && event.erased) return { type, body: { ...body, removed: true } };
  if (type !== "session.deleted") return same;
  // A session deleted here that lives there has moved before.
  const { session } = body as { session: string };
  return isSessionId(session) && (await moving.to.head(session)) !== undefined ? null : same;
}

/** An agent's versions are 1, 2, 3… there, too: beside existing ones, it gets the next number. */
function numbered({ agents }: OtherWorkspace, { body, ...event }: DraftEvent): DraftEvent | null {
  const { agent, version, digest } = body as { agent: string; version: number; digest: string };
  const versions = agents.get(agent) ?? [];
  if (versions[version - 1] === digest || versions.at(-1) === digest) return null;
  agents.set(agent, [...versions, digest]);
  return { ...event, body: { ...(body as object), version: versions.length + 1 } };
}

/** Its value was erased: then the entry is forgotten. */
function forgotten(body: unknown): DraftEvent | null {
  const name = nameIn(body);
  return name === null ? null : forgottenDraft(name, { by: "rule" });
}

/** The owner of a store's file owns the data in the other one, too. */
function owned({ deps: { store, world }, to }: MoveParams, event: DraftEvent | null): DraftEvent | null {
  const { owner } = (event?.body ?? {}) as { owner?: string };
  if (event === null || owner !== principalFor(world.digest, store.workspace, "local")) return event;
  const whose = principalFor(world.digest, to.workspace, "local");
  return { ...event, body: { ...(event.body as object), owner: whose } };
}

/** Removes the templates here, so that none fires in two workspaces. One whose name is taken there stays. */
async function fenceTemplates({ deps, to }: MoveParams): Promise<void> {
  const taken = (await foldedTemplates({ store: to })).refs;
  await writeWorkspace(deps, async () => {
    const { refs } = await foldedTemplates(deps);
    const going = [...refs.keys()].filter((name) => !taken.has(name));
    return going.map((name): DraftEvent => ({ type: "trigger.removed", body: { name, to: to.workspace } }));
  });
}

/** Templates that left for the other workspace, and are not set there yet. */
async function templates({ deps, to }: MoveParams, there: OtherWorkspace): Promise<KeyedDraft[]> {
  const { store } = deps;
  const refs = new Map<string, TemplateRef>();
  const list: KeyedDraft[] = [];
  for await (const record of recordsOf(store)) {
    const body = JSON.parse(record.body) as { name?: string; to?: string };
    const ref = record.type === "trigger.removed" && body.to === to.workspace && refs.get(body.name ?? "");
    const key = keyOf(deps, store.workspace, record);
    if (ref && !there.keys.has(key)) {
      const event = await set(store, ref);
      if (event !== null) list.push({ key, event });
    }
    if (templateTypes.some((type) => type === record.type)) foldTemplate(refs, { ...record, body });
  }
  return list;
}

/** With its next time and the last digest. */
async function set(store: Store, ref: TemplateRef): Promise<DraftEvent | null> {
  const { name, kind, missed, nextMs, lastCause, actor, seq } = ref;
  const content = await readContent(store, store.workspace, seq);
  if (content === undefined) return null;
  const next = {
    ...(nextMs === null ? {} : { nextMs }),
    ...(lastCause === null ? {} : { digest: lastCause }),
  };
  return { type: "trigger.set", body: { name, kind, missed, ...next }, content, actor };
}
