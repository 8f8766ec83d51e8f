/**
 * Access tokens of an engine for outside programs: their format and scopes.
 *
 * A token is `skn_<tenant>_<id>_<secret>`: the tenant's name in base64url, the 26 characters of its id, and
 * 32 random bytes in base64url. The last two have a fixed length, so a token is parsed from its end.
 */
import type { TokenId } from "../ids.ts";

/** The scopes of a token. `admin` includes all of them. */
export const scopes = ["read", "write", "settle", "operate", "admin"] as const;
/** The rights of an access token, from `read` to `admin`. */
export type TokenScope = (typeof scopes)[number];

export const isScope = (word: unknown): word is TokenScope => scopes.some((scope) => scope === word);

/** Whether these scopes include the needed one. */
export const allows = (given: readonly string[], needed: TokenScope): boolean =>
  given.includes(needed) || given.includes("admin");

export interface AccessToken {
  readonly tenant: string;
  readonly id: TokenId;
  readonly secret: string;
}

export const secretBytes = 32;
/** A tenant's name has at most 63 characters. */
const form = /^skn_([A-Za-z0-9_-]{2,84})_([0-9a-hjkmnp-tv-z]{26})_([A-Za-z0-9_-]{43})$/;
const tenantForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

export const accessTokenText = ({ tenant, id, secret }: AccessToken): string =>
  `skn_${base64url(tenant)}_${id.slice(4)}_${secret}`;

/** Null for anything that cannot be a token. */
export function parseAccessToken(text: unknown): AccessToken | null {
  const [, encoded, id, secret] = (typeof text === "string" && text.length <= 200 && form.exec(text)) || [];
  if (encoded === undefined || id === undefined || secret === undefined) return null;
  const tenant = fromBase64url(encoded);
  // Only one spelling is valid, so that a rate limit by token cannot be bypassed.
  if (!tenantForm.test(tenant) || base64url(tenant) !== encoded) return null;
  return { tenant, id: `tok_${id}` as TokenId, secret };
}

/** The text without tokens, including truncated ones: for showing or logging untrusted input. */
export const withoutTokens = (text: string): string => text.replaceAll(/skn_[A-Za-z0-9_-]{8,}/g, "skn_…");

const base64url = (text: string): string =>
  btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

function fromBase64url(text: string): string {
  try {
    return atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  } catch {
    return "";
  }
}
