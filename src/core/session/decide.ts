/** Decisions on a session: its life, its lease, where it lives and what it starts with. */
import { gotDrafts, returnedDrafts } from "../budget/decide.ts";
import type { CommandOf } from "../command.ts";
import {
  type Decision,
  type Decisions,
  type DraftEvent,
  accept,
  amountsOf,
  because,
  draft,
  forbidden,
  refuse,
} from "../decision.ts";
import { present } from "../present.ts";
import { stillForReview, suspendForReview } from "../govern/review.ts";
import { carriedDrafts } from "../item/decide.ts";
import { checksDraft, notAccepted, tooMany } from "../check/decide.ts";
import { limit } from "../limit.ts";
import type { LoadedDocument, Pin, SessionCommand } from "./commands.ts";
import { mayIn } from "./lifecycle.ts";
import { itemDrafts, successionDecisions, takenDrafts } from "./succession.ts";
import { type State, rolledBackReason } from "../state.ts";
import { boundDraft, grantDraft } from "../tool/drafts.ts";
import { triggerDraft } from "../trigger/drafts.ts";
import { endTurn, inputDraft, firstInputDrafts } from "../turn/drafts.ts";

export const sessionDecisions: Decisions<SessionCommand["do"]> = {
  open: (state, command) =>
    state.seq > 0 ? refuse("conflict", "open: the session exists already") : openNow(command),
  rename: (state, { name }) =>
    forbidden(state, "describe", "be renamed") ?? accept(draft("session.renamed", {}, { name })),
  label: (state, { set = {}, remove = [] }) => {
    const { labels } = state.standing;
    const kept = [...labels.keys()].filter((key) => !remove.includes(key));
    const count = new Set([...kept, ...Object.keys(set)]).size;
    if (count > limit.labelsMax)
      return refuse("refused", `labels: expected at most ${limit.labelsMax} per session`);
    const missing = remove.find((key) => !labels.has(key));
    if (missing !== undefined)
      return refuse("not-found", `there is no label "${missing}"`, '"skein state ID" lists the labels');
    return (
      forbidden(state, "describe", "be labeled") ??
      accept(draft("session.labeled", { set, remove: [...remove] }))
    );
  },
  prioritize: (state, { priority }) =>
    forbidden(state, "describe", "be given a priority") ?? accept(draft("session.prioritized", { priority })),
  activate: (state, { reason }) =>
    forbidden(state, "activate", "be activated") ?? accept(draft("session.activated", {}, because(reason))),
  suspend: (state, { reason, by = "person", on, tail }) => {
    // This reason replaces any earlier one, and only a person ends it.
    const isSetBack = tail !== undefined && state.standing.status === "suspended";
    const body = {
      by,
      ...(on === undefined ? {} : { on: [...on] }),
      ...present({ tail }),
    };
    return (
      (isSetBack ? null : forbidden(state, "suspend", "be suspended")) ??
      accept(draft("session.suspended", body, because(reason)))
    );
  },
  sleep: (state, { untilMs, triggers, reason }) => {
    const body = {
      ...present({ untilMs }),
      ...(triggers === undefined ? {} : { triggers: [...triggers] }),
    };
    return forbidden(state, "sleep", "go to sleep") ?? accept(draft("session.slept", body, because(reason)));
  },
  wake: (state, { by, trigger, text }) => {
    const message = { type: "input.received", from: "trigger", text: text ?? "" } as const;
    const input = text === undefined ? [] : [inputDraft(message, state.standing.inbox.received + 1)];
    return (
      forbidden(state, "wake", "be woken") ??
      accept(draft("session.woken", trigger === undefined ? { by } : { by, trigger }), ...input)
    );
  },
  interrupt: (state, { reason, idle = false }, { digest }) => {
    if (state.standing.turn === null) {
      return refuse("refused", "there is no turn in progress to interrupt", "the session is idle");
    }
    const ended = idle ? endTurn({ ...state, seq: state.seq + 1 }, digest, "interrupted") : [];
    const goesOn =
      idle && state.standing.status === "suspended" && !isForPerson(state)
        ? [draft("session.activated", {})]
        : [];
    return (
      forbidden(state, "interrupt", "be interrupted") ??
      accept(draft("session.interrupted", {}, because(reason)), ...ended, ...goesOn)
    );
  },
  ...successionDecisions,
  close: (state, { outcome = "completed", reason, returned }, { digest }) =>
    forbidden(state, "close", "be closed") ??
    (outcome === "completed" ? notAccepted(state, "close") : null) ??
    accept(
      ...endTurn(state, digest, "cancelled"),
      draft("session.closed", { outcome }, because(reason)),
      ...returnedDrafts(returned),
    ),
  cancel: (state, { reason, returned }, { digest }) =>
    forbidden(state, "cancel", "be cancelled") ??
    accept(
      ...endTurn(state, digest, "cancelled"),
      draft("session.closed", { outcome: "cancelled" }, because(reason)),
      ...returnedDrafts(returned),
    ),
  reopen: (state, { reason }) =>
    forbidden(state, "reopen", "be reopened") ??
    accept(draft("session.reopened", {}, because(reason)), ...stillForReview(state)),
  archive: (state, { reason }) =>
    forbidden(state, "archive", "be archived") ?? accept(draft("session.archived", {}, because(reason))),
  /** The last record in the old store: only an arrival may follow. */
  move: (state, { move, to, where, held }) => {
    const { lease } = state.standing;
    if (held && lease.held) {
      return refuse(
        "conflict",
        `the session is running on ${lease.holder}`,
        "wait until the lease is released or expires",
      );
    }
    return (
      forbidden(state, "move", "be moved") ??
      accept(draft("session.moved", present({ move, to }), where === undefined ? undefined : { to: where }))
    );
  },
  /** Only through the move that brought it here, and only in its target workspace. */
  arrive: (state, { moved, workspace, where, untrusted = false }) => {
    const refusal = forbidden(state, "arrive", "arrive");
    if (refusal !== null) return refusal;
    if (moved === null) {
      return refuse(
        "corrupt",
        "the session is marked as moved, but no record says where to",
        'run "skein verify ID"',
      );
    }
    if (moved.to !== undefined && moved.to !== workspace) {
      return refuse(
        "refused",
        `the session was moved to the store with workspace ${moved.to}`,
        "finish the move there, or fork the session here",
      );
    }
    const content = where === undefined ? undefined : { from: where };
    const body = { move: moved.move, ...(untrusted ? { untrusted } : {}) };
    const isLive = mayIn(state.standing.movedFrom ?? "open", "write");
    const review = untrusted && isLive ? [suspendForReview()] : [];
    return accept(draft("session.arrived", body, content), ...review);
  },
  migrate: (state, { model, left }) => {
    const from = state.standing.model ?? undefined;
    if (from === model) return refuse("refused", `migrate: the session already uses ${model}`);
    const content = left.length === 0 ? undefined : { left: [...left] };
    return (
      forbidden(state, "migrate", "be migrated") ??
      accept(draft("session.migrated", present({ from, to: model }), content))
    );
  },
  take: (state, { holder, leaseMs, ranOut }) => {
    const { lease } = state.standing;
    if (leaseMs < limit.leaseMsMin || leaseMs > limit.leaseMsMax) {
      return refuse(
        "invalid",
        `leaseMs: expected ${limit.leaseMsMin} to ${limit.leaseMsMax}, got ${leaseMs}`,
      );
    }
    if (lease.held && !ranOut) {
      return refuse(
        "conflict",
        `the session is running on ${lease.holder}`,
        "wait until the lease is released or expires",
      );
    }
    return forbidden(state, "take", "be run") ?? accept(draft("lease.taken", { holder, leaseMs }));
  },
  release: (state, { epoch }) => {
    const { lease } = state.standing;
    if (!lease.held || lease.epoch !== epoch)
      return refuse(
        "fenced",
        `the lease of epoch ${epoch} is no longer held`,
        "another worker runs the session now",
      );
    return accept(draft("lease.released", { epoch }));
  },
};

/** Whether it stays suspended until a person activates it, whatever else they do. */
const isForPerson = ({ standing: { why, unreviewed } }: State): boolean =>
  unreviewed || why?.by === "person" || why?.by === rolledBackReason;

function openNow(command: CommandOf<"open">): Decision {
  const { workspace, objective, name, agent, model, instructions, constraints, labels, from, project } =
    command;
  const { instructionFiles } = command;
  const {
    priority = 5,
    expiresAfterIdleMs,
    bind = [],
    grant = [],
    budget,
    pin,
    documents = [],
    carried,
    triggers = [],
    firstInput,
    takes,
  } = command;
  if (Object.keys(labels ?? {}).length > limit.labelsMax) {
    return refuse("invalid", `labels: expected at most ${limit.labelsMax} per session`);
  }
  if (bind.length > limit.bindingsMax)
    return refuse("invalid", `bind: expected at most ${limit.bindingsMax} bindings per session`);
  if (grant.length > limit.permissionsMax)
    return refuse("invalid", `permissions: expected at most ${limit.permissionsMax} per session`);
  if (triggers.length > limit.triggersMax)
    return refuse("invalid", `wake: expected at most ${limit.triggersMax} triggers per session`);
  const refusal = tooMany(command.checks ?? []);
  if (refusal !== null) return refusal;
  const { parent, depth, closesWhenDone, got, sleeps, payer = parent?.session ?? "" } = command;
  const limits = budget === undefined ? command.limits : amountsOf(budget);
  const born = { parent, depth, closesWhenDone };
  const settings = { workspace, agent, model, priority, labels };
  const { split } = command;
  const body = present({
    ...settings,
    from,
    first: takes?.first,
    expiresAfterIdleMs,
    ...born,
    project,
    split,
  });
  const content = present({
    objective,
    name,
    instructions,
    constraints: constraints && [...constraints],
    instructionFiles: instructionFiles && [...instructionFiles],
  });
  const drafts = [
    draft(
      "session.opened",
      { ...body, has: name === undefined ? ["objective"] : ["objective", "name"] },
      content,
    ),
    ...(pin === undefined ? [] : [pinDraft(pin)]),
    ...documents.map(loadedDraft),
    ...carriedDrafts(carried),
    ...bind.map((one) => boundDraft(one)),
    ...grant.map((one) => grantDraft(one)),
    ...(command.checks === undefined || command.checks.length === 0 ? [] : [checksDraft(command.checks)]),
    ...(limits === undefined ? [] : [draft("budget.set", { limits })]),
    ...gotDrafts(payer, got),
    ...triggers.map(triggerDraft),
    ...(sleeps === undefined ? [] : [draft("session.slept", { triggers: [...sleeps] })]),
    ...firstInputDrafts(firstInput),
  ];
  const items = itemDrafts(command.items ?? [], drafts.length + 1);
  return accept(...drafts, ...items, ...takenDrafts(takes, drafts.length + items.length + 1));
}

export const pinDraft = ({ definition, ...body }: Pin): DraftEvent =>
  draft("agent.pinned", body, { definition });

const loadedDraft = ({ path, text, ...body }: LoadedDocument): DraftEvent =>
  draft("document.loaded", body, present({ path, text }));
