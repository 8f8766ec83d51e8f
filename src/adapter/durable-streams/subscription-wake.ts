/** Wakes subscriptions that have something pending: calls their webhook, or writes to their wake stream. */
import { hash } from "node:crypto";
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import { followJobs } from "../feed-jobs.ts";
import { retryDelayMs, type PushCalls } from "../push-calls.ts";
import { piecesOf } from "./named-data.ts";
import { offsetOf } from "./named-headers.ts";
import { judgeProducer, recordTypes } from "./named-state.ts";
import type { NamedStreams } from "./named-streams.ts";
import {
  isExpired,
  isMatch,
  isPending,
  subscriptionTypes,
  type StreamLink,
  type SubscriptionState,
  type Wake,
} from "./subscription-state.ts";
import type { Subscription, SubscriptionRecord, Subscriptions } from "./subscriptions.ts";

export interface WakeDeps {
  readonly streams: NamedStreams;
  readonly subscriptions: Subscriptions;
  /** Null: webhooks are not called. */
  readonly push: PushCalls | null;
}

/** The streams that one wake names; more come with the next. */
const wakeStreamsMax = 200;
/** Another server takes over an attempt that has not ended after so long. */
const attemptMs = limit.hookMs + 2_000;
/** How often a wake stream that is not there is looked for. */
const missingMs = 60_000;

/** A link as clients see it. */
export const linkFields = ({ path, isExplicit, ackedSeq, tailSeq }: StreamLink): object => ({
  path,
  link_type: isExplicit ? "explicit" : "glob",
  acked_offset: offsetOf(ackedSeq),
  tail_offset: offsetOf(tailSeq),
  has_pending: tailSeq > ackedSeq,
});

/** The wake that is in force. `isNew`: this call made it. Null: nothing is pending. */
export async function wakeIfPending(
  { subscriptions, push }: WakeDeps,
  engine: Engine,
  id: string,
): Promise<{ readonly found: Subscription; readonly wake: Wake; readonly isNew: boolean } | null> {
  const { world, store } = internalsOf(engine);
  const changed = await subscriptions.change(engine, id, async ({ state, settings, session }) => {
    const nowMs = store.now();
    if (state.wake !== null && !isExpired(state.wake, nowMs)) return [false];
    const pending = (await subscriptions.links(engine, state)).filter((link) => isPending(state, link));
    if (pending.length === 0) return [false];
    const wake = `w_${Buffer.from(world.random(12)).toString("hex")}`;
    const isCalled = settings.type === "webhook" && push !== null;
    const body = {
      wake,
      attempts: isCalled ? 1 : 0,
      nextMs: isCalled ? nowMs + attemptMs : nowMs,
      token: isCalled ? hash("sha256", callbackToken(push, engine, session.id, wake)) : null,
    };
    const streams = pending
      .slice(0, wakeStreamsMax)
      .map(({ path, session: of, tailSeq }) => ({ path, session: of, seq: tailSeq }));
    return [true, { type: subscriptionTypes.woken, body, content: { streams } }];
  });
  if (changed === null) return null;
  const { found, result: isNew } = changed;
  const { wake } = found.state;
  return wake === null || isExpired(wake, store.now()) ? null : { found, wake, isNew };
}

/** Tokens name their tenant, so that a callback finds its store. */
export const tokenText = (engine: Engine, secret: string): string =>
  `dst_${internalsOf(engine).tenant}.${secret}`;

const callbackToken = (push: PushCalls, engine: Engine, session: string, wake: string): string =>
  tokenText(engine, push.tokenFor(`${session} ${wake}`));

/** Wakes subscriptions for as long as the server runs. */
export function followSubscriptions(engine: Engine, deps: WakeDeps, trouble: (error: unknown) => void) {
  const { subscriptions, streams } = deps;
  /** What each of them is linked to, as of its last run. */
  const linked = new Map<string, SubscriptionState>();
  const own: readonly string[] = Object.values(subscriptionTypes);
  return followJobs(engine, {
    trouble,
    all: () => subscriptions.all(engine),
    async concerned(records) {
      const keys = new Set<string>();
      for (const { type, session } of records) {
        if (own.includes(type)) keys.add(session);
        if ((type !== recordTypes.data && type !== recordTypes.created) || linked.size === 0) continue;
        const name = await streams.nameOf(engine, session);
        if (name === null) continue;
        for (const [key, { settings, explicit }] of linked)
          if (explicit.has(name) || (settings !== null && isMatch(settings, name))) keys.add(key);
      }
      return keys;
    },
    async run(key, signal) {
      const found = await subscriptions.at(engine, key);
      if (found === null) {
        linked.delete(key);
        return null;
      }
      linked.set(key, found.state);
      return runOnce(deps, engine, { key, signal, trouble });
    },
  });
}

interface RunOptions {
  readonly key: string;
  readonly signal: AbortSignal;
  readonly trouble: (error: unknown) => void;
}

/** Does what is due. Resolves to when something is due again. */
async function runOnce(
  deps: WakeDeps,
  engine: Engine,
  { key, signal, trouble }: RunOptions,
): Promise<number | null> {
  const { store } = internalsOf(engine);
  while (!signal.aborted) {
    const woken = await wakeIfPending(deps, engine, key);
    if (woken === null) return null;
    const { found, wake, isNew } = woken;
    if (wake.isTaken) return wake.leaseUntilMs;
    if (found.settings.type === "pull-wake") {
      if (await announce(deps, engine, found, wake)) return null;
      trouble(missingWakeStream(found));
      return store.now() + missingMs;
    }
    // An operator no longer allows it.
    if (deps.push === null) return null;
    if (!isNew && wake.nextAttemptMs > store.now()) return wake.nextAttemptMs;
    if (!isNew && !(await beginAttempt(deps, engine, key, wake))) continue;
    await callOnce({ ...deps, push: deps.push }, engine, { found, wake, isNew, signal, trouble });
  }
  return null;
}

const missingWakeStream = ({ settings }: Subscription): SkeinError =>
  new SkeinError("not-found", `stream subscription ${quote(settings.id)}: its wake stream is not there`, {
    hint: "create the stream, or delete the subscription",
  });

/** Writes a wake to its stream, once. False: the stream is not there, or is closed. */
async function announce(
  { streams }: WakeDeps,
  engine: Engine,
  { settings, session }: Subscription,
  wake: Wake,
): Promise<boolean> {
  const { id, wakeStream } = settings;
  if (wakeStream === null) return false;
  const [first] = wake.streams;
  const ts = wake.atMs;
  const event = { type: "wake", subscription_id: id, stream: first?.path, generation: wake.generation, ts };
  const producer = { id: `__ds/${session.id}`, epoch: wake.generation, seq: 0 };
  const done = await streams.append(engine, wakeStream, ({ state, settings: { contentType } }) => {
    if (state.isDeleted || state.isClosed) return { write: null, result: false };
    // Written before, by this or another server.
    if (judgeProducer(state, producer).is !== "new") return { write: null, result: true };
    const pieces = piecesOf(Buffer.from(JSON.stringify(event)), contentType);
    return { write: { pieces, closes: false, producer, streamSeq: null }, result: true };
  });
  return done?.result ?? false;
}

/** Takes the next attempt. False: another server has it, or the wake is over. */
async function beginAttempt(
  { subscriptions }: WakeDeps,
  engine: Engine,
  key: string,
  { id, attempts }: Wake,
): Promise<boolean> {
  const { store } = internalsOf(engine);
  const body = { attempts: attempts + 1, nextMs: store.now() + attemptMs };
  const begun = await subscriptions.change(engine, key, async ({ state: { wake } }) =>
    wake?.id === id && wake.attempts === attempts && !wake.isTaken && wake.nextAttemptMs <= store.now()
      ? [true, { type: subscriptionTypes.attempted, body }]
      : [false],
  );
  return begun?.result === true;
}

interface Attempt extends Pick<RunOptions, "signal" | "trouble"> {
  readonly found: Subscription;
  readonly wake: Wake;
  readonly isNew: boolean;
}

/** One call of the webhook, and what came of it. */
async function callOnce(
  { subscriptions, push }: WakeDeps & { readonly push: PushCalls },
  engine: Engine,
  { found, wake, isNew, signal, trouble }: Attempt,
): Promise<void> {
  const { world, store } = internalsOf(engine);
  const { settings, session, state } = found;
  const attempts = isNew ? wake.attempts : wake.attempts + 1;
  const links = new Map((await subscriptions.links(engine, state)).map((link) => [link.path, link]));
  const name = encodeURIComponent(settings.id);
  const body = JSON.stringify({
    subscription_id: settings.id,
    wake_id: wake.id,
    generation: wake.generation,
    streams: wake.streams.flatMap(({ path, seq }) => {
      const link = links.get(path);
      return link === undefined ? [] : [linkFields({ ...link, tailSeq: seq })];
    }),
    callback_url: `${state.base}/streams/v1/stream/__ds/subscriptions/${name}/callback`,
    callback_token: callbackToken(push, engine, session.id, wake.id),
  });
  let wrong: string | null = null;
  let isDone = false;
  try {
    const url = push.checkUrl(settings.url);
    const answer = await push.send(world, store.now(), { url, body, signal });
    if (answer.status < 200 || answer.status > 299) wrong = `the receiver responded with ${answer.status}`;
    else isDone = saysDone(answer.body);
  } catch (error) {
    if (signal.aborted) return;
    wrong = error instanceof Error ? error.message : String(error);
  }
  if (wrong !== null && attempts === 1)
    trouble(new SkeinError("unavailable", `stream subscription ${quote(settings.id)}: ${wrong}`));
  await subscriptions.change(engine, session.id, async ({ state: { wake: now } }) => {
    // The receiver may have called back meanwhile.
    if (now?.id !== wake.id || now.isTaken) return [null];
    return [null, outcome(now, { wrong, isDone, attempts, nowMs: store.now(), random: world.random })];
  });
}

interface AttemptResult {
  readonly wrong: string | null;
  readonly isDone: boolean;
  readonly attempts: number;
  readonly nowMs: number;
  readonly random: (count: number) => Uint8Array;
}

function outcome(wake: Wake, { wrong, isDone, attempts, nowMs, random }: AttemptResult): SubscriptionRecord {
  if (wrong === null && isDone)
    return { type: subscriptionTypes.acked, body: { done: true }, content: { streams: wake.streams } };
  if (wrong === null) return { type: subscriptionTypes.accepted };
  if (nowMs - wake.atMs >= limit.hookRetryMs) return { type: subscriptionTypes.abandoned };
  const nextMs = nowMs + retryDelayMs(attempts, (random(1)[0] ?? 0) / 255);
  return { type: subscriptionTypes.attempted, body: { attempts, nextMs } };
}

function saysDone(body: Buffer | undefined): boolean {
  try {
    const said = JSON.parse(body?.toString() ?? "") as { readonly done?: unknown } | null;
    return said?.done === true;
  } catch {
    return false;
  }
}
