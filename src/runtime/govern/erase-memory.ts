/**
 * Forgets and erases: forgets a memory entry, and erases the contents of all its versions from the
 * workspace's log. It lists where else the content stands; erase it there separately. Forgetting comes first:
 * after a crash the entry is forgotten, and a repeated call erases the rest.
 */
import { readPages } from "../read/record-pages.ts";
import { SkeinError } from "../../core/error.ts";
import { isSessionId, type LogId } from "../../core/ids.ts";
import { memoryId, nameIn, type MemoryName } from "../../core/memory/name.ts";
import * as range from "../../core/range.ts";
import type { Ranges } from "../../core/range.ts";
import { contentOf, readContent } from "../read/content.ts";
import type { Deps } from "../deps.ts";
import { findCopies, ownRanges } from "./erase-copies.ts";
import { readFamily } from "./erase-family.ts";
import { scrubIfDue } from "./erase-scrub.ts";
import { bytesOf, survey, type ErasedContent } from "./erase-survey.ts";
import { eraseTarget } from "./erase-write.ts";
import {
  type EraseCopy,
  forget,
  type ForgetOptions,
  type ForgetResult,
  nameOf,
} from "../workspace/memory.ts";
import { writtenBefore } from "../log/workspace-log.ts";

export async function forgetForGood(deps: Deps, options: ForgetOptions): Promise<ForgetResult> {
  const name = nameOf("forget", deps, options);
  const done = await writtenBefore(deps);
  // A repeated call with its key finishes; a newer entry of the name is something else.
  const { seqs, origins } = await versionsOf(deps, name, done?.seq);
  const found = await forget(deps, options).catch((error: unknown) => {
    const isForgotten = error instanceof SkeinError && error.code === "not-found" && seqs.length > 0;
    if (!isForgotten) throw error;
    return null;
  });
  // An entry that was promoted meanwhile was forgotten too.
  const ranges = [...seqs, ...(found === null ? [] : [found.seq])].reduce(
    (all, seq) => range.add(all, [seq, seq]),
    [] as Ranges,
  );
  const { store } = deps;
  const gone = await survey(store, store.workspace, ranges);
  const copies = await copiesOf(deps, name, origins);
  const target = { session: store.workspace, survey: gone, sharers: new Map() };
  await eraseTarget(deps, target, options.reason, () => undefined);
  const scrubbed = await scrubIfDue(store);
  const erasure = { records: gone.doomed.length, bytes: bytesOf(gone.doomed), copies, scrubbed };
  if (found !== null) return { ...found, value: null, because: null, erased: true, erasure };
  const lastSeq = seqs.at(-1) ?? 1;
  const place = { fromSeq: lastSeq, toSeq: lastSeq, limit: 1, contents: false };
  const [last] = await store.read(store.workspace, place);
  if (last === undefined) throw new Error("invariant: a version is where it was found");
  const { seq, at, actor } = last;
  const { origin = null, by = null } = JSON.parse(last.body) as Partial<Pick<ForgetResult, "origin" | "by">>;
  return { ...name, seq, at, actor, origin, by, value: null, because: null, erased: true, erasure };
}

interface Versions {
  readonly seqs: readonly number[];
  readonly origins: readonly { readonly session: string; readonly seq: number }[];
}

/**
 * The positions of an entry, past and present. An entry that a rule forgot has the reason of the session's
 * retraction.
 */
async function versionsOf({ store }: Deps, name: MemoryName, toSeq?: number): Promise<Versions> {
  const headSeq = toSeq ?? (await store.head(store.workspace))?.seq ?? 0;
  const types = ["memory.promoted", "memory.forgotten", "memory.proposed", "memory.rejected"];
  const id = memoryId(name);
  const seqs: number[] = [];
  const origins: Versions["origins"][number][] = [];
  for await (const page of readPages(store, store.workspace, [1, headSeq], { types })) {
    for (const { seq, type, body: text } of page) {
      const body = JSON.parse(text) as Partial<Pick<ForgetResult, "origin" | "by">>;
      const named = nameIn(body);
      if (named === null || memoryId(named) !== id) continue;
      // The reason of a person stays.
      if ((type === "memory.forgotten" || type === "memory.rejected") && body.by !== "rule") continue;
      seqs.push(seq);
      if (body.origin !== undefined && body.origin !== null) origins.push(body.origin);
    }
  }
  return { seqs, origins };
}

/** The items that it came from, sessions that carry it, and copies of either. */
async function copiesOf(
  deps: Deps,
  name: MemoryName,
  origins: Versions["origins"],
): Promise<readonly EraseCopy[]> {
  const family = await readFamily(deps);
  const first: EraseCopy[] = [];
  for (const { session, seq } of origins) {
    const one = isSessionId(session) ? await itemAt(deps, session, seq) : null;
    if (one !== null) first.push(one);
  }
  const { store } = deps;
  for await (const [session, ranges] of ownRanges(deps, family)) {
    for (const each of ranges) {
      for await (const page of readPages(store, session, each, {
        types: ["memory.carried"],
        contents: true,
      })) {
        for (const record of page) {
          const content = (await contentOf(store, record)) as { items?: readonly MemoryName[] } | undefined;
          const isIt = ({ scope, kind, key }: MemoryName): boolean =>
            scope === name.scope && kind === name.kind && key === name.key;
          if (content?.items?.some(isIt) !== true) continue;
          const { seq, type, contentBytes } = record;
          first.push({ session, seq, type, bytes: contentBytes ?? 0, why: "carried from memory" });
        }
      }
    }
  }
  const sources = first.map(({ session, seq, type, bytes }): ErasedContent => {
    return { seq, type, bytes, owner: session, message: null };
  });
  const { found: more } = await findCopies(deps, family, sources, {
    finds: undefined,
    progress: undefined,
  });
  const versions = new Set(first.map(({ session, seq }) => `${session}@${seq}`));
  return [
    ...first,
    ...more
      .map(({ copy }) => copy)
      .filter(({ session, seq }) => session !== store.workspace && !versions.has(`${session}@${seq}`)),
  ];
}

async function itemAt({ store }: Deps, session: LogId, seq: number): Promise<EraseCopy | null> {
  if ((await store.head(session)) === undefined) return null;
  const [record] = await store.read(session, { fromSeq: seq, toSeq: seq, limit: 1, contents: false });
  if (record === undefined || (await readContent(store, session, seq)) === undefined) return null;
  const { type, contentBytes } = record;
  return { session, seq, type, bytes: contentBytes ?? 0, why: "it came from here" };
}
