/**
 * The audit after a crash: opens the store as anybody would and holds it against the ledger. Every
 * acknowledged write is there, where it was said to be and with what it was given; every other one is whole
 * or absent; nothing is there twice; whatever a reader saw has not changed; the chain verifies; every session
 * opens and can be written to.
 */
import { openEngine, SkeinError, type Engine, type SessionEvent, type Session } from "../../src/index.ts";
import type { SessionRow } from "../../src/entry/store.ts";
import type { Entry, Ledger, Sighting } from "./ledger.ts";
import { fillOf, tokenIn, type Token } from "./mark.ts";

export interface Audit {
  readonly problems: readonly string[];
  /** All records of the store. */
  readonly records: number;
  /** Writes that were acknowledged, and the records of them. */
  readonly acknowledged: number;
  readonly acknowledgedRecords: number;
  /** Writes without an answer: those that are there, and those that are not. */
  readonly found: number;
  readonly absent: number;
  readonly refused: number;
  /** Records that are there more than once. */
  readonly duplicates: number;
  readonly sightings: number;
}

interface Place {
  readonly token: Token;
  readonly event: SessionEvent;
}

/** What the store holds: every record by its position, and every marked record by its mark. */
interface Holding {
  readonly count: number;
  readonly marked: ReadonlyMap<string, readonly Place[]>;
  readonly deleted: ReadonlySet<string>;
  /**
   * Whether a session was deleted that its opener never heard of: one found and deleted by another writer.
   */
  readonly strangers: boolean;
}

/** Codes that a write may be refused with while others write to the same sessions. */
const expectedCodes = new Set(["refused", "conflict", "not-found", "fenced"]);

export async function audit(
  path: string,
  ledger: Ledger,
  options: { readonly faults?: boolean } = {},
): Promise<Audit> {
  const problems = [...ledger.problems, ...(options.faults === true ? [] : ledger.failures)];
  // When everybody was killed before the store was made, it is made now, and nothing may be missing from it.
  await using engine = await openEngine({ store: path });
  const report = await engine.verify();
  for (const { session, seq, problem } of report.problems.slice(0, 20))
    problems.push(`verify: ${session} at ${seq}: ${problem}`);
  const holding = await read(engine, ledger);
  const count = { acknowledged: 0, acknowledgedRecords: 0, found: 0, absent: 0, refused: 0, duplicates: 0 };
  for (const entry of ledger.entries.values()) {
    const places = holding.marked.get(entry.mark) ?? [];
    problems.push(...flawsOf(entry, places, holding));
    count.duplicates +=
      places.length - new Set(places.map(({ token }) => `${token.text} ${token.part}`)).size;
    if (entry.placed !== null) {
      count.acknowledged++;
      count.acknowledgedRecords += entry.parts;
    } else if (entry.refusal !== null) {
      count.refused++;
      if (options.faults !== true && !expectedCodes.has(entry.refusal.code))
        problems.push(`${entry.mark} (${entry.verb}) failed: ${JSON.stringify(entry.refusal)}`);
    } else if (entry.parts > 0) {
      count[places.length > 0 ? "found" : "absent"]++;
    }
  }
  for (const mark of holding.marked.keys())
    if (!ledger.entries.has(mark)) problems.push(`nobody said that ${mark} would be written`);
  for (const session of holding.deleted)
    if ((await handleOf(engine, session)) !== null) problems.push(`${session} was deleted and is there`);
  problems.push(...(await changedSince(engine, ledger.sightings)), ...(await goOn(engine)));
  return { problems, records: holding.count, ...count, sightings: ledger.sightings.length };
}

async function read(engine: Engine, ledger: Ledger): Promise<Holding> {
  const marked = new Map<string, Place[]>();
  const deleted = new Set<string>();
  const successors = new Set<string>();
  let count = 0;
  for (let after: string | undefined; ;) {
    const page = await engine.feed(after === undefined ? { limit: 1_000 } : { after, limit: 1_000 });
    for (const event of page.events) {
      count++;
      if (event.type === "session.continued") successors.add((event.body as { to: string }).to);
      if (event.type === "session.deleted") deleted.add((event.body as { session: string }).session);
      const token = tokenIn(event);
      if (token === null) continue;
      const places = marked.get(token.mark) ?? [];
      // A message has one text in two logs: of the two that it wrote, the receiver's is the second.
      const part = event.type === "message.received" ? 2 : token.part;
      places.push({ token: { ...token, part }, event });
      marked.set(token.mark, places);
    }
    if (page.position === after) break;
    after = page.position;
  }
  for (const [mark, places] of marked) {
    const { session: target, placed } = ledger.entries.get(mark) ?? {};
    // A queued input moves to the session that continues its own: of the two the first counts.
    const isCopy = ({ token, event }: Place): boolean =>
      queued.has(event.type) &&
      successors.has(event.session) &&
      placed?.session !== event.session &&
      (deleted.has(target ?? "") ||
        places.some((one) => isBefore(one, event) && one.token.text === token.text));
    marked.set(
      mark,
      places.filter((place) => !isCopy(place)),
    );
  }
  const known = new Set([...ledger.entries.values()].map(({ placed }) => placed?.session));
  return { count, marked, deleted, strangers: [...deleted].some((session) => !known.has(session)) };
}

const queued: ReadonlySet<string> = new Set(["input.received", "message.received"]);

const isBefore = ({ event }: Place, { session, type }: SessionEvent): boolean =>
  event.session !== session && event.type === type && event.session < session;

/** What is wrong with one write. */
function flawsOf(entry: Entry, places: readonly Place[], { deleted, strangers }: Holding): string[] {
  const { mark, verb, parts, placed, refusal } = entry;
  const name = `${mark} (${verb} of ${parts})`;
  const there = places.map(({ token, event }) => `${token.part} at ${event.session} ${event.seq}`).join(", ");
  const gone = placed === null ? deleted.has(entry.session) : deleted.has(placed.session);
  if (parts === 0) return [];
  if (places.length === 0) {
    const lost = placed !== null && (verb === "delete" || !gone);
    return lost ? [`${name} was acknowledged at ${placed.session} ${placed.seq} and is not there`] : [];
  }
  if (refusal !== null && placed === null && !entry.again && expectedCodes.has(refusal.code))
    return [`${name} was refused and is there: ${there}`];
  // Of a cleared session either half, the closed one or the next, may have been deleted since.
  const half =
    verb === "clear" &&
    places.length === 1 &&
    (places[0]?.token.part === 1 ? gone || strangers : deleted.has(entry.session));
  const order = places.map(({ token }) => token.part);
  // The two logs of a message come in either order.
  const inOrder = verb === "send" ? order.toSorted((one, other) => one - other) : order;
  const complete = places.length === parts && inOrder.every((part, place) => part === place + 1);
  if (!complete && !half) return [`${name} is neither whole nor absent: ${there}`];
  return [...placeFlaws(entry, places), ...places.flatMap((place) => contentFlaws(name, place))];
}

function placeFlaws({ mark, verb, parts, placed }: Entry, places: readonly Place[]): string[] {
  // An agent is told without its position.
  if (verb === "delete" || verb === "agent") return [];
  if (verb === "send") {
    const own = places.filter(({ token }) => token.part === 1);
    return placeFlaws({ mark, verb: "sent", parts: 1, placed } as Entry, own);
  }
  // A clear is told by the session that it opened, which is the last of its records.
  const [first, last] = [verb === "clear" ? places.at(-1) : places[0], places.at(-1)];
  if (first === undefined || last === undefined) return [];
  const { session, seq } = first.event;
  const inOne = verb === "clear" || places.every(({ event }, step) => event.seq === seq + step);
  if (!inOne || (verb !== "clear" && last.event.session !== session))
    return [`${mark} is spread over positions from ${session} ${seq} to ${last.event.seq}`];
  if (placed === null || (verb === "clear" && first.token.part !== parts)) return [];
  const moved = placed.session !== session || placed.seq !== seq;
  const longer = placed.headSeq !== 0 && placed.headSeq !== last.event.seq;
  return moved || longer
    ? [
        `${mark} was acknowledged at ${placed.session} ${placed.seq} to ${placed.headSeq}, ` +
          `and is at ${session} ${seq} to ${last.event.seq}`,
      ]
    : [];
}

/** Contents that follow from their token are what was given to be written. */
function contentFlaws(name: string, { token, event }: Place): string[] {
  const fill = fillOf(token.text);
  const [got, expected] =
    event.type === "input.received"
      ? [event.content, { blocks: [{ type: "text", text: `${token.text} ${fill}` }] }]
      : event.type === "x.crash" && event.content !== undefined && !("fill" in (event.body as object))
        ? [event.content, { fill }]
        : [null, null];
  return JSON.stringify(got) === JSON.stringify(expected)
    ? []
    : [`${name}: record ${event.seq} of ${event.session} does not hold what was written`];
}

/** Records that were seen once and are another now, or none. */
async function changedSince(engine: Engine, sightings: readonly Sighting[]): Promise<string[]> {
  const hashes = new Map<string, readonly string[] | null>();
  const problems: string[] = [];
  for (const { session, seq, hash } of sightings) {
    const known = hashes.get(session);
    const list = known === undefined ? await hashesOf(engine, session) : known;
    hashes.set(session, list);
    if (list !== null && list[seq - 1] !== hash)
      problems.push(`record ${seq} of ${session} was read as ${hash} and is ${list[seq - 1]}`);
  }
  return problems;
}

/** Null when the session was deleted. */
async function hashesOf(engine: Engine, id: string): Promise<readonly string[] | null> {
  const session = await handleOf(engine, id);
  if (session === null) return null;
  const hashes: string[] = [];
  for await (const event of session.events()) hashes.push(event.hash);
  return hashes;
}

async function handleOf(engine: Engine, id: string): Promise<Session | null> {
  try {
    return await engine.session(id);
  } catch (error) {
    if (error instanceof SkeinError && error.code === "not-found") return null;
    throw error;
  }
}

/** Every session that is left opens, has the state that its log gives, and takes one more record. */
async function goOn(engine: Engine): Promise<string[]> {
  const problems: string[] = [];
  for (const { session: id, status, headSeq } of await rowsOf(engine)) {
    const session = await engine.session(id);
    const state = await session.fold();
    if (state.seq !== headSeq || state.standing.status !== status)
      problems.push(`${id} is ${status} at ${headSeq} in the index, ${state.standing.status} in its log`);
    if (status !== "open") continue;
    const { seq } = await session.append({ type: "x.audit" });
    if (seq !== headSeq + 1) problems.push(`${id} went on at ${seq} after ${headSeq}`);
  }
  return problems;
}

async function rowsOf(engine: Engine): Promise<SessionRow[]> {
  const rows: SessionRow[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await engine.sessions(cursor === undefined ? { limit: 500 } : { limit: 500, cursor });
    rows.push(...page.rows);
    if (page.cursor === null) return rows;
    cursor = page.cursor;
  }
}
