/** Folds of tools: resource bindings, permissions, tool calls. */
import { type Folds, heard, refOf, stand, think } from "../state-change.ts";
import { present } from "../present.ts";
import type { OpenCall, State } from "../state.ts";
import type { toolEvents } from "./events.ts";

export const toolFolds: Folds<keyof typeof toolEvents> = {
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
  "tool.requested": (state, { body, seq }) => {
    const phase = body.ask === true ? "asked" : "requested";
    const { deadlineMs } = body.external ?? {};
    const { tool, effect } = body;
    const call: OpenCall = { seq, tool, effect, phase, attempts: 0, ...present({ deadlineMs }) };
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

function advance(state: State, id: string, phase: OpenCall["phase"], attempts = 0): State {
  const call = state.mind.calls.get(id);
  if (call === undefined) return state;
  return think(state, { calls: state.mind.calls.set(id, { ...call, phase, attempts }) });
}
