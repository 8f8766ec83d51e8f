/**
 * Imports sessions of other tools into an engine: finds them, filters them, reads each and hands it over.
 * One that cannot be read is reported; the others are still imported.
 */
import { createHash } from "node:crypto";
import { SkeinError } from "../core/error.ts";
import type { SessionId } from "../core/ids.ts";
import { present } from "../core/present.ts";
import { plural } from "../core/text/number-format.ts";
import type { OriginalChunk } from "../runtime/transfer/history-original.ts";
import type {
  ImportTranscriptOptions,
  ImportTranscriptReport,
  TranscriptSource,
} from "../runtime/transfer/history.ts";
import { quote } from "../core/ids.ts";
import type { HomeFolders } from "./format/format.ts";
import { formatNamed } from "./formats.ts";
import type { FoundTranscript, PlannedEntries, SourceRange, TranscriptPlan } from "./model.ts";
import { readTranscript, type OpenTranscript } from "./read-transcript.ts";
import { redactOf, safePlan, titledPlan, type Redact, type TextRedactor } from "./safe-plan.ts";
import { SourceFolder, type UnreadableSource } from "./read/source-folder.ts";
import { detectRoots, ownFiles, type TranscriptRoot } from "./transcript-roots.ts";

/** The part of an engine that takes a transcript. */
export interface TranscriptTarget extends Partial<TextRedactor> {
  importTranscript(
    source: TranscriptSource,
    options?: ImportTranscriptOptions,
  ): Promise<ImportTranscriptReport>;
}

/** Options of `importTranscripts`. */
export interface ImportTranscriptsOptions extends Pick<
  ImportTranscriptOptions,
  "again" | "withoutOriginal" | "price" | "inProgress" | "verbatim"
> {
  /** The name of a format, or `auto` for all of them. */
  readonly tool: string;
  /** A folder or a file; by default where the tool keeps its sessions. */
  readonly path?: string;
  /** This machine: where the tools' folders are, and the time now, to tell a session in progress. */
  readonly machine: HomeFolders & { readonly nowMs: number };
  /** Only sessions whose working directory contains this text. Case does not count. */
  readonly project?: string;
  /** Only sessions whose files changed at or after this moment. */
  readonly sinceMs?: number;
  /** Only sessions with this text in their title or in what was said. Case does not count. */
  readonly text?: string;
  /** Reads and reports, and writes nothing. */
  readonly dryRun?: boolean;
  /** Called while one session is read or written. */
  readonly progress?: (progress: ImportProgress) => void;
}

/** How far the import of one session is. */
export interface ImportProgress {
  readonly found: FoundTranscript;
  /** Its place among the sessions that were found, from 1. */
  readonly number: number;
  readonly of: number;
  /** Bytes read so far, of the session's size; then entries written. */
  readonly bytes: number;
  readonly entries: number;
}

/** What became of one session that was found. */
export interface ImportedTranscript {
  readonly found: FoundTranscript;
  /** `found`: a dry run. `excluded`: a filter left it out. `failed`: see `reason`. */
  readonly status: ImportTranscriptReport["status"] | "found" | "excluded" | "failed";
  readonly reason: string | null;
  readonly session: SessionId | null;
  /** The session that Skein exported this one from, when it is in this store. */
  readonly origin: SessionId | null;
  readonly branches: readonly SessionId[];
  /** Subagents whose records lie in the same file. */
  readonly children: readonly SessionId[];
  /** Entries that were written now. */
  readonly added: number;
  /** Secrets removed on the way in; null when nothing was read anew, or with `verbatim`. */
  readonly redactions: ImportTranscriptReport["redactions"];
  readonly plan: TranscriptPlan | null;
}

/** A session whose last answer still waits for a result is in progress for so long after its last change. */
const inProgressMs = 600_000;

/**
 * Imports the sessions of a tool, parents before the sessions that they started. Nothing is run, and what was
 * imported before is not imported twice.
 *
 * @example
 *   const machine = { home: homedir(), env: process.env, nowMs: Date.now() };
 *   for await (const one of importTranscripts(engine, { tool: "claude-code", machine }))
 *     console.log(one.status, one.session, one.plan?.header.title);
 */
export async function* importTranscripts(
  engine: TranscriptTarget,
  options: ImportTranscriptsOptions,
): AsyncGenerator<ImportedTranscript> {
  const roots = await detectRoots(options);
  const family = new ImportedFamily();
  const reported = new Set<string>();
  for (const root of roots) {
    const { folder, all, failures, error } = await findIn(root);
    try {
      // A file that the caller named is the only source: nothing else is left to import.
      if (error !== null && (folder?.only ?? null) !== null) throw error;
      for (const unread of [...failures, ...notFollowed(root, folder)]) {
        // With `auto` each format lists the same folder.
        const key = `${root.path}\n${unread.found.sourceId}`;
        if (!reported.has(key)) yield unread;
        reported.add(key);
      }
      if (folder === null) continue;
      for (const [place, found] of all.entries()) {
        const result = await importOne(engine, folder, found, {
          ...options,
          family,
          tell: (bytes, entries) =>
            options.progress?.({ found, number: place + 1, of: all.length, bytes, entries }),
        });
        family.add(result);
        yield result;
      }
    } finally {
      await folder?.close();
    }
  }
}

/** The sessions of a root, and a failure for each part of it that cannot be read. */
export interface FoundInRoot {
  /** The caller closes it. Null when the root cannot be opened. */
  readonly folder: SourceFolder | null;
  readonly all: readonly FoundTranscript[];
  readonly failures: readonly ImportedTranscript[];
  /** The error that left the whole root unread. */
  readonly error: SkeinError | null;
}

/** One source that cannot be read leaves the others: of its folder, and of other tools. */
export async function findIn(
  { format, path, isShared = false }: TranscriptRoot,
  opened: SourceFolder | null = null,
): Promise<FoundInRoot> {
  let folder = opened;
  let all: readonly FoundTranscript[] = [];
  let failure: SkeinError | null = null;
  const unreadable: UnreadableSource[] = [];
  try {
    folder ??= new SourceFolder(path);
    all = parentsFirst(await format.find(folder));
    if (isShared && folder.only === null) all = await ownFiles(format, folder, all);
  } catch (error) {
    if (!(error instanceof SkeinError)) {
      await folder?.close();
      throw error;
    }
    failure = error;
    unreadable.push({ path, reason: error.message });
  }
  unreadable.push(...(folder?.unreadable ?? []));
  const failures = unreadable.map((one) => unreadableResult(format.name, one));
  return { folder, all, failures, error: failure };
}

/** Of a folder: beside a file that was given alone they do not matter. */
const notFollowed = ({ format }: TranscriptRoot, folder: SourceFolder | null): ImportedTranscript[] =>
  (folder?.only === null ? folder.refused : []).map((path) => ({
    ...unreadableResult(format.name, { path, reason: "links and devices are not followed" }),
    status: "excluded",
  }));

/** The path stands in place of the session's id, which nothing has read. */
const unreadableResult = (tool: string, { path, reason }: UnreadableSource): ImportedTranscript => ({
  ...notImported({
    tool,
    sourceId: path,
    files: [path],
    piece: null,
    parentId: null,
    bytes: 0,
    modifiedAtMs: 0,
  }),
  status: "failed",
  reason,
});

/** Sessions imported so far, and the calls that started others. */
export class ImportedFamily {
  readonly #sessions = new Map<string, SessionId>();
  readonly #calls = new Map<string, string>();

  add({ found, session, plan }: ImportedTranscript): void {
    if (session !== null) this.#sessions.set(plan?.header.sourceId ?? found.sourceId, session);
    for (const { sourceId, call } of plan?.children ?? []) if (call !== null) this.#calls.set(sourceId, call);
  }

  /** The session that started one, and the call that did. */
  parentOf(
    { parentId }: FoundTranscript,
    { header }: TranscriptPlan,
  ): Pick<ImportTranscriptOptions, "parent" | "parentCall"> {
    const parent = this.#sessions.get(parentId ?? header.parentId ?? "");
    return parent === undefined
      ? {}
      : { parent, ...present({ parentCall: this.#calls.get(header.sourceId) }) };
  }
}

const parentsFirst = (all: readonly FoundTranscript[]): FoundTranscript[] =>
  all.toSorted((a, b) => Number(a.parentId !== null) - Number(b.parentId !== null));

interface OneOptions extends ImportTranscriptsOptions {
  readonly family: ImportedFamily;
  /** Its file changed a moment ago: more of its last answer may follow. */
  readonly isBusy?: boolean;
  /** What its file held at the last look. Each look replaces it. */
  readonly before?: FileBefore;
  readonly tell: (bytes: number, entries: number) => void;
}

/** The bytes of a file when it was imported last: tools append to it, so that they still begin it. */
export interface FileBefore {
  bytes: number;
  /** Null before the first look, and when the log does not hold what the file held. */
  digest: string | null;
}

/** Reads one session and imports it. A `SkeinError` becomes a result with the status `failed`. */
export async function importOne(
  engine: TranscriptTarget,
  folder: SourceFolder,
  found: FoundTranscript,
  options: OneOptions,
): Promise<ImportedTranscript> {
  const result = await importOnce(engine, folder, found, options);
  if (!(result instanceof SkeinError)) return result;
  // Its tool rewrote the file, or another import was faster: the newest is read.
  await folder.close();
  try {
    const bytes = found.piece === null ? await folder.size(found.files[0] ?? "") : found.bytes;
    const again = await importOnce(engine, folder, { ...found, bytes }, options);
    return again instanceof SkeinError ? failed(found, again) : again;
  } catch (error) {
    // Its tool removed the file meanwhile.
    if (!(error instanceof SkeinError)) throw error;
    return failed(found, error);
  }
}

const failed = (found: FoundTranscript, error: SkeinError): ImportedTranscript => ({
  ...notImported(found),
  status: "failed",
  reason: error.message,
});

const notImported = (found: FoundTranscript) => ({
  found,
  reason: null,
  session: null,
  origin: null,
  branches: [],
  children: [],
  added: 0,
  redactions: null,
  plan: null,
});

/** An error when the source changed meanwhile. */
async function importOnce(
  engine: TranscriptTarget,
  folder: SourceFolder,
  found: FoundTranscript,
  options: OneOptions,
): Promise<ImportedTranscript | SkeinError> {
  const nothing = notImported(found);
  if (options.sinceMs !== undefined && found.modifiedAtMs < options.sinceMs)
    return { ...nothing, status: "excluded" };
  try {
    const { before } = options;
    const open = await readTranscript(folder, found, {
      // Only files of lines keep their beginning; the rows of a database would all be read.
      digest: options.inProgress !== true || (before !== undefined && isLines(found)),
      ...(before === undefined || before.digest === null ? {} : { beginningBytes: before.bytes }),
      progress: (bytes) => options.tell(bytes, 0),
    });
    const redact = redactFor(engine, options);
    const titled = await titledPlan(open, open.plan, redact);
    const plan = safePlan(titled, redact);
    if (plan.entries.length === 0 && options.inProgress !== true)
      return isGivenFile(folder, options) ? failed(found, withoutMessages(found)) : emptyResult(found, plan);
    if (!(await isWanted(open, plan, options))) return { ...nothing, plan, status: "excluded" };
    if (options.dryRun === true) {
      const { written } = plan;
      const reason = written === undefined ? null : exportReason(written.session);
      return { ...nothing, plan, status: "found", reason };
    }
    const { again, withoutOriginal, price, inProgress, verbatim } = options;
    const endsOpen =
      (inProgress === true && isBeingWritten(found, plan, options.isBusy === true)) ||
      (await isOpenEnd(open, found, options.machine.nowMs));
    if (plan.entries.length <= Number(endsOpen))
      return { ...nothing, plan, status: "excluded", reason: inProgress === true ? null : waitsReason };
    const { status, session, origin, added, branches, children, redactions } = await engine.importTranscript(
      { ...(await sourceOf(open, found, titled)), endsOpen, unchangedBytes: unchangedIn(open, before) },
      {
        progress: (entries) => options.tell(found.bytes, entries),
        ...present({ again, withoutOriginal, price, verbatim, inProgress }),
        ...options.family.parentOf(found, plan),
      },
    );
    if (before !== undefined) {
      before.bytes = open.digestBytes;
      const isHeld = ["new", "grown", "same"].includes(status) && isLines(found);
      before.digest = isHeld ? open.digest : null;
    }
    const reason = status === "exported" ? exportReason(session) : null;
    return { found, status, reason, session, origin, branches, children, added, redactions, plan };
  } catch (error) {
    if (!(error instanceof SkeinError)) throw error;
    return error.code === "conflict" ? error : failed(found, error);
  }
}

/** Bytes at the beginning of the file that are those of the last look. */
const unchangedIn = ({ beginningDigest }: OpenTranscript, before: FileBefore | undefined): number =>
  before !== undefined && before.digest !== null && beginningDigest === before.digest ? before.bytes : 0;

const exportReason = (session: string): string => `Skein exported it from ${session}`;

const isGivenFile = ({ only }: SourceFolder, { path }: OneOptions): boolean =>
  path !== undefined && only !== null;

const withoutMessages = ({ tool, files }: FoundTranscript): SkeinError => {
  const { title, expects } = formatNamed(tool);
  return new SkeinError("invalid", `${quote(files[0] ?? "")}: no messages of ${title}; expected ${expects}`);
};

const waitsReason = "its only answer still waits for results";

/** Tools write a file before anything is said. A file in another format is skipped. */
function emptyResult(found: FoundTranscript, plan: TranscriptPlan): ImportedTranscript {
  const { unknownTypes, damagedCount } = plan.report;
  const unknown = Object.keys(unknownTypes);
  const names = unknown.slice(0, 5).map(quote).join(", ") + (unknown.length > 5 ? ", …" : "");
  const unread = [
    ...(unknown.length === 0 ? [] : [`only records of unknown kinds: ${names}`]),
    ...(damagedCount === 0 ? [] : [plural(damagedCount, "damaged record")]),
  ];
  const empty = { ...notImported(found), plan };
  if (unread.length === 0) return { ...empty, status: "excluded", reason: "no messages" };
  return { ...empty, status: "failed", reason: `no messages; ${unread.join("; ")}` };
}

/** Whether the last answer still waits for results. Imported now, its calls would never have an outcome. */
async function isOpenEnd(
  { plan, entry }: OpenTranscript,
  { modifiedAtMs }: FoundTranscript,
  nowMs: number,
): Promise<boolean> {
  const last = plan.entries.at(-1);
  if (last?.kind !== "answer" || nowMs - modifiedAtMs > inProgressMs) return false;
  const answer = await entry(last);
  return answer.kind === "answer" && answer.calls.some(({ status }) => status === "unknown");
}

/**
 * Files of lines only grow. Rows and documents change in place: their last answer waits for its end. A
 * compaction is several records, and more always follows it.
 */
function isBeingWritten(found: FoundTranscript, { entries }: TranscriptPlan, isBusy: boolean): boolean {
  const last = entries.at(-1)?.kind;
  return last === "compaction" || (last === "answer" && (isBusy || !isLines(found)));
}

const isLines = (found: FoundTranscript): boolean =>
  formatNamed(found.tool).split(found, found.files[0] ?? "").by === "lines";

const redactFor = (engine: TranscriptTarget, { verbatim }: Pick<OneOptions, "verbatim">): Redact =>
  verbatim === true ? (text) => text : redactOf(engine);

async function isWanted(
  open: OpenTranscript,
  { header }: TranscriptPlan,
  { project, text }: ImportTranscriptsOptions,
): Promise<boolean> {
  if (project !== undefined && !(header.cwd ?? "").toLowerCase().includes(project.toLowerCase()))
    return false;
  if (text === undefined) return true;
  const wanted = text.toLowerCase();
  if ((header.title ?? "").toLowerCase().includes(wanted)) return true;
  for await (const entry of open.entries()) {
    const blocks = entry.kind === "compaction" ? [] : entry.blocks;
    if (blocks.some((block) => block.type === "text" && block.text.toLowerCase().includes(wanted)))
      return true;
  }
  return false;
}

const chunkBytes = 1_048_576;

async function sourceOf(
  open: OpenTranscript,
  found: FoundTranscript,
  plan: TranscriptPlan,
): Promise<TranscriptSource> {
  const hash = createHash("sha256");
  // A database has no file per session: its rows are digested.
  const isFile = inFile(found, plan);
  if (open.digest !== null && !isFile)
    for await (const { bytes } of originalOf(open, found, plan)) hash.update(bytes);
  const file = found.files[0] ?? found.sourceId;
  return {
    plan,
    file,
    bytes: found.bytes,
    digest: (isFile ? open.digest : null) ?? hash.digest("hex"),
    async *entries(planned: PlannedEntries) {
      for (const one of planned) yield await open.entry(one);
    },
    original: () => originalOf(open, found, plan),
  };
}

const inFile = ({ files }: FoundTranscript, { entries }: TranscriptPlan): boolean =>
  Iterator.from(entries).some(({ records }) => records.some(({ file }) => file === files[0]));

/** The session's own file, or its piece of one. The rows of a database stand as lines of JSON. */
async function* originalOf(
  open: OpenTranscript,
  found: FoundTranscript,
  plan: TranscriptPlan,
): AsyncGenerator<OriginalChunk> {
  const file = found.files[0] ?? "";
  if (!inFile(found, plan)) {
    for (const { records } of plan.entries)
      for (const source of records) {
        const bytes = await open.bytes(source);
        yield { bytes, source, isRow: source.to - source.from !== bytes.length };
        yield { bytes: lineEnd, source: { file: "", from: 0, to: 1 } };
      }
    return;
  }
  const whole: SourceRange = found.piece ?? { file, from: 0, to: found.bytes };
  const chunk = Buffer.allocUnsafeSlow(Math.min(chunkBytes, Math.max(0, whole.to - whole.from)));
  for (let from = whole.from; from < whole.to; from += chunkBytes) {
    const source = { file: whole.file, from, to: Math.min(whole.to, from + chunkBytes) };
    yield { bytes: await open.bytes(source, chunk), source };
  }
}

const lineEnd = Buffer.from("\n");
