/** The sessions that a sum of costs is of: one, its family, those of a project, or all. */
import { SkeinError } from "../../core/error.ts";
import type { ProjectId, SessionId } from "../../core/ids.ts";
import type { Deps } from "../deps.ts";
import { findProject } from "../project/project-reader.ts";
import type { CostOptions } from "../read/cost.ts";
import { readFamily } from "../read/family.ts";
import { findSession } from "../read/find.ts";

/** Null: all of the store. A project's sessions are named by its log, in the query itself. */
export async function costSessions(
  deps: Deps,
  { session, family = false, project }: CostOptions,
): Promise<readonly SessionId[] | ProjectId | null> {
  if (family && session === undefined)
    throw new SkeinError("invalid", "cost: family: expected with session", { hint: "pass session" });
  if (project !== undefined && session !== undefined) {
    throw new SkeinError("invalid", "cost: project: not allowed with session", {
      hint: "pass one of them",
    });
  }
  if (project !== undefined) return existingProject(deps, project);
  if (session === undefined) return null;
  const id = await findSession(deps.store, session);
  if (!family) return [id];
  return (await readFamily(deps, id)).relatives.map((relative) => relative.session);
}

async function existingProject({ projects }: Deps, idOrEnding: string): Promise<ProjectId> {
  const id = await findProject(projects, idOrEnding);
  await projects.read(id);
  return id;
}
