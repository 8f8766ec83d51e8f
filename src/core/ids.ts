/**
 * Ids: a prefix for the kind, then 26 characters of lower-case Crockford base 32. The first ten are the time
 * in milliseconds, the rest is random. Ids are parsed once, at the boundary.
 */
import type { Digest } from "./chain.ts";
import { SkeinError } from "./error.ts";

declare const brand: unique symbol;
/** The id of a session: `ses_` and 26 characters. */
export type SessionId = string & { readonly [brand]: "SessionId" };
/** The id of a workspace: `wsp_` and 26 characters. */
export type WorkspaceId = string & { readonly [brand]: "WorkspaceId" };
/** The id of a project: `prj_` and 26 characters. */
export type ProjectId = string & { readonly [brand]: "ProjectId" };
/** The id of a person or program: `prn_` and 26 characters. */
export type PrincipalId = string & { readonly [brand]: "PrincipalId" };
/** The id of an access token: `tok_` and 26 characters. */
export type TokenId = string & { readonly [brand]: "TokenId" };
/** A log that sessions share: it has no session's state, no lease of a run, no forks. */
export type SharedLogId = WorkspaceId | ProjectId;
/** Anything that has a log. */
export type LogId = SessionId | SharedLogId;

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
const tail = "[0-9a-hjkmnp-tv-z]{26}";
const patterns = {
  ses: new RegExp(`^ses_${tail}$`),
  wsp: new RegExp(`^wsp_${tail}$`),
  prj: new RegExp(`^prj_${tail}$`),
  prn: new RegExp(`^prn_${tail}$`),
  tok: new RegExp(`^tok_${tail}$`),
} as const;

/** The input of an id: the time and ten random bytes. */
export interface IdSeed {
  readonly nowMs: number;
  readonly random: Uint8Array;
}

export const makeSessionId = (seed: IdSeed): SessionId => `ses_${encode(seed)}` as SessionId;
export const makeWorkspaceId = (seed: IdSeed): WorkspaceId => `wsp_${encode(seed)}` as WorkspaceId;
export const makeProjectId = (seed: IdSeed): ProjectId => `prj_${encode(seed)}` as ProjectId;
export const makePrincipalId = (seed: IdSeed): PrincipalId => `prn_${encode(seed)}` as PrincipalId;
export const makeTokenId = (seed: IdSeed): TokenId => `tok_${encode(seed)}` as TokenId;

/** The principal for a local name: deterministic, and the name cannot be recovered from it. */
export function principalFor(digest: Digest, workspace: string, name: string): PrincipalId {
  const hex = digest("", `${workspace}\n${name}`);
  const random = Uint8Array.from({ length: 10 }, (_, place) =>
    Number.parseInt(hex.slice(place * 2, place * 2 + 2), 16),
  );
  return makePrincipalId({ nowMs: 0, random });
}

export const isSessionId = (text: string): text is SessionId => patterns.ses.test(text);
export const isWorkspaceId = (text: string): text is WorkspaceId => patterns.wsp.test(text);
export const isProjectId = (text: string): text is ProjectId => patterns.prj.test(text);
export const isSharedLogId = (text: string): text is SharedLogId => isWorkspaceId(text) || isProjectId(text);
export const isLogId = (text: string): text is LogId => isSessionId(text) || isSharedLogId(text);
export const isPrincipalId = (text: unknown): text is PrincipalId =>
  typeof text === "string" && patterns.prn.test(text);
export const isTokenId = (text: unknown): text is TokenId =>
  typeof text === "string" && patterns.tok.test(text);

/** Whether the text may be a session id, or a suffix of one. */
export const isSessionName = (text: string): boolean => namePattern.test(text);
export const namePattern = /^[0-9a-z_]{1,30}$/;

export function parseSessionId(text: string): SessionId {
  if (isSessionId(text)) return text;
  if (typeof text === "string" && isWorkspaceId(text)) {
    throw new SkeinError("invalid", `expected a session id, got the workspace id ${quote(text)}`, {
      hint: 'to erase memory, run "skein memory forget KEY --erase"',
    });
  }
  if (typeof text === "string" && isProjectId(text)) {
    throw new SkeinError("invalid", `expected a session id, got the project id ${quote(text)}`, {
      hint: '"skein project show ID" shows a project; lineage, verify, hold and erase are there too',
    });
  }
  throw new SkeinError("invalid", `expected a session id, got ${quote(text)}`, {
    hint: 'a session id is "ses_" and 26 characters; "skein ps" lists the ids',
  });
}

export function parseLogId(text: string): LogId {
  return isSharedLogId(text) ? text : parseSessionId(text);
}

/** A short, safe rendering of caller input. */
export function quote(text: unknown): string {
  const shown = JSON.stringify(text) ?? String(text);
  return shown.length > 80 ? `${shown.slice(0, 77)}…"` : shown;
}

function encode(seed: IdSeed): string {
  if (seed.random.length !== 10) throw new RangeError("id: expected ten random bytes");
  let text = "";
  let time = seed.nowMs;
  for (let i = 0; i < 10; i++) {
    text = alphabet.charAt(time % 32) + text;
    time = Math.floor(time / 32);
  }
  let bits = 0;
  let value = 0;
  for (const byte of seed.random) {
    value = (value << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += alphabet.charAt((value >> bits) & 31);
    }
    value &= (1 << bits) - 1;
  }
  return text;
}
