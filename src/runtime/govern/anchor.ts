/**
 * Anchors: lists the heads of all logs in the workspace's log, signed, and returns the root, which you keep
 * outside the store. The cost follows the changes: a list names the logs that changed since the last one, and
 * all logs only once as many changes were listed as there are logs.
 */
import { readRows } from "../read/session-rows.ts";
import { checkCall } from "../../call/check.ts";
import type { DraftEvent } from "../../core/decision.ts";
import { SkeinError } from "../../core/error.ts";
import { anchorText, chainRoot, merkleOf, sortHeads, type ListedHead } from "../../core/govern/heads.ts";
import type { LogId, SessionId } from "../../core/ids.ts";
import type { Store } from "../../store/port.ts";
import type { Deps } from "../deps.ts";
import { holdsRecord } from "../read/known-heads.ts";
import { post } from "../../platform/outbound.ts";
import { writeOnce } from "../log/workspace-log.ts";
import { newestList, readHeads, rootBefore, type HeadLists } from "./read-heads.ts";

/** Kept outside the store. It reveals a store that was cut or rolled back as a whole. */
export interface Anchor {
  readonly format: "skein-anchor";
  readonly version: 1;
  readonly workspace: string;
  /** The record of the workspace's log that holds the list, and its hash. */
  readonly seq: number;
  readonly hash: string;
  /** The root of the list, chained over all lists before. */
  readonly root: string;
  readonly at: number;
  /** Null where the process had no key. */
  readonly publicKey: string | null;
  readonly signature: string | null;
}

/** Options of `engine.anchor`. */
export interface AnchorOptions {
  /** A URL that the anchor is posted to, as JSON. */
  readonly url?: string;
  /** True allows a `url` on this machine or in a private network. */
  readonly allowPrivate?: boolean;
}

/**
 * Lists the current heads, and returns the anchor for them. A store that lost listed records is refused after
 * the other logs are listed: an anchor of it would pass for evidence that all is well.
 */
export async function makeAnchor(deps: Deps, options: AnchorOptions = {}): Promise<Anchor> {
  checkCall("engine.anchor", options);
  const { cut } = await listHeads(deps, { whenOlderMs: 0, everyLog: true });
  if (cut.length > 0) throw cutError(cut);
  const anchor = await newestAnchor(deps);
  if (options.url === undefined) return anchor;
  const outbound = { world: deps.world, allowPrivate: options.allowPrivate === true };
  const body = JSON.stringify(anchor);
  const { status } = await post(outbound, options.url, {
    body,
    headers: { "content-type": "application/json" },
  });
  if (status >= 200 && status <= 299) return anchor;
  throw new SkeinError("refused", `anchor: the webhook responded with ${status}`, {
    hint: "expected a status from 200 to 299; redirects are not followed",
  });
}

async function newestAnchor({ store }: Deps): Promise<Anchor> {
  const { last } = await readHeads(store, null);
  if (last === null) throw new SkeinError("conflict", "anchor: the list of heads was lost in a rollback");
  const { seq, hash, at, body } = last;
  const { root, publicKey = null, signature = null } = body;
  return {
    format: "skein-anchor",
    version: 1,
    workspace: store.workspace,
    seq,
    hash,
    root,
    at,
    publicKey,
    signature,
  };
}

export interface HeadsListResult {
  /** Heads in the written list; null when none was due, or another process was first. */
  readonly listed: number | null;
  /** Logs that no longer hold the listed head: they stay listed with it until that is accepted. */
  readonly cut: readonly string[];
}

/**
 * Writes a list unless the newest is younger than `whenOlderMs`. Any number of processes may do so at once: a
 * list is written only to the workspace log that it was made from, so one of them is first.
 */
export async function listHeads(
  deps: Deps,
  { whenOlderMs, everyLog = false }: { readonly whenOlderMs: number; readonly everyLog?: boolean },
): Promise<HeadsListResult> {
  const { store } = deps;
  let done: HeadsListResult = { listed: null, cut: [] };
  const build = async (headSeq: number): Promise<readonly DraftEvent[]> => {
    done = { listed: null, cut: [] };
    const lists = await readHeads(store, null);
    if (lists.last !== null && store.now() - lists.last.at < whenOlderMs) return [];
    const { changed, cut } = await changedSince(deps, lists, everyLog);
    done = { listed: null, cut };
    const isCurrent = lists.last !== null && changed.length === 0;
    // A manual anchor covers all of the workspace's own log, too.
    if (isCurrent && (whenOlderMs > 0 || lists.last?.seq === headSeq)) return [];
    const isFull = lists.last === null || lists.added + changed.length > Math.max(fullMin, lists.heads.size);
    const heads = isFull ? joined(lists, changed) : changed;
    done = { listed: heads.length, cut };
    return drafts(deps, heads, { full: isFull, before: rootBefore(lists) });
  };
  await writeOnce({ ...deps, actor: "system" }, build);
  return done;
}

/** Reports logs that lost listed records. */
export function cutError(cut: readonly string[]): SkeinError {
  const logs =
    cut.length === 1
      ? "1 log no longer holds its listed head"
      : `${cut.length} logs no longer hold their listed heads`;
  const first = cut.slice(0, 3).join(", ");
  return new SkeinError("corrupt", `${logs}: ${first}${cut.length > 3 ? ", …" : ""}`, {
    hint: 'run "skein verify"; to accept an intended restore: "skein anchor accept --reason TEXT"',
  });
}

export interface HeadLister {
  /** Writes a list if none was written for so long. Finding that nothing is due costs one read. */
  listIfDue(whenOlderMs: number): Promise<HeadsListResult>;
}

export function makeHeadLister(deps: Deps): HeadLister {
  const { store } = deps;
  let newest: { readonly seq: number; readonly at: number } | null = null;
  return {
    async listIfDue(whenOlderMs) {
      newest = (await newestList(store, newest?.seq ?? 1)) ?? newest;
      const isDue = newest === null || store.now() - newest.at >= whenOlderMs;
      return isDue ? listHeads(deps, { whenOlderMs }) : { listed: null, cut: [] };
    },
  };
}

/** Below so many logs a full list is cheap enough. */
const fullMin = 1_000;
/** The maximum clock difference of processes that write to one store. */
const overlapMs = 600_000;

/** Logs whose head differs from the listed one; for cut ones, the listed head stays. */
async function changedSince(
  deps: Deps,
  { heads, last, added }: HeadLists,
  everyLog: boolean,
): Promise<{ readonly changed: readonly ListedHead[]; readonly cut: readonly string[] }> {
  const { store } = deps;
  const changed: ListedHead[] = [];
  const cut: string[] = [];
  // Before a full list, all logs are read: clocks may have hidden some.
  const isWhole = everyLog || last === null || added >= Math.max(fullMin, heads.size) / 2;
  const since = isWhole ? {} : { activeSince: Math.max(0, last.at - overlapMs) };
  const seen = new Set<string>();
  for await (const { log, headSeq } of logsToList(deps, since)) {
    seen.add(log);
    const known = heads.get(log);
    if (known?.seq === headSeq) continue;
    const head = await store.head(log);
    if (head === undefined || known?.seq === head.seq) continue;
    const goesOn = known === undefined || (head.seq >= known.seq && (await holdsRecord(store, log, known)));
    if (goesOn) changed.push({ log, seq: head.seq, hash: head.hash });
    else cut.push(log);
  }
  if (isWhole) cut.push(...(await goneLogs(store, heads, seen)));
  return { changed, cut };
}

/** Sessions, with their heads by the index, and all projects. */
async function* logsToList(
  { store, projects }: Deps,
  since: { readonly activeSince?: number },
): AsyncGenerator<{ readonly log: LogId; readonly headSeq: number | null }> {
  for await (const { session, headSeq } of readRows(store, since)) yield { log: session, headSeq };
  for (const log of await projects.ids()) yield { log, headSeq: null };
}

/** Listed logs that the store no longer has. A log that another process deleted meanwhile is left out. */
async function goneLogs(
  store: Store,
  heads: HeadLists["heads"],
  seen: ReadonlySet<string>,
): Promise<readonly string[]> {
  const gone: string[] = [];
  for (const log of heads.keys())
    if (!seen.has(log) && (await store.head(log as SessionId)) === undefined) gone.push(log);
  if (gone.length === 0) return [];
  const still = (await readHeads(store, null)).heads;
  return gone.filter((log) => still.has(log));
}

function joined({ heads }: HeadLists, changed: readonly ListedHead[]): readonly ListedHead[] {
  const all = new Map(
    [...heads].map(([log, { seq, hash }]): [string, ListedHead] => [log, { log, seq, hash }]),
  );
  for (const head of changed) all.set(head.log, head);
  return [...all.values()];
}

/** Heads of one record: its content stays well below the limit. */
const headsPerRecord = 5_000;

/** The records of one list. All of them are one append. */
function drafts(
  { store, world, signer }: Deps,
  heads: readonly ListedHead[],
  { full, before }: { readonly full: boolean; readonly before: string },
): readonly DraftEvent[] {
  const sorted = sortHeads(heads);
  const key = signer?.() ?? null;
  const events: DraftEvent[] = [];
  let last = before;
  for (let from = 0; from === 0 || from < sorted.length; from += headsPerRecord) {
    const part = sorted.slice(from, from + headsPerRecord);
    const merkle = merkleOf(world.digest, part);
    const root = chainRoot(world.digest, last, merkle);
    const signed =
      key === null
        ? {}
        : { publicKey: key.publicKey, signature: key.sign(anchorText(store.workspace, root)) };
    const begins = full && from === 0 ? { full: true } : {};
    const body = { count: part.length, ...begins, merkle, before: last, root, ...signed };
    const content = { heads: part.map(({ log, seq, hash }) => [log, seq, hash]) };
    events.push({ type: "heads.listed", body, content });
    last = root;
  }
  return events;
}

/** Options of `engine.acceptAnchor`. */
export interface AcceptOptions {
  /** Why the records are rightly missing, for readers of the log. */
  readonly reason: string;
  /** An anchor that the workspace's own log no longer reaches. */
  readonly anchor?: { readonly seq: number; readonly hash: string };
}

/** The result of `engine.acceptAnchor`. */
export interface AcceptResult {
  /** Logs that were shorter than listed, different, or missing; empty for a call repeated with its key. */
  readonly logs: readonly string[];
  readonly anchor: Anchor;
}

/** Accepts the current logs, after an intended restore. All of them are listed again. */
export async function acceptHeads(deps: Deps, options: AcceptOptions): Promise<AcceptResult> {
  checkCall("engine.acceptAnchor", options);
  const { reason, anchor } = options;
  const { store } = deps;
  let logs: readonly string[] = [];
  await writeOnce(deps, async () => {
    const lists = await readHeads(store, null);
    const heads = new Map<string, ListedHead>();
    const missing: string[] = [];
    for await (const { log } of logsToList(deps, {})) {
      const head = await store.head(log);
      if (head !== undefined) heads.set(log, { log, seq: head.seq, hash: head.hash });
    }
    for (const [log, known] of lists.heads)
      if (!heads.has(log) || !(await holdsRecord(store, log as SessionId, known))) missing.push(log);
    logs = missing;
    const named = anchor === undefined ? {} : { anchor: { seq: anchor.seq, hash: anchor.hash } };
    const body = { count: missing.length, ...named };
    return [
      { type: "heads.accepted", body, content: { reason } },
      ...drafts(deps, [...heads.values()], { full: true, before: rootBefore(lists) }),
    ];
  });
  return { logs, anchor: await newestAnchor(deps) };
}
