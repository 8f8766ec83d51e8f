/**
 * Dependencies: what a session loaded, read or queried, derived from its log. A record is one by its type, or
 * by the `uses` that a tool puts into the detail of its result.
 */
import * as z from "zod";
import { once } from "../cache.ts";
import type { SessionEventType } from "../catalog.ts";
import type { SessionLogEvent } from "../event.ts";

/** What a tool read. It stands in the detail of the result, which the model is not shown. */
export type SourceUse =
  | {
      readonly kind: "file";
      /** Absolute, with links resolved. */
      readonly path: string;
      /** SHA-256 of the whole file; of a very large one, of its size and time. */
      readonly digest: string;
      /** Lines. */
      readonly from?: number;
      readonly to?: number;
    }
  | {
      readonly kind: "query";
      /** The name of the bound database. */
      readonly binding: string;
      readonly sql: string;
      /** At most so many rows were asked for. */
      readonly rows: number;
      readonly tables: readonly string[];
      /** SHA-256 of columns and rows. */
      readonly digest: string;
    }
  | {
      readonly kind: "resource";
      readonly uri: string;
      readonly binding: string;
      readonly digest: string;
    };

const uses = once(() =>
  z.array(
    z.discriminatedUnion("kind", [
      z.looseObject({
        kind: z.literal("file"),
        path: z.string(),
        digest: z.string(),
        from: z.int().optional(),
        to: z.int().optional(),
      }),
      z.looseObject({
        kind: z.literal("query"),
        binding: z.string(),
        sql: z.string(),
        rows: z.int(),
        tables: z.array(z.string()),
        digest: z.string(),
      }),
      z.looseObject({
        kind: z.literal("resource"),
        uri: z.string(),
        binding: z.string(),
        digest: z.string(),
      }),
    ]),
  ),
);

/** One thing that a session stands on, where it entered the log. */
export interface Dependency {
  readonly kind: "document" | "file" | "query" | "resource" | "memory" | "session";
  /** A path, a statement, `scope/kind/key`, or the id of a session. */
  readonly source: string;
  /** The state of the source then; null where it has none. */
  readonly digest: string | null;
  readonly seq: number;
  readonly at: number;
  /** Lines of a file, positions of a session. */
  readonly range: readonly [from: number, to: number] | null;
  /** Of a query: the binding, how many rows, and the tables. */
  readonly query?: { readonly binding: string; readonly rows: number; readonly tables: readonly string[] };
}

/** The types of events that dependencies come from. */
export const dependencyTypes: readonly SessionEventType[] = [
  "document.loaded",
  "tool.settled",
  "memory.carried",
  "session.merged",
];

/** What an event brought in; none once its content is erased. */
export function dependenciesOf(event: SessionLogEvent): readonly Dependency[] {
  const { seq, at } = event;
  const place = { seq, at, range: null } as const;
  if (event.type === "document.loaded") {
    const { digest, kind } = event.body;
    const path = event.content?.path;
    if (path === undefined) return [];
    const [session = path, toSeq] = path.split("@");
    if (kind !== "handoff") return [{ ...place, kind: "document", source: path, digest }];
    return [{ ...place, kind: "session", source: session, digest: null, range: [1, Number(toSeq ?? 1)] }];
  }
  if (event.type === "memory.carried")
    return (event.content?.items ?? []).map(({ scope, kind, key, origin }) => ({
      ...place,
      kind: "memory",
      source: `${scope}/${kind}/${key}`,
      digest: null,
      range: origin === undefined ? null : [origin.seq, origin.seq],
    }));
  if (event.type === "session.merged") {
    const { from, fromSeq, toSeq } = event.body;
    return [{ ...place, kind: "session", source: from, digest: null, range: [fromSeq, toSeq] }];
  }
  if (event.type !== "tool.settled") return [];
  const detail = event.content?.detail as { readonly uses?: unknown } | null | undefined;
  const given = uses().safeParse(detail?.uses);
  return given.success ? given.data.map((use) => ({ ...place, ...ofUse(use) })) : [];
}

function ofUse(
  use: z.infer<ReturnType<typeof uses>>[number],
): Pick<Dependency, "kind" | "source" | "digest" | "range" | "query"> {
  const { digest } = use;
  if (use.kind === "resource") return { kind: "resource", source: use.uri, digest, range: null };
  if (use.kind === "file") {
    const range = use.from === undefined ? null : ([use.from, use.to ?? use.from] as const);
    return { kind: "file", source: use.path, digest, range };
  }
  const { binding, sql, rows, tables } = use;
  return { kind: "query", source: sql, digest, range: null, query: { binding, rows, tables } };
}

/** What a source is found by: a path and each folder above it, a table, a key. */
export function sourceNames({ kind, source, query }: Dependency): readonly string[] {
  if (kind === "query") return (query?.tables ?? []).map(tableName);
  if (kind !== "file" && kind !== "document") return [`${kind}:${source}`];
  const steps = source.split("/");
  return steps.flatMap((_, place) => (place === 0 ? [] : [fileName(steps.slice(0, place + 1).join("/"))]));
}

export const fileName = (path: string): string => `file:${path}`;
export const tableName = (table: string): string => `table:${table.toLowerCase()}`;

/**
 * The word under which the search index finds what depends on a name, with the end of the session's id: of
 * too many matches those of some sessions can be asked for. What is found is compared with the name.
 */
export const dependencyWord = (name: string, session = ""): string =>
  `dep${markOf(name, 0x811c9dc5)}${markOf(name, 0x9e3779b9)}${session.slice(-wordEnding)}`;
export const wordEnding = 4;

/** FNV-1a, as 8 letters and digits. */
function markOf(text: string, seed: number): string {
  let hash = seed;
  for (let place = 0; place < text.length; place++)
    hash = Math.imul(hash ^ text.charCodeAt(place), 0x01000193) >>> 0;
  return hash.toString(16).padStart(8, "0");
}

/** The words of an event for the search index. */
export const dependencyWords = (event: SessionLogEvent): readonly string[] => [
  ...new Set(
    dependenciesOf(event).flatMap((one) =>
      sourceNames(one).map((name) => dependencyWord(name, event.session)),
    ),
  ),
];
