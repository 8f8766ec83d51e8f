/** Which records of a log are worth packing, by which policy, and their size. */
import { readPages } from "../read/record-pages.ts";
import { isSharedLogId, type LogId } from "../../core/ids.ts";
import type { SessionStatus } from "../../core/session/lifecycle.ts";
import { compactedTo, packersFor, packRecordsMin, spanText } from "../../core/govern/policy.ts";
import type { PolicySubject, NamedPolicy } from "../../core/govern/policy.ts";
import type { PackResult, Store } from "../../store/port.ts";
import type { Deps } from "../deps.ts";
import { recordBytes } from "../read/state-reader.ts";

export interface PackPlan {
  readonly fromSeq: number;
  readonly toSeq: number;
  /** Null: an archived session is packed whatever the policies say. */
  readonly policy: string | null;
  readonly because: string;
}

/** Sessions that are no longer written: they are packed once and whole, however short they are. */
const over: readonly SessionStatus[] = ["closed", "archived", "moved"];

/** Null when nothing is due, or too little to be worth it. */
export async function planPacking(
  deps: Pick<Deps, "store" | "states">,
  policies: readonly NamedPolicy[],
  session: LogId,
  candidate: PolicySubject & { readonly headSeq: number },
  nowMs: number,
): Promise<PackPlan | null> {
  const { store, states } = deps;
  const { status, headSeq, activeAt } = candidate;
  const packers = packersFor(policies, candidate);
  if (status === "running" || (packers.length === 0 && status !== "archived")) return null;
  const packedTo = await store.packedTo(session);
  const last = headSeq - 1;
  if (packedTo >= last) return null;
  const fromSeq = packedTo + 1;
  if (status === "archived") return { fromSeq, toSeq: last, policy: null, because: "it is archived" };
  const [{ name, afterMs } = { name: "", afterMs: null }] = packers;
  const byAge = afterMs === null ? 0 : await agedTo(store, session, { last, activeAt }, nowMs - afterMs);
  const aged = { fromSeq, toSeq: byAge, policy: name, because: `it is older than ${spanText(afterMs ?? 0)}` };
  const isAged = afterMs !== null && activeAt <= nowMs - afterMs;
  if (isAged && over.includes(status)) return aged;
  if (last - packedTo < packRecordsMin) return null;
  if (last - byAge >= packRecordsMin && !isSharedLogId(session)) {
    const { mind } = await states.at(session, headSeq);
    const toSeq = Math.min(last, compactedTo(mind));
    const because = `it lies before the compaction up to ${toSeq}`;
    if (toSeq - packedTo >= packRecordsMin && toSeq > byAge) return { fromSeq, toSeq, policy: name, because };
  }
  return byAge - packedTo < packRecordsMin ? null : aged;
}

/** The last record but one that was written at that moment or before. */
async function agedTo(
  store: Store,
  session: LogId,
  { last, activeAt }: { readonly last: number; readonly activeAt: number },
  at: number,
): Promise<number> {
  return activeAt <= at ? last : Math.min(last, (await store.seqAt(session, at + 1)) - 1);
}

/** The size of the records between two positions. */
export async function weigh(
  store: Store,
  session: LogId,
  fromSeq: number,
  toSeq: number,
): Promise<PackResult> {
  let records = 0;
  let bytes = 0;
  for await (const page of readPages(store, session, [fromSeq, toSeq])) {
    for (const record of page) bytes += recordBytes(record);
    records += page.length;
  }
  return { records, bytesBefore: bytes, bytesAfter: bytes };
}
