/**
 * Explorations: several ways to go on from one position, each in a fork that really runs, judged by checks
 * and compared. Every step is found again by its key: called again after a crash, the same exploration goes
 * on, with the same forks, and does nothing twice.
 */
import { join, resolve } from "node:path";
import { checkCall } from "../../call/check.ts";
import { budgetLeft } from "../../core/budget/budget.ts";
import type { Budget } from "../../core/budget/commands.ts";
import { spendOf } from "../../core/budget/money.ts";
import type { AcceptCheck } from "../../core/check/check.ts";
import type { DigestedCheck } from "../../core/check/commands.ts";
import { SkeinError } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import { inLine } from "../../core/handoff/text.ts";
import { present } from "../../core/present.ts";
import type { State } from "../../core/state.ts";
import { inheritedChecks, prepareChecks } from "../branch/accepted.ts";
import { forkSession } from "../branch/fork.ts";
import { mergeSession, type MergeReport } from "../branch/merge.ts";
import type { Deps } from "../deps.ts";
import { madeBefore, requestDeps } from "../log/request-scope.ts";
import { readBindings } from "../read/bindings.ts";
import { readEvents } from "../read/event-reader.ts";
import { headOf, positionIn } from "../read/position.ts";
import { checkSession, type CheckRow } from "./session-checks.ts";

/** Options of `session.explore`. */
export interface ExploreOptions {
  /** The objective of each alternative, 2 to 8. */
  readonly alternatives: readonly string[];
  /** What scores them, as accept checks; by default those of the session. */
  readonly judge?: readonly (AcceptCheck | string)[];
  /** Of each alternative; by default an equal share of what is left to the session. */
  readonly budget?: Budget;
  /** A directory: each alternative gets a copy of the files below it, in place of the same files. */
  readonly files?: string;
  /** Where they begin; by default at the last position. */
  readonly atSeq?: number;
  /** Merges what the winner learned into the session, if it passed all checks and nothing conflicts. */
  readonly merge?: boolean;
  /** Tells explorations with the same alternatives apart. */
  readonly name?: string;
  /** Aborted: alternatives stop before their next step. The same call continues. */
  readonly signal?: AbortSignal;
}

/** An alternative, and what came of it. */
export interface ExploredAlternative {
  readonly alternative: number;
  readonly objective: string;
  readonly session: SessionId;
  /** `blocked`: it waits for a person, a budget or a time. */
  readonly status: "done" | "blocked" | "failed";
  readonly why: string | null;
  /** From 0 to 1; null without checks, or if it is not done. */
  readonly score: number | null;
  readonly passed: boolean | null;
  readonly checks: readonly Pick<CheckRow, "check" | "kind" | "status" | "reason" | "score">[];
  /** What it has cost since the fork. */
  readonly nanoUsd: number;
  readonly steps: number;
  /** Its own copy of the files. */
  readonly directory: string | null;
}

/** The result of `session.explore`. */
export interface ExploreReport {
  /** The same for every call of this exploration. */
  readonly exploration: string;
  readonly atSeq: number;
  readonly alternatives: readonly ExploredAlternative[];
  /** The one with the highest score; null without checks, or while a person must act. */
  readonly winner: SessionId | null;
  readonly merged: { readonly written: number | null; readonly conflicts: readonly string[] } | null;
}

const runningMax = 4;
const waitMs = 500;

interface Exploration {
  readonly deps: Deps;
  readonly session: SessionId;
  readonly options: ExploreOptions;
  readonly id: string;
  readonly atSeq: number;
  readonly checks: readonly DigestedCheck[];
  readonly budget: Budget | undefined;
}

export async function exploreSession(
  deps: Deps,
  session: SessionId,
  options: ExploreOptions,
): Promise<ExploreReport> {
  checkCall("session.explore", options);
  const { alternatives, judge } = options;
  const id = explorationId(deps, session, options);
  const state = await deps.writer.current(session);
  const checks =
    judge === undefined
      ? await inheritedChecks(deps.store, session, state)
      : prepareChecks(deps, judge, "explore: judge");
  const atSeq = await positionOf(deps, session, options, id);
  const budget = options.budget ?? shareOf(await deps.states.at(session, atSeq), alternatives.length);
  const one: Exploration = { deps, session, options, id, atSeq, checks, budget };
  // All of them exist before any runs: a copy of the files is then the same for each.
  const forks: SessionId[] = [];
  for (const number of alternatives.keys()) forks.push(await forkOf(one, number));
  const found: ExploredAlternative[] = [];
  const queue = [...forks.entries()];
  const work = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift())
      found.push(await tryOut(one, next[1], next[0]));
  };
  await Promise.all(Array.from({ length: Math.min(runningMax, forks.length) }, work));
  const rows = found.toSorted((a, b) => a.alternative - b.alternative);
  const winner = winnerOf(rows);
  const merged = winner !== null && winner.passed === true && options.merge === true;
  return {
    exploration: id,
    atSeq,
    alternatives: rows,
    winner: winner?.session ?? null,
    merged: merged ? await mergeWinner(one, winner.session) : null,
  };
}

const idChars = 16;

/** What is asked for names it: the same call after a crash is the same exploration. */
function explorationId(
  { world }: Deps,
  session: SessionId,
  { alternatives, judge, atSeq, name }: ExploreOptions,
): string {
  const asked = JSON.stringify([session, alternatives, judge ?? null, atSeq ?? null, name ?? null]);
  return world.digest("", asked).slice(0, idChars);
}

const scopeOf = ({ deps, session, id }: Pick<Exploration, "deps" | "session" | "id">, step: string): Deps =>
  requestDeps(deps, { key: `explore ${session} ${id} ${step}` });

/** Where the first alternative began, if there is one. */
async function positionOf(
  deps: Deps,
  session: SessionId,
  { alternatives, atSeq }: ExploreOptions,
  id: string,
): Promise<number> {
  if (atSeq !== undefined) return positionIn(deps, session, atSeq);
  for (const number of alternatives.keys()) {
    const made = await madeBefore(scopeOf({ deps, session, id }, `fork ${number + 1}`));
    if (made === null) continue;
    const { fork } = (await deps.writer.current(made)).standing;
    if (fork !== null) return fork.seq;
  }
  return (await headOf(deps, session)).seq;
}

/** An equal share of every limit. */
function shareOf(state: State, count: number): Budget | undefined {
  const left = Object.entries(budgetLeft(state) as Readonly<Record<string, number>>);
  if (left.length === 0) return undefined;
  const shares = left.map(([name, amount]) =>
    name === "nanoUsd" ? ["usd", Math.floor(amount / count) / 1e9] : [name, Math.floor(amount / count)],
  );
  return Object.fromEntries(shares) as Budget;
}

async function forkOf(one: Exploration, number: number): Promise<SessionId> {
  const { deps, session, options, id, atSeq, budget, checks } = one;
  const objective = options.alternatives[number] ?? "";
  const scope = scopeOf(one, `fork ${number + 1}`);
  // A process that died while it copied leaves a directory that nothing is bound to.
  const files =
    options.files === undefined
      ? undefined
      : join(resolve(options.files), `${number + 1}-${deps.world.salt().slice(0, 8)}`);
  const fork =
    (await madeBefore(scope)) ??
    (await forkSession(scope, session, atSeq, {
      objective,
      name: inLine(objective, 60),
      labels: { explore: id, alternative: String(number + 1) },
      ...present({ budget }),
      files,
    }));
  const { standing } = await deps.writer.current(fork);
  const { actor, writer } = deps;
  if (checks.length > 0 && standing.checks.size === 0)
    await writer.change(fork, { do: "set-checks", checks: [...checks] }, { actor });
  const text =
    `You are a fork of ${session}, and try one of ${options.alternatives.length} ways to go on. Another ` +
    `fork tries each of the others. Do only this:\n\n${objective}`;
  const records = [{ type: "input.received", text }] as const;
  await writer.change(fork, { do: "append", records: [...records] }, { actor, key: "explore" });
  return fork;
}

async function tryOut(one: Exploration, fork: SessionId, number: number): Promise<ExploredAlternative> {
  const { deps } = one;
  const stuck = await runToRest(one, fork);
  const isChecked = (await deps.writer.current(fork)).standing.checks.size > 0;
  const signal = one.options.signal;
  const report = stuck === null && isChecked ? await checkSession(deps, fork, present({ signal })) : null;
  const state = await deps.writer.current(fork);
  const waits = report?.checks.filter(({ status }) => status === "waiting" || status === "error") ?? [];
  const score = report === null || waits.length > 0 ? null : scoreOf(report.checks);
  if (score !== null) await keepScore(deps, fork, state, score);
  const bound = one.options.files === undefined ? [] : await readBindings(deps, fork, state);
  const undecided = waits.map(({ check, reason }) => `${check} ${reason ?? "waits for a person"}`).join(", ");
  return {
    alternative: number + 1,
    objective: one.options.alternatives[number] ?? "",
    session: fork,
    ...(stuck ?? { status: waits.length > 0 ? "blocked" : "done", why: undecided === "" ? null : undecided }),
    score,
    passed: report?.passed ?? null,
    checks: (report?.checks ?? []).map(({ check, kind, status, reason, score: scored }) => ({
      check,
      kind,
      status,
      reason,
      ...present({ score: scored }),
    })),
    nanoUsd: spendOf(state).nanoUsd,
    steps: state.standing.used.steps,
    directory: bound.find(({ kind }) => kind === "directory")?.path ?? null,
  };
}

type Stuck = Pick<ExploredAlternative, "status" | "why">;

/** Runs it until it is idle; null if its turn was completed. */
async function runToRest({ deps, options: { signal } }: Exploration, fork: SessionId): Promise<Stuck | null> {
  for (;;) {
    signal?.throwIfAborted();
    const state = await deps.writer.current(fork);
    const { status, why, turn, inbox } = state.standing;
    const by = why === null ? "" : ` by ${why.by}`;
    if (status === "suspended" || status === "sleeping") return { status: "blocked", why: `${status}${by}` };
    if (status !== "open" && status !== "running")
      return status === "closed" && why?.by === "completed"
        ? null
        : { status: "failed", why: `${status}${by}` };
    if (turn === null && inbox.waiting.length === 0) {
      const outcome = await lastOutcome(deps, fork);
      return outcome === "completed"
        ? null
        : { status: "failed", why: `its turn was ${outcome ?? "not run"}` };
    }
    try {
      await deps.runs.run(fork, present({ signal }));
    } catch (error) {
      // Another process runs it, or died while it did.
      if (!(error instanceof SkeinError) || error.code !== "conflict") throw error;
      await deps.world.sleep(waitMs, signal);
    }
  }
}

async function lastOutcome({ store, writer }: Deps, fork: SessionId): Promise<string | null> {
  const last = { types: ["turn.ended"], reverse: true, limit: 1 };
  for await (const { body } of readEvents(store, fork, last, writer.suspendRolledBack))
    return (body as { readonly outcome?: string }).outcome ?? null;
  return null;
}

/** The mean: a review counts as its score, any other check as 0 or 1. */
function scoreOf(checks: readonly CheckRow[]): number {
  const scores = checks.map(({ kind, status, score }) =>
    kind === "review" ? (score ?? 0) : status === "passed" ? 1 : 0,
  );
  const mean = scores.reduce((sum, score) => sum + score, 0) / Math.max(1, scores.length);
  return Math.round(mean * 1e6) / 1e6;
}

const scoreName = "explore";

/** Once for each turn: it may be tried out further. */
async function keepScore(
  { writer, actor }: Deps,
  fork: SessionId,
  state: State,
  value: number,
): Promise<void> {
  const key = `explore score ${state.standing.lastTurn} ${value}`;
  await writer.change(fork, { do: "score", name: scoreName, value }, { actor, key });
}

/** The highest score; of equals the cheaper, then the first. */
function winnerOf(rows: readonly ExploredAlternative[]): ExploredAlternative | null {
  if (rows.some(({ status, why }) => status === "blocked" && why !== "suspended by budget")) return null;
  const ranked = rows
    .filter(({ score, status }) => score !== null && score > 0 && status === "done")
    .toSorted(
      (a, b) => (b.score ?? 0) - (a.score ?? 0) || a.nanoUsd - b.nanoUsd || a.alternative - b.alternative,
    );
  return ranked[0] ?? null;
}

async function mergeWinner(one: Exploration, winner: SessionId): Promise<ExploreReport["merged"]> {
  const report: MergeReport = await mergeSession(scopeOf(one, "merge"), one.session, { from: winner });
  return { written: report.written, conflicts: report.conflicts.map(({ name }) => name) };
}
