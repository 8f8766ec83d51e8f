/** The parts of a transcript beside its path: branches become forks, subagents children. */
import type { EventOf } from "../../core/event.ts";
import type { SessionId } from "../../core/ids.ts";
import type { PlannedBranch, PlannedChild, PlannedEntries } from "../../transcripts/model.ts";
import { forkCommand } from "../branch/fork.ts";
import type { Deps } from "../deps.ts";
import { freshSessionId, madeOrFree, requestDeps } from "../log/request-scope.ts";
import { readEvents } from "../read/event-reader.ts";
import type { TranscriptSource } from "./history.ts";

/** Another leaf of the source is a fork where it leaves: same prefix, nothing copied. */
export async function forkBranches(
  deps: Deps,
  session: SessionId,
  { entries: path, branches }: TranscriptSource["plan"],
  fill: (fork: SessionId, branch: PlannedBranch) => Promise<void>,
): Promise<SessionId[]> {
  const wanted = new Set(branches.flatMap(({ after }) => (after === null ? [] : [after])));
  const follows = compactionsAfter([path, ...branches.map(({ entries }) => entries)], wanted);
  /** Read when the first fork is made: importing the same source again reads nothing. */
  let places: RecordPositions | null = null;
  const forks: SessionId[] = [];
  for (const branch of branches) {
    const { id, after, entries } = branch;
    if (entries.length === 0) continue;
    const made = await madeOrFree(`import/branch/${session}/${id}`, (key) => requestDeps(deps, { key }));
    const { scope } = made;
    let fork = made.session;
    if (fork === null) {
      places ??= await placesOf(deps, session, wanted, follows);
      const place = after === null ? await rootOf(deps, session) : places.get(after);
      if (place === undefined) continue;
      const labels = Object.fromEntries((await deps.writer.current(session)).standing.labels.entries());
      fork = await forkForImport(scope, place, labels);
    }
    forks.push(fork);
    await fill(fork, branch);
    // A branch may leave from a branch.
    if (places !== null && hasAny(entries, wanted))
      places = new Map([...(await placesOf(deps, fork, wanted, follows)), ...places]);
  }
  return forks;
}

/** A fork for conversation of another tool: it waits for review and is bound to nothing. */
export async function forkForImport(
  deps: Deps,
  { session, seq }: RecordPosition,
  labels: Readonly<Record<string, string>>,
): Promise<SessionId> {
  const plan = await forkCommand(deps, session, seq, { labels });
  const unbind = [...plan.from.standing.bindings.keys()];
  const id = await freshSessionId(deps);
  const command = { ...plan.command, unbind, unreviewed: true };
  await deps.writer.begin(id, { ...plan, command }, { actor: deps.actor });
  return id;
}

/** The position before everything that was imported into this session itself. */
async function rootOf({ store, writer }: Deps, session: SessionId): Promise<RecordPosition> {
  const { standing } = await writer.current(session);
  if (standing.fork === null) return { session, seq: 1 };
  const types = ["input.imported", "answer.imported", "call.imported", "transcript.compacted"];
  const own = { fromSeq: standing.fork.seq + 1, types, limit: 1 };
  const [first] = await Array.fromAsync(readEvents(store, session, own));
  return { session, seq: (first?.seq ?? standing.fork.seq + 2) - 1 };
}

function hasAny(entries: PlannedEntries, wanted: ReadonlySet<string>): boolean {
  for (const { id } of entries) if (wanted.has(id)) return true;
  return false;
}

interface RecordPosition {
  readonly session: SessionId;
  readonly seq: number;
}

type RecordPositions = ReadonlyMap<string, RecordPosition>;

/** A record of a compaction has no id: it is known by the entry before it. */
function compactionsAfter(
  paths: readonly PlannedEntries[],
  wanted: ReadonlySet<string>,
): ReadonlyMap<string, string> {
  const follows = new Map<string, string>();
  if (wanted.size === 0) return follows;
  for (const path of paths) {
    let before: string | null = null;
    for (const { id, kind } of path) {
      if (kind === "compaction" && before !== null && wanted.has(id)) follows.set(before, id);
      before = id;
    }
  }
  return follows;
}

/** Where the entries end that branches leave from: of a fork, those that its parent does not have. */
async function placesOf(
  { store, writer }: Deps,
  session: SessionId,
  wanted: ReadonlySet<string>,
  follows: ReadonlyMap<string, string>,
): Promise<RecordPositions> {
  const places = new Map<string, RecordPosition>();
  const { seq: toSeq, standing } = await writer.current(session);
  const fromSeq = (standing.fork?.seq ?? 0) + 1;
  const types = ["input.imported", "answer.imported", "call.imported", "transcript.compacted"] as const;
  let last: string | null = null;
  for await (const event of readEvents(store, session, { fromSeq, toSeq, types })) {
    const { type, seq } = event;
    if (type === "transcript.compacted") last = follows.get(last ?? "") ?? last;
    else if (type !== "call.imported")
      last = (event as EventOf<"input.imported" | "answer.imported">).content?.id ?? null;
    if (last !== null && wanted.has(last)) places.set(last, { session, seq });
  }
  return places;
}

/** The source of a child whose records lie among its parent's. */
export async function childSource(source: TranscriptSource, child: PlannedChild): Promise<TranscriptSource> {
  const { plan } = source;
  // The report of the file stands with the session that it belongs to.
  const report = {
    records: {},
    unknownTypes: {},
    unmapped: {},
    damaged: [],
    damagedCount: 0,
    gaps: 0,
    unpairedCalls: 0,
    missingAttachments: 0,
    tooLarge: 0,
    timesOutOfOrder: 0,
  };
  const header = {
    ...plan.header,
    sourceId: child.sourceId,
    parentId: plan.header.sourceId,
    title: await firstWords(source, child.entries),
  };
  const rest = { branches: [], children: [], tasks: [], otherUsage: null, report };
  return { ...source, endsOpen: false, plan: { header, entries: child.entries, ...rest } };
}

async function firstWords(source: TranscriptSource, entries: PlannedEntries): Promise<string | null> {
  for await (const entry of source.entries(entries.slice(0, 1))) {
    const blocks = entry.kind === "compaction" ? [] : entry.blocks;
    const text = blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join(" ");
    return text.slice(0, 4_000).replaceAll(/\s+/g, " ").trim().slice(0, 400) || null;
  }
  return null;
}

/** The records of these calls in a session. */
export async function callPlaces(
  { store }: Pick<Deps, "store">,
  session: SessionId,
  calls: ReadonlySet<string>,
): Promise<ReadonlyMap<string, number>> {
  const places = new Map<string, number>();
  if (calls.size === 0) return places;
  for await (const event of readEvents(store, session, { types: ["call.imported"] })) {
    const id = (event as EventOf<"call.imported">).content?.id;
    if (id !== undefined && calls.has(id)) places.set(id, event.seq);
  }
  return places;
}
