/**
 * A call of a session of a project is paid from the project's budget: what it may cost is drawn in the append
 * that requests it, and decided on the project's log as it stands there.
 */
import { budgetLeft, leastOf } from "../../core/budget/budget.ts";
import { isProjectId, isSessionId, type ProjectId, type SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import {
  drawFor,
  projectLeft,
  reachOf,
  shortOf,
  spendables,
  toRegain,
  plusSpendable,
  type ProjectBudget,
} from "../../core/project/budget.ts";
import { decideProject } from "../../core/project/project.ts";
import type { Amounts, Spendable, State } from "../../core/state.ts";
import type { ProjectDraw } from "../../core/turn/commands.ts";
import type { Deps } from "../deps.ts";
import type { AlsoChange, WorkspaceEffects } from "../log/workspace-effects.ts";
import { refusalError } from "./change.ts";

type DrawDeps = Pick<Deps, "store" | "projects" | "writer" | "actor">;

/** What a call reserves, what is drawn for it, and the records of the project for that. */
export interface PaidCall {
  readonly reserved: Amounts;
  readonly draw: ProjectDraw | undefined;
  readonly effects: WorkspaceEffects | null;
}

/**
 * Reserves what a call may cost: `wantedOf` says it, given what is left of the session's own budget and of
 * the project's.
 */
export async function payCall(
  deps: DrawDeps,
  session: SessionId,
  state: State,
  wantedOf: (left: Amounts) => Amounts,
): Promise<PaidCall> {
  const own = budgetLeft(state);
  const { project } = state.standing;
  const found = project === null || !isProjectId(project) ? null : await budgetOf(deps, project);
  if (project === null || found === null) return { reserved: wantedOf(own), draw: undefined, effects: null };
  const { budget, read } = found;
  let regained: readonly (readonly [string, Spendable])[] = [];
  let left = projectLeft(budget);
  let reach = reachOf(left, state.standing);
  let reserved = wantedOf(leastOf(own, reach));
  // Near its end every idle remainder counts.
  if (isScarce(budget, left)) {
    regained = await remainders(deps, budget, session, state);
    for (const [, amounts] of regained) left = addLeft(left, amounts);
    reach = reachOf(left, state.standing);
    reserved = wantedOf(leastOf(own, reach));
  }
  const short = shortOf(budget, reach, reserved);
  if (short !== null) return { reserved, draw: { project, amounts: {}, short }, effects: null };
  const amounts = drawFor(left, state.standing, reserved);
  if (amounts === null) return { reserved, draw: undefined, effects: null };
  const decision = decideProject(read.state, { do: "allot", session, amounts, regained }, deps.actor);
  if (!decision.ok) throw refusalError(decision.refusal);
  const effects = {
    log: project as ProjectId,
    headSeq: read.seq,
    headHash: read.hash,
    events: decision.drafts,
  };
  return { reserved, draw: { project, amounts }, effects };
}

/** The project's part of an append; null if nothing was drawn after all. */
export function drawnBeside(
  { drafts }: AlsoChange,
  effects: WorkspaceEffects | null,
): Promise<WorkspaceEffects> | null {
  return effects !== null && drafts.some(({ type }) => type === "budget.drawn")
    ? Promise.resolve(effects)
    : null;
}

/** Null where the project has no budget, or is not in this store. */
async function budgetOf({ store, projects }: DrawDeps, project: ProjectId) {
  if ((await store.head(project)) === undefined) return null;
  const read = await projects.read(project);
  const { budget } = read.state;
  return budget === null ? null : { budget, read };
}

/** Less than this part is left: then what idle sessions hold is worth a look. */
const scarcePart = 1 / 4;

const isScarce = ({ limits }: ProjectBudget, left: Amounts): boolean =>
  spendables.some((resource) => {
    const [most, rest] = [limits[resource], left[resource]];
    return most !== undefined && rest !== undefined && rest < most * scarcePart;
  });

/** What the project may take back, by session. A session that is gone keeps what it was given. */
async function remainders(
  { store, writer }: DrawDeps,
  { given }: ProjectBudget,
  own: SessionId,
  state: State,
): Promise<readonly (readonly [string, Spendable])[]> {
  const found: (readonly [string, Spendable])[] = [];
  for (const [session, amounts] of given) {
    if (found.length >= regainedMax || !isSessionId(session)) continue;
    if (session !== own && (await store.head(session)) === undefined) continue;
    const { standing } = session === own ? state : await writer.current(session);
    const back = toRegain(amounts, standing);
    if (back !== null) found.push([session, back]);
  }
  return found;
}

/** Records of one append, with room for those of the call. */
const regainedMax = limit.appendRecordsMax / 2;

function addLeft(left: Amounts, more: Spendable): Amounts {
  const sum = plusSpendable({ tokens: left.tokens ?? 0, nanoUsd: left.nanoUsd ?? 0 }, more);
  return Object.fromEntries(spendables.flatMap((one) => (left[one] === undefined ? [] : [[one, sum[one]]])));
}
