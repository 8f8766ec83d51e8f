/** Recall: a session reads a log by position, words or item; or the rest of a long output. */
import { readRecords } from "./record-pages.ts";
import type { SessionAct } from "../../core/tool/session-action.ts";
import { SkeinError } from "../../core/error.ts";
import { quote, type SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { State } from "../../core/state.ts";
import { storedTrigger } from "../../core/trigger/trigger.ts";
import { isWholeOutput, readBlob, readContent } from "./content.ts";
import { readEvents } from "./event-reader.ts";
import { readItems, search } from "./projection.ts";
import type { Deps } from "../deps.ts";
import { findSession } from "./find.ts";
import { stateNow } from "./state-now.ts";
import { carriedOn, childrenOf, earlierMax } from "./family.ts";
import type { SessionEvent } from "../../core/event.ts";

type Recall = Extract<SessionAct, { act: "recall" }>;

/** Events of one recall; more are read with another. */
const eventsMax = 100;

/** Of the session itself, or of one that it continues: its handoff has pointers there. */
export async function recall(
  deps: Deps,
  session: SessionId,
  state: State,
  { session: other, ...wanted }: Recall,
): Promise<unknown> {
  if (other === undefined) return recallOf(deps, session, state, wanted);
  const earlier = await earlierSession(deps, session, other);
  return recallOf(deps, earlier, await stateNow(deps, earlier), wanted);
}

async function earlierSession(deps: Deps, session: SessionId, ending: string): Promise<SessionId> {
  let from = await carriedOn(deps, session);
  for (let steps = 0; from !== null && steps < earlierMax; steps++) {
    if (from.endsWith(ending)) return findSession(deps.store, from);
    if ((await deps.store.head(from)) === undefined) break;
    from = await carriedOn(deps, from);
  }
  const known = (await heardOf(deps, session)).find((one) => one.endsWith(ending));
  if (known !== undefined) return findSession(deps.store, known);
  throw new SkeinError(
    "not-found",
    `recall: session: ${quote(ending)} is not a predecessor of this session`,
    {
      hint: "use a session id from the handoff at the beginning",
    },
  );
}

/** Sessions whose ends it waits for or has received: its children, and those of its triggers. */
async function heardOf(deps: Deps, session: SessionId): Promise<readonly SessionId[]> {
  const { standing } = await stateNow(deps, session);
  const found = [...(await childrenOf(deps, session))];
  for (const { kind, seq } of standing.triggers.values()) {
    if (kind !== "session") continue;
    const content = (await readContent(deps.store, session, seq)) as { spec?: unknown } | undefined;
    const spec = storedTrigger(content?.spec);
    if (spec?.kind === "session") found.push(...(spec.sessions as readonly SessionId[]));
  }
  return found;
}

async function recallOf(
  deps: Deps,
  session: SessionId,
  state: State,
  { fromSeq, toSeq, text, kind, key, fromChar }: Omit<Recall, "session">,
): Promise<unknown> {
  const { store, states } = deps;
  if (fromSeq !== undefined && fromChar !== undefined) {
    return output(deps, session, state, { seq: fromSeq, fromChar });
  }
  if (text !== undefined) {
    const hits = await search(store, states, text, { session, limit: 20 });
    return hits.map(({ seq, snippet }) => ({ seq, text: snippet }));
  }
  if (kind !== undefined) {
    const items = (await readItems(store, session, state)).filter((item) => item.kind === kind);
    const found = key === undefined ? items : items.filter((item) => item.key === key);
    if (key === undefined || found.length > 0) return found;
    throw new SkeinError("not-found", `there is no ${kind} "${key}"`);
  }
  const first = fromSeq ?? 1;
  const range = { fromSeq: first, toSeq: Math.min(toSeq ?? first, state.seq), limit: eventsMax };
  const events: unknown[] = [];
  for await (const event of readEvents(store, session, range)) events.push(brief(event));
  return events;
}

const brief = ({ seq, at, type, actor, content, erased }: SessionEvent): unknown => ({
  seq,
  at: new Date(at).toISOString(),
  type,
  actor,
  ...(erased ? { erased } : { content }),
});

/** A range of the output of the call that was requested at a position. */
async function output(
  deps: Deps,
  session: SessionId,
  state: State,
  { seq, fromChar }: { readonly seq: number; readonly fromChar: number },
): Promise<unknown> {
  const { store } = deps;
  const types = ["tool.settled"];
  for await (const record of readRecords(store, session, [seq, state.seq], { types }))
    if (record.cause === seq || record.seq === seq) return stretch(deps, session, record.seq, fromChar);
  throw new SkeinError("not-found", `recall: position ${seq} is not a tool call`);
}

async function stretch(deps: Deps, session: SessionId, seq: number, fromChar: number): Promise<unknown> {
  const content = (await readContent(deps.store, session, seq)) as
    | { output?: unknown; blocks?: readonly { type: string; blob?: string; mediaType?: string }[] }
    | undefined;
  if (content === undefined) throw new SkeinError("not-found", "recall: the output was erased");
  const whole = content.blocks?.find(isWholeOutput);
  const text =
    whole?.blob === undefined
      ? asText(content.output)
      : (await readBlob(deps.store, whole.blob)).toString("utf8");
  const most = Math.floor(limit.toolOutputCharsMax * 0.9);
  const part = text.slice(fromChar, fromChar + most).toWellFormed();
  const next = fromChar + most;
  return next < text.length ? { text: part, nextChar: next, chars: text.length } : { text: part };
}

const asText = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value ?? null);
