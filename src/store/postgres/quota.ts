/**
 * What a tenant may use at most. A quota is soft: use is counted anew every few seconds, and in between only
 * what this process adds is known. Past it nothing new is begun; what is under way goes on to its end, and
 * what closes, erases or deletes always may.
 */
import { SkeinError } from "../../core/error.ts";
import type { Part } from "../port.ts";
import type { Row } from "./connection.ts";
import type { Driver } from "./driver.ts";

export interface Quota {
  /**
   * Throws or rejects with `refused` when the append would begin something new past the quota. Null when that
   * is known at once.
   */
  check(parts: readonly Part[]): Promise<void> | null;
}

/** How long a count holds. One that takes long holds longer, so that counting never is most of the work. */
const countedMs = 5_000;
const countShare = 20;

/** What begins something new in a session that is there. */
const newWork = new Set(["input.received", "message.received"]);

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

  function judge(parts: readonly Part[]): void {
    if (known === undefined || (known.sessions_max === null && known.bytes_max === null)) return;
    const asked = { sessions: parts.filter(opens).length, bytes: parts.reduce(bytesOf, 0) };
    refuseIfOver(known, added, parts, asked.sessions);
    added.sessions += asked.sessions;
    added.bytes += asked.bytes;
  }

  return {
    check(parts) {
      if (world.now() >= freshUntil) {
        counting ??= count().finally(() => {
          counting = null;
        });
        // Only the first waits: later ones go by what was last known. If it fails, the append tells of it.
        if (known === undefined) return counting.then(() => judge(parts));
        counting.catch(() => undefined);
      }
      judge(parts);
      return null;
    },
  };
}

const opens = ({ session, expect }: Part): boolean => expect === "absent" && session.startsWith("ses_");

const bytesOf = (sum: number, { drafts }: Part): number =>
  drafts.reduce((bytes, { content }) => bytes + (content?.bytes ?? 0), sum);

function refuseIfOver(
  { name, sessions, sessions_max: sessionsMax, bytes, bytes_max: bytesMax }: Use,
  added: { readonly sessions: number; readonly bytes: number },
  parts: readonly Part[],
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
  const begins = opened > 0 || parts.some(({ drafts }) => drafts.some(({ type }) => newWork.has(type)));
  const bytesUsed = bytes + added.bytes;
  if (bytesMax !== null && begins && bytesUsed >= bytesMax) throw refused(bytesUsed, bytesMax, "bytes");
}

const shown = (number: number): string => number.toLocaleString("en-US");
