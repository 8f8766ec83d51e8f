/**
 * What a project has learned while its sessions are open. At the beginning of a turn a session looks at the
 * items that were recorded or retracted since its last look, and at nothing else: it costs by what is new.
 * How far it has looked is in its own log, in the newest `memory.carried`.
 */
import { inLine } from "../../core/handoff/text.ts";
import { isProjectId, type SessionId } from "../../core/ids.ts";
import type { CarriedMemory } from "../../core/item/commands.ts";
import { kindRank } from "../../core/item/kind.ts";
import { limit } from "../../core/limit.ts";
import { memoryLine, type CarriedEntry, type WithdrawnEntry } from "../../core/memory/choice.ts";
import { nameInSession } from "../../core/memory/news.ts";
import { roughTokens } from "../../core/context/token-count.ts";
import type { State } from "../../core/state.ts";
import type { StoredRecord } from "../../core/chain.ts";
import type { Deps } from "../deps.ts";
import { contentOf } from "../read/content.ts";
import { readOne } from "../read/event-cache.ts";
import { readRecords } from "../read/record-pages.ts";
import { carriedIn, isOwnOrigin } from "./memory-changes.ts";

/** Of the reason of an item. */
const reasonCharsMax = 300;
/** After so many records a look is recorded even if it found nothing, so that none is looked at again. */
const lookedMax = 200;

interface ItemBody {
  readonly kind: string;
  readonly key: string;
  readonly status?: string;
  readonly origin?: { readonly session: string; readonly seq: number };
}

/** An item of a project as a session carries it. */
export function projectEntry(item: {
  readonly kind: string;
  readonly key: string;
  readonly value: unknown;
  readonly status: string | null;
  readonly because: string | null;
}): CarriedEntry {
  const { kind, key, value, status, because } = item;
  const state = status === null ? "" : `, ${status}`;
  const reason = because === null ? "" : `, because ${inLine(because, reasonCharsMax)}`;
  return { scope: "project", kind, key, value, why: `the project's${state}${reason}` };
}

/** Null: nothing is new. Beside what is new in memory, which goes in the same record. */
export async function projectNews(
  deps: Deps,
  session: SessionId,
  state: State,
): Promise<CarriedMemory | null> {
  const { project } = state.standing;
  if (project === null || !isProjectId(project) || deps.recordedNews !== undefined) return null;
  const head = await deps.store.head(project);
  if (head === undefined) return null;
  const last = await lastLook(deps, session, state);
  const looks = deps.shared.projectLooks;
  const known = looks.get(session);
  const seen = known?.carriedSeq === last.carriedSeq ? Math.max(known.upTo, last.upTo) : last.upTo;
  if (head.seq <= seen) return null;
  const newest = new Map<string, StoredRecord>();
  const only = { types: ["item.recorded", "item.retracted"], contents: true };
  for await (const record of readRecords(deps.store, project, [seen + 1, head.seq], only))
    newest.set(nameOf(bodyOf(record)), record);
  const found = await chosen(deps, session, state, [...newest.values()]);
  const isNothing = found.items.length + (found.withdrawn?.length ?? 0) + (found.left ?? 0) === 0;
  if (isNothing && head.seq - last.upTo < lookedMax) {
    looks.set(session, { carriedSeq: last.carriedSeq, upTo: head.seq });
    return null;
  }
  return { ...found, projectUpTo: head.seq };
}

/** The newest record of what the session carries has it: each keeps the one before. */
async function lastLook(
  deps: Deps,
  session: SessionId,
  { mind }: State,
): Promise<{ readonly carriedSeq: number; readonly upTo: number }> {
  const carriedSeq = mind.memory.at(-1)?.seq ?? 0;
  const event = carriedSeq === 0 ? undefined : await readOne(deps, session, carriedSeq);
  return { carriedSeq, upTo: event?.type === "memory.carried" ? (event.body.projectUpTo ?? 0) : 0 };
}

const bodyOf = ({ body }: StoredRecord): ItemBody => JSON.parse(body) as ItemBody;
const nameOf = ({ kind, key }: ItemBody): string => nameInSession({ scope: "project", kind, key });

async function chosen(
  deps: Deps,
  session: SessionId,
  state: State,
  records: readonly StoredRecord[],
): Promise<CarriedMemory> {
  const { names } = await carriedIn(deps, session, state);
  const isOwn = await isOwnOrigin(deps, session, state);
  const withdrawn: WithdrawnEntry[] = [];
  const items: CarriedEntry[] = [];
  let [tokens, left] = [0, 0];
  const ranked = records.map((record) => ({ record, body: bodyOf(record) }));
  ranked.sort(
    (a, b) =>
      kindRank(a.body.kind, a.body.status ?? null) - kindRank(b.body.kind, b.body.status ?? null) ||
      b.record.seq - a.record.seq,
  );
  for (const { record, body } of ranked) {
    const { kind, key, status = null, origin } = body;
    const isKnown = names.has(nameOf(body));
    const content = record.type === "item.recorded" ? await contentOf(deps.store, record) : undefined;
    if (content === undefined) {
      const why = record.type === "item.recorded" ? "erased" : "forgotten";
      if (isKnown) withdrawn.push({ scope: "project", kind, key, why });
      continue;
    }
    // What this session recorded itself it knows.
    if (!isKnown && isOwn(origin)) continue;
    const { value, because = null } = content as { readonly value: unknown; readonly because?: string };
    const entry = projectEntry({ kind, key, value, status, because });
    const needed = roughTokens(`${memoryLine(entry)}\n`);
    if (tokens + needed <= limit.projectTokensMax) {
      tokens += needed;
      items.push(entry);
    } else if (isKnown) withdrawn.push({ scope: "project", kind, key, why: "changed" });
    else left += 1;
  }
  return { items, tokens, withdrawn, left };
}
