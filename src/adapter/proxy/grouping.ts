/**
 * Finds the session that a request continues: the one whose last request had the same beginning. Another
 * answer to the same beginning, and a call beside an open one, are forks. The index is derived: what is not
 * in memory is read from the sessions that began with the same message.
 */
import { makeCache } from "../../core/cache.ts";
import type { SessionId } from "../../core/ids.ts";
import type { Engine } from "../../runtime/engine/engine.ts";

/** A request that was recorded. */
export interface Point {
  readonly session: SessionId;
  readonly chain: string;
  readonly requestSeq: number;
  /** The position after its outcome; null while it is open. */
  endSeq: number | null;
  failed: boolean;
  /** Digest of the settings that the log has by then. */
  readonly settings: string;
}

/** Where a request goes. */
export type Place =
  | { readonly kind: "new" }
  /** `known`: messages that the log has. */
  | { readonly kind: "continue"; readonly point: Point; readonly known: number }
  | { readonly kind: "fork"; readonly point: Point; readonly atSeq: number; readonly known: number };

export interface Index {
  find(engine: Engine, asked: Asked): Promise<Place>;
  add(owner: string, point: Point): void;
  /** The answer that a provider keeps under an id. */
  name(owner: string, answerId: string, point: Point): void;
}

export interface Asked {
  /** Tenant, token and provider: grouping never crosses them. */
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
export const startLabel = "proxy/start";

export function makeIndex(): Index {
  const points = makeCache<string, Point>(pointsMax);
  /** The last request of a session. */
  const last = makeCache<string, Point>(pointsMax);
  const keyOf = (owner: string, chain: string): string => `${owner}\n${chain}`;

  function add(owner: string, point: Point): void {
    points.set(keyOf(owner, point.chain), point);
    last.set(point.session, point);
  }

  function known({ owner, chain, previous }: Asked): { point: Point; count: number } | null {
    const named = previous === null ? undefined : points.get(keyOf(owner, `answer:${previous}`));
    if (named !== undefined) return { point: named, count: 0 };
    for (let count = chain.length - 1; count > 0; count--) {
      const point = points.get(keyOf(owner, chain[count] ?? ""));
      if (point !== undefined) return { point, count };
    }
    return null;
  }

  async function load(engine: Engine, { owner, label }: Asked): Promise<void> {
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
      const isLast = last.get(point.session) === point;
      const isRetry = count === asked.chain.length - 1 && asked.previous === null;
      if (point.endSeq === null) return { kind: "fork", point, atSeq: point.requestSeq - 1, known: count };
      if (isRetry && !point.failed) return { kind: "fork", point, atSeq: point.requestSeq - 1, known: count };
      if (isLast) return { kind: "continue", point, known: count };
      return { kind: "fork", point, atSeq: point.endSeq, known: count };
    },
  };
}

const types = ["proxy.requested", "proxy.responded", "proxy.failed", "answer.imported"] as const;

/** The recorded requests of a session, from its log. An open one is of a process that died: it failed. */
async function pointsOf(engine: Engine, { session: id, parent }: Row): Promise<readonly Point[]> {
  const session = await engine.session(id);
  const points: Point[] = [];
  const fromSeq = (parent?.seq ?? 0) + 1;
  for await (const { body, seq, type } of session.events({ types: [...types], fromSeq })) {
    const open = points.at(-1);
    if (type === "proxy.requested") {
      if (open !== undefined) close(open);
      const { chain, settings } = body as { chain: string; settings: string };
      points.push({
        session: id,
        chain,
        requestSeq: seq,
        endSeq: null,
        failed: false,
        settings,
      });
    } else if (type !== "answer.imported" && open !== undefined) {
      [open.endSeq, open.failed] = [seq, type === "proxy.failed"];
      // What was said stands right after it.
    } else if (open?.endSeq === seq - 1) open.endSeq = seq;
  }
  const open = points.at(-1);
  if (open !== undefined) close(open);
  return points;
}

function close(point: Point): void {
  if (point.endSeq === null) [point.endSeq, point.failed] = [point.requestSeq, true];
}

type Row = Awaited<ReturnType<Engine["sessions"]>>["rows"][number];
