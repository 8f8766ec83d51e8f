/**
 * What an event did, in a line of plain words. Of what others said it holds a part, made visible; an erased
 * content is named as what it is.
 */
import type { BodyOf, ContentOf, EventType } from "../../core/catalog.ts";
import { zoneReasons } from "../../protocol/library.ts";
import { count, money, plural, tokens } from "./amount.ts";
import { brief, visible } from "./visible.ts";

type Words = {
  readonly [T in EventType]: (body: BodyOf<T>, content: ContentOf<T> | undefined) => string;
};

/** The ending of an id, by which it can be named. */
export const ending = (id: string): string => visible(id.slice(-6));

const quoted = (text: string): string => `“${brief(text, 160)}”`;
const named = (name: string): string => brief(name, 80);

/** A value on one line. */
function valueWords(value: unknown): string {
  if (typeof value === "string") return quoted(value);
  return brief(JSON.stringify(value) ?? "nothing", 160);
}

/** What comes after a colon; nothing when it is not there. */
const after = (text: string | undefined): string =>
  text === undefined || text === "" ? "" : `: ${brief(text, 160)}`;

const because = (content: { readonly reason?: string } | undefined): string => after(content?.reason);

interface Block {
  readonly type: string;
  readonly text?: unknown;
  readonly tool?: unknown;
  readonly name?: unknown;
}

/** The first that says something; the others are counted. */
function blocksWords(content: { readonly blocks?: readonly unknown[] | undefined } | undefined): string {
  const blocks = (content?.blocks ?? []) as readonly Block[];
  if (blocks.length === 0) return "";
  const text = blocks.find(({ type, text: said }) => type === "text" && typeof said === "string");
  const calls = blocks.filter(({ type }) => type === "tool-call").map(({ tool }) => named(String(tool)));
  const kept = blocks.filter(({ type }) => type === "image" || type === "file").length;
  const pieces = [
    ...(text === undefined ? [] : [quoted(String(text.text))]),
    ...(calls.length === 0 ? [] : [`calls ${brief(calls.join(", "), 120)}`]),
    ...(kept === 0 ? [] : [`with ${plural(kept, "attachment")}`]),
  ];
  return pieces.length === 0 ? "" : `: ${pieces.join(", ")}`;
}

interface Amounts {
  readonly tokens?: number | undefined;
  readonly nanoUsd?: number | undefined;
  readonly steps?: number | undefined;
  readonly turns?: number | undefined;
  readonly toolCalls?: number | undefined;
  readonly wallMs?: number | undefined;
}

type Amount = keyof Amounts;
const amountWords: Readonly<Record<Amount, (value: number) => string>> = {
  tokens: (value) => `${count(value)} tokens`,
  nanoUsd: money,
  steps: (value) => plural(value, "step"),
  turns: (value) => plural(value, "turn"),
  toolCalls: (value) => plural(value, "tool call"),
  wallMs: (value) => `${count(Math.round(value / 1_000))} s`,
};
const amounts = Object.keys(amountWords) as readonly Amount[];

function amountsWords(given: Amounts): string {
  const said = amounts.flatMap((name) => {
    const value = given[name];
    return value === undefined ? [] : [amountWords[name](value)];
  });
  return said.length === 0 ? "nothing" : said.join(", ");
}

const cost = (nanoUsd: number | null | undefined): string =>
  nanoUsd === null || nanoUsd === undefined || nanoUsd === 0 ? "" : `, ${money(nanoUsd)}`;

const place = (origin: { readonly session: string; readonly seq: number }): string =>
  `${ending(origin.session)}@${origin.seq}`;

/** Dates are given as the log has them: in UTC, the same for everybody. */
const utc = (ms: number): string => new Date(ms).toISOString().replace(/\.\d{3}Z$/, "Z");

const sessionWords = {
  "session.opened": (_, content) => `Opened${after(content?.objective)}`,
  "session.renamed": (_, content) => `Renamed${after(content?.name)}`,
  "session.labeled": ({ set = {}, remove = [] }) => {
    const pairs = Object.entries(set).map(([key, value]) => `${key}=${value}`);
    return `Labels: ${brief([...pairs, ...remove.map((key) => `without ${key}`)].join(", ") || "none", 160)}`;
  },
  "session.prioritized": ({ priority }) => `Priority is ${priority}`,
  "session.activated": (_, content) => `Activated${because(content)}`,
  "session.suspended": ({ by }, content) => `Suspended by ${by}${because(content)}`,
  "session.slept": ({ untilMs }, content) =>
    `Went to sleep${untilMs === undefined ? "" : ` until ${utc(untilMs)}`}${because(content)}`,
  "session.woken": ({ by, trigger }, content) =>
    `Woken by ${trigger === undefined ? by : `${by} ${named(trigger)}`}${because(content)}`,
  "session.interrupted": (_, content) => `Interrupted${because(content)}`,
  "session.closed": ({ outcome }, content) => `Closed as ${outcome}${because(content)}`,
  "session.reopened": (_, content) => `Reopened${because(content)}`,
  "session.archived": (_, content) => `Archived${because(content)}`,
  "session.forked": ({ parent, parentSeq }, content) =>
    `Forked from ${ending(parent)}@${parentSeq}${after(content?.objective ?? content?.name)}`,
  "session.rewound": ({ toSeq, requeued }, content) =>
    `Rewound to ${count(toSeq)}${requeued ? ", inputs queued again" : ""}${because(content)}`,
  "session.merged": ({ from, fromSeq, toSeq, taken, resolved }) =>
    `Merged ${ending(from)}@${fromSeq}–${toSeq}: ${plural(taken, "item")} taken` +
    (resolved === 0 ? "" : `, ${plural(resolved, "conflict")} resolved`),
  "session.migrated": ({ from, to }) => `Goes on with ${to}${from === undefined ? "" : `, before ${from}`}`,
  "session.moved": (_, content) => `Moved elsewhere${after(content?.to)}`,
  "session.arrived": (_, content) => `Arrived here${after(content?.from)}`,
  "lease.taken": ({ holder }) => `Lease taken by ${named(holder)}`,
  "lease.released": ({ epoch }) => `Lease of epoch ${count(epoch)} released`,
} satisfies Partial<Words>;

const beginningWords = {
  "agent.pinned": ({ agent, version }) => `Works as ${agent}@${version}`,
  "document.loaded": ({ kind, bytes }, content) =>
    `Loaded ${{ "agents-md": "AGENTS.md", file: "a file", handoff: "a handoff" }[kind]}` +
    ` of ${count(bytes)} bytes${after(content?.path)}`,
  "memory.carried": ({ count: entries }) => `Carried ${plural(entries, "entry", "entries")} of memory`,
  "resource.bound": ({ name, kind, mode }, content) =>
    `Bound ${kind} ${named(name)}${kind === "shell" ? "" : ` to ${mode}`}` +
    after(content?.path ?? content?.url),
  "resource.unbound": ({ name }) => `Unbound ${named(name)}`,
  "resource.changed": ({ name }, content) => `${named(name)} has changed${blocksWords(content)}`,
  "tools.bound": ({ count: bound, tools }) =>
    `Tools bound: ${tools === undefined ? count(bound ?? 0) : brief(tools.join(", ") || "none", 160)}`,
  "permission.set": ({ name, tool, rule }) =>
    rule === "none" ? `Rule ${named(name)} taken away` : `Calls of ${tool}: ${rule} (rule ${named(name)})`,
  "contract.declared": ({ topic }) => `Contract declared for messages on ${named(topic)}`,
} satisfies Partial<Words>;

const turnWords = {
  "turn.started": ({ inputs }) => `Turn started with ${plural(inputs.length, "input")}`,
  "turn.ended": ({ outcome, steps }) => `Turn ended: ${outcome} after ${plural(steps, "step")}`,
  "input.received": ({ from, mode }, content) =>
    (mode === "steer" ? "Steering input" : "Input") +
    `${from === undefined || from === "user" ? "" : ` from the ${from}`}${blocksWords(content)}`,
  "model.requested": ({ model, purpose, parts, estimatedTokens, attempt }) =>
    `Asked ${model}${purpose === "compaction" ? " for a summary" : ""} with ${plural(parts, "part")}` +
    (estimatedTokens === undefined ? "" : `, about ${tokens(estimatedTokens)} tokens`) +
    (attempt > 1 ? `, attempt ${attempt}` : ""),
  "model.responded": ({ finish, usage, costNanoUsd }, content) =>
    `Model responded${finish === "stop" || finish === "tool-calls" ? "" : ` (${finish})`}` +
    `${blocksWords(content)} · ${tokens(usage.inputTokens)} in, ${tokens(usage.outputTokens)} out` +
    cost(costNanoUsd),
  "model.failed": ({ error, retryable }, content) =>
    `Model failed, ${named(error)}${retryable ? ", to be tried again" : ""}${after(content?.message)}`,
  "zone.crossed": (body) => {
    const { zone, tokens: used, windowTokens } = body;
    const why = zoneReasons(body).map((reason) => `; ${reason}`);
    return (
      `The context is ${zone === "smart" ? "OK" : zone}: ` +
      `${tokens(used)} of ${tokens(windowTokens)} tokens${why.join("")}`
    );
  },
  "tool.requested": ({ tool, ask }, content) =>
    `Call of ${named(tool)}${ask === true ? " waits for an answer" : ""}` +
    (content === undefined ? "" : ` with ${valueWords(content.input)}`),
  "tool.approved": ({ call }, content) => `Call ${named(call)} allowed${because(content)}`,
  "tool.denied": ({ call }, content) => `Call ${named(call)} denied${because(content)}`,
  "tool.started": ({ call, attempt }) =>
    `Call ${named(call)} started${attempt > 1 ? `, attempt ${attempt}` : ""}`,
  "tool.settled": ({ call, status, ms }, content) =>
    `Call ${named(call)} settled: ${status}${ms === undefined ? "" : ` after ${count(ms)} ms`}` +
    (content === undefined ? "" : `, ${valueWords(content.output)}`),
} satisfies Partial<Words>;

const durableWords = {
  "item.recorded": ({ kind, key, status, origin }, content) =>
    `Recorded ${kind} ${named(key)}${status === undefined ? "" : ` (${status})`}` +
    (content === undefined ? "" : ` = ${valueWords(content.value)}`) +
    (content?.because === undefined ? "" : `, because ${brief(content.because, 120)}`) +
    (origin === undefined ? "" : `, from ${place(origin)}`),
  "item.retracted": ({ kind, key }, content) => `Retracted ${kind} ${named(key)}${after(content?.because)}`,
  "scratch.set": ({ key, removed }, content) =>
    removed === true
      ? `Scratch ${named(key)} removed`
      : `Scratch ${named(key)} set${content === undefined ? "" : ` to ${valueWords(content.value)}`}`,
  "transcript.compacted": ({ fromSeq, toSeq, strategy, tokensBefore, tokensAfter }) =>
    `Compacted ${count(fromSeq)}–${count(toSeq)} (${strategy}): ` +
    `${tokens(tokensBefore)} to ${tokens(tokensAfter)} tokens`,
  "checkpoint.saved": ({ name, seq }, content) =>
    `Checkpoint ${named(name)} saved at ${count(seq)}${after(content?.note)}`,
  "handoff.written": (_, content) => `Handoff written${after(content?.text)}`,
  "message.sent": ({ to, topic }, content) =>
    `Message to ${ending(to)}${topic === undefined ? "" : ` on ${named(topic)}`}${blocksWords(content)}`,
  "message.delivered": ({ to, number }) => `Message ${number} to ${ending(to)} has arrived`,
  "message.received": ({ from, topic }, content) =>
    `Message from ${ending(from)}${topic === undefined ? "" : ` on ${named(topic)}`}${blocksWords(content)}`,
  "message.refused": ({ to, error }, content) =>
    `Message to ${ending(to)} refused, ${named(error)}${because(content)}`,
  "trigger.set": ({ name, kind, nextMs }) =>
    `Trigger ${named(name)} set: ${kind}${nextMs === undefined ? "" : `, next ${utc(nextMs)}`}`,
  "trigger.removed": ({ name }) => `Trigger ${named(name)} removed`,
  "trigger.fired": ({ name, opened }) =>
    `Trigger ${named(name)} fired${opened === undefined ? "" : `, opened ${ending(opened)}`}`,
  "trigger.skipped": ({ name, count: times }) => `Trigger ${named(name)} skipped ${plural(times, "time")}`,
} satisfies Partial<Words>;

const governanceWords = {
  "budget.set": ({ limits }, content) => `Budget set: ${amountsWords(limits)}${because(content)}`,
  "budget.allotted": ({ session, direction, amounts: given }) => {
    const to = direction === "given" || direction === "returned" ? "to" : "from";
    return `Budget ${direction} ${to} ${ending(session)}: ${amountsWords(given)}`;
  },
  "budget.reached": ({ resource, limit, used }) =>
    `Budget reached: ${amountWords[resource](used)} of ${amountWords[resource](limit)}`,
  "content.erased": ({ records, bytes }, content) =>
    `Erased the contents of ${plural(records, "record")}, ${count(bytes)} bytes${because(content)}`,
  "hold.set": ({ name }, content) => `Hold ${named(name)} set${because(content)}`,
  "hold.lifted": ({ name }, content) => `Hold ${named(name)} lifted${because(content)}`,
  "score.recorded": ({ name, value, seq }, content) =>
    `Scored ${value} for ${named(name)}${seq === undefined ? "" : ` at ${seq}`}${after(content?.because)}`,
  "agent.defined": ({ agent, version }) => `Agent ${agent}@${version} defined`,
  "memory.promoted": ({ scope, kind, key }, content) =>
    `Remembered ${kind} ${named(key)} for the ${scope}` +
    (content === undefined ? "" : ` = ${valueWords(content.value)}`),
  "memory.forgotten": ({ scope, kind, key }, content) =>
    `Forgot ${kind} ${named(key)} of the ${scope}${because(content)}`,
  "approval.saved": ({ name, tool }, content) =>
    `Always allowed ${tool}${content === undefined ? "" : `: ${content.command.text}`} (${name})`,
  "approval.revoked": ({ name }) => `Approval ${named(name)} revoked`,
  "policy.set": ({ name, removed }) => `Policy ${named(name)} ${removed === true ? "removed" : "set"}`,
  "session.deleted": ({ session, headSeq }, content) =>
    `Deleted ${ending(session)} with ${plural(headSeq, "record")}${because(content)}`,
  "token.issued": ({ scopes }, content) => `Token issued for ${scopes.join(", ")}${after(content?.name)}`,
  "token.revoked": ({ id }, content) => `Token ${ending(id)} revoked${because(content)}`,
  "hook.set": ({ name }, content) => `Hook ${named(name)} set${after(content?.url)}`,
  "hook.removed": ({ name }, content) => `Hook ${named(name)} removed${because(content)}`,
  "hook.delivered": ({ name, count: told }) => `Hook ${named(name)} told of ${plural(told, "event")}`,
  "hook.abandoned": ({ name, log, seq }) => `Hook ${named(name)} was not told of ${ending(log)}@${seq}`,
  "heads.listed": ({ count: heads, full }) =>
    `Listed ${full === true ? "all heads" : "changed heads"}: ${plural(heads, "log")}`,
  "heads.accepted": ({ count: logs }, content) =>
    `Accepted ${plural(logs, "log")} that do not match their listed heads${because(content)}`,
} satisfies Partial<Words>;

const words: Words = {
  ...sessionWords,
  ...beginningWords,
  ...turnWords,
  ...durableWords,
  ...governanceWords,
};

/** What the words are made of; every event of a log has it. */
export interface Told {
  readonly type: string;
  readonly body: unknown;
  readonly content: unknown;
  readonly erased: boolean;
}

type AnyWords = (body: unknown, content: unknown) => string;
const made = new WeakMap<Told, string>();

/** One line. Records of other programs, or of a newer Skein, are named by their type. */
export function wordsOfEvent(event: Told): string {
  const known = made.get(event);
  if (known !== undefined) return known;
  const say = Object.hasOwn(words, event.type)
    ? (words[event.type as EventType] as unknown as AnyWords)
    : undefined;
  let line: string;
  try {
    line = say?.(event.body, event.content) ?? foreignWords(event);
  } catch {
    // A body of another version may lack what is said of it here.
    line = foreignWords(event);
  }
  line = visible(event.erased ? `${line} (content erased)` : line);
  made.set(event, line);
  return line;
}

const foreignWords = ({ type, body }: Told): string => `${brief(type, 80)} ${valueWords(body)}`;

/** Who brought it about, short: ids by their ending. */
export function actorWords(actor: string): string {
  const [kind = ""] = actor.split(":");
  const name = actor.slice(kind.length + 1);
  if (kind === "user" || kind === "session") return `${kind} ${ending(name)}`;
  return kind === "agent" || kind === "tool" ? `${kind} ${brief(name, 60)}` : brief(actor, 60);
}

/** Types of events of a session, by family, in the order of the catalogue. */
export const eventFamilies = {
  Session: (
    "opened renamed labeled prioritized activated suspended slept woken interrupted closed reopened " +
    "archived forked rewound merged migrated moved arrived"
  )
    .split(" ")
    .map((word) => `session.${word}`),
  Lease: ["lease.taken", "lease.released"],
  Beginning: Object.keys(beginningWords),
  Turn: [
    "turn.started",
    "turn.ended",
    "input.received",
    "model.requested",
    "model.responded",
    "model.failed",
    "zone.crossed",
  ],
  Tool: ["tool.requested", "tool.approved", "tool.denied", "tool.started", "tool.settled"],
  "Items and scratch": ["item.recorded", "item.retracted", "scratch.set"],
  Context: ["transcript.compacted", "checkpoint.saved", "handoff.written"],
  Message: ["message.sent", "message.delivered", "message.received", "message.refused"],
  Trigger: ["trigger.set", "trigger.removed", "trigger.fired", "trigger.skipped"],
  Governance: [
    "budget.set",
    "budget.allotted",
    "budget.reached",
    "content.erased",
    "hold.set",
    "hold.lifted",
    "score.recorded",
  ],
} satisfies Readonly<Record<string, readonly string[]>>;

export type EventFamily = keyof typeof eventFamilies;

/** What an event is to whoever looks for trouble. */
export function toneOfEvent({ type, body }: Pick<Told, "type" | "body">): "bad" | "warn" | null {
  const { status, outcome, by } = (body ?? {}) as Readonly<Record<string, unknown>>;
  if (type === "model.failed" || type === "message.refused") return "bad";
  if (type === "tool.settled") return status === "error" || status === "unknown" ? "bad" : null;
  if (type === "turn.ended" || type === "session.closed") return outcome === "failed" ? "bad" : null;
  if (type === "session.suspended") return by === "error" || by === "unknown" ? "bad" : "warn";
  return ["tool.denied", "budget.reached", "session.interrupted"].includes(type) ? "warn" : null;
}
