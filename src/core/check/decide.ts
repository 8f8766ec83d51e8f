/** Decisions on accept checks: who may set them, and whose results count. */
import {
  type Decision,
  type Decisions,
  type DraftEvent,
  accept,
  draft,
  forbidden,
  refuse,
} from "../decision.ts";
import { unreviewed } from "../govern/review.ts";
import { limit } from "../limit.ts";
import { present } from "../present.ts";
import type { State } from "../state.ts";
import { missingChecks } from "./check.ts";
import type { CheckCommand, DigestedCheck } from "./commands.ts";

/** What works for a session, and must not decide when its work is done. */
export const isWorker = (actor: string): boolean => /^(?:agent|tool|session):/.test(actor);

export const checkDecisions: Decisions<CheckCommand["do"]> = {
  "set-checks": (state, { checks, reason }, { actor }) => {
    if (isWorker(actor))
      return refuse("refused", `accept: ${actor} cannot set the checks of a session`, "a person sets them");
    return (
      forbidden(state, "write", "be given checks") ?? tooMany(checks) ?? accept(checksDraft(checks, reason))
    );
  },
  check: (state, command, { actor }) => {
    const { check, digest, status, ms, exitCode, score, commit, by, output, reason, verdict } = command;
    const refusal = mayCheck(state);
    if (refusal !== null) return refusal;
    const known = state.standing.checks.get(check);
    if (known === undefined) return noSuchCheck(state, check);
    if (known.digest !== digest)
      return refuse("conflict", `check: ${check} was changed meanwhile`, "run it again");
    const isPersons = known.kind === "person";
    if (isPersons !== (verdict === true))
      return refuse(
        "refused",
        isPersons ? `check: ${check} is decided by a person` : `check: ${check} is not decided by a person`,
        isPersons ? `skein check ID --pass ${check}` : "skein check ID runs it",
      );
    if (isPersons && isWorker(actor))
      return refuse("refused", `check: ${actor} cannot decide ${check}`, "a person decides it");
    const body = { check, digest, status, try: known.tries + 1, ms };
    return accept(
      draft(
        "check.ran",
        { ...body, ...present({ exitCode, score, commit, by }) },
        output === undefined && reason === undefined ? undefined : present({ output, reason }),
      ),
    );
  },
};

/** A refusal while checks cannot run: their result would be of no certain state. */
export function mayCheck(state: State): Decision | null {
  const refusal = forbidden(state, "check", "be checked") ?? unreviewed(state, "check");
  if (refusal !== null) return refusal;
  if (state.standing.turn === null) return null;
  return refuse("refused", "check: a turn is in progress", "wait until it has ended, or interrupt it");
}

export function noSuchCheck(state: State, check: string): Decision {
  const names = [...state.standing.checks.keys()];
  return refuse(
    "not-found",
    `check: there is no check "${check}"`,
    names.length === 0 ? "the session has no checks" : `its checks: ${names.join(", ")}`,
  );
}

/** A refusal to complete a session whose checks have not all passed since its last turn. */
export function notAccepted(state: State, verb: string): Decision | null {
  const missing = missingChecks(state.standing);
  if (missing.length === 0) return null;
  const which = missing.length === 1 ? "this check has" : "these checks have";
  return refuse(
    "refused",
    `${verb}: ${which} not passed since the last turn: ${missing.join(", ")}`,
    'run "skein check ID", or close it with --outcome failed',
  );
}

export const tooMany = (checks: readonly unknown[]): Decision | null =>
  checks.length <= limit.acceptsMax
    ? null
    : refuse("invalid", `accept: expected at most ${limit.acceptsMax} checks, got ${checks.length}`);

export const checksDraft = (checks: readonly DigestedCheck[], reason?: string): DraftEvent =>
  draft(
    "checks.set",
    { checks: checks.map(({ name, kind, digest }) => ({ name, kind, digest })) },
    { checks: checks.map(({ digest: _, ...check }) => check), ...present({ reason }) },
  );
