/**
 * Sessions of other tools on this machine, for callers who are not on it: found by opaque keys, previewed,
 * imported, and uploaded. A caller never names a path; the roots are those that the operator allows.
 */
import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { SkeinError } from "../core/error.ts";
import { present } from "../core/present.ts";
import type { TokenPrice } from "../core/budget/price.ts";
import type { HomeFolders } from "./format/format.ts";
import { firstBytes, peekBytes } from "./detect-format.ts";
import { formatNamed, transcriptFormats } from "./formats.ts";
import {
  findIn,
  ImportedFamily,
  importOne,
  importTranscripts,
  type ImportedTranscript,
  type TranscriptTarget,
} from "./import.ts";
import type { ForeignEntry, FoundTranscript, TranscriptBlock, TranscriptPlan } from "./model.ts";
import { readTranscript } from "./read-transcript.ts";
import { SourceFolder } from "./read/source-folder.ts";
import { isThere, rootsOf, type TranscriptRoot } from "./transcript-roots.ts";
import { listArchive } from "./read/unpack.ts";
import { redactOf, safePlan, safeStart, titledPlan, type Redact, type TextRedactor } from "./safe-plan.ts";

/** What `LocalTranscripts` may read. */
export interface LocalTranscriptsOptions {
  /** Folders of tools, or homes that hold them. `home`: those of this user. Null: only uploads. */
  readonly from: "home" | readonly string[] | null;
  readonly machine: HomeFolders;
  readonly now: () => number;
  readonly price?: (model: string) => TokenPrice | null;
}

/** Filters of `find`. Text and project match without regard to case. */
export interface FindFilter {
  readonly tool?: string | undefined;
  readonly project?: string | undefined;
  readonly text?: string | undefined;
  readonly since?: number | undefined;
  readonly limit?: number | undefined;
}

interface LocatedTranscript {
  readonly key: string;
  readonly root: TranscriptRoot;
  readonly found: FoundTranscript;
}

/** A tool with a source that cannot be read. */
interface FailedTool {
  readonly tool: string;
  readonly title: string;
  readonly reason: string;
}

interface Peek {
  readonly title: string | null;
  readonly project: string | null;
}

const previewBytes = 2_097_152;
const previewEntries = 30;
const previewChars = 2_000;
/** Files that one call looks into; older ones are listed by their file names. */
const peeksMax = 2_000;
const uploadBytesMax = 268_435_456;
const unpackedBytesMax = 4 * uploadBytesMax;
const uploadsMax = 4;
const keysMax = 100;
/** A folder without permissions may have thousands of files. */
const failedMax = 100;

/** Reads, previews and imports what other tools have on this machine, within the allowed folders. */
export class LocalTranscripts {
  readonly #options: LocalTranscriptsOptions;
  readonly #peeks = new Map<string, Peek>();
  #uploads = 0;

  constructor(options: LocalTranscriptsOptions) {
    this.#options = options;
  }

  /**
   * Tools with their counts, and the newest sessions that pass the filter. Titles are shown, and compared,
   * without their secrets.
   */
  async find(
    { tool, project, text, since = 0, limit = 500 }: FindFilter,
    engine: Partial<TextRedactor> = {},
  ) {
    const redact = redactOf(engine);
    const rows: (Peek & { readonly located: LocatedTranscript })[] = [];
    const tools = new Map<string, { sessions: number; bytes: number; oldestAt: number; newestAt: number }>();
    let more = 0;
    let peeks = 0;
    const { all, failed } = await this.#locate();
    for (const located of all.toSorted((a, b) => b.found.modifiedAtMs - a.found.modifiedAtMs)) {
      const { found } = located;
      if (found.parentId !== null) continue;
      count(tools, found);
      if ((tool !== undefined && found.tool !== tool) || found.modifiedAtMs < since) continue;
      const peek = peeks++ < peeksMax ? await this.#peek(located, redact) : { title: null, project: null };
      if (!includes(peek.project, project)) continue;
      if (!includes(`${peek.title ?? ""} ${peek.project ?? ""}`, text)) continue;
      if (rows.length < limit) rows.push({ ...peek, located });
      else more++;
    }
    return {
      tools: [...tools].map(([name, sums]) => ({ tool: name, title: titleOf(name), ...sums })),
      sessions: rows.map(({ located: { key, found }, title, project: where }) => ({
        key,
        tool: found.tool,
        sourceId: found.sourceId,
        title,
        project: where,
        bytes: found.bytes,
        modifiedAt: Math.round(found.modifiedAtMs),
      })),
      more,
      failed,
    };
  }

  /** The first entries of a session, cut to a readable length. */
  async preview(key: string, engine: Partial<TextRedactor> = {}) {
    const redact = redactOf(engine);
    const { root, found } = await this.#locatedBy(key);
    await using folder = new SourceFolder(root.path);
    const open = await readTranscript(folder, firstBytes(found, previewBytes));
    const plan = safePlan(await titledPlan(open, open.plan, redact), redact);
    const entries: object[] = [];
    for (const planned of plan.entries.slice(0, previewEntries))
      entries.push(shownEntry(await open.entry(planned), redact));
    const isWhole = found.bytes <= previewBytes && plan.entries.length <= previewEntries;
    return { ...factsOf(found, plan), isWhole, entries };
  }

  /** Imports the sessions of these keys, with the subagents that they started. */
  async import(
    engine: TranscriptTarget,
    { keys, again = false }: { readonly keys: readonly string[]; readonly again?: boolean | undefined },
  ) {
    if (keys.length > keysMax)
      throw new SkeinError("invalid", `import: keys: at most ${keysMax}, got ${keys.length}`);
    const { all } = await this.#locate();
    const wanted = new Set(keys);
    const chosen = all.filter(({ key }) => wanted.delete(key));
    const [unknown] = wanted;
    if (unknown !== undefined) throw noTranscript(unknown);
    const results: ReturnType<typeof resultOf>[] = [];
    for (const { key, root, found } of chosen) {
      await using folder = new SourceFolder(root.path);
      const { machine, price } = this.#options;
      const options = {
        tool: found.tool,
        machine: { ...machine, nowMs: this.#options.now() },
        ...present({ price }),
        again,
        family: new ImportedFamily(),
        tell: () => undefined,
      };
      const result = await importOne(engine, folder, found, options);
      options.family.add(result);
      results.push({ ...resultOf(result), key });
      const children = all.filter(
        (one) => one.root.path === root.path && one.found.parentId === found.sourceId,
      );
      for (const child of children) await importOne(engine, folder, child.found, options);
    }
    return results;
  }

  /** Imports the sessions of one file that is sent here. It is kept only while it is read. */
  async upload(
    engine: TranscriptTarget,
    bytes: AsyncIterable<Uint8Array>,
    {
      tool = "auto",
      name = "transcript.jsonl",
    }: { readonly tool?: string | undefined; readonly name?: string | undefined },
  ) {
    if (this.#uploads >= uploadsMax)
      throw new SkeinError("unavailable", "upload: too many uploads at once", { hint: "retry later" });
    this.#uploads++;
    const folder = await mkdtemp(join(tmpdir(), "skein-upload-"));
    try {
      const path = join(folder, plainName(name));
      await pipeline(bounded(bytes), createWriteStream(path, { mode: 0o600 }));
      if (path.endsWith(".zip")) await checkArchive(path);
      return await this.#importFile(engine, path, tool);
    } catch (error) {
      // Damage in a store is the operator's trouble; damage in an upload is the caller's.
      if (!(error instanceof SkeinError) || error.code !== "corrupt") throw error;
      throw new SkeinError("invalid", `upload: ${error.message}`, { hint: error.hint, cause: error });
    } finally {
      this.#uploads--;
      await rm(folder, { recursive: true, force: true });
    }
  }

  async #importFile(engine: TranscriptTarget, path: string, tool: string) {
    const { machine, price, now } = this.#options;
    const options = { tool, path, machine: { ...machine, nowMs: now() }, ...present({ price }) };
    const results: ReturnType<typeof resultOf>[] = [];
    for await (const one of importTranscripts(engine, options)) results.push(resultOf(one));
    if (results.length > 0) return results;
    const hint = tool === "auto" ? undefined : `expected ${formatNamed(tool).expects}`;
    const name = tool === "auto" ? "a known tool" : titleOf(tool);
    throw new SkeinError("invalid", `upload: no transcript of ${name}`, present({ hint }));
  }

  #roots(): TranscriptRoot[] {
    const { from, machine } = this.#options;
    if (from === null)
      throw new SkeinError(
        "refused",
        "this server does not read the sessions of other tools on its machine",
        {
          hint: 'the operator can allow it: "skein serve --import-from DIR"; or upload the file',
        },
      );
    const homes = from === "home" ? [machine] : from.map((home) => ({ home, env: {} }));
    return homes.flatMap((home) => {
      const roots = transcriptFormats.flatMap((format) =>
        format.folders(home).map((path) => ({ format, path })),
      );
      const there = roots.filter(({ path }) => isThere(path));
      // A folder that is not a home directory contains transcripts directly.
      if (there.length > 0 || from === "home") return there;
      return rootsOf({ tool: "auto", path: home.home, machine });
    });
  }

  async #locate(): Promise<{
    readonly all: readonly LocatedTranscript[];
    readonly failed: readonly FailedTool[];
  }> {
    const all = new Map<string, LocatedTranscript>();
    const failed = new Map<string, FailedTool>();
    for (const root of this.#roots()) {
      const { folder, all: listed, failures } = await findIn(root);
      await folder?.close();
      for (const found of listed) {
        const key = keyOf(root, found);
        all.set(key, { key, root, found });
      }
      for (const { found, reason } of failures) {
        const key = `${root.path}\n${found.sourceId}`;
        if (!failed.has(key)) failed.set(key, failedTool(root, reason ?? "", folder?.root));
      }
    }
    return { all: [...all.values()], failed: [...failed.values()].slice(0, failedMax) };
  }

  async #locatedBy(key: string): Promise<LocatedTranscript> {
    const located = (await this.#locate()).all.find((one) => one.key === key);
    if (located === undefined) throw noTranscript(key);
    return located;
  }

  async #peek({ key, root, found }: LocatedTranscript, redact: Redact): Promise<Peek> {
    const name = `${key} ${found.bytes} ${found.modifiedAtMs}`;
    const known = this.#peeks.get(name);
    if (known !== undefined) return safePeek(known, redact);
    let peek: Peek = { title: null, project: null };
    try {
      await using folder = new SourceFolder(root.path);
      const open = await readTranscript(folder, firstBytes(found, peekBytes));
      const { header } = safePlan(await titledPlan(open, open.plan, redact), redact);
      peek = { title: cut(header.title, 200), project: cut(header.cwd, 1_000) };
    } catch (error) {
      if (!(error instanceof SkeinError)) throw error;
    }
    if (this.#peeks.size >= peeksMax * 2) this.#peeks.clear();
    this.#peeks.set(name, peek);
    return peek;
  }
}

/** The reason names files below the root only: a caller never sees the machine's paths. */
function failedTool(
  { format: { name, title }, path }: TranscriptRoot,
  reason: string,
  real = path,
): FailedTool {
  const text = [real, path].reduce(
    (cutReason, root) => cutReason.replaceAll(`${root}/`, "").replaceAll(root, basename(root)),
    reason,
  );
  return { tool: name, title, reason: cut(text, 1_000) ?? "" };
}

const noTranscript = (key: string): SkeinError =>
  new SkeinError("not-found", `no such transcript: ${key.slice(0, 64)}`, {
    hint: "find the transcripts again: the file may be gone",
  });

/** Names a session without its path: a caller can only repeat what was found. */
const keyOf = ({ format, path }: TranscriptRoot, { sourceId, files }: FoundTranscript): string =>
  createHash("sha256")
    .update([format.name, path, sourceId, files[0] ?? ""].join("\n"))
    .digest("hex")
    .slice(0, 32);

function count(
  tools: Map<string, { sessions: number; bytes: number; oldestAt: number; newestAt: number }>,
  { tool, bytes, modifiedAtMs }: FoundTranscript,
): void {
  const at = Math.round(modifiedAtMs);
  const known = tools.get(tool) ?? { sessions: 0, bytes: 0, oldestAt: at, newestAt: at };
  tools.set(tool, {
    sessions: known.sessions + 1,
    bytes: known.bytes + bytes,
    oldestAt: Math.min(known.oldestAt, at),
    newestAt: Math.max(known.newestAt, at),
  });
}

const includes = (text: string | null, wanted: string | undefined): boolean =>
  wanted === undefined || (text ?? "").toLowerCase().includes(wanted.toLowerCase());

const titleOf = (tool: string): string => transcriptFormats.find(({ name }) => name === tool)?.title ?? tool;

const cut = (text: string | null, most: number): string | null => text?.slice(0, most).toWellFormed() ?? null;

const factsOf = ({ tool, bytes, modifiedAtMs }: FoundTranscript, { header }: TranscriptPlan) => ({
  tool,
  title: cut(header.title, 200),
  project: cut(header.cwd, 1_000),
  gitBranch: cut(header.gitBranch, 200),
  startedAt: header.startedAtMs,
  modifiedAt: Math.round(modifiedAtMs),
  bytes,
});

/** A secret may have been registered since. */
const safePeek = ({ title, project }: Peek, redact: Redact): Peek => ({
  title: title === null ? null : redact(title),
  project: project === null ? null : redact(project),
});

function shownEntry(entry: ForeignEntry, redact: Redact): object {
  const shown = (text: string | null, most: number): string | null =>
    text === null ? null : cut(safeStart(redact, text, most), most);
  const { kind, atMs } = entry;
  if (kind === "compaction") return { kind, at: atMs, text: shown(entry.summary, previewChars) };
  const text = shown(textOf(entry.blocks), previewChars);
  if (kind === "input") return { kind, at: atMs, from: entry.from, text };
  const calls = entry.calls.slice(0, 20).map(({ name, status }) => ({ name: shown(name, 100), status }));
  return { kind, at: atMs, model: shown(entry.model, 100), text, calls };
}

const textOf = (blocks: readonly TranscriptBlock[]): string =>
  blocks
    .map((block) =>
      block.type === "text" ? block.text : block.type === "attachment" ? `[${block.mediaType}]` : "",
    )
    .filter((text) => text !== "")
    .join("\n");

const sum = (counts: Readonly<Record<string, number>> = {}): number =>
  Object.values(counts).reduce((all, one) => all + one, 0);

const resultOf = ({
  found,
  status,
  reason,
  session,
  origin,
  added,
  plan,
  branches,
  redactions,
}: ImportedTranscript) => ({
  key: "",
  session,
  status,
  origin,
  reason,
  tool: found.tool,
  title: cut(plan?.header.title ?? null, 200),
  entries: plan?.entries.length ?? 0,
  added,
  branches,
  redacted: redactions?.count ?? null,
  redactedKinds: redactions?.kinds ?? {},
  unknown: sum(plan?.report.unknownTypes),
  damaged: plan?.report.damagedCount ?? 0,
  tooLarge: plan?.report.tooLarge ?? 0,
});

/** The ending tells formats apart; nothing else of a name that a caller chose is used. */
function plainName(name: string): string {
  const ending = /\.(jsonl|json|zip)$/i.exec(name)?.[1]?.toLowerCase();
  if (ending === undefined)
    throw new SkeinError("invalid", "upload: name: expected a file that ends with .jsonl, .json or .zip");
  const id = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/i.exec(name)?.[0] ?? "transcript";
  return `${id}.${ending}`;
}

async function* bounded(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of bytes) {
    size += chunk.length;
    if (size > uploadBytesMax)
      throw new SkeinError("invalid", `upload: at most ${uploadBytesMax} bytes`, {
        hint: 'import it on the machine: "skein import TOOL FILE"',
      });
    yield chunk;
  }
}

async function checkArchive(path: string): Promise<void> {
  const unpacked = (await listArchive(path)).reduce((sum, { bytes }) => sum + bytes, 0);
  if (unpacked > unpackedBytesMax)
    throw new SkeinError("invalid", `upload: the archive unpacks to more than ${unpackedBytesMax} bytes`);
}
