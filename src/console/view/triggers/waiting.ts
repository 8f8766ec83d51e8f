/** Sessions with triggers: searched among those that are not closed. */
import type { RemoteEngine } from "../../../client/connect.ts";

export type SessionListRow = Awaited<ReturnType<RemoteEngine["sessions"]>>["rows"][number];

export interface WaitingSessions {
  readonly rows: readonly SessionListRow[];
  /** How many were searched; there are more. */
  readonly left: number | null;
}

const pageRows = 500;
const pagesMax = 10;

/** Timed ones first, by time; the others after them, by name. */
export async function readWaiting(engine: Pick<RemoteEngine, "sessions">): Promise<WaitingSessions> {
  const found: SessionListRow[] = [];
  let cursor: string | null = null;
  let seen = 0;
  for (let pages = 0; pages < pagesMax; pages++) {
    const page: Awaited<ReturnType<RemoteEngine["sessions"]>> = await engine.sessions({
      status: ["open", "running", "suspended", "sleeping"],
      limit: pageRows,
      ...(cursor === null ? {} : { cursor }),
    });
    found.push(...page.rows.filter(({ triggers }) => triggers !== null && triggers !== ""));
    seen += page.rows.length;
    ({ cursor } = page);
    if (cursor === null) break;
  }
  return { rows: found.toSorted(byTime), left: cursor === null ? null : seen };
}

const byTime = (a: SessionListRow, b: SessionListRow): number =>
  (a.dueMs ?? Infinity) - (b.dueMs ?? Infinity) || (a.name ?? "").localeCompare(b.name ?? "");
