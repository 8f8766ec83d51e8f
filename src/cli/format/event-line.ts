/** An event in one line, and in full, for people. */
import { storedTrigger } from "../../core/trigger/trigger.ts";
import { zoneReasons } from "../../core/context/zone.ts";
import type { SessionEvent } from "../../runtime/read/event-reader.ts";
import { bindingText } from "./binding-word.ts";
import { exact } from "./moment.ts";
import type { Screen } from "../command/screen.ts";
import { cut, manyLines, oneLine, plural } from "./text.ts";
import { ending } from "./title.ts";
import { specText } from "./trigger-word.ts";

/** No line of people's text needs more of an event than this, however wide the place it goes to. */
const summaryCharsMax = 10_000;

export function eventLine(event: SessionEvent, out: Screen): string {
  const seq = String(event.seq).padStart(6);
  const type = event.type.padEnd(20);
  const time = exact(event.at);
  const room = out.columns === null ? Infinity : out.columns - seq.length - type.length - time.length - 6;
  const text = cut(oneLine(summary(event).slice(0, summaryCharsMax)), room > 20 ? room : 20);
  const shown = [seq, out.dim(time), paintType(out, event.type)(type), event.erased ? out.dim(text) : text];
  return shown.join("  ").trimEnd();
}

/** Everything that was said, line by line, under the event's line. */
export function eventInFull(event: SessionEvent, out: Screen): string[] {
  const indent = " ".repeat(8);
  const header = `actor ${event.actor}${event.turn === null ? "" : `, turn ${event.turn}`}`;
  const text = event.content === undefined ? "" : said(event.content);
  const body = JSON.stringify(event.body);
  return [
    indent + out.dim(oneLine(header)),
    ...(body === "{}" ? [] : [indent + out.dim(oneLine(body))]),
    ...(text === "" ? [] : manyLines(text).map((line) => indent + line)),
  ];
}

function paintType(out: Screen, type: string): (text: string) => string {
  if (/^(input|message)\./.test(type)) return out.green;
  if (/^(item|scratch|checkpoint)\./.test(type)) return out.yellow;
  return out.bold;
}

type Fields = Readonly<Record<string, unknown>>;

function summary(event: SessionEvent): string {
  const body = event.body as Fields;
  const content = (event.content ?? {}) as Fields;
  const told = (summaries[event.type] ?? otherwise)(body, content);
  return event.erased ? `(erased) ${told}` : told;
}

/** What matters of each event; for the others, whatever words they hold. */
const summaries: Readonly<Record<string, (body: Fields, content: Fields) => string>> = {
  "session.opened": (_, { objective }) => plain(objective),
  "session.renamed": (_, { name }) => plain(name),
  "session.forked": ({ parent, parentSeq }, { objective }) =>
    joined(`from ${ending(plain(parent))} at ${plain(parentSeq)}`, plain(objective)),
  "session.merged": ({ from, fromSeq, toSeq, taken, resolved }) =>
    joined(
      `from ${ending(plain(from))} ${plain(fromSeq)} to ${plain(toSeq)}`,
      `${plain(taken)} taken, ${plain(resolved)} resolved`,
    ),
  "session.rewound": ({ toSeq }, { reason }) => joined(`to ${plain(toSeq)}`, plain(reason)),
  "session.closed": ({ outcome }, { reason }) => joined(plain(outcome), plain(reason)),
  "session.suspended": ({ by }, { reason }) => joined(`by ${plain(by)}`, plain(reason)),
  "session.labeled": ({ set, remove }) =>
    [
      ...Object.entries((set ?? {}) as Fields).map(([key, value]) => `${key}=${plain(value)}`),
      ...((remove ?? []) as readonly string[]).map((key) => `-${key}`),
    ].join(" "),
  "session.prioritized": ({ priority }) => plain(priority),
  "input.received": (_, { blocks }) => spoken(blocks),
  "message.sent": ({ to }, { blocks }) => joined(`to ${ending(plain(to))}`, spoken(blocks)),
  "message.delivered": ({ to, message }) => joined(`to ${ending(plain(to))}`, plain(message)),
  "message.refused": ({ to, error }, { reason }) =>
    joined(`to ${ending(plain(to))}, ${plain(error)}`, plain(reason)),
  "contract.declared": ({ topic }) => plain(topic),
  "message.received": ({ from }, { blocks }) => joined(`from ${ending(plain(from))}`, spoken(blocks)),
  "model.responded": (_, { blocks }) => spoken(blocks),
  "item.recorded": ({ kind, key, status }, { value, because }) =>
    joined(
      `${plain(kind)} ${plain(key)}${status === undefined ? "" : ` (${plain(status)})`} = ${plain(value)}`,
      because === undefined ? "" : `because ${plain(because)}`,
    ),
  "item.retracted": ({ kind, key }, { because }) => joined(`${plain(kind)} ${plain(key)}`, plain(because)),
  "score.recorded": ({ name, value, seq }, { because }) =>
    joined(`${plain(name)} = ${plain(value)}${seq === undefined ? "" : ` at ${plain(seq)}`}`, plain(because)),
  "scratch.set": ({ key, removed }, { value }) =>
    removed === true ? `${plain(key)} removed` : `${plain(key)} = ${plain(value)}`,
  "checkpoint.saved": ({ name, seq }, { note }) => joined(`${plain(name)} = ${plain(seq)}`, plain(note)),
  "content.erased": ({ ranges, records }, { reason }) =>
    joined(
      `${plural(Number(records), "content")} at ${((ranges ?? []) as readonly (readonly number[])[])
        .map(([from, to]) => (from === to ? `${from}` : `${from}..${to}`))
        .join(", ")}`,
      plain(reason),
    ),
  "hold.set": ({ name }, { reason }) => joined(plain(name), plain(reason)),
  "hold.lifted": ({ name }, { reason }) => joined(plain(name), plain(reason)),
  "budget.set": ({ limits }) =>
    Object.entries((limits ?? {}) as Fields)
      .map(([name, most]) => (name === "nanoUsd" ? `usd=${Number(most) / 1e9}` : `${name}=${plain(most)}`))
      .join(" ") || "unlimited",
  "resource.bound": ({ name, kind, mode }) =>
    bindingText({ name: plain(name), kind: plain(kind), mode: plain(mode) }),
  "resource.unbound": ({ name }) => plain(name),
  "resource.changed": ({ name }, { detail }) => joined(plain(name), changedPaths(detail)),
  "permission.set": ({ name, tool, rule, effect }, { reason }) => {
    const only = effect === undefined ? "" : ` of effect ${plain(effect)}`;
    const called = name === tool ? "" : ` (${plain(name)})`;
    return joined(`${plain(rule)} ${plain(tool)}${only}${called}`, plain(reason));
  },
  "lease.taken": ({ holder }) => `by ${plain(holder)}`,
  "lease.released": ({ epoch }) => `that of ${plain(epoch)}`,
  "session.migrated": ({ from, to }) => (from === undefined ? plain(to) : `${plain(from)} to ${plain(to)}`),
  "session.slept": ({ untilMs }, { reason }) =>
    joined(typeof untilMs === "number" ? `until ${exact(untilMs)}` : "", plain(reason)),
  "session.woken": ({ by, trigger }) => `by ${plain(by)}${trigger === undefined ? "" : ` ${plain(trigger)}`}`,
  "trigger.set": ({ name, kind }, { spec }) => {
    const known = storedTrigger(spec);
    return joined(`${plain(name)} (${plain(kind)})`, known === null ? "" : specText(known));
  },
  "trigger.removed": ({ name }) => plain(name),
  "trigger.fired": ({ name, dueMs, count, opened }) =>
    joined(
      `${plain(name)}${typeof dueMs === "number" ? ` for ${exact(dueMs)}` : ""}`,
      [
        ...(count === undefined ? [] : [`${plain(count)} together`]),
        ...(opened === undefined ? [] : [`opened ${ending(plain(opened))}`]),
      ].join(", "),
    ),
  "trigger.skipped": ({ name, count }) => joined(plain(name), `${plain(count)} passed over`),
  "agent.pinned": ({ agent, version }) => `${plain(agent)}@${plain(version)}`,
  "agent.defined": ({ agent, version }) => `${plain(agent)}@${plain(version)}`,
  "document.loaded": ({ kind, bytes }, { path }) =>
    joined(`${plain(kind)} ${plain(path)}`, `${plain(bytes)} bytes`),
  "memory.carried": ({ count, tokens }, { items }) =>
    joined(
      `${plain(count)} remembered${tokens === undefined ? "" : `, about ${plain(tokens)} tokens`}`,
      ((items ?? []) as readonly Fields[]).map(({ key }) => plain(key)).join(", "),
    ),
  "memory.promoted": ({ scope, owner, kind, key }, { value, because }) =>
    joined(
      `${ownedBy(scope, owner)}: ${plain(kind)} ${plain(key)} = ${plain(value)}`,
      because === undefined ? "" : `because ${plain(because)}`,
    ),
  "memory.forgotten": ({ scope, owner, kind, key }, { reason }) =>
    joined(`${ownedBy(scope, owner)}: ${plain(kind)} ${plain(key)}`, plain(reason)),
  "tools.bound": ({ count }, { definitions }) =>
    joined(`${plain(count)} tools`, ((definitions ?? []) as readonly Fields[]).map(nameOf).join(", ")),
  "turn.started": ({ inputs }) => `takes up ${(inputs as readonly unknown[]).length}`,
  "turn.ended": ({ outcome, steps }) => `${plain(outcome)} after ${plain(steps)} steps`,
  "model.requested": ({ model, parts, purpose, attempt, estimatedTokens }) =>
    joined(
      `${plain(model)}: ${plain(parts)} parts`,
      estimatedTokens === undefined ? "" : `about ${plain(estimatedTokens)} tokens`,
      purpose === "compaction" ? "for a compaction" : "",
      Number(attempt) > 1 ? `attempt ${plain(attempt)}` : "",
    ),
  "model.failed": ({ model, error, partialChars }, { message }) => {
    const kept = typeof partialChars === "number" ? `, ${partialChars} characters kept` : "";
    return joined(`${plain(model)}: ${plain(error)}${kept}`, plain(message));
  },
  "zone.crossed": (body) => {
    const { zone, tokens, windowTokens } = body;
    const why = zoneReasons(body).map((reason) => `; ${reason}`);
    return `${plain(zone)}: ${plain(tokens)} of ${plain(windowTokens)} tokens${why.join("")}`;
  },
  "transcript.compacted": ({ fromSeq, toSeq, strategy, tokensBefore, tokensAfter }) =>
    joined(
      `${plain(fromSeq)} to ${plain(toSeq)} (${plain(strategy)})`,
      `${plain(tokensBefore)} to ${plain(tokensAfter)} tokens`,
    ),
  "handoff.written": ({ toSeq, tokens, model }) =>
    joined(`up to ${plain(toSeq)}, ${plain(tokens)} tokens`, model === undefined ? "" : `by ${plain(model)}`),
  "budget.reached": ({ resource, limit, used }) => `${plain(resource)}: ${plain(used)} of ${plain(limit)}`,
  "tool.approved": ({ call }, { reason }) => joined(plain(call), plain(reason)),
  "tool.denied": ({ call }, { reason }) => joined(plain(call), plain(reason)),
  "tool.started": ({ call, attempt }) => joined(plain(call), Number(attempt) > 1 ? "again" : ""),
  "tool.requested": ({ tool }, { input }) => `${plain(tool)} ${plain(input)}`,
  "tool.settled": ({ status }, { output }) => joined(plain(status), plain(output)),
};

const ownedBy = (scope: unknown, owner: unknown): string =>
  owner === undefined ? plain(scope) : `${plain(scope)} ${plain(owner)}`;

const otherwise = (body: Fields, content: Fields): string =>
  [body, content]
    .filter((part) => Object.keys(part).length > 0)
    .map(plain)
    .join(" ");

/** Blocks as one text; what is no text is named. */
const spoken = (blocks: unknown): string =>
  ((blocks ?? []) as readonly Fields[])
    .map(({ type, text, tool }) =>
      plain(text ?? (tool === undefined ? `[${plain(type)}]` : `→ ${plain(tool)}`)),
    )
    .join(" ");

const nameOf = ({ name }: Fields): string => plain(name);

const joined = (...parts: readonly string[]): string => parts.filter((part) => part !== "").join("; ");

/** A value as people write it: text without quotes, anything else as JSON, nothing as nothing. */
export function plain(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function said(content: unknown): string {
  const { blocks = [] } = content as { readonly blocks?: readonly { readonly text?: unknown }[] };
  const texts = blocks.map(({ text }) => text).filter((text) => typeof text === "string");
  const whole = texts.length > 0 && texts.length === blocks.length;
  return whole ? texts.join("\n") : JSON.stringify(content, null, 2);
}

/** The paths of changed files, with a sign each; of many the first. */
function changedPaths(detail: unknown): string {
  const { files, unkept } = (detail ?? {}) as { readonly files?: unknown; readonly unkept?: unknown };
  const list = Array.isArray(files) ? (files as Fields[]) : [];
  const paths = list.slice(0, 20).map(({ path, before, after }) => {
    const sign = before === null ? "+" : after === null ? "-" : "~";
    return `${sign}${plain(path)}`;
  });
  const more = list.length > paths.length ? [`and ${list.length - paths.length} more`] : [];
  return [...paths, ...more, ...(unkept === undefined ? [] : [plain(unkept)])].join(" ");
}
