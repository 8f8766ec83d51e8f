/**
 * Tokens of webhooks: the holder of one may fire its trigger. It names the log of the trigger, so that no
 * list of tokens is needed; the log keeps only its digest.
 */
import { isSessionId, isWorkspaceId, type SessionId, type WorkspaceId } from "../../core/ids.ts";
import type { World } from "../world.ts";

/** The log that has a trigger: a session's, or the workspace's with its templates. */
export type TriggerOwner = SessionId | WorkspaceId;

const secretBytes = 32;
/** Of the digest of the name. */
const nameChars = 12;

type Hashing = Pick<World, "digest">;

export const nameMark = ({ digest }: Hashing, name: string): string => digest("", name).slice(0, nameChars);

/** `<log>.<mark of the name>.<random>`. */
export function makeToken(
  world: Pick<World, "digest" | "random">,
  owner: TriggerOwner,
  name: string,
): { readonly token: string; readonly digest: string } {
  const secret = Buffer.from(world.random(secretBytes)).toString("base64url");
  const token = `${owner}.${nameMark(world, name)}.${secret}`;
  return { token, digest: world.digest("", token) };
}

/** The log of a token's trigger; null when it cannot be a token. */
export function readToken(token: unknown): { readonly owner: TriggerOwner; readonly mark: string } | null {
  if (typeof token !== "string" || token.length > 200) return null;
  const [owner = "", mark = "", secret = "", ...more] = token.split(".");
  if (more.length > 0 || mark.length !== nameChars || secret === "") return null;
  return isSessionId(owner) || isWorkspaceId(owner) ? { owner, mark } : null;
}

/** Compares two texts in constant time. */
export function isSameText(a: string, b: string): boolean {
  let differs = a.length ^ b.length;
  for (let place = 0; place < a.length; place++)
    differs |= a.charCodeAt(place) ^ b.charCodeAt(place % Math.max(1, b.length));
  return differs === 0;
}

const blockBytes = 64;

/** HMAC-SHA256, hexadecimal. */
export function signatureOf(
  { hashBytes }: Pick<World, "hashBytes">,
  secret: string,
  body: Uint8Array,
): string {
  const given = Buffer.from(secret);
  const key = Buffer.alloc(blockBytes);
  (given.length > blockBytes ? Buffer.from(hashBytes(given), "hex") : given).copy(key);
  const inner = hashBytes(Buffer.concat([key.map((byte) => byte ^ 0x36), body]));
  return hashBytes(Buffer.concat([key.map((byte) => byte ^ 0x5c), Buffer.from(inner, "hex")]));
}
