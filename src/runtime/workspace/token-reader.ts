/**
 * The valid tokens, from the workspace's log. They are cached, so that a request costs no read, and refreshed
 * twice a second during requests: a token that another process revoked is valid no longer than that.
 */
import { readRecords } from "../read/record-pages.ts";
import { timingSafeEqual } from "node:crypto";
import { isScope, parseAccessToken, type TokenScope } from "../../core/workspace/access-token.ts";
import type { StoredRecord } from "../../core/chain.ts";
import type { PrincipalId, SessionId, TokenId } from "../../core/ids.ts";
import type { Store } from "../../store/port.ts";
import type { WorkspaceHeadReader } from "../read/known-heads.ts";
import type { World } from "../world.ts";

/** A token in the log, without its name. */
export interface TokenRef {
  readonly id: TokenId;
  readonly seq: number;
  readonly hash: string;
  readonly scopes: readonly TokenScope[];
  readonly principal: PrincipalId;
  readonly issuedAt: number;
  readonly issuedBy: string;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  readonly revokedBy: string | null;
  /** The only session that it is valid for; null: all. */
  readonly session: SessionId | null;
  /** Its rate limit; null: the server's. */
  readonly requestsPerSecond: number | null;
}

/** The holder of a token. */
export interface TokenHolder {
  readonly id: TokenId;
  readonly tenant: string;
  readonly scopes: readonly TokenScope[];
  readonly principal: PrincipalId;
  /** As records name them: `user:prn_…`. */
  readonly actor: string;
  /** Null: never. */
  readonly expiresAt: number | null;
  /** The only session that it is valid for; null: all. */
  readonly session: SessionId | null;
  /** Its rate limit; null: the server's. */
  readonly requestsPerSecond: number | null;
}

/** A token without its secret, of which only the hash is kept. */
export interface HashedToken {
  readonly tenant: string;
  readonly id: TokenId;
  readonly hash: string;
}

/** Null for text that cannot be a token. */
export function hashToken({ digest }: Pick<World, "digest">, text: string | null): HashedToken | null {
  const token = parseAccessToken(text);
  return token && { tenant: token.tenant, id: token.id, hash: digest("", token.secret) };
}

export interface TokenReader {
  /** Null for every invalid token, whatever is wrong with it; else the same object for the same token. */
  check(text: string): Promise<TokenHolder | null>;
  /** The same for a hashed token. */
  checkHashed(token: HashedToken): Promise<TokenHolder | null>;
  /** All tokens ever issued, at the head of the log. */
  fold(): Promise<ReadonlyMap<string, TokenRef>>;
}

const tokenTypes = ["token.issued", "token.revoked"] as const;

/** How long the cache may be used. */
const freshMs = 500;

export const isExpired = ({ expiresAt }: Pick<TokenRef, "expiresAt">, nowMs: number): boolean =>
  expiresAt !== null && nowMs >= expiresAt;

export function makeTokenReader(
  { store, workspace }: { readonly store: Store; readonly workspace: WorkspaceHeadReader },
  world: Pick<World, "now" | "steady" | "digest">,
  tenant: string,
): TokenReader {
  let known = new Map<string, TokenRef>();
  const holders = new WeakMap<TokenRef, TokenHolder>();
  let [foldedSeq, times, lookedMs] = [0, 0, -Infinity];
  let going: Promise<unknown> = Promise.resolve();
  let waiting: Promise<void> | null = null;
  const clock = (): number => world.steady?.() ?? world.now();

  /** Begins after the call; earlier callers share it. */
  function look(): Promise<void> {
    if (waiting !== null) return waiting;
    const mine = going.then(begin);
    waiting = mine;
    going = mine.catch(() => undefined);
    return mine;
  }

  async function begin(): Promise<void> {
    waiting = null;
    const askedMs = clock();
    await advance();
    lookedMs = askedMs;
  }

  async function advance(): Promise<void> {
    const head = await workspace.read();
    if (head.times !== times) [known, foldedSeq] = [new Map<string, TokenRef>(), 0];
    ({ times } = head);
    const range = [foldedSeq + 1, head.seq] as const;
    for await (const record of readRecords(store, store.workspace, range, { types: tokenTypes }))
      apply(known, record);
    foldedSeq = Math.max(foldedSeq, head.seq);
  }

  function judge({ id, hash }: HashedToken): TokenHolder | null {
    const ref = known.get(id);
    const isRight = isSameHash(hash, ref?.hash ?? noHash);
    if (!isRight || ref === undefined || ref.revokedAt !== null || isExpired(ref, world.now())) return null;
    const before = holders.get(ref);
    if (before !== undefined) return before;
    const { scopes, principal, expiresAt, session, requestsPerSecond } = ref;
    const limits = { expiresAt, session, requestsPerSecond };
    const holder = { id, tenant, scopes, principal, actor: `user:${principal}`, ...limits };
    holders.set(ref, holder);
    return holder;
  }

  async function checkHashed(token: HashedToken): Promise<TokenHolder | null> {
    if (token.tenant !== tenant) return null;
    const stale = Math.abs(clock() - lookedMs) >= freshMs;
    if (stale) await look();
    const holder = judge(token);
    if (holder !== null || stale) return holder;
    // Another process may have issued it a moment ago.
    await look();
    return judge(token);
  }

  return {
    async check(text) {
      const token = hashToken(world, text);
      return token === null ? null : checkHashed(token);
    },
    checkHashed,
    async fold() {
      await look();
      return known;
    },
  };
}

/** The hash of no secret: compared for an unknown token, so that both take as long. */
const noHash = "0".repeat(64);

const isSameHash = (a: string, b: string): boolean =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));

interface IssuedBody {
  readonly id: TokenId;
  readonly hash: string;
  readonly scopes: readonly string[];
  readonly principal: PrincipalId;
  readonly expiresAt?: number;
  readonly session?: SessionId;
  readonly requestsPerSecond?: number;
}

/** The first record of an id counts, and so does the first that revokes it. */
function apply(known: Map<string, TokenRef>, { type, body, seq, at, actor }: StoredRecord): void {
  const given = JSON.parse(body) as IssuedBody;
  const { id, hash, principal, expiresAt = null, session = null, requestsPerSecond = null } = given;
  const before = known.get(id);
  if (type === "token.revoked") {
    if (before?.revokedAt === null) known.set(id, { ...before, revokedAt: at, revokedBy: actor });
    return;
  }
  if (type !== "token.issued" || before !== undefined) return;
  // A token for one session never has more than this scope, whatever the record says.
  const scopes = given.scopes.filter(isScope).filter((scope) => session === null || scope === "settle");
  const limits = { expiresAt, session, requestsPerSecond };
  const issued = { id, seq, hash, scopes, principal, issuedAt: at, issuedBy: actor, ...limits };
  known.set(id, { ...issued, revokedAt: null, revokedBy: null });
}
