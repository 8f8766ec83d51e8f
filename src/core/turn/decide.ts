/** Decisions on a turn: inputs, model calls, the context window. */
import { countNodes, storedNode } from "../compaction/tree.ts";
import { carriedDrafts, itemDecisions } from "../item/decide.ts";
import { returnedDrafts } from "../budget/decide.ts";
import { type BodyOf, isForeign } from "../catalog.ts";
import type { CarriedMemory } from "../item/commands.ts";
import type { CommandOf } from "../command.ts";
import {
  type Decide,
  type Decision,
  type Decisions,
  type DraftEvent,
  accept,
  because,
  draft,
  forbidden,
  refuse,
} from "../decision.ts";
import { present } from "../present.ts";
import { limit } from "../limit.ts";
import { includes } from "../range.ts";
import type { State } from "../state.ts";
import { approval, callDrafts, toolsDraft } from "../tool/drafts.ts";
import { triggersFor } from "../trigger/drafts.ts";
import type { AppendRecord, TurnCommand } from "./commands.ts";
import { actedDraft, actOnZone, isZoneActionOpen, zoneDrafts } from "./zone-drafts.ts";
import {
  type InputRecord,
  causedBy,
  endTurn,
  inTurn,
  inputDraft,
  mayGo,
  drawnDrafts,
  overBudget,
  overProject,
  topicOf,
  wall,
} from "./drafts.ts";

export const turnDecisions: Decisions<TurnCommand["do"]> = {
  begin: (state, { inputs, tools, model, carried, retrieved }) => {
    const refusal = forbidden(state, "begin", "begin a turn");
    if (refusal !== null) return refusal;
    const stop = overBudget(state, { turns: 1 });
    if (stop !== null) return accept(...stop);
    const bound = tools === undefined ? [] : [toolsDraft(tools)];
    const turn = state.standing.lastTurn + 1;
    const named = model === undefined ? [] : [draft("session.migrated", { to: model })];
    const seq = state.seq + named.length + bound.length + 1;
    const brought = broughtDrafts(carried, retrieved, seq);
    const started = draft("turn.started", { inputs: pairs(inputs) }, undefined, { turn });
    return accept(...named, ...bound, ...brought, started);
  },
  retrieve: (state, { carried, retrieved }) =>
    forbidden(state, "settle", "bring parts of its log into a context") ??
    accept(...broughtDrafts(carried, retrieved, state.seq + 1).map((one) => ({ ...one, ...inTurn(state) }))),
  request: (state, command) => {
    const { model, compactTo: toSeq, nowMs, settings, prompt, inputs, reserved, draw, ...body } = command;
    const refusal =
      toSeq === undefined ? mayAsk(state) : forbidden(state, "compact", "be compacted by a model");
    if (refusal !== null) return refusal;
    // A forwarded call that is still open counts as lost: its program may be gone.
    if (state.standing.reserved !== null && state.standing.reserved.isForwarded !== true)
      return refuse("conflict", "a model call is in flight", "settle it first");
    const { turn, limits } = state.standing;
    const attempt = toSeq === undefined ? (turn?.attempts ?? 0) + 1 : 1;
    if (limits.nanoUsd !== undefined && reserved.nanoUsd === undefined)
      return accept(...unpriced(state, model));
    const step = toSeq === undefined && attempt === 1 ? { steps: 1 } : {};
    const stop = overBudget(state, { ...reserved, ...step, ...wall(state, nowMs) });
    if (stop !== null) return accept(...stop);
    const short = overProject(state, draw, reserved);
    if (short !== null) return accept(...short);
    const {
      do: _,
      renderer,
      context,
      digestForm,
      parts,
      plan,
      estimatedTokens,
      outputTokensMax,
      outside,
    } = body;
    const purpose = toSeq === undefined ? {} : { purpose: "compaction" as const, toSeq };
    const planned =
      plan === undefined ? [] : [draft("context.planned", plan.body, plan.choice, inTurn(state))];
    return accept(
      ...drawnDrafts(state, draw),
      ...planned,
      draft(
        "model.requested",
        {
          ...purpose,
          ...present({
            model,
            renderer,
            context,
            digestForm,
            parts,
            estimatedTokens,
            outputTokensMax,
            attempt,
            reserved,
            outside,
          }),
          inputs: pairs(inputs),
        },
        present({ settings, prompt }),
        inTurn(state),
      ),
    );
  },
  respond: (state, { model, finish, usage, costNanoUsd, blocks, calls, sent, ms, zone }) => {
    const refusal = forbidden(state, "settle", "receive a model response") ?? inFlight(state);
    if (refusal !== null) return refusal;
    const body = present({ model, finish, usage: { ...usage }, costNanoUsd, sent, ms });
    const more = { ...inTurn(state), ...causedBy(state.standing.reserved?.seq) };
    const responded = draft("model.responded", body, { blocks: [...blocks] }, more);
    const called = callDrafts(state, calls, model);
    const asked = called.flatMap(({ type, body: one }, place) =>
      type === "tool.requested" && (one as { ask?: boolean }).ask === true ? [state.seq + 2 + place] : [],
    );
    const suspended = asked.length === 0 || state.standing.status === "suspended" ? [] : [approval(asked)];
    return accept(responded, ...called, ...zoneDrafts(state, zone, 1 + called.length), ...suspended);
  },
  fail,
  end: (state, { outcome, returned }, { digest }) => {
    const refusal = forbidden(state, "settle", "end a turn");
    if (refusal !== null) return refusal;
    if (state.standing.turn === null) return refuse("refused", "no turn is in progress");
    if (state.mind.calls.size > 0 && outcome === "completed")
      return refuse("refused", `${state.mind.calls.size} calls have no outcome yet`, "settle them first");
    const ended = endTurn(state, digest, outcome);
    if (!isDone(state, outcome)) return accept(...ended, ...wakeAtOnce(state));
    const closed = draft("session.closed", { outcome: outcome === "completed" ? "completed" : "failed" });
    return accept(...ended, closed, ...returnedDrafts(returned));
  },
  "lift-overlay": (state, { overlay, reason, zone }) => {
    const refusal = forbidden(state, "compact", "show a compacted range again");
    if (refusal !== null) return refusal;
    if (!state.mind.overlays.some(({ seq }) => seq === overlay))
      return refuse("not-found", `uncompress: the context has no compaction at ${overlay}`, shownAt(state));
    return accept(
      draft("overlay.lifted", { overlay }, because(reason), inTurn(state)),
      ...zoneDrafts(state, zone, 1),
    );
  },
  "zone-act": actOnZone,
  compact: (state, command, facts) => {
    const refusal = forbidden(state, "compact", "be compacted");
    return refusal ?? compact(state, command, facts);
  },
  append: (state, { records, sent }, { digest }) => {
    const refusal = forbidden(state, "write", "receive input");
    if (refusal !== null) return refusal;
    if (records.length === 0)
      return refuse(
        "invalid",
        "append: records: expected at least one, got none",
        "pass at least one record",
      );
    if (records.length > limit.appendRecordsMax) {
      return refuse(
        "invalid",
        `append: records: expected at most ${limit.appendRecordsMax}, got ${records.length}`,
      );
    }
    const wrong = records.find((record) => record.type !== "input.received" && !isForeign(record.type));
    if (wrong !== undefined) return refusedType(wrong.type);
    const { session, inbox } = state.standing;
    let input = inbox.received;
    // A person's message wakes a sleeping session too.
    const heard = records.some((record) => record.type === "input.received" && isFromUser(record));
    const woken =
      heard && state.standing.status === "sleeping" ? [draft("session.woken", { by: "person" })] : [];
    const fired: DraftEvent[] = [];
    const appended = records.map((record) => {
      if (record.type !== "input.received") return foreignDraft(record);
      const received = inputDraft(record, ++input);
      const names = sent === true ? triggersFor(state, { from: null, topic: topicOf(record) }) : [];
      const cause = digest("", `input ${input} of ${session}`);
      fired.push(...names.map((name) => draft("trigger.fired", { name, digest: cause, input })));
      return received;
    });
    return accept(...appended, ...fired, ...woken);
  },
};

/** Where the compactions are that the context shows, the newest first. */
function shownAt({ mind: { overlays } }: State): string {
  const shown = overlays.slice(-10).map(({ seq }) => seq);
  return shown.length === 0 ? "nothing is compacted" : `compactions at: ${shown.toReversed().join(", ")}`;
}

const pairs = (taken: readonly (readonly [number, number])[]): [number, number][] =>
  taken.map(([seq, input]) => [seq, input]);

function mayAsk(state: State): Decision | null {
  const refusal = mayGo(state, "call a model");
  if (refusal !== null || state.mind.calls.size === 0) return refusal;
  return refuse("refused", `${state.mind.calls.size} calls have no outcome yet`, "settle them first");
}

const inFlight = (state: State): Decision | null =>
  state.standing.reserved === null ? refuse("refused", "no model call is in flight") : null;

const unpriced = (state: State, model: string): readonly DraftEvent[] => [
  draft(
    "session.suspended",
    { by: "budget" },
    because(`the price of ${model} is unknown, so the cost budget cannot be enforced`),
    inTurn(state),
  ),
];

/**
 * Whether a session that was opened for one task is done at the end of this turn: a person did not interrupt
 * it, and it waits for nothing.
 */
function isDone({ standing }: State, outcome: string): boolean {
  const { closesWhenDone, status, sleep, inbox, requests, triggers } = standing;
  if (!closesWhenDone || outcome === "interrupted" || status !== "running") return false;
  // They run between turns, so none has passed since this one.
  if (standing.checks.size > 0 && outcome === "completed") return false;
  if (sleep !== null || inbox.waiting.length > 0 || requests.size > 0) return false;
  return [...triggers.values()].every(
    ({ kind, lastCause, nextMs }) =>
      (kind === "session" && lastCause !== null) || (kind === "at" && nextMs === null),
  );
}

/** Wakes a session that went to sleep in this turn, if its wake-up cause arrived meanwhile. */
function wakeAtOnce({ standing }: State): readonly DraftEvent[] {
  const { status, sleep, inbox } = standing;
  if (status !== "running" || sleep === null || inbox.waiting.length === 0) return [];
  if (sleep.triggers.length === 0) return [draft("session.woken", { by: "message" })];
  // The awaited trigger has already fired, and its input is still queued.
  const trigger = sleep.triggers.find((name) =>
    includes(inbox.waiting, standing.triggers.get(name)?.input ?? 0),
  );
  if (trigger === undefined) return [];
  const by = standing.triggers.get(trigger)?.kind === "message" ? "message" : "trigger";
  return [draft("session.woken", { by, trigger })];
}

/**
 * A failed call. Its cost counts whatever the session's status is now: also if its turn was ended by another
 * process and the call was recorded as lost.
 */
function fail(state: State, command: CommandOf<"fail">): Decision {
  const refusal = forbidden(state, "describe", "record a failed model call");
  if (refusal !== null) return refusal;
  const { model, error, retryable, costNanoUsd, usage, message, partial, requestSeq } = command;
  const { reserved, lost } = state.standing;
  const inFlight = reserved !== null && (requestSeq ?? reserved.seq) === reserved.seq;
  const isLate = !inFlight && lost !== null && lost.seq === requestSeq && usage !== undefined;
  if (!inFlight && !isLate) return refuse("refused", "no model call is in flight");
  const isLost = costNanoUsd === null && usage === undefined;
  const unknown = usage !== undefined && costNanoUsd === null ? { tokens: 0 } : undefined;
  const unconfirmed = command.unconfirmed ?? (isLost ? reserved?.amounts : unknown);
  const body = present({
    model,
    error,
    retryable: isLate ? false : retryable,
    usage: usage && { ...usage },
    costNanoUsd,
    unconfirmed: unconfirmed && { ...unconfirmed },
    released: isLate ? { ...lost.amounts } : undefined,
    partialChars: partial?.length,
  });
  const content =
    message === undefined && partial === undefined
      ? undefined
      : { message: message ?? "", ...present({ partial }) };
  return accept(
    draft("model.failed", body, content, { ...inTurn(state), ...causedBy(requestSeq ?? reserved?.seq) }),
  );
}

function compact(
  state: State,
  command: CommandOf<"compact">,
  facts: Parameters<Decide<"record">>[2],
): Decision {
  const { fromSeq, toSeq, strategy, model, usage, costNanoUsd, tokensBefore, tokensAfter } = command;
  const { summary, pruned, nodes = [], missing = [], items = [], byPolicy = false, zone } = command;
  if (fromSeq < 1 || fromSeq > toSeq || toSeq > state.mind.toSeq)
    return refuse("invalid", `compact: the transcript has no range ${fromSeq} to ${toSeq}`);
  const open = [...state.mind.calls.values()].find(({ seq }) => seq <= toSeq);
  if (open !== undefined)
    return refuse(
      "refused",
      `the call of ${open.tool} at ${open.seq} has no outcome yet`,
      "compact a range that ends before it",
    );
  const recorded: DraftEvent[] = [];
  for (const item of items) {
    const decision = itemDecisions.record(state, item, facts);
    if (!decision.ok) return decision;
    recorded.push(...decision.drafts);
  }
  const body = present({ fromSeq, toSeq, strategy, model, usage: usage && { ...usage }, costNanoUsd });
  const found: [number, number][] =
    recorded.length === 0 ? [] : [[state.seq + 1, state.seq + recorded.length]];
  const counts = {
    tokensBefore,
    tokensAfter,
    ...(found.length === 0 ? {} : { items: found }),
    ...(nodes.length === 0 ? {} : { nodes: countNodes(nodes) }),
    ...(missing.length === 0 ? {} : { missing: missing.length }),
  };
  const content =
    summary === undefined && pruned === undefined
      ? undefined
      : {
          ...present({ summary, pruned: pruned && [...pruned] }),
          ...(nodes.length === 0 ? {} : { nodes: nodes.map(storedNode) }),
          ...(missing.length === 0 ? {} : { missing: missing.map((one) => ({ ...one })) }),
        };
  const more = { ...inTurn(state), ...causedBy(state.standing.reserved?.seq) };
  const acted = byPolicy && isZoneActionOpen(state, "compress") ? [actedDraft(state, "compress")] : [];
  return accept(
    ...recorded,
    draft("transcript.compacted", { ...body, ...counts }, content, more),
    ...acted,
    ...zoneDrafts(state, zone, recorded.length + 1 + acted.length),
  );
}

function refusedType(type: string): Decision {
  return refuse(
    "invalid",
    `append: type: "${type}" is reserved for the engine`,
    'use "input.received", or a custom type such as "x.name"',
  );
}

/** What stands right before the inputs of a request; `seq` is the position of the first. */
function broughtDrafts(
  carried: CarriedMemory | undefined,
  retrieved: BodyOf<"context.retrieved"> | undefined,
  seq: number,
): readonly DraftEvent[] {
  if (retrieved === undefined) return carriedDrafts(carried);
  const entries = retrieved.entries.map((one) =>
    one.kind === "memory" && one.seq === 0 ? { ...one, seq } : one,
  );
  return [...carriedDrafts(carried), draft("context.retrieved", { ...retrieved, entries })];
}

const isFromUser = ({ from }: { readonly from?: unknown }): boolean => from === undefined || from === "user";

function foreignDraft({ type, body = {}, content }: Exclude<AppendRecord, InputRecord>): DraftEvent {
  return content === undefined ? { type, body } : { type, body, content };
}
