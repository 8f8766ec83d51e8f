/**
 * Reads projects: folds a project's log once, and then only what is new in it. A log that was rolled back is
 * folded again from its beginning.
 */
import { makeCache } from "../../core/cache.ts";
import { SkeinError } from "../../core/error.ts";
import { isProjectId, quote, type ProjectId } from "../../core/ids.ts";
import { ProjectState } from "../../core/project/project.ts";
import type { Store } from "../../store/port.ts";
import { makeKeyedMutex } from "../log/keyed-mutex.ts";
import { suffixCharsMin } from "../read/find.ts";
import { holdsRecord, isBehind, type KnownHead } from "../read/known-heads.ts";
import { readPages, readRecords } from "../read/record-pages.ts";

/** A project at the head of its log. */
export interface ReadProject extends KnownHead {
  readonly state: ProjectState;
}

export interface ProjectReader {
  /** Rejects with `not-found` where the store has no such project. */
  read(id: ProjectId): Promise<ReadProject>;
  /** As it was after an earlier record, for the answer of a repeated call. */
  at(id: ProjectId, record: KnownHead): Promise<ReadProject>;
  /** All projects of the workspace, in the order in which they were opened. */
  ids(): Promise<readonly ProjectId[]>;
}

/** Projects whose state is kept; each is at most some megabytes. */
const keptMin = 50;

export function makeProjectReader(store: Store): ProjectReader {
  const known = makeCache<ProjectId, ReadProject>(keptMin);
  const inTurn = makeKeyedMutex();
  let list: (KnownHead & { readonly ids: readonly ProjectId[] }) | null = null;

  async function advance(id: ProjectId): Promise<ReadProject> {
    const head = await store.head(id);
    if (head === undefined) throw noProject(id);
    const last = known.get(id);
    const holds =
      last !== undefined &&
      !isBehind(head, last) &&
      (last.seq === head.seq || (await holdsRecord(store, id, last)));
    if (holds && last.seq === head.seq) return last;
    const state = await foldTo(id, head.seq, holds ? last.state : new ProjectState());
    const now = { state, seq: head.seq, hash: head.hash };
    known.set(id, now);
    return now;
  }

  async function foldTo(id: ProjectId, toSeq: number, state: ProjectState): Promise<ProjectState> {
    for await (const page of readPages(store, id, [state.seq + 1, toSeq], { contents: false }))
      for (const record of page) state.apply({ ...record, body: bodyOf(record.body) });
    return state;
  }

  /** What the workspace's log lists; of a log that was read before, only what is new. */
  async function listed(): Promise<readonly ProjectId[]> {
    const head = await store.head(store.workspace);
    if (head === undefined) return [];
    const goesOn =
      list !== null && !isBehind(head, list) && (await holdsRecord(store, store.workspace, list));
    const ids = new Set<ProjectId>(goesOn ? list?.ids : []);
    const range = [goesOn ? (list?.seq ?? 0) + 1 : 1, head.seq] as const;
    const only = { types: ["project.listed"], contents: false };
    for await (const { body } of readRecords(store, store.workspace, range, only)) {
      const { project } = bodyOf(body) as { project?: unknown };
      if (typeof project === "string" && isProjectId(project)) ids.add(project);
    }
    list = { seq: head.seq, hash: head.hash, ids: [...ids] };
    return list.ids;
  }

  return {
    read: (id) => inTurn([id], () => advance(id)),
    at: async (id, { seq, hash }) => ({ state: await foldTo(id, seq, new ProjectState()), seq, hash }),
    ids: () => inTurn([store.workspace], listed),
  };
}

/** A damaged body changes nothing; `verify` reports it. */
function bodyOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

const noProject = (id: string): SkeinError =>
  new SkeinError("not-found", `there is no project ${quote(id)}`, {
    hint: '"skein project list" lists the projects',
  });

/** A project by its id, or by a unique ending of it. */
export async function findProject(reader: ProjectReader, idOrEnding: string): Promise<ProjectId> {
  if (typeof idOrEnding === "string" && isProjectId(idOrEnding)) return idOrEnding;
  if (typeof idOrEnding !== "string" || !/^[0-9a-z_]{1,30}$/.test(idOrEnding)) {
    throw new SkeinError("invalid", `project: id: expected a project id, got ${quote(idOrEnding)}`, {
      hint: 'a project id is "prj_" and 26 characters; "skein project list" lists the ids',
    });
  }
  const found = (await reader.ids()).filter((id) => id.endsWith(idOrEnding));
  const [only, ...others] = found;
  if (only === undefined) throw noProject(idOrEnding);
  if (others.length === 0 && idOrEnding.length < suffixCharsMin)
    throw new SkeinError(
      "invalid",
      `project: id: expected at least ${suffixCharsMin} characters of an id, got ${quote(idOrEnding)}`,
      { hint: `for example ${only.slice(-6)}` },
    );
  if (others.length === 0) return only;
  throw new SkeinError("invalid", `project: id: "${idOrEnding}" matches more than one project`, {
    hint: `use a longer suffix: ${found.slice(0, 5).join(", ")}`,
  });
}
