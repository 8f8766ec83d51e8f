/**
 * Sessions that went on as others: what was expected of one is expected of the next, once. Read from the logs
 * of both, at the append that ended one and opened the other.
 */
import type { StoredRecord } from "../../src/core/chain.ts";
import type { SessionId } from "../../src/core/ids.ts";
import type { State } from "../../src/core/state.ts";

type Blame = (text: string) => void;

/** A log, and its states by position. */
export interface Told {
  readonly records: readonly StoredRecord[];
  readonly states: readonly State[];
  /** The position of the last record of the append that opened it. */
  readonly openedSeq: number;
}

/** One that closed, and the one that it went on as. */
interface Link {
  readonly from: SessionId;
  readonly to: SessionId;
  /** The position at which the append began that closed it. */
  readonly seq: number;
}

/** The records that only copy what waited in the session before. */
export const isCarried = (record: StoredRecord, openedSeq: number): boolean =>
  record.seq <= openedSeq && (record.type === "input.received" || record.type === "message.received");

export function judgeChains(
  logs: ReadonlyMap<SessionId, Told>,
  note: (kind: string) => void,
  blame: Blame,
): void {
  const opened = new Set<string>();
  for (const [session, { records }] of logs)
    for (const link of linksOf(session, records)) {
      note("went on");
      const wrong: Blame = (text) => blame(`${link.from}@${link.seq} to ${link.to}: ${text}`);
      if (opened.has(link.to)) wrong("it went on from another one, too");
      opened.add(link.to);
      const [before, after] = [logs.get(link.from), logs.get(link.to)];
      if (before === undefined || after === undefined) wrong("it is not there");
      else judgeLink(link, before, after, wrong);
    }
}

function linksOf(from: SessionId, records: readonly StoredRecord[]): Link[] {
  const links: Link[] = [];
  for (const [place, { type, body, session }] of records.entries()) {
    if (type !== "session.continued" || session !== from || records[place - 1]?.type !== "session.closed")
      continue;
    const { to } = JSON.parse(body) as { readonly to: SessionId };
    let first = place - 1;
    while (ended.has(records[first - 1]?.type ?? "")) first -= 1;
    links.push({ from, to, seq: records[first]?.seq ?? 0 });
  }
  return links;
}

/** What the same append has before the end of a session. */
const ended: ReadonlySet<string> = new Set(["budget.set", "trigger.removed"]);

function judgeLink(link: Link, before: Told, after: Told, blame: Blame): void {
  const [was, is] = [before.states[link.seq - 1], after.states[after.openedSeq]];
  if (was === undefined || is === undefined) return blame("it has no state there");
  // A fork counts its inputs anew.
  const own = before.records.slice(before.records.findLastIndex(({ type }) => type === "session.forked") + 1);
  const waited = textsIn(own, (input) => isWaiting(was, input));
  const carried = textsIn(
    after.records.filter(({ seq }) => seq <= after.openedSeq),
    () => true,
  );
  if (waited.join() !== carried.join()) blame(`takes over ${carried.join()} of ${waited.join()}`);
  for (const [name, { kind, nextMs }] of was.standing.triggers.entries()) {
    const now = is.standing.triggers.get(name);
    const isOver = kind === "at" && nextMs === null;
    if (isOver ? now !== undefined : now?.nextMs !== nextMs)
      blame(`trigger ${name} goes on with ${now?.nextMs}, and ${nextMs} was next`);
  }
  for (const name of ["tokens", "nanoUsd", "steps", "toolCalls"] as const) {
    const most = was.standing.limits[name];
    if (most === undefined) continue;
    // A call whose end is not known may have cost what was set aside for it; children have their share.
    const { used, allotted, reserved } = was.standing;
    const left = Math.max(0, most - used[name] - allotted[name] - (reserved?.amounts[name] ?? 0));
    if (is.standing.limits[name] !== left)
      blame(`${is.standing.limits[name]} ${name} go over, and ${left} are left`);
  }
}

const isWaiting = ({ standing }: State, input: number): boolean =>
  standing.inbox.waiting.some(([from, to]) => from <= input && input <= to);

function textsIn(records: readonly StoredRecord[], isMeant: (input: number) => boolean): string[] {
  return records.flatMap(({ type, body, content }) => {
    if (type !== "input.received" && type !== "message.received") return [];
    // Says that the turn goes on, where it was in the middle of one.
    if ((JSON.parse(body) as { readonly from?: string }).from === "system") return [];
    if (!isMeant((JSON.parse(body) as { readonly input: number }).input)) return [];
    return [JSON.stringify((JSON.parse(content ?? "{}") as { readonly blocks?: unknown }).blocks)];
  });
}
