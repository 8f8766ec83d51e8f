/** Whether a source is as it was when a session read it. */
import { open } from "node:fs/promises";
import type { Dependency } from "../../core/depend/dependency.ts";
import { SkeinError } from "../../core/error.ts";
import { isSessionId, type SessionId } from "../../core/ids.ts";
import type { State } from "../../core/state.ts";
import { fileDigest } from "../../platform/file-digest.ts";
import { ToolOutput, type Toolbox } from "../../tool/port.ts";
import { loadDocument } from "../branch/load-document.ts";
import { readBindings } from "../read/bindings.ts";
import { stateNow } from "../read/state-now.ts";
import type { Deps } from "../deps.ts";

/** The state of a source, compared with what was read. */
export type SourceNow = "same" | "changed" | "missing" | "follows" | "unknown";

interface SourceLook extends AsyncDisposable {
  now(one: Dependency): Promise<SourceNow>;
}

/** Looks at each file once. Databases are opened for the first query, read-only, and closed at the end. */
export function makeSourceLook(
  deps: Deps,
  session: SessionId,
  state: State,
  may: { readonly queries: boolean; readonly files: boolean },
): SourceLook {
  const digests = new Map<string, Promise<string | null>>();
  const opened = new AsyncDisposableStack();
  const over = new AbortController();
  let databases: Promise<Toolbox | null> | null = null;
  const digestOf = (kind: "document" | "file", path: string): Promise<string | null> => {
    const name = `${kind} ${path}`;
    const known = digests.get(name) ?? (kind === "file" ? digestAt(deps, path) : documentDigest(deps, path));
    digests.set(name, known);
    return known;
  };
  const openDatabases = async (): Promise<Toolbox | null> => {
    const bound = await readBindings(deps, session, state);
    const own = bound.filter(({ kind }) => kind === "database");
    if (own.length === 0 || deps.tools === undefined) return null;
    const readOnly = own.map((one) => ({ ...one, mode: "read" as const }));
    return opened.use(await (await deps.tools()).open(readOnly, { signal: over.signal, session }));
  };
  return {
    async now(one) {
      const { kind, source, digest } = one;
      if (kind === "memory") return "follows";
      if (kind === "session") return sessionNow(deps, one);
      if (kind === "document" || kind === "file") {
        if (!may.files) return "unknown";
        const now = await digestOf(kind, source);
        return now === null ? "missing" : now === digest ? "same" : "changed";
      }
      if (kind !== "query" || !may.queries) return "unknown";
      databases ??= openDatabases().catch(() => null);
      return queryNow(await databases, one, over.signal);
    },
    async [Symbol.asyncDispose]() {
      await opened.disposeAsync();
      over.abort();
    },
  };
}

/** The digest of the file at a path; null if there is none that can be read. */
export async function digestAt({ world }: Pick<Deps, "world">, path: string): Promise<string | null> {
  try {
    await using handle = await open(path);
    return await fileDigest(world, handle);
  } catch {
    return null;
  }
}

/** The same for a document, whose text is kept without secrets. */
export const documentDigest = (deps: Pick<Deps, "world">, path: string): Promise<string | null> =>
  loadDocument(deps, "file", path).then(
    ({ digest }) => digest,
    () => null,
  );

/** It has changed if the other session holds items that were recorded since. */
async function sessionNow(deps: Deps, { source, range }: Dependency): Promise<SourceNow> {
  if (!isSessionId(source)) return "unknown";
  const state = await stateNow(deps, source).catch((error: unknown) => {
    if (error instanceof SkeinError && error.code === "not-found") return null;
    throw error;
  });
  if (state === null) return "missing";
  const toSeq = range?.[1] ?? 0;
  return [...state.mind.items.values()].some(({ seq }) => seq > toSeq) ? "changed" : "same";
}

async function queryNow(
  toolbox: Toolbox | null,
  { source: sql, digest, query }: Dependency,
  signal: AbortSignal,
): Promise<SourceNow> {
  const tool = toolbox?.tools.find(({ name }) => name === "query_database");
  if (tool === undefined || tool.effect === "session" || query === undefined) return "unknown";
  const { binding, rows } = query;
  const named = await tool.check({ sql, rows, database: binding });
  // Of a single database the tool takes no name.
  const given = named.ok ? named : await tool.check({ sql, rows });
  if (!given.ok) return "unknown";
  const output = await tool.run(given.value, { key: "", session: "", seq: 0, signal }).catch(() => null);
  if (!(output instanceof ToolOutput) || output.isError) return "unknown";
  const [use] = (output.detail as { readonly uses?: readonly { readonly digest: string }[] }).uses ?? [];
  return use === undefined ? "unknown" : use.digest === digest ? "same" : "changed";
}
