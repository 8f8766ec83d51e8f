/**
 * How the sessions of a project stand, from the index of the store: none of their logs is read, so it takes
 * as long for a long session as for a short one.
 */
import type { SessionId } from "../../core/ids.ts";
import { addShown } from "../../core/text/money.ts";
import type { Store } from "../../store/port.ts";

/** The cost of a project: the sum of its sessions. What forks share counts once. */
export interface ProjectCost {
  readonly nanoUsd: number;
  /** The upper bound of further cost: open or lost calls, hidden reasoning. */
  readonly unconfirmedNanoUsd: number;
  /** Model calls of an unknown price: they are in neither amount. */
  readonly unpriced: number;
}

/** The sessions of a project by what they do now. Deleted ones are in none. */
export interface ProjectActivity {
  readonly running: number;
  /** They wait for a person: an approval, an answer, a budget. */
  readonly suspended: number;
}

/** What the sessions of a project cost and do. */
export interface ProjectStanding {
  readonly cost: ProjectCost;
  readonly active: ProjectActivity;
}

export async function standingOf(
  store: Pick<Store, "scheduled">,
  sessions: readonly SessionId[],
): Promise<ProjectStanding> {
  const rows = await store.scheduled(sessions);
  const cost = rows.reduce<ProjectCost>(addShown, { nanoUsd: 0, unconfirmedNanoUsd: 0, unpriced: 0 });
  const count = (status: string): number => rows.filter((row) => row.status === status).length;
  return { cost, active: { running: count("running"), suspended: count("suspended") } };
}
