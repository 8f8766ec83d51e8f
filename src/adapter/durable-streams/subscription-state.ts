/** The state of a subscription, from the records of its session. Pure. */
import type { SessionEvent } from "../../core/event.ts";
import { globMatcher } from "../../core/text/glob.ts";

/** Types of the records of subscriptions. */
export const subscriptionTypes = {
  created: "x.durable-streams.subscribed",
  linked: "x.durable-streams.linked",
  woken: "x.durable-streams.woken",
  attempted: "x.durable-streams.attempted",
  accepted: "x.durable-streams.accepted",
  abandoned: "x.durable-streams.abandoned",
  claimed: "x.durable-streams.claimed",
  acked: "x.durable-streams.acked",
  released: "x.durable-streams.released",
} as const;

/** What a subscription was created with. */
export interface SubscriptionSettings {
  readonly id: string;
  readonly type: "webhook" | "pull-wake";
  readonly pattern: string | null;
  /** Sorted, each once. */
  readonly streams: readonly string[];
  readonly url: string | null;
  readonly wakeStream: string | null;
  readonly leaseMs: number;
  readonly description: string | null;
}

/** How far a stream was processed. A stream that was deleted and created again is another session. */
export interface StreamPlace {
  readonly path: string;
  readonly session: string | null;
  readonly seq: number;
}

export interface Wake {
  readonly id: string;
  readonly generation: number;
  readonly atMs: number;
  readonly streams: readonly StreamPlace[];
  /** Attempts to call the webhook; 0 for pull-wake. */
  readonly attempts: number;
  /** When the webhook is called again. */
  readonly nextAttemptMs: number;
  /** A worker has it. */
  readonly isTaken: boolean;
  readonly holder: string | null;
  readonly leaseUntilMs: number;
}

export interface SubscriptionState {
  readonly seq: number;
  /** Null: it is not there, or not yet. */
  readonly settings: SubscriptionSettings | null;
  /** The URL that the server was called at when it was created. */
  readonly base: string;
  readonly createdMs: number;
  readonly explicit: ReadonlySet<string>;
  readonly acked: ReadonlyMap<string, StreamPlace>;
  /** Wakes are abandoned up to here: only what is after it wakes again. */
  readonly skipped: ReadonlyMap<string, StreamPlace>;
  readonly generation: number;
  readonly wake: Wake | null;
  /** Digests of the tokens of the last wakes, with their generations. */
  readonly tokens: ReadonlyMap<string, number>;
}

export const emptySubscription: SubscriptionState = {
  seq: 0,
  settings: null,
  base: "",
  createdMs: 0,
  explicit: new Set(),
  acked: new Map(),
  skipped: new Map(),
  generation: 0,
  wake: null,
  tokens: new Map(),
};

const tokensMax = 1_000;

/** The bodies and contents of the records. Names and URLs are content, so that they can be erased. */
export interface CreatedContent {
  readonly settings: SubscriptionSettings;
  readonly base: string;
  readonly streams: readonly StreamPlace[];
}
export interface LinkedContent {
  readonly add: readonly StreamPlace[];
  readonly remove: readonly string[];
}
export interface WokenBody {
  readonly wake: string;
  readonly attempts: number;
  readonly nextMs: number;
  readonly token: string | null;
}
export interface AttemptedBody {
  readonly attempts: number;
  readonly nextMs: number;
}
export interface AckedBody {
  readonly done: boolean;
}
export interface PlacesContent {
  readonly streams: readonly StreamPlace[];
}

/** The state after one more record. */
export function foldSubscription(state: SubscriptionState, event: SessionEvent): SubscriptionState {
  const { seq, at, type, body, content } = event;
  const next = { ...state, seq };
  // Erased: it is a subscription no more.
  if (type === subscriptionTypes.created) {
    if (content === undefined) return next;
    const { settings, base, streams } = content as CreatedContent;
    const fresh = { ...emptySubscription, seq, settings, base, createdMs: at };
    return { ...fresh, explicit: new Set(settings.streams), acked: withPlaces(new Map(), streams) };
  }
  const { settings, wake } = state;
  if (settings === null) return next;
  if (type === subscriptionTypes.linked) {
    const { add = [], remove = [] } = (content ?? {}) as Partial<LinkedContent>;
    const explicit = new Set([...state.explicit, ...add.map(({ path }) => path)]);
    for (const path of remove) explicit.delete(path);
    const fresh = add.filter(({ path }) => !state.acked.has(path));
    const acked = new Map(withPlaces(state.acked, fresh));
    for (const path of remove) if (!isMatch(settings, path)) acked.delete(path);
    return { ...next, explicit, acked };
  }
  if (type === subscriptionTypes.woken) {
    const { streams = [] } = (content ?? {}) as Partial<PlacesContent>;
    const { wake: id, attempts, nextMs, token } = body as WokenBody;
    const generation = state.generation + 1;
    const free = { isTaken: false, holder: null, leaseUntilMs: 0 };
    const woken = { id, generation, atMs: at, streams, attempts, nextAttemptMs: nextMs, ...free };
    return { ...next, generation, wake: woken, tokens: withToken(state.tokens, token, generation) };
  }
  if (wake === null) return next;
  const leaseUntilMs = at + settings.leaseMs;
  if (type === subscriptionTypes.attempted) {
    const { attempts, nextMs } = body as AttemptedBody;
    return { ...next, wake: { ...wake, attempts, nextAttemptMs: nextMs } };
  }
  if (type === subscriptionTypes.accepted) return { ...next, wake: { ...wake, isTaken: true, leaseUntilMs } };
  if (type === subscriptionTypes.claimed) {
    const { token } = body as Pick<WokenBody, "token">;
    const { worker = "" } = (content ?? {}) as { readonly worker?: string };
    const tokens = withToken(state.tokens, token, wake.generation);
    return { ...next, tokens, wake: { ...wake, isTaken: true, holder: worker, leaseUntilMs } };
  }
  if (type === subscriptionTypes.acked) {
    const { streams = [] } = (content ?? {}) as Partial<PlacesContent>;
    const { done } = body as AckedBody;
    const acked = withPlaces(state.acked, streams);
    return { ...next, acked, wake: done ? null : { ...wake, isTaken: true, leaseUntilMs } };
  }
  if (type === subscriptionTypes.released) return { ...next, wake: null };
  if (type === subscriptionTypes.abandoned)
    return { ...next, wake: null, skipped: withPlaces(new Map(), wake.streams) };
  return next;
}

function withPlaces(
  before: ReadonlyMap<string, StreamPlace>,
  places: readonly StreamPlace[],
): ReadonlyMap<string, StreamPlace> {
  const all = new Map(before);
  for (const place of places) {
    const known = all.get(place.path);
    // Never backwards.
    if (known === undefined || known.session !== place.session || known.seq < place.seq)
      all.set(place.path, place);
  }
  return all;
}

function withToken(
  before: ReadonlyMap<string, number>,
  token: string | null,
  generation: number,
): ReadonlyMap<string, number> {
  if (token === null) return before;
  const all = new Map(before).set(token, generation);
  for (const oldest of all.keys()) if (all.size > tokensMax) all.delete(oldest);
  return all;
}

/** Whether the pattern matches a stream. `*` is one segment of its name, `**` any number. */
export function isMatch({ pattern }: Pick<SubscriptionSettings, "pattern">, path: string): boolean {
  if (pattern === null) return false;
  // Below a first segment: a pattern of one segment is no pattern for the last one.
  return globMatcher(`s/${pattern.replaceAll(/[?[\]{}\\]/g, "\\$&")}`)(`s/${path}`);
}

/** A linked stream, as of now. */
export interface StreamLink {
  readonly path: string;
  readonly session: string | null;
  readonly isExplicit: boolean;
  readonly ackedSeq: number;
  readonly tailSeq: number;
}

/** The links of a subscription, given the streams that there are. */
export function linksOf(
  { settings, explicit, acked }: SubscriptionState,
  streams: ReadonlyMap<string, { readonly session: string; readonly tailSeq: number }>,
): readonly StreamLink[] {
  const matching =
    settings?.pattern === null ? [] : [...streams.keys()].filter((path) => isMatch(settings ?? none, path));
  const paths = [...new Set([...explicit, ...acked.keys(), ...matching])].toSorted();
  return paths.flatMap((path) => {
    // Its own wakes would wake it for ever.
    if (path === settings?.wakeStream) return [];
    const stream = streams.get(path);
    const isExplicit = explicit.has(path);
    // What only the pattern linked is gone with the stream.
    if (stream === undefined && !isExplicit) return [];
    const known = acked.get(path);
    const session = stream?.session ?? null;
    const ackedSeq = known !== undefined && known.session === session ? known.seq : 0;
    return [{ path, session, isExplicit, ackedSeq, tailSeq: stream?.tailSeq ?? 0 }];
  });
}

const none = { pattern: null };

/** Whether a stream has something that no wake was abandoned for. */
export function isPending({ skipped }: SubscriptionState, link: StreamLink): boolean {
  const skip = skipped.get(link.path);
  const from = skip?.session === link.session ? skip.seq : 0;
  return link.tailSeq > Math.max(link.ackedSeq, from);
}

/** Whether the wake is over because nobody answered in time. */
export const isExpired = ({ isTaken, leaseUntilMs }: Wake, nowMs: number): boolean =>
  isTaken && nowMs >= leaseUntilMs;

/** Whether a PUT asks for what is there. */
export const isSameSubscription = (a: SubscriptionSettings, b: SubscriptionSettings): boolean =>
  JSON.stringify(a) === JSON.stringify(b);
