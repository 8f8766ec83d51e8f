/** Recall: a session reads a log by position, words or item, in pages (recall-page.ts). */
import type { SessionAct } from "../../core/tool/session-action.ts";
import { SkeinError } from "../../core/error.ts";
import { quote, type SessionId } from "../../core/ids.ts";
import type { State } from "../../core/state.ts";
import { storedTrigger } from "../../core/trigger/trigger.ts";
import { readContent } from "./content.ts";
import { search } from "./projection.ts";
import { readItemsOf, readSpan, readsText, readText, type RecallRequest } from "./recall-page.ts";
import type { Deps } from "../deps.ts";
import { findSession } from "./find.ts";
import { readStages } from "./stages.ts";
import { stateNow } from "./state-now.ts";
import { carriedOn, childrenOf, earlierMax } from "./family.ts";

/** Matches of one recall by words. */
const hitsMax = 20;

/** Of the session itself, or of one that it continues: its handoff has pointers there. */
export async function recall(
  deps: Deps,
  session: SessionId,
  state: State,
  {
    act: _,
    session: other,
    mayRead,
    ...wanted
  }: Extract<SessionAct, { act: "recall" }> & {
    /** Whether the session may read another one, besides those that it continues. */
    readonly mayRead: (other: SessionId) => Promise<boolean>;
  },
): Promise<unknown> {
  if (other === undefined) return recallOf(deps, session, state, wanted);
  const earlier = await earlierSession(deps, session, other, mayRead);
  return recallOf(deps, earlier, await stateNow(deps, earlier), wanted);
}

async function earlierSession(
  deps: Deps,
  session: SessionId,
  ending: string,
  mayRead: (other: SessionId) => Promise<boolean>,
): Promise<SessionId> {
  let from = await carriedOn(deps, session);
  for (let steps = 0; from !== null && steps < earlierMax; steps++) {
    if (from.endsWith(ending)) return findSession(deps.store, from);
    if ((await deps.store.head(from)) === undefined) break;
    from = await carriedOn(deps, from);
  }
  const known = (await heardOf(deps, session)).find((one) => one.endsWith(ending));
  if (known !== undefined) return findSession(deps.store, known);
  const [found, ...more] = await deps.store.endingWith(ending, 2);
  if (found !== undefined && more.length === 0 && (await mayRead(found))) return found;
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

/** The parts of a node; of a turn what was said. */
async function openPart(deps: Deps, session: SessionId, state: State, id: string): Promise<unknown> {
  const { node, stages } = await readStages(deps, session, state, id);
  if (node === null || stages.length > 0 || node.parts !== 0) return { node, parts: stages };
  const { fromSeq, toSeq } = node;
  return { node, records: await readSpan(deps, session, state, { fromSeq, toSeq }) };
}

async function recallOf(
  deps: Deps,
  session: SessionId,
  state: State,
  wanted: RecallRequest,
): Promise<unknown> {
  const { fromSeq, text, kind, node } = wanted;
  if (node !== undefined) return openPart(deps, session, state, node);
  if (fromSeq !== undefined && readsText(wanted))
    return readText(deps, session, state, { ...wanted, fromSeq });
  if (kind !== undefined) return readItemsOf(deps, session, state, wanted);
  if (text === undefined) return readSpan(deps, session, state, wanted);
  const hits = await search(deps.store, deps.states, text, { session, limit: hitsMax + 1 });
  const found: unknown[] = hits.slice(0, hitsMax).map(({ seq, snippet }) => ({ seq, text: snippet }));
  const more = `more than ${hitsMax} records have these words: add words, or recall with fromSeq reads one`;
  return hits.length <= hitsMax ? found : [...found, { readOn: more }];
}
