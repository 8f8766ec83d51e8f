/** What the status and the holds of a project mean for its sessions. */
import { SkeinError } from "../../core/error.ts";
import { isProjectId, quote, type ProjectId } from "../../core/ids.ts";
import { present } from "../../core/present.ts";
import { joinRefusal } from "../../core/project/project.ts";
import type { Store } from "../../store/port.ts";
import type { ProjectReader, ReadProject } from "./project-reader.ts";

interface Projects {
  readonly store: Store;
  readonly projects: ProjectReader;
}

/** The project of a session; null where it has none, or the store does not have it. */
async function projectOf({ store, projects }: Projects, id: string | null): Promise<ReadProject | null> {
  if (id === null || !isProjectId(id)) return null;
  return (await store.head(id)) === undefined ? null : projects.read(id);
}

/**
 * A closed project takes no new line of work: no session, fork or child. Its sessions go on, and so do their
 * successors by `clear` and `rollover`.
 */
export async function assertTakesSessions(
  deps: Projects,
  project: string | null | undefined,
  call: string,
): Promise<void> {
  const found = await projectOf(deps, project ?? null);
  const refusal = found === null ? null : joinRefusal(found.state);
  if (refusal === null) return;
  const { code, message, hint } = refusal;
  throw new SkeinError(code, `${call}: project: ${message}`, present({ hint }));
}

/** The first hold of a project; null without one. */
export async function holdOfProject(deps: Projects, project: string | null): Promise<string | null> {
  const found = await projectOf(deps, project);
  return found?.state.holds.keys().next().value ?? null;
}

/** Nothing of a project under a hold is erased or deleted, and no session of it leaves. */
export async function assertProjectNotHeld(
  deps: Projects,
  {
    log,
    project,
    nothing,
  }: { readonly log: string; readonly project: string | null; readonly nothing: string },
): Promise<void> {
  const held = await holdOfProject(deps, project);
  if (held === null || project === null) return;
  const of = log === project ? log : `${log} belongs to the project ${project}, which`;
  throw new SkeinError("refused", `${of} is under legal hold ${quote(held)}`, {
    hint: `${nothing}; lift the hold first: ${liftText(project as ProjectId, held)}`,
  });
}

const liftText = (project: ProjectId, name: string): string => `skein project lift ${project} ${quote(name)}`;
