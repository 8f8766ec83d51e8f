/**
 * Sessions that hold the same answers: another tool copies a conversation when it resumes or forks it. A copy
 * begins as its source does, so that a label made of the first answer's id finds all of them, and the tokens
 * of an answer count in the session that was imported first.
 */
import type { EventOf } from "../../core/event.ts";
import type { SessionId } from "../../core/ids.ts";
import type { PlannedEntries, PlannedEntry } from "../../transcripts/model.ts";
import type { Deps } from "../deps.ts";
import { readEvents } from "../read/event-reader.ts";
import type { TranscriptSource } from "./history.ts";

/** Answers without an id, such as errors of the tool, may come first. */
const answersRead = 5;

/** The label of a session and of all copies of it; null when its answers have no ids. */
export async function familyOf(
  { world }: Pick<Deps, "world">,
  source: TranscriptSource,
  entries: PlannedEntries,
): Promise<string | null> {
  const answers: PlannedEntry[] = [];
  const { written } = source.plan;
  for (const entry of entries) {
    if (answers.length === answersRead) break;
    // What Skein wrote counts nowhere: the family is that of what the tool added.
    if (entry.kind === "answer" && written?.holds(entry) !== true) answers.push(entry);
  }
  for await (const entry of source.entries(answers)) {
    const id = entry.kind === "answer" ? (entry.messageId ?? entry.copyId) : undefined;
    if (id !== undefined) return world.digest("", `${source.plan.header.tool}\n${id}`).slice(0, 16);
  }
  return null;
}

/** Ids of the answers that count in other sessions of the family; forks of the session are not among them. */
export async function countedElsewhere(
  { store, writer }: Pick<Deps, "store" | "writer">,
  session: SessionId,
  family: string | undefined,
): Promise<ReadonlySet<string>> {
  const counted = new Set<string>();
  if (family === undefined) return counted;
  const own = new Set<string>([session]);
  const filter = { labels: { family } };
  const members: SessionId[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await store.list(filter, { limit: 200, ...(cursor === undefined ? {} : { cursor }) });
    members.push(...page.rows.map((row) => row.session));
    if (page.cursor === null) break;
    ({ cursor } = page);
  }
  const forks = new Map<SessionId, { readonly parent: string; readonly seq: number } | null>();
  for (const member of members) forks.set(member, (await writer.current(member)).standing.fork);
  // A branch may leave from a branch.
  for (let size = 0; size !== own.size;) {
    size = own.size;
    for (const [member, fork] of forks) if (fork !== null && own.has(fork.parent)) own.add(member);
  }
  for (const [member, fork] of forks) {
    if (own.has(member)) continue;
    const range = { fromSeq: (fork?.seq ?? 0) + 1, types: ["answer.imported"] };
    for await (const event of readEvents(store, member, range)) {
      const { body, content } = event as EventOf<"answer.imported">;
      const id = content?.messageId ?? content?.copyId;
      if (id !== undefined && body.copied !== true) counted.add(id);
    }
  }
  return counted;
}
