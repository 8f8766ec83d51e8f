/** Tokens of a workspace: issued and revoked by events of its log, which hold a hash and never the secret. */
import { checkCall } from "../../call/check.ts";
import {
  accessTokenText,
  parseAccessToken,
  scopes as allScopes,
  secretBytes,
  type AccessToken,
  type TokenScope,
} from "../../core/workspace/access-token.ts";
import { SkeinError } from "../../core/error.ts";
import {
  isPrincipalId,
  isSessionId,
  isTokenId,
  makePrincipalId,
  makeTokenId,
  quote,
} from "../../core/ids.ts";
import type { PrincipalId, SessionId, TokenId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { present } from "../../core/present.ts";
import { contentOf } from "../read/content.ts";
import type { Deps } from "../deps.ts";
import { isExpired, type TokenRef } from "./token-reader.ts";
import { writeWorkspace } from "../log/workspace-log.ts";
import type { World } from "../world.ts";

/** Whether a token is valid. */
export type TokenStatus = "valid" | "expired" | "revoked";

/** An access token in a list, without its secret. */
export interface TokenEntry {
  readonly id: TokenId;
  /** Null when it has none, or its name was erased. */
  readonly name: string | null;
  readonly scopes: readonly TokenScope[];
  /** The principal of its holder. */
  readonly principal: PrincipalId;
  readonly status: TokenStatus;
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

/** With the token itself, which is shown only once. */
export interface IssuedToken extends TokenEntry {
  readonly token: string;
}

/** Options of `engine.addToken`. */
export interface AddTokenOptions {
  /** Its scopes. `admin` includes all. */
  readonly scopes: readonly TokenScope[];
  /** Its name in lists. */
  readonly name?: string;
  /** The principal; defaults to a new one. */
  readonly principal?: string;
  /** Milliseconds since 1970. By default it is valid until it is revoked. */
  readonly expiresAt?: number;
  /** A session's id: the token settles external calls of that session only. Its scope must be `settle`. */
  readonly session?: string;
  /** How many requests a second a server takes with it, twice as many at once; by default 200. */
  readonly requestsPerSecond?: number;
  /** A token made before by `newToken`. Issuing it twice has the effect of once. */
  readonly token?: string;
}

/** Options of `engine.tokens`. */
export interface TokensOptions {
  /** Also revoked and expired ones. */
  readonly all?: boolean;
}

/** The text of a new token, which is not issued yet. */
export const newToken = (
  world: Pick<World, "now" | "random">,
  tenant: string,
  id = makeTokenId({ nowMs: world.now(), random: world.random(10) }),
): string =>
  accessTokenText({
    tenant,
    id,
    secret: Buffer.from(world.random(secretBytes)).toString("base64url"),
  });

export async function addToken(deps: Deps, options: AddTokenOptions): Promise<IssuedToken> {
  checkCall("engine.addToken", options);
  const { world, tokens } = deps;
  const { name, expiresAt, requestsPerSecond } = options;
  const scopes = allScopes.filter((scope) => options.scopes.includes(scope));
  checkExpiry(expiresAt, world.now());
  const principal = checkPrincipal(deps, options.principal);
  const session = checkSession(options);
  const text = options.token ?? newToken(world, deps.tenant, idFor(deps));
  const { id, secret } = checkText(deps, text);
  const hash = world.digest("", secret);
  await writeWorkspace(deps, async () => {
    const all = await tokens.fold();
    const before = all.get(id);
    if (before !== undefined && (before.hash !== hash || before.revokedAt !== null)) {
      throw new SkeinError("refused", `token ${id} was issued already; tokens are shown once`, {
        hint: "if it is lost, revoke it and issue another one with a new key",
      });
    }
    // After a lost answer this also finds the one that was issued after all.
    if (before !== undefined) return [];
    checkRoom([...all.values()], world.now());
    const limits = present({ expiresAt, session, requestsPerSecond });
    const body = { id, hash, scopes, principal, ...limits };
    return [{ type: "token.issued", body, ...(name === undefined ? {} : { content: { name } }) }];
  });
  const issued = (await tokens.fold()).get(id);
  if (issued === undefined) throw new Error("invariant: a token that was issued is there");
  return { ...entryOf(issued, await nameOf(deps, issued), world.now()), token: text };
}

/** A call under a key issues one token, so its id derives from the key. */
const idFor = ({ newSession }: Deps): TokenId | undefined =>
  newSession === undefined ? undefined : (newSession().replace(/^ses_/, "tok_") as TokenId);

/** The newest first. */
export async function listTokens(deps: Deps, options: TokensOptions = {}): Promise<TokenEntry[]> {
  checkCall("engine.tokens", options);
  const nowMs = deps.world.now();
  const entries: TokenEntry[] = [];
  for (const ref of [...(await deps.tokens.fold()).values()].toSorted((a, b) => b.seq - a.seq)) {
    if (options.all !== true && statusOf(ref, nowMs) !== "valid") continue;
    entries.push(entryOf(ref, await nameOf(deps, ref), nowMs));
  }
  return entries;
}

/** Revokes it from now on; in other processes within a second. Twice has the effect of once. */
export async function revokeToken(
  deps: Deps,
  idOrEnding: string,
  options: { readonly reason?: string } = {},
): Promise<TokenEntry> {
  checkCall("engine.revokeToken", options);
  const { reason } = options;
  let id: string = "";
  await writeWorkspace(deps, async () => {
    const found = findToken(await deps.tokens.fold(), idOrEnding);
    id = found.id;
    if (found.revokedAt !== null) return [];
    return [
      { type: "token.revoked", body: { id }, ...(reason === undefined ? {} : { content: { reason } }) },
    ];
  });
  const revoked = (await deps.tokens.fold()).get(id);
  if (revoked === undefined) throw new Error("invariant: a token that was revoked is there");
  return entryOf(revoked, await nameOf(deps, revoked), deps.world.now());
}

function findToken(all: ReadonlyMap<string, TokenRef>, idOrEnding: unknown): TokenRef {
  const hint = '"skein tokens list" lists the tokens';
  // The argument may be a token: it is not repeated.
  if (typeof idOrEnding !== "string" || !/^(tok_)?[0-9a-z]{4,26}$/.test(idOrEnding)) {
    throw new SkeinError("invalid", "revokeToken: token: expected a token id", {
      hint: "an id is tok_ and 26 characters; a unique suffix of at least 4 characters is accepted",
      field: "token",
    });
  }
  const found = isTokenId(idOrEnding)
    ? [all.get(idOrEnding)].filter((one) => one !== undefined)
    : [...all.values()].filter(({ id }) => id.endsWith(idOrEnding));
  const [first, second] = found;
  if (first === undefined) {
    throw new SkeinError("not-found", `there is no token ${quote(idOrEnding)}`, { hint });
  }
  if (second === undefined) return first;
  throw new SkeinError("invalid", `${quote(idOrEnding)} matches more than one token`, { hint });
}

const statusOf = (ref: TokenRef, nowMs: number): TokenStatus =>
  ref.revokedAt !== null ? "revoked" : isExpired(ref, nowMs) ? "expired" : "valid";

function entryOf(ref: TokenRef, name: string | null, nowMs: number): TokenEntry {
  const { seq: _seq, hash: _hash, ...shown } = ref;
  return { ...shown, name, status: statusOf(ref, nowMs) };
}

async function nameOf({ store }: Deps, { seq }: TokenRef): Promise<string | null> {
  const range = { fromSeq: seq, toSeq: seq, limit: 1, contents: true };
  const [record] = await store.read(store.workspace, range);
  const content = record === undefined ? undefined : await contentOf(store, record);
  return (content as { readonly name?: string } | undefined)?.name ?? null;
}

function checkExpiry(expiresAt: unknown, nowMs: number): void {
  if (expiresAt === undefined || (Number.isSafeInteger(expiresAt) && (expiresAt as number) > nowMs)) return;
  throw new SkeinError("invalid", `addToken: expiresAt: expected a future time, got ${quote(expiresAt)}`, {
    hint: "milliseconds since 1970, such as Date.now() + 86_400_000",
    field: "expiresAt",
  });
}

function checkPrincipal({ world }: Deps, given: unknown): PrincipalId {
  if (given === undefined) return makePrincipalId({ nowMs: world.now(), random: world.random(10) });
  if (isPrincipalId(given)) return given;
  throw new SkeinError("invalid", `addToken: principal: expected a principal id, got ${quote(given)}`, {
    hint: "a principal id is prn_ and 26 characters, as in the actor user:prn_… of events",
    field: "principal",
  });
}

function checkSession({ session, scopes }: AddTokenOptions): SessionId | undefined {
  if (session === undefined) return undefined;
  if (!isSessionId(session)) {
    throw new SkeinError("invalid", `addToken: session: expected a session id, got ${quote(session)}`, {
      hint: "a session id is ses_ and 26 characters",
      field: "session",
    });
  }
  if (scopes.length === 1 && scopes[0] === "settle") return session;
  throw new SkeinError("invalid", `addToken: scopes: a token for one session has only the scope settle`, {
    hint: "omit session for a token with other scopes",
    field: "scopes",
  });
}

/** Never repeats the argument. */
function checkText({ tenant }: Deps, text: unknown): AccessToken {
  const token = parseAccessToken(text);
  if (token !== null && token.tenant === tenant) return token;
  throw new SkeinError("invalid", `addToken: token: expected a token of tenant ${quote(tenant)}`, {
    hint: "omit it to generate one",
  });
}

function checkRoom(all: readonly TokenRef[], nowMs: number): void {
  if (all.filter((ref) => statusOf(ref, nowMs) === "valid").length < limit.tokensMax) return;
  throw new SkeinError("refused", `a workspace has at most ${limit.tokensMax} valid tokens`, {
    hint: "revoke one first",
  });
}
