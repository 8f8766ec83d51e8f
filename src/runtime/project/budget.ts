/** The budget of a project: set by a person, shown with what is allotted; raising it resumes its sessions. */
import { checkCall } from "../../call/check.ts";
import type { Budget } from "../../core/budget/commands.ts";
import { amountsOf } from "../../core/decision.ts";
import { SkeinError } from "../../core/error.ts";
import { isSessionId, type ProjectId, type SessionId } from "../../core/ids.ts";
import { present } from "../../core/present.ts";
import { allottedOf, nothing, plusSpendable, type ProjectBudget } from "../../core/project/budget.ts";
import type { Amounts, Spendable } from "../../core/state.ts";
import type { Deps } from "../deps.ts";
import { changeProject } from "./change.ts";
import { findProject, type ReadProject } from "./project-reader.ts";

/** The limits of a project, for all its sessions together. */
export type ProjectLimits = Pick<Budget, "usd" | "tokens">;

/** The budget of a project. */
export interface ProjectBudgetView {
  readonly project: ProjectId;
  /** Null: none was set. Without a limit a resource is unlimited. */
  readonly limits: ProjectLimits | null;
  /** Used by its sessions, or set aside for their next calls. */
  readonly allotted: Spendable;
}

/** The result of `engine.setProjectBudget`. */
export interface ProjectBudgetResult extends ProjectBudgetView {
  /** Sessions that the earlier budget had stopped, and that continue. */
  readonly resumed: readonly SessionId[];
}

export async function showProjectBudget(deps: Deps, idOrEnding: string): Promise<ProjectBudgetView> {
  const id = await findProject(deps.projects, idOrEnding);
  return budgetView(id, await deps.projects.read(id));
}

export async function setProjectBudget(
  deps: Deps,
  idOrEnding: string,
  options: ProjectLimits & { readonly reason?: string },
): Promise<ProjectBudgetResult> {
  checkCall("engine.setProjectBudget", options, { project: idOrEnding });
  const { reason, ...limits } = options;
  const project = await findProject(deps.projects, idOrEnding);
  const { state } = await deps.projects.read(project);
  const spent = state.budget === null ? await spentBy(deps, [...state.sessions.keys()]) : nothing;
  const command = { do: "budget", limits: amountsOf(limits), spent, reason } as const;
  const { id, read } = await changeProject(deps, project, command);
  const resumed = await resume(deps, id, [...read.state.sessions.keys()]);
  return { ...budgetView(id, read), resumed };
}

/** What sessions have used. One that is gone is not counted. */
async function spentBy({ store, writer }: Deps, sessions: readonly string[]): Promise<Spendable> {
  let sum = nothing;
  for (const session of sessions) {
    if (!isSessionId(session) || (await store.head(session)) === undefined) continue;
    const { used } = (await writer.current(session)).standing;
    sum = plusSpendable(sum, { tokens: used.tokens, nanoUsd: used.nanoUsd });
  }
  return sum;
}

/** Sessions that the project's budget has stopped continue; it stops them again if it is still too small. */
async function resume(
  { store, writer, actor }: Deps,
  project: ProjectId,
  sessions: readonly string[],
): Promise<SessionId[]> {
  const resumed: SessionId[] = [];
  for (const session of sessions) {
    if (!isSessionId(session) || (await store.head(session)) === undefined) continue;
    const { standing } = await writer.current(session);
    const { status, why } = standing;
    if (status !== "suspended" || why?.by !== "budget") continue;
    const [record] = await store.read(session, {
      fromSeq: why.seq,
      toSeq: why.seq,
      limit: 1,
      contents: false,
    });
    const { project: stopper } = JSON.parse(record?.body ?? "{}") as { readonly project?: string };
    if (stopper !== project) continue;
    try {
      await writer.change(session, { do: "activate", reason: "the project has a new budget" }, { actor });
      resumed.push(session);
    } catch (error) {
      // Somebody else resumed or closed it meanwhile.
      if (!(error instanceof SkeinError) || (error.code !== "refused" && error.code !== "conflict"))
        throw error;
    }
  }
  return resumed;
}

const budgetView = (project: ProjectId, { state: { budget } }: ReadProject): ProjectBudgetView => ({
  project,
  limits: limitsOf(budget),
  allotted: budget === null ? nothing : allottedOf(budget),
});

/** As people write them, with money in dollars. */
function limitsOf(budget: ProjectBudget | null): ProjectLimits | null {
  if (budget === null) return null;
  const { tokens, nanoUsd }: Amounts = budget.limits;
  return present({ tokens, usd: nanoUsd === undefined ? undefined : nanoUsd / 1e9 });
}
