/** Decisions on triggers. */
import { type Decision, type Decisions, accept, draft, forbidden, refuse } from "../decision.ts";
import { present } from "../present.ts";
import { unreviewed } from "../govern/review.ts";
import { limit } from "../limit.ts";
import { includes } from "../range.ts";
import type { State, TriggerRef } from "../state.ts";
import type { TriggerCommand } from "./commands.ts";
import { reloadedDraft, triggerDraft } from "./drafts.ts";
import { inputDraft } from "../turn/drafts.ts";

export const triggerDecisions: Decisions<TriggerCommand["do"]> = {
  trigger: (state, { do: _, ...setting }) => {
    const { triggers } = state.standing;
    if (!triggers.has(setting.name) && triggers.size >= limit.triggersMax)
      return refuse("refused", `a session has at most ${limit.triggersMax} triggers`, "remove some first");
    return forbidden(state, "write", "have a trigger set") ?? accept(triggerDraft(setting));
  },
  untrigger: (state, { name }) => {
    if (!state.standing.triggers.has(name))
      return refuse(
        "not-found",
        `there is no trigger "${name}"`,
        '"skein trigger list ID" lists the triggers',
      );
    return forbidden(state, "write", "have a trigger removed") ?? accept(draft("trigger.removed", { name }));
  },
  fire: (state, command) => {
    const { name, setSeq, digest, was, dueMs, nextMs, count, last, detail, text } = command;
    const { react, documents = [], note } = command;
    const trigger = current(state, name, setSeq);
    if ("ok" in trigger) return trigger;
    const isStale =
      dueMs === undefined ? was !== undefined && was !== trigger.lastCause : trigger.nextMs !== dueMs;
    if (isStale) return refuse("conflict", `trigger "${name}" has already fired for this cause`);
    const refusal =
      forbidden(state, "write", "be woken by a trigger") ?? unreviewed(state, "triggers do not fire");
    if (refusal !== null) return refusal;
    const { inbox, status, sleep } = state.standing;
    // A session that has not yet consumed the last firing gets no second input, unless every time counts. A
    // unique occurrence always gets one.
    const isLikeTheLast = was !== undefined || dueMs !== undefined;
    const isQuiet = react === "mark" || react === "reload";
    const isTold =
      isQuiet || (isLikeTheLast && trigger.missed !== "all" && includes(inbox.waiting, trigger.input));
    const input = isTold ? undefined : inbox.received + 1;
    const wakes =
      !isQuiet &&
      status === "sleeping" &&
      (sleep === null || sleep.triggers.length === 0 || sleep.triggers.includes(name));
    // Fired manually, it still fires at its time.
    const next = dueMs === undefined ? (trigger.nextMs ?? undefined) : nextMs;
    const body = present({ name, digest, dueMs, nextMs: next, count, input, react });
    const content = { detail: detail ?? null, ...present({ note: react === "mark" ? undefined : note }) };
    return accept(
      draft("trigger.fired", body, detail === undefined && note === undefined ? undefined : content),
      ...(react === "mark" ? [] : documents.map(reloadedDraft)),
      ...(last === true ? [draft("trigger.removed", { name })] : []),
      ...(wakes ? [draft("session.woken", { by: "trigger", trigger: name })] : []),
      ...(input === undefined ? [] : [inputDraft({ type: "input.received", from: "trigger", text }, input)]),
    );
  },
  reload: (state, { documents, fresh }, { digest }) =>
    forbidden(state, "write", "reload documents") ??
    accept(
      ...documents.map(reloadedDraft),
      ...fresh.map((name) => {
        const { lastCause = null, nextMs = null } = state.standing.triggers.get(name) ?? {};
        const body = { name, digest: lastCause ?? digest("", name), react: "reload" } as const;
        return draft("trigger.fired", nextMs === null ? body : { ...body, nextMs });
      }),
    ),
  skip: (state, { name, setSeq, dueMs, count, nextMs }) => {
    const trigger = current(state, name, setSeq);
    if ("ok" in trigger) return trigger;
    if (trigger.nextMs !== dueMs) return refuse("conflict", `trigger "${name}" has already passed ${dueMs}`);
    return (
      forbidden(state, "write", "skip a trigger time") ??
      accept(draft("trigger.skipped", present({ name, dueMs, count, nextMs })))
    );
  },
};

function current(state: State, name: string, setSeq: number): TriggerRef | Decision {
  const trigger = state.standing.triggers.get(name);
  if (trigger?.seq === setSeq) return trigger;
  const message = `there is no trigger "${name}" that was set at ${setSeq}`;
  return refuse("not-found", message, "it was set again or removed");
}
