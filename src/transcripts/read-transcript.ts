/**
 * Reads a session in two passes: the first scans every record and plans the order, the second reads the
 * records of each entry by their ranges. Only one entry is in memory at a time.
 */
import { createHash } from "node:crypto";
import { SkeinError } from "../core/error.ts";
import type { TranscriptFormat } from "./format/format.ts";
import { formatNamed } from "./formats.ts";
import type {
  ForeignEntry,
  FoundTranscript,
  PlannedEntry,
  SourceRange,
  SourceRecord,
  Transcript,
  TranscriptPlan,
  TranscriptReader,
} from "./model.ts";
import { splitElements } from "./read/json-elements.ts";
import { splitLines } from "./read/json-lines.ts";
import type { SourceFolder } from "./read/source-folder.ts";
import type { RecordSink, Splitter } from "./read/splitter.ts";
import { scanRows } from "./read/sqlite-copy.ts";

/** Options of `readTranscript`. */
export interface ReadTranscriptOptions {
  /** Called with the number of bytes scanned so far. */
  readonly progress?: (bytes: number) => void;
  /** Computes the digest of the session's own file. */
  readonly digest?: boolean;
  /** Computes the digest of so many bytes at its beginning, too. */
  readonly beginningBytes?: number;
}

/** A session that is open for reading. Close it: it holds files and perhaps a scratch folder. */
export interface OpenTranscript extends AsyncDisposable {
  readonly plan: TranscriptPlan;
  /** SHA-256 of the session's own file, or of its piece of one, as it was scanned; null if not wanted. */
  readonly digest: string | null;
  /** SHA-256 of `beginningBytes`; null if it is not wanted, or the file is shorter. */
  readonly beginningDigest: string | null;
  /** Bytes that the digest covers. */
  readonly digestBytes: number;
  /** The entries of the main path, in order. */
  entries(): AsyncGenerator<ForeignEntry>;
  /** Any planned entry: of a branch, of a child. */
  entry(planned: PlannedEntry): Promise<ForeignEntry>;
  /** The bytes of a range as the source has them; in `into`, if they fit. A row of a database is its JSON. */
  bytes(range: SourceRange, into?: Buffer): Promise<Buffer>;
  close(): Promise<void>;
}

/** The sessions that a format finds below a path. The caller closes the folder. */
export async function findTranscripts(format: string, folder: SourceFolder): Promise<FoundTranscript[]> {
  return formatNamed(format).find(folder);
}

/**
 * Opens a session for reading.
 *
 * @example
 *   const folder = new SourceFolder("/home/me/.claude/projects");
 *   const [found] = await findTranscripts("claude-code", folder);
 *   if (found !== undefined) {
 *     await using session = await readTranscript(folder, found);
 *     for await (const entry of session.entries()) console.log(entry.kind, entry.id);
 *   }
 */
export async function readTranscript(
  folder: SourceFolder,
  found: FoundTranscript,
  options: ReadTranscriptOptions = {},
): Promise<OpenTranscript> {
  const format = formatNamed(found.tool);
  try {
    return await openOnce(folder, format, found, options);
  } catch (error) {
    // A file that its tool rewrote while it was read is read again, once.
    if (!(error instanceof SkeinError) || error.code !== "conflict") throw error;
    await folder.close();
    return openOnce(folder, format, found, options);
  }
}

async function openOnce(
  folder: SourceFolder,
  format: TranscriptFormat,
  found: FoundTranscript,
  { progress, digest = false, beginningBytes = 0 }: ReadTranscriptOptions,
): Promise<OpenTranscript> {
  const reader = format.reader(found);
  let scanned = 0;
  const count = (bytes: number): void => progress?.((scanned += bytes));
  const hash = digest ? new FileDigest(beginningBytes) : null;
  for (const file of found.files) {
    const own = file === found.files[0] ? hash : null;
    await scanFile({ folder, format, found, file, reader, count, hash: own });
  }
  const plan = withPath(reader.plan());
  const entry = async (planned: PlannedEntry): Promise<ForeignEntry> => {
    const records: SourceRecord[] = [];
    for (const range of planned.records) records.push({ ...range, value: await folder.readValue(range) });
    return reader.entry(planned, records);
  };
  return {
    plan,
    digest: hash?.whole() ?? null,
    beginningDigest: hash?.beginning ?? null,
    digestBytes: hash?.bytes ?? 0,
    entry,
    async *entries() {
      for (const planned of plan.entries) yield await entry(planned);
    },
    bytes: (range, into) => folder.readBytes(range, into),
    close: () => folder.close(),
    [Symbol.asyncDispose]: () => folder.close(),
  };
}

/** A tool can take back all that was said. The branch that it left takes the place of the empty path. */
function withPath(plan: TranscriptPlan): TranscriptPlan {
  const last = plan.branches.findLast(({ after }) => after === null);
  if (plan.entries.length > 0 || last === undefined) return plan;
  return { ...plan, entries: last.entries, branches: plan.branches.filter((one) => one !== last) };
}

/** The digest of a file, and on the way that of its beginning. */
class FileDigest {
  readonly #hash = createHash("sha256");
  readonly #beginningBytes: number;
  bytes = 0;
  beginning: string | null = null;

  constructor(beginningBytes: number) {
    this.#beginningBytes = beginningBytes;
  }

  update(chunk: Buffer): void {
    const left = this.#beginningBytes - this.bytes;
    if (left > 0 && left <= chunk.length) {
      this.#hash.update(chunk.subarray(0, left));
      this.beginning = this.#hash.copy().digest("hex");
      this.#hash.update(chunk.subarray(left));
    } else this.#hash.update(chunk);
    this.bytes += chunk.length;
  }

  whole(): string {
    return this.#hash.digest("hex");
  }
}

interface FileScan {
  readonly folder: SourceFolder;
  readonly format: TranscriptFormat;
  readonly found: FoundTranscript;
  readonly file: string;
  readonly reader: TranscriptReader;
  readonly count: (bytes: number) => void;
  readonly hash: FileDigest | null;
}

async function scanFile({ folder, format, found, file, reader, count, hash }: FileScan): Promise<void> {
  const splitting = format.split(found, file);
  if (splitting.by === "nothing") return;
  const sink: RecordSink = {
    record: (record) => reader.scan(record),
    damage: (range, reason) => reader.damage(range, reason),
  };
  if (splitting.by === "rows") {
    const database = await folder.database(file);
    for (const query of splitting.queries) scanRows(database, file, query, sink);
    return;
  }
  const { from = 0, to = Infinity } = found.piece?.file === file ? found.piece : {};
  const inner = splitterOf(splitting, file, sink, from);
  const push = (chunk: Buffer): void => {
    hash?.update(chunk);
    inner.push(chunk);
  };
  await folder.scan(file, { push, end: () => inner.end() }, { from, to, progress: count });
}

function splitterOf(
  splitting: { readonly by: "lines" | "document" | "field"; readonly field?: string },
  file: string,
  sink: RecordSink,
  start: number,
): Splitter {
  if (splitting.by === "lines") return splitLines(file, sink, start);
  if (splitting.by === "field") return splitElements(file, sink, { container: splitting.field ?? "", start });
  // A whole document: its fields come as one record, none of them is split.
  return splitElements(file, sink, { container: "\u0000", start });
}

/** A whole session in memory, with its plan. For small ones; `readTranscript` streams large ones. */
export async function loadTranscript(
  folder: SourceFolder,
  found: FoundTranscript,
  options: ReadTranscriptOptions = {},
): Promise<Transcript & { readonly plan: TranscriptPlan }> {
  const session = await readTranscript(folder, found, options);
  const entries: ForeignEntry[] = [];
  for await (const entry of session.entries()) entries.push(entry);
  return { header: session.plan.header, entries, tasks: session.plan.tasks, plan: session.plan };
}
