/** Lineage of a project: the families of its sessions, each session once. */
import { isSessionId, type ProjectId, type SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { Deps } from "../deps.ts";
import { readFamily, type Relative } from "../read/family.ts";
import { nodeOf, type LineageNode } from "../read/lineage.ts";
import { findProject } from "./project-reader.ts";

/** The families of a project's sessions: the result of `engine.projectLineage`. */
export interface ProjectLineage {
  readonly project: ProjectId;
  /** In the order in which the families joined, each before its descendants; `depth` is within a family. */
  readonly nodes: readonly LineageNode[];
  /** The number of sessions left out, because there are too many. */
  readonly left: number;
}

export async function readProjectLineage(deps: Deps, idOrEnding: string): Promise<ProjectLineage> {
  const project = await findProject(deps.projects, idOrEnding);
  const { state } = await deps.projects.read(project);
  const ids = [...state.sessions.keys()].filter((id) => isSessionId(id));
  const own = new Set<SessionId>(ids);
  const seen = new Set<SessionId>();
  const nodes: LineageNode[] = [];
  for (const id of ids) {
    if (seen.has(id)) continue;
    for (const relative of await relativesOf(deps, id)) {
      if (seen.has(relative.session) || !own.has(relative.session)) continue;
      seen.add(relative.session);
      if (nodes.length < limit.lineageMax) nodes.push(await nodeOf(deps, relative));
    }
  }
  return { project, nodes, left: seen.size - nodes.length };
}

/** A deleted session alone: its family is read from those that are left. */
async function relativesOf(deps: Deps, session: SessionId): Promise<readonly Relative[]> {
  if ((await deps.store.head(session)) !== undefined) return (await readFamily(deps, session)).relatives;
  return [{ session, parent: null, relation: null, depth: 0, via: null }];
}
