/** The last answer of an earlier import, when its tool has added to it since. */
import type { HistoryEntry } from "../../core/history/commands.ts";
import type { EventOf } from "../../core/event.ts";
import type { SessionId } from "../../core/ids.ts";
import type { ForeignEntry, TranscriptUsage } from "../../transcripts/model.ts";
import type { Deps } from "../deps.ts";
import { readEvents } from "../read/event-reader.ts";
import type { TranscriptSource } from "./history.ts";
import { cut } from "./history-entry.ts";
import { addId, type IdChain } from "./history-order.ts";
import type { KnownEntry } from "./history-texts.ts";

/**
 * Tools write an answer in pieces, its usage last: the last answer of an import may have gained some since.
 * `rest` is what it gained, as an entry that continues it; null when it gained nothing.
 */
export async function restOfAnswer(
  { world, store }: Deps,
  session: SessionId,
  source: TranscriptSource,
  { known, knownIds, ids }: { readonly known: number; readonly knownIds: string; readonly ids: IdChain },
): Promise<(KnownEntry & { readonly rest: AnswerRest | null }) | "changed"> {
  const planned = source.plan.entries.at(known - 1);
  const isSame = ids.last === knownIds;
  if (planned === undefined || (planned.kind !== "answer" && !isSame)) return "changed";
  const records = planned.records.toSorted((a, b) => (a.file === b.file ? a.from - b.from : 0));
  const digestOf = (count: number): string => addId(world, ids.before ?? "", planned, count);
  const count = isSame ? records.length : records.findIndex((_, at) => at > 0 && digestOf(at) === knownIds);
  if (count === -1) return "changed";
  const then = { ...planned, records: records.slice(0, count) };
  const [part, whole] = await Array.fromAsync(source.entries([then, planned]));
  if (part === undefined || whole === undefined) return "changed";
  if (part.kind !== "answer" || whole.kind !== "answer") return { part, whole, rest: null };
  const begins = (all: readonly unknown[], first: readonly unknown[]): boolean =>
    JSON.stringify(all.slice(0, first.length)) === JSON.stringify(first);
  if (!begins(whole.blocks, part.blocks) || !begins(whole.calls, part.calls)) return "changed";
  const usage = usageSince(await storedUsage(store, session, planned.id), whole.usage);
  if (isSame && usage === null) return { part, whole, rest: null };
  const blocks = whole.blocks.slice(part.blocks.length);
  const calls = whole.calls.slice(part.calls.length);
  return { part, whole, rest: { ...whole, blocks, calls, usage, source: records.slice(count) } };
}

export type AnswerRest = Extract<ForeignEntry, { kind: "answer" }>;

type TokenCounts = Omit<TranscriptUsage, "costUsd">;
const noTokens = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
};

type StoredUsage = TokenCounts & { readonly nanoUsd: number };

/** The tokens that the log has of an answer, the last one in it; null when they count elsewhere. */
async function storedUsage(
  store: Deps["store"],
  session: SessionId,
  id: string,
): Promise<StoredUsage | null> {
  const sum = { ...noTokens, nanoUsd: 0 };
  const types = ["answer.imported"];
  for await (const event of readEvents(store, session, { types, reverse: true })) {
    const { body, content } = event as EventOf<"answer.imported">;
    if (content?.id !== cut(id)) break;
    if (body.copied === true) return null;
    sum.inputTokens += body.usage?.inputTokens ?? 0;
    sum.outputTokens += body.usage?.outputTokens ?? 0;
    sum.cacheReadTokens += body.usage?.cachedInputTokens ?? 0;
    sum.cacheWriteTokens += body.usage?.cacheWriteTokens ?? 0;
    sum.reasoningTokens += body.usage?.reasoningTokens ?? 0;
    sum.nanoUsd += body.costNanoUsd ?? 0;
    if (body.continues !== true) break;
  }
  return sum;
}

/** The entries that the log lacks; null when it has all. */
function usageSince(stored: StoredUsage | null, whole: TranscriptUsage | null): TranscriptUsage | null {
  if (whole === null || stored === null) return null;
  const since = { ...noTokens };
  for (const name of Object.keys(noTokens) as (keyof TokenCounts)[])
    since[name] = Math.max(0, whole[name] - stored[name]);
  if (Object.values(since).every((count) => count === 0)) return null;
  const costUsd = whole.costUsd === null ? null : Math.max(0, whole.costUsd - stored.nanoUsd / 1e9);
  return { ...since, costUsd };
}

/** An answer that continues one is not a separate model call. */
export const continued = (records: readonly HistoryEntry[]): HistoryEntry[] =>
  records.map((one) => (one.type === "answer" ? { ...one, body: { ...one.body, continues: true } } : one));
