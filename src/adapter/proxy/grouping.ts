/**
 * Finds the session that a request continues: the one whose last request had the same beginning. Another
 * answer to the same beginning, and a call beside an open one, are forks. The index is derived: entries that
 * memory lacks are read from the sessions that began with the same message.
 */
import { makeCache } from "../../core/cache.ts";
import type { SessionId } from "../../core/ids.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";

/** A request that was recorded. */
export interface Point {
  readonly session: SessionId;
  readonly chain: string;
  readonly requestSeq: number;
  /** The position after its outcome; null while it is open. */
  endSeq: number | null;
  failed: boolean;
  /** Tokens of its request and answer: what the next one continues has as many. */
  tokens: number;
  /** While this process forwards it. */
  live: LiveCall | null;
  /** Digest of the settings that the log has by then. */
  readonly settings: string;
}

/** A call whose outcome is not in the log yet. */
export interface LiveCall {
  /** Resolves when the outcome is in the log, or could not be written. */
  readonly settled: Promise<unknown>;
  /** The client may know by now that the call failed. */
  readonly isRefused: () => boolean;
  /** The id of its answer, as soon as it came. */
  readonly answerId: () => string | null;
}

/** Where a request goes. */
export type SessionChoice =
  | { readonly kind: "new" }
  /** `known`: messages that the log has. */
  | { readonly kind: "continue"; readonly point: Point; readonly known: number }
  | { readonly kind: "fork"; readonly point: Point; readonly atSeq: number; readonly known: number };

export interface ConversationIndex {
  find(engine: Engine, asked: ConversationKey): Promise<SessionChoice>;
  add(owner: string, point: Point): void;
  /** The answer that a provider keeps under an id. */
  name(owner: string, answerId: string, point: Point): void;
}

export interface ConversationKey {
  /** Keyed digest of tenant, token and provider: grouping never crosses them. */
  readonly owner: string;
  /** Digests of the first 0, 1, 2… messages. */
  readonly chain: readonly string[];
  /** The label of sessions that began with the same first message. */
  readonly label: string;
  readonly previous: string | null;
}

const pointsMax = 20_000;
/** Sessions that began with the same message and are read. */
const sessionsMax = 20;
/** How long a request waits for the outcome of the one that it continues, which its client has seen. */
const settleMs = 1_000;
export const startLabel = "proxy/start";

export function makeIndex(): ConversationIndex {
  const points = makeCache<string, Point>(pointsMax);
  /** The last request of a session. */
  const last = makeCache<string, Point>(pointsMax);
  const live = new Map<string, Set<Point>>();
  const keyOf = (owner: string, chain: string): string => `${owner}\n${chain}`;

  function add(owner: string, point: Point): void {
    points.set(keyOf(owner, point.chain), point);
    last.set(point.session, point);
    if (point.live === null) return;
    const open = live.get(owner) ?? new Set();
    live.set(owner, open.add(point));
    void point.live.settled.finally(() => {
      open.delete(point);
      if (open.size === 0 && live.get(owner) === open) live.delete(owner);
    });
  }

  function named(owner: string, previous: string): Point | undefined {
    const open = [...(live.get(owner) ?? [])].find((point) => point.live?.answerId() === previous);
    return open ?? points.get(keyOf(owner, `answer:${previous}`));
  }

  function known({ owner, chain, previous }: ConversationKey): { point: Point; count: number } | null {
    const before = previous === null ? undefined : named(owner, previous);
    if (before !== undefined) return { point: before, count: 0 };
    for (let count = chain.length - 1; count > 0; count--) {
      const point = points.get(keyOf(owner, chain[count] ?? ""));
      if (point !== undefined) return { point, count };
    }
    return null;
  }

  async function load(engine: Engine, { owner, label }: ConversationKey): Promise<void> {
    const { rows } = await engine.sessions({ labels: { [startLabel]: label }, limit: sessionsMax });
    for (const row of rows.toReversed()) for (const point of await pointsOf(engine, row)) add(owner, point);
  }

  return {
    add,
    name: (owner, answerId, point) => points.set(keyOf(owner, `answer:${answerId}`), point),
    async find(engine, asked) {
      // Of one message alone nothing was answered before.
      if (known(asked) === null && asked.chain.length > 2) await load(engine, asked);
      const found = known(asked);
      if (found === null) return { kind: "new" };
      const { point, count } = found;
      const isRetry = count === asked.chain.length - 1 && asked.previous === null;
      // The client knows how it ended; the log will in a moment.
      if (point.live !== null && (!isRetry || point.live.isRefused())) await soon(engine, point.live.settled);
      const isLast = last.get(point.session) === point;
      if (point.endSeq === null) return { kind: "fork", point, atSeq: point.requestSeq - 1, known: count };
      if (isRetry && !point.failed) return { kind: "fork", point, atSeq: point.requestSeq - 1, known: count };
      if (isLast) return { kind: "continue", point, known: count };
      return { kind: "fork", point, atSeq: point.endSeq, known: count };
    },
  };
}

async function soon(engine: Engine, settled: Promise<unknown>): Promise<void> {
  const stop = new AbortController();
  await Promise.race([settled, internalsOf(engine).world.sleep(settleMs, stop.signal)]);
  stop.abort();
}

const types = ["proxy.requested", "proxy.responded", "proxy.failed", "answer.imported"] as const;

/**
 * The recorded requests of a session, from its log. One without outcome stays open: it may be forwarded yet.
 */
async function pointsOf(engine: Engine, { session: id, parent }: Row): Promise<readonly Point[]> {
  const session = await engine.session(id);
  const points: Point[] = [];
  const fromSeq = (parent?.seq ?? 0) + 1;
  for await (const { body, seq, type } of session.events({ types: [...types], fromSeq })) {
    const open = points.at(-1);
    if (type === "proxy.requested") {
      const { chain, settings } = body as { chain: string; settings: string };
      points.push({
        session: id,
        chain,
        requestSeq: seq,
        endSeq: null,
        failed: false,
        tokens: 0,
        live: null,
        settings,
      });
    } else if (type !== "answer.imported" && open !== undefined) {
      [open.endSeq, open.failed, open.tokens] = [
        seq,
        type === "proxy.failed",
        tokensOf(body as { usage?: unknown }),
      ];
      // What was said stands right after it.
    } else if (open?.endSeq === seq - 1) open.endSeq = seq;
  }
  return points;
}

/** All tokens of a call, by its outcome. */
export function tokensOf({ usage }: { readonly usage?: unknown }): number {
  const { inputTokens = 0, outputTokens = 0 } = (usage ?? {}) as Partial<Record<string, number>>;
  return inputTokens + outputTokens;
}

type Row = Awaited<ReturnType<Engine["sessions"]>>["rows"][number];
