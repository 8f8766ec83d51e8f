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
  /** `at` of the last record of its log or of its sessions. */
  readonly activeAt: number;
}

/** `activeAt`: of the project's own log. */
export async function standingOf(
  store: Pick<Store, "scheduled" | "list">,
  sessions: readonly SessionId[],
  activeAt: number,
): Promise<ProjectStanding> {
  const [rows, recent] = await Promise.all([
    store.scheduled(sessions),
    sessions.length === 0 ? null : store.list({ sessions }, { limit: 1 }),
  ]);
  const latest = recent?.rows[0];
  const cost = rows.reduce<ProjectCost>(addShown, { nanoUsd: 0, unconfirmedNanoUsd: 0, unpriced: 0 });
  const count = (status: string): number => rows.filter((row) => row.status === status).length;
  const at = Math.max(activeAt, latest?.activeAt ?? 0);
  return { cost, activeAt: at, active: { running: count("running"), suspended: count("suspended") } };
}
