/** Decisions on tools: resource bindings, permissions, tool calls. */
import { branchDecisions } from "../branch/decide.ts";
import { sessionDecisions } from "../session/decide.ts";
import { itemDecisions } from "../item/decide.ts";
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
import { limit } from "../limit.ts";
import type { OpenCall, State } from "../state.ts";
import type { HeldBack, ToolCommand } from "./commands.ts";
import { bindingName, boundDraft, grantDraft, sandboxComplaint, settled, toolsDraft } from "./drafts.ts";
import { changedDrafts } from "./file-version.ts";
import { triggerDecisions } from "../trigger/decide.ts";
import { reportedEnds } from "../trigger/drafts.ts";
import { causedBy, inTurn, inputDraft, mayGo, overBudget, wall } from "../turn/drafts.ts";

export const toolDecisions: Decisions<ToolCommand["do"]> = {
  bind: (state, { do: _, ...binding }) => {
    const { bindings } = state.standing;
    const wrong = sandboxComplaint(binding);
    if (wrong !== null) return refuse("invalid", wrong);
    const name = bindingName(binding);
    const before = bindings.get(name)?.kind ?? binding.kind;
    if (before !== binding.kind) {
      const hint = "choose another name, or unbind the existing one first";
      return refuse("conflict", `bind: name: "${name}" is already bound to a ${before}`, hint);
    }
    if (!bindings.has(name) && bindings.size >= limit.bindingsMax) {
      return refuse("refused", `a session holds at most ${limit.bindingsMax} bindings`, "unbind some first");
    }
    return forbidden(state, "write", "be bound to a resource") ?? accept(boundDraft(binding));
  },
  unbind: (state, { name }) => {
    if (!state.standing.bindings.has(name))
      return refuse("not-found", `there is no binding "${name}"`, '"skein state ID" lists the bindings');
    return forbidden(state, "write", "be unbound") ?? accept(draft("resource.unbound", { name }));
  },
  grant: (state, { do: _, ...permission }) => {
    const { permissions } = state.standing;
    const name = permission.name ?? permission.tool;
    if (permission.rule === "none" && !permissions.has(name))
      return refuse("not-found", `there is no permission "${name}"`, '"skein state ID" lists the rules');
    if (!permissions.has(name) && permissions.size >= limit.permissionsMax) {
      return refuse(
        "refused",
        `a session holds at most ${limit.permissionsMax} permissions`,
        "revoke one first",
      );
    }
    return forbidden(state, "write", "have its permissions changed") ?? accept(grantDraft(permission));
  },
  offer: (state, { tools }) =>
    mayGo(state, "offer tools") ?? accept({ ...toolsDraft(tools), ...inTurn(state) }),
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
    if (wrong !== undefined) return refuse("refused", `call ${wrong[0]} cannot be started`);
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
    const isExternal = call.deadlineMs !== undefined;
    const wrong = command.outside === true ? notForOutside(command.call, call) : null;
    if (wrong !== null) return wrong;
    if (command.status === "ok" && call.effect !== "session" && call.phase !== "started" && !isExternal)
      return refuse("refused", `call ${command.call} was not started`, "start the call before you settle it");
    const done = command.act === undefined ? null : act(state, command.act, facts);
    if (done !== null && !done.ok) {
      const { message, hint } = done.refusal;
      const output = hint === undefined ? message : `${message}; ${hint}`;
      return accept(settled(state, command.call, call, { status: "error", output }));
    }
    const { model } = state.standing;
    // The others say nothing of the model's own.
    const isSaid = !["save", "trigger", "untrigger", "merge"].includes(command.act?.do ?? "");
    const by = model === null || !isSaid ? {} : { model };
    const caused = (done?.drafts ?? []).map((one) => ({
      ...one,
      body: { ...(one.body as object), ...by },
      ...inTurn(state),
      // What a merge brings is caused by the merge.
      cause: command.act?.do === "merge" ? (one.cause ?? call.seq) : call.seq,
      actor: `tool:${call.tool}`,
    }));
    const isOver = isWaiting(state) && state.mind.calls.size === 1;
    const isHalted = command.ask === true && (state.standing.status === "running" || isOver);
    const asked = isHalted ? [unknownDraft(call)] : isOver ? [draft("session.activated", {})] : [];
    const changed = changedDrafts(command.changed ?? [], facts.digest, {
      ...inTurn(state),
      cause: call.seq,
      actor: `tool:${call.tool}`,
    });
    return accept(...caused, ...changed, settled(state, command.call, call, command), ...asked);
  },
  note: (state, { changed, cause }, { digest }) =>
    forbidden(state, "write", "record a changed resource") ??
    accept(...changedDrafts(changed, digest, { ...inTurn(state), ...causedBy(cause) })),
};

function answer(state: State, command: CommandOf<"answer">): Decision {
  const { allow, calls, reason, input, grant = [] } = command;
  const asked = [...state.mind.calls.entries()].filter(([, { phase }]) => phase === "asked");
  const chosen = calls === undefined ? asked : asked.filter(([call]) => calls.includes(call));
  const missing = calls?.find((call) => !asked.some(([one]) => one === call));
  if (missing !== undefined) return refuse("not-found", `call ${missing} does not wait for approval`);
  const { status, why } = state.standing;
  const waits = status === "suspended" && (why?.by === "unknown" || why?.by === "error");
  if (chosen.length === 0 && !waits)
    return refuse("refused", "no call waits for approval", "to send a message, use input");
  const answered = chosen.flatMap(([call, open]) => {
    const after = { ...inTurn(state), cause: open.seq };
    if (allow) return [draft("tool.approved", { call }, because(reason), after)];
    const output = reason === undefined ? "denied" : `denied: ${reason}`;
    const skipped = draft("tool.settled", { call, status: "skipped" }, { output }, after);
    return [draft("tool.denied", { call }, because(reason), after), skipped];
  });
  const message = input === undefined ? [] : [inputDraft(input, state.standing.inbox.received + 1)];
  const over = status === "suspended" && (why?.by === "approval" || waits) && chosen.length === asked.length;
  const granted = grant.map((one) => grantDraft(one));
  return accept(...answered, ...granted, ...message, ...(over ? [draft("session.activated", {})] : []));
}

/** The session is suspended until its external calls have an outcome. */
const isWaiting = ({ standing: { status, why } }: State): boolean =>
  status === "suspended" && why?.by === "tool";

/** Only external calls take a result from outside, and not before they are approved. */
function notForOutside(call: string, { deadlineMs, phase, tool }: OpenCall): Decision | null {
  if (deadlineMs === undefined)
    return refuse("refused", `call ${call} of ${tool} is not external`, "the engine runs it and settles it");
  if (phase !== "asked") return null;
  const hint = "allow or deny it first: session.answer";
  return refuse("refused", `call ${call} of ${tool} waits for approval`, hint);
}

const unknownDraft = ({ seq, tool }: OpenCall): DraftEvent =>
  draft(
    "session.suspended",
    { by: "unknown", on: [seq] },
    because(`whether the call of ${tool} at ${seq} took effect is not known`),
  );

/**
 * A call that a rule now forbids is settled without running. If a dead runner had started it, it may already
 * have had its effect, unless it only reads.
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

/** A result that arrives after its call was settled: evidence, never applied automatically. */
function late(
  state: State,
  { call, status, output, outside, changed = [] }: CommandOf<"settle">,
  { digest }: Parameters<Decide<"settle">>[2],
): Decision {
  const content = output === undefined ? undefined : { output };
  return (
    forbidden(state, "write", "record a late result") ??
    accept(
      ...changedDrafts(changed, digest, {}),
      draft(
        "tool.settled",
        { call, status, late: true, ...(outside === true && { untrusted: true }) },
        content,
      ),
    )
  );
}

type Act = NonNullable<CommandOf<"settle">["act"]>;

/** The action of a session tool, decided as if a person had requested it. */
function act(state: State, command: Act, facts: Parameters<Decide<"record">>[2]): Decision {
  switch (command.do) {
    case "record":
      return itemDecisions.record(state, command, facts);
    case "retract":
      return itemDecisions.retract(state, command, facts);
    case "scratch":
      return itemDecisions.scratch(state, command, facts);
    case "sleep":
      return sessionDecisions.sleep(state, command, facts);
    case "save":
      return branchDecisions.save(state, command, facts);
    case "merge":
      return branchDecisions.merge(state, command, facts);
    case "trigger":
      return triggerDecisions.trigger(state, command, facts);
    case "untrigger":
      return triggerDecisions.untrigger(state, command, facts);
    case "allot":
      return allot(state, command, facts);
  }
}

/** The allotment record names the other session, even if the amount is empty. */
function allot(
  state: State,
  { to, amounts, wait }: Extract<Act, { do: "allot" }>,
  facts: Parameters<Decide<"record">>[2],
): Decision {
  const given = draft("budget.allotted", { session: to, direction: "given", amounts });
  if (wait === undefined) return accept(given);
  const over = reportedEnds(state);
  const left = over.reduce((kept, name) => kept.delete(name), state.standing.triggers);
  const cleared = { ...state, standing: { ...state.standing, triggers: left } };
  const set = triggerDecisions.trigger(cleared, { do: "trigger", ...wait }, facts);
  // Any other input wakes it too: the other session may have a question.
  const slept = sessionDecisions.sleep(state, { do: "sleep" }, facts);
  if (!set.ok) return set;
  if (!slept.ok) return slept;
  const removed = over.map((name) => draft("trigger.removed", { name }));
  return accept(given, ...removed, ...set.drafts, ...slept.drafts);
}
