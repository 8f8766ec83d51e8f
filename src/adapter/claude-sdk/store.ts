/** `SessionStore` of the Claude Agent SDK: one drawer for a session and its subagents. */
import type { RemoteEngine } from "../../client/engine.ts";
import { SkeinError } from "../../core/error.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { isGone, makeDrawers, type Drawer, type Drawers } from "../drawer.ts";
import { Transcripts, type TranscriptLine } from "./transcript.ts";

/** Names a transcript. Without `subpath` it is the main one of the session. */
export interface ClaudeSessionKey {
  readonly projectKey: string;
  readonly sessionId: string;
  readonly subpath?: string;
}

/** A line of a transcript; opaque but for its `uuid`. */
export interface ClaudeSessionEntry {
  type: string;
  uuid?: string;
  timestamp?: string;
  [key: string]: unknown;
}

/** A summary as `foldSessionSummary` of the SDK makes it. */
export interface ClaudeSessionSummary {
  sessionId: string;
  mtime: number;
  data: Record<string, unknown>;
}

/** `foldSessionSummary` of the SDK. */
export type FoldSessionSummary = (
  previous: ClaudeSessionSummary | undefined,
  key: { projectKey: string; sessionId: string; subpath?: string },
  entries: ClaudeSessionEntry[],
  options?: { mtime?: number },
) => ClaudeSessionSummary;

/** Options of `SkeinSessionStore`. */
export interface SkeinSessionStoreOptions {
  /** The SDK's own function of this name: then lists read summaries instead of whole transcripts. */
  readonly foldSessionSummary?: FoldSessionSummary;
  /**
   * Redacts secrets, so that entries that hold one do not come back equal. By default entries come back as
   * they were given, and those with a secret that the engine knows are refused. Required with `skein/client`.
   */
  readonly redact?: boolean;
}

interface OpenSession {
  readonly drawer: Drawer;
  readonly transcripts: Transcripts;
  readonly summary: { current: ClaudeSessionSummary | undefined };
  /** The entries that were appended here since it was last read. */
  readonly unread: Set<string>;
}

const nameOf = (subpath: string, { uuid }: TranscriptLine): string => `${String(uuid)} ${subpath}`;

/**
 * Keeps the transcripts of the Claude Agent SDK in Skein: `query({ options: { sessionStore } })`. Each batch
 * is one atomic append, seen by all processes.
 */
export class SkeinSessionStore {
  /** Only with the option `foldSessionSummary`. */
  readonly listSessionSummaries?: (projectKey: string) => Promise<ClaudeSessionSummary[]>;
  readonly #engine: Engine | RemoteEngine;
  readonly #drawers: Drawers;
  readonly #fold: FoldSessionSummary | undefined;
  readonly #open = new Map<string, OpenSession>();
  /** The last change of each session: changes keep the order of their calls. */
  readonly #changes = new Map<string, Promise<unknown>>();

  constructor(engine: Engine | RemoteEngine, options: SkeinSessionStoreOptions = {}) {
    this.#engine = engine;
    this.#fold = options.foldSessionSummary;
    this.#drawers = makeDrawers(engine, {
      adapter: "claude-sdk",
      kind: "session",
      nouns: ["entries"],
      objective: () => "Claude Agent SDK session",
      redact: options.redact,
    });
    if (this.#fold !== undefined) this.listSessionSummaries = (projectKey) => this.#summaries(projectKey);
  }

  /** Appends a batch: all of it or nothing. Entries whose `uuid` is there already are dropped. */
  async append(key: ClaudeSessionKey, entries: readonly ClaudeSessionEntry[]): Promise<void> {
    const [outer, subpath] = namesOf("append", key);
    if (entries.length === 0) return;
    await this.#inOrder(outer, async () => {
      // Known sessions are not looked for again: ids are never reused, and one that is gone rejects.
      const open = this.#open.get(outer) ?? (await this.#refreshed(outer, await this.#drawers.open(outer)));
      let added = open.transcripts.newOf(subpath, entries);
      // Those that look known may have been removed by another process. Those that look new need no reading:
      // of an entry that another process wrote meanwhile, the first counts.
      if (added.length < entries.length || entries.some((one) => open.unread.has(nameOf(subpath, one))))
        added = (await this.#refreshed(outer, open.drawer)).transcripts.newOf(subpath, entries);
      if (added.length === 0) return;
      await open.drawer.append([
        { noun: "entries", body: { count: added.length }, value: { subpath, entries: added } },
      ]);
      for (const one of added) if (typeof one.uuid === "string") open.unread.add(nameOf(subpath, one));
    });
  }

  /** The entries in order; null when nothing was ever written under this key. */
  async load(key: ClaudeSessionKey): Promise<ClaudeSessionEntry[] | null> {
    const [outer, subpath] = namesOf("load", key);
    const drawer = await this.#drawers.find(outer);
    if (drawer === null) return null;
    const transcripts = new Transcripts({ keepsEntries: true });
    await readAll(drawer, transcripts);
    return transcripts.entriesOf(subpath) as ClaudeSessionEntry[] | null;
  }

  /** The sessions of a project with a main transcript. */
  async listSessions(projectKey: string): Promise<{ sessionId: string; mtime: number }[]> {
    const found: { sessionId: string; mtime: number }[] = [];
    for await (const { sessionId, open } of this.#sessionsOf(projectKey))
      found.push({ sessionId, mtime: open.transcripts.mtime });
    return found;
  }

  /** Deletes a session with all its subpaths for good; with a subpath, erases that one. */
  async delete(key: ClaudeSessionKey): Promise<void> {
    const [outer, subpath] = namesOf("delete", key);
    await this.#inOrder(outer, async () => {
      if (subpath === "") {
        this.#open.delete(outer);
        await this.#drawers.delete(outer);
        return;
      }
      const drawer = await this.#drawers.find(outer);
      if (drawer === null) return;
      const { transcripts } = await this.#refreshed(outer, drawer);
      const ranges = transcripts.rangesOf(subpath);
      if (ranges.length === 0) return;
      await drawer.append([{ noun: "entries", body: { removed: true }, value: { subpath } }]);
      const session = await this.#engine.session(drawer.session);
      await session.erase({ ranges, reason: "the transcript was deleted" });
    });
  }

  /** The subpaths of a session. */
  async listSubkeys(key: { readonly projectKey: string; readonly sessionId: string }): Promise<string[]> {
    const [outer] = namesOf("listSubkeys", { projectKey: key.projectKey, sessionId: key.sessionId });
    const drawer = await this.#drawers.find(outer);
    return drawer === null ? [] : (await this.#refreshed(outer, drawer)).transcripts.subpaths;
  }

  async #summaries(projectKey: string): Promise<ClaudeSessionSummary[]> {
    const found: ClaudeSessionSummary[] = [];
    for await (const { open } of this.#sessionsOf(projectKey)) {
      const { current } = open.summary;
      // Subagents move the time of the session, and add nothing to its summary.
      if (current !== undefined) found.push({ ...current, mtime: open.transcripts.mtime });
    }
    return found;
  }

  async *#sessionsOf(projectKey: string): AsyncGenerator<{ sessionId: string; open: OpenSession }> {
    for await (const drawer of this.#drawers.list()) {
      const [project, sessionId] = JSON.parse(drawer.outer) as [string, string];
      if (project !== projectKey) continue;
      const open = await this.#refreshed(drawer.outer, drawer).catch((error: unknown) => {
        if (isGone(error)) return null;
        throw error;
      });
      if (open?.transcripts.has("") === true) yield { sessionId, open };
    }
  }

  /** The index of a session, read up to its end. A session that was deleted and begun again has a new one. */
  async #refreshed(outer: string, drawer: Drawer): Promise<OpenSession> {
    const known = this.#open.get(outer);
    const open = known?.drawer.session === drawer.session ? known : this.#indexOf(outer, drawer);
    this.#open.set(outer, open);
    await readAll(drawer, open.transcripts);
    open.unread.clear();
    return open;
  }

  #indexOf(outer: string, drawer: Drawer): OpenSession {
    const [projectKey, sessionId] = JSON.parse(outer) as [string, string];
    const summary: OpenSession["summary"] = { current: undefined };
    const fold = this.#fold;
    const onMain = (entries: readonly TranscriptLine[], mtime: number): void => {
      const key = { projectKey, sessionId };
      summary.current = fold?.(summary.current, key, entries as ClaudeSessionEntry[], { mtime });
    };
    return {
      drawer,
      transcripts: new Transcripts({ keepsEntries: false, onMain }),
      summary,
      unread: new Set(),
    };
  }

  async #inOrder(outer: string, work: () => Promise<void>): Promise<void> {
    const before = this.#changes.get(outer) ?? Promise.resolve();
    const change = before.then(() => this.#retried(outer, work));
    const settled = change.catch(() => undefined);
    this.#changes.set(outer, settled);
    await change;
    if (this.#changes.get(outer) === settled) this.#changes.delete(outer);
  }

  /** A session that another process deleted meanwhile begins anew. */
  async #retried(outer: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!isGone(error)) throw error;
      this.#open.delete(outer);
      await work();
    }
  }
}

/** All at once: no caller sees half of an append. */
async function readAll(drawer: Drawer, transcripts: Transcripts): Promise<void> {
  const records = await Array.fromAsync(drawer.read(transcripts.nextSeq));
  for (const one of records) transcripts.apply(one);
}

/** The outer id of a session, and the subpath; empty for the main transcript. */
function namesOf(
  call: string,
  { projectKey, sessionId, subpath }: ClaudeSessionKey,
): readonly [string, string] {
  for (const [name, value] of Object.entries({ projectKey, sessionId }))
    if (typeof value !== "string" || value === "") throw invalid(`${call}: ${name}: expected a text`);
  if (subpath === "")
    throw invalid(`${call}: subpath: expected a text; leave it out for the main transcript`);
  return [JSON.stringify([projectKey, sessionId]), subpath ?? ""];
}

const invalid = (message: string): SkeinError => new SkeinError("invalid", `SkeinSessionStore: ${message}`);
