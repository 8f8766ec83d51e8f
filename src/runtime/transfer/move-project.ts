/**
 * Moves projects with a whole store. A project is fenced here by `project.moved`, its log is received there,
 * and `project.arrived` opens it there. Sessions follow: those that joined here after the fence join there
 * when they arrive.
 */
import type { DraftEvent } from "../../core/decision.ts";
import { SkeinError } from "../../core/error.ts";
import type { ProjectId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { Head, Store } from "../../store/port.ts";
import type { Deps } from "../deps.ts";
import { seal } from "../log/seal.ts";
import { checkSame, meet, sendPages, type MoveParams } from "./move-group.ts";
import type { MovedLog } from "./move-lineage.ts";
import { makeReceiver } from "./move-receive.ts";

interface MovedBody {
  readonly move: string;
  readonly to: string;
}

/** How a project stands for a move to that workspace. */
type Standing =
  | { readonly stands: "gone" | "before" | "elsewhere" }
  | { readonly stands: "here" | "begun" | "copy"; readonly head: Head; readonly move: string | null };

/** All projects that live here, or are copies here. Returns how many this call moved. */
export async function moveProjects(moving: MoveParams): Promise<number> {
  let moved = 0;
  for (const project of await moving.deps.projects.ids()) if (await moveProject(moving, project)) moved += 1;
  return moved;
}

/** How many would move. */
export async function countProjects(deps: Deps, to: Store | null): Promise<number> {
  let count = 0;
  for (const project of await deps.projects.ids()) {
    const { stands } = await look(deps, to, project);
    if (stands === "here" || stands === "begun" || stands === "copy") count += 1;
  }
  return count;
}

async function moveProject(moving: MoveParams, project: ProjectId): Promise<boolean> {
  for (let tries = 0; tries < limit.conflictRetriesMax; tries++) {
    const found = await look(moving.deps, moving.to, project);
    if (!("head" in found)) return false;
    try {
      await send(moving, project, found);
      return true;
    } catch (error) {
      // It was changed here between the look and the fence.
      if (!(error instanceof SkeinError) || error.code !== "conflict") throw error;
    }
  }
  throw new SkeinError("conflict", `${project} changes too often; retries exhausted`, {
    hint: "retry later",
  });
}

async function look({ store }: Deps, to: Store | null, project: ProjectId): Promise<Standing> {
  const head = await store.head(project);
  if (head === undefined) return { stands: "gone" };
  const there = await to?.head(project);
  if (head.copy === true)
    return (there?.seq ?? 0) >= head.seq ? { stands: "before" } : { stands: "copy", head, move: null };
  const moved = await movedBody(store, project, head.seq);
  if (moved === null) return { stands: "here", head, move: null };
  if (moved.to !== to?.workspace) return { stands: "elsewhere" };
  return (there?.seq ?? 0) > head.seq ? { stands: "before" } : { stands: "begun", head, move: moved.move };
}

/** Null while it lives in this store. */
async function movedBody(store: Store, project: ProjectId, headSeq: number): Promise<MovedBody | null> {
  const range = { fromSeq: headSeq, toSeq: headSeq, limit: 1, contents: false };
  const [last] = await store.read(project, range);
  return last?.type === "project.moved" ? (JSON.parse(last.body) as MovedBody) : null;
}

async function send(
  moving: MoveParams,
  project: ProjectId,
  { stands, head, ...begun }: Extract<Standing, { readonly head: Head }>,
): Promise<void> {
  const { deps, to, sent } = moving;
  const receiver = makeReceiver(to, deps.world, moving.deleted);
  let log = logOf(project, head);
  try {
    // All but the fence first: a project with another history there is refused before it stops here.
    const afterSeq = await meet(moving, receiver, log, { ahead: stands !== "here" });
    await sendPages(moving, receiver, log, afterSeq);
    let { move } = begun;
    if (stands === "here") {
      move = `mov_${deps.world.salt()}`;
      const end = await fence(moving, project, head, move);
      log = { ...log, toSeq: end.seq, hash: end.hash };
      receiver.extend(end);
      await sendPages(moving, receiver, log, head.seq);
    }
    await receiver.end();
    await checkSame(moving, deps.store, log);
    await to.finish(await receiver.finished(() => (stands === "copy" ? "copy" : "own")));
    sent.records += receiver.put.records;
    if (move !== null) await arrive(moving, project, { log, move });
  } catch (error) {
    await receiver.discard();
    throw error;
  }
}

const logOf = (project: ProjectId, { seq: toSeq, hash }: Head): MovedLog => ({
  session: project,
  via: project,
  parent: null,
  base: null,
  fromSeq: 1,
  toSeq,
  hash,
  kind: "project",
});

/** The last record here; written only if the log still ends where it was read. */
async function fence(
  { deps, to, where }: MoveParams,
  project: ProjectId,
  { seq, hash }: Head,
  move: string,
): Promise<{ readonly seq: number; readonly hash: string }> {
  const moved: DraftEvent = { type: "project.moved", body: { move, to: to.workspace }, content: { where } };
  const { drafts } = seal(deps.world, [moved], { actor: deps.actor, key: null });
  const [appended] = await deps.writer.commit([{ session: project, expect: { seq, hash }, drafts }]);
  if (appended === undefined) throw new SkeinError("corrupt", "the store acknowledged nothing");
  return { seq: appended.headSeq, hash: appended.hashes.at(-1) ?? "" };
}

/** Appends `project.arrived` there; harmless when another process was first with the same. */
async function arrive(
  { deps, to, writer }: MoveParams,
  project: ProjectId,
  { log, move }: { readonly log: MovedLog; readonly move: string },
): Promise<void> {
  const { world, actor, store } = deps;
  const arrived: DraftEvent = {
    type: "project.arrived",
    body: { move },
    content: { from: store.workspace },
  };
  const { drafts } = seal(world, [arrived], { actor, key: null });
  try {
    const expect = { seq: log.toSeq, hash: log.hash };
    await writer.commit([{ session: project, expect, drafts }]);
  } catch (error) {
    const headSeq = (await to.head(project))?.seq ?? 0;
    if (!(error instanceof SkeinError) || headSeq <= log.toSeq) throw error;
  }
}
