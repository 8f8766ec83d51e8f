/**
 * Outbound webhooks: sends each webhook its events, in the order of the feed, one by one. Failures are
 * retried for a day, and then abandoned in the log. The log records periodically how far each webhook got:
 * after a crash some events are sent again, under the same delivery id, and none is left out.
 */
import type { StoredRecord } from "../../core/chain.ts";
import { SkeinError } from "../../core/error.ts";
import { isSessionId, quote } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { takeLeaderLease, type LeaderLease } from "../../runtime/workspace/leader-lease.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { listHooks, noteAbandoned, noteDelivered, type HookEntry } from "../../runtime/workspace/webhooks.ts";
import { post, type Outbound, type PostResult } from "../../platform/outbound.ts";
import { signatureOf } from "../../runtime/trigger/webhook-token.ts";
import { isLast, lastOf, parsePlace, placeText, type FeedPlace } from "../stream/feed-cursor.ts";
import { followFeed, type FeedFollower } from "./feed-follow.ts";
import { internalsOf, type EngineInternals } from "../../runtime/engine/internals.ts";

export interface WebhooksOutOptions {
  readonly outbound: Pick<Outbound, "allowPrivate" | "resolve">;
  readonly trouble: (error: unknown) => void;
  /** The first retry delay; each is twice the one before. */
  readonly againMs?: number;
  /** The minimum time between two records of how far a webhook got. */
  readonly noteMs?: number;
  /** How long others wait for a silent server, before they take over. */
  readonly leaseMs?: number;
}

const againMsMin = 1_000;
const againMsMax = 900_000;
const noteMsUsual = 60_000;
/** New webhooks are noticed so soon. */
const restMs = 250;
/** How often the leader lease is checked, and how often without a reason. */
const lookMs = 1_000;
const idleMs = 60_000;
/** How long a stop waits for a call in progress. */
const graceMs = 2_000;
/** So much of the feed may have to be read again after a restart. */
const passedMax = 10_000;
const pageRecords = 200;

/** Records name the one that took the lease: none is written once another server has it. */
type AsLeader = WebhooksOutOptions & Pick<LeaderLease, "taken">;

/**
 * Begins at once; webhooks that are set later are included. One server of a store sends them, and when it is
 * gone, another.
 */
export async function openWebhooksOut(engine: Engine, options: WebhooksOutOptions): Promise<FeedFollower> {
  const deps = internalsOf(engine);
  const { world } = deps;
  const { trouble } = options;
  const over = new AbortController();
  let news = new AbortController();
  // Before the webhooks are read, so that none is missed.
  const watching = await followFeed(engine, {
    trouble,
    restMs,
    heard({ records }) {
      if (records.some(isNews)) news.abort();
    },
    async rolledBack(common) {
      // The rollback may have removed webhooks.
      news.abort();
      return common ?? (await deps.store.feedEnd());
    },
  });
  /** Until there is news, and no longer. */
  const rest = (ms: number, ...more: readonly AbortSignal[]): Promise<void> =>
    world.sleep(ms, AbortSignal.any([over.signal, news.signal, ...more]));

  async function going(): Promise<void> {
    while (!over.signal.aborted) {
      news = new AbortController();
      const isWanted = await listHooks(deps).then((hooks) => hooks.some(({ url }) => url !== null), trouble);
      if (isWanted === true) await sendAsLeader().catch(trouble);
      await rest(isWanted === false ? idleMs : lookMs);
    }
  }

  /** Sends all webhooks while it holds the leader lease; does nothing while another server does. */
  async function sendAsLeader(): Promise<void> {
    const leaseMs = options.leaseMs === undefined ? {} : { leaseMs: options.leaseMs };
    const lease = await takeLeaderLease(deps, { name: "hooks", ...leaseMs });
    if (lease === null) return;
    const running = new Map<string, FeedFollower>();
    try {
      while (!over.signal.aborted && !lease.lost.aborted) {
        news = new AbortController();
        const isNone = await updateFollowers(running, lease).then(() => running.size === 0, trouble);
        if (isNone === true) return;
        await rest(isNone === undefined ? lookMs : idleMs, lease.lost);
      }
    } finally {
      await Promise.all([...running.values()].map((following) => following.stop()));
      await lease.release();
    }
  }

  /** Starts new webhooks, and ends removed ones. */
  async function updateFollowers(running: Map<string, FeedFollower>, lease: LeaderLease): Promise<void> {
    const hooks = await listHooks(deps);
    const known = new Set(hooks.map(identityOf));
    for (const [identity, following] of running) {
      if (known.has(identity)) continue;
      running.delete(identity);
      await following.stop();
    }
    for (const hook of hooks) {
      const identity = identityOf(hook);
      if (over.signal.aborted || running.has(identity) || hook.url === null) continue;
      running.set(identity, await sendOn(engine, hook, { ...options, taken: lease.taken }));
    }
  }

  const gone = going();
  return {
    async stop() {
      over.abort();
      await watching.stop();
      await gone;
    },
  };
}

/** After a rollback of the store another webhook may have been set at the same position. */
const identityOf = ({ setSeq, setAt, name, url, events, secret }: HookEntry): string =>
  JSON.stringify([setSeq, setAt, name, url, events, secret]);

/** Webhooks and leaders come and go. */
const isNews = ({ type, session }: StoredRecord): boolean =>
  type === "hook.set" || type === "hook.removed" || (type === "lease.released" && !isSessionId(session));

/** Sends one webhook, until it is stopped. */
async function sendOn(engine: Engine, hook: HookEntry, options: AsLeader): Promise<FeedFollower> {
  const { trouble, taken, noteMs = noteMsUsual } = options;
  const deps = internalsOf(engine);
  const clock = (): number => deps.world.steady?.() ?? deps.world.now();
  let [delivered, passed, notedMs] = [0, 0, -Infinity];
  let place = parsePlace(hook.position);
  deps.live.webhookFailures.clear(hook.setSeq);

  async function note(): Promise<void> {
    const count = delivered;
    [delivered, passed, notedMs] = [0, 0, clock()];
    await noteDelivered(deps, hook, { to: placeText(place), count, taken });
  }

  const isDue = (): boolean => delivered > 0 && clock() - notedMs >= noteMs;

  const following = await followFeed(engine, {
    after: place.after,
    trouble,
    async heard({ records, position }, signal) {
      for (const record of after(records, place)) {
        if (signal.aborted) return;
        if (await isWanted(deps, hook, record)) {
          const became = await deliverUntil(deps, { hook, record, options, signal });
          if (became === "aborted") return;
          if (became === "delivered") delivered += 1;
        }
        place = { after: place.after, last: lastOf(record) };
      }
      place = { after: position, last: null };
      passed += records.length;
      if (isDue() || passed >= passedMax) await note();
    },
    async rolledBack(common) {
      const start = common ?? (await startOf(deps, hook));
      // The position where it was set may be lost as well: then it gets everything.
      place = { after: start === place.after ? null : start, last: null };
      return place.after;
    },
    idle: () => (isDue() ? note() : undefined),
  });
  return {
    async stop() {
      await following.stop();
      deps.live.webhookFailures.forget(hook.setSeq);
      // If this fails, the events are sent again after the next start.
      if (delivered > 0) await note().catch(trouble);
    },
  };
}

/** The position of the feed at which a webhook was set; null when it is unknown. */
async function startOf({ store }: EngineInternals, { setSeq }: HookEntry): Promise<string | null> {
  const range = { fromSeq: setSeq, toSeq: setSeq, limit: 1, contents: false };
  const [record] = await store.read(store.workspace, range);
  return record?.type === "hook.set" ? (JSON.parse(record.body) as { from: string }).from : null;
}

/** The part of a page after a cursor. */
const after = (records: readonly StoredRecord[], { last }: FeedPlace): readonly StoredRecord[] =>
  last === null ? records : records.slice(records.findIndex((record) => isLast(record, last)) + 1);

async function isWanted({ store }: EngineInternals, hook: HookEntry, record: StoredRecord): Promise<boolean> {
  const { type, session } = record;
  // Events of tokens and webhooks are not sent, unless they are named.
  const isInner =
    type.startsWith("hook.") ||
    type.startsWith("token.") ||
    (type.startsWith("lease.") && !isSessionId(session));
  const isNamed = hook.events.some(
    (one) =>
      one === type ||
      (!isInner && (one === "*" || (one.endsWith(".*") && type.startsWith(one.slice(0, -1))))),
  );
  if (!isNamed || (hook.session !== null && hook.session !== session)) return false;
  const labels = Object.entries(hook.labels);
  if (hook.agent === null && labels.length === 0) return true;
  if (!isSessionId(session)) return false;
  const [row] = await store.scheduled([session]);
  if (row === undefined || row.copy === true) return false;
  return (
    (hook.agent === null || row.agent === hook.agent) &&
    labels.every(([key, value]) => row.labels[key] === value)
  );
}

export interface HookBacklog {
  /** Undelivered events, as far as deliveries are recorded. */
  readonly waiting: number;
  /** When the first of them was written; null: there is none. */
  readonly waitingSince: number | null;
}

/**
 * The backlog of a webhook, as any process can compute it: the wanted ones of the next 10,000 events after
 * the last recorded delivery.
 */
export async function waitingFor(deps: EngineInternals, hook: HookEntry): Promise<HookBacklog> {
  let place = parsePlace(hook.position);
  let waiting = 0;
  let waitingSince: number | null = null;
  for (let read = 0; read < passedMax && hook.url !== null;) {
    const { records, position, rolledBackTo } = await deps.store.feed(place.after, pageRecords);
    if (records.length === 0) break;
    if (rolledBackTo !== undefined) place = { after: rolledBackTo, last: null };
    for (const record of after(records, place)) {
      if (!(await isWanted(deps, hook, record))) continue;
      waiting += 1;
      waitingSince ??= record.at;
    }
    place = { after: position, last: null };
    read += records.length;
  }
  return { waiting, waitingSince };
}

interface HookDelivery {
  readonly hook: HookEntry;
  readonly record: StoredRecord;
  readonly options: AsLeader;
  readonly signal: AbortSignal;
}

async function deliverUntil(
  deps: EngineInternals,
  telling: HookDelivery,
): Promise<"delivered" | "abandoned" | "aborted"> {
  const { hook, record, options, signal } = telling;
  const { world, store } = deps;
  const { webhookFailures } = deps.live;
  const cut = new AbortController();
  const soon = (): void => void world.sleep(graceMs, cut.signal).then(() => cut.abort());
  signal.addEventListener("abort", soon, { once: true });
  try {
    for (let attempts = 1, againMs = options.againMs ?? againMsMin; ; attempts++) {
      const given = { hook, options, event: eventOf(record), signal: cut.signal };
      const wrong = await callHook(deps, given).then(whyNot, asError);
      if (wrong === null) {
        if (attempts > 1) webhookFailures.clear(hook.setSeq);
        return "delivered";
      }
      if (signal.aborted) return "aborted";
      const nextTryAt = store.now() + againMs;
      webhookFailures.note(hook.setSeq, { error: wrong, failures: attempts, nextTryAt });
      if (attempts === 1)
        options.trouble(new SkeinError("unavailable", `webhook ${quote(hook.name)}: ${wrong.message}`));
      if (store.now() - record.at >= limit.hookRetryMs) {
        const { taken } = options;
        await noteAbandoned(deps, hook, { session: record.session, seq: record.seq, attempts, taken });
        return "abandoned";
      }
      await world.sleep(againMs, signal);
      if (signal.aborted) return "aborted";
      againMs = Math.min(againMs * 2, againMsMax);
    }
  } finally {
    signal.removeEventListener("abort", soon);
    cut.abort();
  }
}

const whyNot = ({ status }: PostResult): Error | null =>
  status >= 200 && status < 300 ? null : new Error(`the receiver responded with ${status}`);
const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

/** The event without its content. */
function eventOf({ session, seq, at, type, v, actor, turn, cause, hash, body }: StoredRecord): object {
  return { session, seq, at, type, v, actor, turn, cause, hash, body: JSON.parse(body) as unknown };
}

/** One call, whatever its result. Without an event it is a test. */
export async function callHook(
  { world, store }: EngineInternals,
  given: {
    readonly hook: HookEntry;
    readonly event?: object;
    readonly options: Pick<WebhooksOutOptions, "outbound">;
    readonly signal?: AbortSignal;
  },
): Promise<PostResult> {
  const { hook, signal } = given;
  const secret = world.secret(hook.secret);
  if (secret === undefined || secret === "") {
    throw new SkeinError("unavailable", `secret ${quote(hook.secret)} is not set`, {
      hint: "set it in the environment of the server",
    });
  }
  if (hook.url === null)
    throw new SkeinError("refused", "the webhook's URL was erased", { hint: "set the webhook again" });
  const event = (given.event ?? { type: "trial" }) as Partial<StoredRecord> & { readonly type: string };
  // After a rollback of the store another event may have this position: the hash distinguishes them.
  const delivery =
    event.session === undefined ? "trial" : `${event.session}@${event.seq}.${event.hash?.slice(0, 16)}`;
  const body = JSON.stringify({ delivery, hook: hook.name, event });
  const t = Math.floor(store.now() / 1_000);
  const signature = signatureOf(world, secret, Buffer.from(`${t}.${body}`));
  return post({ ...given.options.outbound, world }, hook.url, {
    body,
    headers: {
      "content-type": "application/json",
      "user-agent": "skein",
      "skein-delivery": delivery,
      "skein-event": event.type,
      "skein-signature": `t=${t},v1=${signature}`,
    },
    ...(signal === undefined ? {} : { signal }),
  });
}
