/** The report about awaited sessions: how each ended, and what it leaves. */
import { shortId } from "../../core/text/short-id.ts";
import type { SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { Ref, State } from "../../core/state.ts";
import type { SpecOf } from "../../core/trigger/trigger.ts";
import { readContent } from "../read/content.ts";
import type { Deps } from "../deps.ts";
import { handoffSession } from "../branch/handoff.ts";
import { stateNow } from "../read/state-now.ts";

/** How a session ended, and the position of that record; 0 when it was deleted. */
export interface SessionEnd {
  readonly session: SessionId;
  readonly seq: number;
  readonly outcome: string;
}

const endings = ["session.closed", "session.continued", "session.reopened", "session.forked"];

/** How a session ended, or the last of those that it went on as; null while that is open. */
export async function endedOf(deps: Pick<Deps, "store">, session: SessionId): Promise<SessionEnd | null> {
  const passed = new Set<string>();
  for (let at = session; passed.size < limit.successionHopsMax && !passed.has(at);) {
    const end = await lastOf(deps, at);
    if (end === null || !("next" in end)) return end;
    passed.add(at);
    at = end.next;
  }
  return null;
}

async function lastOf(
  { store }: Pick<Deps, "store">,
  session: SessionId,
): Promise<SessionEnd | { readonly next: SessionId } | null> {
  const head = await store.head(session);
  if (head === undefined) return { session, seq: 0, outcome: "deleted" };
  const range = { fromSeq: 1, toSeq: head.seq, reverse: true, limit: 1, contents: false };
  const [last] = await store.read(session, { ...range, types: endings });
  if (last?.type === "session.continued") return { next: (JSON.parse(last.body) as { to: SessionId }).to };
  if (last?.type !== "session.closed") return null;
  const { outcome } = JSON.parse(last.body) as { outcome: string };
  return { session, seq: last.seq, outcome };
}

/** Characters about one session, and about all of them together. */
const charsMax = 4_000;
const allCharsMax = 32_000;
const handoffTokens = 1_000;

/** The report about ended sessions: only what the logs say, so that all workers write the same. */
export async function notifyWaiting(
  deps: Deps,
  name: string,
  spec: SpecOf<"session">,
  ended: readonly SessionEnd[],
): Promise<string> {
  const most = Math.max(500, Math.min(charsMax, Math.floor(allCharsMax / ended.length)));
  const texts: string[] = [];
  for (const one of ended) texts.push(await tellOne(deps, one, spec.give ?? "handoff", most));
  const what = ended.length === 1 ? "the session" : `all ${ended.length} sessions`;
  const have = ended.length === 1 ? "has" : "have";
  return [`Trigger "${name}": ${what} that you waited for ${have} ended.`, ...texts].join("\n\n");
}

async function tellOne(
  deps: Deps,
  { session, seq, outcome }: SessionEnd,
  give: NonNullable<SpecOf<"session">["give"]>,
  most: number,
): Promise<string> {
  if (outcome === "deleted") return `## ${session}: deleted\n\nIt was deleted; nothing of it is left.`;
  const pointer = `[${shortId(session)}@${seq}]`;
  const head = `## ${session}: ${outcome} ${pointer}`;
  if (give === "nothing") return head;
  const state = await stateNow(deps, session);
  const objective = await textOf(deps, session, state.standing.objective, "objective");
  const about = objective === null ? "" : `\n\nObjective: ${cut(objective, 300)}`;
  const text =
    give === "facts"
      ? await tellItems(deps, session, state)
      : (await handoffSession(deps, session, { write: false, tokensMax: handoffTokens })).text;
  return `${head}${give === "facts" ? about : ""}\n\n${cut(text, most)}`;
}

async function tellItems(deps: Deps, session: SessionId, { mind }: State): Promise<string> {
  const lines: string[] = [];
  let chars = 0;
  for (const { kind, key, seq } of mind.items.values()) {
    if (kind !== "fact" && kind !== "decision") continue;
    const line = await notifyItem(deps, session, { kind, key, seq });
    chars += line.length;
    lines.push(`- ${line}`);
    if (chars > charsMax) break;
  }
  return lines.length === 0 ? "It recorded no facts and no decisions." : lines.join("\n");
}

/** An item in a line: `fact base-rate: 4.1 (because …) [4x8kz1@12]`. */
export async function notifyItem(
  { store }: Pick<Deps, "store">,
  session: SessionId,
  { kind, key, seq }: { readonly kind: string; readonly key: string; readonly seq: number },
): Promise<string> {
  const content = (await readContent(store, session, seq)) as
    | { readonly value?: unknown; readonly because?: string }
    | undefined;
  const pointer = `[${shortId(session)}@${seq}]`;
  if (content === undefined) return `${kind} ${key}: [erased] ${pointer}`;
  const { value, because } = content;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const why = because === undefined ? "" : ` (because ${cut(because, limit.reasonCharsMax)})`;
  return `${kind} ${key}: ${cut(text ?? "", charsMax / 2)}${why} ${pointer}`;
}

async function textOf(
  { store }: Deps,
  session: SessionId,
  ref: Ref | null,
  field: string,
): Promise<string | null> {
  const content = ref === null ? undefined : await readContent(store, session, ref.seq);
  const value = (content as Readonly<Record<string, unknown>> | undefined)?.[field];
  return typeof value === "string" ? value : null;
}

/** At most so many characters, and never half of one. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  return `${text
    .slice(0, most - 1)
    .toWellFormed()
    .replace(/\uFFFD$/, "")}…`;
}
