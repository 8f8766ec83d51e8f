/** The dependencies of one session, each with its state now. */
import { dependenciesOf, dependencyTypes, type Dependency } from "../../core/depend/dependency.ts";
import { readEvent, type SessionLogEvent } from "../../core/event.ts";
import { isUnreviewed } from "../../core/govern/review.ts";
import type { SessionId } from "../../core/ids.ts";
import { includes } from "../../core/range.ts";
import type { State } from "../../core/state.ts";
import { contentOf } from "../read/content.ts";
import type { Deps } from "../deps.ts";
import { makeSourceLook, type SourceNow } from "./source-now.ts";

/** One thing that a session stands on. */
export interface DependencyRow extends Pick<Dependency, "kind" | "source" | "digest" | "seq" | "at"> {
  /** All that was read of it: lines of a file, positions of a session. Empty: the whole. */
  readonly ranges: readonly (readonly [from: number, to: number])[];
  /** How often it was read. */
  readonly reads: number;
  /** Of a query: the bound database, and the tables. */
  readonly binding: string | null;
  readonly tables: readonly string[];
  /**
   * `same` or `changed` since it was last read; `missing`; `follows`: the session learns of changes itself;
   * `unknown`: it was not looked at.
   */
  readonly now: SourceNow;
}

/** Options of `session.deps`. */
export interface DependencyOptions {
  readonly atSeq?: number | string;
  /** Runs its queries again, to see whether they give another result. */
  readonly queries?: boolean;
}

/** The last read of each source, the newest first. */
export async function listDependencies(
  deps: Deps,
  session: SessionId,
  state: State,
  { queries = false }: DependencyOptions,
): Promise<readonly DependencyRow[]> {
  const found = new Map<string, { last: Dependency; reads: number; ranges: [number, number][] }>();
  for await (const one of dependenciesIn(deps, session, state)) {
    const name = JSON.stringify([one.kind, one.source, one.query?.binding]);
    const known = found.get(name);
    const same = known?.last.digest === one.digest ? known.ranges : [];
    const ranges = one.range === null ? same : [...same, [...one.range] as [number, number]];
    found.set(name, { last: one, reads: (known?.reads ?? 0) + 1, ranges });
  }
  const isCopy = (await deps.store.head(session))?.copy === true;
  const mayOpen = !isCopy && !isUnreviewed(state);
  await using look = makeSourceLook(deps, session, state, { queries: queries && mayOpen, files: mayOpen });
  const rows: DependencyRow[] = [];
  for (const { last, reads, ranges } of found.values()) {
    const { kind, source, digest, seq, at, query } = last;
    const about = { binding: query?.binding ?? null, tables: query?.tables ?? [] };
    rows.push({ kind, source, digest, seq, at, ranges, reads, ...about, now: await look.now(last) });
  }
  return rows.toSorted((a, b) => b.seq - a.seq);
}

/** In the order of the log; without what was rewound, and documents that others superseded. */
async function* dependenciesIn(
  { store }: Deps,
  session: SessionId,
  { seq: toSeq, mind }: State,
): AsyncGenerator<Dependency> {
  const documents = new Set([...mind.documents.values()].map(({ seq }) => seq));
  const all = { toSeq, limit: 500, contents: true, types: dependencyTypes };
  for (let fromSeq = 1; fromSeq <= toSeq;) {
    const page = await store.read(session, { ...all, fromSeq });
    for (const record of page) {
      if (includes(mind.lost, record.seq)) continue;
      if (record.type === "document.loaded" && !documents.has(record.seq)) continue;
      const { event, kind } = readEvent(record, false);
      const content = await contentOf(store, record);
      if (kind === "known") yield* dependenciesOf({ ...event, content } as SessionLogEvent);
    }
    const last = page.at(-1);
    if (last === undefined) return;
    fromSeq = last.seq + 1;
  }
}
