/**
 * Consolidation of memory: by hand, or by workers as often as a person set it. The changes, with their
 * reasons, are one append to the workspace's log, decided on its head: two workers at once do it once.
 */
import { planConsolidation, type ConsolidatedEntry } from "../../core/memory/consolidate.ts";
import { Memory, memoryTypes } from "../../core/memory/memory.ts";
import { memoryId, nameFields, nameIn } from "../../core/memory/name.ts";
import type { DraftEvent } from "../../core/decision.ts";
import { SkeinError } from "../../core/error.ts";
import { limit } from "../../core/limit.ts";
import type { Deps } from "../deps.ts";
import { writeOnce, writeWorkspace } from "../log/workspace-log.ts";
import { readRecords } from "../read/record-pages.ts";
import { bodyOf, readEntry, type MemoryEntry } from "./memory.ts";

/** Options of `engine.consolidateMemory`. */
export interface ConsolidateOptions {
  /** Does it; without, it only reports what it would do. */
  readonly apply?: boolean;
  /** Workers do it this often from now on; 0: no more. */
  readonly everyMs?: number;
}

type Shown = Pick<MemoryEntry, "scope" | "owner" | "kind" | "key" | "seq" | "origin" | "by" | "value">;

/** The result of `engine.consolidateMemory`. */
export interface ConsolidateReport {
  /** False: nothing was written. */
  readonly applied: boolean;
  /** Entries that are forgotten, and the one that stands for each. */
  readonly forgotten: readonly {
    readonly why: "duplicate" | "superseded";
    readonly entry: Shown;
    readonly into: Shown;
  }[];
  /** Contradictions that are marked for a person. */
  readonly disputed: readonly { readonly about: string; readonly entries: readonly Shown[] }[];
  /** How many changes another run will make: one makes a limited number. */
  readonly more: number;
  /** How often workers do it; null: they do not. */
  readonly everyMs: number | null;
}

/** Changes of one run. */
const changesMax = 300;

export async function consolidateMemory(deps: Deps, options: ConsolidateOptions): Promise<ConsolidateReport> {
  const { apply = false, everyMs } = options;
  if (everyMs !== undefined && everyMs !== 0 && everyMs < limit.consolidationMsMin) {
    throw new SkeinError(
      "invalid",
      `consolidateMemory: everyMs: expected 0, or at least an hour, got ${everyMs}`,
      {
        hint: "0 turns it off",
      },
    );
  }
  if (everyMs !== undefined) {
    await writeWorkspace(deps, async () => {
      const { memory } = await deps.memory.fold();
      if ((memory.consolidation.everyMs ?? 0) === everyMs) return [];
      return [{ type: "consolidation.scheduled", body: everyMs === 0 ? {} : { everyMs } }];
    });
  }
  let report = await planned(deps);
  if (!apply) return report;
  // Decided on the head, and again when another process was first: then nothing is left to do.
  const before = await writeOnce(deps, async () => {
    const now = await planned(deps);
    const isNothing = now.forgotten.length === 0 && now.disputed.length === 0;
    report = { ...now, applied: !isNothing };
    return isNothing ? [] : draftsOf(now);
  });
  return before === null ? report : madeAgain(deps, before.seq, report);
}

/** What an earlier call with the same key has done, from its records. */
async function madeAgain(deps: Deps, firstSeq: number, now: ConsolidateReport): Promise<ConsolidateReport> {
  const { store } = deps;
  const memory = new Memory();
  for await (const record of readRecords(store, store.workspace, [1, firstSeq - 1], { types: memoryTypes }))
    memory.apply({ ...record, body: bodyOf(record) });
  const entryOf = async (body: object): Promise<Shown> => {
    const name = nameIn(body);
    const ref = name === null ? undefined : memory.get(memoryId(name));
    if (ref === undefined) throw new Error("invariant: what was consolidated was in memory");
    return shown(await readEntry(deps, ref));
  };
  const forgotten: ConsolidateReport["forgotten"][number][] = [];
  const disputed: ConsolidateReport["disputed"][number][] = [];
  const headSeq = (await store.head(store.workspace))?.seq ?? 0;
  for await (const record of readRecords(store, store.workspace, [firstSeq, headSeq])) {
    const body = bodyOf(record) as {
      readonly consolidated?: { readonly why: "duplicate" | "superseded" };
      readonly entries?: readonly object[];
    };
    const { consolidated, entries = [] } = body;
    if (record.type === "memory.consolidated") break;
    if (consolidated !== undefined) {
      const into = await entryOf({ ...body, ...consolidated });
      forgotten.push({ why: consolidated.why, entry: await entryOf(body), into });
    }
    const all: Shown[] = [];
    for (const one of entries) all.push(await entryOf(one));
    if (record.type === "memory.disputed") disputed.push({ about: all[0]?.key ?? "", entries: all });
  }
  return { ...now, applied: true, forgotten, disputed };
}

/** For a worker: does it if a person wants it and it is due. */
export async function consolidateIfDue(deps: Deps): Promise<void> {
  const isDue = async (): Promise<boolean> => {
    const { everyMs, lastMs } = (await deps.memory.fold()).memory.consolidation;
    return everyMs !== null && lastMs + everyMs <= deps.store.now();
  };
  if (!(await isDue())) return;
  await writeWorkspace(deps, async () => ((await isDue()) ? draftsOf(await planned(deps)) : []));
}

async function planned({ memory: reader }: Deps): Promise<ConsolidateReport> {
  const { memory, values } = await reader.index();
  const entries: ConsolidatedEntry[] = [];
  for (const [id, entry] of memory.entries())
    if (values.has(id)) entries.push({ ...entry, value: values.get(id) });
  const { forget, disputes } = planConsolidation(entries, (seqs) => memory.isDisputed(seqs));
  const disputed = disputes.slice(0, changesMax);
  const forgotten = forget.slice(0, changesMax);
  return {
    applied: false,
    forgotten: forgotten.map(({ why, entry, into }) => ({ why, entry: shown(entry), into: shown(into) })),
    disputed: disputed.map(({ about, entries: all }) => ({ about, entries: all.map(shown) })),
    more: forget.length - forgotten.length + disputes.length - disputed.length,
    everyMs: memory.consolidation.everyMs,
  };
}

const shown = ({ scope, owner, kind, key, seq, origin, by, value }: Shown): Shown => ({
  scope,
  owner,
  kind,
  key,
  seq,
  origin,
  by,
  value,
});

/** A rule forgot it: recorded again by a session, it comes back. */
function draftsOf({ forgotten, disputed }: ConsolidateReport): readonly DraftEvent[] {
  const forgets = forgotten.map(({ why, entry, into }): DraftEvent => {
    const { kind, key, seq } = into;
    return {
      type: "memory.forgotten",
      body: { ...nameFields(entry), by: "rule", consolidated: { why, kind, key, seq } },
    };
  });
  const marks = disputed.map(({ entries }): DraftEvent => ({
    type: "memory.disputed",
    body: { entries: entries.map((one) => ({ ...nameFields(one), seq: one.seq })) },
  }));
  const count = (wanted: string): number => forgotten.filter(({ why }) => why === wanted).length;
  const [merged, expired] = [count("duplicate"), count("superseded")];
  const done = { type: "memory.consolidated", body: { merged, expired, disputed: disputed.length } };
  return [...forgets, ...marks, done];
}
