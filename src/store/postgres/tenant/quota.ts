/**
 * What a tenant may use at most. A quota is soft: whoever begins something new is judged by a count that is a
 * few seconds old, and by what this process added since. Past it nothing new is begun: no session, input,
 * message, blob of a caller's or scratch outside a turn. What is under way goes on to its end, with the
 * items, records and blobs that come of it, and what closes, erases or deletes always may.
 */
import { SkeinError } from "../../../core/error.ts";
import type { Chunks, Draft, Part } from "../../port.ts";
import type { Row } from "../connection/connection.ts";
import type { Driver } from "../driver.ts";

export interface Quota {
  /**
   * Throws or rejects with `refused` when the append would begin something new past the quota. Null when that
   * is known at once.
   */
  check(parts: readonly Part[]): Promise<void> | null;
  /** The same for a blob that somebody brings. */
  checkBlob(): Promise<void>;
  /** The chunks of a blob as they are, each counted once it is taken. */
  counted(chunks: Chunks): AsyncGenerator<Uint8Array>;
}

/** How long a count holds. One that takes long holds longer, so that counting never is most of the work. */
const countedMs = 5_000;
const countShare = 20;

/** What begins something new in a session that is there. */
const newWork = ["input.received", "message.received"];

interface Use extends Row {
  readonly name: string;
  readonly sessions_max: number | null;
  readonly bytes_max: number | null;
  readonly sessions: number;
  readonly bytes: number;
}

/** What was moved away is used where it went. */
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
  let known: Use | undefined;
  let freshUntil = 0;
  let counting: Promise<void> | null = null;
  const added = { sessions: 0, bytes: 0 };

  async function count(): Promise<void> {
    const askedAt = world.now();
    const before = { ...added };
    [known] = await database.run<Use>(use, [tenant]);
    // What was added while it was counted may be in the count or not: it is counted twice rather than never.
    added.sessions -= before.sessions;
    added.bytes -= before.bytes;
    const now = world.now();
    freshUntil = now + Math.max(countedMs, (now - askedAt) * countShare);
  }

  /** Null when the count is new enough. If it cannot be had, nothing is begun. */
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

/** In a turn, what is put into the scratch is under way; what is taken out of it makes room. */
const begins = ({ type, turn, content }: Draft): boolean =>
  newWork.includes(type) || (type === "scratch.set" && turn === null && content !== null);

const bytesOf = (sum: number, { drafts }: Part): number =>
  drafts.reduce((bytes, { content }) => bytes + (content?.bytes ?? 0), sum);

function refuseIfOver(
  { name, sessions, sessions_max: sessionsMax, bytes, bytes_max: bytesMax }: Use,
  added: { readonly sessions: number; readonly bytes: number },
  opened: number,
): void {
  const refused = (used: number, most: number, what: string): SkeinError => {
    const figures = `${shown(used)} of ${shown(most)} ${what}`;
    return new SkeinError("refused", `the tenant ${name} has used up its quota: ${figures}`, {
      hint: `delete what is not needed, or raise it: skein tenants set ${name} --${what} N`,
    });
  };
  const sessionsUsed = sessions + added.sessions;
  if (sessionsMax !== null && opened > 0 && sessionsUsed + opened > sessionsMax)
    throw refused(sessionsUsed, sessionsMax, "sessions");
  const bytesUsed = bytes + added.bytes;
  if (bytesMax !== null && bytesUsed >= bytesMax) throw refused(bytesUsed, bytesMax, "bytes");
}

const shown = (number: number): string => number.toLocaleString("en-US");
