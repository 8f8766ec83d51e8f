/**
 * Follows the sessions of other tools while those tools write them. Change notifications where the system has
 * them, a poll everywhere: a notification only says "look", so a lost one costs time and nothing else. What
 * was imported is in the store, so a follower that dies resumes where it stopped.
 */
import { watch, type FSWatcher } from "node:fs";
import { SkeinError } from "../core/error.ts";
import { realWorld, type World } from "../runtime/world.ts";
import {
  findIn,
  ImportedFamily,
  importOne,
  type FileBefore,
  type ImportedTranscript,
  type ImportTranscriptsOptions,
  type TranscriptTarget,
} from "./import.ts";
import type { FoundTranscript } from "./model.ts";
import { SourceFolder } from "./read/source-folder.ts";
import { detectRoots, formatsOf, isThere, type TranscriptRoot } from "./transcript-roots.ts";

type Clock = Pick<World, "now" | "sleep">;

/** Options of `watchTranscripts`. */
export interface WatchTranscriptsOptions extends Omit<
  ImportTranscriptsOptions,
  "dryRun" | "inProgress" | "progress"
> {
  /** Ends the watch. Sessions that still grew are then completed with their originals. */
  readonly signal?: AbortSignal;
  /** Called once everything that was there is imported; what comes after is followed live. */
  readonly ready?: () => void;
}

/** Each takes a handle of the system, of which a user has a few thousand. Other folders are polled. */
const foldersMax = 256;
/** Several lines are often written at once. */
const gatherMs = 30;
const restMsMax = 300;
/** Tools write the parts of an answer as they come: it is imported when no other has come for so long. */
const quietMs = 600;
/** Where notifications are incomplete, and where they are not: some file systems lose them. */
const pollMs = 500;
const safetyPollMs = 5_000;
/** A source without a change for so long has its original kept. */
const settleMs = 60_000;
const retryMs = 5_000;
/** Sessions in a database tell only roughly when they changed. */
const recentMs = 86_400_000;

/**
 * Imports the sessions of a tool and follows them: yields each change as it is imported, and nothing for a
 * session that stays the same. Nothing is run, woken or promoted. A rewritten, continued or unreadable source
 * is reported once, and left as it is.
 *
 * @example
 *   const machine = { home: homedir(), env: process.env, nowMs: Date.now() };
 *   const signal = AbortSignal.timeout(60_000);
 *   for await (const one of watchTranscripts(engine, { tool: "claude-code", machine, signal }))
 *     console.log(one.status, one.session, one.added);
 */
export async function* watchTranscripts(
  engine: TranscriptTarget,
  options: WatchTranscriptsOptions,
): AsyncGenerator<ImportedTranscript> {
  const { signal, ready } = options;
  const isOver = (): boolean => signal?.aborted === true;
  const clock: Clock = realWorld();
  const follower = new Follower(engine, options, clock, await watchedRoots(options));
  const alarm = new Alarm(clock, signal);
  try {
    for (let isFirst = true; !isOver(); isFirst = false) {
      const startedMs = clock.now();
      yield* follower.look();
      if (isFirst) ready?.();
      const isAnnounced = alarm.keep(follower.folders);
      // Looking leaves as much time to others, up to what a reader would notice.
      const tookMs = clock.now() - startedMs;
      const restMs = Math.max(gatherMs, Math.min(tookMs, restMsMax));
      const poll = Math.min(isAnnounced ? safetyPollMs : pollMs, follower.dueInMs());
      await alarm.wait(Math.max(poll, restMs), restMs);
    }
    yield* follower.settle();
  } finally {
    alarm.end();
  }
}

/** Without a path all folders of the tools: a tool makes its folder when it is used for the first time. */
async function watchedRoots(options: WatchTranscriptsOptions): Promise<readonly TranscriptRoot[]> {
  const { tool, path, machine } = options;
  if (path !== undefined) return detectRoots(options);
  return formatsOf(tool).flatMap((format) => format.folders(machine).map((one) => ({ format, path: one })));
}

interface FollowedRoot {
  readonly root: string;
  /** What its files looked like when it was imported last; null when it is to be imported again. */
  print: string | null;
  /** When to look again although nothing changed: to retry, or to keep the original. */
  dueMs: number | null;
  /** The last report of a source that was left as it is. */
  reported: string | null;
  readonly before: FileBefore;
}

const notSeen = (root: string): FollowedRoot => ({
  root,
  print: null,
  dueMs: null,
  reported: null,
  before: { bytes: 0, digest: null },
});

class Follower {
  readonly #engine: TranscriptTarget;
  readonly #options: WatchTranscriptsOptions;
  readonly #clock: Clock;
  readonly #roots: readonly TranscriptRoot[];
  /** By root: what its listing looked like. */
  readonly #listings = new Map<string, string>();
  readonly #followed = new Map<string, FollowedRoot>();
  readonly #family = new ImportedFamily();
  /** The folders to watch, those that changed last first. */
  folders: readonly string[] = [];

  constructor(
    engine: TranscriptTarget,
    options: WatchTranscriptsOptions,
    clock: Clock,
    roots: readonly TranscriptRoot[],
  ) {
    this.#engine = engine;
    this.#options = options;
    this.#clock = clock;
    this.#roots = roots;
  }

  async *look(isEnd = false): AsyncGenerator<ImportedTranscript> {
    const folders = new Map<string, number>();
    for (const root of this.#roots) yield* this.#lookIn(root, folders, isEnd);
    this.folders = [...folders]
      .toSorted(([, a], [, b]) => b - a)
      .slice(0, foldersMax + 1)
      .map(([path]) => path);
  }

  /** Completes the sessions that were in progress. */
  settle(): AsyncGenerator<ImportedTranscript> {
    for (const one of this.#followed.values()) if (one.dueMs !== null) one.dueMs = 0;
    return this.look(true);
  }

  async *#lookIn(
    root: TranscriptRoot,
    folders: Map<string, number>,
    isEnd: boolean,
  ): AsyncGenerator<ImportedTranscript> {
    const id = `${root.format.name} ${root.path}`;
    const startedMs = this.#clock.now();
    if (!isThere(root.path)) return this.#postpone(id, startedMs, null);
    const listing = await listRoot(root.path, folders);
    const { prints, folder } = listing;
    try {
      if (this.#listings.get(id) === listing.text && !this.#isDue(id)) return;
      const { all, failures } = await findIn(root, folder);
      const isFailed = failures.length > 0 && isThere(root.path);
      if (isFailed) for (const failure of failures) if (this.#isNewFailure(id, failure)) yield failure;
      for (const found of folder === null ? [] : all) {
        if (this.#options.signal?.aborted === true && !isEnd) return;
        const print = printOf(found, prints, this.#clock.now());
        const result = folder === null ? null : await this.#follow(id, folder, found, print, isEnd);
        if (result !== null) yield result;
      }
      this.#listings.set(id, listing.text);
      this.#postpone(id, startedMs, isFailed ? this.#clock.now() + retryMs : null);
    } finally {
      await folder?.close();
    }
  }

  /** A source that stays unreadable is reported once and retried; a new reason is reported again. */
  #isNewFailure(root: string, failure: ImportedTranscript): boolean {
    const key = `${root} unreadable ${failure.found.sourceId}`;
    const known = this.#followed.get(key) ?? notSeen(root);
    this.#followed.set(key, known);
    known.dueMs = this.#clock.now() + retryMs;
    return this.#isNews(known, failure);
  }

  /** Sessions that were due and not found: looked for again at `untilMs`, or forgotten. */
  #postpone(root: string, startedMs: number, untilMs: number | null): void {
    for (const [key, one] of this.#followed) {
      if (one.root !== root || one.dueMs === null || one.dueMs > startedMs) continue;
      if (untilMs === null) this.#followed.delete(key);
      else one.dueMs = untilMs;
    }
  }

  /** When to look again although no file changes. */
  dueInMs(): number {
    const nowMs = this.#clock.now();
    const inMs = [...this.#followed.values()].map(({ dueMs }) => (dueMs === null ? Infinity : dueMs - nowMs));
    return Math.max(
      0,
      inMs.reduce((least, one) => Math.min(least, one), Infinity),
    );
  }

  #isDue(root: string): boolean {
    const nowMs = this.#clock.now();
    return this.#followed
      .values()
      .some((one) => one.root === root && one.dueMs !== null && one.dueMs <= nowMs);
  }

  async #follow(
    root: string,
    folder: SourceFolder,
    found: FoundTranscript,
    print: string,
    isEnd: boolean,
  ): Promise<ImportedTranscript | null> {
    const key = `${root} ${found.sourceId} ${found.files[0] ?? ""}`;
    const known = this.#followed.get(key) ?? notSeen(root);
    this.#followed.set(key, known);
    const nowMs = this.#clock.now();
    const isDue = known.dueMs !== null && known.dueMs <= nowMs;
    if (known.print === print && !isDue) return null;
    const ageMs = nowMs - found.modifiedAtMs;
    const inProgress = !isEnd && ageMs < settleMs;
    const isBusy = inProgress && ageMs < quietMs;
    const { before } = known;
    const family = this.#family;
    const options = { ...this.#options, inProgress, isBusy, before, family, tell: () => undefined };
    const result = await importOne(this.#engine, folder, found, options);
    known.print = print;
    const waitMs = isBusy ? quietMs : settleMs;
    known.dueMs =
      result.status === "failed" ? nowMs + retryMs : inProgress ? found.modifiedAtMs + waitMs : null;
    this.#family.add(result);
    return this.#isNews(known, result) ? result : null;
  }

  #isNews(known: FollowedRoot, { status, reason }: ImportedTranscript): boolean {
    if (status === "new" || status === "grown") {
      known.reported = null;
      return true;
    }
    if (["same", "excluded", "found", "exported"].includes(status)) return false;
    const report = `${status} ${reason ?? ""}`;
    if (known.reported === report) return false;
    known.reported = report;
    return true;
  }
}

interface FolderListing {
  /** Null when the root cannot be opened. */
  readonly folder: SourceFolder | null;
  readonly prints: ReadonlyMap<string, string>;
  /** Changes with any file. */
  readonly text: string;
}

/** Lists a root, and adds its folders with the time of their last change. */
async function listRoot(path: string, folders: Map<string, number>): Promise<FolderListing> {
  let folder: SourceFolder | null = null;
  const prints = new Map<string, string>();
  try {
    folder = new SourceFolder(path);
    const files = await folder.list();
    for (const above of folder.folders) folders.set(above, folders.get(above) ?? 0);
    for (const file of files) {
      prints.set(file.path, `${file.path} ${file.bytes} ${file.modifiedAtMs}`);
      const above = `${folder.root}/${file.path}`.replace(/\/[^/]*$/, "");
      if (file.modifiedAtMs > (folders.get(above) ?? 0)) folders.set(above, file.modifiedAtMs);
    }
  } catch (error) {
    if (!(error instanceof SkeinError)) throw error;
    return { folder, prints, text: `unreadable: ${error.message}` };
  }
  return { folder, prints, text: [...prints.values()].join("\n") };
}

function printOf(found: FoundTranscript, prints: ReadonlyMap<string, string>, nowMs: number): string {
  const [first = ""] = found.files;
  const own = `${found.bytes} ${found.modifiedAtMs} `;
  if (first.endsWith(".db") && nowMs - found.modifiedAtMs > recentMs) return own;
  return own + [...found.files, `${first}-wal`].map((file) => prints.get(file) ?? "").join(" ");
}

/** Wakes a waiter when a watched folder changes, the time is over, or the signal is aborted. */
class Alarm {
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #changed = new AbortController();

  constructor(clock: Clock, signal: AbortSignal = new AbortController().signal) {
    this.#clock = clock;
    this.#signal = signal;
  }

  /** Watches these folders and no other. False when some cannot be watched. */
  keep(folders: readonly string[]): boolean {
    const wanted = new Set(folders.slice(0, foldersMax));
    for (const [path, watcher] of this.#watchers) {
      if (wanted.has(path)) continue;
      watcher.close();
      this.#watchers.delete(path);
    }
    for (const path of wanted) if (!this.#watchers.has(path)) this.#begin(path);
    return folders.length > 0 && this.#watchers.size === folders.length;
  }

  #begin(path: string): void {
    try {
      const watcher = watch(path, { persistent: false }, () => this.#changed.abort());
      watcher.on("error", () => {
        watcher.close();
        this.#watchers.delete(path);
      });
      this.#watchers.set(path, watcher);
      // It may have changed between the look and the watch.
      this.#changed.abort();
    } catch {
      // No handle left, or no notifications on this file system: it is polled.
    }
  }

  /** At most `longestMs`; after a change `restMs`, so that lines written together come together. */
  async wait(longestMs: number, restMs: number): Promise<void> {
    await this.#clock.sleep(longestMs, AbortSignal.any([this.#signal, this.#changed.signal]));
    this.#changed = new AbortController();
    await this.#clock.sleep(restMs, this.#signal);
  }

  end(): void {
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }
}
