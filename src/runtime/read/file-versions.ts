/** File versions in a log: what changed since a position, and how to restore it. */
import { SkeinError } from "../../core/error.ts";
import { readEvent } from "../../core/event.ts";
import { readChange, touchedIn, type RecordedChange } from "../../core/tool/file-version.ts";
import type { SessionId } from "../../core/ids.ts";
import type { Store } from "../../store/port.ts";
import type { StoredBinding, BoundFiles, FileConflict, FilePut, FileTree } from "../../tool/port.ts";
import { inflate } from "./content.ts";
import type { Deps } from "../deps.ts";

/** Calls with unknown changes, which cannot be restored. */
export interface UnknownFileChange {
  readonly seq: number;
  readonly why: string;
}

/** The records of changed files from one position to another, both included. */
export async function readChanges(
  store: Store,
  session: SessionId,
  range: { readonly fromSeq: number; readonly toSeq: number },
): Promise<readonly RecordedChange[]> {
  const changes: RecordedChange[] = [];
  const types = ["resource.changed"];
  for (let { fromSeq } = range; fromSeq <= range.toSeq;) {
    const page = await store.read(session, { fromSeq, toSeq: range.toSeq, limit: 50, types, contents: true });
    for (const record of page) {
      const { event } = readEvent(record, true);
      const content = event.erased ? undefined : await inflate(store, event.content);
      const change = readChange(event.seq, event.body, content, event.erased);
      if (change !== null) changes.push(change);
    }
    const last = page.at(-1);
    if (last === undefined) break;
    fromSeq = last.seq + 1;
  }
  return changes;
}

export async function filesOf(deps: Deps, bound: readonly StoredBinding[]): Promise<BoundFiles> {
  const source = await deps.tools?.();
  if (source?.files !== undefined) return source.files(bound);
  throw new SkeinError("unavailable", "files: no tools are configured", {
    hint: "pass the option tools to openEngine",
  });
}

/** The steps that restore files to their state before these changes, and what cannot be restored. */
export function putsOf(
  files: BoundFiles,
  changes: readonly RecordedChange[],
): {
  readonly puts: readonly FilePut[];
  readonly unbound: readonly string[];
  readonly unkept: readonly UnknownFileChange[];
} {
  const places = new Map<string, { readonly tree: FileTree; readonly path: string }>();
  const unbound = new Set<string>();
  const touched = touchedIn(changes, (name, path) => {
    const place = files.place(name, path);
    if (place === undefined) return void unbound.add(name);
    const key = `${place.tree.root}\0${place.path}`;
    places.set(key, place);
    return key;
  });
  const puts = [...touched].flatMap(([key, { first, last }]): FilePut[] => {
    const place = places.get(key);
    return place === undefined ? [] : [{ ...place, expect: last, to: first }];
  });
  const unkept = changes.flatMap(({ seq, unkept: why }) => (why === undefined ? [] : [{ seq, why }]));
  return { puts, unbound: [...unbound], unkept };
}

const shownMax = 20;

/** The error for files that cannot be restored; nothing was touched. `cause` lists them. */
export function fileConflict(conflicts: readonly FileConflict[]): SkeinError {
  const named = conflicts.slice(0, shownMax).map(({ path, why }) => `${path}: ${why}`);
  const more = conflicts.length > shownMax ? [`and ${conflicts.length - shownMax} more`] : [];
  const count = conflicts.length === 1 ? "a file" : `${conflicts.length} files`;
  return new SkeinError("conflict", `cannot restore ${count}: ${[...named, ...more].join("; ")}`, {
    hint: "no file was changed; move these files away or undo their changes, then retry",
    cause: conflicts,
  });
}
