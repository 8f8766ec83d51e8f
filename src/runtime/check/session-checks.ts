/**
 * The accept checks of a session: set, run, decided by a person. A check runs under the session's lease, so
 * no turn begins meanwhile, and its result is written only if nothing else was: it belongs to that state. If
 * the process dies, nothing is in the log, and the check runs again.
 */
import { checkCall } from "../../call/check.ts";
import type { AcceptCheck, CheckKind, CheckState, CheckStatus, NamedCheck } from "../../core/check/check.ts";
import type { CheckCommand } from "../../core/check/commands.ts";
import { mayCheck, noSuchCheck } from "../../core/check/decide.ts";
import { missingChecks } from "../../core/check/check.ts";
import { checkText } from "../../core/check/text.ts";
import type { Decision } from "../../core/decision.ts";
import { SkeinError } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { present } from "../../core/present.ts";
import type { State } from "../../core/state.ts";
import { prepareChecks, readChecks } from "../branch/accepted.ts";
import type { Deps } from "../deps.ts";
import type { AppendResult } from "../log/append-result.ts";
import { readEvents } from "../read/event-reader.ts";
import { takeDrive, type Drive } from "../turn/drive.ts";
import { keepLease } from "../turn/lease-keeper.ts";
import type { CheckOutcome } from "./run-check.ts";

/** Options of `session.check`. */
export interface CheckOptions {
  /** Only these checks, by name. */
  readonly only?: readonly string[];
  /** Also those that have run since the last turn. */
  readonly again?: boolean;
  /** The commit that the checked directory must be at, without changes, before and after each check. */
  readonly commit?: string;
  /** A person's verdict: this check passed, or failed. */
  readonly pass?: string;
  readonly fail?: string;
  readonly because?: string;
  /** Aborted: the check in progress is stopped, and runs again with the next call. */
  readonly signal?: AbortSignal;
}

/** A check, and what came of it since the last turn. */
export interface CheckRow {
  readonly check: string;
  readonly kind: CheckKind;
  /** `waiting`: it has not run since the last turn, or a person has not decided it. */
  readonly status: CheckStatus | "waiting";
  /** What it holds the session to; null once that was erased. */
  readonly text: string | null;
  /** How often it has run. */
  readonly tries: number;
  /** The position of its result. */
  readonly seq: number | null;
  /** When it was found. */
  readonly at: number | null;
  /** Whether this call found it; an earlier result of an unchanged session is repeated. */
  readonly ran: boolean;
  readonly reason: string | null;
  readonly output: string | null;
  readonly exitCode?: number;
  readonly score?: number;
  readonly ms?: number;
  readonly commit?: string;
  /** Of a review: the session of the reviewer. */
  readonly by?: string;
}

/** The result of `session.check`. */
export interface CheckReport {
  /** Whether the session can be closed as completed. */
  readonly passed: boolean;
  /** The position of this report. */
  readonly seq: number;
  readonly checks: readonly CheckRow[];
}

export async function setChecks(
  deps: Deps,
  session: SessionId,
  given: readonly (AcceptCheck | string)[],
  options: { readonly reason?: string },
): Promise<AppendResult> {
  checkCall("session.setChecks", options, { checks: given });
  const checks = prepareChecks(deps, given, "accept");
  const { writer, actor } = deps;
  const command = { do: "set-checks", checks, ...present({ reason: options.reason }) } as const;
  const { firstSeq: seq, headSeq, duplicate } = await writer.change(session, command, { actor });
  return { seq, headSeq, duplicate };
}

export async function checkSession(
  deps: Deps,
  session: SessionId,
  options: CheckOptions,
): Promise<CheckReport> {
  checkCall("session.check", options);
  const { pass, fail, because, only, again, commit, signal } = options;
  const { seq: before } = await deps.writer.current(session);
  const isVerdict = pass !== undefined || fail !== undefined;
  const mixed = isVerdict ? (only ?? again ?? commit) !== undefined : because !== undefined;
  if (mixed || (pass !== undefined && fail !== undefined))
    throw new SkeinError("invalid", "check: specify one of pass and fail, because only with one of them", {
      hint: "without them, the checks are run",
    });
  if (isVerdict)
    await decideByPerson(deps, session, { check: pass ?? fail ?? "", isPassed: pass !== undefined, because });
  else await runDue(deps, session, present({ only, again, commit, signal }));
  const state = await closeIfDone(deps, session, await deps.writer.current(session));
  return report(deps, session, state, before);
}

async function decideByPerson(
  { writer, actor }: Deps,
  session: SessionId,
  given: { readonly check: string; readonly isPassed: boolean; readonly because: string | undefined },
): Promise<void> {
  const { check, isPassed, because: reason } = given;
  const build = (state: State): CheckCommand => ({
    do: "check",
    check,
    digest: state.standing.checks.get(check)?.digest ?? "",
    status: isPassed ? "passed" : "failed",
    ms: 0,
    verdict: true,
    ...present({ reason }),
  });
  await writer.change(session, build, { actor });
}

type DueOptions = Pick<CheckOptions, "only" | "again" | "commit" | "signal">;

/** The checks to run: those without a result of this state, and of this commit. */
function dueChecks(state: State, { only, again = false, commit }: DueOptions): string[] {
  const { checks } = state.standing;
  const unknown = only?.find((name) => !checks.has(name));
  if (unknown !== undefined) throwRefusal(noSuchCheck(state, unknown));
  return [...checks.entries()].flatMap(([name, { kind, result }]) => {
    if (kind === "person" || (only !== undefined && !only.includes(name))) return [];
    const isFresh =
      result !== null && result.status !== "error" && (commit ?? result.commit) === result.commit;
    return isFresh && !again ? [] : [name];
  });
}

async function runDue(deps: Deps, session: SessionId, asked: DueOptions): Promise<void> {
  const before = await deps.writer.current(session);
  throwRefusal(mayCheck(before));
  const due = dueChecks(before, asked);
  if (due.length === 0) return;
  const drive = await takeDrive(deps, session, {});
  try {
    await using keeper = keepLease(deps, drive);
    const stops = asked.signal === undefined ? [] : [asked.signal];
    const signal = AbortSignal.any([keeper.signal, ...stops]);
    for (const name of due) await runRecorded(deps, drive, name, { ...asked, signal });
  } finally {
    await drive.lease.release();
  }
}

const retriesMax = 3;

/** Runs one check until its result could be written for the state on which it ran. */
async function runRecorded(
  deps: Deps,
  drive: Drive,
  name: string,
  { commit, signal }: { readonly commit?: string | undefined; readonly signal: AbortSignal },
): Promise<void> {
  const { session, lease } = drive;
  for (let tried = 1; ; tried++) {
    const state = await drive.state();
    throwRefusal(mayCheck(state));
    const known = state.standing.checks.get(name);
    if (known === undefined) return;
    const check = (await readChecks(deps.store, session, state))?.get(name);
    const startedMs = deps.world.now();
    const outcome = await outcomeOf(deps, { session, state, check, known, commit, signal });
    signal.throwIfAborted();
    const ms = Math.max(0, deps.world.now() - startedMs);
    const { digest } = known;
    const at = present({ commit });
    const command: CheckCommand = { do: "check", check: name, digest, ms, ...at, ...outcome };
    const { epoch, history } = lease;
    try {
      await deps.writer.change(session, command, {
        actor: deps.actor,
        epoch,
        history,
        expectSeq: state.seq,
      });
      return;
    } catch (error) {
      // Something was written meanwhile: the result is of another state, and is dropped.
      const isOvertaken = error instanceof SkeinError && error.code === "conflict";
      if (!isOvertaken || tried >= retriesMax) throw error;
    }
  }
}

async function outcomeOf(
  deps: Deps,
  at: {
    readonly session: SessionId;
    readonly state: State;
    readonly check: NamedCheck | undefined;
    readonly known: CheckState;
    readonly commit: string | undefined;
    readonly signal: AbortSignal;
  },
): Promise<CheckOutcome> {
  const { check } = at;
  if (check === undefined) return { status: "error", reason: "its definition was erased" };
  try {
    const { runCheck } = await import("./run-check.ts");
    return await runCheck(deps, { ...at, check });
  } catch (error) {
    at.signal.throwIfAborted();
    if (!(error instanceof SkeinError) || passedOn.includes(error.code)) throw error;
    const reason = error.hint === undefined ? error.message : `${error.message} (${error.hint})`;
    return { status: "error", reason: reason.slice(0, limit.reasonCharsMax) };
  }
}

/** Failures of the store or of the lease are those of the call, not of the check. */
const passedOn: readonly SkeinError["code"][] = ["corrupt", "unknown", "fenced"];

/** A session that was opened for one task ends with its last check, if it waits for nothing else. */
async function closeIfDone({ writer, actor }: Deps, session: SessionId, state: State): Promise<State> {
  const { closesWhenDone, checks, status, inbox, requests, lastTurn } = state.standing;
  if (!closesWhenDone || checks.size === 0 || status !== "open" || lastTurn === 0) return state;
  if (inbox.waiting.length > 0 || requests.size > 0 || missingChecks(state.standing).length > 0) return state;
  try {
    return (await writer.change(session, { do: "close" }, { actor, asked: false, expectSeq: state.seq }))
      .state;
  } catch (error) {
    if (!(error instanceof SkeinError) || error.code !== "conflict") throw error;
    return writer.current(session);
  }
}

async function report(deps: Deps, session: SessionId, state: State, before: number): Promise<CheckReport> {
  const { checks } = state.standing;
  const known = await readChecks(deps.store, session, state);
  const rows: CheckRow[] = [];
  for (const [check, { kind, tries, result }] of checks.entries()) {
    const definition = known?.get(check);
    const ran = result === null ? null : await ranAt(deps, session, result.seq);
    rows.push({
      check,
      kind,
      status: result?.status ?? "waiting",
      text: definition === undefined ? null : checkText(definition),
      tries,
      seq: result?.seq ?? null,
      at: ran?.at ?? null,
      ran: result !== null && result.seq > before,
      reason: ran?.reason ?? null,
      output: ran?.output ?? null,
      ...ran?.facts,
    });
  }
  return { passed: missingChecks(state.standing).length === 0, seq: state.seq, checks: rows };
}

type Facts = Pick<CheckRow, "exitCode" | "score" | "ms" | "commit" | "by">;

async function ranAt({ store, writer }: Deps, session: SessionId, seq: number) {
  for await (const event of readEvents(
    store,
    session,
    { fromSeq: seq, toSeq: seq },
    writer.suspendRolledBack,
  )) {
    const { exitCode, score, ms, commit, by } = event.body as Facts;
    const content = (event.content ?? {}) as { readonly output?: string; readonly reason?: string };
    return { at: event.at, facts: present({ exitCode, score, ms, commit, by }), ...content };
  }
  return null;
}

function throwRefusal(decision: Decision | null): void {
  if (decision === null || decision.ok) return;
  const { code, message, hint } = decision.refusal;
  throw new SkeinError(code, message, { hint });
}
