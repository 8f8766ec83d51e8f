/**
 * A project: what several sessions share. Folded from its own log; the fold is total and reads no contents,
 * as that of a session. Decisions on it are pure.
 */
import { accept, refuse, type Decision, type DraftEvent, type Refusal } from "../decision.ts";
import { roughTokens } from "../context/token-count.ts";
import { statusMistake } from "../item/decide.ts";
import { itemKey } from "../item/fold.ts";
import { defaultStatus, type ItemStatus } from "../item/kind.ts";
import { quote } from "../ids.ts";
import { limit } from "../limit.ts";
import { present } from "../present.ts";
import { isWorker } from "../check/decide.ts";
import type { Amounts } from "../state.ts";
import { nothing, plusSpendable, type ProjectBudget } from "./budget.ts";
import { decidePlan, type PlanCommand } from "./plan-decide.ts";
import { PlanState } from "./plan.ts";
import { count } from "../text/number-format.ts";

export const projectStatuses = ["open", "closed", "archived", "moved"] as const;
/** The status of a project. */
export type ProjectStatus = (typeof projectStatuses)[number];
export const projectOutcomes = ["completed", "cancelled", "failed"] as const;
/** How a project ended. */
export type ProjectOutcome = (typeof projectOutcomes)[number];

/** An item of a project, without its value. */
export interface ProjectItemRef {
  readonly kind: string;
  readonly key: string;
  readonly status: string | null;
  readonly seq: number;
  readonly at: number;
  readonly actor: string;
  /** The session it came from; null for one that a person recorded. */
  readonly origin: { readonly session: string; readonly seq: number } | null;
}

/** The events that a project is folded from, besides items. */
export interface ProjectRecord {
  readonly seq: number;
  readonly at: number;
  readonly type: string;
  readonly actor: string;
  readonly body: unknown;
}

/** The state of a project at a position. Each reader has its own instance. */
export class ProjectState {
  seq = 0;
  openedAt = 0;
  activeAt = 0;
  /** `moved`: it continues in another store. */
  status: ProjectStatus = "open";
  /** Its status before it was moved, which it has again where it arrives. */
  #before: ProjectStatus = "open";
  outcome: ProjectOutcome | null = null;
  notes = 0;
  readonly sessions = new Map<string, number>();
  readonly items = new Map<string, ProjectItemRef>();
  readonly plan = new PlanState();
  /** Legal holds by name: the position that set each. They hold its sessions too. */
  readonly holds = new Map<string, number>();
  /** Null before it was given one. */
  budget: ProjectBudget | null = null;

  /** Applies the next record. Types that it does not know change nothing but the position. */
  apply(record: ProjectRecord): void {
    const { seq, at, type, actor } = record;
    const body = (record.body ?? {}) as Readonly<Record<string, unknown>>;
    this.seq = seq;
    this.activeAt = at;
    switch (type) {
      case "project.opened":
        this.openedAt = at;
        return;
      case "project.joined":
        if (typeof body["session"] === "string") this.sessions.set(body["session"], seq);
        return;
      case "project.noted":
        this.notes += 1;
        return;
      case "project.budgeted": {
        const { limits = {}, spent = {} } = body as { limits?: Amounts; spent?: Amounts };
        const before = this.budget ?? { spent: plusSpendable(nothing, spent), given: new Map() };
        this.budget = { ...before, limits };
        return;
      }
      case "project.allotted":
        this.#allot(body);
        return;
      case "project.closed":
        this.status = "closed";
        this.outcome = projectOutcomes.find((one) => one === body["outcome"]) ?? null;
        return;
      case "project.reopened":
        this.status = "open";
        this.outcome = null;
        return;
      case "project.archived":
        this.status = "archived";
        return;
      case "item.recorded":
        this.#record({ seq, at, actor }, body);
        return;
      case "item.retracted":
        this.items.delete(itemKey(String(body["kind"]), String(body["key"])));
        return;
      case "project.moved":
        this.#before = this.status === "moved" ? this.#before : this.status;
        this.status = "moved";
        return;
      case "project.arrived":
        this.status = this.#before;
        return;
      case "hold.set":
        this.holds.set(String(body["name"]), seq);
        return;
      case "hold.lifted":
        this.holds.delete(String(body["name"]));
        return;
      default:
        this.plan.apply(record, body);
    }
  }

  #allot({ session, direction, amounts = {} }: Readonly<Record<string, unknown>>): void {
    if (this.budget === null || typeof session !== "string") return;
    const given = new Map(this.budget.given);
    const sign = direction === "regained" ? -1 : 1;
    given.set(session, plusSpendable(given.get(session) ?? nothing, amounts as Amounts, sign));
    this.budget = { ...this.budget, given };
  }

  #record(
    place: Pick<ProjectItemRef, "seq" | "at" | "actor">,
    body: Readonly<Record<string, unknown>>,
  ): void {
    const [kind, key] = [String(body["kind"]), String(body["key"])];
    const given = typeof body["status"] === "string" ? body["status"] : null;
    const status = given ?? defaultStatus(kind);
    const origin = (body["origin"] ?? null) as ProjectItemRef["origin"];
    this.items.set(itemKey(kind, key), { kind, key, status, origin, ...place });
  }
}

/** A change of a project. */
export type ProjectCommand =
  | {
      readonly do: "record";
      readonly kind: string;
      readonly key: string;
      readonly value: unknown;
      readonly because?: string | undefined;
      readonly status?: ItemStatus | undefined;
      readonly origin?: { readonly session: string; readonly seq: number } | undefined;
    }
  | {
      readonly do: "retract";
      readonly kind: string;
      readonly key: string;
      readonly because?: string | undefined;
    }
  | { readonly do: "note"; readonly text: string; readonly session?: string | undefined }
  | { readonly do: "close"; readonly outcome: ProjectOutcome; readonly reason?: string | undefined }
  | { readonly do: "reopen"; readonly reason?: string | undefined }
  | { readonly do: "archive"; readonly reason?: string | undefined }
  | { readonly do: "hold"; readonly name: string; readonly reason?: string | undefined }
  | { readonly do: "lift"; readonly name: string; readonly reason?: string | undefined }
  | {
      readonly do: "budget";
      readonly limits: Amounts;
      /** What its sessions have used so far; counts with its first budget. */
      readonly spent: Amounts;
      readonly reason?: string | undefined;
    }
  /** Gives a session a part of the budget; others return theirs. */
  | {
      readonly do: "allot";
      readonly session: string;
      readonly amounts: Amounts;
      readonly regained: readonly (readonly [string, Amounts])[];
    }
  | PlanCommand;

/** The record of a change, or a refusal. */
export function decideProject(state: ProjectState, command: ProjectCommand, actor: string): Decision {
  switch (command.do) {
    case "record":
      return must(state, "open", "change its items") ?? recorded(state, command);
    case "retract":
      return must(state, "open", "change its items") ?? retracted(state, command);
    case "note": {
      const body = present({ session: command.session });
      const draft = { type: "project.noted", body, content: { text: command.text } };
      return must(state, "open", "take notes") ?? accept(draft);
    }
    case "close": {
      const closed = { type: "project.closed", body: { outcome: command.outcome } };
      return (
        must(state, "open", "be closed") ??
        unfinished(state, command.outcome) ??
        accept(withReason(closed, command))
      );
    }
    case "reopen":
      return notMoved(state, "be reopened") ?? reopened(state, command);
    case "archive":
      return (
        must(state, "closed", "be archived") ??
        accept(withReason({ type: "project.archived", body: {} }, command))
      );
    case "budget": {
      const { limits, spent } = command;
      if (isWorker(actor))
        return refuse("refused", `project: ${actor} cannot set the budget of a project`, "a person sets it");
      const body = { limits, spent: state.budget === null ? spent : state.budget.spent };
      return (
        must(state, "open", "be given a budget") ??
        accept(withReason({ type: "project.budgeted", body }, command))
      );
    }
    case "allot":
      return accept(
        ...command.regained.map(([session, amounts]) => allotted(session, "regained", amounts)),
        allotted(command.session, "given", command.amounts),
      );
    case "plan":
    case "propose":
    case "accept-tickets":
    case "reject-tickets":
    case "start-ticket":
    case "settle-ticket":
    case "configure": {
      // What became of work that goes on is still written down.
      const isLate = command.do === "settle-ticket" && state.status === "closed";
      return (
        (isLate ? null : must(state, "open", "change its plan")) ??
        decidePlan(state.plan, command, { actor, seq: state.seq })
      );
    }
    case "hold":
      return notMoved(state, "be held") ?? held(state, command);
    case "lift":
      return notMoved(state, "have a hold lifted") ?? lifted(state, command);
  }
}

/** A project is completed when its plan is. */
function unfinished({ plan }: ProjectState, outcome: ProjectOutcome): Decision | null {
  if (outcome !== "completed") return null;
  const left = [...plan.tickets.values()].flatMap(({ id, settled }) =>
    settled?.outcome === "done" ? [] : [id],
  );
  if (left.length === 0) return null;
  const named = left.slice(0, 5).join(", ");
  const more = left.length > 5 ? ` and ${left.length - 5} more` : "";
  const hint = "run them, remove them from the plan, or close it with --outcome cancelled or failed";
  return refuse("refused", `project close: tickets that are not done: ${named}${more}`, hint);
}

const allotted = (session: string, direction: "given" | "regained", amounts: Amounts): DraftEvent => ({
  type: "project.allotted",
  body: { session, direction, amounts },
});

/** Why no other session may join; null while it is open. */
export function joinRefusal({ status }: ProjectState): Refusal | null {
  if (status === "open") return null;
  const message = `the project is ${status} and cannot take another session`;
  return { code: "refused", message, hint: ways[status] };
}

function recorded(state: ProjectState, command: CommandOf<"record">): Decision {
  const { kind, key, value, because, status, origin } = command;
  if (value === undefined) {
    const hint = "give a value, or retract the item";
    return refuse("invalid", `project: ${kind} "${key}": value: missing`, hint);
  }
  const mistake = statusMistake(kind, status) ?? sizeMistake(kind, key, value);
  if (mistake !== null) return mistake;
  if (!state.items.has(itemKey(kind, key)) && state.items.size >= limit.itemsMax) {
    const full = `a project holds at most ${limit.itemsMax} items`;
    return refuse("refused", full, "retract outdated items first");
  }
  const body = present({ kind, key, status: status ?? defaultStatus(kind) ?? undefined, origin });
  return accept({ type: "item.recorded", body, content: present({ value, because }) });
}

/** A larger value would never be shown: what a session carries of its project has a limit. */
function sizeMistake(kind: string, key: string, value: unknown): Decision | null {
  const tokens = roughTokens(typeof value === "string" ? value : (JSON.stringify(value) ?? ""));
  if (tokens <= limit.projectItemTokensMax) return null;
  const most = `expected at most ${count(limit.projectItemTokensMax)} tokens, got about ${count(tokens)}`;
  const hint = "record a summary and where the rest is: a file, a session and position, or a journal entry";
  return refuse("invalid", `project: ${kind} ${quote(key)}: value: ${most}`, hint);
}

const reopened = (state: ProjectState, command: CommandOf<"reopen">): Decision =>
  state.status === "open"
    ? refuse("refused", "the project is open already")
    : accept(withReason({ type: "project.reopened", body: {} }, command));

const notMoved = (state: ProjectState, verb: string): Decision | null =>
  state.status === "moved" ? must(state, "open", verb) : null;

function held(state: ProjectState, { name, reason: why }: CommandOf<"hold">): Decision {
  if (!state.holds.has(name) && state.holds.size >= limit.holdsMax)
    return refuse("refused", `a project has at most ${limit.holdsMax} holds`, "lift holds that are over");
  return accept(withReason({ type: "hold.set", body: { name } }, { reason: why }));
}

function lifted(state: ProjectState, { name, reason: why }: CommandOf<"lift">): Decision {
  if (!state.holds.has(name)) {
    const hint = '"skein project show ID" lists its holds';
    return refuse("not-found", `the project has no hold ${quote(name)}`, hint);
  }
  return accept(withReason({ type: "hold.lifted", body: { name } }, { reason: why }));
}

function retracted(state: ProjectState, { kind, key, because }: CommandOf<"retract">): Decision {
  if (!state.items.has(itemKey(kind, key))) {
    const hint = '"skein project show ID" lists its items';
    return refuse("not-found", `the project has no ${kind} "${key}" to retract`, hint);
  }
  const draft = { type: "item.retracted", body: { kind, key } };
  return accept(because === undefined ? draft : { ...draft, content: { because } });
}

type CommandOf<K extends ProjectCommand["do"]> = Extract<ProjectCommand, { readonly do: K }>;

const ways: Readonly<Record<ProjectStatus, string>> = {
  open: '"skein project close ID" closes it',
  closed: '"skein project reopen ID" opens it again',
  archived: '"skein project reopen ID" opens it again',
  moved: "work with it in its new store",
};

const must = (state: ProjectState, status: ProjectStatus, verb: string): Decision | null =>
  state.status === status
    ? null
    : refuse("refused", `the project is ${state.status} and cannot ${verb}`, ways[state.status]);

const withReason = (draft: DraftEvent, { reason }: { readonly reason?: string | undefined }): DraftEvent =>
  reason === undefined ? draft : { ...draft, content: { reason } };
