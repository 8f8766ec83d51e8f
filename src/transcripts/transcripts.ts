/** The subpath `skein/transcripts`: reads and writes the sessions of other tools, without a store. */
export { formatNamed, transcriptFormats } from "./formats.ts";
export { importTranscripts } from "./import.ts";
export type {
  ImportedTranscript,
  ImportProgress,
  ImportTranscriptsOptions,
  TranscriptTarget,
} from "./import.ts";
export type { TextRedactor } from "./safe-plan.ts";
export { watchTranscripts } from "./watch.ts";
export type { WatchTranscriptsOptions } from "./watch.ts";
export { installPath, installTranscript, resumeCommand } from "./install.ts";
export { findTranscripts, loadTranscript, readTranscript } from "./read-transcript.ts";
export type { OpenTranscript, ReadTranscriptOptions } from "./read-transcript.ts";
export { checkTarget, transcriptTargets, writeTranscript } from "./writers.ts";
export { parseTranscript } from "./write/jsonl.ts";
export { SourceFolder } from "./read/source-folder.ts";
export type { SourceFile, UnreadableSource } from "./read/source-folder.ts";
export type { RowQuery } from "./read/sqlite-copy.ts";
export type { RecordSink, Splitter } from "./read/splitter.ts";
export type { HomeFolders, RecordSplit, TranscriptFormat } from "./format/format.ts";
export type {
  ForeignEntry,
  FoundTranscript,
  PlannedBranch,
  PlannedChild,
  PlannedEntries,
  PlannedEntry,
  SourceRange,
  SourceRecord,
  Transcript,
  TranscriptBlock,
  TranscriptCall,
  TranscriptHeader,
  TranscriptPlan,
  TranscriptReader,
  TranscriptReport,
  TranscriptTask,
  TranscriptUsage,
  WrittenBySkein,
  WrittenTranscript,
} from "./model.ts";
