/** Counts what the readers of src/transcripts find in one source. */
import { findTranscripts, readTranscript, SourceFolder } from "../../src/transcripts/transcripts.ts";
import type { ForeignEntry, PlannedEntry, TranscriptPlan } from "../../src/transcripts/transcripts.ts";
import type { Counted } from "./second-reader.ts";

export interface Read {
  readonly counted: Counted;
  readonly plan: TranscriptPlan;
  readonly entries: readonly ForeignEntry[];
  readonly all: readonly ForeignEntry[];
}

/** The first session of a file, or the one with this id. */
export async function readAll(format: string, path: string, sourceId?: string): Promise<Read> {
  await using folder = new SourceFolder(path);
  const sessions = await findTranscripts(format, folder);
  const found = sessions.find((one) =>
    sourceId === undefined ? one.parentId === null : one.sourceId === sourceId,
  );
  if (found === undefined) throw new Error(`${path}: no session ${sourceId ?? ""} of ${format}`);
  const session = await readTranscript(folder, found);
  const load = async (planned: readonly PlannedEntry[]): Promise<ForeignEntry[]> => {
    const entries: ForeignEntry[] = [];
    for (const one of planned) entries.push(await session.entry(one));
    return entries;
  };
  const { plan } = session;
  const entries = await load([...plan.entries]);
  const others = [...plan.branches, ...plan.children].flatMap((one) => [...one.entries]);
  const all = [...entries, ...(await load(others))];
  return { counted: countEntries(all), plan, entries, all };
}

export function countEntries(entries: readonly ForeignEntry[]): Counted {
  const answers = entries.filter((entry) => entry.kind === "answer");
  const calls = answers.flatMap((answer) => answer.calls);
  return {
    inputs: entries.filter(({ kind }) => kind === "input").length,
    answers: answers.length,
    calls: calls.length,
    paired: calls.filter(({ status }) => status !== "unknown").length,
    compactions: entries.filter(({ kind }) => kind === "compaction").length,
    inputTokens: answers.reduce((sum, { usage }) => sum + (usage?.inputTokens ?? 0), 0),
    outputTokens: answers.reduce((sum, { usage }) => sum + (usage?.outputTokens ?? 0), 0),
  };
}
