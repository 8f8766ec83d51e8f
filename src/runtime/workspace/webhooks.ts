/**
 * Webhooks: outside URLs that receive events. The workspace's log records them and how far each got; a server
 * sends them.
 */
import { readRecords } from "../read/record-pages.ts";
import { checkCall } from "../../call/check.ts";
import { eventTypes, isForeign } from "../../core/catalog.ts";
import type { StoredRecord } from "../../core/chain.ts";
import { nearest, SkeinError } from "../../core/error.ts";
import { quote, type SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { contentOf } from "../read/content.ts";
import { isLeader } from "./leader-lease.ts";
import type { Deps } from "../deps.ts";
import { findSession } from "../read/find.ts";
import type { WebhookFailure } from "./webhook-failures.ts";
import { checkUrl } from "../../platform/outbound.ts";
import type { KnownHead } from "../read/known-heads.ts";
import { writeOnce, writeWorkspace, type WorkspaceDeps } from "../log/workspace-log.ts";

/** Options of `engine.setHook`. */
export interface SetHookOptions {
  /** Types of events, such as `turn.ended`; `turn.*` is all with that prefix, and `*` all. */
  readonly events: readonly string[];
  /** The name of the variable that holds the signing secret; never its value. */
  readonly secret: string;
  /** Only of this session, by its id or a suffix; of sessions of this agent; of those with these labels. */
  readonly session?: string;
  readonly agent?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

/** A webhook of the workspace, and how far it has been delivered. */
export interface HookEntry extends WebhookFailure {
  readonly name: string;
  /** Null when it was erased: then it sends nothing. */
  readonly url: string | null;
  readonly events: readonly string[];
  readonly session: SessionId | null;
  readonly agent: string | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly secret: string;
  /** Its position in the workspace's log: set again, it is another one. */
  readonly setSeq: number;
  readonly setAt: number;
  readonly setBy: string;
  /** How many were delivered, as far as recorded, and how many were abandoned. */
  readonly delivered: number;
  readonly abandoned: number;
  /** When that was last recorded; null: never. */
  readonly deliveredAt: number | null;
  /** The position of the feed to continue from. */
  readonly position: string;
}

const types = ["hook.set", "hook.removed", "hook.delivered", "hook.abandoned"] as const;

/** Sets a webhook, or replaces the one of this name. It receives events from now on. */
export async function setHook(
  deps: Deps,
  name: string,
  url: string,
  options: SetHookOptions,
): Promise<HookEntry> {
  checkCall("engine.setHook", options, { name });
  checkUrl(url);
  const events = checkEvents(options.events);
  const signedBy = checkSecret(options.secret);
  const { agent, labels } = options;
  const { store } = deps;
  let from: string | null = null;
  const before = await writeOnce(deps, async () => {
    const session = options.session === undefined ? undefined : await findSession(store, options.session);
    from ??= await store.feedEnd();
    const filter = { ...(session && { session }), ...(agent && { agent }), ...(labels && { labels }) };
    const body = { name, events, from, signedBy, ...filter };
    const all = await listHooks(deps);
    // After a lost answer, what was written after all is recognized by its start position.
    if (all.some((one) => one.name === name && one.position === from && one.url === url)) return [];
    if (!all.some((one) => one.name === name) && all.length >= limit.hooksMax) {
      throw new SkeinError("refused", `a workspace has at most ${limit.hooksMax} webhooks`, {
        hint: "remove one first",
      });
    }
    return [{ type: "hook.set", body, content: { url } }];
  });
  if (before === null) return hookCalled(deps, name);
  // It continues from where it is; a removed or replaced one is not set again.
  const there = (await listHooks(deps)).find(({ setSeq }) => setSeq === before.seq);
  return there ?? hookCalled(deps, name, before.seq);
}

/** Returns the former webhook. */
export async function removeHook(
  deps: Deps,
  name: string,
  options: { readonly reason?: string } = {},
): Promise<HookEntry> {
  checkCall("engine.removeHook", options);
  const { reason } = options;
  let found: HookEntry | null = null;
  const before = await writeOnce(deps, async () => {
    const known = (found ??= await hookCalled(deps, name));
    const isThere = (await listHooks(deps)).some(({ setSeq }) => setSeq === known.setSeq);
    if (!isThere) return [];
    return [
      { type: "hook.removed", body: { name }, ...(reason === undefined ? {} : { content: { reason } }) },
    ];
  });
  return found ?? hookCalled(deps, name, (before?.seq ?? 1) - 1);
}

type HookDeps = Pick<Deps, "store" | "live"> & Pick<WorkspaceDeps, "writer">;

/** The current one, or the one at a position of the workspace's log. */
export async function hookCalled(deps: HookDeps, name: string, toSeq?: number): Promise<HookEntry> {
  const found = (await listHooks(deps, toSeq)).find((one) => one.name === name);
  if (found !== undefined) return found;
  throw new SkeinError("not-found", `webhook ${quote(name)} not found`, {
    hint: '"skein hooks" lists the webhooks',
  });
}

/** By name; the current ones, or those at a position of the workspace's log. */
export async function listHooks(deps: HookDeps, toSeq?: number): Promise<HookEntry[]> {
  const { store, writer } = deps;
  const headSeq = toSeq ?? (await writer.workspace.read()).seq;
  const hooks = new Map<string, HookEntry>();
  for await (const record of readRecords(store, store.workspace, [1, headSeq], { types, contents: true }))
    await apply(deps, hooks, record);
  return [...hooks.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

interface HookBody {
  readonly name: string;
  readonly events: readonly string[];
  readonly from: string;
  readonly signedBy: string;
  readonly session?: SessionId;
  readonly agent?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly setSeq: number;
  readonly to: string;
  readonly count: number;
}

async function apply(
  { store, live }: HookDeps,
  hooks: Map<string, HookEntry>,
  record: StoredRecord,
): Promise<void> {
  const body = JSON.parse(record.body) as HookBody;
  const { name } = body;
  const known = hooks.get(name);
  if (record.type === "hook.removed") hooks.delete(name);
  else if (record.type === "hook.set") {
    const content = (await contentOf(store, record)) as { readonly url?: string } | undefined;
    const { events, signedBy, session = null, agent = null, labels = {}, from } = body;
    const filter = { events, session, agent, labels, secret: signedBy };
    const set = { setSeq: record.seq, setAt: record.at, setBy: record.actor };
    const progress = { delivered: 0, abandoned: 0, deliveredAt: null, position: from };
    const trouble = live.webhookFailures.of(record.seq);
    hooks.set(name, { name, url: content?.url ?? null, ...filter, ...set, ...progress, ...trouble });
  } else if (known?.setSeq !== body.setSeq) return;
  else if (record.type === "hook.abandoned") hooks.set(name, { ...known, abandoned: known.abandoned + 1 });
  else {
    const delivered = known.delivered + body.count;
    hooks.set(name, { ...known, delivered, deliveredAt: record.at, position: body.to });
  }
}

/** Records how far a webhook got; nothing when it no longer exists, or another process sends it. */
export async function noteDelivered(
  deps: WorkspaceDeps & HookDeps,
  { name, setSeq }: Pick<HookEntry, "name" | "setSeq">,
  { to, count, taken }: { readonly to: string; readonly count: number; readonly taken: KnownHead },
): Promise<void> {
  await writeWorkspace({ ...deps, actor: "system" }, async () => {
    if (!(await isLeader(deps, taken))) return [];
    const hook = (await listHooks(deps)).find((one) => one.setSeq === setSeq);
    if (hook === undefined || hook.position === to) return [];
    return [{ type: "hook.delivered", body: { name, setSeq, to, count } }];
  });
}

export async function noteAbandoned(
  deps: WorkspaceDeps & HookDeps,
  { name, setSeq }: Pick<HookEntry, "name" | "setSeq">,
  given: {
    readonly session: string;
    readonly seq: number;
    readonly attempts: number;
    readonly taken: KnownHead;
  },
): Promise<void> {
  const { session, seq, attempts, taken } = given;
  const { store } = deps;
  const body = { name, setSeq, log: session, seq, attempts };
  let fromSeq: number | null = null;
  await writeWorkspace({ ...deps, actor: "system" }, async (headSeq) => {
    if (!(await isLeader(deps, taken))) return [];
    fromSeq ??= headSeq + 1;
    // After a lost answer it may exist after all.
    const range = { fromSeq, toSeq: headSeq, limit: limit.pageRecordsMax, contents: false };
    const since = headSeq < fromSeq ? [] : await store.read(store.workspace, { ...range, types });
    const isThere = since.some((record) => record.body === JSON.stringify(body));
    return isThere ? [] : [{ type: "hook.abandoned", body }];
  });
}

function checkEvents(given: readonly string[]): readonly string[] {
  const hint = 'event types, such as ["turn.ended", "session.*"]';
  const families = new Set(eventTypes.map((type) => type.slice(0, type.indexOf("."))));
  for (const one of given) {
    const isKnown =
      one === "*" ||
      eventTypes.some((type) => type === one) ||
      isForeign(one) ||
      (one.endsWith(".*") && families.has(one.slice(0, -2)));
    if (isKnown) continue;
    const near = nearest(one, eventTypes);
    throw new SkeinError("invalid", `setHook: events: unknown event type ${quote(one)}`, {
      hint: near === undefined ? hint : `did you mean "${near}"?`,
    });
  }
  return [...new Set(given)];
}

function checkSecret(given: string): string {
  if (/^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(given)) return given;
  // The argument may be the secret itself: it is not repeated.
  throw new SkeinError("invalid", "setHook: secret: expected the name of an environment variable", {
    hint: "pass the variable's name, never the secret itself",
  });
}
