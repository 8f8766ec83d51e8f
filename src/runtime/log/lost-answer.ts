/**
 * Appends whose answer was lost, followed to a certain outcome. The records may have been written, may not,
 * or may still be: so the store is searched for them, and they are sent again only in a way that lets at most
 * one of the attempts be written.
 *
 *   { seq }, absent     the first attempt moves the head, and every other one is a conflict
 *   exists, unchecked   the first draft has a key, and every later attempt is a duplicate
 *
 * All parts are written or none, so one part that rejects the other attempts rejects them all.
 */
import type { StoredRecord } from "../../core/chain.ts";
import { SkeinError } from "../../core/error.ts";
import { limit } from "../../core/limit.ts";
import type { AppendedPart, Draft, Outcome, Part, Store } from "../../store/port.ts";
import type { World } from "../world.ts";
import { neverAnswered } from "./writer-errors.ts";

export type Certain = Exclude<Outcome, { readonly kind: "unknown" }>;

/** The delay before the next attempt. */
const pauseMs = (tries: number): number => Math.min(10 * 2 ** tries, 1_000);

/**
 * The outcome of an append with this answer. Rejects with `unknown` when it cannot be determined: then the
 * append may still be written, once.
 */
export async function awaitOutcome(
  { store, world }: { readonly store: Store; readonly world: Pick<World, "sleep"> },
  parts: readonly Part[],
  first: Outcome,
): Promise<Certain> {
  if (first.kind !== "unknown") return first;
  const [part] = parts;
  if (part === undefined) throw new Error("invariant: an append has parts");
  let { cause } = first;
  let refusal: Certain | null = null;
  for (let tries = 0; tries < limit.unknownRetriesMax; tries++) {
    if (refusal === null) await world.sleep(pauseMs(tries));
    try {
      const own = await findOwn(store, parts);
      if (own !== null) return { kind: "ok", parts: own };
      // Searched after the refusal: no earlier attempt caused it.
      if (refusal !== null) return refusal;
      const next: Outcome = await store.append(parts);
      if (next.kind === "ok") return next;
      if (next.kind === "unknown") ({ cause } = next);
      else if (isLasting(parts, next)) refusal = next;
    } catch (error) {
      // A store that does not answer now may do so soon; any other failure leaves open whether something was
      // written.
      if (!(error instanceof SkeinError) || error.code !== "unavailable") throw neverAnswered(part, error);
      cause = error;
    }
  }
  throw neverAnswered(part, cause);
}

/** True when an earlier attempt would be refused too, whenever it arrives. */
function isLasting(parts: readonly Part[], refusal: Exclude<Certain, { readonly kind: "ok" }>): boolean {
  if (refusal.kind !== "conflict") return true;
  const expect = parts.find(({ session }) => session === refusal.session)?.expect;
  return expect === "absent" || typeof expect === "object";
}

/** Adds a key where nothing else would prevent a second attempt beside the first. */
export const keyedParts = (world: Pick<World, "random">, parts: readonly Part[]): readonly Part[] =>
  parts.map((part) => {
    const [first, ...rest] = part.drafts;
    const isOpen = part.expect === "exists" || part.expect === "unchecked";
    if (!isOpen || first === undefined || first.key !== null) return part;
    const key = Buffer.from(world.random(16)).toString("hex");
    return { ...part, drafts: [{ ...first, key }, ...rest] };
  });

/** The records of the append, part by part; null when they do not exist. */
async function findOwn(store: Store, parts: readonly Part[]): Promise<readonly AppendedPart[] | null> {
  const found: AppendedPart[] = [];
  for (const part of parts) {
    const own = part.drafts.length === 0 ? nothingWritten(part) : await ownOf(store, part);
    if (own === null) return null;
    found.push(own);
  }
  return parts.some(({ drafts }) => drafts.length > 0) ? found : null;
}

const nothingWritten = ({ session, expect }: Part): AppendedPart => {
  const headSeq = typeof expect === "object" ? expect.seq : 0;
  return { session, firstSeq: headSeq + 1, headSeq, at: 0, hashes: [] };
};

async function ownOf(store: Store, part: Part): Promise<AppendedPart | null> {
  const { session, drafts } = part;
  const firstSeq = await placeOf(store, part);
  if (firstSeq === undefined) return null;
  const headSeq = firstSeq + drafts.length - 1;
  const hashes: string[] = [];
  let at = 0;
  for (let fromSeq = firstSeq; fromSeq <= headSeq;) {
    const range = { fromSeq, toSeq: headSeq, limit: headSeq - fromSeq + 1, contents: false };
    const page = await store.read(session, range);
    const [first] = page;
    if (first === undefined || (fromSeq === firstSeq && !isSame(first, drafts[0]))) return null;
    for (const { hash } of page) hashes.push(hash);
    at = first.at;
    fromSeq = (page.at(-1)?.seq ?? headSeq) + 1;
  }
  return { session, firstSeq, headSeq, at, hashes };
}

/** The position of the first draft if it was written; undefined when it certainly was not. */
async function placeOf(store: Store, { session, expect, parent, drafts }: Part): Promise<number | undefined> {
  if (typeof expect === "object") return expect.seq + 1;
  if (expect === "absent") return (parent?.seq ?? 0) + 1;
  const key = drafts[0]?.key ?? null;
  return key === null ? undefined : store.keyed(session, key);
}

/** Contents are salted, and a draft without content has a key. */
const isSame = ({ type, key, body, contentHash }: StoredRecord, draft: Draft | undefined): boolean =>
  draft !== undefined &&
  (draft.content === null
    ? key === draft.key && type === draft.type && body === draft.body
    : contentHash === draft.content.hash);
