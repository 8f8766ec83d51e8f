/**
 * Lands one ticket: a commit with the work of base and branch, its checks, and then the move of the base. The
 * landing has a session. Its log has the results of the checks, each with its commit; conflicts and findings
 * are its inputs. So a landing that was killed continues from Git and the log alone.
 */
import type { NamedCheck } from "../core/check/check.ts";
import { SkeinError } from "../core/error.ts";
import type { SessionId } from "../core/ids.ts";
import { limit } from "../core/limit.ts";
import { present } from "../core/present.ts";
import type { State } from "../core/state.ts";
import type { Engine } from "../runtime/engine/engine.ts";
import type { Session } from "../runtime/engine/session.ts";
import { realWorld } from "../runtime/world.ts";
import {
  baseCommit,
  beginConflict,
  clearTips,
  commitLanding,
  isAncestor,
  landingDirectory,
  landingTree,
  mergeCandidate,
  advanceBranch,
  placeAt,
  rebaseCandidate,
  removeLanding,
  setTip,
  sidesText,
  tipOf,
  unresolved,
  type MergeBase,
} from "./merge-git.ts";
import type { Ticket } from "./plan-draft.ts";
import { bindingsOf, type TicketRunSettings } from "./ticket-session.ts";
import { findingsOf } from "./ticket-proof.ts";

const world = realWorld();
const baseMovesMax = 20;
const waitMs = 500;

/** What all landings of a queue share. */
export interface LandingSettings extends Pick<TicketRunSettings, "plan" | "agent" | "model" | "budget"> {
  readonly engine: Engine;
  readonly base: MergeBase;
  readonly method: "merge" | "rebase";
  readonly settings: TicketRunSettings;
  /** How often a session works on a landing before a person must. */
  readonly tries: number;
  readonly signal: AbortSignal;
}

/** A ticket that is done, and the commit at the end of its branch. */
export interface LandingTicket {
  readonly ticket: Ticket;
  readonly branch: string;
  readonly head: string;
  /** Checks that run on the merged tree. */
  readonly checks: readonly NamedCheck[];
}

/** What came of a landing. `stopped`: the signal was aborted, and the next run continues. */
export interface Landed {
  readonly status: "merged" | "conflict" | "failed" | "blocked" | "stopped";
  readonly why: string | null;
  readonly commit: string | null;
  readonly session: SessionId | null;
}

/** Lands a ticket. Call it in turn: one landing at a time in a repository. */
export async function landTicket(how: LandingSettings, one: LandingTicket): Promise<Landed> {
  const landing = new Landing(how, one, await landingSession(how, one));
  try {
    return await landing.run();
  } catch (error) {
    if (how.signal.aborted) return landing.result("stopped", null);
    if (!(error instanceof SkeinError) || fatal.includes(error.code)) throw error;
    const hint = error.hint === undefined ? "" : ` (${error.hint})`;
    return landing.result(error.code === "conflict" ? "blocked" : "failed", `${error.message}${hint}`);
  }
}

/** Failures of the store, and of the base: no other ticket can land either. */
const fatal: readonly SkeinError["code"][] = ["corrupt", "unavailable", "unknown", "fenced"];

/** The commit that a landing has proved: all of its checks passed on it. */
export function provedCommit({ standing: { checks } }: State): string | null {
  const commits = new Set([...checks.values()].map(({ result }) => result?.commit));
  const [commit] = commits;
  const isPassed = [...checks.values()].every(({ result }) => result?.status === "passed");
  return isPassed && commits.size === 1 ? (commit ?? null) : null;
}

/** The same session for the same branch, base and end of the branch, whichever process asks for it. */
const landingKey = (
  { plan, base }: Pick<LandingSettings, "plan" | "base">,
  { ticket, head }: Pick<LandingTicket, "ticket" | "head">,
): string => `merge ${plan} ${ticket.id} ${base.name} ${head}`;

async function landingSession(how: LandingSettings, one: LandingTicket): Promise<Session> {
  const { engine, plan, base, settings, model, budget } = how;
  const { ticket, branch, head, checks } = one;
  const key = landingKey(how, one);
  const found = await landingOf(engine, how, one);
  if (found !== null) return found;
  const agent = ticket.agent ?? how.agent;
  const directory = landingDirectory(base.top, plan, ticket.id);
  const options = {
    objective: `Land ticket ${ticket.id} (${ticket.title}) on ${base.name}`,
    name: `merge ${ticket.id} into ${base.name}`.slice(0, limit.nameCharsMax),
    constraints: [
      `You have a Git worktree in which ${branch} is merged into ${base.name}. Keep what both sides ` +
        "mean to do. Remove every conflict marker. What you leave is committed and checked; you cannot " +
        "change the checks.",
    ],
    ...present({ agent, model, budget, project: settings.project }),
    bind: bindingsOf([], settings, { directory }),
    accept: checks,
    labels: { plan, merge: ticket.id, base: base.name, head: head.slice(0, 40) },
    key,
  };
  try {
    return await engine.open(options);
  } catch (error) {
    // A session with this key was opened with other options: the checks of before hold.
    const before = await landingOf(engine, how, one);
    if (before === null) throw error;
    return before;
  }
}

/** The newest session of a landing; null if there is none. */
export async function landingOf(
  engine: Engine,
  { plan, base }: Pick<LandingSettings, "plan" | "base">,
  { ticket, head }: Pick<LandingTicket, "ticket" | "head">,
): Promise<Session | null> {
  const labels = { plan, merge: ticket.id, base: base.name, head: head.slice(0, 40) };
  const { rows } = await engine.sessions({ labels, limit: limit.listMax });
  const own = rows.filter(({ copy, parent }) => copy !== true && parent === null);
  const newest = own.toSorted((a, b) => b.openedAt - a.openedAt)[0];
  return newest === undefined ? null : engine.session(newest.session);
}

class Landing {
  readonly #how: LandingSettings;
  readonly #one: LandingTicket;
  readonly #session: Session;
  readonly #directory: string;

  constructor(how: LandingSettings, one: LandingTicket, session: Session) {
    this.#how = how;
    this.#one = one;
    this.#session = session;
    this.#directory = landingDirectory(how.base.top, how.plan, one.ticket.id);
  }

  result(status: Landed["status"], why: string | null, commit: string | null = null): Landed {
    return { status, why: why?.slice(0, limit.reasonCharsMax) ?? null, commit, session: this.#session.id };
  }

  async run(): Promise<Landed> {
    const { base, signal } = this.#how;
    for (let tried = 0; tried < baseMovesMax;) {
      signal.throwIfAborted();
      const stuck = await this.#takeUp();
      if (stuck !== null) return stuck;
      const from = await baseCommit(world, base);
      const commit = (await this.#proved(from)) ?? (await this.#candidate(from));
      if (typeof commit !== "string") {
        if (commit !== null) return commit;
        continue;
      }
      const failed = await this.#prove(commit);
      if (failed === "again") continue;
      if (failed !== null) return failed;
      tried += 1;
      if (await advanceBranch(world, base, { from, to: commit, ticket: this.#one.ticket.id }))
        return this.#end(commit);
    }
    return this.result("blocked", `${base.name} moved ${baseMovesMax} times meanwhile: run it again`);
  }

  /** Finishes what a session has begun, here or in a process that was killed. Null: go on. */
  async #takeUp(): Promise<Landed | null> {
    const { base, plan } = this.#how;
    const { ticket, head } = this.#one;
    const tip = await tipOf(world, base.top, { plan, ticket: ticket.id, head });
    const tree = await landingTree(world, this.#directory);
    // Killed before the session was told: now it is. Another merge is of a branch that was changed since.
    if (tree !== null && tree.merging !== null && tree.merging === (tip ?? head))
      await this.#tellConflict(tree.head, tree.merging);
    const before = await this.#session.fold();
    if (before.standing.inbox.received === 0) return null;
    if (before.standing.turn !== null || before.standing.inbox.waiting.length > 0) {
      if (tree === null) await this.#placeTip();
      const stuck = await this.#runToRest();
      if (stuck !== null) return stuck;
    }
    const state = await this.#session.fold();
    const now = await landingTree(world, this.#directory);
    // Results are of a state: with one, no turn has been since, and what is here the checks left.
    const isWorked = [...state.standing.checks.values()].every(({ result }) => result === null);
    if (now === null || !isWorked || state.standing.lastTurn === 0) return null;
    return this.#keepWork(state, now);
  }

  async #placeTip(): Promise<void> {
    const { base, plan } = this.#how;
    const { ticket, head } = this.#one;
    const tip = await tipOf(world, base.top, { plan, ticket: ticket.id, head });
    await placeAt(world, base.top, this.#directory, tip ?? head);
  }

  async #keepWork(
    state: State,
    tree: NonNullable<Awaited<ReturnType<typeof landingTree>>>,
  ): Promise<Landed | null> {
    const { base, plan } = this.#how;
    const { id, title } = this.#one.ticket;
    const left = tree.merging === null ? [] : await unresolved(world, this.#directory);
    if (left.length > 0) {
      if (state.standing.used.turns >= this.#how.tries) return this.#conflict(left);
      const text = `These files still have conflict markers: ${left.join(", ")}. Resolve them.`;
      await this.#session.append(text, { key: `markers ${state.standing.lastTurn}` });
      return (await this.#runToRest()) ?? this.#takeUp();
    }
    const message = tree.merging === null ? `ticket ${id}: ${title}, after review` : this.#message();
    const isChanged = tree.changed.length > 0 || tree.merging !== null;
    const commit = isChanged ? await commitLanding(world, this.#directory, message) : tree.head;
    await setTip(world, base.top, { plan, ticket: id, head: this.#one.head }, commit);
    return null;
  }

  #message(): string {
    const { id, title } = this.#one.ticket;
    return `Merge ticket ${id}: ${title}`;
  }

  /** Runs the session until it is idle. Null: its turn has ended as it should. */
  async #runToRest(): Promise<Landed | null> {
    const { signal } = this.#how;
    for (;;) {
      signal.throwIfAborted();
      const { status, why, turn, inbox } = (await this.#session.fold()).standing;
      if (status === "suspended" || status === "sleeping")
        return this.result("blocked", `${status}${why === null ? "" : ` by ${why.by}`}: ${this.#command()}`);
      if (status === "closed" || status === "archived" || status === "moved")
        return this.result("failed", `its session is ${status}: ${this.#session.id}`);
      if (turn === null && inbox.waiting.length === 0) return null;
      try {
        await this.#session.run({ signal });
      } catch (error) {
        // Another process runs it, or died while it did.
        if (!(error instanceof SkeinError) || error.code !== "conflict") throw error;
        await world.sleep(waitMs, signal);
      }
    }
  }

  #command(): string {
    return `skein state ${this.#session.id.slice(-8)}`;
  }

  /** A commit whose checks have passed, and which the base can still move to. */
  async #proved(from: string): Promise<string | null> {
    const state = await this.#session.fold();
    const commit = state.standing.checks.size === 0 ? null : provedCommit(state);
    if (commit === null) return null;
    return (await isAncestor(world, this.#how.base.top, from, commit)) ? commit : null;
  }

  /** The commit to check; or why there is none; or null: a session resolves a conflict, look again. */
  async #candidate(from: string): Promise<string | Landed | null> {
    const { base, plan, method } = this.#how;
    const { ticket, head } = this.#one;
    const kept = await tipOf(world, base.top, { plan, ticket: ticket.id, head });
    const { inbox } = (await this.#session.fold()).standing;
    const isOwn = kept !== null && inbox.received > 0;
    const tip = isOwn ? kept : head;
    if (method === "rebase" && !isOwn) {
      const directory = this.#directory;
      const rebased = await rebaseCandidate(world, base.top, { base: from, tip, directory });
      if (rebased !== null) return rebased;
    }
    const sides = { base: from, tip, message: this.#message() };
    const found = await mergeCandidate(world, base.top, sides);
    if (found.commit !== null) return found.commit;
    const { standing } = await this.#session.fold();
    if (standing.used.turns >= this.#how.tries || !this.#hasAgent()) return this.#conflict(found.conflicts);
    await beginConflict(world, base.top, { base: from, tip, directory: this.#directory });
    await this.#tellConflict(from, tip, found.conflicts);
    return (await this.#runToRest()) ?? null;
  }

  #hasAgent(): boolean {
    return (this.#one.ticket.agent ?? this.#how.agent) !== undefined || this.#how.model !== undefined;
  }

  #conflict(files: readonly string[]): Landed {
    const { base } = this.#how;
    const { branch } = this.#one;
    const names = files.slice(0, 5).join(", ");
    const ways = this.#hasAgent() ? "" : "; or run it with --agent NAME";
    return this.result(
      "conflict",
      `${branch} conflicts with ${base.name} in ${names}: merge ${base.name} into ${branch} by hand${ways}`,
    );
  }

  async #tellConflict(base: string, tip: string, files?: readonly string[]): Promise<void> {
    const { top } = this.#how.base;
    const names = files ?? (await unresolved(world, this.#directory));
    const sides = await sidesText(world, top, { base, tip, files: names });
    const checks = this.#one.checks.map(({ name }) => name).join(", ");
    const text =
      `Ticket ${this.#one.ticket.id} conflicts with ${this.#how.base.name} in: ${names.join(", ")}.\n` +
      "The files in your worktree hold both sides between conflict markers. Edit them so that both changes " +
      `hold, and remove the markers. Then these checks run: ${checks}.\n\n${sides}`;
    await this.#session.append(text, { key: `conflict ${base} ${tip}` });
  }

  /** Null: all checks have passed on the commit. `again`: a session has worked on what failed. */
  async #prove(commit: string): Promise<Landed | "again" | null> {
    const { base, signal, tries } = this.#how;
    if (this.#one.checks.length === 0) return null;
    const before = await this.#session.fold();
    if (provedCommit(before) === commit) return null;
    await placeAt(world, base.top, this.#directory, commit);
    const report = await this.#session.check({ commit, again: true, signal });
    if (report.checks.every((one) => one.status === "passed" && one.commit === commit)) return null;
    const broken = report.checks.filter(({ status }) => status === "error");
    const lost = report.checks.filter(({ status }) => status === "failed");
    const reasons = [...broken, ...lost].map(({ check, reason }) => `${check} (${reason ?? "failed"})`);
    const why = `on ${base.name}: ${reasons.join(", ")}`;
    if (broken.length > 0) return this.result("blocked", `cannot be checked ${why}`, commit);
    if (lost.length === 0) return "again";
    const state = await this.#session.fold();
    if (state.standing.used.turns >= tries || !this.#hasAgent())
      return this.result("failed", `not accepted ${why}`, commit);
    // What the checks left is not the session's work.
    await placeAt(world, base.top, this.#directory, commit);
    const text = await findingsOf(this.#session, state, tries);
    await this.#session.append(text, { key: `accept ${commit} ${state.standing.lastTurn}` });
    return (await this.#runToRest()) ?? "again";
  }

  /** The base has it. Repeated after a crash, it completes. */
  async #end(commit: string): Promise<Landed> {
    await endLanding(this.#how, this.#one.ticket.id, this.#session.id, commit);
    return this.result("merged", null, commit);
  }
}

/** Closes the session of a ticket that has landed, and removes its worktree. */
export async function endLanding(
  { engine, base, plan }: Pick<LandingSettings, "engine" | "base" | "plan">,
  ticket: string,
  session: SessionId | null,
  commit: string,
): Promise<void> {
  await removeLanding(world, base.top, landingDirectory(base.top, plan, ticket));
  await clearTips(world, base.top, plan, ticket);
  const reason = `landed on ${base.name} at ${commit}`;
  const { rows } = await engine.sessions({
    labels: { plan, merge: ticket, base: base.name },
    limit: limit.listMax,
  });
  // Earlier landings of the ticket, too: their branch was changed.
  for (const { session: id, status, copy } of rows) {
    if (copy === true || (status !== "open" && status !== "suspended")) continue;
    const outcome = id === session ? ("completed" as const) : ("failed" as const);
    await (await engine.session(id)).close({ outcome, reason });
  }
}
