/** The state of a session on one screen, for people. */
import type { SessionItem } from "../../runtime/read/projection.ts";
import type { StateView } from "../../runtime/read/state-view.ts";
import { moneyText, spendText } from "../../core/budget/money.ts";
import type { ImportedUsage } from "../../core/state.ts";
import { bindingText } from "./binding-word.ts";
import { roughly } from "../../core/text/utc.ts";
import { ago, exact } from "./moment.ts";
import { tokensText } from "./money.ts";
import type { Screen } from "../command/screen.ts";
import { plain, count, cut, oneLine, plural } from "./text.ts";
import { titleOf } from "./title.ts";

/** Rows of one list to show; the rest is counted. */
const rowsMax = 12;

/** Facts outside the state. */
interface Besides {
  /** It is a copy here. */
  readonly copy: boolean;
  /** Where it was moved, in words. */
  readonly movedTo: string | null;
  /** Why the context is in its zone. */
  readonly zoneReasons: readonly string[];
  /** Where bound files, directories and shells are, by name. */
  readonly paths: ReadonlyMap<string, string>;
}

export function stateLines(
  state: StateView,
  out: Screen,
  nowMs: number,
  { copy = false, movedTo = null, zoneReasons = [], paths = new Map() }: Partial<Besides> = {},
): string[] {
  const width = out.columns ?? Infinity;
  const row = (name: string, text: string): string[] =>
    text === "" ? [] : [`${out.dim(name.padEnd(12))}${cut(text, Math.max(20, width - 12))}`];
  const { why, agent, fork, turn, lease } = state;
  const reason = why === null ? "" : ` by ${why.by}${why.reason === null ? "" : `: ${oneLine(why.reason)}`}`;
  return [
    out.bold(cut(titleOf(state), width)),
    ...row("session", state.session),
    ...row(
      "status",
      copy
        ? `${out.dim("copy")} of a session that lives elsewhere; it was ${state.status}${reason}`
        : `${paintStatus(out, state.status)(state.status)}${reason}`,
    ),
    ...row("successor", state.next ?? ""),
    ...row("moved to", oneLine(movedTo ?? "")),
    ...(state.name === null ? [] : row("objective", oneLine(state.objective ?? ""))),
    ...row(
      "agent",
      agent === null ? "" : `${agent.name}${agent.version === 0 ? "" : ` version ${agent.version}`}`,
    ),
    ...row("model", state.model ?? ""),
    ...row("context", contextText(state, zoneReasons)),
    ...row("at", `${count(state.seq)}, ${exact(state.at)} (${ago(state.at, nowMs)})`),
    ...row("opened", `${exact(state.openedAt)} (${ago(state.openedAt, nowMs)})`),
    ...row("fork of", fork === null ? "" : `${fork.parent} at ${fork.seq}`),
    ...row("labels", pairs(state.labels)),
    ...row("priority", state.priority === 5 ? "" : String(state.priority)),
    ...messageRows(state, nowMs).flatMap(([name, text]) => row(name, text)),
    ...row("turn", turn === null ? "" : `${turn.number}, ${plural(turn.steps, "step")}`),
    ...row("running on", lease === null ? "" : `${oneLine(lease.holder)} (epoch ${lease.epoch})`),
    ...row("cost", state.cost.calls === 0 ? "" : spendText(state.cost)),
    ...row("imported", importedText(state.imported)),
    ...row("budget", budgetText(state)),
    ...row(
      "checkpoints",
      Object.entries(state.checkpoints)
        .map(([name, seq]) => `${oneLine(name)}=${seq}`)
        .join("  "),
    ),
    ...bindingRows(state, paths).flatMap(([name, text]) => row(name, text)),
    ...row("checks", state.checks.map(checkText).join("  ")),
    ...row("rules", state.permissions.map(ruleText).join("  ")),
    ...row("scratch", pairs(state.scratch)),
    ...row(
      "scores",
      pairs(Object.fromEntries(Object.entries(state.scores).map(([name, { value }]) => [name, value]))),
    ),
    ...row("held by", state.holds.map((name) => oneLine(name)).join("  ")),
    ...row("erased", state.erased.records === 0 ? "" : plural(state.erased.records, "content")),
    ...row(
      "read-only",
      state.newer === null ? "" : `${oneLine(state.newer.type)} at ${state.newer.seq} needs a newer Skein`,
    ),
    ...(state.items.length === 0 ? [] : ["", out.bold("Items"), ...itemLines(state.items, out)]),
  ];
}

/** The zone for people, its reason, and what was done about it. */
export function contextText(
  { zone, zoneActions }: Pick<StateView, "zone" | "zoneActions">,
  reasons: readonly string[],
): string {
  if (zone === "smart") return "OK";
  const why = reasons.length === 0 ? "" : `: ${reasons.join(", ")}`;
  // They are telling the person right here.
  const done = zoneActions.filter((action) => action !== "tell-person");
  return `${zone}${why}${done.length === 0 ? "" : `; done: ${done.join(", ")}`}`;
}

/** An erased one may have its path as its name, and is unusable: only its kind is shown. */
function bindingRows({ bindings }: StateView, paths: Besides["paths"]): (readonly [string, string])[] {
  const usable = bindings.filter(({ erased }) => erased !== true);
  const lost = bindings.filter(({ erased }) => erased === true);
  const kinds = lost.map(({ kind }) => kind).join(", ");
  return [
    ["may use", usable.map((one) => bindingText({ ...one, path: paths.get(one.name) })).join("  ")],
    [
      "bind again",
      lost.length === 0 ? "" : `${kinds}: what ${lost.length === 1 ? "it is" : "they are"} was erased`,
    ],
  ];
}

/** Incoming messages that are not done, and outgoing ones. */
function messageRows(state: StateView, nowMs: number): (readonly [string, string])[] {
  const { inbox, outbox, requests, asked, contracts } = state;
  const full = inbox.full ? "; inbox full: it takes no more messages from sessions" : "";
  const until = (deadlineMs: number) =>
    deadlineMs < nowMs ? `timed out ${ago(deadlineMs, nowMs)}` : `until ${exact(deadlineMs)}`;
  const receivers = [...new Set(outbox.map(({ to }) => to))].map((to) => {
    const count = outbox.filter((one) => one.to === to).length;
    return `${plural(count, "message")} to ${to}`;
  });
  return [
    ["inbox", inbox.count === 0 ? "" : `${plural(inbox.count, "input")} queued${full}`],
    ["outbox", receivers.length === 0 ? "" : `not delivered yet: ${receivers.join(", ")}`],
    ...requests
      .slice(0, rowsMax)
      .map(
        ({ message, to, deadlineMs }) => ["request to", `${to}, ${message}, ${until(deadlineMs)}`] as const,
      ),
    ...asked
      .slice(0, rowsMax)
      .map(
        ({ message, from, deadlineMs }) => ["asked by", `${from}, ${message}, ${until(deadlineMs)}`] as const,
      ),
    ["contracts", contracts.map((topic) => oneLine(topic)).join("  ")],
  ];
}

function paintStatus(out: Screen, status: string): (text: string) => string {
  if (status === "open" || status === "running") return out.green;
  return status === "suspended" || status === "sleeping" ? out.yellow : out.dim;
}

export function itemLines(items: readonly SessionItem[], out: Screen): string[] {
  const pinnedFirst = items.toSorted((a, b) => Number(b.pinned ?? 0) - Number(a.pinned ?? 0));
  const shown = pinnedFirst.slice(0, rowsMax).map((item) => {
    const { kind, key, status, because, erased, seq, pinned } = item;
    const value = erased ? "(erased)" : oneLine(plain(item.value));
    const name = `${oneLine(key)}${status === null ? "" : ` (${status})`}${pinned ? " (pinned)" : ""}`;
    const reason = because === null ? "" : `, because ${oneLine(because)}`;
    const room = out.columns === null ? Infinity : Math.max(20, out.columns - 12);
    return `  ${cut(`${kind.padEnd(9)} ${name} = ${value}${reason}`, room)}  ${out.dim(`at ${seq}`)}`;
  });
  return items.length <= rowsMax ? shown : [...shown, out.dim(`  and ${count(items.length - rowsMax)} more`)];
}

const pairs = (record: Readonly<Record<string, unknown>>): string =>
  Object.entries(record)
    .map(([key, value]) => `${oneLine(key)}=${oneLine(plain(value))}`)
    .join("  ");

/** The use of each limit; without limits, the use. */
function budgetText({ budget: { limits, used }, cost }: StateView): string {
  const resources = [
    { name: "money", used: used.nanoUsd, limit: limits.nanoUsd, show: moneyText },
    { name: "tokens", used: used.tokens, limit: limits.tokens, show: count, text: tokensText(cost) },
    { name: "steps", used: used.steps, limit: limits.steps, show: count },
    { name: "turns", used: used.turns, limit: limits.turns, show: count },
    { name: "tool calls", used: used.toolCalls, limit: limits.toolCalls, show: count },
    { name: "time", used: used.wallMs, limit: limits.wallMs, show: roughly },
  ];
  return resources
    .filter(({ name, used, limit }) => limit !== undefined || (used > 0 && name !== "money"))
    .map(
      ({ name, used, limit, show, text = show(used) }) =>
        `${name} ${text}${limit === undefined ? "" : ` of ${show(limit)}`}`,
    )
    .join("  ");
}

/** An accept check and its result: `tests: failed`, `looks: waiting (person)`. */
const checkText = ({ check, kind, status }: StateView["checks"][number]): string =>
  `${check}: ${status}${kind === "command" || kind === check ? "" : ` (${kind})`}`;

/** A rule in a few words: `deny shell`, `ask * (unsafe)`. */
export const ruleText = (one: {
  readonly rule: string;
  readonly tool: string;
  readonly effect?: string | undefined;
}) => `${one.rule} ${one.tool}${one.effect === undefined ? "" : ` (${one.effect})`}`;

/** `12 model calls, 48,000 tokens, cost $1.20, in another tool`. They count in no budget here. */
export function importedText({ calls, inputTokens, outputTokens, nanoUsd, unpriced }: ImportedUsage): string {
  if (calls === 0) return "";
  // Of forwarded calls the usage is in the session's own cost.
  if (inputTokens + outputTokens + nanoUsd === 0) return `${plural(calls, "model call")}, in another tool`;
  const cost = spendText({ nanoUsd, unpriced, unconfirmedNanoUsd: 0 });
  const tokens = count(inputTokens + outputTokens);
  return `${plural(calls, "model call")}, ${tokens} tokens, cost ${cost}, in another tool`;
}
