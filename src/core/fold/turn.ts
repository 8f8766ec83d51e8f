/** Folds of bootstrap, turns and tool calls. */
import type { bootstrapEvents, toolEvents, turnEvents } from "../catalog/turn.ts";
import type { Folds } from "../fold.ts";
import { openSpend, settledSpend, type CallBody, type CallType, type Spend } from "../budget/money.ts";
import * as range from "../range.ts";
import type { Amounts, Inbox, OpenCall, State, Used } from "../state.ts";
import { heard, refOf, stand, think, worked } from "./session.ts";

type Types = keyof typeof bootstrapEvents | keyof typeof turnEvents | keyof typeof toolEvents;

export const turnFolds: Folds<Types> = {
  "agent.pinned": (state, { body, seq }) =>
    stand(state, { agent: { name: body.agent, version: body.version, seq } }),
  "document.loaded": (state, event) =>
    state.mind.documents.has(event.body.digest)
      ? state
      : think(state, {
          documents: state.mind.documents.set(event.body.digest, { kind: event.body.kind, ...refOf(event) }),
        }),
  "memory.carried": (state, event) => think(state, { memory: [...state.mind.memory, refOf(event)] }),
  "resource.bound": (state, event) => {
    const { name, kind, mode } = event.body;
    return stand(state, { bindings: state.standing.bindings.set(name, { kind, mode, ...refOf(event) }) });
  },
  "resource.unbound": (state, { body }) =>
    stand(state, { bindings: state.standing.bindings.delete(body.name) }),
  "resource.changed": (state) => state,
  "tools.bound": (state, event) =>
    stand(state, { tools: [...state.standing.tools, { digest: event.body.digest, ...refOf(event) }] }),
  "permission.set": (state, event) => {
    const { name, tool, rule, effect } = event.body;
    const { permissions } = state.standing;
    const only = effect === undefined ? {} : { effect };
    return stand(state, {
      permissions:
        rule === "none"
          ? permissions.delete(name)
          : permissions.set(name, { tool, rule, ...only, ...refOf(event) }),
    });
  },
  "contract.declared": (state, event) =>
    stand(state, { contracts: state.standing.contracts.set(event.body.topic, refOf(event)) }),

  "turn.started": (state, { body, seq, at }) => {
    const { used, inbox } = state.standing;
    const lastTurn = state.standing.lastTurn + 1;
    const begun = {
      startedSeq: seq,
      steps: 0,
      attempts: 0,
      answered: null,
      interrupted: false,
    };
    const next = stand(state, {
      status: "running",
      why: null,
      turn: { number: lastTurn, ...begun },
      lastTurn,
      workedTo: at,
      used: { ...used, turns: used.turns + 1 },
      inbox: takeUp(inbox, body.inputs),
    });
    return heard(think(next, { firstTurnSeq: state.mind.firstTurnSeq || seq }), seq);
  },
  "turn.ended": (state, { body, at }) => {
    const { sleep, status } = state.standing;
    const idle = sleep === null ? "open" : "sleeping";
    // A turn may end while the session is suspended or already closed; then that status stands.
    const next = stand(state, {
      turn: null,
      status: status === "running" ? idle : status,
    });
    // Others may end it too, long after a crash: then only what its holder still writes was work.
    const byOthers = body.outcome === "interrupted" || body.outcome === "cancelled";
    return byOthers ? next : stand(worked(next, at), { workedTo: null });
  },
  "input.received": (state, { seq, body }) =>
    stand(state, { inbox: receive(state.standing.inbox, { seq, input: body.input }) }),
  "model.requested": (state, { body, seq }) => {
    const settled = loseOpenCall(state);
    const { turn, inbox, used } = settled.standing;
    const reserved = { seq, model: body.model, amounts: body.reserved };
    if (body.purpose === "compaction") return stand(settled, { reserved });
    const first = body.attempt <= 1 ? 1 : 0;
    const next = stand(settled, {
      used: { ...used, steps: used.steps + first },
      reserved,
      renderer: body.renderer,
      inbox: takeUp(inbox, body.inputs),
      turn:
        turn === null ? null : { ...turn, steps: turn.steps + first, attempts: body.attempt, answered: null },
    });
    return heard(next, seq);
  },
  "model.responded": (state, { body, seq }) => {
    const { turn } = state.standing;
    const next = stand(settleCall(state, "model.responded", body), {
      turn: turn === null ? null : { ...turn, attempts: 0, answered: { finish: body.finish, calls: 0 } },
    });
    return heard(next, seq);
  },
  "model.failed": (state, { body }) => settleCall(state, "model.failed", body),
  "zone.crossed": (state, { body }) => stand(state, { zone: body.zone }),

  "tool.requested": (state, { body, seq }) => {
    const phase = body.ask === true ? "asked" : "requested";
    const call: OpenCall = { seq, tool: body.tool, effect: body.effect, phase, attempts: 0 };
    const { turn } = state.standing;
    const { answered } = turn ?? { answered: null };
    const asked = answered === null ? null : { ...answered, calls: answered.calls + 1 };
    const next = think(state, { calls: state.mind.calls.set(body.call, call) });
    return heard(stand(next, { turn: turn && { ...turn, answered: asked } }), seq);
  },
  "tool.approved": (state, { body }) => advance(state, body.call, "approved"),
  "tool.denied": (state) => state,
  "tool.started": (state, { body }) => {
    const { used } = state.standing;
    const first = body.attempt <= 1 ? 1 : 0;
    const started = advance(state, body.call, "started", body.attempt);
    return stand(started, { used: { ...used, toolCalls: used.toolCalls + first } });
  },
  "tool.settled": (state, { body, seq }) =>
    body.late === true ? state : heard(think(state, { calls: state.mind.calls.delete(body.call) }), seq),
};

/** An input with this number waits from now on. */
export const receive = (
  inbox: Inbox,
  { seq, input }: { readonly seq: number; readonly input: number },
): Inbox => ({
  waiting: range.add(inbox.waiting, [input, input]),
  received: Math.max(inbox.received, input),
  fromSeq: inbox.fromSeq === 0 ? seq : inbox.fromSeq,
});

function takeUp(inbox: Inbox, taken: readonly (readonly [seq: number, input: number])[]): Inbox {
  if (taken.length === 0) return inbox;
  const waiting = taken.reduce<range.Ranges>(
    (left, [, input]) => range.remove(left, [input, input]),
    inbox.waiting,
  );
  return { ...inbox, waiting, fromSeq: waiting.length === 0 ? 0 : inbox.fromSeq };
}

/** A request that nothing settled belongs to a call that crashed: the most it can have cost counts. */
function loseOpenCall(state: State): State {
  const { reserved } = state.standing;
  if (reserved === null) return state;
  return countOthers(count(state, openSpend(reserved.amounts)), reserved.amounts);
}

/** What else a reservation named, besides tokens and money. */
const countOthers = (state: State, { tokens: _, nanoUsd: __, ...others }: Amounts): State =>
  stand(state, { used: plus(state.standing.used, others, 1) });

/** What the record that settles a call adds to money and tokens. Nothing else does. */
export function settleCall(state: State, type: Exclude<CallType, "model.requested">, body: CallBody): State {
  const { reserved } = state.standing;
  const spend = settledSpend(type, body, reserved?.amounts ?? null);
  if (spend === null) return state;
  if (body.released !== undefined) return stand(count(state, spend), { lost: null });
  const { usage, costNanoUsd = null, unconfirmed } = body;
  const isUnknown = type === "model.failed" && costNanoUsd === null;
  const isLost = reserved !== null && isUnknown && (usage === undefined || unconfirmed === undefined);
  const counted = stand(count(state, spend), { reserved: null });
  if (!isLost) return counted;
  const { seq, amounts } = reserved;
  return stand(countOthers(counted, amounts), { lost: { seq, amounts } });
}

function count(state: State, spend: Spend): State {
  const { used, unpriced, calls } = state.standing;
  const { nanoUsd, unpriced: unknown, ...counts } = spend;
  const tokens = counts.inputTokens + counts.outputTokens + counts.unconfirmedTokens;
  return stand(state, {
    used: {
      ...used,
      tokens: used.tokens + tokens,
      nanoUsd: used.nanoUsd + nanoUsd + counts.unconfirmedNanoUsd,
    },
    unpriced: unpriced + unknown,
    calls: {
      calls: calls.calls + counts.calls,
      inputTokens: calls.inputTokens + counts.inputTokens,
      outputTokens: calls.outputTokens + counts.outputTokens,
      estimated: calls.estimated + counts.estimated,
      unconfirmedTokens: calls.unconfirmedTokens + counts.unconfirmedTokens,
      unconfirmedNanoUsd: calls.unconfirmedNanoUsd + counts.unconfirmedNanoUsd,
    },
  });
}

export function plus(used: Used, amounts: Amounts, sign: 1 | -1): Used {
  return {
    tokens: used.tokens + sign * (amounts.tokens ?? 0),
    nanoUsd: used.nanoUsd + sign * (amounts.nanoUsd ?? 0),
    steps: used.steps + sign * (amounts.steps ?? 0),
    turns: used.turns + sign * (amounts.turns ?? 0),
    toolCalls: used.toolCalls + sign * (amounts.toolCalls ?? 0),
    wallMs: used.wallMs + sign * (amounts.wallMs ?? 0),
  };
}

function advance(state: State, id: string, phase: OpenCall["phase"], attempts = 0): State {
  const call = state.mind.calls.get(id);
  if (call === undefined) return state;
  return think(state, { calls: state.mind.calls.set(id, { ...call, phase, attempts }) });
}
