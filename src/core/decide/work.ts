/** Decisions on what a session knows and may use: items, scratch, input, bindings, permissions, budgets. */
import { isForeign } from "../catalog.ts";
import type { AppendRecord, Binding, Permission } from "../command.ts";
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
import { itemKey } from "../fold/durable.ts";
import { limit } from "../limit.ts";
import type { State } from "../state.ts";

type Names = "record" | "retract" | "scratch" | "bind" | "unbind" | "grant" | "budget" | "append";

export const workDecisions: Decisions<Names> = {
  record: (state, { kind, key, value, because: why, status }) => {
    const { items } = state.mind;
    if (!items.has(itemKey(kind, key)) && items.size >= limit.itemsMax) {
      return refuse(
        "refused",
        `the durable tier holds at most ${limit.itemsMax} items`,
        "retract what no longer holds",
      );
    }
    if (value === undefined)
      return refuse("invalid", `${kind} "${key}" has no value`, "give one, or retract the item");
    if (status !== undefined && kind !== "task")
      return refuse("invalid", `a ${kind} has no status; only a task has`);
    const body = { kind, key, ...(kind === "task" ? { status: status ?? "open" } : {}) };
    const content = present({ value, because: why });
    return (
      forbidden(state, "write", `record a ${kind}`) ??
      accept(inTurn(state.standing, "item.recorded", body, content))
    );
  },
  retract: (state, { kind, key, because: why }) => {
    if (!state.mind.items.has(itemKey(kind, key)))
      return refuse("not-found", `there is no ${kind} "${key}" to retract`);
    const content = why === undefined ? undefined : { because: why };
    return (
      forbidden(state, "write", `retract a ${kind}`) ??
      accept(inTurn(state.standing, "item.retracted", { kind, key }, content))
    );
  },
  scratch: (state, { key, value }) => {
    const { scratch } = state.mind;
    if (value === undefined && !scratch.has(key))
      return refuse("not-found", `there is no scratch key "${key}"`);
    if (value !== undefined && !scratch.has(key) && scratch.size >= limit.scratchMax) {
      return refuse("refused", `the scratch holds at most ${limit.scratchMax} keys`, "remove some first");
    }
    const body = value === undefined ? { key, removed: true } : { key };
    const content = value === undefined ? undefined : { value };
    return (
      forbidden(state, "write", "change its scratch") ??
      accept(inTurn(state.standing, "scratch.set", body, content))
    );
  },
  bind: (state, { do: _, ...binding }) => {
    const { bindings } = state.standing;
    const wrong = sandboxComplaint(binding);
    if (wrong !== null) return refuse("invalid", wrong);
    const name = bindingName(binding);
    const before = bindings.get(name)?.kind ?? binding.kind;
    if (before !== binding.kind) {
      const hint = "give this one a name of its own, or unbind that one first";
      return refuse("conflict", `"${name}" is the name of a ${before} that is bound`, hint);
    }
    if (!bindings.has(name) && bindings.size >= limit.bindingsMax) {
      return refuse("refused", `a session holds at most ${limit.bindingsMax} bindings`, "unbind some first");
    }
    return forbidden(state, "write", "be bound to a resource") ?? accept(boundDraft(binding));
  },
  unbind: (state, { name }) => {
    if (!state.standing.bindings.has(name)) return refuse("not-found", `there is no binding "${name}"`);
    return forbidden(state, "write", "be unbound") ?? accept(draft("resource.unbound", { name }));
  },
  grant: (state, { do: _, ...permission }) => {
    const { permissions } = state.standing;
    const name = permission.name ?? permission.tool;
    if (permission.rule === "none" && !permissions.has(name))
      return refuse("not-found", `there is no permission "${name}"`);
    if (!permissions.has(name) && permissions.size >= limit.permissionsMax) {
      return refuse(
        "refused",
        `a session holds at most ${limit.permissionsMax} permissions`,
        "take some away first",
      );
    }
    return forbidden(state, "write", "be granted anything") ?? accept(grantDraft(permission));
  },
  budget: (state, { limits, reason }) => {
    // Somebody who gives a session more wants it to go on.
    const { status, why } = state.standing;
    const goesOn = status === "suspended" && why?.by === "budget" ? [draft("session.activated", {})] : [];
    return (
      forbidden(state, "write", "be given a budget") ??
      accept(draft("budget.set", { limits: amountsOf(limits) }, because(reason)), ...goesOn)
    );
  },
  append: (state, { records, sent }, { digest }) => {
    const refusal = forbidden(state, "write", "take input");
    if (refusal !== null) return refusal;
    if (records.length === 0) return refuse("invalid", "nothing to append", "give at least one record");
    if (records.length > limit.appendRecordsMax) {
      return refuse(
        "invalid",
        `${records.length} records; one append takes at most ${limit.appendRecordsMax}`,
      );
    }
    const wrong = records.find((record) => record.type !== "input.received" && !isForeign(record.type));
    if (wrong !== undefined) return refusedType(wrong.type);
    const { session, inbox } = state.standing;
    let input = inbox.received;
    // What a person says is meant to be heard, also by one who sleeps.
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

function refusedType(type: string): Decision {
  return refuse(
    "invalid",
    `"${type}" cannot be appended from outside`,
    'only "input.received" and foreign types "x.name"',
  );
}

const isFromUser = ({ from }: { readonly from?: unknown }): boolean => from === undefined || from === "user";

type InputRecord = Extract<AppendRecord, { readonly type: "input.received" }>;

export function inputDraft(record: InputRecord, input: number): DraftEvent {
  const blocks = "blocks" in record ? [...record.blocks] : [{ type: "text" as const, text: record.text }];
  const mode = "mode" in record ? record.mode : undefined;
  const from = record.from === undefined || record.from === "user" ? undefined : { from: record.from };
  const topic = present({ topic: topicOf(record) });
  return draft("input.received", { input, ...from, ...(mode && { mode }), ...topic }, { blocks });
}

const topicOf = (record: InputRecord): string | undefined => ("topic" in record ? record.topic : undefined);

interface Addressed {
  /** The session that sent it; null: a person. */
  readonly from: string | null;
  readonly topic?: string | undefined;
}

/** The triggers that a message fires. */
export const triggersFor = ({ standing }: State, { from, topic }: Addressed): readonly string[] =>
  [...standing.triggers.entries()].flatMap(([name, trigger]) => {
    const fits =
      trigger.kind === "message" &&
      (trigger.topic === null || trigger.topic === topic) &&
      (trigger.from === null || trigger.from === from);
    return fits ? [name] : [];
  });

function foreignDraft({ type, body = {}, content }: Exclude<AppendRecord, InputRecord>): DraftEvent {
  return content === undefined ? { type, body } : { type, body, content };
}

/** What a turn in progress brings about carries the turn's number. */
function inTurn(
  standing: { readonly turn: { readonly number: number } | null },
  ...[type, body, content]: Parameters<typeof draft<"item.recorded" | "item.retracted" | "scratch.set">>
): DraftEvent {
  return draft(type, body, content, standing.turn === null ? {} : { turn: standing.turn.number });
}

/** Names stand in bodies, which are never erased: what may be a secret in an address does not become one. */
function bindingName({ name, path, url, kind, sandbox }: Binding): string {
  const place = url?.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/]*@/i, "$1").replace(/[?#].*$/s, "");
  if (kind === "shell") return name ?? (sandbox === true ? "sandbox" : kind);
  return name ?? path ?? place ?? kind;
}

/** What is wrong with how a binding asks for a sandbox; null when nothing is. */
export function sandboxComplaint({ kind, sandbox, network }: Binding): string | null {
  if (sandbox !== undefined && typeof sandbox !== "boolean") return "bind: sandbox: expected true or false";
  if (network !== undefined && typeof network !== "boolean") return "bind: network: expected true or false";
  if (sandbox === true && kind !== "shell") return `bind: sandbox: expected a shell, got a ${kind}`;
  if (network === true && sandbox !== true) return "bind: network: expected a sandboxed shell";
  return null;
}

export function boundDraft(binding: Binding): DraftEvent {
  const { kind, mode = "read", path, url, command, secrets, options, sandbox, network } = binding;
  const content = present({
    path,
    url,
    command: command && [...command],
    secrets: secrets && [...secrets],
    options,
    ...(sandbox === true && { sandbox, ...(network === true && { network }) }),
  });
  return draft("resource.bound", { name: bindingName(binding), kind, mode }, content);
}

export function grantDraft({ tool, rule, effect, name = tool, pattern, reason }: Permission): DraftEvent {
  const content = pattern === undefined && reason === undefined ? undefined : present({ pattern, reason });
  return draft("permission.set", present({ name, tool, rule, effect }), content);
}
