/** The model itself as JSON lines, without loss: a header, the entries, the tasks. */
import { SkeinError } from "../../core/error.ts";
import type {
  ForeignEntry,
  Transcript,
  TranscriptHeader,
  TranscriptTask,
  WrittenTranscript,
} from "../model.ts";

export function writeJsonl({ header, entries, tasks }: Transcript): WrittenTranscript {
  const lines = [
    { type: "transcript", version: 1, header },
    ...entries.map((entry) => ({ type: "entry", entry })),
    ...tasks.map((task) => ({ type: "task", task })),
  ];
  const name = header.sourceId.replace(/[^A-Za-z0-9._-]/g, "-").slice(0, 100);
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  return { path: `${header.tool}-${name}.jsonl`, text, sessionId: null, left: [] };
}

/** Reads what `writeJsonl` wrote. */
export function parseTranscript(text: string): Transcript {
  let header: TranscriptHeader | undefined;
  const entries: ForeignEntry[] = [];
  const tasks: TranscriptTask[] = [];
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const value = JSON.parse(line) as
      | { readonly type: "transcript"; readonly header: TranscriptHeader }
      | { readonly type: "entry"; readonly entry: ForeignEntry }
      | { readonly type: "task"; readonly task: TranscriptTask };
    if (value.type === "transcript") header = value.header;
    else if (value.type === "entry") entries.push(value.entry);
    else tasks.push(value.task);
  }
  if (header === undefined)
    throw new SkeinError("invalid", "transcript: expected a header line, got none", {
      hint: "skein convert FROM jsonl FILE writes such a file",
    });
  return { header, entries, tasks };
}
