/** Decisions on a session's life: opening, describing, lifecycle, leases. */
import type { CarriedMemory, CommandOf, Loaded, Pin, Returned } from "../command.ts";
import type { TriggerSetting } from "../command/trigger.ts";
import {
  accept,
  amountsOf,
  because,
  draft,
  forbidden,
  present,
  refuse,
  type Decision,
  type Decisions,
  type DraftEvent,
} from "../decision.ts";
import { Keyed } from "../sorted-map.ts";
import { limit } from "../limit.ts";
import { mindForm, mindHash, setBack, type Amounts, type State } from "../state.ts";
import type { Digest } from "../chain.ts";
import { stillForReview } from "../govern/review.ts";
import { boundDraft, grantDraft, inputDraft } from "./work.ts";

type Names =
  | "open"
  | "rename"
  | "label"
  | "prioritize"
  | "activate"
  | "suspend"
  | "sleep"
  | "wake"
  | "interrupt"
  | "close"
  | "cancel"
  | "reopen"
  | "archive"
  | "take"
  | "release";

export const lifecycleDecisions: Decisions<Names> = {
  open: (state, command) =>
    state.seq > 0 ? refuse("conflict", "the session exists already") : openNow(command),
  rename: (state, { name }) =>
    forbidden(state, "describe", "be renamed") ?? accept(draft("session.renamed", {}, { name })),
  label: (state, { set = {}, remove = [] }) => {
    const { labels } = state.standing;
    const kept = [...labels.keys()].filter((key) => !remove.includes(key));
    const count = new Set([...kept, ...Object.keys(set)]).size;
    if (count > limit.labelsMax)
      return refuse("refused", `a session holds at most ${limit.labelsMax} labels`);
    const missing = remove.find((key) => !labels.has(key));
    if (missing !== undefined) return refuse("not-found", `there is no label "${missing}"`);
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
    // Whatever it stood still for: from now on it is this, which nobody but a person ends.
    const isSetBack = tail !== undefined && state.standing.status === "suspended";
    const body = {
      by,
      ...(on === undefined ? {} : { on: [...on] }),
      ...(tail === undefined ? {} : { tail }),
    };
    return (
      (isSetBack ? null : forbidden(state, "suspend", "be suspended")) ??
      accept(draft("session.suspended", body, because(reason)))
    );
  },
  sleep: (state, { untilMs, triggers, reason }) => {
    const body = {
      ...(untilMs === undefined ? {} : { untilMs }),
      ...(triggers === undefined ? {} : { triggers: [...triggers] }),
    };
    return forbidden(state, "sleep", "go to sleep") ?? accept(draft("session.slept", body, because(reason)));
  },
  wake: (state, { by, trigger, text }) => {
    const told = { type: "input.received", from: "trigger", text: text ?? "" } as const;
    const input = text === undefined ? [] : [inputDraft(told, state.standing.inbox.received + 1)];
    return (
      forbidden(state, "wake", "be woken") ??
      accept(draft("session.woken", trigger === undefined ? { by } : { by, trigger }), ...input)
    );
  },
  interrupt: (state, { reason, idle = false }, { digest }) => {
    if (state.standing.turn === null) {
      return refuse("refused", "there is no turn in progress to interrupt", "the session is idle already");
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
  close: (state, { outcome = "completed", reason, returned, handedOver }, { digest }) =>
    forbidden(state, "close", "be closed") ??
    accept(
      ...endTurn(state, digest, "cancelled"),
      ...handedOverDrafts(handedOver),
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
  take: (state, { holder, leaseMs, ranOut }) => {
    const { lease } = state.standing;
    if (leaseMs < limit.leaseMsMin || leaseMs > limit.leaseMsMax) {
      return refuse(
        "invalid",
        `a lease lasts from ${limit.leaseMsMin} to ${limit.leaseMsMax} ms, not ${leaseMs}`,
      );
    }
    if (lease.held && !ranOut) {
      return refuse(
        "conflict",
        `the session is run by ${lease.holder}`,
        "wait until its lease is released or runs out",
      );
    }
    return forbidden(state, "take", "be run") ?? accept(draft("lease.taken", { holder, leaseMs }));
  },
  release: (state, { epoch }) => {
    const { lease } = state.standing;
    if (!lease.held || lease.epoch !== epoch)
      return refuse("fenced", `the lease of epoch ${epoch} is not held any more`);
    return accept(draft("lease.released", { epoch }));
  },
};

/** Whether it stands still until a person activates it, and nothing else they do lets it go on. */
const isForPerson = ({ standing: { why, unreviewed } }: State): boolean =>
  unreviewed || why?.by === "person" || why?.by === setBack;

function openNow(command: CommandOf<"open">): Decision {
  const { workspace, objective, name, agent, model, instructions, constraints, labels, from } = command;
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
    told,
  } = command;
  if (Object.keys(labels ?? {}).length > limit.labelsMax) {
    return refuse("invalid", `a session holds at most ${limit.labelsMax} labels`);
  }
  if (bind.length > limit.bindingsMax) return refuse("invalid", `at most ${limit.bindingsMax} bindings`);
  if (grant.length > limit.permissionsMax)
    return refuse("invalid", `at most ${limit.permissionsMax} permissions`);
  if (triggers.length > limit.triggersMax) return refuse("invalid", `at most ${limit.triggersMax} triggers`);
  const { parent, depth, closesWhenDone, got, sleeps, payer = parent?.session ?? "" } = command;
  const limits = budget === undefined ? command.limits : amountsOf(budget);
  const born = { parent, depth, closesWhenDone };
  const body = present({ workspace, agent, model, priority, labels, from, expiresAfterIdleMs, ...born });
  const content = present({ objective, name, instructions, constraints: constraints && [...constraints] });
  return accept(
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
    ...(limits === undefined ? [] : [draft("budget.set", { limits })]),
    ...gotDrafts(payer, got),
    ...triggers.map(triggerDraft),
    ...(sleeps === undefined ? [] : [draft("session.slept", { triggers: [...sleeps] })]),
    ...toldDrafts(told),
  );
}

/** The first input of a session that another one makes. */
export const toldDrafts = (told: string | undefined): readonly DraftEvent[] =>
  told === undefined ? [] : [inputDraft({ type: "input.received", from: "trigger", text: told }, 1)];

const handedOverDrafts = (over: CommandOf<"close">["handedOver"]): readonly DraftEvent[] => [
  ...(over?.triggers ?? []).map((name) => draft("trigger.removed", { name })),
  ...(over?.limits === undefined ? [] : [draft("budget.set", { limits: over.limits })]),
];

export const returnedDrafts = (returned: Returned | undefined): readonly DraftEvent[] =>
  returned === undefined
    ? []
    : [draft("budget.allotted", { session: returned.to, direction: "returned", amounts: returned.amounts })];

/** What a session that another one made has to live on. */
export const gotDrafts = (from: string, amounts: Amounts | undefined): readonly DraftEvent[] =>
  amounts === undefined || Object.keys(amounts).length === 0
    ? []
    : [draft("budget.allotted", { session: from, direction: "got", amounts })];

export const triggerDraft = ({ spec, ...body }: TriggerSetting): DraftEvent =>
  draft("trigger.set", present(body), { spec });

/**
 * A model call in flight when its turn is ended from outside. All that was reserved stays unconfirmed until
 * its runner, if it still lives, says what the call cost.
 */
function writeOff({ standing: { reserved, turn } }: State): readonly DraftEvent[] {
  if (reserved === null || turn === null) return [];
  const { model, seq: cause, amounts: unconfirmed } = reserved;
  const body = { model, error: "interrupted", retryable: false, costNanoUsd: null, unconfirmed };
  return [draft("model.failed", body, undefined, { turn: turn.number, cause })];
}

export const pinDraft = ({ definition, ...body }: Pin): DraftEvent =>
  draft("agent.pinned", body, { definition });

export const carriedDrafts = (carried: CarriedMemory | undefined): readonly DraftEvent[] =>
  carried === undefined
    ? []
    : [
        draft(
          "memory.carried",
          { count: carried.items.length, tokens: carried.tokens },
          { items: carried.items.map((item) => ({ ...item })) },
        ),
      ];

const loadedDraft = ({ path, text, ...body }: Loaded): DraftEvent =>
  draft("document.loaded", body, present({ path, text }));

/** Whether a message wakes it: one who named what it waits for is woken by that alone. */
export function listens({ sleep, triggers }: State["standing"]): boolean {
  if (sleep === null || sleep.triggers.length === 0) return true;
  return sleep.triggers.some((name) => triggers.get(name)?.kind === "message");
}

/**
 * Ends a turn. Calls that nobody will go on with are settled: `unknown` if they had started, since their
 * effect may have happened, unless they only read; the others are `skipped`.
 */
export function endTurn(
  state: State,
  digest: Digest,
  outcome: "completed" | "interrupted" | "cancelled" | "failed" | "refused" | "length",
): readonly DraftEvent[] {
  const { turn } = state.standing;
  if (turn === null) return [];
  const settled = [...state.mind.calls.entries()].map(([call, { phase, effect, seq }]) => {
    const status = phase === "started" && effect !== "read" ? "unknown" : "skipped";
    return draft("tool.settled", { call, status }, undefined, { turn: turn.number, cause: seq });
  });
  const toSeq = settled.length === 0 ? state.mind.toSeq : state.seq + settled.length;
  const hash = mindHash(digest, { ...state.mind, calls: Keyed.empty(), toSeq });
  const body = { outcome, steps: turn.steps, mindForm, mindHash: hash };
  return [...settled, ...writeOff(state), draft("turn.ended", body, undefined, { turn: turn.number })];
}
