/**
 * The quota of a tenant. It is soft: new work is judged by a count that is a few seconds old, plus what this
 * process added since. Beyond the quota no new work begins: no session, input, message, caller's blob or
 * scratch outside a turn. Work in progress runs to its end, with its items, records and blobs; closing,
 * erasing and deleting are always allowed.
 */
import { SkeinError } from "../../../core/error.ts";
import type { Chunks, Draft, Part } from "../../port.ts";
import type { SqlRow } from "../connection/connection.ts";
import type { Driver } from "../driver.ts";

export interface Quota {
  /**
   * Throws or rejects with `refused` if the append would begin new work beyond the quota. Null if that is
   * known at once.
   */
  check(parts: readonly Part[]): Promise<void> | null;
  /** The same for a caller's blob. */
  checkBlob(): Promise<void>;
  /** The chunks of a blob unchanged, each counted once consumed. */
  counted(chunks: Chunks): AsyncGenerator<Uint8Array>;
}

/** How long a count is valid. A slow count is valid longer, so that counting is never most of the work. */
const countedMs = 5_000;
const countShare = 20;

/** Events that begin new work in an existing session. */
const newWork = ["input.received", "message.received", "project.opened", "project.noted"];

interface TenantUse extends SqlRow {
  readonly name: string;
  readonly sessions_max: number | null;
  readonly bytes_max: number | null;
  readonly sessions: number;
  readonly bytes: number;
}

/** A moved session counts in its new store. */
const use = `SELECT t.name, t.sessions_max, t.bytes_max,
  CASE WHEN t.sessions_max IS NULL THEN 0 ELSE
    (SELECT count(*) FROM skein.logs l
     WHERE l.tenant = t.id AND l.listed AND l.status IS DISTINCT FROM 'moved') END AS sessions,
  CASE WHEN t.bytes_max IS NULL THEN 0 ELSE
    (SELECT coalesce(sum(h.bytes), 0)::bigint FROM skein.heads h
     JOIN skein.logs l ON l.id = h.log AND l.status IS DISTINCT FROM 'moved' WHERE h.tenant = t.id) +
    (SELECT coalesce(sum(b.bytes), 0)::bigint FROM skein.blobs b WHERE b.tenant = t.id) END AS bytes
  FROM skein.tenants t WHERE t.id = $1`;

export function makeQuota({ database, tenant, world }: Driver): Quota {
  let known: TenantUse | undefined;
  let freshUntil = 0;
  let counting: Promise<void> | null = null;
  const added = { sessions: 0, bytes: 0 };

  async function count(): Promise<void> {
    const askedAt = world.now();
    const before = { ...added };
    [known] = await database.run<TenantUse>(use, [tenant]);
    // Data added during the count may be in it or not: counting it twice is better than never.
    added.sessions -= before.sessions;
    added.bytes -= before.bytes;
    const now = world.now();
    freshUntil = now + Math.max(countedMs, (now - askedAt) * countShare);
  }

  /** Null if the count is recent enough. If counting fails, no new work begins. */
  function recount(): Promise<void> | null {
    if (world.now() < freshUntil) return null;
    counting ??= count().finally(() => {
      counting = null;
    });
    return counting;
  }

  function judge(opened: number): void {
    if (known !== undefined) refuseIfOver(known, added, opened);
  }

  function take(parts: readonly Part[], { opened, isJudged }: { opened: number; isJudged: boolean }): void {
    if (isJudged) judge(opened);
    added.sessions += opened;
    added.bytes += parts.reduce(bytesOf, 0);
  }

  return {
    check(parts) {
      const opened = parts.filter(opens).length;
      const isJudged = opened > 0 || parts.some(({ drafts }) => drafts.some(begins));
      const recounted = isJudged ? recount() : null;
      if (recounted !== null) return recounted.then(() => take(parts, { opened, isJudged }));
      take(parts, { opened, isJudged });
      return null;
    },
    async checkBlob() {
      await recount();
      judge(0);
    },
    async *counted(chunks) {
      for await (const chunk of chunks) {
        added.bytes += chunk.length;
        yield chunk;
      }
    },
  };
}

const opens = ({ session, expect }: Part): boolean => expect === "absent" && session.startsWith("ses_");

/** Within a turn a scratch write is work in progress; a removal frees space. */
const begins = ({ type, turn, content }: Draft): boolean =>
  newWork.includes(type) || (type === "scratch.set" && turn === null && content !== null);

const bytesOf = (sum: number, { drafts }: Part): number =>
  drafts.reduce((bytes, { content }) => bytes + (content?.bytes ?? 0), sum);

function refuseIfOver(
  { name, sessions, sessions_max: sessionsMax, bytes, bytes_max: bytesMax }: TenantUse,
  added: { readonly sessions: number; readonly bytes: number },
  opened: number,
): void {
  const refused = (used: number, most: number, what: string): SkeinError => {
    const figures = `${shown(used)} of ${shown(most)} ${what}`;
    return new SkeinError("refused", `tenant ${name}: quota exceeded: ${figures}`, {
      hint: `delete sessions, or raise the quota: skein tenants set ${name} --${what} N`,
    });
  };
  const sessionsUsed = sessions + added.sessions;
  if (sessionsMax !== null && opened > 0 && sessionsUsed + opened > sessionsMax)
    throw refused(sessionsUsed, sessionsMax, "sessions");
  const bytesUsed = bytes + added.bytes;
  if (bytesMax !== null && bytesUsed >= bytesMax) throw refused(bytesUsed, bytesMax, "bytes");
}

const shown = (number: number): string => number.toLocaleString("en-US");
