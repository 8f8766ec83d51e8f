/** Verifies and erases a project: its own log, and the sessions that belong to it. */
import { checkCall } from "../../call/check.ts";
import type { StoredRecord } from "../../core/chain.ts";
import { SkeinError } from "../../core/error.ts";
import { isSessionId, type LogId, type ProjectId, type SessionId } from "../../core/ids.ts";
import * as range from "../../core/range.ts";
import type { Ranges } from "../../core/range.ts";
import type { Deps } from "../deps.ts";
import { findProject } from "../project/project-reader.ts";
import { assertProjectNotHeld } from "../project/project-status.ts";
import { present } from "../../core/present.ts";
import { eraseSession, type EraseReport } from "./erase.ts";
import { scrubIfDue } from "./erase-scrub.ts";
import { bytesOf, rangesOf, survey } from "./erase-survey.ts";
import { makeFinder } from "./erase-text.ts";
import { eraseTarget } from "./erase-write.ts";
import { verifyLogs } from "./verify-all.ts";
import type { VerifyReport } from "./verify.ts";

/** The result of `engine.verifyProject`. */
export interface VerifyProjectReport extends VerifyReport {
  readonly project: ProjectId;
  /** Sessions of the project that this store no longer has: deleted, or moved away and deleted here. */
  readonly absent: readonly SessionId[];
}

/** Options of `engine.eraseProject`. */
export interface EraseProjectOptions {
  /** Positions of the project's log, both inclusive. */
  readonly ranges?: readonly (readonly [fromSeq: number, toSeq: number])[];
  /** Only contents that hold this text. */
  readonly match?: string;
  /** Also its sessions: all of them, or what holds the text. */
  readonly sessions?: boolean;
  readonly reason?: string;
  /** Reports what would be erased, and changes nothing. */
  readonly dryRun?: boolean;
}

/** The result of `engine.eraseProject`. */
export interface EraseProjectReport {
  readonly project: ProjectId;
  readonly dryRun: boolean;
  /** Erased contents of the project's log, or those to erase. */
  readonly ranges: Ranges;
  readonly records: number;
  readonly bytes: number;
  /** Requested contents that were erased before. */
  readonly already: number;
  /** With `sessions`: what is erased of each that has any. */
  readonly sessions: readonly Pick<EraseReport, "session" | "records" | "bytes" | "forks">[];
  /** False: the scrub is pending, and the files of the store may hold traces until it has run. */
  readonly scrubbed: boolean;
}

/** The project's log and every log of its sessions, each against its listed head. */
export async function verifyProject(deps: Deps, idOrEnding: string): Promise<VerifyProjectReport> {
  const project = await findProject(deps.projects, idOrEnding);
  const { state } = await deps.projects.read(project);
  const logs: LogId[] = [project];
  const absent: SessionId[] = [];
  for (const session of state.sessions.keys()) {
    if (!isSessionId(session)) continue;
    if ((await deps.store.head(session)) === undefined) absent.push(session);
    else logs.push(session);
  }
  return { project, ...(await verifyLogs(deps, logs)), absent };
}

/** All is planned before anything is erased: a hold or a moved session refuses the whole. */
export async function eraseProject(
  deps: Deps,
  idOrEnding: string,
  options: EraseProjectOptions = {},
): Promise<EraseProjectReport> {
  checkCall("engine.eraseProject", options, { project: idOrEnding });
  const { ranges, match, sessions: withSessions = false, reason, dryRun = false } = options;
  const { store } = deps;
  if (match !== undefined && match.trim() === "") {
    throw new SkeinError("invalid", "project erase: match: expected a text", {
      hint: "pass the text to erase; white space alone matches everything",
    });
  }
  const project = await findProject(deps.projects, idOrEnding);
  await assertProjectNotHeld(deps, { log: project, project, nothing: "nothing was erased" });
  const { state, seq } = await deps.projects.read(project);
  const isCopy = (await store.head(project))?.copy === true;
  if (isCopy || state.status === "moved") {
    throw new SkeinError("refused", `${project} lives in another store`, { hint: "erase it where it lives" });
  }
  const finds = match === undefined ? undefined : makeFinder(store, match);
  const isAll = ranges === undefined && finds === undefined;
  // Who erased what and why stays, unless it is selected by position.
  const picks = finds ?? (({ type }: StoredRecord) => !isAll || type !== "content.erased");
  const found = await survey(store, project, wantedRanges(project, seq, ranges), { picks });
  const each = present({ match, reason });
  const ids = withSessions ? [...state.sessions.keys()].filter((id) => isSessionId(id)) : [];
  const planned: EraseReport[] = [];
  for (const id of ids) {
    if ((await store.head(id)) === undefined) continue;
    const plan = await eraseSession(deps, id, { ...each, dryRun: true });
    if (plan.records > 0) planned.push(plan);
  }
  const { doomed, gone } = found;
  const report = {
    project,
    dryRun,
    ranges: rangesOf(doomed),
    records: doomed.length,
    bytes: bytesOf(doomed),
    already: gone.length,
    sessions: planned.map(({ session, records, bytes, forks }) => ({ session, records, bytes, forks })),
  };
  if (dryRun) return { ...report, scrubbed: false };
  for (const { session } of planned) await eraseSession(deps, session, each);
  const target = { session: project, survey: found, sharers: new Map<SessionId, number>() };
  await eraseTarget(deps, target, reason, () => {});
  return { ...report, scrubbed: await scrubIfDue(store) };
}

function wantedRanges(project: ProjectId, headSeq: number, ranges: EraseProjectOptions["ranges"]): Ranges {
  if (ranges === undefined) return [[1, headSeq]];
  const wrong = ranges.find(([fromSeq, toSeq]) => fromSeq > toSeq);
  if (wrong !== undefined) {
    throw new SkeinError("invalid", `project erase: ranges: ${wrong[0]} is greater than ${wrong[1]}`, {
      hint: `swap them: ${wrong[1]} to ${wrong[0]}`,
    });
  }
  const past = ranges.find(([, toSeq]) => toSeq > headSeq);
  if (past === undefined) return range.union([], ranges);
  throw new SkeinError(
    "not-found",
    `position ${past[1]} does not exist in ${project}, which ends at ${headSeq}`,
    { hint: `expected positions from 1 to ${headSeq}` },
  );
}
