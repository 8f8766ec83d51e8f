/** Decisions of a turn: taking up input, asking a model, running tools, ending; compaction and messages. */
import { budgetReason, budgetShort, workMs } from "../budget/budget.ts";
import type { CommandOf } from "../command.ts";
import type { Called, HeldBack, TurnCommand, Zoned } from "../command/turn.ts";
import {
  accept,
  because,
  draft,
  forbidden,
  present,
  refuse,
  type Decide,
  type Decision,
  type Decisions,
  type DraftEvent,
} from "../decision.ts";
import { changedDrafts } from "../tool/file-version.ts";
import { includes } from "../range.ts";
import type { Amounts, OpenCall, State } from "../state.ts";
import { endTurn, lifecycleDecisions, returnedDrafts } from "./lifecycle.ts";
import { triggerDecisions } from "./trigger.ts";
import { grantDraft, inputDraft, workDecisions } from "./work.ts";

export const turnDecisions: Decisions<TurnCommand["do"]> = {
  begin: (state, { inputs, tools, model }) => {
    const refusal = forbidden(state, "begin", "begin a turn");
    if (refusal !== null) return refusal;
    const stop = overBudget(state, { turns: 1 });
    if (stop !== null) return accept(...stop);
    const bound = tools === undefined ? [] : [toolsDraft(tools)];
    const turn = state.standing.lastTurn + 1;
    const named = model === undefined ? [] : [draft("session.migrated", { to: model })];
    return accept(...named, ...bound, draft("turn.started", { inputs: pairs(inputs) }, undefined, { turn }));
  },
  offer: (state, { tools }) =>
    mayGo(state, "offer tools") ?? accept({ ...toolsDraft(tools), ...inTurn(state) }),
  request: (state, command) => {
    const { model, compactTo: toSeq, nowMs, settings, prompt, inputs, reserved, ...body } = command;
    const refusal =
      toSeq === undefined ? mayAsk(state) : forbidden(state, "compact", "be compacted by a model");
    if (refusal !== null) return refusal;
    if (state.standing.reserved !== null)
      return refuse("conflict", "a model call is in flight", "it must be settled first");
    const { turn, limits } = state.standing;
    const attempt = toSeq === undefined ? (turn?.attempts ?? 0) + 1 : 1;
    if (limits.nanoUsd !== undefined && reserved.nanoUsd === undefined)
      return accept(...unpriced(state, model));
    const step = toSeq === undefined && attempt === 1 ? { steps: 1 } : {};
    const stop = overBudget(state, { ...reserved, ...step, ...wall(state, nowMs) });
    if (stop !== null) return accept(...stop);
    const { do: _, renderer, context, parts, estimatedTokens, outputTokensMax } = body;
    const purpose = toSeq === undefined ? {} : { purpose: "compaction" as const, toSeq };
    return accept(
      draft(
        "model.requested",
        {
          ...purpose,
          ...present({
            model,
            renderer,
            context,
            parts,
            estimatedTokens,
            outputTokensMax,
            attempt,
            reserved,
          }),
          inputs: pairs(inputs),
        },
        present({ settings, prompt }),
        inTurn(state),
      ),
    );
  },
  respond: (state, { model, finish, usage, costNanoUsd, blocks, calls, sent, ms, zone }) => {
    const refusal = forbidden(state, "settle", "take a model's answer") ?? inFlight(state);
    if (refusal !== null) return refusal;
    const body = present({ model, finish, usage: { ...usage }, costNanoUsd, sent, ms });
    const more = { ...inTurn(state), ...causedBy(state.standing.reserved?.seq) };
    const responded = draft("model.responded", body, { blocks: [...blocks] }, more);
    const called = callDrafts(state, calls, model);
    const asked = called.flatMap(({ type, body: one }, place) =>
      type === "tool.requested" && (one as { ask?: boolean }).ask === true ? [state.seq + 2 + place] : [],
    );
    const suspended = asked.length === 0 || state.standing.status === "suspended" ? [] : [approval(asked)];
    return accept(responded, ...called, ...zoneDrafts(state, zone), ...suspended);
  },
  fail,
  answer,
  start: (state, { calls, nowMs, denied = [], approved = [] }) => {
    const refusal = mayGo(state, "run a tool");
    if (refusal !== null) return refusal;
    const unknown = denied.find(({ call }) => !state.mind.calls.has(call));
    if (unknown !== undefined) return refuse("refused", `call ${unknown.call} is not open`);
    const deniedDrafts = denied.flatMap((one) => heldBackDrafts(state, one));
    const open = calls.map((call) => [call, state.mind.calls.get(call)] as const);
    const wrong = open.find(
      ([, one]) => one === undefined || one.phase === "asked" || one.effect === "session",
    );
    if (wrong !== undefined) return refuse("refused", `call ${wrong[0]} is not one that can be started`);
    const first = open.filter(([, one]) => one?.attempts === 0).length;
    const after = { ...state, seq: state.seq + deniedDrafts.length };
    const stop = overBudget(after, { toolCalls: first, ...wall(state, nowMs) });
    if (stop !== null) return accept(...deniedDrafts, ...stop);
    return accept(
      ...deniedDrafts,
      ...approved.map(({ call, reason }) =>
        draft("tool.approved", { call }, because(reason), {
          ...inTurn(state),
          ...causedBy(state.mind.calls.get(call)?.seq),
        }),
      ),
      ...open.map(([call, one]) =>
        draft("tool.started", { call, attempt: (one?.attempts ?? 0) + 1 }, undefined, {
          ...inTurn(state),
          ...causedBy(one?.seq),
        }),
      ),
    );
  },
  settle: (state, command, facts) => {
    const call = state.mind.calls.get(command.call);
    if (command.late === true && call === undefined) return late(state, command, facts);
    const refusal = forbidden(state, "settle", "take a tool's result");
    if (refusal !== null) return refusal;
    if (call === undefined) return refuse("refused", `call ${command.call} is not open`);
    if (command.status === "ok" && call.effect !== "session" && call.phase !== "started")
      return refuse("refused", `call ${command.call} was never started`, "start it before it runs");
    const done = command.act === undefined ? null : act(state, command.act, facts);
    if (done !== null && !done.ok) {
      const { message, hint } = done.refusal;
      const output = hint === undefined ? message : `${message}; ${hint}`;
      return accept(settled(state, command.call, call, { status: "error", output }));
    }
    const { model } = state.standing;
    const by = model === null ? {} : { model };
    const caused = (done?.drafts ?? []).map((one) => ({
      ...one,
      body: { ...(one.body as object), ...by },
      ...inTurn(state),
      cause: call.seq,
      actor: `tool:${call.tool}`,
    }));
    const asked = command.ask === true && state.standing.status === "running" ? [unknownDraft(call)] : [];
    const changed = changedDrafts(command.changed ?? [], facts.digest, {
      ...inTurn(state),
      cause: call.seq,
      actor: `tool:${call.tool}`,
    });
    return accept(...caused, ...changed, settled(state, command.call, call, command), ...asked);
  },
  note: (state, { changed, cause }, { digest }) =>
    forbidden(state, "write", "note what changed") ??
    accept(...changedDrafts(changed, digest, { ...inTurn(state), ...causedBy(cause) })),
  end: (state, { outcome, returned }, { digest }) => {
    const refusal = forbidden(state, "settle", "end a turn");
    if (refusal !== null) return refusal;
    if (state.standing.turn === null) return refuse("refused", "there is no turn to end");
    if (state.mind.calls.size > 0 && outcome === "completed")
      return refuse("refused", `${state.mind.calls.size} calls have no outcome yet`, "settle them first");
    const ended = endTurn(state, digest, outcome);
    if (!isDone(state, outcome)) return accept(...ended, ...wakeAtOnce(state));
    const closed = draft("session.closed", { outcome: outcome === "completed" ? "completed" : "failed" });
    return accept(...ended, closed, ...returnedDrafts(returned));
  },
  compact: (state, command, facts) => {
    const refusal = forbidden(state, "compact", "be compacted");
    return refusal ?? compact(state, command, facts);
  },
};

const toolsDraft = ({ digest, definitions }: CommandOf<"offer">["tools"]): DraftEvent =>
  draft("tools.bound", { digest, count: definitions.length }, { definitions });

const pairs = (taken: readonly (readonly [number, number])[]): [number, number][] =>
  taken.map(([seq, input]) => [seq, input]);

export const inTurn = ({ standing }: State): { turn?: number } =>
  standing.turn === null ? {} : { turn: standing.turn.number };

export const causedBy = (seq: number | undefined): { cause?: number } =>
  seq === undefined ? {} : { cause: seq };

/** Time at work that is not counted yet; to go on takes a moment at least. */
const wall = (state: State, nowMs: number): Amounts =>
  state.standing.turn === null ? {} : { wallMs: Math.max(1, workMs(state, nowMs)) };

function mayGo(state: State, verb: string): Decision | null {
  const refusal = forbidden(state, "go", verb);
  if (refusal !== null) return refusal;
  const { turn } = state.standing;
  if (turn === null) return refuse("refused", "there is no turn in progress", "begin one first");
  return turn.interrupted ? refuse("refused", "the turn is interrupted", "end it") : null;
}

function mayAsk(state: State): Decision | null {
  const refusal = mayGo(state, "ask a model");
  if (refusal !== null || state.mind.calls.size === 0) return refusal;
  return refuse("refused", `${state.mind.calls.size} calls have no outcome yet`, "settle them first");
}

const inFlight = (state: State): Decision | null =>
  state.standing.reserved === null ? refuse("refused", "no model call is in flight") : null;

/** The records that suspend a session because of a limit; null when there is room. */
function overBudget(state: State, wanted: Amounts): readonly DraftEvent[] | null {
  const short = budgetShort(state, wanted);
  if (short === null) return null;
  const { resource, limit: most, used } = short;
  return [
    draft("budget.reached", { resource, limit: most, used }, undefined, inTurn(state)),
    draft(
      "session.suspended",
      { by: "budget", on: [state.seq + 1] },
      because(budgetReason(resource, most, used)),
      inTurn(state),
    ),
  ];
}

const unpriced = (state: State, model: string): readonly DraftEvent[] => [
  draft(
    "session.suspended",
    { by: "budget" },
    because(`the price of ${model} is not known, so that the budget for money cannot be kept`),
    inTurn(state),
  ),
];

const approval = (on: readonly number[]): DraftEvent =>
  draft(
    "session.suspended",
    { by: "approval", on: on.slice(0, 100) },
    because(on.length === 1 ? "a tool call waits for approval" : `${on.length} tool calls wait for approval`),
  );

const unknownDraft = ({ seq, tool }: OpenCall): DraftEvent =>
  draft(
    "session.suspended",
    { by: "unknown", on: [seq] },
    because(`whether the call of ${tool} at ${seq} took effect is not known`),
  );

function zoneDrafts(state: State, zone: Zoned | undefined): readonly DraftEvent[] {
  if (zone === undefined || zone.zone === state.standing.zone) return [];
  const { by = [], turns, ageMs, ...body } = zone;
  const cause = by.length === 0 ? {} : present({ by: [...by], turns, ageMs });
  return [draft("zone.crossed", { ...body, ...cause }, undefined, inTurn(state))];
}

/**
 * A call that a rule forbids by now is settled without running. One that a dead runner had started may have
 * had its effect already, unless it only reads.
 */
function heldBackDrafts(state: State, { call, reason }: HeldBack): readonly DraftEvent[] {
  const open = state.mind.calls.get(call);
  const after = { ...inTurn(state), ...causedBy(open?.seq) };
  const status = open?.phase === "started" && open.effect === "idempotent" ? "unknown" : "skipped";
  return [
    draft("tool.denied", { call }, because(reason), after),
    draft("tool.settled", { call, status }, { output: reason }, after),
  ];
}

/** What the calls of an answer begin with; the answer itself stands right before them. */
function callDrafts(state: State, calls: readonly Called[], model: string): readonly DraftEvent[] {
  const drafts: DraftEvent[] = [];
  const more = { ...inTurn(state), cause: state.seq + 1 };
  for (const { call, tool, effect, input, verdict, reason, command } of calls) {
    const requestSeq = state.seq + 2 + drafts.length;
    const after = { ...inTurn(state), cause: requestSeq };
    const ask = verdict === "ask" ? { ask: true } : {};
    const content = { input, ...(command === undefined ? {} : { command: { ...command } }) };
    drafts.push(draft("tool.requested", { call, tool, effect, ...ask, model }, content, more));
    if (verdict === "deny") drafts.push(draft("tool.denied", { call }, because(reason), after));
    if (verdict === "deny" || verdict === "error") {
      const status = verdict === "deny" ? "skipped" : "error";
      drafts.push(draft("tool.settled", { call, status }, { output: reason ?? "" }, after));
    }
  }
  return drafts;
}

/**
 * Whether a session that was opened to be done once is done with the end of this turn: it is not one that a
 * person broke off, and it waits for nothing.
 */
function isDone({ standing }: State, outcome: string): boolean {
  const { closesWhenDone, status, sleep, inbox, requests, triggers } = standing;
  if (!closesWhenDone || outcome === "interrupted" || status !== "running") return false;
  if (sleep !== null || inbox.waiting.length > 0 || requests.size > 0) return false;
  return [...triggers.values()].every(
    ({ kind, lastCause, nextMs }) =>
      (kind === "session" && lastCause !== null) || (kind === "at" && nextMs === null),
  );
}

/** One who went to sleep in this turn, while something came in that would have woken it. */
function wakeAtOnce({ standing }: State): readonly DraftEvent[] {
  const { status, sleep, inbox } = standing;
  if (status !== "running" || sleep === null || inbox.waiting.length === 0) return [];
  if (sleep.triggers.length === 0) return [draft("session.woken", { by: "message" })];
  // What it waits for has fired already, and the input that tells of it was not taken up.
  const trigger = sleep.triggers.find((name) =>
    includes(inbox.waiting, standing.triggers.get(name)?.input ?? 0),
  );
  if (trigger === undefined) return [];
  const by = standing.triggers.get(trigger)?.kind === "message" ? "message" : "trigger";
  return [draft("session.woken", { by, trigger })];
}

export function settled(
  state: State,
  call: string,
  open: OpenCall,
  result: Pick<CommandOf<"settle">, "status" | "output" | "blocks" | "detail" | "ms">,
): DraftEvent {
  const { status, output, blocks, detail, ms } = result;
  const empty = output === undefined && blocks === undefined && detail === undefined;
  const content = empty
    ? undefined
    : { output: output ?? "", ...present({ blocks: blocks && [...blocks], detail }) };
  return draft("tool.settled", present({ call, status, ms }), content, {
    ...inTurn(state),
    cause: open.seq,
    actor: `tool:${open.tool}`,
  });
}

/** What came of a call after it was settled: evidence, never applied by itself. */
function late(
  state: State,
  { call, status, output, changed = [] }: CommandOf<"settle">,
  { digest }: Parameters<Decide<"settle">>[2],
): Decision {
  const content = output === undefined ? undefined : { output };
  return (
    forbidden(state, "write", "keep a late result") ??
    accept(
      ...changedDrafts(changed, digest, {}),
      draft("tool.settled", { call, status, late: true }, content),
    )
  );
}

type Act = NonNullable<CommandOf<"settle">["act"]>;

/** What a session tool does, decided as if a person had asked for it. */
function act(state: State, command: Act, facts: Parameters<Decide<"record">>[2]): Decision {
  switch (command.do) {
    case "record":
      return workDecisions.record(state, command, facts);
    case "retract":
      return workDecisions.retract(state, command, facts);
    case "scratch":
      return workDecisions.scratch(state, command, facts);
    case "sleep":
      return lifecycleDecisions.sleep(state, command, facts);
    case "allot":
      return allot(state, command, facts);
  }
}

/** The record of what is given says who the other is, also where nothing is. */
function allot(
  state: State,
  { to, amounts, wait }: Extract<Act, { do: "allot" }>,
  facts: Parameters<Decide<"record">>[2],
): Decision {
  const given = draft("budget.allotted", { session: to, direction: "given", amounts });
  if (wait === undefined) return accept(given);
  const over = toldOf(state);
  const left = over.reduce((kept, name) => kept.delete(name), state.standing.triggers);
  const cleared = { ...state, standing: { ...state.standing, triggers: left } };
  const set = triggerDecisions.trigger(cleared, { do: "trigger", ...wait }, facts);
  // Whatever else comes in wakes it too: the other may have a question.
  const slept = lifecycleDecisions.sleep(state, { do: "sleep" }, facts);
  if (!set.ok) return set;
  if (!slept.ok) return slept;
  const removed = over.map((name) => draft("trigger.removed", { name }));
  return accept(given, ...removed, ...set.drafts, ...slept.drafts);
}

/** Triggers for the ends of sessions that this one opened, and that it was told of: of no more use. */
export const toldOf = ({ standing: { triggers, inbox } }: State): readonly string[] =>
  [...triggers.entries()].flatMap(([name, { kind, input }]) =>
    kind === "session" && name.startsWith(childPrefix) && input > 0 && !includes(inbox.waiting, input)
      ? [name]
      : [],
  );

/** What the names of triggers begin with that are for the ends of sessions that this one opened. */
export const childPrefix = "child-";

/**
 * A call came to nothing. What it cost is counted whatever became of the session meanwhile: also when its
 * turn was ended over the runner's head, and the call was given up as lost.
 */
function fail(state: State, command: CommandOf<"fail">): Decision {
  const refusal = forbidden(state, "describe", "take a model's failure");
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

function answer(state: State, command: CommandOf<"answer">): Decision {
  const { allow, calls, reason, input, grant = [] } = command;
  const asked = [...state.mind.calls.entries()].filter(([, { phase }]) => phase === "asked");
  const chosen = calls === undefined ? asked : asked.filter(([call]) => calls.includes(call));
  const missing = calls?.find((call) => !asked.some(([one]) => one === call));
  if (missing !== undefined) return refuse("not-found", `call ${missing} does not wait for an answer`);
  const { status, why } = state.standing;
  const waits = status === "suspended" && (why?.by === "unknown" || why?.by === "error");
  if (chosen.length === 0 && !waits)
    return refuse("refused", "nothing waits for an answer", "to tell it something, give it an input");
  const answered = chosen.flatMap(([call, open]) => {
    const after = { ...inTurn(state), cause: open.seq };
    if (allow) return [draft("tool.approved", { call }, because(reason), after)];
    const output = reason === undefined ? "denied" : `denied: ${reason}`;
    const skipped = draft("tool.settled", { call, status: "skipped" }, { output }, after);
    return [draft("tool.denied", { call }, because(reason), after), skipped];
  });
  const told = input === undefined ? [] : [inputDraft(input, state.standing.inbox.received + 1)];
  const over = status === "suspended" && (why?.by === "approval" || waits) && chosen.length === asked.length;
  const granted = grant.map((one) => grantDraft(one));
  return accept(...answered, ...granted, ...told, ...(over ? [draft("session.activated", {})] : []));
}

function compact(
  state: State,
  command: CommandOf<"compact">,
  facts: Parameters<Decide<"record">>[2],
): Decision {
  const { fromSeq, toSeq, strategy, model, usage, costNanoUsd, tokensBefore, tokensAfter } = command;
  const { summary, pruned, items = [], zone } = command;
  if (fromSeq < 1 || fromSeq > toSeq || toSeq > state.mind.toSeq)
    return refuse("invalid", `there is no transcript from ${fromSeq} to ${toSeq} to compact`);
  const open = [...state.mind.calls.values()].find(({ seq }) => seq <= toSeq);
  if (open !== undefined)
    return refuse("refused", `the call of ${open.tool} at ${open.seq} has no outcome yet`, "compact less");
  const recorded: DraftEvent[] = [];
  for (const item of items) {
    const decision = workDecisions.record(state, item, facts);
    if (!decision.ok) return decision;
    recorded.push(...decision.drafts);
  }
  const body = present({ fromSeq, toSeq, strategy, model, usage: usage && { ...usage }, costNanoUsd });
  const found: [number, number][] =
    recorded.length === 0 ? [] : [[state.seq + 1, state.seq + recorded.length]];
  const counts = { tokensBefore, tokensAfter, ...(found.length === 0 ? {} : { items: found }) };
  const content =
    summary === undefined && pruned === undefined
      ? undefined
      : present({ summary, pruned: pruned && [...pruned] });
  const more = { ...inTurn(state), ...causedBy(state.standing.reserved?.seq) };
  return accept(
    ...recorded,
    draft("transcript.compacted", { ...body, ...counts }, content, more),
    ...zoneDrafts(state, zone),
  );
}
