/** Folds of bootstrap, turns and tool calls. */
import type { bootstrapEvents, toolEvents, turnEvents } from "../catalogue/turn.ts";
import type { Folds } from "../fold.ts";
import * as range from "../range.ts";
import type { Amounts, Inbox, OpenCall, Standing, State, Used } from "../state.ts";
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
    const { name, tool, rule } = event.body;
    const { permissions } = state.standing;
    return stand(state, {
      permissions:
        rule === "none" ? permissions.delete(name) : permissions.set(name, { tool, rule, ...refOf(event) }),
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
    const settled = spendReservation(state.standing);
    const { turn, inbox } = state.standing;
    const reserved = { seq, model: body.model, amounts: body.reserved };
    if (body.purpose === "compaction") return stand(state, { used: settled, reserved });
    const first = body.attempt <= 1 ? 1 : 0;
    const next = stand(state, {
      used: { ...settled, steps: settled.steps + first },
      reserved,
      renderer: body.renderer,
      inbox: takeUp(inbox, body.inputs),
      turn:
        turn === null ? null : { ...turn, steps: turn.steps + first, attempts: body.attempt, answered: null },
    });
    return heard(next, seq);
  },
  "model.responded": (state, { body, seq }) => {
    const { used, unpriced, turn } = state.standing;
    const tokens = body.usage.inputTokens + body.usage.outputTokens;
    const next = stand(state, {
      reserved: null,
      turn: turn === null ? null : { ...turn, attempts: 0, answered: { finish: body.finish, calls: 0 } },
      used: { ...used, tokens: used.tokens + tokens, nanoUsd: used.nanoUsd + (body.costNanoUsd ?? 0) },
      unpriced: unpriced + (body.costNanoUsd === null ? 1 : 0),
    });
    return heard(next, seq);
  },
  "model.failed": (state, { body }) => {
    const { used } = state.standing;
    if (body.costNanoUsd === null)
      return stand(state, { reserved: null, used: spendReservation(state.standing) });
    const tokens = (body.usage?.inputTokens ?? 0) + (body.usage?.outputTokens ?? 0);
    const nanoUsd = used.nanoUsd + body.costNanoUsd;
    return stand(state, { reserved: null, used: { ...used, tokens: used.tokens + tokens, nanoUsd } });
  },
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

/** A reservation that was never settled belongs to a call that crashed, and counts as spent. */
function spendReservation({ used, reserved }: Standing): Used {
  return reserved === null ? used : plus(used, reserved.amounts, 1);
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
