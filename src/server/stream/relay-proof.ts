/**
 * Proves to another server that both have the same store: signs the request with the secret that the other
 * has announced there. It is valid for a moment only, and for one session.
 */
import type { SessionId } from "../../core/ids.ts";
import type { World } from "../../runtime/world.ts";
import { isSameText, signatureOf } from "../../runtime/trigger/webhook-token.ts";

export const relayPath = "/v1/relay";
export const proofHeader = "skein-relay";

/** The requested deltas: of a session, or of all sessions of the tenant. */
export interface RelaySubject {
  readonly tenant: string;
  readonly session: SessionId | null;
}

/** Both use the store's clock. */
const holdsMs = 60_000;

const textOf = ({ tenant, session }: RelaySubject, atMs: number): Uint8Array =>
  Buffer.from(["skein relay", tenant, session ?? "*", atMs].join("\n"));

export const proofOf = (
  world: Pick<World, "hashBytes">,
  secret: string,
  asked: RelaySubject,
  atMs: number,
): string => `tenant=${asked.tenant},t=${atMs},v1=${signatureOf(world, secret, textOf(asked, atMs))}`;

/** The tenant in a proof; null when it is invalid. */
export function tenantIn(proof: unknown): string | null {
  if (typeof proof !== "string" || proof.length > 300) return null;
  return pattern.exec(proof)?.[1] ?? null;
}

const pattern = /^tenant=([^,]{1,100}),t=(\d{1,15}),v1=([0-9a-f]{64})$/;

export function isProof(
  world: Pick<World, "hashBytes">,
  proof: string,
  given: { readonly secret: string; readonly asked: RelaySubject; readonly nowMs: number },
): boolean {
  const [, tenant, t = "", signature = ""] = pattern.exec(proof) ?? [];
  const { secret, asked, nowMs } = given;
  if (tenant !== asked.tenant || Math.abs(nowMs - Number(t)) > holdsMs) return false;
  return isSameText(signatureOf(world, secret, textOf(asked, Number(t))), signature);
}
