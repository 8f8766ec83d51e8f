/** Ids for the target's files, derived from the session and the position: never random. */
import { createHash } from "node:crypto";

export function digest(...parts: readonly (string | number)[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

/** In the form of a version 5 UUID. */
export function derivedUuid(...parts: readonly (string | number)[]): string {
  const hex = digest(...parts);
  const variant = "89ab"[Number.parseInt(hex[16] ?? "0", 16) & 3] ?? "8";
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `5${hex.slice(13, 16)}`,
    variant + hex.slice(17, 20),
    hex.slice(20, 32),
  ].join("-");
}

/** The id of a turn, counted from 1, of a rollout that Skein wrote. */
export const codexTurnId = (session: string, turn: number): string => derivedUuid(session, "turn", turn);

/** Call ids as providers accept them; one that repeats, or has other characters, is derived. */
export class CallIds {
  readonly #seen = new Set<string>();
  readonly #session: string;

  constructor(session: string) {
    this.#session = session;
  }

  next(id: string, entry: number, at: number): string {
    const isUsable = /^[A-Za-z0-9_-]{1,64}$/.test(id) && !this.#seen.has(id);
    const chosen = isUsable ? id : `call_${digest(this.#session, id, entry, at).slice(0, 24)}`;
    this.#seen.add(chosen);
    return chosen;
  }
}
